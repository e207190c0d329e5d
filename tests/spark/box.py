"""One shard without Spark: rows by hand, batch by batch."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

import lasec
from lasec.spark import Job, PlainStore, Shard
from lasec.spark.rows import read

NOW = 1.7e9
DAY = 86_400.0
Row = dict[str, Any]


def number(name: Any) -> int:
    """A hash of an id; any will do."""
    data = str(name).encode(errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=7).digest())


def event(name: Any, time: Any = NOW, x: Any = (1.0, 2.0), key: Any = "k") -> Row:
    plain: Row = {"kind": 0, "key": key, "id": name, "number": number(name), "time": time}
    return plain | {"y": np.nan, "features": list(x) if isinstance(x, tuple) else x, "raw": None}


def label(name: Any, time: Any = NOW, y: Any = 1.0, key: Any = "k") -> Row:
    return event(name, time, key=key) | {"kind": 1, "y": y, "features": None}


class Box:
    """One shard of a job that asks about everything, unless told otherwise."""

    def __init__(self, model: lasec.Learner | None = None, **options: Any) -> None:
        asking = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6, seed=0)
        self.job = Job(model or asking, shards=1, **({"seed": 0} | options))
        self.store = PlainStore()

    def __call__(self, *rows: Row, now: float = NOW) -> pd.DataFrame:
        model = self.job.model
        frame, labels = pd.DataFrame(list(rows)), self.job.config.labels
        batch = read(frame, model.dimension or 0, self.job.config.kind, labels)
        return self.shard.batch(batch, int(1_000 * now))

    def wake(self, now: float) -> pd.DataFrame:
        return self.shard.wake(int(1_000 * now))

    @property
    def shard(self) -> Shard:
        return Shard(self.job.config, self.store)

    @property
    def head(self) -> Any:
        return self.shard.head


def outcomes(told: pd.DataFrame) -> list[str]:
    return told[told.kind == "receipt"].outcome.tolist()


def dead(told: pd.DataFrame) -> list[str]:
    return told[told.kind == "dead"].outcome.tolist()
