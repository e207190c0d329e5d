"""The same money for prediction-powered inference: the judge says something of each row.

PPI++ (Angelopoulos, Duchi and Zrnic, 2023; the package ppi-python) estimates a mean from a few true
values, and guesses for all rows. Here the value is whether the prediction is right, and the guess
whether the judge agrees with it. With 3 a row and experts at 50, the judge takes 1 for every row,
and experts see two in fifty, drawn evenly. The rows and answers are those of the drawn streams.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.intervals.ppi import package
from experiments.output import write_csv
from experiments.prices.runs import PRICE
from experiments.prices.simulated import JUDGES, ROWS, Row, stream

MONEY = 3.0


def measure(out: Path, streams: int) -> str:
    """A table of all judges."""
    every = JUDGES[1:]
    rows = [{"judge": judge, "seed": s, **powered(judge, s)}
            for judge in every for s in range(streams)]  # fmt: skip
    write_csv(out / "powered.csv", rows)
    lines = ["| judge | width, PPI++ | covers | experts asked |", "|---|---:|---:|---:|"]
    for judge in every:
        some = [row for row in rows if row["judge"] == judge]
        width, covers, experts = (
            float(np.mean([row[name] for row in some])) for name in ("width", "covers", "experts")
        )
        lines.append(f"| {judge} | {width:.3f} | {covers:.3f} | {experts:.0f} |")
    text = "\n".join(lines) + "\n"
    (out / "powered.md").write_text(text)
    return text


def powered(judge: str, seed: int) -> Row:
    """The interval of one stream, its width, and whether it covers."""
    _, said, true, answers = stream(judge, 2, seed)
    asked = np.random.default_rng([seed, 11]).random(ROWS) < (MONEY - 1.0) / PRICE
    right, agreed = (said == true).astype(float), (said == answers).astype(float)
    low, high = package().ppi_mean_ci(right[asked], agreed[asked], agreed[~asked], alpha=0.05)
    ends = max(0.0, float(np.squeeze(low))), min(1.0, float(np.squeeze(high)))
    return {
        "width": round(ends[1] - ends[0], 5),
        "covers": int(ends[0] <= right.mean() <= ends[1]),
        "experts": int(asked.sum()),
    }
