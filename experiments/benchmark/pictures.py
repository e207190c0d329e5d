"""The picture: a panel a stream, accuracy against the share of labels.

Where a learner asked for too many labels to be compared, its line has no point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.benchmark.learners import LEARNERS
from experiments.benchmark.tables import OURS, Cells, Result, Row, best_peer, cells
from experiments.figures import SETTINGS, interval, save

COLUMNS = 5
CLOSE = 0.02  # a rate whose label would touch the next
PEERS = 3  # how many of the best on the whole are drawn
BEST = "best tuned peer on the same budget"

# Colours that the colour-blind can tell apart (after Okabe and Ito), markers for print.
FIXED: dict[str, dict[str, Any]] = {
    OURS: {"color": "#D55E00", "marker": "o", "linewidth": 2.6, "markersize": 5.5, "zorder": 5},
    "lasec-ss": {"color": "#0072B2", "marker": "s"},
    "persistence": {"color": "#888888", "ls": "--", "marker": "", "zorder": 1},
    "majority": {"color": "#888888", "ls": ":", "marker": "", "zorder": 1},
}
OTHERS = (("#009E73", "D"), ("#CC79A7", "^"), ("#E69F00", "v"))


def styles(found: Cells) -> dict[str, dict[str, Any]]:
    """Who is drawn, and how: ours, LASEC-SS, the best of the others on the whole, baselines."""
    present = dict.fromkeys(name for cell in found.values() for name in cell)
    others = [
        name for name in present if LEARNERS[name].family in ("paper", "peer") and name not in FIXED
    ]
    best = sorted(others, key=lambda name: _behind(found, name))[:PEERS]
    drawn = {name: FIXED[name] for name in FIXED if name in present}
    for name, (colour, marker) in zip(best, OTHERS, strict=False):
        drawn[name] = {"color": colour, "marker": marker}
    return {name: {"linewidth": 1.3, "markersize": 4.0} | style for name, style in drawn.items()}


def _behind(found: Cells, name: str) -> float:
    """By how much a learner is behind the best of its cell, on average; more where it overspent."""
    gaps = []
    for cell in found.values():
        best = max(float(result.accuracy.mean()) for result in cell.values())
        own = cell.get(name)
        within = own is not None and not own.overspent
        gaps.append(best - float(own.accuracy.mean()) if own is not None and within else 0.1)
    return float(np.mean(gaps))


def picture(out: Path, rows: Sequence[Row]) -> None:
    """Small multiples with one legend, as ``benchmark.svg`` and ``benchmark.png``."""
    found = cells(rows)
    streams = list(dict.fromkeys(stream for stream, _ in found))
    columns = min(COLUMNS, len(streams))
    lines = math.ceil(len(streams) / columns)
    with mpl.rc_context(SETTINGS):
        size = (max(5.6, 2.7 * columns), 2.4 * lines + 0.9)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False)
        drawn = styles(found)
        for axes, stream in zip(panels.flat, streams, strict=False):
            _panel(axes, found, stream, drawn)
        for axes in list(panels.flat)[len(streams) :]:
            axes.set_visible(False)
        figure.supxlabel("share of labels asked")
        figure.supylabel("average accuracy")
        handles, labels = panels.flat[0].get_legend_handles_labels()
        shown = dict(zip(labels, handles, strict=True))
        order = [name for name in (*drawn, BEST) if name in shown]
        columns = min(len(order), 8 if columns > 3 else 3)
        figure.legend([shown[n] for n in order], order, loc="outside upper center", ncols=columns)
        save(figure, out / "benchmark")


def _shown(result: Result | None) -> bool:
    """Whether it ran, and within the budget."""
    return result is not None and not result.overspent


def _level(cell: dict[str, Result], name: str) -> float:
    """A learner's mean accuracy; with fewer draws than ours, by the difference in those."""
    if OURS not in cell:
        return float(cell[name].accuracy.mean())
    return float(cell[OURS].accuracy.mean() - cell[OURS].less(cell[name]).mean())


def _panel(axes: Axes, found: Cells, stream: str, drawn: dict[str, dict[str, Any]]) -> None:
    """One stream: a line a learner, with intervals, and the best peer at each rate."""
    rates = sorted(rate for name, rate in found if name == stream)
    levels: list[float] = []
    for name, style in drawn.items():
        at = [rate for rate in rates if _shown(found[stream, rate].get(name))]
        values = [interval(found[stream, rate][name].accuracy) for rate in at]
        mean, half = np.array(values).reshape(-1, 2).T
        bars = half if LEARNERS[name].family != "baseline" else None
        axes.errorbar(at, mean, yerr=bars, label=name, elinewidth=0.8, **style)
        levels += mean.tolist()
    best = {rate: best_peer(found[stream, rate], True) for rate in rates}
    top = {rate: _level(found[stream, rate], name) for rate, name in best.items() if name}
    axes.plot(list(top), list(top.values()), color="#222222", lw=1.0, label=BEST, zorder=4)
    levels += top.values()
    low, high = min(levels), max(levels)
    pad = 0.07 * (high - low) + 0.003
    axes.set_ylim(low - pad, high + pad)  # by the means: a wide interval may leave the panel
    axes.set_title(stream, fontsize=10, loc="left")
    axes.set_xscale("log")
    axes.set_xticks(rates, [f"{rate:g}" if rate != CLOSE else "" for rate in rates])
    axes.minorticks_off()
