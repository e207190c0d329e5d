"""Runs of all ways to read each table, and the tables of what they find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.journal import Journal, Task
from experiments.mixed.learners import BOTH, WAYS, coded, run
from experiments.mixed.streams import STREAMS, UNSEEN
from experiments.output import write_csv, write_json

RATES = (0.05, 0.1, 0.3)
Row = dict[str, Any]


def one(stream: str, way: str, rate: float, seed: int, size: float) -> Row:
    """One run."""
    done, rows = run(stream, way, rate, seed, size), coded(stream, way, size)
    dense = rows.X.shape[1] if isinstance(rows.X, np.ndarray) else rows.dense
    stored = 0 if isinstance(rows.X, np.ndarray) else rows.X[:, dense:].nnz
    return {
        "accuracy": round(float(done.right.mean()), 5),
        "labels": done.labels,
        "microseconds": round(done.microseconds, 1),
        "dense": dense,
        "words": round(stored / rows.X.shape[0], 1),
    }


def measure(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """CSV, JSON and tables; gives the tables."""
    asked = [
        (stream, way, rate, seed, size)
        for stream in STREAMS
        for way in WAYS
        for rate in RATES
        for seed in range(1, seeds + 1)
    ]
    tasks: list[Task] = [(one, cell) for cell in asked]
    keys = ("stream", "way", "rate", "seed")
    rows = [
        dict(zip(keys, cell, strict=False)) | result
        for cell, result in zip(asked, journal.run("mixed", tasks), strict=True)
    ]
    write_csv(out / "mixed.csv", rows)
    write_json(out / "mixed.json", seeds=seeds, size=size, means=means(rows))
    made = "\n".join([table(rows), "", times(rows)])
    (out / "mixed.md").write_text(made + "\n")
    return made


def means(rows: list[Row]) -> list[Row]:
    """Mean and standard error over the seeds of each stream, way and rate."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["stream"], row["way"], row["rate"]), []).append(row)
    return [
        {
            "stream": stream,
            "way": way,
            "rate": rate,
            "accuracy": round(float(np.mean([row["accuracy"] for row in some])), 4),
            "error": round(_error([row["accuracy"] for row in some]), 4),
            "labels": round(float(np.mean([row["labels"] for row in some])), 1),
            "microseconds": round(min(row["microseconds"] for row in some), 1),
            "dense": some[0]["dense"],
            "words": some[0]["words"],
        }
        for (stream, way, rate), some in groups.items()
    ]


def table(rows: list[Row]) -> str:
    """Accuracy with its standard error: a line for each stream and way, a column for each rate."""
    found = {(m["stream"], m["way"], m["rate"]): m for m in means(rows)}
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    lines = [
        ["stream", "columns", *(f"{100 * rate:g} %" for rate in rates)],
        ["---", "---", *["---:"] * len(rates)],
    ]
    for stream, way in dict.fromkeys((row["stream"], row["way"]) for row in rows):
        cells = [found[stream, way, rate] for rate in rates]
        mark = " (unseen)" if stream in UNSEEN else ""
        shown = [f"{cell['accuracy']:.3f} ± {cell['error']:.3f}" for cell in cells]
        lines.append([stream + mark, way, *shown])
    return _lines(lines)


def times(rows: list[Row]) -> str:
    """CPU microseconds a row at 10 % of the labels, the least over the seeds."""
    found = {(m["stream"], m["way"]): m for m in means(rows) if m["rate"] == 0.1}
    streams = list(dict.fromkeys(stream for stream, _ in found))
    sizes = [found[stream, BOTH] for stream in streams]
    lines = [
        ["microseconds a row", *streams],
        ["---", *["---:"] * len(streams)],
        ["dense columns; words a row", *(f"{m['dense']}; {m['words']:.0f}" for m in sizes)],
    ]
    for way in dict.fromkeys(way for _, way in found):
        cells = (found[stream, way]["microseconds"] for stream in streams)
        lines.append([way, *(f"{cell:.0f}" for cell in cells)])
    return _lines(lines)


def _lines(cells: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
