"""How lasec's learners are driven from a table: what they say about rows, and how rows are learned.

Everything here leaves the learners that it is given as they were, or gives new ones: an estimator
puts them in place when all has gone well.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.learner import Learner
from lasec.types import Matrix, NotingRule, TimedRule

# Sparse rows become dense in blocks of at most so many numbers (16 MB).
_BLOCK = 2**21


def blocks(X: Any, intercept: bool) -> Iterator[tuple[slice, Matrix]]:
    """X as dense rows, with a column of ones where wanted: whole, or by blocks if it is sparse.

    >>> from scipy.sparse import csr_array
    >>> [rows.tolist() for _, rows in blocks(csr_array([[0.0, 2.0]]), intercept=True)]
    [[[0.0, 2.0, 1.0]]]
    """
    count, d = X.shape
    sparse = not isinstance(X, np.ndarray)
    step = max(1, _BLOCK // max(1, d)) if sparse else max(1, count)
    for begin in range(0, count, step):
        part = X[begin : begin + step]
        rows = part.toarray() if sparse else part
        if intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        dense = validation.finite("X", np.ascontiguousarray(rows, dtype=np.float64))
        yield slice(begin, begin + len(dense)), dense


def noted(learners: Sequence[Learner], X: Any, intercept: bool) -> list[Learner]:
    """The learners after rows that were asked about, as if each had been given to their ``ask``.

    >>> import lasec
    >>> before = [lasec.Tracker(dimension=2)]
    >>> after = noted(before, np.ones((3, 2)), intercept=False)
    >>> before[0].rows, after[0].rows, int(after[0].state.tally[0])
    (0, 3, 3)
    """
    if not all(isinstance(learner.rule, NotingRule) for learner in learners):
        return [learner.counted(rows=learner.rows + X.shape[0]) for learner in learners]
    pupils = [copy.copy(learner) for learner in learners]
    for _, rows in blocks(X, intercept):
        for pupil in pupils:
            pupil.note(rows)
    return pupils


def taught(
    learners: Sequence[Learner],
    rows: Matrix,
    signs: NDArray[np.int8],
    tickets: list[int],
    before: int = 0,
) -> list[Learner]:
    """The learners after these rows: each learned in the step of its ticket, or in a new one.

    ``signs`` has a column of -1 and +1 for each learner. A ticket of -1 is a row that was not asked
    about. ``before`` is how many rows came before these, for the message of an error.

    >>> import lasec
    >>> before = [lasec.LASEC(dimension=2)]
    >>> after = taught(before, np.ones((3, 2)), np.array([[-1], [-1], [1]]), [-1, -1, -1])
    >>> before[0].rows, after[0].rows, after[0].updates
    (0, 3, 2)
    """
    pupils = [copy.copy(learner) for learner in learners]
    first = learners[0].rows
    timed = isinstance(learners[0].rule, TimedRule)
    noting = isinstance(learners[0].rule, NotingRule)
    for begin, end, ticket in _windows(tickets) if timed or noting else [(0, len(rows), -1)]:
        answers = ticket >= 0
        now = first + tickets[:begin].count(-1)
        pupils = [pupil.counted(rows=ticket if answers and not noting else now) for pupil in pupils]
        for pupil, column in zip(pupils, signs.T, strict=True):
            if answers and noting:  # these rows were noted when they were asked about
                pupil.answer(rows[begin:end], column[begin:end], tickets[begin:end])
            else:
                _run(pupil, rows[begin:end], column[begin:end], before + begin)
    return [pupil.counted(rows=first + tickets.count(-1)) for pupil in pupils]


def _run(pupil: Learner, rows: Matrix, signs: NDArray[np.int8], before: int) -> None:
    """Learn some rows; an error says where they begin, since they are counted from there."""
    try:
        pupil.run(rows, signs)
    except ValueError as error:
        if before == 0:
            raise
        raise ValueError(f"counted from row {before} on, {error}") from error


def _windows(tickets: list[int]) -> Iterator[tuple[int, int, int]]:
    """Rows that can be learned at once: begin, end, and the first ticket (-1: not asked)."""
    order = enumerate(tickets)
    for _, group in groupby(order, key=lambda item: item[1] - item[0] if item[1] >= 0 else None):
        items = list(group)
        yield items[0][0], items[-1][0] + 1, items[0][1]
