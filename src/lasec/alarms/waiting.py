"""Rounds in the order of their tickets, each held back until nothing before it is open.

A label may come late. What is inferred from a round may only rest on rounds before it, so rounds
wait until every question before them is answered. A question that is still open ``patience`` rounds
later counts as not asked, so that a lost answer delays what follows, but never blocks it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from lasec import guards
from lasec.alarms.alarm import Alarm, Detector
from lasec.types import Decision, Outcome


class Settled(NamedTuple):
    """A round of which all is known that will be: ``wrong`` is None where no label came."""

    decision: Decision
    wrong: bool | None


class Waiting:
    """Open questions, and the rounds behind them.

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
        self._rounds: deque[tuple[int, Decision]] = deque()
        self._open: set[int] = set()
        self._wrong: dict[int, bool] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._rounds)

    def ask(self, decision: Decision) -> None:
        """A round begins; one that had no chance to be asked tells nothing, and is left out."""
        if not 0.0 <= decision.propensity <= 1.0:
            raise ValueError(
                f"decision: expected a propensity in [0, 1], got {decision.propensity}: without it "
                "no honest estimate of the error is possible"
            )
        if decision.propensity == 0.0:
            return
        if decision.asked:
            self._open.add(decision.ticket)
        self._rounds.append((self._count, decision))
        self._count += 1

    def tell(self, outcome: Outcome) -> None:
        """A label comes; one that is no longer waited for, or never was, is ignored."""
        ticket = outcome.decision.ticket
        if ticket in self._open and outcome.settled:
            self._open.remove(ticket)
            self._wrong[ticket] = not outcome.correct

    def next(self) -> Settled | None:
        """The next round in order, if nothing before it is open."""
        if not self._rounds:
            return None
        place, decision = self._rounds[0]
        if decision.ticket in self._open:
            if self._count - place <= self.patience:
                return None
            self._open.remove(decision.ticket)
        self._rounds.popleft()
        return Settled(decision, self._wrong.pop(decision.ticket, None))


def rounds_of(records: Any, y: ArrayLike) -> Iterator[tuple[Decision, Outcome | None]]:
    """The decisions of a ``lasec.Records``, each with what the label ``y`` did, where asked.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(3, dimension=2, seed=1)
    >>> [outcome.y for _, outcome in rounds_of(lasec.LASEC(dimension=2).run(X, y), y)] == y.tolist()
    True
    """
    signs = guards.labels(y, len(records)).astype(int).tolist()
    columns = (
        records.label, records.margin, records.variance, records.propensity, records.asked,
        records.ticket,
    )  # fmt: skip
    effects = zip(records.mistake.tolist(), records.updated.tolist(), strict=True)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, label, effect in zip(rows, signs, effects, strict=True):
        decision = Decision(*row)
        yield decision, Outcome(decision, label, *effect) if decision.asked else None


def raised_by(detector: Detector, records: Any, y: ArrayLike) -> list[Alarm]:
    """All alarms that a detector raises in a chunk of rounds, as if each label had come at once."""
    found = []
    for decision, outcome in rounds_of(records, y):
        if alarm := detector.ask(decision):
            found.append(alarm)
        if outcome is not None and (alarm := detector.tell(outcome)):
            found.append(alarm)
    return found
