"""The result of a run of any length, in memory that does not grow with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lasec import notebook
from lasec.alarms import Alarm
from lasec.evaluation.account import OTHER, Account
from lasec.evaluation.calendar import Calendar
from lasec.evaluation.pictures import draw, drawable, png
from lasec.evaluation.points import Arrival, Point
from lasec.evaluation.scored import SCORES, Scored
from lasec.evaluation.tally import COUNTS, Array, Bin, Margins, Part, part
from lasec.metrics import Confusion, Estimate, Meter, Scores, means
from lasec.metrics.sums import Column
from lasec.metrics.words import estimated
from lasec.parameters import Range, number
from lasec.persistence import record
from lasec.records import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIRST, _MOST, RARE = 50, 100_000, 0.1


class RunSummary:
    """How a run went: points along it, its groups, parts, margins, alarms, and its meter.

    :func:`lasec.evaluate` makes one, or adds to one that is given. ``window`` is the number of last
    rows that a :class:`Point` covers. Between half of ``points`` and ``points`` of them are kept,
    at the multiples of ``every`` rows, which doubles when there are too many; an ``every`` that is
    given stays. ``expected`` is about how many rows there will be, so that none are thinned out. At
    most ``segments`` names of groups are kept; later ones count as "other". With ``keep``,
    ``records`` and ``answers`` of all rows are kept too, which are not saved.

    >>> import lasec
    >>> X, y = lasec.streams.switching(20_000, dimension=10, every=5_000, seed=1)
    >>> tracker, summary = lasec.Tracker(rate=0.1, seed=1), RunSummary()
    >>> for begin in range(0, 20_000, 6_000):
    ...     rows = slice(begin, begin + 6_000)
    ...     summary = lasec.evaluate(tracker, X[rows], y[rows], into=summary)
    >>> summary
    RunSummary(rows=20000, accuracy=0.977, labels=1997, answers=1997, alarms=0)
    >>> summary.accuracy in summary.estimate
    True
    """

    def __init__(
        self,
        *,
        window: int = 1_000,
        points: int | None = None,
        segments: int = 20,
        every: int | None = None,
        expected: int = 0,
        meter: Meter | None = None,
        keep: bool = False,
    ) -> None:
        number("window", window, int, Range(1, 10**8))
        usual = 200 if every is None else _MOST
        rows: int = number("expected", expected, int, Range(0, 2**53))
        self._now = Account(
            Meter(window=window) if meter is None else meter,
            number("points", usual if points is None else points, int, Range(2, _MOST)),
            number("segments", segments, int, Range(1, 10_000)),
            number("every", every or _FIRST, int, Range(1, 2**62)),
        )
        while every is None and rows > self._now.limit * self._now.every:
            self._now.every *= 2
        if self._now.meter.window is None:
            raise ValueError("meter: expected one with a window")
        self.keep = keep
        self.latest: Records | None = None
        self._kept: list[Records] = []
        self._answers: list[Arrival] = []
        self._seen: tuple[Account, Account] | None = None
        self._points: tuple[Account, list[Point]] | None = None
        self._scores: tuple[Account, Scored] | None = None

    @property
    def records(self) -> Records:
        """The rows of the run; without ``keep``, those of the last call alone."""
        if self.latest is None:
            raise ValueError("records: nothing was run since this summary was made or loaded")
        return Records.join(self._kept) if self.keep else self.latest

    @property
    def answers(self) -> list[Arrival]:
        """The answers in the order of their arrival, where they are kept."""
        return self._answers

    @property
    def answered(self) -> int:
        """How many answers came."""
        return self._view.answers

    @property
    def refused(self) -> int:
        """How many answers came too late, or to a question that was settled."""
        return self._now.refused

    @property
    def first(self) -> int:
        """The ticket of the first row."""
        return self._now.first

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return self._now.rows

    @property
    def labels(self) -> int:
        """How many labels were queried."""
        return self._now.labels

    @property
    def every(self) -> int:
        """How many rows lie between two points."""
        return self._now.every

    @property
    def window(self) -> int:
        """How many of the last rows a point covers."""
        return self._now.meter.window or 0

    @property
    def alarms(self) -> list[Alarm]:
        """The alarms that were raised."""
        return self._now.alarms

    @property
    def meter(self) -> Meter:
        """The meter that has heard it all."""
        return self._view.meter

    @property
    def estimate(self) -> Estimate:
        """The estimated accuracy of all settled rows."""
        return self.meter.accuracy

    def recent(self, labels: int = 200) -> Estimate:
        """The estimated accuracy right now: of the last rows, as many as have so many labels.

        Where labels are few, the rows reach further back; where there are fewer labels than these,
        they are all rows.

        >>> import lasec
        >>> X, y = lasec.streams.switching(4_000, dimension=5, every=2_000, seed=1)
        >>> summary = lasec.evaluate(lasec.Tracker(rate=0.1, seed=0), X, y)
        >>> now = summary.recent(labels=100)
        >>> now.rows, now.labels, summary.estimate.labels
        (1020, 100, 427)
        """
        wanted = number("labels", labels, int, Range(1, 2**53))
        now = self._view
        ends = [0, *(mark.round for mark in now.marks if mark.round < now.settled)]
        for begin in reversed(ends):
            row = now.total - _sums_at(now, begin)
            if row[COUNTS + Column.LABELS] >= wanted:
                break
        return means.accuracy(row[COUNTS:], now.first + now.settled)

    @property
    def known(self) -> int:
        """How many rows have a label, queried or not."""
        return self._now.known

    @property
    def unpredicted(self) -> int:
        """How many rows came before the first label: no prediction, and part of no estimate."""
        return self._now.silent

    @property
    def accuracy(self) -> float:
        """The true accuracy over all rows with a prediction and a label; NaN without any."""
        scored = self.known - self._now.unscored
        return 1.0 - self._now.mistakes / scored if scored else math.nan

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of their first labels."""
        return list(self._now.classes)

    @property
    def confusion(self) -> Confusion:
        """The confusion matrix of all settled rows, estimated from the queried labels.

        Its classes have the numbers of their places in :attr:`classes`.
        """
        return self._view.heard.widened(len(self._view.classes))

    @property
    def true_confusion(self) -> Confusion:
        """The confusion matrix of all rows that have a label, queried or not."""
        return self._now.truth.widened(len(self._now.classes))

    def rated(self, metric: str, place: int = 0) -> tuple[Estimate, float]:
        """A metric from the queried labels with its interval, and from all labels.

        ``metric`` is "accuracy", one of :class:`lasec.metrics.Confusion` or of
        :attr:`score_metrics`, and ``place`` that of the class in :attr:`classes`, for a metric of
        one class.

        >>> import lasec
        >>> X, y = lasec.streams.stationary(2_000, dimension=5, seed=1)
        >>> summary = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
        >>> for metric in ("balanced_accuracy", "average_precision", "log_loss"):
        ...     found, truth = summary.rated(metric)
        ...     print(metric, truth in found)
        balanced_accuracy True
        average_precision True
        log_loss True
        """
        if metric == "accuracy":
            return self.estimate, self.accuracy
        if metric in SCORES:
            return self._scored.rated(metric, place)
        truth = self.true_confusion.estimate(metric, positive=place).value
        return self.confusion.estimate(metric, positive=place), truth

    @property
    def score_metrics(self) -> tuple[str, ...]:
        """The metrics of predicted probabilities that :meth:`rated` has for this run.

        None for a learner without probabilities. Of more than two classes a run knows the
        probability of the predicted one alone, so that there is nothing but the calibration error.
        """
        return self._scored.metrics

    @property
    def scores(self) -> Scores:
        """Probabilities of all settled rows against the queried labels: log-loss, calibration, ...

        Its classes have the numbers of their places in :attr:`classes`. Of more than two, class 1
        is the predicted one and class 0 any other. Without rows, for a learner that has no
        probabilities.
        """
        return self._scored.heard

    @property
    def true_scores(self) -> Scores:
        """The same of all rows that have a label, queried or not."""
        return self._scored.truth

    @property
    def shares(self) -> dict[Any, float]:
        """The share of each class among the labels, queried or not.

        >>> import lasec
        >>> summary = lasec.evaluate(lasec.LASEC(1), [[1.0]] * 4, ["ham", "ham", "spam", None])
        >>> summary.shares
        {'ham': 0.6666666666666666, 'spam': 0.3333333333333333}
        """
        now = self._now
        counts = np.pad(now.counts, (0, len(now.classes) - now.counts.size))
        return dict(zip(now.classes, (counts / max(counts.sum(), 1.0)).tolist(), strict=True))

    @property
    def points(self) -> list[Point]:
        """The run at the multiples of ``every`` rows and at the last row."""
        now = self._view
        if self._points is None or self._points[0] is not now:  # intervals take a while
            self._points = now, [mark.point for mark in now.marks]
        return list(self._points[1])

    @property
    def margins(self) -> Margins:
        """The distribution of margins, of queries, and of mistakes."""
        return self._view.margins.add(self._view.rest)

    @property
    def reliability(self) -> list[Bin]:
        """Predicted probability against frequency, in bins; empty without probabilities."""
        return self._scored.reliability

    @property
    def calendar(self) -> Calendar:
        """Rows and queried labels by time; empty where rows have no times."""
        return self._now.calendar

    @property
    def baselines(self) -> dict[str, float]:
        """The accuracy of predictions that need no model; empty without labels.

        "no-change" predicts the label of the row before, which is known only where every label is.

        >>> import lasec
        >>> X, y = lasec.streams.stationary(2_000, dimension=5, seed=1)
        >>> summary = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
        >>> {name: round(value, 3) for name, value in summary.baselines.items()}
        {'no-change': 0.49, 'majority class': 0.503}
        """
        if not self.known:
            return {}
        no_change = self._now.same / self.known
        return {"no-change": no_change, "majority class": max(self.shares.values())}

    @property
    def rare(self) -> list[Any]:
        """The classes of which accuracy says little, the rarest last.

        Those of less than 10 % of the labels, or of a quarter of an even share if that is less.

        >>> import lasec
        >>> summary = lasec.evaluate(lasec.LASEC(1), [[1.0]] * 50, ["ham"] * 49 + ["fraud"])
        >>> summary.rare
        ['fraud']
        """
        limit = min(RARE, 0.25 / max(len(self.classes), 1))
        found = [(share, name) for name, share in self.shares.items() if 0.0 < share < limit]
        return [name for _, name in sorted(found, key=lambda pair: -pair[0])]

    @property
    def groups(self) -> list[Part]:
        """A part for each group, in the order in which they came; "other" is the last."""
        now = self._view
        names = [*now.names, *[""] * (now.segments - len(now.names)), OTHER]
        until, parts = now.first + now.settled, []
        for place, (name, row) in enumerate(zip(names, now.table, strict=True)):
            more = now.rest.where(now.rest.group == place).counts
            if row[0] + more[0]:
                parts.append(part(name, row, until, more))
        return parts

    def parts(self, count: int = 10) -> list[Part]:
        """The run in about ``count`` equal windows of time, each of which ends at a point.

        The estimate of a window is that of its settled rows.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> summary = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
        >>> [(part.name, part.labels) for part in summary.parts(2)]
        [('1-1000', 216), ('1001-2000', 208)]
        """
        now = self._view
        rounds = np.array([mark.round for mark in now.marks])
        wanted = np.linspace(0.0, self.rows, count + 1)[1:] if rounds.size else np.empty(0)
        ends = sorted({int(rounds[np.abs(rounds - end).argmin()]) for end in wanted})
        parts = []
        for begin, end in zip([0, *ends], ends, strict=False):
            row = _sums_at(now, end) - _sums_at(now, begin)
            cut = now.rest.cut(max(begin - now.settled, 0), max(end - now.settled, 0))
            until = now.first + max(begin, min(end, now.settled))
            parts.append(part(f"{begin + 1}-{end}", row, until, cut.counts))
        return parts

    def draw(self) -> Figure:
        """The run as a picture, a matplotlib ``Figure``: needs ``lasec[plot]``.

        Above, the estimated accuracy of the last window with the interval for each moment and the
        one for all moments at once, the true accuracy, and the alarms; below, labels against the
        budget, and the open questions with the age of the oldest.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> figure = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y).draw()
        >>> [axes.get_ylabel() for axes in figure.axes][:2]
        ['accuracy', 'labels']
        """
        return draw(self.points, self.alarms, self.first)

    def to_bytes(self) -> bytes:
        """The summary as bytes that :meth:`from_bytes` reads; ``records`` are not in them."""
        return record.dump(self._now)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The summary that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`.

        >>> import lasec
        >>> lasec.RunSummary.from_bytes(lasec.Meter().to_bytes())
        Traceback (most recent call last):
        lasec.errors.StateError: foreign: this is not a run, its kind is 'meter'
        """
        made = cls()
        made._now = record.load(Account, data)
        return made

    def __repr__(self) -> str:
        return (
            f"RunSummary(rows={self.rows}, accuracy={self.accuracy:.3f}, "
            f"labels={self.labels}, answers={self.answered}, alarms={len(self.alarms)})"
        )

    def _repr_png_(self) -> bytes | None:
        """The picture in a notebook, where matplotlib is installed."""
        return png(self.draw) if drawable() else None

    def _repr_html_(self) -> str:
        """A card in a notebook."""
        here = self.estimate
        rate = self.labels / self.rows if self.rows else math.nan
        facts = {
            "rows": f"{self.rows:,}",
            "estimated accuracy": estimated("estimated accuracy", here).line,
            "true accuracy (all labels)": notebook.percent(self.accuracy),
            "labels queried": f"{self.labels:,} ({notebook.percent(rate)})",
        }
        if self.alarms:
            facts["alarms"] = f"{len(self.alarms):,}"
        points = [point for point in self.points if not math.isnan(point.estimate.value)]
        lines = {
            "estimated": np.array([point.estimate.value for point in points]),
            "true": np.array([point.truth for point in points]),
        }
        return notebook.card("RunSummary", facts, notebook.sparkline(lines) if points else "")

    def commit(self, now: Account, records: Records, answers: list[Arrival]) -> None:
        """Put what a call of :func:`lasec.evaluate` has added in place."""
        if self.keep:
            self._kept.append(records)
            self._answers += answers
        self.latest, self._now = records, now

    def begin(self, rows: int) -> Account:
        """A copy of the account for a call of :func:`lasec.evaluate` to work on."""
        return self._now.copy(rows)

    @property
    def _scored(self) -> Scored:
        """The sums of probabilities, with all rows in them."""
        now = self._view
        if self._scores is None or self._scores[0] is not now:
            rest = now.rest.where(~now.rest.silent & now.margins.bounded)
            self._scores = now, now.scored.looked_at(rest, len(now.classes))
        return self._scores[1]

    @property
    def _view(self) -> Account:
        """The account with all summed that can be, and a mark at the last row."""
        now = self._now
        if now.settled == now.rows and now.rows % now.every == 0:
            return now
        if self._seen is None or self._seen[0] is not now:
            twin = now.copy()
            twin.settle_all()
            self._seen = now, twin
        return self._seen[1]


def _sums_at(now: Account, row: int) -> Array:
    """The sums of the settled rows before this one."""
    if row >= now.settled:
        return now.total
    return dict(now.ends)[row] if row else np.zeros_like(now.total)
