"""What all shards of a job agree on."""

from __future__ import annotations

import math
import pickle
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import Fleet, Learner
from lasec.spark.labels import Labels

ALARMS = 64  # how often in ``max_age`` a shard that waits for something is woken


@dataclass(frozen=True, eq=False)
class Config:
    """The model that every key begins with, whose checkpoint it is, how things wait, and limits.

    ``job`` describes the job (:mod:`lasec.spark.identity`). Without a ``seed`` a shard can be read,
    but no key can begin. ``max_age``, ``patience`` and ``forget_after`` are in seconds; ``lead`` is
    how far ahead of the machine's clock a row's time may lie and still move the shard's clock;
    ``max_keys`` is for one shard; ``cache`` is in bytes.
    """

    model: Learner
    job: str
    seed: int | None
    max_age: float
    patience: float
    lead: float
    forget_after: float
    max_keys: int
    cache: int

    def __getstate__(self) -> dict[str, bytes]:
        # Spark sends at most 1 MB with a stateful operator, and a blank model is mostly zeros.
        from pyspark import cloudpickle as pickling  # noqa: PLC0415

        dumps: Any = pickling.dumps
        return {"packed": zlib.compress(dumps(dict(vars(self))))}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        vars(self).update(pickle.loads(zlib.decompress(state["packed"])))  # noqa: S301

    @property
    def step(self) -> int:
        """How often a shard that waits for something is woken, in milliseconds."""
        return max(1_000, int(1_000 * self.max_age / ALARMS))

    def pace(self, held: int) -> int:
        """The same, in a shard that holds so many labels: their patience may be shorter."""
        patience = 1_000 * self.patience if held and self.patience else math.inf
        return max(1_000, int(min(self.step, patience)))

    @property
    def lead_in_use(self) -> float:
        """How far a row may move the clock ahead of the machine's: little, against ``max_age``."""
        return min(self.lead, self.max_age / ALARMS)

    @cached_property
    def size(self) -> int:
        """How many bytes a model takes."""
        return self.fleet(np.zeros(1, np.uint64)).size

    def fleet(self, seeds: NDArray[np.uint64]) -> Fleet:
        """As many models as there are seeds, all at their beginning."""
        clock = None  # a shard has one of its own
        return Fleet.of(self.model, models=seeds.size, seeds=seeds, threads=1, lead=clock)

    @cached_property
    def labels(self) -> Labels:
        """The classes of all models."""
        return Labels(self.fleet(np.zeros(1, np.uint64)).classes)
