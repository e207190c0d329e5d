"""The picture: a panel a stream, mistakes against the share of labels, both on log scales."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from experiments.figures import SETTINGS, save
from experiments.real import KNOWN
from experiments.whole.learners import LEARNERS
from experiments.whole.sources import SOURCES
from experiments.whole.tables import Cells, Row, cells, mean

# Colours that the colour-blind can tell apart (after Okabe and Ito), markers for print.
STYLE: dict[str, dict[str, Any]] = {
    "tracker": {"color": "#D55E00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "uniform": {"color": "#E69F00", "marker": "v"},
    "lasec-ss": {"color": "#0072B2", "marker": "s"},
    "sop-ss": {"color": "#56B4E9", "marker": "D"},
    "perceptron-ss": {"color": "#222222", "marker": "^"},
    "river": {"color": "#CC79A7", "marker": "P", "ls": "--"},
    "river-tuned": {"color": "#CC79A7", "marker": "P"},
    "last-asked": {"color": "#009E73", "marker": "x", "ls": "--"},
    "previous": {"color": "#888888", "ls": "--", "zorder": 1},
    "constant": {"color": "#888888", "ls": ":", "zorder": 1},
}


FAR = 4.0


def picture(out: Path, rows: Sequence[Row]) -> None:
    """A panel a stream, the legend in the last, as ``streams.svg`` and ``streams.png``."""
    found = cells(rows)
    streams = list(dict.fromkeys(stream for stream, _, _ in found))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(9.6, 5.8), layout="constrained")
        panels = list(figure.subplots(2, 3).flat)
        for axes, stream in zip(panels, streams, strict=False):
            _panel(axes, found, stream)
        for axes in panels[len(streams) :]:
            axes.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        panels[-1].legend(handles, labels, loc="center", fontsize=9)
        figure.supxlabel("share of labels asked")
        figure.supylabel("share of mistakes over the whole stream")
        save(figure, out / "streams")


def _panel(axes: Axes, found: Cells, stream: str) -> None:
    """One stream: a line a learner."""
    highest: dict[str, float] = {}
    for name, style in STYLE.items():
        at = sorted(rate for s, learner, rate in found if (s, learner) == (stream, name))
        if not at:
            continue
        values = [1.0 - mean(found[stream, name, rate]) for rate in at]
        axes.plot(at, values, label=LEARNERS[name].title, **({"markersize": 4.5} | style))
        highest[name] = max(values)
    axes.set_title(
        f"{SOURCES[stream].title} ({KNOWN[stream].rows:,} rows)", fontsize=10, loc="left"
    )
    axes.set(xscale="log", yscale="log")
    worst = max(value for name, value in highest.items() if name != "constant")
    if highest["constant"] > FAR * worst:  # it would press all others together
        axes.set_ylim(top=1.3 * worst)
    ticks = sorted({rate for s, _, rate in found if s == stream})
    axes.set_xticks(ticks, [f"{rate:g}" for rate in ticks])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
