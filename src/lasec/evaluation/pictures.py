"""How a run went, as a picture. matplotlib is loaded only when something is drawn.

Every drawing of a run's points is here, once: :meth:`lasec.RunSummary.draw` puts three of them
above each other, and the report takes them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.alarms import Alarm
from lasec.evaluation.points import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

INK, BAND, TRUTH, ALARM, SOFT = "#1f4e79", "#4a90c4", "#222222", "#c0392b", "#8a8a8a"
GRID = "#e6e6e6"
DAY = 86_400.0
EARLIEST, LATEST = 1e8, 1e10  # seconds since 1970: from 1973 to 2286
STYLE = {
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.5,
    "text.color": TRUTH,
    "axes.labelcolor": TRUTH,
    "axes.edgecolor": SOFT,
    "xtick.color": TRUTH,
    "ytick.color": TRUTH,
    "svg.fonttype": "none",
    "svg.hashsalt": "lasec",
}


def drawable() -> bool:
    """Whether there is a matplotlib to draw with."""
    return find_spec("matplotlib") is not None


@contextmanager
def styled() -> Iterator[None]:
    """Draw in lasec's style: system fonts, and the same bytes for the same run."""
    if not drawable():
        raise ImportError("drawing needs matplotlib: install lasec[plot]")
    with import_module("matplotlib").rc_context(STYLE):
        yield


def blank(width: float, height: float) -> Figure:
    """A figure of this size in inches, with nothing on it."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure(figsize=(width, height), layout="constrained")


def png(make: Callable[[], Figure]) -> bytes:
    """The figure that ``make`` makes, as a PNG file."""
    file = BytesIO()
    make().savefig(file, format="png", dpi=110)
    return file.getvalue()


class Timeline(NamedTuple):
    """The horizontal axis of a run: dates where rows have times, the number of the row otherwise.

    ``dates`` are those of ``rows``, in days since 1970; empty where the axis has rows.

    >>> Timeline(np.array([0.0, 10.0]), np.array([20_000.0, 20_002.0])).at([5]).tolist()
    [20001.0]
    """

    rows: Array
    dates: Array

    @classmethod
    def of(cls, points: Sequence[Point]) -> Timeline:
        """The axis of these points; times that can be no seconds since 1970 are not shown."""
        rows = np.array([point.round for point in points], dtype=np.float64)
        times = np.array([np.nan if point.time is None else point.time for point in points])
        dated = times.size > 1 and bool(((times >= EARLIEST) & (times <= LATEST)).all())
        return cls(rows, np.maximum.accumulate(times) / DAY if dated else np.empty(0))

    @property
    def dated(self) -> bool:
        """Whether the axis has dates."""
        return self.dates.size > 0

    @property
    def name(self) -> str:
        """What stands below the axis."""
        return "time (UTC)" if self.dated else "row"

    def at(self, rows: ArrayLike) -> Array:
        """Where some rows are; between two points, rows are taken to come evenly."""
        asked = np.asarray(rows, dtype=np.float64)
        return np.interp(asked, self.rows, self.dates) if self.dated else asked

    def frame(self, axes: Axes, ticks: int = 8) -> None:
        """Let axes begin and end with the run."""
        first, last = (self.dates[0], self.dates[-1]) if self.dated else (0.0, self.rows.max())
        axes.set_xlim(first, last + 0.01 * (last - first) if last > first else first + 1.0)
        if self.dated:
            date_axis(axes.xaxis, ticks)
        else:
            count_axis(axes.xaxis, ticks - 1)


def date_axis(axis: Axis, most: int = 8) -> None:
    """Ticks at round dates, of numbers of days since 1970."""
    dates = import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=3, maxticks=most)
    axis.set_major_locator(locator)
    axis.set_major_formatter(
        dates.ConciseDateFormatter(
            locator,
            formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f"],
            zero_formats=["", "%b %Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
            offset_formats=["", "", "%Y", "%Y", "%Y-%m-%d", "%Y-%m-%d %H:%M"],
        )
    )


def draw(points: Sequence[Point], alarms: Sequence[Alarm], first: int) -> Figure:
    """A figure of three rows: accuracy, labels, open questions."""
    with styled():
        figure = blank(9.0, 7.2)
        top, middle, bottom = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": (3.0, 1.4, 1.4)}
        )
        line = Timeline.of(points)
        accuracy(top, line, points, first, [alarm.ticket - first + 1 for alarm in alarms], 3)
        labels(middle, line, points)
        questions(bottom, line, points)
        bottom.set_xlabel(line.name)
        for axes in (top, middle, bottom):
            tidy(axes)
            if points:
                line.frame(axes)
    return figure


def tidy(axes: Axes) -> None:
    """What all axes have in common."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)


def count_axis(axis: Axis, most: int = 6) -> None:
    """Ticks at whole numbers, with separators."""
    ticker = import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(most, integer=True))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def share_axis(axis: Axis) -> None:
    """Ticks in percent."""
    axis.set_major_formatter(import_module("matplotlib.ticker").PercentFormatter(1.0, decimals=0))


def legend(axes: Axes, columns: int = 2) -> None:
    """A legend above the axes, where it hides nothing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        borderaxespad=0.2, handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip


def accuracy(
    axes: Axes,
    line: Timeline,
    points: Sequence[Point],
    first: int,
    alarms: Sequence[int],
    columns: int = 2,
) -> None:
    """Estimated accuracy with its two bands, the true one, and the alarms.

    An estimate stands at the last row that it covers: labels that are still out make it lag.
    """
    points = [point for point in points if np.isfinite(point.estimate.value)]
    x = line.at([point.estimate.until - first for point in points])
    value = np.array([point.estimate.value for point in points])
    for name, shade, words in (
        ("always", 0.15, "anytime 95 % band"),
        ("estimate", 0.35, "95 % interval of the window"),
    ):
        low, high = (np.array([getattr(getattr(p, name), end) for p in points]) for end in _ENDS)
        axes.fill_between(x, low, high, color=BAND, alpha=shade, linewidth=0, label=words)
    mark: dict[str, Any] = {"marker": "o", "clip_on": False} if len(points) == 1 else {}
    axes.plot(x, value, color=INK, linewidth=1.8, label="estimated accuracy", **mark)
    truth = np.array([point.truth for point in points])
    axes.plot(x, truth, color=TRUTH, linewidth=1.1, linestyle="--", label="true (all labels)")
    mark_alarms(axes, line, alarms)
    if value.size:
        axes.set_ylim(max(0.0, np.nanmin(np.r_[value, truth]) - 0.15), 1.0)
    axes.set_ylabel("accuracy")
    share_axis(axes.yaxis)
    legend(axes, columns)


def mark_alarms(axes: Axes, line: Timeline, rows: Sequence[int]) -> None:
    """Triangles on the upper edge where the last alarms were raised, with a count if it is not all.

    A line across the figure for each would be a fence where there are many.
    """
    if not rows:
        return
    shown = rows[-MARKS:]
    few = len(shown) == len(rows)
    axes.plot(
        line.at(shown), [1.0] * len(shown), color=ALARM, marker="v", linestyle="none",
        markersize=7.0, clip_on=False, transform=axes.get_xaxis_transform(),
        label="alarm" if few else f"alarm (the last {MARKS} of {len(rows):,})",
    )  # fmt: skip


def labels(axes: Axes, line: Timeline, points: Sequence[Point]) -> None:
    """Labels that were queried, against what the budget allows."""
    x = line.at([point.round for point in points])
    planned = np.array([point.planned for point in points])
    if np.isfinite(planned).any():
        axes.plot(x, planned, color=SOFT, linewidth=3.0, alpha=0.6, label="budget")
    spent, mark = [p.labels for p in points], "o" if len(points) == 1 else ""
    axes.plot(x, spent, color=INK, linewidth=1.5, marker=mark, label="queried")
    axes.set_ylabel("labels")
    axes.set_ylim(bottom=0.0)
    count_axis(axes.yaxis)
    legend(axes, 2)


def questions(axes: Axes, line: Timeline, points: Sequence[Point]) -> None:
    """Labels that are still out, and the age of the oldest question on an axis of its own."""
    x = line.at([point.round for point in points])
    axes.plot(x, [p.open for p in points], color=INK, linewidth=1.5)
    axes.set_ylabel("open questions", color=INK)
    axes.set_ylim(bottom=0.0)
    other = axes.twinx()
    other.plot(x, [p.age for p in points], color=ALARM, linewidth=1.0, alpha=0.7)
    other.set_ylabel("age of the oldest", color=ALARM)
    other.set_ylim(bottom=0.0)
    other.spines["top"].set_visible(False)


_ENDS = ("low", "high")
MARKS = 20  # alarms in a figure
