"""Any drift detector that takes one number at a time, fed with the error of the predictions.

``feed="weighted"`` gives it Z err / q for each row, whose mean is the error of all rows, whatever
is queried. Its values are 0 or at least 1: a detector for values of 0 and 1, such as River's DDM,
must be given them scaled down. ``feed="asked"`` gives it the error of the queried rows alone, as is
usual: its mean also changes when only the queries change, and the detector with it.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lasec.alarms.alarm import Alarm
from lasec.alarms.waiting import Settled, Waiting, raised_by
from lasec.types import Decision, Outcome

PATIENCE = 1_000  # rows after which an open question counts as not asked


class DriftDetector(Protocol):
    """A drift detector as River has them."""

    def update(self, x: Any) -> Any:
        """Add a number."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last number showed a drift."""


class Watch:
    """Uses any drift detector, such as River's, as an alarm; River is not required.

    Late and lost labels are treated as in :class:`~lasec.alarms.DropAlarm`. The ``kind`` of its
    alarms is the name of the detector's class; what it does not report is NaN.

    >>> class ThreeInARow:
    ...     run, drift_detected = 0, False
    ...     def update(self, wrong):
    ...         self.run = self.run + 1 if wrong else 0
    ...         self.drift_detected = self.run >= 3
    >>> import lasec
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> records = lasec.Tracker(rate=0.4, seed=0).run(X, y)
    >>> [alarm.ticket for alarm in Watch(ThreeInARow(), feed="asked").extend(records, y)]
    [502]
    """

    def __init__(
        self, detector: DriftDetector, feed: Literal["weighted", "asked"] = "weighted"
    ) -> None:
        if feed not in ("weighted", "asked"):
            raise ValueError(f"feed: expected 'weighted' or 'asked', got {feed!r}")
        self.detector = detector
        self.feed = feed
        self.raised = False
        self._waiting = Waiting(PATIENCE)

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """Record the decision about a row, and feed the rows that no open question holds back."""
        self._waiting.ask(decision)
        return self._advance()

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Record a label; one that was not queried, or whose question is gone, changes nothing.

        If it frees many rows at once, feeding stops at an alarm and continues in the next call.
        """
        self._waiting.tell(outcome)
        return self._advance()

    def cancel(self, ticket: int) -> Alarm | None:
        """Record that a question will not be answered."""
        self._waiting.cancel(ticket)
        return self._advance()

    def extend(self, records: Any, y: ArrayLike) -> list[Alarm]:
        """All alarms of a chunk of rows, as if each label had come at once."""
        found = raised_by([self], records, y)
        self.raised = bool(found)
        return found

    def _advance(self) -> Alarm | None:
        """Feed what can be fed, up to an alarm."""
        self.raised = False
        while (settled := self._waiting.next()) is not None:
            value = self._value(settled)
            if value is None:
                continue
            self.detector.update(value)
            if self.detector.drift_detected:
                self.raised = True
                ticket = settled.decision.ticket
                return Alarm(type(self.detector).__name__, ticket, np.nan, np.nan, np.nan, ticket)
        return None

    def _value(self, settled: Settled) -> float | bool | None:
        """What the detector is fed with for a row; None for nothing."""
        if self.feed == "asked":
            return settled.wrong
        return float(settled.wrong or False) / settled.decision.propensity
