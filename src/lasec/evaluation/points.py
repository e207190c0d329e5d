"""How a run stood at a moment: points, and the answers as they arrived."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from lasec.metrics import Estimate, Interval
from lasec.metrics.means import Scope, of_scope
from lasec.persistence.record import Count, Free, NotNegative
from lasec.tracker import DriftEstimate


class Arrival(NamedTuple):
    """An answer as it arrived: to which ticket, what it said, after how many rows of the run.

    ``verdict`` is the label that the question then had, after all its answers; None for none yet.
    """

    ticket: int
    y: Any
    round: int
    verdict: Any


class Point(NamedTuple):
    """The run after ``row`` rows.

    ``estimate`` is the estimated accuracy of the last window, with its interval for this moment;
    ``always`` has the interval that holds at all moments at once. ``truth`` is the true accuracy of
    the same rows, which only a simulation can know. ``labels`` were queried since the run began,
    and ``planned`` is what the budget allows by now, less what had been queried before
    (NaN without a budget). ``open`` counts the questions without an answer, and ``age`` is that of
    the oldest, in rows or in the time that was given. ``drift_estimate`` is what a Tracker
    estimates about its stream at that moment; None for other learners. ``time`` is that of the last
    row, where rows have times.
    """

    round: int
    estimate: Estimate
    always: Estimate
    truth: float
    labels: int
    planned: float
    open: int
    age: float
    drift_estimate: DriftEstimate | None = None
    time: float | None = None


class Status(NamedTuple):
    """What the learner says of itself at a moment, as a :class:`Point` has it."""

    labels: Count = 0
    planned: Free = math.nan
    open: Count = 0
    age: NotNegative = 0.0
    drift_estimate: DriftEstimate | None = None
    time: float | None = None


class Mark(NamedTuple):
    """What a point is made of when somebody looks: intervals take a while."""

    round: Count
    scope: Scope
    truth: Free
    status: Status

    @property
    def point(self) -> Point:
        """The point."""
        return Point(
            self.round, of_scope(self.scope), of_scope(self.scope, Interval.ANYTIME), self.truth,
            *self.status,
        )  # fmt: skip
