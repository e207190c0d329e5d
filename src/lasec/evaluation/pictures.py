"""How a run went, as a picture. matplotlib is loaded only when something is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np

INK, BAND, TRUTH, ALARM, SOFT = "#1f4e79", "#4a90c4", "#222222", "#c0392b", "#8a8a8a"


def drawable() -> bool:
    """Whether there is a matplotlib to draw with."""
    return find_spec("matplotlib") is not None


def png(make: Callable[[], Any]) -> bytes:
    """The figure that ``make`` makes, as a PNG file."""
    file = BytesIO()
    make().savefig(file, format="png", dpi=110)
    return file.getvalue()


def draw(points: Sequence[Any], alarms: Sequence[Any], first: int) -> Any:
    """A figure of three rows: accuracy, labels, open questions."""
    if not drawable():
        raise ImportError("drawing needs matplotlib: install lasec[plot]")
    figure = import_module("matplotlib.figure").Figure(figsize=(9.0, 7.2), layout="constrained")
    top, middle, bottom = figure.subplots(
        3, 1, sharex=True, gridspec_kw={"height_ratios": (3.0, 1.4, 1.4)}
    )
    rounds = np.array([point.round for point in points])
    known = [point for point in points if np.isfinite(point.estimate.value)]
    _accuracy(top, known, first, [alarm.ticket - first + 1 for alarm in alarms])
    _labels(middle, rounds, points)
    _questions(bottom, rounds, points)
    for axes in (top, middle, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.margins(x=0.01)
    return figure


def _accuracy(axes: Any, points: Sequence[Any], first: int, alarms: list[int]) -> None:
    """Estimated accuracy with its two bands, the true one, and the alarms.

    An estimate stands at the last round that it speaks of: answers that are still out make it lag.
    """
    rounds = np.array([point.estimate.until - first for point in points])
    value = np.array([point.estimate.value for point in points])
    for name, shade, words in (
        ("always", 0.15, "where it is at all times at once, with 95 %"),
        ("estimate", 0.35, "where it is at one moment, with 95 %"),
    ):
        low, high = (np.array([getattr(getattr(p, name), end) for p in points]) for end in _ENDS)
        axes.fill_between(rounds, low, high, color=BAND, alpha=shade, linewidth=0, label=words)
    axes.plot(rounds, value, color=INK, linewidth=1.8, label="estimated from the asked labels")
    truth = np.array([point.truth for point in points])
    axes.plot(rounds, truth, color=TRUTH, linewidth=1.1, linestyle="--", label="true")
    for number, at in enumerate(alarms):
        label = "alarm" if number == 0 else None
        axes.axvline(at, color=ALARM, linewidth=1.2, alpha=0.8, label=label)
    if value.size:
        axes.set_ylim(max(0.0, np.r_[value, truth].min() - 0.15), 1.0)
    axes.set_ylabel("accuracy")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False)


def _labels(axes: Any, rounds: Any, points: Sequence[Any]) -> None:
    """Labels that were asked, against what the budget allows."""
    planned = np.array([point.planned for point in points])
    if np.isfinite(planned).any():
        axes.plot(rounds, planned, color=SOFT, linewidth=3.0, alpha=0.6, label="budget")
    axes.plot(rounds, [p.labels for p in points], color=INK, linewidth=1.5, label="asked")
    axes.set_ylabel("labels")
    axes.set_ylim(bottom=0.0)
    axes.legend(loc="upper left", ncols=2, fontsize=8, frameon=False)


def _questions(axes: Any, rounds: Any, points: Sequence[Any]) -> None:
    """Open questions, and the age of the oldest on an axis of its own."""
    axes.plot(rounds, [p.open for p in points], color=INK, linewidth=1.5)
    axes.set_ylabel("open questions", color=INK)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("round")
    other = axes.twinx()
    other.plot(rounds, [p.age for p in points], color=ALARM, linewidth=1.0, alpha=0.7)
    other.set_ylabel("age of the oldest", color=ALARM)
    other.set_ylim(bottom=0.0)
    other.spines["top"].set_visible(False)


_ENDS = ("low", "high")
