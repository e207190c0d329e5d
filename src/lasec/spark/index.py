"""What changes with every event: a shard's clock and totals, and the counters of each of its keys.

An index is one value of state, written once for each batch that touches its shard. Models are far
larger and change only when a label is learned: they live elsewhere (:mod:`lasec.spark.pages`), and
the index says where. As bytes an index is a JSON header, the keys as UTF-8, and plain arrays.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import StateError
from lasec.metrics.sums import SUMS

COUNTS = ("rows", "asked", "told", "updates", "waiting", "expired", "slot")
SLOT = COUNTS.index("slot")
FORMAT = 6  # the only one that is read
MARK = 16  # bytes of a page's fingerprint
NOWHERE = -1  # the slot of a model that has not learned anything yet


@dataclass
class Head:
    """A shard's own numbers: its clock, its queue of questions, its totals, its accuracy's sums.

    ``clock`` is the largest time seen in the shard, in seconds; ``wall`` is when it last had rows,
    and ``alarm`` when it wants to be woken, both by the machine's clock. Questions wait in chunks
    numbered from ``first`` to ``next - 1``; those before ``open`` have expired already. ``age`` is
    how far the clock has gone on since the beginning, jumps left out: keys are forgotten by it.
    ``sums`` are those of :mod:`lasec.metrics.sums`, of whether a prediction is wrong.
    """

    job: str
    clock: float = -1e300
    age: float = 0.0
    wall: float = 0.0
    alarm: int = 0
    first: int = 0
    open: int = 0
    next: int = 0
    oldest_open: float = 0.0
    oldest: float = 0.0
    slots: int = 0
    held: int = 0
    predicted: int = 0
    asked: int = 0
    learned: int = 0
    expired: int = 0
    other: int = 0
    dead: int = 0
    sums: list[float] = field(default_factory=lambda: [0.0] * SUMS)

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add to the sums what events or answers add, a row each.

        >>> head = Head(job="")
        >>> head.add(np.ones((3, SUMS)))
        >>> head.sums[0]
        3.0
        """
        self.sums = (np.array(self.sums) + rows.sum(axis=0)).tolist()


@dataclass
class ShardIndex:
    """The header of a shard, and one row of ``counts`` and ``memory`` for each of its keys.

    ``seen`` is the shard's age when the key last had an event or a label, and ``pages`` are the
    fingerprints of the pages in which the models are; ``size`` is how many bytes the index had
    when it was last written, but for its header.
    """

    head: Head
    keys: list[str] = field(default_factory=list)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, len(COUNTS)), np.int64))
    seeds: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    memory: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    seen: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    pages: list[bytes] = field(default_factory=list)
    size: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.row_of = {key: row for row, key in enumerate(self.keys)}

    def rows(self, keys: list[str], seed: int, blank: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where these keys stand; new ones are taken in, with ``blank`` as their memory."""
        new = [key for key in keys if key not in self.row_of]
        if new:
            begin = len(self.keys)
            self.row_of.update(zip(new, range(begin, begin + len(new)), strict=True))
            self.keys.extend(new)
            fresh = np.zeros((len(new), len(COUNTS)), np.int64)
            fresh[:, SLOT] = NOWHERE
            self.counts = np.concatenate([self.counts, fresh])
            seeds = np.array([seed_of(seed, key) for key in new], np.uint64)
            self.seeds = np.concatenate([self.seeds, seeds])
            grown = self.memory if begin else np.empty((0, blank.size))
            self.memory = np.concatenate([grown, np.tile(blank, (len(new), 1))])
            self.seen = np.concatenate([self.seen, np.full(len(new), self.head.age)])
        row_of = self.row_of
        return np.fromiter((row_of[key] for key in keys), np.int64, len(keys))

    def touch(self, keys: Iterable[str]) -> None:
        """These keys, as far as they are known, have had an event or a label just now."""
        rows = [self.row_of[key] for key in keys if key in self.row_of]
        self.seen[rows] = self.head.age

    def forget(self, before: float) -> None:
        """Drop the keys that were last seen before an age; the slots of their models are free.

        >>> index = ShardIndex(Head(job="", age=5.0))
        >>> rows = index.rows(["north", "south"], seed=1, blank=np.zeros(0))
        >>> index.head.age = 9.0
        >>> index.touch(["south", "nobody"])
        >>> index.forget(before=6.0)
        >>> index.keys, index.row_of
        (['south'], {'south': 0})
        """
        kept = self.seen >= before
        if kept.all():
            return
        self.keys = [self.keys[row] for row in np.flatnonzero(kept).tolist()]
        self.row_of = {key: row for row, key in enumerate(self.keys)}
        self.counts, self.seeds = self.counts[kept], self.seeds[kept]
        self.memory, self.seen = self.memory[kept], self.seen[kept]

    def free(self, count: int) -> NDArray[np.int64]:
        """Slots for so many models: the lowest that are free, then new ones."""
        head, begin = self.head, self.head.slots
        slots = np.arange(begin, begin + count)
        if self.models < begin:
            used = self.counts[:, SLOT]
            slots = np.delete(np.arange(begin + count), used[used != NOWHERE])[:count]
        head.slots = max(begin, int(slots.max(initial=-1)) + 1)
        return slots

    @property
    def models(self) -> int:
        """How many keys have a model that has learned something."""
        return int(np.count_nonzero(self.counts[:, SLOT] != NOWHERE))

    def to_bytes(self) -> bytes:
        """All of it.

        >>> index = ShardIndex(Head(job="a", clock=5.0))
        >>> index.rows(["north", "south"], seed=1, blank=np.zeros(2)).tolist()
        [0, 1]
        >>> again = ShardIndex.from_bytes(index.to_bytes())
        >>> again.keys, again.head.clock, again.memory.shape
        (['north', 'south'], 5.0, (2, 2))
        """
        names = [key.encode() for key in self.keys]
        sizes = {"keys": len(names), "memory": self.memory.shape[1], "pages": len(self.pages)}
        header = {"format": FORMAT} | asdict(self.head) | sizes
        head = json.dumps(header).encode()
        lengths = np.array([len(name) for name in names], np.uint32)
        arrays = (lengths, self.counts, self.seeds, self.memory, self.seen)
        body = b"".join([*(a.tobytes() for a in arrays), *self.pages, *names])
        self.size = len(body)
        return struct.pack("<I", len(head)) + head + body

    @classmethod
    def from_bytes(cls, data: bytes) -> ShardIndex:
        """What :meth:`to_bytes` gave."""
        (size,) = struct.unpack_from("<I", data)
        header: dict[str, Any] = json.loads(data[4 : 4 + size])
        if (found := header.pop("format")) != FORMAT:
            raise StateError(
                f"another format: the index is in format {found}, this lasec reads {FORMAT} only"
            )
        n, width, count = (header.pop(name) for name in ("keys", "memory", "pages"))
        at = 4 + size

        def take(kind: Any, *shape: int) -> NDArray[Any]:
            nonlocal at
            array = np.frombuffer(data, kind, int(np.prod(shape)), at).reshape(shape).copy()
            at += array.nbytes
            return array

        lengths = take(np.uint32, n)
        counts, seeds = take(np.int64, n, len(COUNTS)), take(np.uint64, n)
        memory = take(np.float64, n, width)
        seen = take(np.float64, n)
        marks = take(np.uint8, count, MARK)
        ends = accumulate(lengths.tolist(), initial=at)
        keys = [data[a:b].decode() for a, b in pairwise(ends)]
        marked = [bytes(mark) for mark in marks]
        return cls(Head(**header), keys, counts, seeds, memory, seen, marked)

    def lasting(self) -> bytes:
        """As bytes, but for the two numbers that depend on when the job happened to run."""
        wall, alarm = self.head.wall, self.head.alarm
        self.head.wall, self.head.alarm = 0.0, 0
        data = self.to_bytes()
        self.head.wall, self.head.alarm = wall, alarm
        return data


def seed_of(seed: int, key: str) -> int:
    """The seed of a key's own model.

    >>> seed_of(0, "north") == seed_of(0, "north") != seed_of(1, "north")
    True
    """
    digest = blake2b(key.encode(), digest_size=8, key=seed.to_bytes(8, "little"))
    return int.from_bytes(digest.digest(), "little")
