"""A rule with its state, a query with its memory, the arguments of a loop: one table of words.

Compiled code takes the address of such a table and nothing else. Word 0 is a digest of the kinds of
what follows: numbers, and for each array its address and its shape. A handle holds what it points
at, and is made again where an array is replaced or grows.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

FAILED = -(2**63)  # what a compiled function gives where it raised an error
# What `look` and `decide` write of a row.
FINE, LABEL, SHOWN, VARIANCE, LEAD, RAW, CHANCE, ASKED, PLACES = range(9)

_NUMBERS = ((bool, "b"), (np.bool_, "b"), (np.uint64, "u"), (int, "i"), (np.integer, "i"),
            (float, "f"), (np.floating, "f"))  # fmt: skip
_double, _word, _unsigned = struct.Struct("d"), struct.Struct("q"), struct.Struct("Q")
_living: WeakValueDictionary[int, Handle] = WeakValueDictionary()


class Handle:
    """A table of nested tuples of numbers and C-contiguous arrays.

    >>> handle = Handle(3, (0.5, np.zeros((2, 4))))
    >>> handle.kinds, len(handle.table)
    ('i,(f,float64:2)', 6)
    """

    __slots__ = ("__weakref__", "address", "kinds", "parts", "stack", "strides", "table")
    strides: NDArray[np.int64]

    def __init__(self, *parts: Any) -> None:
        self.parts, self.kinds, self.stack = parts, kinds_of(parts), parts
        words = [digest(self.kinds)]
        for leaf in leaves(parts):
            words += _words(leaf)
        self.table = np.array(words, np.int64)
        self.address = address_of(self.table)
        _living[self.address] = self

    @classmethod
    def of_stack(cls, *parts: Any) -> Handle:
        """The first entry of each array's first axis, and by how much words move to the next.

        >>> Handle.of_stack(3, np.zeros((5, 2))).strides.tolist()
        [0, 0, 16, 0]
        """
        first = cls(*entry_of(parts, 0))
        first.stack, steps = parts, [0]
        for leaf in leaves(parts):
            stacked = isinstance(leaf, np.ndarray)
            steps += [leaf.strides[0], *[0] * (leaf.ndim - 1)] if stacked else [0]
        first.strides = np.array(steps, np.int64)
        return first


def parts_at(address: int) -> Any:
    """What the handle at an address was made of."""
    return _living[address].parts


def living(address: int) -> Handle:
    """The handle at an address."""
    return _living[address]


def entry_of(value: Any, k: int) -> Any:
    """Entry k of each array of nested tuples, as views; numbers as they are."""
    if isinstance(value, np.ndarray):
        return value[k]
    if isinstance(value, tuple):
        parts = [entry_of(part, k) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays of nested tuples, in order."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def kinds_of(parts: tuple[Any, ...]) -> str:
    """The types of all that a table holds, in words.

    >>> kinds_of((True, np.zeros(3, np.float32)))
    'b,float32:1'
    """
    return ",".join(map(_kind, parts))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = value.dtype
        return f"{kind.descr if kind.names else kind.name}:{value.ndim}"
    if isinstance(value, tuple):
        name = type(value)
        own = "" if name is tuple else f"{name.__module__}.{name.__qualname__}"
        return f"{own}({kinds_of(value)})"
    for number, kind in _NUMBERS:
        if isinstance(value, number):
            return kind
    return "?"  # which compiled code cannot take


@lru_cache(1_000)
def digest(kinds: str) -> int:
    """A word that tells kinds apart.

    >>> digest("i,f") == digest("f,i")
    False
    """
    word: int = _word.unpack(hashlib.sha256(kinds.encode()).digest()[:8])[0]
    return word


def _words(leaf: Any) -> list[int]:
    if isinstance(leaf, np.ndarray):
        if not (leaf.flags.c_contiguous and leaf.flags.aligned):
            raise ValueError("arrays for compiled code must be C-contiguous and aligned")
        return [address_of(leaf), *leaf.shape]
    if isinstance(leaf, float):
        return list(_word.unpack(_double.pack(leaf)))
    if isinstance(leaf, np.uint64):
        return list(_word.unpack(_unsigned.pack(int(leaf))))
    return [int(leaf) if isinstance(leaf, int | np.integer | np.bool_) else 0]


def address_of(array: NDArray[Any]) -> int:
    """Where the numbers of an array begin."""
    address: int = array.__array_interface__["data"][0]
    return address
