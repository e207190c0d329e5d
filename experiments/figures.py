"""The pictures: SVG for the page, PNG for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.stats import t as student

from experiments.panels import Panel
from experiments.protocols import TITLES

Row = dict[str, Any]

# Colors that the color-blind can tell apart (after Okabe and Ito); the selective form of an
# algorithm has the color of the supervised one. A marker tells them apart in print.
STYLE = {
    "LASEC": ("#D55E00", "o"),
    "SOP": ("#0072B2", "s"),
    "Perceptron": ("#222222", "^"),
    "Shifting": ("#56B4E9", "v"),
    "Modified": ("#009E73", "D"),
    "RBP": ("#CC79A7", "P"),
    "BBQ": ("#E69F00", "X"),
    "BBQ-I": ("#7A5195", "d"),
}
OWN = (("#B30059", "*"), ("#5B8C00", "h"), ("#8C564B", "p"))  # methods of one's own, in turn
SETTINGS: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "lasec",
    "svg.fonttype": "path",
}


def style(algorithm: str, place: int = 0) -> dict[str, Any]:
    """Color and marker of an algorithm, the same in every picture; dashed for a second form."""
    name, _, second = algorithm.partition(" (")
    color, marker = STYLE.get(name.removesuffix("-SS"), OWN[place % len(OWN)])
    made = {"color": color, "marker": marker, "markersize": 4.5, "linewidth": 1.4}
    return made | ({"ls": "--", "mfc": "white"} if second else {})


def interval(values: ArrayLike, comparisons: int = 1) -> tuple[float, float]:
    """Mean, and half the width of its 95 % confidence interval.

    With several ``comparisons`` all their intervals hold at once with 95 % (Bonferroni).
    """
    sample = np.asarray(values, dtype=float)
    if len(sample) < 2:
        return float(sample.mean()), 0.0
    quantile = student.ppf(1.0 - 0.025 / comparisons, len(sample) - 1)
    return float(sample.mean()), float(quantile * sample.std(ddof=1) / np.sqrt(len(sample)))


def draw_panel(axes: Axes, panel: Panel, rows: Sequence[Row], title: str) -> None:
    """Rows of one protocol: a line for each algorithm, with 95 % intervals."""
    for place, algorithm in enumerate(dict.fromkeys(row["algorithm"] for row in rows)):
        groups: dict[float, list[Row]] = {}
        for row in rows:
            if row["algorithm"] == algorithm:
                groups.setdefault(row[panel.axis], []).append(row)
        points = sorted(groups)
        at = [groups[point] for point in points]
        mean, half = np.array([interval([r["accuracy"] for r in group]) for group in at]).T
        look = style(algorithm, place)
        if panel.over_time:
            axes.plot(points, mean, label=algorithm, **look, markevery=4)
            axes.fill_between(
                points, mean - half, mean + half, color=look["color"], alpha=0.2, lw=0
            )
        else:
            x = [np.mean([r["achieved_rate"] for r in group]) for group in at]
            axes.errorbar(x, mean, yerr=half, label=algorithm, capsize=2, **look)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel("examples" if panel.over_time else "query rate")
    axes.set_ylabel("average accuracy")


def one_panel(out: Path, name: str, panel: Panel, rows: Sequence[Row]) -> None:
    """A picture of one panel: its protocols side by side."""
    count = len(panel.protocols)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(5.6 if count == 1 else 9.0, 3.8), layout="constrained")
        grid = figure.subplots(1, count, sharey=True, squeeze=False)[0]
        _draw_protocols(list(grid), panel, rows, "")
        grid[0].legend(ncols=2, fontsize=8)
        save(figure, out / f"panel_{name}")


def all_panels(out: Path, panels: dict[str, Panel], results: dict[str, list[Row]]) -> None:
    """The six panels of the paper in one picture: a and d, then a row for each of the others."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8.4, 15.6), layout="constrained")
        places = list(figure.subplots(5, 2).flat)
        for axes, name in zip(places[:2], "ad", strict=True):
            _draw_protocols([axes], panels[name], results[name], f"({name}) ")
        for row, name in enumerate("becf", start=1):
            pair = places[2 * row : 2 * row + 2]
            _draw_protocols(pair, panels[name], results[name], f"({name}) ")
            pair[1].sharey(pair[0])
        for axes in (places[0], places[2]):  # for all panels of the same algorithms
            axes.legend(fontsize=7.5, ncols=2, columnspacing=1.0)
        save(figure, out / "panels")


def _draw_protocols(places: list[Axes], panel: Panel, rows: Sequence[Row], letter: str) -> None:
    for axes, protocol in zip(places, panel.protocols, strict=True):
        chosen = [row for row in rows if row["protocol"] == protocol]
        words = f", {TITLES[protocol]}" if len(panel.protocols) > 1 else ""
        draw_panel(axes, panel, chosen, f"{letter}{panel.title}{words}")


def save(figure: Figure, path: Path) -> None:
    """The picture as SVG and as PNG."""
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"))
