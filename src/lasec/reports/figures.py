"""The figures of a report: what each shows, how it is read, and how it is drawn at any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lasec.evaluation import Margins, Point, RunSummary
from lasec.evaluation import pictures as draw
from lasec.reports.source import changes
from lasec.reports.text import across, pair, short

WIDE, NARROW = 9.6, 4.2
Series = tuple[str, str, list[float]]
Classes = tuple[str, str]
NAMELESS: Classes = pair(())


class FigureSpec(NamedTuple):
    """A figure: ``paint`` draws it on a blank one, given the number of columns for a legend.

    ``series`` are (name, kind, values) over ``x``, for the readout under the pointer; the kind is
    "share", "count" or "number". ``below`` stands below the axis, if it is not its name.
    """

    name: str
    title: str
    reading: str
    height: float
    paint: Callable[[Any, int], None]
    axis: str
    x: list[float]
    series: list[Series]
    below: str = ""

    def figure(self, width: float = WIDE) -> Any:
        """The figure, this many inches wide."""
        narrow = width < 6.0
        with draw.styled():
            figure = draw.blank(width, self.height * (0.85 if narrow else 1.0))
            self.paint(figure, 1 if narrow else 2)
            for axes in figure.axes:
                draw.tidy(axes)
                if self.axis == "round":
                    draw.count_axis(axes.xaxis, 4 if narrow else 8)
                    axes.set_xlim(0.0, 1.01 * max(self.x, default=1.0))
            figure.axes[-1].set_xlabel(self.below or self.axis)
        return figure


def all_figures(source: RunSummary, classes: Classes = NAMELESS) -> list[FigureSpec]:
    """All figures for which this run has something to show; classes are those of -1 and +1."""
    points = source.points
    if not points:
        return []
    made = [accuracy(source, points), spent(points)]
    if points[-1].drift_estimate is not None and len(points) > 1:
        made.append(belief(source, points))
    if len(points) > 1:
        made.append(asked(points))
    margins = source.margins
    made += [doubt(margins, classes), certain(margins, classes)]
    if any(point.open for point in points):
        made.append(waiting(points))
    return made


def accuracy(source: RunSummary, points: Sequence[Point]) -> FigureSpec:
    """Accuracy over time."""
    alarms = [alarm.ticket - source.first + 1 for alarm in source.alarms]
    known = [point for point in points if math.isfinite(point.estimate.value)]

    def paint(figure: Any, columns: int) -> None:
        draw.accuracy(figure.subplots(), points, source.first, alarms, columns)

    window = max((point.estimate.rows for point in points), default=0)
    return FigureSpec(
        "accuracy", "How good was it?",
        f"The solid line is the share of right predictions among the last rows (up to {window:,}) "
        "as the asked labels tell it; the inner band says where the truth is at any one moment, "
        "the outer band where it is at all moments at once, each with 95 % certainty. The dashed "
        "line is the truth, known here because this is a replay with all labels.",
        3.4, paint, "round", [float(p.estimate.until - source.first) for p in known],
        [
            ("estimated", "share", [p.estimate.value for p in known]),
            ("from", "share", [p.estimate.low for p in known]),
            ("to", "share", [p.estimate.high for p in known]),
            ("true", "share", [p.truth for p in known]),
        ],
    )  # fmt: skip


def spent(points: Sequence[Point]) -> FigureSpec:
    """Labels over time."""
    series: list[Series] = [("asked", "count", [float(p.labels) for p in points])]
    planned = any(math.isfinite(point.planned) for point in points)
    if planned:
        series.append(("budget", "count", [p.planned for p in points]))
    words = (
        "The thin line is how many labels were asked so far, the thick one what the budget allows "
        "by then: a little ahead at the start is the warm-up, which is repaid."
        if planned
        else "How many labels were asked so far. This query holds no budget."
    )
    return FigureSpec(
        "labels", "What did it cost?", words, 2.5,
        lambda figure, _: draw.labels(figure.subplots(), points),
        "round", _rounds(points), series,
    )  # fmt: skip


def belief(source: RunSummary, points: Sequence[Point]) -> FigureSpec:
    """What a Tracker believes over time."""
    held = [point.drift_estimate for point in points if point.drift_estimate is not None]
    rounds = _rounds(points)
    since = [max(0.0, float(b.since - source.first)) for b in held]
    # A level is shown from a thousandth of a percent on, as the axis is logarithmic.
    lines = {name: [max(getattr(b, name), 1e-7) for b in held] for name in _BELIEVED}

    def paint(figure: Any, columns: int) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (1.2, 1.0)})
        top.plot(rounds, rounds, color=draw.SOFT, linewidth=1.0, linestyle=":", label="now")
        top.step(rounds, since, where="post", color=draw.INK, linewidth=1.6, label="began after")
        for at in changes(points, source.first):
            top.axvline(at, color=draw.ALARM, linewidth=0.9, alpha=0.6)
        top.set_ylabel("present concept")
        draw.count_axis(top.yaxis, 4)
        draw.legend(top, 2)
        styles = ((draw.INK, "-"), (draw.ALARM, "--"), (draw.SOFT, "-."))
        for (name, values), (color, dash) in zip(lines.items(), styles, strict=True):
            bottom.plot(rounds, values, color=color, linestyle=dash, linewidth=1.3, label=name)
        bottom.set_yscale("log")
        bottom.set_ylabel("believed rate")
        draw.legend(bottom, 3)

    return FigureSpec(
        "beliefs", "What does it believe about the stream?",
        "Above: the round after which the concept of each moment was believed to have begun. A "
        "step up is a change that was noticed; red lines are where changes are believed to have "
        "been, in hindsight. Below: noise is the share of wrong labels, drift the share of the "
        "concept that is replaced in a round, hazard the chance of a sudden change in a round.",
        4.2, paint, "round", rounds,
        [
            ("began after", "count", since),
            *((name, "number", values) for name, values in lines.items()),
        ],
    )  # fmt: skip


def asked(points: Sequence[Point]) -> FigureSpec:
    """The share asked over time."""
    keep = np.unique(np.linspace(0, len(points) - 1, min(len(points), 61)).astype(int))
    rounds = np.array([0, *(points[i].round for i in keep)])
    labels = np.array([points[i].labels for i in keep])
    share = np.diff(labels, prepend=0) / np.diff(rounds)
    ends = rounds[1:].astype(float)

    def paint(figure: Any, _: int) -> None:
        axes = figure.subplots()
        axes.stairs(share, rounds, color=draw.INK, fill=True, alpha=0.35, linewidth=0)
        axes.stairs(share, rounds, color=draw.INK, linewidth=1.2, baseline=None)
        axes.set_ylim(0.0, min(1.05, 1.15 * max(float(share.max()), 0.01)))
        axes.set_ylabel("share asked")
        draw.share_axis(axes.yaxis)

    return FigureSpec(
        "asked", "When did it ask?",
        "The share of rows in each stretch whose label was asked: it rises where the model is in "
        "doubt, after a change for example, and falls where it is sure.",
        2.2, paint, "round", ends.tolist(), [("asked up to here", "share", share.tolist())],
    )  # fmt: skip


def doubt(margins: Margins, classes: Classes = NAMELESS) -> FigureSpec:
    """The share asked by margin."""
    middle = (margins.edges[1:] + margins.edges[:-1]) / 2.0
    some = margins.rows > 0
    rows = np.where(some, margins.rows, 1.0)
    chance, share, wrong = (
        np.where(some, column / rows, math.nan)
        for column in (margins.propensity, margins.asked, margins.mistakes)
    )

    def paint(figure: Any, columns: int) -> None:
        axes = figure.subplots()
        axes.plot(middle, chance, color=draw.INK, linewidth=1.6, label="chance to be asked")
        axes.plot(middle, share, "o", color=draw.BAND, markersize=3.5, label="share asked")
        axes.plot(middle, wrong, color=draw.ALARM, linestyle="--", linewidth=1.2, label="wrong")
        axes.set_ylim(0.0, 1.05)
        _margin_axis(axes)
        axes.set_ylabel("share of rows")
        draw.share_axis(axes.yaxis)
        draw.legend(axes, 2 if columns == 1 else 3)

    return FigureSpec(
        "doubt", "Where did it ask?",
        "For rows of each margin: the mean probability to be asked, the share that was, and the "
        "share whose prediction was wrong in truth. Labels are best spent where the red line is "
        f"high.{_measure(margins, classes)}",
        2.8, paint, _margin(margins), middle.tolist(),
        [
            ("rows", "count", margins.rows.tolist()),
            ("chance", "share", chance.tolist()),
            ("asked", "share", share.tolist()),
            ("wrong", "share", wrong.tolist()),
        ],
        _towards(margins, classes),
    )  # fmt: skip


def _margin_axis(axes: Any) -> None:
    """From surely one class to surely the other."""
    axes.set_xlim(-1.02, 1.02)
    axes.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])


def certain(margins: Margins, classes: Classes = NAMELESS) -> FigureSpec:
    """The histogram of margins."""
    middle = (margins.edges[1:] + margins.edges[:-1]) / 2.0

    def paint(figure: Any, columns: int) -> None:
        axes = figure.subplots()
        rows = {"color": draw.SOFT, "alpha": 0.35, "fill": True, "linewidth": 0.0}
        axes.stairs(margins.rows, margins.edges, label="all rows", **rows)
        axes.stairs(margins.asked, margins.edges, color=draw.INK, linewidth=1.6, label="asked")
        axes.stairs(
            margins.mistakes, margins.edges, color=draw.ALARM, linewidth=1.4, linestyle="--",
            label="mistakes",
        )  # fmt: skip
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylim(bottom=0.0)
        _margin_axis(axes)
        axes.set_ylabel("rows (log scale)")
        draw.legend(axes, 3)

    return FigureSpec(
        "margins", "How sure was it?",
        "How many rows had each margin, how many of them were asked, and on how many the "
        "prediction was wrong in truth. The scale is logarithmic: each step is ten times as many. "
        f"Mistakes far from the middle are the expensive ones.{_measure(margins, classes)}",
        2.8, paint, _margin(margins), middle.tolist(),
        [
            ("rows", "count", margins.rows.tolist()),
            ("asked", "count", margins.asked.tolist()),
            ("mistakes", "count", margins.mistakes.tolist()),
        ],
        _towards(margins, classes),
    )  # fmt: skip


def waiting(points: Sequence[Point]) -> FigureSpec:
    """Open questions over time."""
    return FigureSpec(
        "questions", "Who is waiting?",
        "How many questions were without an answer, and how old the oldest was: answers that are "
        "out make the estimate lag.",
        2.4, lambda figure, _: draw.questions(figure.subplots(), points), "round", _rounds(points),
        [
            ("open", "count", [float(p.open) for p in points]),
            ("age of the oldest", "count", [p.age for p in points]),
        ],
    )  # fmt: skip


def _rounds(points: Sequence[Point]) -> list[float]:
    return [float(point.round) for point in points]


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
        return (
            f" A margin is the probability of {above} less that of {below}: 0 is doubt, 1 is "
            f"certainty of {above}, -1 of {below}."
        )
    ends = f", from {below} on the left to {above} on the right" if classes != NAMELESS else ""
    return f" Margins of this rule have no bound, so they are squeezed into -1 to 1{ends}."


_BELIEVED = ("noise", "drift", "hazard")
