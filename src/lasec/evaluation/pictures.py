"""How a run went, as a picture. matplotlib is loaded only when something is drawn.

Every drawing of a run's points is here, once: :meth:`lasec.Evaluation.draw` puts three of them
above each other, and the report takes them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np

INK, BAND, TRUTH, ALARM, SOFT = "#1f4e79", "#4a90c4", "#222222", "#c0392b", "#8a8a8a"
GRID = "#e6e6e6"
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


def blank(width: float, height: float) -> Any:
    """A figure of this size in inches, with nothing on it."""
    return import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")


def png(make: Callable[[], Any]) -> bytes:
    """The figure that ``make`` makes, as a PNG file."""
    file = BytesIO()
    make().savefig(file, format="png", dpi=110)
    return file.getvalue()


def draw(points: Sequence[Any], alarms: Sequence[Any], first: int) -> Any:
    """A figure of three rows: accuracy, labels, open questions."""
    with styled():
        figure = blank(9.0, 7.2)
        top, middle, bottom = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": (3.0, 1.4, 1.4)}
        )
        accuracy(top, points, first, [alarm.ticket - first + 1 for alarm in alarms], columns=3)
        labels(middle, points)
        questions(bottom, points)
        bottom.set_xlabel("round")
        for axes in (top, middle, bottom):
            tidy(axes)
    return figure


def tidy(axes: Any) -> None:
    """What all axes have in common."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)


def count_axis(axis: Any, most: int = 6) -> None:
    """Ticks at whole numbers, with separators."""
    ticker = import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(most, integer=True))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def share_axis(axis: Any) -> None:
    """Ticks in percent."""
    axis.set_major_formatter(import_module("matplotlib.ticker").PercentFormatter(1.0, decimals=0))


def legend(axes: Any, columns: int) -> None:
    """A legend above the axes, where it hides nothing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        borderaxespad=0.2, handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip


def accuracy(
    axes: Any, points: Sequence[Any], first: int, alarms: Sequence[int], columns: int
) -> None:
    """Estimated accuracy with its two bands, the true one, and the alarms.

    An estimate stands at the last row that it speaks of: answers that are still out make it lag.
    """
    points = [point for point in points if np.isfinite(point.estimate.value)]
    rounds = np.array([point.estimate.until - first for point in points])
    value = np.array([point.estimate.value for point in points])
    for name, shade, words in (
        ("always", 0.15, "where it is at all times at once, with 95 %"),
        ("estimate", 0.35, "where it is at one moment, with 95 %"),
    ):
        low, high = (np.array([getattr(getattr(p, name), end) for p in points]) for end in _ENDS)
        axes.fill_between(rounds, low, high, color=BAND, alpha=shade, linewidth=0, label=words)
    mark: dict[str, Any] = {"marker": "o", "clip_on": False} if len(points) == 1 else {}
    axes.plot(rounds, value, color=INK, linewidth=1.8, label="estimated from asked labels", **mark)
    truth = np.array([point.truth for point in points])
    axes.plot(rounds, truth, color=TRUTH, linewidth=1.1, linestyle="--", label="true")
    for number, at in enumerate(alarms):
        label = "alarm" if number == 0 else None
        axes.axvline(at, color=ALARM, linewidth=1.2, alpha=0.8, label=label)
    if value.size:
        axes.set_ylim(max(0.0, np.nanmin(np.r_[value, truth]) - 0.15), 1.0)
    axes.set_ylabel("accuracy")
    share_axis(axes.yaxis)
    legend(axes, columns)


def labels(axes: Any, points: Sequence[Any]) -> None:
    """Labels that were asked, against what the budget allows."""
    rounds = [point.round for point in points]
    planned = np.array([point.planned for point in points])
    if np.isfinite(planned).any():
        axes.plot(rounds, planned, color=SOFT, linewidth=3.0, alpha=0.6, label="budget")
    spent, mark = [p.labels for p in points], "o" if len(points) == 1 else ""
    axes.plot(rounds, spent, color=INK, linewidth=1.5, marker=mark, label="asked")
    axes.set_ylabel("labels")
    axes.set_ylim(bottom=0.0)
    count_axis(axes.yaxis)
    legend(axes, 2)


def questions(axes: Any, points: Sequence[Any]) -> None:
    """Open questions, and the age of the oldest on an axis of its own."""
    rounds = [point.round for point in points]
    axes.plot(rounds, [p.open for p in points], color=INK, linewidth=1.5)
    axes.set_ylabel("open questions", color=INK)
    axes.set_ylim(bottom=0.0)
    count_axis(axes.xaxis)
    other = axes.twinx()
    other.plot(rounds, [p.age for p in points], color=ALARM, linewidth=1.0, alpha=0.7)
    other.set_ylabel("age of the oldest", color=ALARM)
    other.set_ylim(bottom=0.0)
    other.spines["top"].set_visible(False)


_ENDS = ("low", "high")
