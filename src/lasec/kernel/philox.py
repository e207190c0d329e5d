"""The draws of :mod:`lasec.random`, one row at a time, for compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U = np.uint64
_MULTIPLIER_0, _MULTIPLIER_1 = U(0xD2E7470EE14C6C93), U(0xCA5A826395121157)
_WEYL_0, _WEYL_1 = U(0x9E3779B97F4A7C15), U(0xBB67AE8584CAA73B)
_LOW, _HALF, _SHIFT = U(0xFFFFFFFF), U(32), U(11)
_ZERO = U(0)
_UNIT = 2.0**-53


def high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of the 128-bit product of ``a`` and ``b``."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    crossed = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (crossed >> _HALF)


def draw(seed: np.uint64, ticket: np.uint64) -> tuple[float, float]:
    """The two uniform draws in [0, 1) of one row: the query's and the rule's."""
    c0, c1, c2, c3 = ticket, _ZERO, _ZERO, _ZERO
    k0, k1 = seed, _ZERO
    for _ in range(10):
        high_0, low_0 = high_word(_MULTIPLIER_0, c0), _MULTIPLIER_0 * c0
        high_1, low_1 = high_word(_MULTIPLIER_1, c2), _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0, k1 = k0 + _WEYL_0, k1 + _WEYL_1
    return (c0 >> _SHIFT) * _UNIT, (c1 >> _SHIFT) * _UNIT


def draw_all(
    seeds: NDArray[np.uint64], keys: NDArray[np.int64], numbers: NDArray[np.uint64],
    out: NDArray[np.float64],
) -> None:  # fmt: skip
    """out[i] <- the query's draw for the seed of row i's key, in the step of that number."""
    for i in range(keys.size):
        out[i] = draw(seeds[keys[i]], numbers[i])[0]
