"""The one loop over a stream whose labels are known: they may come late, or never, or several."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards
from lasec.alarms import Alarm, Detector
from lasec.errors import TicketError
from lasec.evaluation.results import Answer, Evaluation, Point
from lasec.learner import Learner
from lasec.metrics import Meter
from lasec.parameters import Range, number
from lasec.records import Records
from lasec.session import Session
from lasec.tracker import Tracker
from lasec.types import Aggregate, BudgetQuery, Decision

Reaction = Callable[[Learner, Alarm], object]


def evaluate(
    learner: Learner,
    X: ArrayLike,
    y: ArrayLike,
    *,
    delay: ArrayLike = 0,
    answers: ArrayLike | None = None,
    times: ArrayLike | None = None,
    meter: Meter | None = None,
    alarms: Sequence[Detector] = (),
    on_alarm: Reaction | None = None,
    every: int | None = None,
) -> Evaluation:
    """Ask and tell along a stream, with answers that come as they do in life.

    ``delay`` is how long each answer takes, in rounds, or in the unit of ``times``: one number, one
    for each row, or one for each row and each of several annotators; infinity means never. An
    answer is told when its time has come, after the row of that moment was asked about. ``answers``
    are what is answered, if it is not ``y``: for each row, or for each row and annotator. ``meter``
    (a new one with a window of 1,000 rounds, if none is given) and ``alarms`` watch, and
    ``on_alarm`` is called with the learner and each alarm. ``every`` so many rounds a
    :class:`Point` is taken. Where answers get lost, give the learner a ``max_age`` or the meter a
    ``patience``: estimates speak of the rounds before the oldest question that is still open.

    With no delay, ask-then-tell is what :meth:`~lasec.Learner.run` does.

    >>> import lasec
    >>> X, y = lasec.streams.switching(3_000, dimension=5, every=1_000, seed=1)
    >>> lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
    Evaluation(rounds=3000, accuracy=0.971, labels=636, answers=636, alarms=0)
    >>> lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y, delay=500)
    Evaluation(rounds=3000, accuracy=0.768, labels=624, answers=534, alarms=0)
    """
    if meter is not None and meter.window is None:
        raise ValueError("meter: expected one with a window")
    run = _Run(learner, X, y, times, meter or Meter(window=1_000), alarms, on_alarm, every)
    waits = np.asarray(delay, dtype=np.float64)
    alone = learner.aggregate is not Aggregate.MAJORITY  # one answer settles a question
    said, waits = run.replies(waits, answers)
    if answers is None and alone and not alarms and not waits.any():
        run.at_once()
    else:
        run.late(said, waits)
    return run.result()


class _Run:
    """An evaluation under way."""

    def __init__(
        self, learner: Learner, X: ArrayLike, y: ArrayLike, times: ArrayLike | None, meter: Meter,
        alarms: Sequence[Detector], on_alarm: Reaction | None, every: int | None,
    ) -> None:  # fmt: skip
        self.learner, self.meter, self.detectors, self.on_alarm = learner, meter, alarms, on_alarm
        self.X = guards.finite("X", guards.real("X", X, 2))
        self.n = len(self.X)
        if self.n == 0:
            raise ValueError("X: there are no rows to evaluate on")
        self.y = guards.labels(y, self.n)
        self.times = None if times is None else guards.times(times, self.n)
        self.first, self.before = learner.rounds, learner.asked
        rounds = self.first + 1.0 + np.arange(self.n, dtype=np.float64)
        self.clock = rounds if self.times is None else self.times
        usual = max(1, self.n // 200)
        self.every: int = number("every", every or usual, int, Range(1, 2**62))
        self.parts: list[Records] = []
        self.decisions: list[Decision] = []
        self.updated: dict[int, bool] = {}
        self.points: list[Point] = []
        self.answers: list[Answer] = []
        self.alarms: list[Alarm] = []
        self.refused = 0

    def at_once(self) -> None:
        """Every answer comes in its own round: whole chunks in compiled code."""
        for begin in range(0, self.n, self.every):
            rows = slice(begin, min(begin + self.every, self.n))
            times = None if self.times is None else self.times[rows]
            records = self.learner.run(self.X[rows], self.y[rows], times=times)
            self.meter.extend(records, self.y[rows])
            self.parts.append(records)
            for at in begin + np.flatnonzero(records.asked):
                y = int(self.y[at])
                self.answers.append(Answer(self.first + int(at), y, int(at) + 1, verdict=y))
            self._point(rows.stop)

    def replies(
        self, waits: NDArray[np.float64], answers: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each annotator answers about each row, and how long that takes."""
        said = self.y if answers is None else guards.real("answers", answers, np.ndim(answers))
        said = said.reshape(self.n, -1) if said.shape[:1] == (self.n,) else said
        waits = waits[:, None] if waits.ndim == 1 else waits
        try:
            wide = np.broadcast_shapes(said.shape, waits.shape)
            sound = wide[0] == self.n and (waits >= 0.0).all() and (np.abs(said) == 1.0).all()
            if not sound:
                raise ValueError
            return np.broadcast_to(said, wide), np.broadcast_to(waits, wide)
        except (ValueError, IndexError):
            raise ValueError(
                "delay, answers: expected numbers of at least 0 and labels, for each row, or for "
                "each row and annotator"
            ) from None

    def late(self, said: NDArray[np.float64], waits: NDArray[np.float64]) -> None:
        """Every answer comes when its time has come."""
        due: list[tuple[float, int, int]] = []  # when, of which row, by which annotator
        session = Session(
            self.learner, classes=(-1, 1), meter=self.meter, detectors=self.detectors,
            on_alarm=self._react,
        )  # fmt: skip
        for t in range(self.n):
            time = None if self.times is None else float(self.times[t])
            decision = session.ask(self.X[t], time=time)
            self.decisions.append(decision)
            if decision.asked:
                for k in np.flatnonzero(np.isfinite(waits[t])).tolist():
                    heapq.heappush(due, (float(self.clock[t] + waits[t, k]), t, k))
            while due and due[0][0] <= self.clock[t]:
                _, row, k = heapq.heappop(due)
                self._hear(session, self.decisions[row].ticket, int(said[row, k]), t + 1)
            if (t + 1) % self.every == 0 or t + 1 == self.n:
                self._point(t + 1)
        self.alarms = session.alarms

    def _hear(self, session: Session, ticket: int, y: int, round_: int) -> None:
        """An answer has come."""
        try:
            outcome = session.tell(ticket, y)
        except TicketError:
            self.refused += 1
            return
        self.answers.append(Answer(ticket, y, round_, outcome.y if outcome.settled else 0))
        if outcome.settled:
            self.updated[ticket] = outcome.updated or self.updated.get(ticket, False)

    def _react(self, session: Session, alarm: Alarm) -> None:
        if self.on_alarm is not None:
            self.on_alarm(self.learner, alarm)

    def _point(self, done: int) -> None:
        """How things stand after so many rounds."""
        here = self.meter.estimate("accuracy", over="window")
        always = self.meter.estimate("accuracy", over="window", interval="sequence")
        until = min(here.until - self.first, done)
        spoken = slice(until - here.rounds, until)
        right = self._labels(spoken) == self.y[spoken] if spoken.start >= 0 else np.empty(0)
        waiting = self.learner.unanswered
        oldest = max(waiting[0] - self.first, 0) if waiting else done - 1
        self.points.append(
            Point(
                round=done,
                estimate=here,
                always=always,
                truth=float(right.mean()) if right.size else float("nan"),
                labels=self.learner.asked - self.before,
                planned=self._planned() - self.before,
                open=len(waiting),
                age=float(self.clock[done - 1] - self.clock[oldest]),
                belief=self.learner.belief if isinstance(self.learner, Tracker) else None,
            )
        )

    def _planned(self) -> float:
        """What the budget allows by now."""
        query: Any = self.learner.query
        return (
            query.planned(self.learner.query_state)
            if isinstance(query, BudgetQuery)
            else float("nan")
        )

    def _labels(self, rows: slice) -> NDArray[Any]:
        """What was predicted for these rows."""
        if self.decisions:
            return np.array([decision.label for decision in self.decisions[rows]])
        return np.concatenate([part.label for part in self.parts])[rows]

    def result(self) -> Evaluation:
        """All that was seen."""
        records = Records.join(self.parts) if self.parts else self._records()
        return Evaluation(
            records, self.points, self.answers, self.alarms, self.refused, self.meter,
            bounded=self.learner.has_probabilities,
        )  # fmt: skip

    def _records(self) -> Records:
        """The decisions as columns."""
        label, margin, variance, propensity, asked, ticket = (
            np.array(column) for column in zip(*self.decisions, strict=True)
        )
        updated = np.array([self.updated.get(int(number), False) for number in ticket])
        return Records(
            label.astype(np.int8), margin, variance, propensity, asked, label != self.y, updated,
            first=self.first,
        )  # fmt: skip
