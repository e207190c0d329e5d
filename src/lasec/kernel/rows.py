"""One round, and a chunk of rounds, row by row, in compiled code.

One label shrinks the variance along x by up to the factor 1/(1 + strain), where the strain is
``|x|^2`` times the largest variance of any weight (less where drift keeps the variance up). Above
``LARGEST_STRAIN`` that is more than double precision can carry beside the other directions, and the
covariance could lose its positive definiteness: such a row is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.dispatch import compiled, margin, probability, strain, update
from lasec.types import Query, Rule, Vector

LARGEST_STRAIN = 1e12


@compiled
def bearable(rule: Rule[Any], state: Any, x: Vector) -> bool:
    """Whether a label at ``x`` is one that double precision can carry."""
    return strain(rule, state, x) <= LARGEST_STRAIN


@compiled
def ask_row(
    rule: Rule[Any], query: Query, state: Any, x: Vector, t: int
) -> tuple[float, float, float, float, bool]:
    """Raw margin, variance, margin, probability of asking in round ``t``, whether bearable."""
    seen = margin(rule, state, x)
    chance = probability(query, seen, t)
    return seen.raw, seen.variance, seen.margin, chance, bearable(rule, state, x)


@compiled
def tell_row(
    rule: Rule[Any], state: Any, x: Vector, y: float, draw: float, mistakes_only: bool
) -> tuple[bool, bool, bool]:
    """Learn one label; gives whether it was a mistake, was to be used, and could be used."""
    mistake = (1.0 if margin(rule, state, x).raw >= 0.0 else -1.0) != y
    wanted = mistake or not mistakes_only
    usable = bearable(rule, state, x)
    if wanted and usable:
        update(rule, state, x, y, draw)
    return mistake, wanted, usable


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

    Fills ``numbers`` (margin, variance, propensity) and ``flags`` (predicted +1, asked, mistake,
    updated), a row a round. Gives the index of a row that must be refused, or -1.
    """
    for i in range(X.shape[0]):
        if not bearable(rule, state, X[i]):
            return i
        seen = margin(rule, state, X[i])
        p = probability(query, seen, first + i + 1)
        positive = seen.raw >= 0.0
        asked = draws[i, 0] < p
        mistake = positive != (y[i] > 0.0)
        updated = asked and (mistake or not mistakes_only)
        if updated:
            update(rule, state, X[i], y[i], draws[i, 1])
        numbers[i, 0], numbers[i, 1], numbers[i, 2] = seen.margin, seen.variance, p
        flags[i, 0], flags[i, 1], flags[i, 2], flags[i, 3] = positive, asked, mistake, updated
    return -1
