"""The account of a run of any length, in a memory that does not grow."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards
from lasec.alarms import Alarm
from lasec.evaluation.account import Account, Mark, Rest
from lasec.evaluation.results import Point, told
from lasec.evaluation.tally import WIDTH, Columns, Margins, Part, Sum, part, rows_of
from lasec.evaluation.trial import check, identity, same
from lasec.learner import Learner
from lasec.metrics import Estimate, Meter
from lasec.metrics.estimate import Over
from lasec.metrics.sums import LOSS, Column
from lasec.records import Records
from lasec.tracker import Tracker
from lasec.types import BudgetQuery

FEED, OTHER = 1_600, "other"


class Trace(Account):
    """Runs a learner over a stream of known labels, and keeps a short account of it.

    ``window`` is the number of last rounds of which a :class:`Point` speaks. Between half of
    ``points`` and ``points`` of them are kept, at the multiples of ``every`` rounds, which doubles
    when there are too many. At most ``segments`` names of groups are kept; what comes later counts
    as "other". How the stream is cut into calls makes no difference to what is kept, beyond what it
    makes to the learner's own last digits.

    >>> import lasec
    >>> X, y = lasec.streams.switching(20_000, dimension=10, every=5_000, seed=1)
    >>> tracker, trace = lasec.Tracker(rate=0.1, seed=1), Trace()
    >>> for begin in range(0, 20_000, 6_000):
    ...     records = trace.run(tracker, X[begin : begin + 6_000], y[begin : begin + 6_000])
    >>> trace
    Trace(rounds=20000, accuracy=0.974, labels=2000, points=200)
    >>> trace.accuracy in trace.estimate
    True
    """

    _seen: Trace | None = None
    _told: list[Point] | None = None

    def run(
        self,
        learner: Learner,
        X: ArrayLike,
        y: ArrayLike,
        groups: Iterable[object] | None = None,
        times: ArrayLike | None = None,
    ) -> Records:
        """Run the learner over some more rows, as :meth:`lasec.Learner.run` does, and take note.

        ``groups`` has a name for each row: a country, a device, a customer. A call that is refused
        leaves learner and trace as they were.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> trace = Trace()
        >>> records = trace.run(lasec.Tracker(rate=0.2, seed=0), X, y, groups=["DE", "FR"] * 1_000)
        >>> [(group.name, group.rounds, group.labels) for group in trace.groups]
        [('DE', 1000, 219), ('FR', 1000, 221)]
        """
        rows = guards.finite("X", guards.real("X", X, 2))
        n = len(rows)
        signs = guards.labels(y, n)
        clock = None if times is None else guards.times(times, n)
        draft, tried = self._draft(n), copy.copy(learner)
        draft._begin(tried)
        ids = draft._ids(groups, n)
        try:
            records = draft._follow(tried, rows, signs, clock, ids)
        except ValueError as error:
            refused = error
        else:
            draft._learner = identity(tried)
            learner.adopt(tried)
            vars(self).update(vars(draft))
            return records
        copy.copy(learner).run(rows, signs, times=clock)  # in one piece: it counts rows as X does
        raise refused

    @property
    def meter(self) -> Meter:
        """The meter that has heard it all."""
        return self._whole()._meter

    @property
    def estimate(self) -> Estimate:
        """The accuracy over all rounds, as estimated from the labels that were asked."""
        return self.meter.accuracy

    @property
    def accuracy(self) -> float:
        """The true accuracy over all rounds so far (NaN without rounds)."""
        return 1.0 - self.mistakes / self.rounds if self.rounds else math.nan

    @property
    def points(self) -> list[Point]:
        """How things stood, at the multiples of ``every`` rounds and at the last round."""
        if self._told is None:
            self._told = [mark.point for mark in self._whole()._marks]
        return list(self._told)

    @property
    def alarms(self) -> list[Alarm]:
        """None: a trace has no detectors."""
        return []

    @property
    def margins(self) -> Margins:
        """How margins lie, where it asked, and where it was wrong."""
        return self._whole()._margins

    @property
    def groups(self) -> list[Part]:
        """A part for each group, in the order in which they came; "other" is the last."""
        whole = self._whole()
        names = [*whole._names, *[""] * (self.segments - len(whole._names)), OTHER]
        until = self.first + self.rounds
        listed = zip(names, whole._table, strict=True)
        return [part(name, row, until) for name, row in listed if row[Sum.ROUNDS]]

    def parts(self, count: int = 10) -> list[Part]:
        """The run in about ``count`` equal stretches of time, each of which ends at a point.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> trace = Trace()
        >>> records = trace.run(lasec.Tracker(rate=0.2, seed=0), X, y)
        >>> [(part.name, part.labels) for part in trace.parts(2)]
        [('1-1000', 242), ('1001-2000', 198)]
        """
        marks = self._whole()._marks
        rounds = np.array([mark.round for mark in marks])
        wanted = np.linspace(0.0, self.rounds, count + 1)[1:] if marks else np.empty(0)
        ends = sorted({int(np.abs(rounds - end).argmin()) for end in wanted})
        parts, before, begin = [], np.zeros(WIDTH), 0
        for mark in (marks[end] for end in ends):
            name = f"{begin + 1}-{mark.round}"
            parts.append(part(name, mark.total - before, self.first + mark.round))
            before, begin = mark.total, mark.round
        return parts

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(rounds={self.rounds}, accuracy={self.accuracy:.3f}, "
            f"labels={self.labels}, points={len(self._whole()._marks)})"
        )

    def _repr_html_(self) -> str:
        """A card in a notebook."""
        return told(self, type(self).__name__)

    def _draft(self, count: int) -> Trace:
        """A trace that can go on for so many rounds instead of this one."""
        made: Trace = object.__new__(type(self))
        vars(made).update(vars(self))
        made._marks, made._names = list(self._marks), dict(self._names)
        step = min(self.every, FEED)
        if self.rounds // step != (self.rounds + count) // step:  # something will be summed up
            made._meter = copy.deepcopy(self._meter)
        return made

    def _follow(
        self, learner: Learner, rows: Any, signs: Any, clock: Any, ids: NDArray[np.int64]
    ) -> Records:
        """Run the learner from one multiple of ``every`` to the next, and take note there."""
        parts: list[Records] = []
        begin, n = 0, len(rows)
        while begin < n or not parts:
            cut = slice(begin, min(n, begin + self.every - self.rounds % self.every))
            given = None if clock is None else clock[cut]
            parts.append(learner.run(rows[cut], signs[cut], times=given))
            check(parts[-1], begin)
            self._note(learner, parts[-1], signs[cut], ids[cut])
            begin = cut.stop
        return Records.join(parts)

    def _begin(self, learner: Learner) -> None:
        """Check that it is the learner of before."""
        if self.rounds == 0:
            self.first, self.before = learner.rounds, learner.asked
            self._margins = Margins.none(bounded=learner.has_probabilities)
        if learner.rounds != self.first + self.rounds:
            raise ValueError(
                f"learner: this trace has followed one up to round {self.first + self.rounds}, "
                f"and this one is at round {learner.rounds}"
            )
        if self.rounds and self._learner is not None:
            same(learner, self._learner)

    def _ids(self, groups: Iterable[object] | None, count: int) -> NDArray[np.int64]:
        """The number of each row's group; -1 where there are none."""
        if groups is None:
            if self._grouped and count:
                raise ValueError("groups: they were given before, so every row must have one")
            self._grouped = False if count else self._grouped
            return np.full(count, -1)
        names = [str(name).encode(errors="backslashreplace").decode() for name in groups]
        if len(names) != count:
            raise ValueError(f"groups: expected {count} names, one for each row, got {len(names)}")
        if self._grouped is False and count:
            raise ValueError("groups: the rows before had none, so these cannot have any")
        self._grouped = True if count else self._grouped
        for name in dict.fromkeys(names):
            if len(self._names) < self.segments and name != OTHER:
                self._names.setdefault(name, len(self._names))
        return np.fromiter((self._names.get(n, self.segments) for n in names), np.int64, count)

    def _note(self, learner: Learner, records: Records, y: Any, group: Any) -> None:
        """Take note of a piece, which ends at the next multiple of ``every`` at the latest."""
        fresh = Rest(
            records.label, records.margin, records.propensity, records.asked, records.mistake,
            records.ticket, y, group,
        )  # fmt: skip
        if self._rest is not None:
            fresh = Rest(*map(np.concatenate, zip(self._rest, fresh, strict=True)))
        self.rounds += len(records)
        self.labels += records.labels
        self.mistakes += int(records.mistake.sum())
        query: Any = learner.query
        planned = query.planned(learner.query_state) if isinstance(query, BudgetQuery) else math.nan
        belief = learner.belief if isinstance(learner, Tracker) else None
        self._said = (learner.asked - self.before, planned - self.before, belief)
        self._seen = self._told = None
        self._rest = self._feed(fresh, min(self.every, FEED))
        if len(records) and self.rounds % self.every == 0:
            self._mark()

    def _feed(self, rest: Rest, step: int) -> Rest | None:
        """Sum up all that lies before the last multiple of ``step``, and give what is left."""
        begin, end = 0, self.rounds - len(rest.y)
        while (end := (end // step + 1) * step) <= self.rounds:
            stop = len(rest.y) - (self.rounds - end)
            self._sum(rest.cut(begin, stop))
            begin = stop
        return Rest(*(column[begin:].copy() for column in rest)) if begin < len(rest.y) else None

    def _sum(self, piece: Rest) -> None:
        """Add a piece to everything."""
        self._meter.extend(piece, piece.y)
        label, margin, q, asked, mistake, _, _, group = piece
        columns = Columns(label, margin, q, asked, mistake, asked, mistake)
        rows = rows_of(columns)
        self._total = self._total + rows.sum(axis=1)
        if group[0] >= 0:
            sums = [np.bincount(group, row, self.segments + 1) for row in rows]
            self._table = self._table + np.array(sums).T
        self._margins = self._margins.add(columns)
        self._recent = np.concatenate([self._recent, mistake])[-self.kept :]

    def _mark(self) -> None:
        """Keep what a point is made of, and thin the points if there are too many."""
        scope = self._meter.scope(Over.WINDOW)
        spoken = round(float(scope.block[LOSS, Column.ROUNDS]))
        truth = 1.0 - float(self._recent[-spoken:].mean()) if spoken else math.nan
        self._marks.append(Mark(self.rounds, scope, truth, *self._said, self._total))
        if len(self._marks) > self.limit:
            self.every *= 2
            self._marks = [mark for mark in self._marks if mark.round % self.every == 0]

    def _whole(self) -> Trace:
        """This trace with all that waits summed up, and with a point at the last round."""
        if self.rounds % self.every == 0 and self._rest is None:
            return self
        if self._seen is None:
            whole = copy.deepcopy(self)
            if whole._rest is not None:
                whole._sum(whole._rest)
                whole._rest = None
            whole._mark()
            self._seen = whole
        return self._seen
