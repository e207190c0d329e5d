"""MurmurHash3: 32 bits of a few bytes, the same in every process, and fast.

A. Appleby's hash of 2011 in the form x86_32, with seed 0, as ``HashingVectorizer`` of scikit-learn
has it. It is no protection against one who looks for words that collide.
"""

from __future__ import annotations

__all__ = ["finished", "mixed", "rotated", "scrambled"]

_LOW = 0xFFFFFFFF
_C1, _C2, _ADD = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_MIX_1, _MIX_2 = 0x85EBCA6B, 0xC2B2AE35


def rotated(bits: int, by: int) -> int:
    """32 bits, rotated to the left.

    >>> rotated(0x80000001, 1)
    3
    """
    return ((bits << by) | (bits >> (32 - by))) & _LOW


def scrambled(block: int) -> int:
    """The four bytes of a block, as they go into the hash.

    >>> scrambled(0)
    0
    """
    return (rotated((block * _C1) & _LOW, 15) * _C2) & _LOW


def mixed(bits: int, block: int) -> int:
    """The bits with another four bytes in them.

    >>> mixed(0, 0) == _ADD
    True
    """
    return (rotated(bits ^ scrambled(block), 13) * 5 + _ADD) & _LOW


def finished(bits: int, rest: int, size: int) -> int:
    """The hash of ``size`` bytes, of which ``rest`` are the last ones: a signed number of 32 bits.

    >>> finished(0, 0, 0)
    0
    """
    bits ^= scrambled(rest) ^ size
    bits = ((bits ^ (bits >> 16)) * _MIX_1) & _LOW
    bits = ((bits ^ (bits >> 13)) * _MIX_2) & _LOW
    bits ^= bits >> 16
    return bits - (_LOW + 1) if bits >> 31 else bits


def murmur(data: bytes) -> int:
    """The hash of some bytes, as a signed number of 32 bits.

    >>> murmur(b"foo"), murmur(b"")
    (-156908512, 0)
    """
    bits, whole = 0, len(data) - len(data) % 4
    for i in range(0, whole, 4):
        bits = mixed(bits, int.from_bytes(data[i : i + 4], "little"))
    return finished(bits, int.from_bytes(data[whole:], "little"), len(data))
