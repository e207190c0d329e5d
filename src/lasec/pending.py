"""Open questions: what a learner remembers of an asked instance until its label comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import guards
from lasec.errors import StateError, TicketError
from lasec.types import Decision, Vector

_COLUMNS = ("label", "margin", "variance", "propensity")


class Pending:
    """Open tickets in the order in which they were given out, at most ``limit`` of them.

    Where one more is added past the limit, the oldest is dropped: its label will be refused.

    >>> book = Pending(limit=1)
    >>> first = Decision(1, 0.2, 1.0, 0.5, asked=True, ticket=0)
    >>> book.add(first, np.zeros(2)), book.add(first._replace(ticket=4), np.ones(2))
    (0, 1)
    >>> list(book)
    [4]
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: dict[int, tuple[Decision, Vector]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[int]:
        return iter(self._open)

    def add(self, decision: Decision, x: Vector) -> int:
        """Open a ticket; gives how many older ones had to be dropped for it (0 or 1)."""
        self._open[decision.ticket] = (decision, x.copy())
        if len(self._open) <= self.limit:
            return 0
        del self._open[next(iter(self._open))]
        return 1

    def find(self, ticket: int, issued: int) -> tuple[Decision, Vector]:
        """What is remembered of an open ticket; ``issued`` is how many have been given out."""
        if type(ticket) is int and ticket in self._open:
            return self._open[ticket]
        if isinstance(ticket, (bool, np.bool_)) or not isinstance(ticket, (int, np.integer)):
            raise TypeError(f"ticket: expected a whole number, got {ticket!r}")
        if not 0 <= ticket < issued:
            raise TicketError(f"ticket {ticket} was never given out: the next one is {issued}")
        if ticket not in self._open:
            raise TicketError(
                f"ticket {ticket} is not open: its label was not asked for, has come already, "
                f"or was dropped because more than {self.limit} were open"
            )
        return self._open[int(ticket)]

    def close(self, ticket: int) -> None:
        """Forget a ticket whose label has come."""
        del self._open[ticket]

    def arrays(self, dimension: int) -> dict[str, NDArray[Any]]:
        """All that is remembered, as arrays."""
        decisions = [decision for decision, _ in self._open.values()]
        rows = [x for _, x in self._open.values()]
        columns = [[getattr(decision, name) for name in _COLUMNS] for decision in decisions]
        return {
            "ticket": np.array(list(self._open), dtype=np.int64),
            "x": np.array(rows, dtype=np.float64).reshape(len(rows), dimension),
            "decision": np.array(columns, dtype=np.float64).reshape(len(rows), len(_COLUMNS)),
        }

    def restore(
        self, arrays: dict[str, NDArray[Any]], dimension: int, issued: int, kind: Any
    ) -> None:
        """Take back what :meth:`arrays` gave, or refuse it."""
        ticket, x, decision = arrays["ticket"], arrays["x"], arrays["decision"]
        n = ticket.size
        shapes = ticket.shape == (n,) and x.shape == (n, dimension) and decision.shape == (n, 4)
        if not shapes or n > self.limit or ticket.dtype != np.int64:
            raise StateError("invalid: the open tickets do not fit the model")
        try:
            x = guards.finite("x", guards.rows(x, dimension, kind))
            guards.labels(decision[:, 0], n)
        except (TypeError, ValueError) as error:
            raise StateError(f"invalid: the open tickets hold bad numbers ({error})") from error
        if not _possible(ticket, decision, issued):
            raise StateError("invalid: the open tickets hold impossible numbers")
        for number, row, (label, margin, spread, chance) in zip(
            ticket.tolist(), x, decision.tolist(), strict=True
        ):
            made = Decision(int(label), margin, spread, chance, asked=True, ticket=number)
            self._open[number] = (made, row.copy())


def _possible(ticket: Any, decision: Any, issued: int) -> bool:
    """Whether tickets rise within those given out, and decisions are ones that a query can make."""
    _, margin, variance, propensity = decision.T
    return bool(
        ((ticket >= 0) & (ticket < issued)).all()
        and (np.diff(ticket) > 0).all()
        and (np.isfinite(margin) & np.isfinite(variance) & (variance >= 0.0)).all()
        and ((propensity > 0.0) & (propensity <= 1.0)).all()
    )
