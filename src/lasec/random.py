"""Uniform draws that depend on nothing but the seed and the row.

Philox-4x64 with ten rounds (Salmon, Moraes, Dror and Shaw, *Parallel Random Numbers: As Easy as
1, 2, 3*, SC 2011): a bijection of a counter under a key. The key is (seed, 0), the counter is
(ticket, 0, 0, 0); of the four words that come out, the first is the draw of the query and the
second is the draw of a rule that is itself random. Here they are NumPy's; compiled loops have their
own (:mod:`lasec.kernel.philox`), and a test holds the two together bit for bit.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import Range, number

SEEDS = Range(0, 2**64 - 1)
_COUNTS = Range(0, 2**62)


def seed_or_random(seed: int | None) -> int:
    """The seed that was given, or 64 random bits that nobody can guess where none was.

    >>> seed_or_random(7)
    7
    >>> seed_or_random(None) != seed_or_random(None)
    True
    """
    given: int = number("seed", secrets.randbits(64) if seed is None else seed, int, SEEDS)
    return given


def words(seed: int, counter: int, count: int) -> NDArray[np.uint64]:
    """The four words of ``count`` counters from ``counter`` on, one row each."""
    # NumPy's generator steps its counter before it draws.
    philox = np.random.Philox(key=seed, counter=(counter - 1) % 2**256)
    return philox.random_raw(4 * count).reshape(count, 4)


def uniforms(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """The draws of steps ``first`` to ``first + count - 1``, of the query and of the rule.

    These are the numbers that a learner with this seed uses for the tickets of these numbers.

    >>> uniforms(seed=1, first=0, count=3).shape
    (3, 2)
    >>> bool((uniforms(1, 0, 3)[2] == uniforms(1, 2, 1)[0]).all())
    True
    """
    key: int = number("seed", seed, int, SEEDS)
    start: int = number("first", first, int, _COUNTS)
    raw = words(key, start, number("count", count, int, _COUNTS))
    return (raw[:, :2] >> np.uint64(11)).astype(np.float64) * 2.0**-53
