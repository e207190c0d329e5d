"""Which rows to ask about: one budget over a stream of margins, and the questions that are open.

The gate is itself a learner, over a single feature: the margin that somebody else has found. Its
one weight is 1, so its own margin is that number, and it never learns, because it is never told of
a mistake. So coins, controller, memory and state file are those of every other learner.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.guards import LARGEST_ENTRY
from lasec.learner import Learner
from lasec.parameters import number
from lasec.queries import Budgeted
from lasec.rules import Perceptron
from lasec.tracker import Tracker
from lasec.types import Matrix, Vector

MOST_OPEN = 10_000


def gate(rate: float, horizon: int, budget: Budgeted | None, seed: int) -> Learner:
    """The gate with the query of a Tracker, or with a budget of one's own.

    >>> gate(rate=0.2, horizon=10_000, budget=None, seed=0).query.rate
    0.2
    """
    if budget is not None and not isinstance(budget, Budgeted):
        raise TypeError(f"budget must be a lasec.queries.Budgeted, got {budget!r}")
    if budget is not None and budget.max_open > 0:
        raise ValueError("budget: max_open is not for here, where nobody says what is still open")
    number("rate", rate, float, None)
    query = Tracker(dimension=1, rate=rate, horizon=horizon, budget=budget).query
    made = Learner(Perceptron(), query, dimension=1, seed=seed, name="Gate")
    made.state.weights[0] = 1.0
    return made


def decide(
    opened: Learner, margins: Vector, times: ArrayLike | None = None
) -> tuple[NDArray[np.bool_], Vector]:
    """Which of the next rows to ask about, and with what probability each was going to be asked.

    >>> asked, propensity = decide(gate(0.1, 10_000, None, seed=0), np.array([0.0, 0.5]))
    >>> asked.tolist(), propensity.round(3).tolist()
    ([True, True], [1.0, 1.0])
    """
    if np.isnan(margins).any():
        raise ValueError("X: the classifier's margin of a row is NaN")
    column = np.clip(margins, -LARGEST_ENTRY, LARGEST_ENTRY).reshape(-1, 1)
    records = opened.run(column, np.where(column[:, 0] >= 0.0, 1, -1), times=times)
    return records.asked, records.propensity


def lead(chances: Matrix) -> Vector:
    """By how much the best column is ahead of the second best, for each row.

    >>> lead(np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])).round(2).tolist()
    [0.2, 0.7]
    """
    best = np.partition(chances, -2, axis=1)[:, -2:]
    ahead: Vector = best[:, 1] - best[:, 0]
    return ahead


class Questions:
    """The rows that were asked about, in order, so that their labels find their rounds again.

    A row is known by a digest of its numbers; equal rows are answered oldest first. Beyond
    ``MOST_OPEN`` the oldest question is forgotten: its label is then learned as one that came for
    free.

    >>> book, rows = Questions(), np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    >>> book.add(rows, tickets=[5, 7, 8])
    >>> book.find(rows[[0, 0, 0, 1]])
    [5, 8, -1, 7]
    >>> book.close([5, -1])
    >>> book.find(rows[:1]), len(book)
    ([8], 2)
    """

    def __init__(self) -> None:
        self._keys: dict[int, bytes] = {}
        self._tickets: dict[bytes, deque[int]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, rows: NDArray[Any], tickets: Iterable[int]) -> None:
        """Open these tickets, one for each row."""
        for row, ticket in zip(rows, tickets, strict=True):
            key = _key(row)
            self._keys[ticket] = key
            self._tickets.setdefault(key, deque()).append(ticket)
        self.close(list(islice(self._keys, max(0, len(self) - MOST_OPEN))))

    def find(self, rows: NDArray[Any], taken: Counter[bytes] | None = None) -> list[int]:
        """The open ticket of each row, -1 where there is none; no ticket is given out twice.

        ``taken`` counts what earlier calls have found and not closed yet.
        """
        if not self._keys:
            return [-1] * len(rows)
        taken = Counter() if taken is None else taken
        found = []
        for key in map(_key, rows):
            waiting = self._tickets.get(key, ())
            found.append(waiting[taken[key]] if taken[key] < len(waiting) else -1)
            taken[key] += 1
        return found

    def close(self, tickets: Iterable[int]) -> None:
        """Forget tickets whose labels have come; -1 is none."""
        for ticket in tickets:
            if ticket >= 0:
                key = self._keys.pop(ticket)
                self._tickets[key].remove(ticket)
                if not self._tickets[key]:
                    del self._tickets[key]


def _key(row: NDArray[Any]) -> bytes:
    return blake2b((row + 0.0).tobytes(), digest_size=16).digest()
