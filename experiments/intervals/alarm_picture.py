"""The picture of the alarms: what is found, and what is raised where nothing has changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import SETTINGS, save

Row = dict[str, Any]

FALSE = {
    "settled": "nothing happens",
    "cold": "learning from nothing",
    "less": "an eighth of the labels\nfrom the middle on",
    "other coin": "harder rows asked\nfrom the middle on",
}
SHADES = {0.05: "#9ecae1", 0.1: "#56B4E9", 0.2: "#0072B2", 0.4: "#08306b"}
OURS, ASKED, WEIGHTED = "#D55E00", "#222222", "#009E73"


def draw(out: Path, rows: Sequence[Row]) -> None:
    """Detectors as lines; switches found, and false alarms in each quiet case."""
    names = list(dict.fromkeys(row["detector"] for row in rows))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(11.0, 4.4), layout="constrained")
        grid = figure.subplots(1, 1 + len(FALSE), sharey=True, width_ratios=[1.9, 1, 1, 1, 1])
        _found(grid[0], [row for row in rows if row["case"] == "switching"], names)
        for axes, (case, title) in zip(grid[1:], FALSE.items(), strict=True):
            _bars(axes, [mean(rows, name, case, "false") for name in names], names)
            axes.set_title(title, fontsize=9, loc="left")
        grid[0].set_yticks(range(len(names)), names)
        grid[0].invert_yaxis()
        for label, name in zip(grid[0].get_yticklabels(), names, strict=True):
            label.set_color(_colour(name))
        grid[1].set_xlabel("false alarms in 100,000 rounds", loc="left")
        save(figure, out / "alarms")


def _found(axes: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    """A dot for each rate and dimension."""
    for dimension, marker in zip(sorted({row["dimension"] for row in rows}), "os", strict=False):
        for rate, shade in SHADES.items():
            mine = {
                row["detector"]: row["soon"]
                for row in rows
                if (row["dimension"], row["rate"]) == (dimension, rate)
            }
            places = np.arange(len(names)) + (-0.14 if marker == "o" else 0.14)
            axes.scatter(
                [mine[name] for name in names], places, color=shade, marker=marker, s=26,
                label=f"{rate:.0%}, d = {dimension}",
            )  # fmt: skip
    axes.set(xlim=(-0.03, 1.03), xticks=[0, 0.25, 0.5, 0.75, 1.0])
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    axes.set_title("switches found within 1,000 rounds", fontsize=9, loc="left")
    axes.legend(
        title="labels asked, features", ncols=2, fontsize=7, title_fontsize=7,
        loc="upper center", bbox_to_anchor=(0.5, -0.09), columnspacing=1.0, handletextpad=0.2,
    )  # fmt: skip


def _bars(axes: Axes, values: Sequence[float], names: Sequence[str]) -> None:
    """A bar for each detector, with its number."""
    axes.barh(range(len(names)), values, color=[_colour(name) for name in names], height=0.6)
    for place, value in enumerate(values):
        axes.annotate(
            f"{value:.1f}" if value else "0", (value, place), (3, 0), textcoords="offset points",
            va="center", fontsize=8, color="#444444",
        )  # fmt: skip
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set(xlim=(0, 400), xticks=[0, 1, 10, 100], xticklabels=["0", "1", "10", "100"])
    axes.grid(visible=False, axis="y")


def mean(rows: Sequence[Row], name: str, case: str, key: str) -> float:
    """What a detector did in a case, mean over rates, dimensions and noises."""
    cells = [row for row in rows if (row["detector"], row["case"]) == (name, case)]
    return float(np.mean([row[key] for row in cells]))


def _colour(name: str) -> str:
    if name.endswith("asked"):
        return ASKED
    return WEIGHTED if name.endswith("weighted") else OURS
