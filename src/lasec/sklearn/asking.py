"""The budget of a classifier, and the questions that are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lasec.gate import Gate
from lasec.queries import VarianceThreshold
from lasec.session.adapters import budget
from lasec.types import Query

MOST_OPEN = 10_000


def opened(rate: float, query: Query | None, seed: int | None, kind: type | None = None) -> Gate:
    """A gate with the query of a Tracker of this ``rate``, or with a ``query`` of one's own.

    ``kind`` is the only kind of query that will do.

    >>> opened(0.2, None, seed=0).query.rate
    0.2
    >>> from lasec.queries import Uniform
    >>> opened(0.1, Uniform(0.5), seed=0).query
    Uniform(rate=0.5)
    """
    chosen = budget(rate, query)
    if query is None:
        return Gate(chosen, seed=seed)
    if kind is not None and not isinstance(query, kind):
        raise TypeError(f"query must be a lasec.queries.{kind.__name__}, got {query!r}")
    if getattr(query, "max_open", 0) > 0:
        raise ValueError("query: max_open is not for here, where nobody says what is still open")
    if isinstance(getattr(query, "inner", query), VarianceThreshold):
        raise ValueError("query: VarianceThreshold needs variances, and here are margins alone")
    return Gate(query, seed=seed)


class Questions:
    """The rows that were asked about, in order, so that their labels find their rounds again.

    A row is known by a digest of its numbers in single precision, so that it may be told in another
    precision than it was asked in; equal rows are answered oldest first. Beyond ``MOST_OPEN`` the
    oldest question is forgotten: its label is then learned as one that came for free.

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
        self._tickets: dict[bytes, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __copy__(self) -> Self:
        twin = type(self)()
        twin._keys, twin._tickets = self._keys.copy(), self._tickets.copy()
        return twin

    def add(self, rows: NDArray[Any], tickets: Iterable[int]) -> None:
        """Open these tickets, one for each row."""
        for row, ticket in zip(rows, tickets, strict=True):
            key = _key(row)
            self._keys[ticket] = key
            self._tickets[key] = (*self._tickets.get(key, ()), ticket)
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
                rest = tuple(other for other in self._tickets[key] if other != ticket)
                if rest:
                    self._tickets[key] = rest
                else:
                    del self._tickets[key]


def _key(row: NDArray[Any]) -> bytes:
    with np.errstate(over="ignore", under="ignore"):
        single = row.astype(np.float32)
    return blake2b((single + np.float32(0.0)).tobytes(), digest_size=16).digest()
