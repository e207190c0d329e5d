"""An input for the job in which everything happens: the same for every run, made from a seed.

Every key has one event in each file, and ids and times are shared between keys, so that nothing but
the job itself can bring the rows of a batch into one order. Labels come for asked and for unasked
events, at once, later, twice, too late, before their event, or without one; some rows are unfit.
After the last labels a few batches bring every label to its end, also those that are held.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BEGIN = 1.6e9  # the first event, in seconds since 1970
SPAN = 100_000.0  # the event time of one batch: the machine's clock stands still against it
MAX_AGE, PATIENCE = 6.5 * SPAN, 2.5 * SPAN
LATE = 8  # batches after its event that a late label comes
FILES = 2  # of events, and of labels, in each batch
SETTLING, SILENT = 8, 4  # batches at the end whose events have no labels; and without any labels
# What becomes of an event's label, and how often; the rest is never labelled.
FATES = {"same": 0.2, "next": 0.15, "twice": 0.1, "late": 0.05, "early": 0.05, "orphan": 0.03}


@dataclass(frozen=True)
class Feed:
    """How large the input is."""

    batches: int
    keys: int = 300
    dimension: int = 10
    seed: int = 0


def make(feed: Feed, where: Path) -> None:
    """Write the files of events and of labels, each a little younger than the one before."""
    rng = np.random.default_rng(feed.seed)
    truth = rng.standard_normal((feed.keys, feed.dimension))
    labels: list[list[tuple[Any, ...]]] = [[] for _ in range(feed.batches + LATE + 1)]
    for name in ("events", "labels"):
        (where / name).mkdir(parents=True)
    for batch in range(feed.batches):
        for part in range(FILES):
            keys, ids, times, X = _events(feed, rng, batch, part)
            y = np.where((X * truth[keys]).sum(1) > 0, 1, -1)
            if batch < feed.batches - SETTLING:
                _labels(rng, labels, batch, list(zip(keys, ids, times, y, strict=True)))
            _spoil(rng, X)
            frame = pd.DataFrame({"key": [f"tenant {key}" for key in keys], "id": ids})
            frame["time"], frame["features"] = times, list(X)
            write(frame, where / "events", batch * FILES + part)
    for batch in range(feed.batches):
        rows = labels[batch] if batch < feed.batches - SILENT else []
        for part in range(FILES):
            write(_table(rows[part::FILES]), where / "labels", batch * FILES + part)


def _events(feed: Feed, rng: np.random.Generator, batch: int, part: int) -> tuple[Any, ...]:
    """One event of each key; three keys share each id and time, and a few ids come again."""
    places = np.arange(feed.keys) // 3
    ids = [f"{batch}-{part}-{place}" for place in places.tolist()]
    if batch and part:
        ids[:3] = [f"{batch - 1}-{part}-0"] * 3
    times = BEGIN + SPAN * (batch + (places + 0.5) / feed.keys)
    X = rng.standard_normal((feed.keys, feed.dimension))
    keys = np.arange(feed.keys) if part == 0 else np.roll(np.arange(feed.keys), batch)
    return keys, ids, times, X


def _labels(
    rng: np.random.Generator, labels: list[list[tuple[Any, ...]]], batch: int, events: list[Any]
) -> None:
    """Labels for some of these events, put where their batch is."""
    fates = rng.choice([*FATES, "none"], len(events), p=[*FATES.values(), 1 - sum(FATES.values())])
    for (key, name, time, y), fate in zip(events, fates.tolist(), strict=True):
        delays = {"same": [0], "next": [1], "twice": [0, 1], "late": [LATE], "early": [-1]}
        for delay in delays.get(fate, [0] if fate == "orphan" else []):
            if batch + delay < 0:
                continue
            when = time + SPAN * delay + 10.0
            wanted = name if fate != "orphan" else f"{name} of nobody"
            labels[batch + delay].append((f"tenant {key}", wanted, None, when, y))
    if batch % 7 == 0:
        labels[batch].append(("tenant 0", f"{batch}", None, BEGIN + SPAN * batch, 0))


def _spoil(rng: np.random.Generator, X: Any) -> None:
    """Now and then a row that nothing can be done with."""
    if rng.random() < 0.3:
        X[rng.integers(len(X)), 0] = np.nan


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    kinds = {"key": "string", "id": "string", "ticket": "string", "time": "float64", "y": "int32"}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def write(frame: pd.DataFrame, where: Path, number: int) -> None:
    """One file of events or labels; Spark takes files in the order of their times of change."""
    path = where / f"{number:06d}.parquet"
    frame.to_parquet(path, index=False)
    os.utime(path, (BEGIN + number, BEGIN + number))
