"""Pictures of the bounds: as the drift grows, and queries and mistakes of LASEC-SS against a."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import SETTINGS, interval, save

Row = dict[str, Any]

LINES = {
    "mistakes": ("mistakes", "#D55E00", "o"),
    "theorem_2": ("Theorem 2, best gamma", "#0072B2", "s"),
    "lemma_7": ("Lemma 7, best gamma", "#7A5195", "D"),
    "lemma_7_fixed": ("Lemma 7, gamma = 1", "#CC79A7", "v"),
    "corollary_8_fixed": ("Corollary 8, gamma = 1 (hollow: not covered)", "#009E73", "^"),
}


def drift_figure(out: Path, rows: Sequence[Row], rounds: int) -> dict[str, float]:
    """Mistakes and bounds as the drift grows, log-log; gives the fitted slopes.

    Points where the corollary does not cover every run are hollow.
    """
    periods = sorted({row["every"] for row in rows}, reverse=True)
    groups = [[row for row in rows if row["every"] == every] for every in periods]
    V = np.array([np.mean([row["V"] for row in group]) for group in groups])
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(5.8, 4.6), layout="constrained")
        axes = figure.subplots()
        slopes = {key: _line(axes, V, groups, key) for key in LINES}
        start = np.mean([row["corollary_8_fixed"] for row in groups[0]])
        guide = 2.0 * start * (V / V[0]) ** (2 / 3)
        axes.plot(V, guide, "--", color="#555555", lw=1, label="the paper's rate: slope 0.67")
        axes.axhline(rounds, color="#999999", lw=1, ls=":")
        axes.annotate(f"T = {rounds:,}", (V[0], 1.2 * rounds), va="bottom", color="#777777")
        axes.set(xscale="log", yscale="log")
        axes.set_xlabel("drift V: sum of squared moves of the target")
        axes.set_ylabel(f"mistakes in {rounds:,} rounds")
        axes.legend(fontsize=7, loc="center", bbox_to_anchor=(0.5, 0.5))  # between the two groups
        save(figure, out / "bounds")
    return slopes


def _line(axes: Axes, V: Any, groups: list[list[Row]], key: str) -> float:
    """One line with its intervals; gives its slope."""
    label, color, marker = LINES[key]
    mean, half = np.array([interval([row[key] for row in group]) for group in groups]).T
    slope = round(float(np.polyfit(np.log(V), np.log(mean), 1)[0]), 4) + 0.0  # and no -0
    text = f"{label}: slope {slope:.2f}"
    axes.errorbar(V, mean, yerr=half, color=color, capsize=2, lw=1.4, label=text,
                  marker=marker, markersize=5)  # fmt: skip
    if key.startswith("corollary"):
        partly = [not all(row["covered"] for row in group) for group in groups]
        axes.plot(V[partly], mean[partly], marker, color=color, mfc="white", markersize=5, zorder=5)
    return slope


def tradeoff_figure(out: Path, rows: Sequence[Row], rounds: int) -> None:
    """Queries and mistakes of LASEC-SS against a."""
    levels = sorted({row["a"] for row in rows})
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(5.6, 3.6), layout="constrained")
        axes = figure.subplots()
        for key, color, marker in (("queries", "#0072B2", "s"), ("mistakes", "#D55E00", "o")):
            groups = [[row[key] / rounds for row in rows if row["a"] == a] for a in levels]
            mean, half = np.array([interval(group) for group in groups]).T
            axes.errorbar(levels, mean, yerr=half, color=color, marker=marker, markersize=5,
                          capsize=2, label=f"{key} / T")  # fmt: skip
        axes.set(xscale="log", ylim=(0.0, 1.03))
        axes.set_xlabel("a, in a / (a + |margin|)")
        axes.set_ylabel("share of the rounds")
        axes.legend(fontsize=8)
        save(figure, out / "bounds_a")
