"""Rows in the order of their tickets, each held back until no question before it is open.

A label may come late. What is inferred from a row may only rest on rows before it, so rows wait
until every question before them is answered or canceled. A question that is still open ``patience``
rows later counts as not asked, so that a lost answer delays what follows, but never blocks it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, repeat
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lasec.alarms.alarm import Alarm, Detector
from lasec.metrics.checks import columns_of
from lasec.parameters import Range
from lasec.persistence.record import Count, Free
from lasec.types import Decision, Outcome


class Settled(NamedTuple):
    """A row whose label is known or will not come: ``wrong`` is None where there is none."""

    decision: Decision
    wrong: bool | None


class _Row(NamedTuple):
    """A decision, and whether its question is open (1), or answered: right (2) or wrong (3)."""

    label: Annotated[int, Range(1, 1, also=(-1,))]
    margin: float
    variance: Free
    propensity: Annotated[float, Range(1e-30, 1.0)]
    asked: bool
    ticket: Count
    known: Annotated[int, Range(0, 3)]


class Waiting:
    """Open questions, and the rows behind them.

    >>> waiting = Waiting(patience=100)
    >>> first = Decision(1, 0.2, 0.0, 0.5, asked=True, ticket=0)
    >>> waiting.ask(first)
    >>> waiting.ask(first._replace(asked=False, ticket=1))
    >>> waiting.next() is None
    True
    >>> waiting.tell(Outcome(first, y=-1, mistake=True, updated=True))
    >>> waiting.next().wrong, waiting.next().wrong
    (True, None)
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self._rows: deque[Decision] = deque()
        self._open: set[int] = set()
        self._wrong: dict[int, bool] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def ask(self, decision: Decision) -> None:
        """Add a row; one that could not be queried or has no prediction is left out."""
        if not 0.0 <= decision.propensity <= 1.0:
            raise ValueError(
                f"decision: expected a propensity in [0, 1], got {decision.propensity}: without it "
                "the error cannot be estimated without bias"
            )
        if decision.propensity == 0.0 or decision.label == 0:
            return
        if decision.asked:
            self._open.add(decision.ticket)
        self._rows.append(decision)

    def tell(self, outcome: Outcome) -> None:
        """Add a label; one that is no longer waited for, or never was, is ignored."""
        ticket = outcome.decision.ticket
        if ticket in self._open and outcome.settled:
            self._open.remove(ticket)
            self._wrong[ticket] = not outcome.correct

    def cancel(self, ticket: int) -> None:
        """Wait no longer for a label: the row counts as not asked."""
        self._open.discard(ticket)

    def next(self) -> Settled | None:
        """The next row in order, if no question before it is open."""
        if not self._rows:
            return None
        decision = self._rows[0]
        if decision.ticket in self._open:
            if len(self._rows) <= self.patience:
                return None
            self._open.remove(decision.ticket)
        self._rows.popleft()
        return Settled(decision, self._wrong.pop(decision.ticket, None))

    @property
    def _state(self) -> list[_Row]:
        known = {ticket: 2 + wrong for ticket, wrong in self._wrong.items()}
        known |= dict.fromkeys(self._open, 1)
        return [_Row(*decision[:6], known.get(decision.ticket, 0)) for decision in self._rows]

    @_state.setter
    def _state(self, rows: list[_Row]) -> None:
        self._rows = deque(Decision(*row[:-1]) for row in rows)
        self._open = {row.ticket for row in rows if row.known == 1}
        self._wrong = {row.ticket: row.known == 3 for row in rows if row.known > 1}

    def validate(self) -> str:
        """Why these cannot be rows that wait; empty if they can."""
        asked = {decision.ticket for decision in self._rows if decision.asked}
        rises = all(a.ticket < b.ticket for a, b in pairwise(self._rows))
        return "" if rises and asked >= self._open | self._wrong.keys() else "impossible decisions"


def rounds_of(records: Any, y: ArrayLike) -> Iterator[tuple[Decision, Outcome | None]]:
    """The decisions of a ``lasec.Records``, each with what the label ``y`` did, where asked.

    Labels are signs, as a meter hears them; a question without a label counts as not asked. A row
    without a prediction, as before the first label, has the sign 0.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(3, dimension=2, seed=1)
    >>> records = lasec.LASEC(dimension=2).run(X, y)
    >>> [outcome.y for _, outcome in rounds_of(records, y)] == [0, *y[1:].tolist()]
    True
    """
    columns, signs = columns_of(records, y, -1)
    asked = (columns[:, 3] > 0.0) & ~np.isnan(signs)
    rows = zip(
        columns[:, 0].astype(int).tolist(), columns[:, 1].tolist(), records.variance.tolist(),
        columns[:, 2].tolist(), asked.tolist(), columns[:, 4].astype(int).tolist(), strict=True,
    )  # fmt: skip
    effects = zip(records.mistake.tolist(), records.updated.tolist(), strict=True)
    for row, label, effect in zip(rows, signs.tolist(), effects, strict=True):
        decision = Decision(*row)
        yield decision, Outcome(decision, label, *effect) if decision.asked else None


def raised_by(
    detectors: Sequence[Detector], records: Any, y: ArrayLike, X: Iterable[ArrayLike | None] = ()
) -> list[Alarm]:
    """All alarms that detectors raise in a chunk of rows, as if each label had come at once.

    ``X`` are the rows, for detectors that look at them.
    """
    found: list[Alarm | None] = []
    rounds = rounds_of(records, y) if detectors else ()
    for x, (decision, outcome) in zip(chain(X, repeat(None)), rounds, strict=False):
        found += [detector.ask(decision, x) for detector in detectors]
        if outcome is not None:
            found += [detector.tell(outcome) for detector in detectors]
    return [alarm for alarm in found if alarm is not None]
