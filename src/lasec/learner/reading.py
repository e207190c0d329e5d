"""Rows in, and what a model says of them: nothing here is counted, queried or learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import sparse, validation
from lasec.learner.state import LearnerState, too_large
from lasec.nested import entry_of
from lasec.parameters import Range, number
from lasec.records import Records
from lasec.rules import OneVsRest
from lasec.sparse import plain
from lasec.types import Vector

_STEPS = Range(0, 2**62)


def one_row(now: LearnerState, x: ArrayLike) -> Vector:
    """One row as the compiled code wants it; as it stands where it is that already."""
    kind = now.kind
    if (
        type(x) is np.ndarray
        and x.dtype == kind
        and x.shape == (now.dimension,)
        and x.flags.carray
        and not kind.names  # pairs may say any column
    ):
        return x
    return sparse.row(x, now.dimension, kind)


def usable(now: LearnerState, X: Any) -> Any:
    """Rows of a usable size; as they stand where they are what the compiled code wants."""
    kind = now.kind
    fits = type(X) is np.ndarray and X.dtype == kind and X.flags.carray
    if kind.names or not (fits and X.ndim == 2 and X.shape[1] == now.dimension):
        X = sparse.rows(X, now.dimension, kind)
    return X if kind.names or _small(X) else validation.finite("X", X)


def _small(X: NDArray[Any]) -> bool:
    """Whether all entries together are small, which is seen faster than whether each is."""
    flat = X.reshape(-1)
    return bool(np.dot(flat, flat) <= validation.LARGEST_ENTRY)


def refusal(x: Vector, where: str = "x") -> ValueError:
    """What is wrong with a row that cannot be used."""
    validation.finite(where.partition(":")[0], x)
    return too_large(where)


def probable(now: LearnerState) -> bool:
    """Whether margins are P(+1) - P(-1)."""
    return bool(now.rule.facts.probabilities)


def look(now: LearnerState, rows: Any, first: int | None = None) -> Any:
    """What a model says of rows: all as of the next step, or from the step ``first`` on."""
    step = 0 if first is None else 1
    begin = now.selector.rows if first is None else number("first", first, int, _STEPS)
    return now.selector.machine.look(now.rule, now.model, plain(rows), begin + 1, step)


def preview(now: LearnerState, rows: Any, draws: ArrayLike | None) -> Records:
    """What ``ask`` would decide about each row if it were the next."""
    n, seen = len(rows), look(now, rows)
    fine, given = seen.fine > 0.0, validation.given(draws, n)
    propensity, asked = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
    propensity[fine], asked[fine] = now.selector.preview(
        seen.lead[fine], seen.variance[fine], waiting=len(now.book),
        draws=given[fine] if given.size else given,
    )  # fmt: skip
    margin, variance = (np.where(fine, one, np.nan) for one in (seen.margin, seen.variance))
    none, label = np.zeros(n, dtype=np.bool_), now.labels(seen.label)
    return Records(
        label, margin, variance, propensity, asked, none, none, learned=none, labeled=none,
        ticket=np.full(n, now.selector.rows), refused=~fine, all_labels=False,
        sign=np.where(seen.label < 0.0, -1, 1).astype(np.int8),
    )  # fmt: skip


def class_margins(now: LearnerState, rows: Any) -> NDArray[np.float64]:
    """The margin of each class for each row: the largest is predicted."""
    if len(now.classes.names) == 2:
        margin = look(now, rows).margin
        return np.column_stack([-margin, margin])
    rule: Any = now.rule
    if probable(now) or not isinstance(rule, OneVsRest):
        return 2.0 * likely(now, rows) - 1.0
    machine, t = now.selector.machine, now.selector.rows + 1
    states = (entry_of(now.model, k) for k in range(rule.classes))
    return np.column_stack([machine.look(rule.inner, s, plain(rows), t).margin for s in states])


def likely(now: LearnerState, rows: Any) -> NDArray[np.float64]:
    """The probability of each class for each row."""
    most = len(now.classes.names)
    if most == 2:
        margin = look(now, rows).margin
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])
    selector = now.selector
    return selector.machine.classes(now.rule, now.model, plain(rows), selector.rows + 1, most)
