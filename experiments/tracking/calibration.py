"""Whether the Tracker's probabilities mean what they say: reliability and Brier score."""

from __future__ import annotations

from typing import Any

import numpy as np

import lasec
from experiments.benchmark.streams import draw
from experiments.figures import interval
from experiments.journal import Journal, Task

STREAMS = (
    "switch",
    "switch-noise",
    "slow",
    "stationary-noise",
    "usps",
    "elec2",
    "noaa",
    "phishing",
)
RATES = (0.1, 0.4)
BINS = 10


def reliability(stream: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """Rows, mean probability and share of +1 by bins of the probability; Brier score and error."""
    X, y = draw(stream, seed, size)
    records = lasec.Tracker(rate=rate, horizon=len(y), seed=seed).run(X, y)
    p, positive = (1.0 + records.margin) / 2.0, y > 0
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    said, came = (np.bincount(place, v, BINS) for v in (p, positive))
    return {
        "count": count.tolist(),
        "said": said.tolist(),
        "came": came.tolist(),
        "brier": float(np.mean((p - positive) ** 2)),
        "sure": float(np.mean(p * (1.0 - p))),
    }


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each stream, rate and draw."""
    cells = [(s, r, n) for s in STREAMS for r in RATES for n in range(1, seeds + 1)]
    tasks: list[Task] = [(reliability, (*cell, size)) for cell in cells]
    return [
        dict(zip(("stream", "rate", "seed"), cell, strict=True)) | result
        for cell, result in zip(cells, journal.run("calibration", tasks), strict=True)
    ]


def pooled(rows: list[dict[str, Any]], stream: str, rate: float) -> dict[str, np.ndarray]:
    """The bins of all draws together."""
    group = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
    return {key: np.sum([row[key] for row in group], axis=0) for key in ("count", "said", "came")}


def table(rows: list[dict[str, Any]]) -> str:
    """Brier score, the one that the probabilities promise, and the expected calibration error."""
    lines = [
        "| stream | rate | Brier score | promised | calibration error |",
        "|---|---:|---:|---:|---:|",
    ]
    for stream, rate in dict.fromkeys((row["stream"], row["rate"]) for row in rows):
        group = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
        brier, half = interval([row["brier"] for row in group])
        sure, _ = interval([row["sure"] for row in group])
        bins = pooled(rows, stream, rate)
        error = np.abs(bins["said"] - bins["came"]).sum() / bins["count"].sum()
        lines.append(
            f"| {stream} | {rate:g} | {brier:.3f} ± {half:.3f} | {sure:.3f} | {error:.3f} |"
        )
    return "\n".join(lines) + "\n"
