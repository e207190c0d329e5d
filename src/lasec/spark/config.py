"""What all shards of a job agree on."""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import Fleet, Learner
from lasec.spark.labels import Labels
from lasec.sparse import row_kind

ALARMS = 64  # how often in ``max_age`` a shard that waits for something is woken


@dataclass(frozen=True, eq=False)
class Config:
    """The model that every key begins with, whose checkpoint it is, how things wait, and limits.

    ``job`` describes the job (:func:`describe`). Without a ``seed`` a shard can be read,
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

    def __getstate__(self) -> dict[str, Any]:
        # Spark sends at most 1 MB with a stateful operator, and a blank model is mostly zeros.
        sent = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = _kinds(self.model.rule), _kinds(self.model.query)
        return sent | {"model": (zlib.compress(self.model.to_bytes()), *parts)}

    def __setstate__(self, sent: dict[str, Any]) -> None:
        packed, rules, queries = sent["model"]
        model = Learner.from_bytes(zlib.decompress(packed), rules=rules, queries=queries)
        vars(self).update(sent, model=model)

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

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of a row: numbers, or the pairs of a sparse one."""
        return row_kind(self.model.rule)

    @cached_property
    def size(self) -> int:
        """How many bytes a model takes; one that grows, at its beginning."""
        return self.fleet(np.zeros(1, np.uint64)).size

    def fleet(self, seeds: NDArray[np.uint64]) -> Fleet:
        """As many models as there are seeds, all at their beginning."""
        clock = None  # a shard has one of its own
        return Fleet.of(self.model, models=seeds.size, seeds=seeds, threads=1, lead=clock)

    @cached_property
    def labels(self) -> Labels:
        """The classes of all models."""
        return Labels(self.fleet(np.zeros(1, np.uint64)).classes)


def describe(model: Learner, shards: int, seed: int | None) -> str:
    """Which job a checkpoint belongs to, as JSON that every shard keeps.

    It is the model that keys begin with, the shards, and a fingerprint of the seed: descriptions
    are shown in error messages.

    >>> import lasec
    >>> print(describe(lasec.SOP(dimension=2), shards=4, seed=None))
    {"rule": {"kind": "SecondOrder", "parameters": {"drift": 0.0, "ridge": 1.0}}, ...
    """
    return json.dumps(
        {
            "rule": _written(model.rule),
            "query": _written(model.query),
            "dimension": model.dimension,
            "learn_from": model.learn_from.value,
            "classes": list(model.classes),
            "shards": shards,
            "seed": None if seed is None else _fingerprint(seed),
        }
    )


def belongs(kept: str, job: str) -> bool:
    """Whether a checkpoint with the description ``kept`` is that of this job.

    A job without a seed is one of any seed.

    >>> import lasec
    >>> model = lasec.LASEC_SS(dimension=2, aggressiveness=0.5)
    >>> kept = describe(model, shards=4, seed=7)
    >>> [belongs(kept, describe(model, shards=4, seed=seed)) for seed in (7, 8, None)]
    [True, False, True]
    """
    mine, its = json.loads(job), json.loads(kept)
    return mine in (its, {**its, "seed": None})


def _written(part: Any) -> Any:
    """A rule, a query or a parameter as JSON."""
    if not hasattr(part, "_asdict"):
        return part if isinstance(part, bool | int | float | str | None) else repr(part)
    values = {name: _written(value) for name, value in part._asdict().items()}
    return {"kind": type(part).__name__, "parameters": values}


def _fingerprint(seed: int) -> str:
    return blake2b(seed.to_bytes(8, "little"), digest_size=4, person=b"lasec seed").hexdigest()


def _kinds(part: Any) -> list[type]:
    """The class of a rule or a query, and those of the parts in it.

    >>> import lasec
    >>> [kind.__name__ for kind in _kinds(lasec.Tracker(2, rate=0.1).query)]
    ['Budgeted', 'UncertaintySampling']
    """
    inner = (value for value in part if isinstance(value, tuple))
    return [type(part), *(kind for value in inner for kind in _kinds(value))]
