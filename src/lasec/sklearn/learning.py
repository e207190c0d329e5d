"""How a learner of lasec is driven from a table: its rows, and how those with labels are learned.

Learners that are given to these functions stay as they were: an estimator puts a new one in place
when all has gone well.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.learner import Learner
from lasec.sparse import takes_pairs
from lasec.types import NotingRule

# For a rule of dense rows, sparse ones become dense in blocks of at most so many numbers (16 MB).
_BLOCK = 2**21


def blocks(learner: Learner, X: Any, intercept: bool) -> Iterator[tuple[slice, Any]]:
    """The rows of X as a learner takes them, with a column of ones where wanted.

    Where its rule is one for sparse rows, they are X as it is; else they are dense: whole, or by
    blocks if X is sparse.

    >>> import lasec
    >>> from scipy.sparse import csr_array
    >>> learner, X = lasec.LASEC(dimension=3), csr_array([[0.0, 2.0]])
    >>> [rows.tolist() for _, rows in blocks(learner, X, intercept=True)]
    [[[0.0, 2.0, 1.0]]]
    """
    count, d = X.shape
    if takes_pairs(learner.rule):
        yield from [(slice(0, count), X)] if count else []
        return
    sparse = not isinstance(X, np.ndarray)
    step = max(1, _BLOCK // max(1, d)) if sparse else max(1, count)
    for begin in range(0, count, step):
        part = X[begin : begin + step]
        rows = part.toarray() if sparse else part
        if intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        dense = validation.finite("X", np.ascontiguousarray(rows, dtype=np.float64))
        yield slice(begin, begin + len(dense)), dense


def noted(learner: Learner, X: Any, intercept: bool) -> Learner:
    """The learner after rows that were asked about, as if each had been given to its ``ask``.

    >>> import lasec
    >>> before = lasec.Tracker(dimension=2)
    >>> after = noted(before, np.ones((3, 2)), intercept=False)
    >>> before.rows, after.rows, int(after.state.tally[0])
    (0, 3, 3)
    """
    if not isinstance(learner.rule, NotingRule):
        return learner.counted(rows=learner.rows + X.shape[0])
    pupil = copy.copy(learner)
    for _, rows in blocks(learner, X, intercept):
        pupil.note(rows)
    return pupil


def taught(
    learner: Learner, X: Any, y: NDArray[Any], tickets: list[int], intercept: bool
) -> Learner:
    """The learner after rows and their labels, each as the answer to its ticket, or as a new row.

    A ticket of -1 is a row that was not asked about.

    >>> import lasec
    >>> before = lasec.LASEC(dimension=2)
    >>> after = taught(before, np.ones((3, 2)), np.array([-1, -1, 1]), [-1, -1, -1], False)
    >>> before.rows, after.rows, after.updates
    (0, 3, 2)
    """
    pupil = copy.copy(learner)
    for at, rows in blocks(learner, X, intercept):
        end = 0
        for asked, group in groupby(ticket >= 0 for ticket in tickets[at]):
            begin, end = end, end + len([*group])
            part = slice(at.start + begin, at.start + end)
            if asked:
                pupil.answer(rows[begin:end], y[part], tickets[part])
            else:
                _run(pupil, rows[begin:end], y[part], part.start)
    return pupil


def _run(pupil: Learner, rows: Any, labels: NDArray[Any], before: int) -> None:
    """Learn some rows; an error says where they begin, since they are counted from there."""
    try:
        pupil.run(rows, labels)
    except ValueError as error:
        if before == 0:
            raise
        raise ValueError(f"counted from row {before} on, {error}") from error
