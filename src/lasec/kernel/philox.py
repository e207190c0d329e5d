"""Uniform draws that depend on nothing but the seed and the round.

Philox-4x64 with ten rounds (Salmon, Moraes, Dror and Shaw, *Parallel Random Numbers: As Easy as
1, 2, 3*, SC 2011): a bijection of a counter under a key. The key is (seed, 0), the counter is
(ticket, 0, 0, 0); of the four words that come out, the first is the coin of the query and the
second is the draw of a rule that is itself random. A test holds it against NumPy's, bit for bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.dispatch import compiled
from lasec.parameters import Range, number

SEEDS = Range(0, 2**64 - 1)

U = np.uint64
_MULTIPLIER_0, _MULTIPLIER_1 = U(0xD2E7470EE14C6C93), U(0xCA5A826395121157)
_WEYL_0, _WEYL_1 = U(0x9E3779B97F4A7C15), U(0xBB67AE8584CAA73B)
_LOW, _HALF, _SHIFT = U(0xFFFFFFFF), U(32), U(11)
_ZERO = U(0)
_UNIT = 2.0**-53


@compiled
def high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of the 128-bit product of ``a`` and ``b``."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    crossed = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (crossed >> _HALF)


@compiled
def draw(seed: np.uint64, ticket: np.uint64) -> tuple[float, float]:
    """The two uniform draws in [0, 1) of one round: the query's coin and the rule's draw."""
    c0, c1, c2, c3 = ticket, _ZERO, _ZERO, _ZERO
    k0, k1 = seed, _ZERO
    for _ in range(10):
        high_0, low_0 = high_word(_MULTIPLIER_0, c0), _MULTIPLIER_0 * c0
        high_1, low_1 = high_word(_MULTIPLIER_1, c2), _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0, k1 = k0 + _WEYL_0, k1 + _WEYL_1
    return (c0 >> _SHIFT) * _UNIT, (c1 >> _SHIFT) * _UNIT


@compiled
def _fill(seed: np.uint64, first: int, out: NDArray[np.float64]) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = draw(seed, U(first + i))


def uniforms(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """The draws of rounds ``first`` to ``first + count - 1``, one row a round: coin, rule's draw.

    These are the numbers that a learner with this seed uses for the tickets of these numbers.

    >>> uniforms(seed=1, first=0, count=3).shape
    (3, 2)
    >>> bool((uniforms(1, 0, 3)[2] == uniforms(1, 2, 1)[0]).all())
    True
    """
    key = U(number("seed", seed, int, SEEDS))
    start = number("first", first, int, Range(0, 2**62))
    out = np.empty((number("count", count, int, Range(0, 2**62)), 2))
    _fill(key, start, out)
    return out
