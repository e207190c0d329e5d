"""A shard at rest: its index and its models, and how they are taken out and put back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import Fleet, Learner
from lasec.spark.config import Config, belongs
from lasec.spark.index import COUNTS, MARK, NOWHERE, SLOT, Head, ShardIndex
from lasec.spark.pages import REMEMBERED, Pages, intact, per_page
from lasec.spark.store import Store

SERVED = COUNTS[:5]  # the counters that a fleet keeps
BLOCK_BYTES = 2**16
_LENGTH = struct.Struct("<q")

Data = NDArray[np.uint8]


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
        self._pages = self._opened(store, number)

    def _opened(self, store: Store, number: int) -> Any:
        """Where the models are: several to a page, or each in blocks where they grow."""
        size, marks = self.config.size, self.index.pages
        if self.config.kind.names:
            return Volumes(store, marks, number)
        return Pages(store, marks, size, per_page(size), number)

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


class Volumes:
    """The models of a shard where they grow; ``marks`` are those of their directories.

    Each is cut into blocks, of which a batch writes those that changed: a model of sparse rows has
    a block for every few hundred words, and a label touches those of its row alone. A directory
    says how long a model is and has the fingerprint of each block; the shard's index has that of
    the directory. Blocks are remembered as pages are (:mod:`lasec.spark.pages`).

    >>> from lasec.spark.store import PlainStore
    >>> store = PlainStore()
    >>> volumes = Volumes(store, [])
    >>> volumes.save(np.array([1, 0]), [np.ones(3, np.uint8), np.zeros(100_000, np.uint8)])
    >>> [one.size for one in volumes.load(np.array([1, 0]))], len(store)
    ([3, 100000], 5)
    """

    def __init__(self, store: Store, marks: list[bytes], shard: int = 0) -> None:
        self._store, self._marks, self._shard = store, marks, shard
        self._read: dict[int, tuple[int, list[bytes]]] = {}

    def sizes(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many bytes the models in these slots have."""
        return np.array([self._directory(slot)[0] for slot in slots.tolist()], np.int64)

    def load(self, slots: NDArray[np.int64]) -> list[Data]:
        """The models in these slots."""
        return [self._whole(slot) for slot in slots.tolist()]

    def save(self, slots: NDArray[np.int64], models: Sequence[Data]) -> None:
        """Put models into their slots, which have no gaps."""
        for i in np.argsort(slots).tolist():
            self._put(int(slots[i]), models[i])

    def drop(self, slots: NDArray[np.int64]) -> None:
        """Keep nothing in these slots."""
        self.save(slots, [np.empty(0, np.uint8)] * slots.size)

    def _whole(self, slot: int) -> Data:
        """A model, its blocks from memory or from the store."""
        _, marks = self._directory(slot)
        return np.concatenate([self._block(slot, i, mark) for i, mark in enumerate(marks)])

    def _put(self, slot: int, model: Data) -> None:
        """Write the blocks of a model that are not there yet, and its directory."""
        kept = slot < len(self._marks)
        before = self._directory(slot)[1] if kept else []
        cuts = range(0, model.size, BLOCK_BYTES)
        blocks = [model[i : i + BLOCK_BYTES].tobytes() for i in cuts]
        marks = [_mark(block) for block in blocks]
        for i, (block, mark) in enumerate(zip(blocks, marks, strict=True)):
            if before[i : i + 1] != [mark]:
                self._store.put("block", f"{slot}/{i}", block)
                for old in before[i : i + 1]:
                    REMEMBERED.forget(old)
            REMEMBERED.put(mark, np.frombuffer(block, np.uint8))
        for i in range(len(blocks), len(before)):
            self._store.remove("block", f"{slot}/{i}")
        listed = _LENGTH.pack(model.size) + b"".join(marks)
        self._store.put("volume", str(slot), listed)
        self._marks[slot : slot + 1] = [_mark(listed)]
        self._read[slot] = model.size, marks

    def _directory(self, slot: int) -> tuple[int, list[bytes]]:
        """How long a model is, and the fingerprints of its blocks; read once a batch."""
        if slot in self._read:
            return self._read[slot]
        listed = self._written(self._store.get("volume", str(slot)), self._marks[slot], slot)
        marks = [listed[i : i + MARK] for i in range(_LENGTH.size, len(listed), MARK)]
        self._read[slot] = int(_LENGTH.unpack_from(listed)[0]), marks
        return self._read[slot]

    def _block(self, slot: int, number: int, mark: bytes) -> Data:
        block = REMEMBERED.get(mark)
        if block is None:
            data = self._written(self._store.get("block", f"{slot}/{number}"), mark, slot)
            block = np.frombuffer(data, np.uint8)
            REMEMBERED.put(mark, block)
        return block

    def _written(self, data: bytes | None, mark: bytes, slot: int) -> bytes:
        return intact(data, mark, _mark, f"a part of model {slot} of shard {self._shard}")


def _mark(data: bytes) -> bytes:
    return blake2b(data, digest_size=MARK, person=b"volume").digest()
