"""A small job on files, for tests: events and labels by batch, and what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lasec
import lasec.spark

DIMENSION, KEYS, ROWS = 3, 6, 60
EVENTS = "key string, id string, time double, features binary"
LABELS = "key string, id string, time double, y int"


def job(**options: Any) -> lasec.spark.Job:
    """A job whose labels come a batch later than their events, and some not at all."""
    model = lasec.LASEC_SS(dimension=DIMENSION, drift=0.01, aggressiveness=0.1, seed=5)
    return lasec.spark.Job(model, **({"shards": 4, "max_age": 1_000.0, "seed": 5} | options))


def write(folder: Path, batches: range) -> None:
    """One file of events and one of labels for each batch."""
    for batch in batches:
        rng = np.random.default_rng(batch)
        X = rng.standard_normal((ROWS, DIMENSION))
        keys = [f"key {k}" for k in rng.integers(KEYS, size=ROWS)]
        names = [f"{batch}-{i}" for i in range(ROWS)]
        times = 100.0 * batch + np.arange(ROWS)
        events = {"key": keys, "id": names, "time": times, "features": [x.tobytes() for x in X]}
        _save(pd.DataFrame(events), folder / "events", batch)
        y = np.where(X[:, 0] > 0.0, 1, -1).astype(np.int32)
        labels = pd.DataFrame({"key": keys, "id": names, "time": times + 50.0, "y": y})
        labels.loc[::3, "id"] = [f"{batch + 1}-{i}" for i in range(0, ROWS, 3)]  # of the next batch
        _save(labels[::2], folder / "labels", batch)


def run(
    spark: Any, job: lasec.spark.Job, folder: Path, home: Path, *, events: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """Serve what is in a folder and was not served yet, or its events alone."""
    kinds = {"events": EVENTS} if events else {"events": EVENTS, "labels": LABELS}
    sources = [
        lasec.spark.directory(spark, str(folder / name), schema, per_batch=1)
        for name, schema in kinds.items()
    ]
    query = lasec.spark.start(
        job, *sources, out=str(home / "out"), checkpoint=str(home / "checkpoint"), **options
    )
    query.awaitTermination()
    return query


def told(spark: Any, home: Path, what: str) -> pd.DataFrame:
    """What was told, in an order of its own, without the batches' numbers."""
    table = lasec.spark.read(spark, str(home / "out"), what).drop("batch").toPandas()
    names = [name for name in ("key", "id", "outcome", "time") if name in table]
    return table.sort_values(names, ignore_index=True)


def firsts(home: Path, spark: Any) -> pd.DataFrame:
    """The first prediction for each key in the third batch, which no label of it has moved yet."""
    table = told(spark, home, "predictions")
    third = table[table["id"].str.startswith("2-")].sort_values("time")
    asked = set(told(spark, home, "questions")["ticket"])
    first = third.groupby("key").first().reset_index()
    tickets = first["key"].str.replace(" ", "+") + "/" + first["id"]
    return first.assign(asked=tickets.isin(asked))


def rows(folder: Path, batch: int) -> pd.DataFrame:
    """The events of a batch."""
    return pd.read_parquet(folder / "events" / f"{batch:04d}.parquet")


def _save(table: pd.DataFrame, folder: Path, batch: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table.to_parquet(folder / f"{batch:04d}.parquet", index=False)
