"""A shard at rest: its index and its models, and how they are taken out and put back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lasec import Fleet, Learner
from lasec.spark.config import Config, belongs
from lasec.spark.index import COUNTS, NOWHERE, SLOT, Head, ShardIndex
from lasec.spark.pages import Pages
from lasec.spark.store import Store

SERVED = COUNTS[:5]  # the counters that a fleet keeps


def begun(keys: Iterable[str | None], models: Iterable[bytes | None]) -> dict[str, Learner]:
    """Learners by key, from two columns of a table.

    >>> begun(["north"], [None])
    Traceback (most recent call last):
    ValueError: warm: the key 'north' has no model
    """
    learners: dict[str, Learner] = {}
    for key, model in zip(keys, models, strict=True):
        if not isinstance(key, str):
            raise ValueError("warm: a key is missing")
        if not isinstance(model, bytes | bytearray):
            raise ValueError(f"warm: the key {key!r} has no model")
        if key in learners:
            raise ValueError(f"warm: the key {key!r} is there twice")
        learners[key] = Learner.from_bytes(bytes(model))
    return learners


class ShardState:
    """The index of a shard's keys and their models, in a store."""

    def __init__(self, config: Config, store: Store, number: int = 0) -> None:
        self.config, self.store = config, store
        kept = store.get("ledger")
        self.index = ShardIndex.from_bytes(kept) if kept else ShardIndex(Head(job=config.job))
        self.head = self.index.head
        if not belongs(self.head.job, config.job):
            raise ValueError(
                f"checkpoint: it belongs to another job, {self.head.job}; this is {config.job}"
            )
        size = None if config.kind.names else config.size  # of sparse rows, models grow
        self._pages = Pages(store, self.index.pages, size, number)

    @property
    def reads(self) -> dict[str, int]:
        """How many pages of this batch the cache had, and how many the state store gave."""
        return {"page_hits": self._pages.hits, "page_misses": self._pages.misses}

    def write(self) -> None:
        """Keep the index."""
        self.store.put("ledger", "", self.index.to_bytes())

    def rows(self, keys: list[str]) -> NDArray[np.int64]:
        """Where these keys stand in the index; new ones are taken in."""
        index, seed = self.index, self.config.seed
        if seed is None and any(key not in index.row_of for key in keys):
            raise ValueError("seed: a key cannot begin without the job's seed")
        return index.rows(keys, seed or 0, self.config.model.selector.query_state)

    def forget(self, before: float) -> None:
        """Drop the keys that were last seen before an age, and models that have no fixed place."""
        slots = self.index.counts[:, SLOT]
        self.index.forget(before)
        gone = np.setdiff1d(slots[slots != NOWHERE], self.index.counts[:, SLOT])
        self._pages.drop(gone)

    def sizes(self, keys: list[str]) -> NDArray[np.int64]:
        """How many bytes the models of these keys take; of new ones, what they begin with."""
        row_of, found = self.index.row_of, np.full(len(keys), self.config.size)
        rows = np.fromiter((row_of.get(key, -1) for key in keys), np.int64, len(keys))
        known = np.flatnonzero(rows >= 0)
        slots = self.index.counts[rows[known], SLOT]
        there = slots != NOWHERE
        found[known[there]] = self._pages.sizes(slots[there])
        return found

    def load(self, rows: NDArray[np.int64]) -> Fleet:
        """The models of some keys, as they were after the last batch."""
        index = self.index
        fleet = self.config.fleet(index.seeds[rows])
        counts = index.counts[rows]
        for column, name in enumerate(SERVED):
            getattr(fleet, name)[:] = counts[:, column]
        fleet.memory[:] = index.memory[rows]
        somewhere = np.flatnonzero(counts[:, SLOT] != NOWHERE)
        if somewhere.size:
            fleet.unpack(somewhere, self._pages.load(counts[somewhere, SLOT]))
        return fleet

    def save(self, fleet: Fleet, rows: NDArray[np.int64], changed: NDArray[np.bool_]) -> None:
        """Counters and memory into the index, changed models into their pages."""
        index, some = self.index, np.flatnonzero(changed)
        for column, name in enumerate(SERVED):
            index.counts[rows, column] = getattr(fleet, name)
        index.memory[rows] = fleet.memory
        slots = index.counts[rows[some], SLOT]
        fresh = slots == NOWHERE
        slots[fresh] = index.free(int(fresh.sum()))
        index.counts[rows[some], SLOT] = slots
        if some.size:
            self._pages.save(slots, fleet.pack(some))

    def put(self, learners: dict[str, Learner]) -> None:
        """Begin these keys, all of them new, with models that have learned elsewhere."""
        learners = dict(sorted(learners.items()))  # so that the ledger's order is that of no table
        for key in learners:
            if key in self.index.row_of:
                raise ValueError(f"warm: the key {key!r} is there twice")
        room = self.config.max_keys - len(self.index.keys)
        if len(learners) > room:
            raise ValueError(f"warm: {len(learners)} keys for a shard with room for {room}")
        rows = self.rows(list(learners))
        fleet = self.config.fleet(self.index.seeds[rows])
        everyone = np.arange(rows.size)
        blank = [one.tobytes() for one in fleet.pack(everyone)]
        for k, (key, learner) in enumerate(learners.items()):
            try:
                fleet.put(k, learner)
            except ValueError as error:
                raise ValueError(f"warm: the model of {key!r} does not fit: {error}") from error
        packed = [one.tobytes() for one in fleet.pack(everyone)]
        self.save(fleet, rows, np.array([a != b for a, b in zip(packed, blank, strict=True)]))

    def take(self, keys: list[str]) -> list[Learner]:
        """The models of these keys as they are now, as learners of their own."""
        fleet = self.load(self.rows(keys))
        learners = [fleet.learner(k) for k in range(len(keys))]
        for learner in learners:
            learner.name = self.config.model.name
        return learners
