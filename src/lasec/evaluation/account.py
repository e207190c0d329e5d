"""What a run adds up: sums, points, groups, and the rows that wait to be summed.

Rows are summed in order, as soon as no question before them is open. Where every answer comes with
its row, that is at fixed rows, so that it makes no difference how a stream is cut into calls.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.alarms import Alarm
from lasec.evaluation.calendar import NO_TIMES, Calendar
from lasec.evaluation.points import Mark, Status
from lasec.evaluation.tally import NO_ROWS, SHARES, WIDTH, Margins, Rows, rows_of, share_of
from lasec.metrics import Meter, Over
from lasec.metrics.sums import LOSS, Column

Array = NDArray[np.float64]

FEED, OTHER = 1_600, "other"


class Due(NamedTuple):
    """An answer that is under way: when it comes, to which ticket, from whom, and what it says."""

    time: float
    ticket: int
    annotator: int
    y: int


@dataclass(slots=True)
class Account:
    """All that a run changes, as one value: :meth:`copy` makes another, and one can replace it.

    ``settled`` rows are in the sums; ``rest`` are those after them. ``late`` is whether the meter
    hears of rows and answers one by one; ``verdicts`` are then the labels that have come for rows
    of ``rest``, and ``due`` a heap of answers under way. ``ends`` has the sums of all rows before
    each multiple of ``every`` that is settled. ``positive`` rows are of the class +1, ``same`` of
    the class of the row before; ``shares`` has the sums by predicted probability.
    """

    meter: Meter
    limit: int
    segments: int
    every: int
    first: int = 0
    before: int = 0
    rows: int = 0
    labels: int = 0
    mistakes: int = 0
    positive: int = 0
    same: int = 0
    answers: int = 0
    refused: int = 0
    settled: int = 0
    late: bool = False
    learner: tuple[str, str, int] | None = None
    grouped: bool | None = None
    status: Status = field(default_factory=Status)
    marks: list[Mark] = field(default_factory=list)
    ends: list[tuple[int, Array]] = field(default_factory=list)
    total: Array = field(default_factory=lambda: np.zeros(WIDTH))
    names: dict[str, int] = field(default_factory=dict)
    table: Array = field(default_factory=lambda: np.zeros((0, WIDTH)))
    shares: Array = field(default_factory=lambda: np.zeros((SHARES, WIDTH)))
    calendar: Calendar = NO_TIMES
    latest: float = 0.0
    margins: Margins = field(default_factory=lambda: Margins.none(bounded=True))
    recent: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    rest: Rows = NO_ROWS
    verdicts: dict[int, int] = field(default_factory=dict)
    due: list[Due] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not len(self.table):
            self.table = np.zeros((self.segments + 1, WIDTH))

    def copy(self, rows: int | None = None) -> Account:
        """Another of the same contents; for so many ``rows`` to come, only what they change."""
        twin = copy.copy(self)
        for name in ("marks", "ends", "names", "verdicts", "due", "alarms"):
            setattr(twin, name, copy.copy(getattr(self, name)))
        same = rows is not None and self.rows // self.step == (self.rows + rows) // self.step
        if not same:  # something will be summed
            twin.meter = copy.deepcopy(self.meter)
        return twin

    @property
    def step(self) -> int:
        """Rows are summed at the multiples of this."""
        return self.every if self.every <= FEED or self.every % FEED else FEED

    @property
    def kept(self) -> int:
        """How many of the last settled rows are kept: a window may be a 16th longer than it."""
        window = self.meter.window or 0
        return window + window // 8 + 64

    def ids(self, groups: Iterable[object] | None, count: int) -> NDArray[np.int64]:
        """The number of each row's group; -1 where there are none."""
        if groups is None:
            if self.grouped and count:
                raise ValueError("groups: they were given before, so every row must have one")
            self.grouped = False if count else self.grouped
            return np.full(count, -1)
        names = [str(name).encode(errors="backslashreplace").decode() for name in groups]
        if len(names) != count:
            raise ValueError(f"groups: expected {count} names, one for each row, got {len(names)}")
        if self.grouped is False and count:
            raise ValueError("groups: the rows before had none, so these cannot have any")
        self.grouped = True if count else self.grouped
        for name in dict.fromkeys(names):
            if len(self.names) < self.segments and name != OTHER:
                self.names.setdefault(name, len(self.names))
        return np.fromiter((self.names.get(n, self.segments) for n in names), np.int64, count)

    def add(self, rows: Rows, status: Status) -> None:
        """Add a piece, which ends at the next multiple of ``every`` at the latest."""
        self.rest = self.rest + rows
        self.rows += rows.y.size
        self.labels += int(rows.asked.sum())
        self.mistakes += int(rows.mistake.sum())
        self._count(rows, status)
        at_mark = bool(rows.y.size) and self.rows % self.every == 0
        if not self.late:
            self._sum_up_to(self.rows // self.step * self.step)
        elif at_mark:
            self._sum_up_to(self.reached)
        if at_mark:
            self.mark()

    def _count(self, rows: Rows, status: Status) -> None:
        """What is known of rows at once: classes, times, and how the learner is."""
        if not rows.y.size:
            self.status = status._replace(time=self.status.time)
            return
        self.positive += int((rows.y > 0.0).sum())
        self.same += int((rows.y == np.r_[self.latest, rows.y[:-1]]).sum())
        self.latest = float(rows.y[-1])
        if status.time is not None:
            self.calendar = self.calendar.add(rows.time, rows.asked)
        self.status = status

    def listen(self) -> None:
        """From now on the meter hears of rows and answers one by one, from a session."""
        if not self.late:
            self._sum_up_to(self.rows)
            self.late = True

    @property
    def reached(self) -> int:
        """Up to which row of the run everything is settled."""
        if not self.late:
            return self.rows
        return min(max(self.meter.scope().until - self.first, self.settled), self.rows)

    def settle_all(self) -> None:
        """Sum all that can be, and put a mark at the last row: for a look at a copy."""
        self._sum_up_to(self.reached)
        if self.rows and self.rows % self.every:
            self.mark()

    def mark(self) -> None:
        """Keep what a point is made of, and thin the points if there are too many."""
        scope = self.meter.scope(Over.WINDOW)
        spoken = round(float(scope.block[LOSS, Column.ROUNDS]))
        truth = math.nan
        if 0 < spoken <= self.recent.size:
            truth = 1.0 - float(self.recent[-spoken:].mean())
        self.marks.append(Mark(self.rows, scope, truth, self.status))
        if len(self.marks) > self.limit:
            self.every *= 2
            self.marks = [mark for mark in self.marks if mark.round % self.every == 0]
            self.ends = [end for end in self.ends if end[0] % self.every == 0]

    def _sum_up_to(self, row: int) -> None:
        """Sum the rows before this one, from one multiple of ``step`` to the next."""
        while self.settled < row:
            end = min(row, (self.settled // self.step + 1) * self.step)
            self._sum(self.rest.cut(0, end - self.settled))
            self.rest = Rows(*(column[end - self.settled :].copy() for column in self.rest))
            self.settled = end
            if end % self.every == 0:
                self.ends.append((end, self.total))

    def _sum(self, piece: Rows) -> None:
        """Add a piece to everything."""
        answered, wrong = piece.asked, piece.mistake
        if self.late:
            tickets = piece.ticket.tolist()
            said = np.array([self.verdicts.pop(ticket, 0) for ticket in tickets])
            answered, wrong = piece.asked & (said != 0), said != piece.label
        else:
            self.meter.extend(piece, piece.y)
            self.answers += int(piece.asked.sum())
        rows = rows_of(piece, answered, wrong)
        self.total = self.total + rows.sum(axis=1)
        if piece.group[0] >= 0:
            sums = [np.bincount(piece.group, row, self.segments + 1) for row in rows]
            self.table = self.table + np.array(sums).T
        if self.margins.bounded:
            share = share_of(piece.margin)
            self.shares = self.shares + np.array([np.bincount(share, r, SHARES) for r in rows]).T
        self.margins = self.margins.add(piece)
        self.recent = np.concatenate([self.recent, piece.mistake])[-self.kept :]
