"""The pictures: what is believed against what is true, and whether probabilities are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.benchmark.streams import draw
from experiments.figures import SETTINGS, interval, save
from experiments.tracking.belief import RATES, watch
from experiments.tracking.calibration import pooled

COLOURS = {0.1: ("#0072B2", "s"), 0.4: ("#D55E00", "o"), 1.0: ("#009E73", "D")}


def beliefs(out: Path, found: dict[str, list[dict[str, Any]]], size: float) -> None:
    """One stream watched, delays of all switches, and slow drift recovered."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(9.6, 6.4), layout="constrained")
        top, below = np.asarray(figure.subfigures(2, 1, height_ratios=[1.15, 1.0]))
        _timeline(top.subplots(), size)
        left, right = below.subplots(1, 2)
        _delays(left, [row for row in found["switches"] if row["stream"] == "switch"])
        _drifts(right, found["drift"])
        save(figure, out / "belief")


def _timeline(axes: Axes, size: float) -> None:
    """The estimated start of the present concept, over the rows."""
    rows = draw("switch", 1, size)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(rows.concept)) + 1])
    truth = begins[np.searchsorted(begins, np.arange(len(rows.y)), side="right") - 1]
    axes.plot(np.arange(len(truth)), truth, color="#222222", lw=3.5, alpha=0.3, label="truth")
    for rate in (0.1, 0.4):
        seen = watch(rows, rate, 1)
        at = [belief["round"] for belief in seen]
        since = [belief["since"] for belief in seen]
        axes.plot(
            at, since, color=COLOURS[rate][0], lw=1.3, label=f"Tracker, {rate:.0%} of the labels"
        )
    axes.set_title("When the present concept began: believed, and true", fontsize=10, loc="left")
    axes.set_xlabel("round")
    axes.set_ylabel("round of the last change")
    axes.legend()


def _delays(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """The share of switches found within so many rows."""
    for rate in RATES:
        group = [row for row in rows if row["rate"] == rate]
        delays = np.sort([delay for row in group for delay in row["delays"]])
        total = len(delays) + sum(row["missed"] for row in group)
        share = np.arange(1, len(delays) + 1) / max(1, total)
        axes.step(delays, share, where="post", color=COLOURS[rate][0], label=f"{rate:.0%} asked")
    axes.set(xlim=(0, None), ylim=(0, 1.02))
    axes.set_title("Switches found", fontsize=10, loc="left")
    axes.set_xlabel("rounds after the switch")
    axes.set_ylabel("share of switches found")
    axes.legend(loc="center right")


def _drifts(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """Estimated drift per row against the true one."""
    truths = sorted({row["truth"] for row in rows})
    for rate in RATES:
        colour, marker = COLOURS[rate]
        groups = [
            [r["drift"] for r in rows if (r["truth"], r["rate"]) == (truth, rate)]
            for truth in truths
        ]
        mean, half = np.array([interval(group) for group in groups]).T
        axes.errorbar(
            truths, mean, yerr=half, color=colour, marker=marker, ms=4.5, capsize=2,
            label=f"{rate:.0%} asked",
        )  # fmt: skip
    axes.plot([0, max(truths)], [0, max(truths)], color="#222222", lw=3.5, alpha=0.3, label="truth")
    axes.axhline(0.01, color="#999999", lw=1, ls=":")
    axes.annotate("fastest hypothesis", (0, 0.01), va="bottom", color="#777777", fontsize=8)
    axes.set_title("Slow drift, share of the concept replaced in a round", fontsize=10, loc="left")
    axes.set_xlabel("true")
    axes.set_ylabel("believed")
    axes.legend(fontsize=8)


def reliability(out: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A reliability curve for each stream and rate."""
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(9.6, 5.0), layout="constrained")
        grid = figure.subplots(2, 4, sharex=True, sharey=True)
        for axes, stream in zip(grid.flat, streams, strict=True):
            axes.plot([0, 1], [0, 1], color="#222222", lw=3.0, alpha=0.25)
            for rate in dict.fromkeys(row["rate"] for row in rows):
                bins = pooled(list(rows), stream, rate)
                full = bins["count"] >= 20
                colour, marker = COLOURS[rate]
                axes.plot(
                    bins["said"][full] / bins["count"][full],
                    bins["came"][full] / bins["count"][full],
                    color=colour, marker=marker, ms=4, lw=1.3, label=f"{rate:.0%} asked",
                )  # fmt: skip
            axes.set_title(stream, fontsize=10, loc="left")
            axes.set_aspect("equal")
        grid[0, 0].legend(fontsize=8, loc="upper left")
        figure.supxlabel("probability of +1 that was given")
        figure.supylabel("share of +1 that came")
        save(figure, out / "calibration")
