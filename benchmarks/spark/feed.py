"""Input for the job: Parquet files of events, and of the labels that their questions get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lasec
import lasec.spark as ls

RATE = 0.01
EVENTS = "key string, id string, time double, features binary"
SPAN = 1_000.0  # seconds of event time in a batch


RULES: dict[str, Any] = {
    "LASEC": lasec.rules.SecondOrder(drift=1e-4),
    "small Tracker": lasec.rules.Tracking(block=0, slots=5),
}


def job(
    model: str, dimension: int, shards: int, kind: type[ls.Job] = ls.Job, **more: Any
) -> ls.Job:
    """A model that asks one row in a hundred, whatever it says: so labels can be foreseen."""
    query = lasec.queries.Uniform(rate=RATE)
    learns: Any = "mistakes" if model == "LASEC" else "labels"
    learner = lasec.Learner(RULES[model], query, dimension=dimension, learn_from=learns)
    return kind(learner, shards=shards, patience=0.0, seed=0, **more)


def write_events(
    folder: Path, keys: int, rows: int, batches: int, dimension: int, hot: float = 0.0
) -> None:
    """One file a batch; the label of a row is the sign of its first feature.

    ``hot`` is the share of the rows that are of one key.
    """
    rng = np.random.default_rng(keys)
    folder.mkdir(parents=True)
    for batch in range(batches):
        X = rng.standard_normal((rows, dimension))
        whose = np.where(rng.random(rows) < hot, 0, rng.integers(keys, size=rows))
        table = {
            "key": np.char.add("tenant-", whose.astype(str)),
            "id": np.char.add(f"{batch}-", np.arange(rows).astype(str)),
            "time": SPAN * (batch + np.arange(rows) / rows / 2),
            "features": list(map(bytes, X)),
        }
        pd.DataFrame(table).to_parquet(folder / f"{batch:04d}.parquet")


def write_labels(folder: Path, events: Path, asked: pd.DataFrame) -> None:
    """The labels of each batch's questions, for the batch after it."""
    folder.mkdir(parents=True)
    asked = asked.assign(origin=asked["id"].str.split("-").str[0].astype(int))
    none = pd.DataFrame({"key": [], "id": [], "ticket": [], "time": [], "y": []})
    kinds = {"key": str, "id": str, "ticket": str, "time": float, "y": np.int32}
    none.astype(kinds).to_parquet(folder / "0000.parquet")
    for file in sorted(events.glob("*.parquet"))[:-1]:
        batch = int(file.stem)
        rows = asked[asked["origin"] == batch]
        table = pd.read_parquet(file, columns=["id", "features"]).set_index("id")
        signs = [np.frombuffer(x)[0] > 0.0 for x in table.loc[rows["id"], "features"]]
        labels = pd.DataFrame(
            {
                "key": rows["key"].to_numpy(), "id": rows["id"].to_numpy(), "ticket": "",
                "time": SPAN * (batch + 1) + 0.1,
                "y": np.where(signs, 1, -1).astype(np.int32),
            }
        )  # fmt: skip
        labels.drop(columns="ticket").assign(ticket=None).astype({"ticket": "string"}).to_parquet(
            folder / f"{batch + 1:04d}.parquet"
        )
