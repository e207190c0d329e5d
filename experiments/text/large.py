"""A long stream of sparse rows: whether the time of a row stays the same, and what memory is for.

Rows have about 100 of 2^24 columns, drawn by Zipf's law (the r-th most frequent with probability
proportional to 1 / (r + 10)) and spread over all columns. The label is the sign of a sum over the
columns that are among the 2^16 most frequent, with some labels wrong. Rows are drawn in chunks,
which no time is counted for; one attempt of a Tracker runs them all, so that no chunk copies the
model.
"""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import lasec
from experiments.output import write_csv, write_json
from lasec.nested import leaves

COLUMNS, WORDS, CHUNK, PARTS = 2**24, 104, 10_000, 10
OFTEN, SHIFT, SPREAD = 2**16, 10.0, 11_400_715  # an odd number: no two ranks share a column
WRONG, RATE = 0.05, 0.1
FLAT = 1.25  # of the time of a row: that of the last tenth to the median of those before
SEEN, LEARNED = 56, 550  # bytes for a column that occurred, and for one in a labeled row
Row = dict[str, Any]


def measure(out: Path, rows: int) -> str:
    """CSV, JSON and a table by tenths of the stream; gives the table."""
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    concept = rng.normal(size=OFTEN)
    tracker = lasec.Tracker(rate=RATE, seed=1)
    tracker.run(*draw(rng, concept, 100))  # compiled before the time is taken
    parts = list[Row]()
    with tracker.attempt(many=True):  # so that no chunk copies the model
        for begin, end in pairwise(np.linspace(0, rows, PARTS + 1).astype(int).tolist()):
            parts.append(_part(tracker, rng, concept, end - begin) | {"rows": end})
            write_csv(out / "large.csv", parts)
    write_json(out / "large.json", rows=rows, columns=COLUMNS, rate=RATE, parts=parts)
    made = f"{table(parts)}\n\n{verdict(parts)}"
    (out / "large.md").write_text(made + "\n")
    return made


def draw(
    rng: np.random.Generator, concept: NDArray[np.float64], rows: int
) -> tuple[Any, NDArray[np.float64]]:
    """Sparse rows and their labels."""
    top = (COLUMNS + SHIFT) / SHIFT
    ranks = (SHIFT * (top ** rng.random((rows, WORDS)) - 1.0)).astype(np.int64)
    score = np.where(ranks < OFTEN, concept[np.minimum(ranks, OFTEN - 1)], 0.0).sum(axis=1)
    y = np.where((score >= 0.0) ^ (rng.random(rows) < WRONG), 1.0, -1.0)
    at = (ranks * SPREAD % COLUMNS).astype(np.int32).ravel()
    starts = np.arange(0, at.size + 1, WORDS, dtype=np.int32)
    X = csr_array((np.ones(at.size), at, starts), shape=(rows, COLUMNS))
    X.sum_duplicates()
    return X, y


def _part(
    tracker: lasec.Tracker, rng: np.random.Generator, concept: NDArray[np.float64], rows: int
) -> Row:
    """A tenth of the stream."""
    spent, pairs, right = 0.0, 0, 0
    for begin in range(0, rows, CHUNK):
        X, y = draw(rng, concept, min(CHUNK, rows - begin))
        before = time.process_time()
        records = tracker.run(X, y)
        spent += time.process_time() - before
        pairs, right = pairs + X.nnz, right + int((~records.mistake).sum())
    seen, learned = tracker.state.columns.used[:2].tolist()
    return {
        "microseconds": round(1e6 * spent / rows, 1), "words": round(pairs / rows, 1),
        "accuracy": round(right / rows, 4), "labels": tracker.told,
        "seen": seen, "learned": learned,
        "state_mb": round(sum(array.nbytes for array in leaves(tracker.state)) / 1e6, 1),
        "used_mb": round((SEEN * seen + LEARNED * learned) / 1e6, 1), "rss_mb": resident(),
    }  # fmt: skip


def resident() -> float:
    """Megabytes of memory that this process has now, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def table(parts: list[Row]) -> str:
    """A line for each tenth of the stream."""
    heads = {
        "rows": "rows", "microseconds": "us a row", "accuracy": "accuracy", "labels": "labels",
        "seen": "columns that occurred", "learned": "in a labeled row", "used_mb": "MB for them",
        "state_mb": "MB reserved", "rss_mb": "MB resident",
    }  # fmt: skip
    lines = [list(heads.values()), ["---:"] * len(heads)]
    lines += [[f"{part[name]:,}" for name in heads] for part in parts]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(parts: list[Row]) -> str:
    """Whether the time of a row is flat, and what the memory comes to for each column."""
    times = [part["microseconds"] for part in parts]
    ratio = times[-1] / float(np.median(times[1:-1]))
    flat = "flat" if ratio <= FLAT else f"not flat (the limit is {FLAT})"
    each = 1e6 * parts[-1]["state_mb"] / parts[-1]["seen"]
    return (
        f"Time of a row: in the last tenth {ratio:.2f} times the median of those before, {flat}; "
        f"at most {max(times):.0f} us. Memory follows the columns, and is not flat while new ones "
        f"come: {each:,.0f} bytes for each that occurred, reserve included."
    )
