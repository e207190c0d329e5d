"""Adaptive budgets against the usual one at equal labels.

Draws that nothing was chosen by, of the benchmark's streams of 5,000 rows or more, with a horizon
of their length; and long streams, with the usual horizon: concepts that change once in 50,000 rows,
and the first 100,000 rows of the long files, where only the learners' draws differ. At its end an
adaptive run has asked for a few labels more or less: the usual budget gets a rate with which it
asks for as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import lasec
from experiments.benchmark.streams import STREAMS, draw, missing
from experiments.forms.tables import groups, markdown
from experiments.intervals.widths import measured
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from lasec.queries import Budgeted
from lasec.streams import Stream, switching

RATES, DRAWS = (0.01, 0.02, 0.05, 0.1), (26, 27, 28, 29, 30)
LONG_RATES, LONG_DRAWS = (0.02, 0.05), (26, 27)
LONG, FILES = ("rare changes", "rare changes, noise"), ("elec2", "covertype", "kdd")
SHORTEST, HORIZON, LENGTH = 5_000, 10_000, 100_000
CLOSE = 0.002  # of the labels: near enough to equal
EARLY, FLOOR = 500, 0.01  # rows before probabilities are looked at; the share of the lowest

KEPT = ("width", "covered", "windows")

Row = dict[str, Any]


@lru_cache(maxsize=2)
def stream_of(name: str, seed: int, size: float) -> Stream:
    """A draw of the benchmark, or a long stream."""
    kind, _, file = name.partition(" ")
    rows = round(LENGTH * size)
    if kind == "whole":
        return STREAMS[file].draw(rows, 0)
    if name in LONG:
        noise = 0.1 if name.endswith("noise") else 0.0
        return switching(rows, dimension=50, every=rows // 2, noise=noise, seed=seed)
    return draw(name, seed, size)


def adaptive_run(stream: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """An adaptive run and one at equal labels: what came of both."""
    X, y = stream_of(stream, seed, size)
    horizon = len(y) if stream in STREAMS else HORIZON
    query = Budgeted.adaptive(rate, horizon=max(horizon, SHORTEST))
    early = lasec.Tracker(budget=query, seed=seed).run(X, y)
    usual = lasec.Tracker(rate=rate, horizon=horizon, seed=seed).run(X, y)
    if abs(early.labels - usual.labels) > CLOSE * early.labels:
        as_many = rate * early.labels / usual.labels
        usual = lasec.Tracker(rate=as_many, horizon=horizon, seed=seed).run(X, y)
    used = np.cumsum(early.asked) - rate * np.arange(1, len(y) + 1)
    least = np.quantile(early.propensity[round(EARLY * size) :], FLOOR) / (query.audit * rate)
    return {
        "accuracy": round(early.accuracy, 6),
        "usual": round(usual.accuracy, 6),
        "labels": int(early.labels),
        "usual labels": int(usual.labels),
        "cap used": round(float(used.max()) / query.slack, 4),
        "floor": round(float(least), 4),
        **{f"adaptive {k}": round(v, 6) for k, v in measured(early)._asdict().items() if k in KEPT},
        **{f"usual {k}": round(v, 6) for k, v in measured(usual)._asdict().items() if k in KEPT},
    }


def measure(journal: Journal, out: Path, size: float) -> str:
    """Run what is missing, write all files, give the outcome in a line."""
    short = [name for name, source in STREAMS.items() if source.rows >= SHORTEST]
    cells = [(name, rate, seed) for name in short for seed in DRAWS for rate in RATES]
    long = [*LONG, *(f"whole {name}" for name in FILES)]
    cells += [(name, rate, seed) for name in long for seed in LONG_DRAWS for rate in LONG_RATES]
    cells = [cell for cell in cells if _here(cell[0])]
    tasks: list[Task] = [(adaptive_run, (*cell, size)) for cell in cells]
    rows = [
        {"stream": stream, "rate": rate, "seed": seed} | made
        for (stream, rate, seed), made in zip(cells, journal.run("adaptive", tasks), strict=True)
    ]
    write_csv(out / "adaptive.csv", rows)
    write_json(out / "adaptive.json", draws=DRAWS, long=LONG_DRAWS, horizon=HORIZON)
    (out / "adaptive.md").write_text(document(rows))
    return summary(rows)


def _here(name: str) -> bool:
    file = name.removeprefix("whole ")
    return file in LONG or missing(file) is None


def gains(rows: Sequence[Row]) -> list[float]:
    """Accuracy with it less that without, of each run."""
    return [row["accuracy"] - row["usual"] for row in rows]


def said(found: Sequence[float]) -> str:
    """Mean and standard error, in thousandths."""
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return f"{1e3 * np.mean(found):+.1f} ± {1e3 * error:.1f}"


def document(rows: Sequence[Row]) -> str:
    """A line a stream: the gain at each budget, the width of intervals, the cap and the floor."""
    head = ["stream", *(f"{100 * rate:g} %" for rate in RATES), "width", "cap used", "least chance"]
    lines = []
    for (stream,), mine in groups(rows, "stream"):
        at = [[row for row in mine if row["rate"] == rate] for rate in RATES]
        lines.append(
            [
                stream,
                *(said(gains(cell)) if cell else "" for cell in at),
                f"{np.mean([row['adaptive width'] / row['usual width'] for row in mine]):.2f}",
                f"{max(row['cap used'] for row in mine):.0%}",
                f"{min(row['floor'] for row in mine):.2f}",
            ]
        )
    return f"**{summary(rows)}**\n\n{markdown(head, lines)}"


def summary(rows: Sequence[Row]) -> str:
    """The mean, the worst cell, labels and coverage."""
    cells = [(cell, float(np.mean(gains(mine)))) for cell, mine in groups(rows, "stream", "rate")]
    (stream, rate), worst = min(cells, key=lambda cell: cell[1])
    lower = sum(gain < -0.003 for _, gain in cells)
    labels = sum(row["labels"] for row in rows) / sum(row["usual labels"] for row in rows)
    covered, windows = (sum(row[f"adaptive {k}"] for row in rows) for k in ("covered", "windows"))
    mean = 1e3 * np.mean([gain for _, gain in cells])
    return (
        f"{len(cells)} cells at equal labels ({labels:.4f}): {mean:+.1f} thousandths on average, "
        f"below -3 in {lower}, worst {1e3 * worst:+.1f} ({stream} at {100 * rate:g} %); "
        f"intervals cover in {covered / windows:.1%} of {windows} windows"
    )
