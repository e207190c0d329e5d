"""What labels teach against what they measure: accuracy and widths by audit, over all streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.benchmark.streams import STREAMS
from experiments.figures import SETTINGS, save
from experiments.intervals.widths import DEFAULT, Plan, Row, measure, summary
from experiments.journal import Journal
from experiments.output import write_csv, write_json

RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4]
AUDITS = [0.1, 0.3, DEFAULT, 0.8]
NAMED = 0.02  # the budget whose points say their audit


def hold(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """Run what is missing, write all files, and give the outcome of the default in a sentence."""
    plan = Plan(list(STREAMS), RATES, AUDITS, seeds, size)
    rows = measure(journal, plan)
    write_csv(out / "frontier.csv", rows)
    write_json(out / "frontier.json", plan=plan._asdict())
    (out / "frontier.md").write_text(table(rows))
    picture(out, rows)
    return summary([row for row in rows if row["audit"] == DEFAULT])


def cells_of(rows: list[Row], rate: float, audit: float) -> tuple[list[Row], list[float]]:
    """The streams at one budget and audit, and their widths over those of uniform asking."""
    mine = [row for row in rows if (row["rate"], row["audit"]) == (rate, audit)]
    return mine, [row["width"] / row["uniform width"] for row in mine]


def table(rows: list[Row]) -> str:
    """The mean over the streams, by budget and audit."""
    head = "| budget | audit | width over uniform's | widest | coverage | accuracy over uniform's |"
    lines = [head, "|---:|---:|---:|---|---:|---:|"]
    for rate in RATES:
        for audit in AUDITS:
            mine, ratio = cells_of(rows, rate, audit)
            if not mine:
                continue
            widest = mine[int(np.argmax(ratio))]["stream"]
            gain = np.mean([row["accuracy"] - row["uniform accuracy"] for row in mine])
            coverage = np.mean([row["coverage"] for row in mine])
            lines.append(
                f"| {rate:g} | {audit:g} | {np.mean(ratio):.2f} | {max(ratio):.2f} ({widest}) | "
                f"{coverage:.1%} | {gain:+.4f} |"
            )
    return "\n".join(lines) + "\n"


def picture(out: Path, rows: list[Row]) -> None:
    """A line for each budget, from little audit to much."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.subplots()
        for number, rate in enumerate(RATES):
            shade, points = mpl.colormaps["viridis"](0.05 + 0.17 * number), []
            for audit in AUDITS:
                mine, ratio = cells_of(rows, rate, audit)
                gains = [row["accuracy"] - row["uniform accuracy"] for row in mine]
                points.append((np.mean(ratio), 100 * np.mean(gains)))
                if audit == DEFAULT:
                    axes.plot(*points[-1], marker="o", markersize=9, color=shade)
                if rate == NAMED:
                    words: Any = {"textcoords": "offset points", "fontsize": 8}
                    axes.annotate(f"audit {audit:g}", points[-1], (4, -12), **words)
            axes.plot(*np.array(points).T, marker="o", markersize=4, color=shade, label=f"{rate:g}")
        axes.plot(1.0, 0.0, marker="*", markersize=13, color="#c0392b", linestyle="none")
        axes.annotate("uniform asking", (1.0, 0.0), (10, -3), textcoords="offset points")
        axes.set_xlabel("width of the intervals, relative to uniform asking with as many labels")
        axes.set_ylabel("accuracy over uniform asking, points")
        axes.legend(title="label budget", fontsize=8)
        save(figure, out / "frontier")
