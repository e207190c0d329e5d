"""The figures of a report: what each shows, how it is read, and how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.evaluation import Bin, Margins, Point, RunSummary
from lasec.evaluation import pictures as draw
from lasec.evaluation.calendar import DAY, HOUR, MINUTE, WEEK
from lasec.evaluation.pictures import Timeline
from lasec.reports.source import SMOOTH, changes, date, drift_rates, drifting
from lasec.reports.text import across, pair, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.6  # inches: letters can be read on a phone, where a page makes the figure smaller
Array = NDArray[np.float64]
Series = tuple[str, str, list[float]]
Classes = tuple[str, str]
NAMELESS: Classes = pair(())
UNITS = {MINUTE: "minute", HOUR: "hour", DAY: "day", WEEK: "week", 4 * WEEK: "4 weeks"}
BARS = 100


class FigureSpec(NamedTuple):
    """A figure: ``paint`` draws it on a blank one.

    ``series`` are (name, kind, values) over ``x``, for the readout under the pointer; the kind is
    "share", "count" or "number", and ``places`` are the words for ``x``, if it is not a number.
    ``below`` stands below the axis, if it is not its name.
    """

    name: str
    title: str
    reading: str
    height: float
    paint: Callable[[Figure], None]
    axis: str
    x: list[float]
    series: list[Series]
    below: str = ""
    places: Sequence[str] = ()

    def figure(self) -> Figure:
        """The figure, as it is on a page and in a file of its own."""
        with draw.styled():
            figure = draw.blank(WIDTH, self.height)
            self.paint(figure)
            for axes in figure.axes:
                draw.tidy(axes)
            figure.axes[0].set_xlabel(self.below or self.axis)
        return figure


def main_figures(source: RunSummary, classes: Classes = NAMELESS) -> list[FigureSpec]:
    """The figures that everybody reads, as far as this run has something to show."""
    points = source.points
    if not points:
        return []
    made = [accuracy(source, points), spent(source, points)]
    if drifting(source):
        made.append(drift(source, points))
    bins = source.reliability
    if bins:
        made.append(reliability(bins, classes))
    return made


def more_figures(source: RunSummary, classes: Classes = NAMELESS) -> list[FigureSpec]:
    """The figures for those who look after the model."""
    points, margins = source.points, source.margins
    if not points:
        return []
    made = [queries(margins, classes), histogram(margins, classes)]
    return made + ([waiting(points)] if any(point.open for point in points) else [])


def over_time(line: Timeline, rows: Sequence[float]) -> tuple[str, list[float], Sequence[str]]:
    """The name of a time axis, where some rows are on it, and the words for them."""
    x = line.at(rows).tolist()
    fine = bool(line.dated and np.ptp(line.dates) < 30.0)
    words = [date(at, 60.0 if fine else DAY) for at in x] if line.dated else ()
    return line.name, x, words


def frame(figure: Figure, line: Timeline) -> None:
    """Let all axes of a figure have this time axis."""
    for axes in figure.axes:
        line.frame(axes, 6)


def accuracy(source: RunSummary, points: Sequence[Point]) -> FigureSpec:
    """Accuracy over time."""
    alarms = [alarm.ticket - source.first + 1 for alarm in source.alarms]
    known = [point for point in points if math.isfinite(point.estimate.value)]
    line = Timeline.of(points)

    def paint(figure: Figure) -> None:
        draw.accuracy(figure.subplots(), line, points, source.first, alarms)
        frame(figure, line)

    window = max((point.estimate.rows for point in points), default=0)
    axis, x, places = over_time(line, [float(p.estimate.until - source.first) for p in known])
    return FigureSpec(
        "accuracy", "Accuracy over time",
        f"Accuracy of the last rows (up to {window:,}), estimated from the queried labels. The "
        "95 % interval of the window is for one look at one time; the anytime 95 % band holds at "
        "all times at once, for decisions that are taken whenever the line drops. The dashed line "
        "is the true accuracy of the same rows, as this run knows all labels."
        + (" Triangles are alarms." if alarms else ""),
        2.8, paint, axis, x,
        [
            ("estimated", "share", [p.estimate.value for p in known]),
            ("from", "share", [p.estimate.low for p in known]),
            ("to", "share", [p.estimate.high for p in known]),
            ("true", "share", [p.truth for p in known]),
        ],
        places=places,
    )  # fmt: skip


class Bars(NamedTuple):
    """Labels in spans of time or windows of rows, with what the budget allows in each."""

    edges: Array
    labels: Array
    budget: Array
    unit: str
    places: list[str]


def bars(source: RunSummary, points: Sequence[Point]) -> Bars:
    """Labels by day, or another unit that gives at most 100 bars; by window without dates."""
    line, planned = Timeline.of(points), _plan(points, fresh=source.first == 0)
    found = source.calendar.at_most(BARS)
    if not line.dated or found.span not in UNITS or found.rows.sum() < source.rows:
        return _windows(points, planned)
    count = round(float(np.ptp(found.starts)) / found.span) + 1
    starts = found.starts[0] + found.span * np.arange(count)
    edges = np.append(starts, starts[-1] + found.span) / DAY
    labels = np.zeros(count)
    labels[np.searchsorted(starts, found.starts)] = found.labels
    allowed = np.interp(edges[1:], np.r_[edges[0], line.dates], planned)
    words = [date(at, found.span) for at in edges[:-1].tolist()]
    return Bars(edges, labels, np.diff(allowed, prepend=planned[0]), UNITS[found.span], words)


def _plan(points: Sequence[Point], *, fresh: bool) -> Array:
    """What the budget allows up to the start of the run and up to each point."""
    first, second = points[0], points[min(1, len(points) - 1)]
    start = 0.0
    if not fresh and second is not first:  # the learner ran before: its plan goes on evenly
        pace = (second.planned - first.planned) / (second.round - first.round)
        start = first.planned - pace * first.round
    return np.array([start, *(point.planned for point in points)])


def _windows(points: Sequence[Point], planned: Array) -> Bars:
    """Labels by window of as many rows, each of which ends at a point; the last can be shorter."""
    ends = np.append(np.arange(0, len(points), -(-len(points) // 40)), len(points))
    rows = np.array([0, *(point.round for point in points)])[ends]
    labels = np.array([0, *(point.labels for point in points)])[ends]
    words = [f"{a + 1:,}-{b:,}" for a, b in pairwise(rows.tolist())]
    return Bars(rows.astype(float), np.diff(labels), np.diff(planned[ends]), "window", words)


def spent(source: RunSummary, points: Sequence[Point]) -> FigureSpec:
    """Labels by day or by window, against the budget."""
    found, line = bars(source, points), Timeline.of(points)
    planned = bool(np.isfinite(found.budget).all())
    dated = found.unit != "window"

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.stairs(found.labels, found.edges, color=draw.BAND, fill=True, alpha=0.6, linewidth=0,
                    label="labels queried")  # fmt: skip
        if planned:
            axes.stairs(found.budget, found.edges, color=draw.INK, linewidth=1.6, baseline=None,
                        label="budget")  # fmt: skip
        axes.set_ylabel(f"labels per {found.unit}")
        axes.set_ylim(bottom=0.0)
        draw.count_axis(axes.yaxis)
        draw.legend(axes)
        frame(figure, line if dated else line._replace(dates=np.empty(0)))
        axes.set_xlim(found.edges[0], found.edges[-1])

    each = found.unit if dated else f"window of {found.edges[1]:,.0f} rows"
    words = (
        f"Labels queried in each {each}, against the budget. The first may be higher: the "
        "warm-up is spent early and repaid later."
        if planned
        else f"Labels queried in each {each}. This query has no budget."
    )
    middle = ((found.edges[1:] + found.edges[:-1]) / 2.0).tolist()
    series: list[Series] = [("labels", "count", found.labels.tolist())]
    return FigureSpec(
        "labels", f"Labels by {found.unit}", words, 2.1, paint,
        "rows" if not dated else found.unit, middle,
        series + ([("budget", "count", found.budget.tolist())] if planned else []),
        line.name if dated else "row", found.places,
    )  # fmt: skip


def drift(source: RunSummary, points: Sequence[Point]) -> FigureSpec:
    """What a Tracker estimates about drift, over time."""
    line = Timeline.of(points)
    axis, x, places = over_time(line, [float(point.round) for point in points])
    rates = drift_rates(points)
    noise = [point.drift_estimate.noise if point.drift_estimate else math.nan for point in points]
    found = line.at(changes(points, source.first)).tolist()

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(x, rates, color=draw.INK, linewidth=1.6, label="drift rate per 1,000 rows")
        axes.plot(x, noise, color=draw.SOFT, linestyle="--", linewidth=1.3, label="noise estimate")
        for number, at in enumerate(found):
            label = "change point" if number == 0 else None
            axes.axvline(at, color=draw.ALARM, linewidth=1.2, alpha=0.8, label=label)
        axes.set_ylim(0.0, 1.0)
        axes.set_ylabel("estimate")
        draw.share_axis(axes.yaxis)
        draw.legend(axes)
        frame(figure, line)

    return FigureSpec(
        "drift", "Estimated drift",
        "Red lines are estimated change points: where the concept changed, as estimated at the "
        "end. The drift rate is the share of the concept that is replaced in 1,000 rows, as "
        f"estimated at each time (median of {SMOOTH} points); after a change it rises until the "
        "model can tell a sudden change from fast drift.",
        2.4, paint, axis, x, [("drift rate", "share", rates), ("noise", "share", noise)],
        places=places,
    )  # fmt: skip


def reliability(bins: Sequence[Bin], classes: Classes = NAMELESS) -> FigureSpec:
    """Predicted probability against frequency."""
    name = classes[1]
    known = [b for b in bins if math.isfinite(b.estimate.value)]
    predicted = np.array([b.predicted for b in known])
    value = np.array([min(max(b.estimate.value, 0.0), 1.0) for b in known])
    reach = np.array(
        [[v - b.estimate.low, b.estimate.high - v] for v, b in zip(value, known, strict=True)]
    )

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([0.0, 1.0], [0.0, 1.0], color=draw.SOFT, linewidth=1.0, linestyle=":",
                  label="perfectly calibrated")  # fmt: skip
        if known:
            axes.errorbar(predicted, value, yerr=np.maximum(reach.T, 0.0), color=draw.INK, fmt="o",
                          markersize=4.0, linewidth=1.2, capsize=2.5,
                          label="estimated, 95 % interval")  # fmt: skip
        predicted_all, frequency = [b.predicted for b in bins], [b.frequency for b in bins]
        axes.plot(predicted_all, frequency, "x", color=draw.ALARM, markersize=5.0,
                  label="true (all labels)")  # fmt: skip
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel(f"share of {short(name, 20)}")
        for axis in (axes.xaxis, axes.yaxis):
            draw.share_axis(axis)
        draw.legend(axes)

    return FigureSpec(
        "reliability", "Reliability diagram",
        f"Rows in ten bins by the predicted probability of {name}, against how often {name} was "
        "the label: estimated from the queried labels, and the true share. On the diagonal the "
        "probabilities are calibrated; above it they are too low, below it too high.",
        3.0, paint, f"predicted probability of {short(name, 20)}", [b.predicted for b in bins],
        [
            ("rows", "count", [float(b.rows) for b in bins]),
            ("labels", "count", [float(b.labels) for b in bins]),
            ("estimated", "share", [b.estimate.value for b in bins]),
            ("from", "share", [b.estimate.low for b in bins]),
            ("to", "share", [b.estimate.high for b in bins]),
            ("true", "share", [b.frequency for b in bins]),
        ],
    )  # fmt: skip


def queries(margins: Margins, classes: Classes = NAMELESS) -> FigureSpec:
    """The query probability by margin."""
    middle = (margins.edges[1:] + margins.edges[:-1]) / 2.0
    some = margins.rows > 0
    rows = np.where(some, margins.rows, 1.0)
    chance, share, wrong = (
        np.where(some, column / rows, math.nan)
        for column in (margins.propensity, margins.asked, margins.mistakes)
    )

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(middle, chance, color=draw.INK, linewidth=1.6, label="query probability")
        axes.plot(middle, share, "o", color=draw.BAND, markersize=3.5, label="queried")
        axes.plot(middle, wrong, color=draw.ALARM, linestyle="--", linewidth=1.2, label="mistakes")
        axes.set_ylim(0.0, 1.05)
        _margin_axis(axes)
        axes.set_ylabel("share of rows")
        draw.share_axis(axes.yaxis)
        draw.legend(axes)

    return FigureSpec(
        "queries", "Query probability by margin",
        "For rows of each margin: the mean query probability, the share that was queried, and the "
        "true share of mistakes (all labels). Labels are best spent where mistakes are frequent."
        f"{_measure(margins, classes)}",
        2.4, paint, _margin(margins), middle.tolist(),
        [
            ("rows", "count", margins.rows.tolist()),
            ("query probability", "share", chance.tolist()),
            ("queried", "share", share.tolist()),
            ("mistakes", "share", wrong.tolist()),
        ],
        _towards(margins, classes),
    )  # fmt: skip


def _margin_axis(axes: Axes) -> None:
    """From surely one class to surely the other."""
    axes.set_xlim(-1.02, 1.02)
    axes.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])


def histogram(margins: Margins, classes: Classes = NAMELESS) -> FigureSpec:
    """The histogram of margins."""
    middle = (margins.edges[1:] + margins.edges[:-1]) / 2.0

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.stairs(margins.rows, margins.edges, color=draw.SOFT, alpha=0.35, fill=True,
                    linewidth=0.0, label="all rows")  # fmt: skip
        axes.stairs(margins.asked, margins.edges, color=draw.INK, linewidth=1.6, label="queried")
        axes.stairs(
            margins.mistakes, margins.edges, color=draw.ALARM, linewidth=1.4, linestyle="--",
            label="mistakes",
        )  # fmt: skip
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylim(bottom=0.0)
        _margin_axis(axes)
        axes.set_ylabel("rows (log scale)")
        draw.legend(axes)

    return FigureSpec(
        "margins", "Distribution of margins",
        "How many rows had each margin, how many of them were queried, and how many were predicted "
        "wrong (all labels), on a logarithmic scale. Mistakes far from 0 are confident mistakes."
        f"{_measure(margins, classes)}",
        2.4, paint, _margin(margins), middle.tolist(),
        [
            ("rows", "count", margins.rows.tolist()),
            ("queried", "count", margins.asked.tolist()),
            ("mistakes", "count", margins.mistakes.tolist()),
        ],
        _towards(margins, classes),
    )  # fmt: skip


def waiting(points: Sequence[Point]) -> FigureSpec:
    """Labels that have not come, over time."""
    line = Timeline.of(points)

    def paint(figure: Figure) -> None:
        draw.questions(figure.subplots(), line, points)
        frame(figure, line)

    axis, x, places = over_time(line, [float(point.round) for point in points])
    return FigureSpec(
        "questions", "Outstanding labels",
        "How many queried labels had not come, and the age of the oldest query. Estimates cover "
        "the rows before the oldest open question, so late labels make them lag.",
        2.0, paint, axis, x,
        [
            ("open", "count", [float(p.open) for p in points]),
            ("age of the oldest", "count", [p.age for p in points]),
        ],
        places=places,
    )  # fmt: skip


def _margin(margins: Margins) -> str:
    return "margin" if margins.bounded else "margin m, as m / (1 + |m|)"


def _towards(margins: Margins, classes: Classes) -> str:
    """What stands below an axis of margins: which class lies at which end."""
    if classes == NAMELESS:
        return ""
    below, above = (short(name, 12) for name in classes)
    middle = "margin" if margins.bounded else "m / (1 + |m|)"
    left, right = "\N{LEFTWARDS ARROW}", "\N{RIGHTWARDS ARROW}"
    if across(below + above) > 12:  # on a phone one line would be too long
        return f"{middle}, towards\n{left} {below} | {above} {right}"
    return f"towards {below} {left} {middle} {right} towards {above}"


def _measure(margins: Margins, classes: Classes) -> str:
    below, above = classes
    if margins.bounded:
        return f" The margin is the probability of {above} minus that of {below}."
    ends = f", from {below} on the left to {above} on the right" if classes != NAMELESS else ""
    return f" Margins of this rule have no bound; they are drawn as m / (1 + |m|){ends}."
