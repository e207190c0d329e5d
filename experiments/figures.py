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

from experiments.panels import PANELS, Panel

Row = dict[str, Any]

# Colours that the colour-blind can tell apart (after Okabe and Ito); the selective form of an
# algorithm has the colour of the supervised one. A marker tells them apart in print.
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


def style(algorithm: str) -> dict[str, Any]:
    """Colour and marker of an algorithm, the same in every picture; dashed where b = 1."""
    colour, marker = STYLE[algorithm.removesuffix("-SS").removesuffix(" b=1")]
    made = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.4}
    return made | ({"ls": "--", "mfc": "white"} if algorithm.endswith("b=1") else {})


def interval(values: ArrayLike) -> tuple[float, float]:
    """Mean, and half the width of its 95 % confidence interval."""
    sample = np.asarray(values, dtype=float)
    if len(sample) < 2:
        return float(sample.mean()), 0.0
    half = student.ppf(0.975, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
    return float(sample.mean()), float(half)


def draw_panel(axes: Axes, panel: Panel, rows: Sequence[Row], letter: str = "") -> None:
    """One panel: a line an algorithm, with 95 % intervals."""
    for algorithm in panel.algorithms:
        groups: dict[float, list[Row]] = {}
        for row in rows:
            if row["algorithm"] == algorithm:
                groups.setdefault(row[panel.axis], []).append(row)
        points = sorted(groups)
        at = [groups[point] for point in points]
        mean, half = np.array([interval([r["accuracy"] for r in group]) for group in at]).T
        if panel.over_time:
            axes.plot(points, mean, label=algorithm, **style(algorithm), markevery=4)
            axes.fill_between(
                points, mean - half, mean + half, color=style(algorithm)["color"], alpha=0.2, lw=0
            )
        else:
            x = [np.mean([r["achieved_rate"] for r in group]) for group in at]
            axes.errorbar(x, mean, yerr=half, label=algorithm, capsize=2, **style(algorithm))
    axes.set_title(f"{letter} {panel.title}".strip(), fontsize=10, loc="left")
    axes.set_xlabel("examples" if panel.over_time else "share of labels asked")
    axes.set_ylabel("average accuracy")


def one_panel(out: Path, name: str, rows: Sequence[Row]) -> None:
    """A picture of one panel."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        axes = figure.subplots()
        draw_panel(axes, PANELS[name], rows)
        axes.legend(ncols=2, fontsize=8)
        save(figure, out / f"panel_{name}")


def all_panels(out: Path, results: dict[str, list[Row]]) -> None:
    """The six panels of the paper in one picture."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8.4, 10.4), layout="constrained")
        for axes, name in zip(figure.subplots(3, 2).flat, "adbecf", strict=True):
            draw_panel(axes, PANELS[name], results[name], f"({name})")
            if PANELS[name].over_time:  # the others have the same algorithms and colours
                axes.legend(fontsize=7.5, ncols=2, columnspacing=1.0)
        save(figure, out / "panels")


def save(figure: Figure, path: Path) -> None:
    """The picture as SVG and as PNG."""
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"))
