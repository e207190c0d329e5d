"""What a run adds up: sums, points, groups, and the rows that wait to be summed.

Rows are summed in order, as soon as no question before them is open. Where every answer comes with
its row, that is at fixed rows, so that it makes no difference how a stream is cut into calls.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.alarms import Alarm
from lasec.classes import plain
from lasec.evaluation.calendar import NO_TIMES, Calendar
from lasec.evaluation.points import Mark, Status
from lasec.evaluation.scored import NOTHING, Scored, Wait
from lasec.evaluation.tally import COUNTS, NO_ROWS, WIDTH, Margins, Rows, Total, rows_of
from lasec.metrics import Confusion, Meter, Over
from lasec.metrics.sums import ALL, Column
from lasec.parameters import Range
from lasec.persistence.record import Count, Shape

Array = NDArray[np.float64]
Label = Annotated[Any, validation.class_label]

FEED, OTHER = 1_600, "other"


class Due(NamedTuple):
    """An answer that is under way: when it comes, to which ticket, from whom, and which class."""

    time: float
    ticket: Count
    annotator: Count
    place: Count


@dataclass(slots=True)
class Account:
    """All that a run changes, as one value: :meth:`copy` makes another, and one can replace it.

    ``settled`` rows are in the sums; ``rest`` are those after them. ``late`` is whether the meter
    hears of rows and answers one by one; ``verdicts`` are then the labels that have come for rows
    of ``rest``, and ``due`` a heap of answers under way. ``ends`` has the sums of all rows before
    each multiple of ``every`` that is settled. ``known`` rows have a label, ``same`` of them the
    previous label; ``scored`` has the sums of probabilities. Classes have the numbers of their
    places in ``classes``, and ``counts`` are their labels; ``silent`` rows have no prediction, and
    of those ``unscored`` have a label; ``heard`` is the confusion
    matrix from the queried labels of settled rows, ``truth`` that from all labels. Where labels are
    ``sold`` at two prices, ``heard`` is that of the session that buys them.
    """

    KIND: ClassVar[str] = "run"

    meter: Meter
    limit: Annotated[int, Range(2, 100_000)]
    segments: Annotated[int, Range(1, 10_000)]
    every: Annotated[int, Range(1, 2**62)]
    first: Count = 0
    before: Count = 0
    rows: Count = 0
    labels: Count = 0
    mistakes: Count = 0
    known: Count = 0
    same: Count = 0
    silent: Count = 0
    unscored: Count = 0
    answers: Count = 0
    refused: Count = 0
    settled: Count = 0
    late: bool = False
    sold: bool = False
    learner: tuple[str, Annotated[int, Range(1, 2**31)]] | None = None
    grouped: bool | None = None
    status: Status = field(default_factory=Status)
    marks: list[Mark] = field(default_factory=list)
    ends: list[tuple[Count, Total]] = field(default_factory=list)
    total: Total = field(default_factory=lambda: np.zeros(WIDTH))
    names: dict[str, Count] = field(default_factory=dict)
    table: Annotated[Array, Shape("groups", WIDTH)] = field(
        default_factory=lambda: np.zeros((0, WIDTH))
    )
    scored: Scored = NOTHING
    calendar: Calendar = NO_TIMES
    latest: Annotated[int, Range(-1, 2**31)] = -1
    counts: Annotated[Array, Shape("counted")] = field(default_factory=lambda: np.zeros(0))
    margins: Margins = field(default_factory=lambda: Margins.none(bounded=True))
    recent: Annotated[NDArray[np.int8], Shape("recent"), Range(-1, 1)] = field(
        default_factory=lambda: np.empty(0, dtype=np.int8)
    )
    classes: list[Label] = field(default_factory=list)
    heard: Confusion = field(default_factory=lambda: Confusion.none(0))
    truth: Confusion = field(default_factory=lambda: Confusion.none(0))
    rest: Rows = NO_ROWS
    verdicts: dict[Count, Count] = field(default_factory=dict)
    due: list[Due] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not len(self.table):
            self.table = np.zeros((self.segments + 1, WIDTH))
        heapq.heapify(self.due)

    def validate(self) -> str:
        """Why the parts contradict each other; empty if they do not."""
        if self._knows_its_classes and self._is_in_order and self._adds_up:
            return ""
        return "the parts of the run contradict each other"

    @property
    def _knows_its_classes(self) -> bool:
        """Whether all numbers are those of its classes and groups."""
        few, names = len(self.classes), list(self.names.values())
        places = [self.latest, *self.verdicts.values(), *(due.place for due in self.due)]
        tables = (self.counts, self.heard.rows, self.truth.rows)
        return (
            len(set(self.classes)) == few
            and max(*places, -1) < few
            and max(len(table) for table in tables) <= few
            and max(self.rest.predicted.max(initial=-1), self.rest.true.max(initial=-1)) < few
            and self.scored.wait[Wait.HEARD : Wait.PLACE].max(initial=0.0) < 2.0 + few
            and names == list(range(len(names)))
            and len(names) <= self.segments == len(self.table) - 1
            and self.rest.group.max(initial=-1) <= self.segments
        )

    @property
    def _is_in_order(self) -> bool:
        """Whether marks and ends rise, and have the rows that they need."""
        marks = [0, *(mark.round for mark in self.marks)]
        ends = [0, *(row for row, _ in self.ends)]
        return (
            len(self.marks) <= self.limit
            and max(marks[-1], ends[-1]) <= self.rows
            and ends[-1] <= self.settled
            and {row for row in marks if row <= self.settled} <= set(ends)
            and all(after > before for rows in (marks, ends) for before, after in pairwise(rows))
        )

    @property
    def _adds_up(self) -> bool:
        """Whether the counters can be those of one run."""
        tickets = self.first + self.settled + np.arange(self.rest.y.size)
        scored = int(self.total[COUNTS + Column.ROUNDS]) if self.margins.bounded else 0
        return bool(
            self.meter.window is not None
            and self.settled + self.rest.y.size == self.rows
            and self.meter.rows >= (self.rows if self.late else self.settled)
            and max(self.labels, self.known) <= self.rows
            and max(self.mistakes + self.unscored, self.same) <= self.known
            and self.unscored <= self.silent <= self.rows
            and self.counts.sum() == self.known
            and self.calendar.rows.sum() <= self.rows
            and self.scored.rows == scored
            and self.recent.size <= self.kept
            and np.array_equal(self.rest.ticket, tickets)
        )

    def copy(self, rows: int | None = None) -> Account:
        """Another of the same contents; for so many ``rows`` to come, only what they change."""
        twin = copy.copy(self)
        for name in ("marks", "ends", "names", "verdicts", "due", "alarms", "classes"):
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

    def places(self, labels: NDArray[Any], *, new: bool = False) -> NDArray[np.int64]:
        """The numbers of the classes of labels; -1 for none, and for one that is not known.

        With ``new``, one that is not known becomes the next class.
        """
        kinds, which = validation.classes(labels, len(labels))
        if new:
            _, firsts = np.unique(which, return_index=True)
            come = [kinds[which[at]] for at in sorted(firsts.tolist()) if which[at] >= 0]
            self.classes += [plain(kind) for kind in come if kind not in self.classes]
        at = [self.classes.index(kind) if kind in self.classes else -1 for kind in kinds]
        return np.array([*at, -1], dtype=np.int64)[which]

    def add(self, rows: Rows, status: Status) -> None:
        """Add a piece, which ends at the next multiple of ``every`` at the latest."""
        self.rest = self.rest + rows
        self.rows += rows.y.size
        self.labels += int(rows.asked.sum())
        self.mistakes += int(rows.mistake.sum())
        self.silent += int(rows.silent.sum())
        self.unscored += int((rows.silent & rows.labeled).sum())
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
        true = rows.true[rows.labeled]
        self.known += true.size
        more = np.bincount(true, minlength=len(self.classes)).astype(np.float64)
        self.counts = more + np.pad(self.counts, (0, more.size - self.counts.size))
        self.same += int((true == np.r_[self.latest, true[:-1]][: true.size]).sum())
        self.latest = int(true[-1]) if true.size else self.latest
        self.truth += _confusion(rows, rows.labeled, rows.true, len(self.classes), all_labels=True)
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
        spoken = round(float(scope.block[ALL, Column.ROUNDS]))
        truth = math.nan
        if 0 < spoken <= self.recent.size:
            last = self.recent[-spoken:]
            truth = float((last == 0).sum() / (last >= 0).sum()) if (last >= 0).any() else truth
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
            self.rest = Rows._make(column[end - self.settled :].copy() for column in self.rest)
            self.settled = end
            if end % self.every == 0:
                self.ends.append((end, self.total))

    def _sum(self, piece: Rows) -> None:
        """Add a piece to everything."""
        answered, wrong, said = piece.asked & piece.labeled, piece.mistake, piece.true
        if self.late:
            tickets = piece.ticket.tolist()
            said = np.array([self.verdicts.pop(ticket, -1) for ticket in tickets], dtype=np.int64)
            answered, wrong = piece.asked & (said >= 0), said != piece.predicted
        else:
            self.meter.extend(piece, piece.y)
            self.answers += int(answered.sum())
        if not self.sold:
            self.heard += _confusion(piece, answered, said, len(self.classes))
        rows = rows_of(piece, answered, wrong)
        self.total = self.total + rows.sum(axis=0)
        if piece.group[0] >= 0:
            sums = [np.bincount(piece.group, column, self.segments + 1) for column in rows.T]
            self.table = self.table + np.array(sums).T
        if self.margins.bounded:
            spoken = ~piece.silent
            self.scored = self.scored.add(piece.where(spoken), said[spoken], answered[spoken])
        self.margins = self.margins.add(piece)
        known = np.where(piece.labeled & ~piece.silent, piece.mistake, -1).astype(np.int8)
        self.recent = np.concatenate([self.recent, known])[-self.kept :]


def _confusion(
    rows: Rows, labeled: NDArray[np.bool_], true: NDArray[Any], classes: int, *,
    all_labels: bool = False,
) -> Confusion:  # fmt: skip
    """The confusion matrix of rows and of the labels among them; a row without a class is none."""
    sound = rows.predicted >= 0
    some = sound & labeled
    q = np.ones(int(some.sum())) if all_labels else rows.propensity[some]
    counted = rows.predicted[some if all_labels else sound]
    made = Confusion.of_labels(rows.predicted[some], true[some], q, classes)
    return made + Confusion.of_rows(counted, classes)
