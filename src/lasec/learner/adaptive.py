"""Labels that a budget spends early, where a Tracker expects that what they teach lasts.

The error of n labels is about c / n, and a label is worth less by k a row: the hazard plus the
drift. Of all plans that spend B labels in L rows, the one with the least error spends at once what
is lacking to n* = (n + B) / (1 + k L), and then k n* a row. What the Tracker knows of hazard, drift
and the beginning of the concept says how much that is. Every 100 rows, with t rows and ``labels``
so far, D labels owed, and the expectation E over the posterior::

    L = horizon - t in the first horizon, later horizon         the rows over which it is repaid
    n = max(rate, labels / t) (1 - (1 - drift)^age) / drift     labels that count, of a state
    gap = E max(0, (n + rate L - D) / (1 + (hazard + drift) L) - n)
    value = (1 - 2 noise - m) / 0.4, within 0 and 1             m: the usual size of a margin
    room = adapt rate L - D

and min(value gap, room) 2,000 / horizon labels are spent earlier; then all that is owed is repaid
evenly over L. Where rows are easy already, or labels soon count for nothing, few are. D stays in
the plan, so that the minimum query probability does not fall while it is repaid.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from lasec import sparse
from lasec.learner.state import LearnerState
from lasec.queries.account import BOOST, LABELS, REPAY, ROUNDS, USUAL
from lasec.records import Records
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS
from lasec.types import Vector

EVERY, PARTS, FASTEST = 100, 20.0, 9.0
DOUBTFUL = 0.4


def adapts(now: LearnerState) -> bool:
    """Whether the budget is adaptive, and the model knows what labels are worth."""
    return getattr(now.selector.query, "adapt", 0.0) > 0.0 and hasattr(now.model, "posterior")


def boosted(now: LearnerState) -> LearnerState:
    """The state before the next row, with the boost that is decided there."""
    selector = now.selector
    if selector.rows % EVERY or not selector.rows or not adapts(now):
        return now
    labels, over = boost_of(
        now.rule, now.model, selector.query, selector.query_state, selector.rows
    )
    if labels <= 0.0:
        return now
    selector = copy(selector)
    state = selector.query_state
    state[BOOST] += labels
    state[REPAY] = state[BOOST] / over
    return replace(now, selector=selector)


def boost_of(rule: Any, model: Any, query: Any, state: Vector, rows: int) -> tuple[float, float]:
    """How many labels are spent early from a row on, and over how many rows they are repaid."""
    past, owed, horizon = state[ROUNDS], state[BOOST], query.horizon
    over = horizon - past if past < horizon else horizon
    if past < 1.0 or over < 2.0 * EVERY:
        return 0.0, over
    weight, age = model.posterior.sum(axis=1), np.repeat(rows - model.born, len(SPEEDS))
    drift = rule.drift * np.resize(SPEEDS, age.size)
    fade = (rule.hazard * np.array(HAZARDS))[:, None] + drift
    n = max(query.rate, state[LABELS] / past) * lasting(drift, age)
    best = (n + query.rate * over - owed) / (1.0 + fade * over)
    gap = float((weight * np.maximum(0.0, best - n)).sum())
    noise = rule.lapse * float(model.posterior.sum(axis=(0, 2)) @ np.array(LAPSES))
    value = min(max((1.0 - 2.0 * noise - state[USUAL]) / DOUBTFUL, 0.0), 1.0)
    room = query.adapt * query.rate * over - owed
    part = min(value * gap, room) * EVERY * PARTS / horizon
    return float(min(max(part, 0.0), FASTEST * query.rate * EVERY)), over


def lasting(drift: Vector, age: Vector) -> Vector:
    """The rows that count, of so many: with drift those long ago count less."""
    slow = np.maximum(drift, 1e-12)
    return np.where(drift > 0.0, -np.expm1(age * np.log1p(-slow)) / slow, age)


def in_turns(
    now: LearnerState, step: Callable[..., tuple[LearnerState, Records]], X: Any, *columns: Any,
    **options: Any,
) -> tuple[LearnerState, Records]:  # fmt: skip
    """A step over rows, cut where boosts are decided; for all rows, or for none."""
    if not adapts(now):
        return step(now, X, *columns, **options)
    rows = sparse.rows(X, now.dimension, now.kind)
    given = [c if c is None or type(c) is np.ndarray else list(c) for c in columns]
    first, n = now.selector.rows, len(rows)
    if not n or any(c is not None and len(c) != n for c in given):
        return step(now, X, *columns, **options)
    begins = sorted({0, *range(-first % EVERY, n, EVERY)})
    now, parts = now.copy(), list[Records]()
    options = dict.fromkeys(options, True)  # a model of its own may be changed in place
    for begin, end in zip(begins, [*begins[1:], n], strict=True):
        at = slice(begin, end)
        cut = [None if c is None else c[at] for c in given]
        now, records = step(boosted(now), rows[at], *cut, **options)
        parts.append(records)
    return now, Records.join(parts)
