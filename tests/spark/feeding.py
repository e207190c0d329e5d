"""Files for the job to read: one of events and one of labels for each batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lasec.spark as ls
from spark.twin import Event, Label

EVENTS = "key string, id string, time double, features binary"
Batches = list[tuple[list[Event], list[Label]]]


def write(folder: Path, batches: Batches, first: int = 0) -> None:
    """One file a batch; Spark takes files by age, so each is a little younger than the last."""
    for what in ("events", "labels"):
        (folder / what).mkdir(parents=True, exist_ok=True)
    for number, (events, labels) in enumerate(batches, start=first):
        rows = [(e.key, e.id, e.time, np.asarray(e.x, float).tobytes()) for e in events]
        table = pd.DataFrame(rows, columns=["key", "id", "time", "features"])
        save(table.astype({"time": float}), folder / "events" / f"{number:05d}.parquet", number)
        told = [(a.key, a.id, a.time, a.y) for a in labels]
        table = pd.DataFrame(told, columns=["key", "id", "time", "y"])
        kinds = {"key": "string", "id": "string", "time": float, "y": np.int32}
        save(table.astype(kinds), folder / "labels" / f"{number:05d}.parquet", number)


def save(table: pd.DataFrame, path: Path, age: int) -> None:
    table.to_parquet(path)
    os.utime(path, (1.7e9 + age, 1.7e9 + age))


def run(spark: Any, job: ls.Job, folder: Path, name: str = "run", **more: Any) -> Any:
    """Serve all files that are not served yet, one of each kind a batch."""
    query = ls.start(
        job,
        ls.directory(spark, str(folder / "events"), EVENTS, per_batch=1),
        ls.directory(spark, str(folder / "labels"), ls.LABELS, per_batch=1),
        out=str(folder / name / "out"),
        checkpoint=str(folder / name / "checkpoint"),
        **more,
    )
    query.awaitTermination()
    return query
