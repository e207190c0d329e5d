"""One round, and a chunk of rounds, row by row, in compiled code.

A row whose variance is above ``LARGEST_VARIANCE`` is refused: a label there would shrink one
direction of the covariance by more than double precision can carry beside the others, and the
matrix could lose its positive definiteness. It takes rows a million times longer than the model
has been told to expect to get there (``|x|^2`` = 10^12 times ``ridge``).
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.dispatch import compiled, margin, probability, update
from lasec.types import Query, Rule, Vector

LARGEST_VARIANCE = 1e12


@compiled
def sane(raw: float, variance: float) -> bool:
    """Whether a margin is finite and its variance is one that double precision can carry."""
    return isfinite(raw) and 0.0 <= variance <= LARGEST_VARIANCE


@compiled
def ask_row(
    rule: Rule[Any], query: Query, state: Any, x: Vector, t: int
) -> tuple[float, float, float, float]:
    """Raw margin, variance, margin and probability of asking in round ``t``."""
    seen = margin(rule, state, x)
    return seen.raw, seen.variance, seen.margin, probability(query, seen, t)


@compiled
def tell_row(
    rule: Rule[Any], state: Any, x: Vector, y: float, draw: float, mistakes_only: bool
) -> tuple[float, float, bool, bool]:
    """Learn one label; gives raw margin, variance, whether a mistake, and whether it was used."""
    seen = margin(rule, state, x)
    mistake = (1.0 if seen.raw >= 0.0 else -1.0) != y
    updated = (mistake or not mistakes_only) and sane(seen.raw, seen.variance)
    if updated:
        update(rule, state, x, y, draw)
    return seen.raw, seen.variance, mistake, updated


@compiled
def run_rows(
    rule: Rule[Any],
    query: Query,
    state: Any,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    draws: NDArray[np.float64],
    first: int,
    mistakes_only: bool,
    numbers: NDArray[np.float64],
    flags: NDArray[np.bool_],
) -> int:
    """Ask and, where asked, tell at once, for each row of ``X``.

    Fills ``numbers`` (raw margin, variance, margin, propensity) and ``flags`` (asked, mistake,
    updated), a row a round. Gives the index of a row that must be refused, or -1.
    """
    for i in range(X.shape[0]):
        seen = margin(rule, state, X[i])
        if not sane(seen.raw, seen.variance):
            return i
        p = probability(query, seen, first + i + 1)
        asked = draws[i, 0] < p
        mistake = (1.0 if seen.raw >= 0.0 else -1.0) != y[i]
        updated = asked and (mistake or not mistakes_only)
        if updated:
            update(rule, state, X[i], y[i], draws[i, 1])
        numbers[i, 0], numbers[i, 1], numbers[i, 2] = seen.raw, seen.variance, seen.margin
        numbers[i, 3] = p
        flags[i, 0], flags[i, 1], flags[i, 2] = asked, mistake, updated
    return -1
