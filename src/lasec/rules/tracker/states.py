"""What the Tracker's rules share, and what they need of a state: functions that are its methods.

A state is a NamedTuple of parts. Where it mixes several views (a mixed table, lenses), their
margins, or the probabilities of classes, are averaged with the weight of each (:func:`mix_says`),
of those that have enough weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.rules.tracker.costs import count_said, count_sign, weigh_sign
from lasec.rules.tracker.mixture import best_of, divide, lead_of
from lasec.rules.tracker.softmax import add
from lasec.types import ClassMargin, Vector

__all__ = ["count_shares", "look", "mix_chances", "mix_says"]


def says(state: Any, rule: Any, x: Any, t: int) -> ClassMargin:
    """What is said about a row of two classes."""
    seen: ClassMargin = state.says(rule, x, t)
    return seen


def chances(state: Any, rule: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    state.chances(rule, x, t, mean, square)


def asked(state: Any, rule: Any, x: Any) -> None:
    """Count a row that is asked about."""
    state.asked(rule, x)


def teach(state: Any, rule: Any, x: Any, y: float, t: int) -> None:
    """Learn a label."""
    state.teach(rule, x, y, t)


def texts_in(state: Any) -> Any:
    """What is known of the words of sparse rows."""
    return state.texts_in()


def view_says(state: Any, rule: Any, e: int, at: Any, t: int) -> ClassMargin:
    """What one view says about a row of two classes."""
    seen: ClassMargin = state.view_says(rule, e, at, t)
    return seen


def view_chances(
    state: Any, rule: Any, e: int, at: Any, t: int, mean: Vector, square: Vector
) -> None:
    """The same of many classes, as :func:`chances` has it."""
    state.view_chances(rule, e, at, t, mean, square)


def look(rule: Any, state: Any, classes: Any, x: Any, t: int) -> ClassMargin:
    """P(y = +1) - P(y = -1); its variance is how far views and hypotheses disagree about that.

    With more classes, the lead of the best class over the second.
    """
    told, costs = classes.told, classes.costs
    if told.size:
        mean, square = np.empty(told.size), np.empty(told.size)
        chances(state, rule, x, t, mean, square)
        return best_of(rule, costs, mean, square)
    seen = says(state, rule, x, t)
    return weigh_sign(rule, costs, seen) if costs.size else seen


def count_shares(state: Any, classes: Any, rule: Any, x: Any, t: int) -> None:
    """Add the probability of each class of a row that is asked about to those of the others."""
    told, costs = classes.told, classes.costs
    if not rule.balanced or not costs.size:
        return
    if told.size:
        mean, square = np.empty(told.size), np.empty(told.size)
        chances(state, rule, x, t, mean, square)
        count_said(costs, mean)
    else:
        count_sign(costs, says(state, rule, x, t).raw)


def mix_says(state: Any, rule: Any, omega: Vector, at: Any, t: int) -> ClassMargin:
    """What the views of weights omega say together about a row of two classes."""
    bar, total, first, second = min(rule.negligible, omega.max()), 0.0, 0.0, 0.0
    for e in range(omega.size):
        if omega[e] >= bar:
            seen = view_says(state, rule, e, at, t)
            total += omega[e]
            first += omega[e] * seen.raw
            second += omega[e] * (seen.variance + seen.raw * seen.raw)
    return lead_of(total, first, second)


def mix_chances(
    state: Any, rule: Any, omega: Vector, at: Any, t: int, mean: Vector, square: Vector
) -> None:
    """The same of many classes, as :func:`chances` has it."""
    p, q, total = np.empty_like(mean), np.empty_like(mean), 0.0
    bar = min(rule.negligible, omega.max())
    for c in range(mean.size):
        mean[c] = square[c] = 0.0
    for e in range(omega.size):
        if omega[e] >= bar:
            view_chances(state, rule, e, at, t, p, q)
            total += omega[e]
            add(mean, omega[e], p)
            add(square, omega[e], q)
    divide(mean, square, total)
