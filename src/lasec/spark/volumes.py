"""Models that grow: each is cut into blocks, of which a batch writes those that changed.

A model of sparse rows has a block for every few hundred words, and a label touches those of its row
alone. A model's directory says how long it is and has the fingerprint of each block; the shard's
index has that of the directory. Blocks are remembered as pages are (:mod:`lasec.spark.pages`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from lasec.spark.index import MARK
from lasec.spark.pages import REMEMBERED, intact
from lasec.spark.store import Store

BLOCK_BYTES = 2**16
_LENGTH = struct.Struct("<q")

Data = NDArray[np.uint8]


class Volumes:
    """The models of a shard, each of any length; ``marks`` are those of their directories.

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
