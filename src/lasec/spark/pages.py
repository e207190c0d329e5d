"""Models, several to a page, so that a batch that touches many of them needs few round trips.

A model is some bytes in a slot. Where all have the same size, as many share a page as make 128 KB:
page n holds the slots from n * ``per_page`` on. A model that grows has a page of its own, and one
of more than 64 KB is cut into blocks, of which a batch writes those that changed: a model of sparse
rows has a block for every few hundred words, and a label touches those of its row alone. A page is
the lengths of its models, and then the models, or the fingerprints of their blocks. Only pages with
a model that is wanted are read, and only pages with one that changed are written.

The shard's index has the fingerprint of each page. Pages and blocks that were read or written
lately are taken from the executor's :mod:`cache <lasec.spark.cache>`, the others from the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import StateError
from lasec.spark.cache import CACHE
from lasec.spark.index import MARK
from lasec.spark.store import Store

PAGE_BYTES, BLOCK_BYTES = 2**17, 2**16

Data = NDArray[np.uint8]
Slots = NDArray[np.int64]
NOTHING: Data = np.empty(0, np.uint8)


class _Page(NamedTuple):
    """How long the models of a page are, and their bytes or the fingerprints of their blocks."""

    lengths: list[int]
    blocks: list[bytes]
    data: Data

    def value(self) -> bytes:
        """What the store keeps."""
        head = np.array([len(self.lengths), len(self.blocks), *self.lengths], np.int64)
        return b"".join([head.tobytes(), *self.blocks, self.data.tobytes()])

    @classmethod
    def of(cls, value: Data) -> _Page:
        """The page that the store keeps."""
        models, blocks = value[:16].view(np.int64).tolist()
        begin = 8 * (2 + models)
        marks = value[begin : begin + blocks * MARK].reshape(blocks, MARK)
        lengths = value[16:begin].view(np.int64).tolist()
        return cls(lengths, [one.tobytes() for one in marks], value[begin + marks.size :])


class Pages:
    """The pages of a shard; ``marks`` are their fingerprints, kept in the shard's index.

    ``size`` is how many bytes each model has; None for models that grow. ``hits`` and ``misses``
    count the pages and blocks that were wanted, and that the cache had or had not.

    >>> from lasec.spark.store import PlainStore
    >>> pages = Pages(PlainStore(), [], size=4)
    >>> pages.save(np.array([0, 2]), np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8))
    >>> [one.tolist() for one in pages.load(np.array([2]))]
    [[5, 6, 7, 8]]
    >>> store = PlainStore()
    >>> pages = Pages(store, [], size=None)
    >>> pages.save(np.array([1, 0]), [np.ones(3, np.uint8), np.zeros(100_000, np.uint8)])
    >>> pages.sizes(np.array([1, 0])).tolist(), sorted(store)
    ([3, 100000], [('block', '0/0'), ('block', '0/1'), ('page', '0'), ('page', '1')])
    """

    def __init__(self, store: Store, marks: list[bytes], size: int | None, shard: int = 0) -> None:
        self._store, self._marks, self._shard, self._size = store, marks, shard, size
        self._per_page = 1 if size is None else max(1, PAGE_BYTES // size)
        self._read: dict[int, _Page] = {}
        self.hits = self.misses = 0

    def sizes(self, slots: Slots) -> Slots:
        """How many bytes the models in these slots have."""
        if self._size is not None:
            return np.full(slots.size, self._size)
        return np.array([sum(self._page(slot).lengths) for slot in slots.tolist()], np.int64)

    def load(self, slots: Slots) -> list[Data]:
        """The models in these slots."""
        numbers, places = np.divmod(slots, self._per_page)
        held = {number: self._models(number) for number in np.unique(numbers).tolist()}
        both = zip(numbers.tolist(), places.tolist(), strict=True)
        return [held[number][place] for number, place in both]

    def save(self, slots: Slots, models: Sequence[Data] | Data) -> None:
        """Put models into their slots, and write what has changed."""
        changed: dict[int, dict[int, Data]] = {}
        for slot, model in zip(slots.tolist(), models, strict=True):
            number, place = divmod(slot, self._per_page)
            changed.setdefault(number, {})[place] = model
        for number, some in sorted(changed.items()):
            held = self._models(number)
            held += [NOTHING] * (max(some) + 1 - len(held))
            for place, model in some.items():
                held[place] = model
            self._write(number, held)

    def drop(self, slots: Slots) -> None:
        """Keep nothing in these slots; where models do not grow, the next ones are as large."""
        if self._size is None:
            self.save(slots, [NOTHING] * slots.size)

    def _write(self, number: int, models: list[Data]) -> None:
        """Write a page, and those of its blocks that have changed."""
        data, before = np.concatenate(models), self._page(number).blocks
        cuts = range(0, data.size, BLOCK_BYTES)
        blocks = [data[i : i + BLOCK_BYTES].tobytes() for i in cuts if self._size is None]
        blocks = blocks if len(blocks) > 1 else []
        marks = [
            self._keep("block", f"{number}/{i}", block, before[i : i + 1])
            for i, block in enumerate(blocks)
        ]
        for i in range(len(blocks), len(before)):
            self._store.remove("block", f"{number}/{i}")
        page = _Page([one.size for one in models], marks, NOTHING if blocks else data)
        mark = self._keep("page", str(number), page.value(), self._marks[number : number + 1])
        self._marks[number : number + 1] = [mark]
        self._read[number] = page

    def _models(self, number: int) -> list[Data]:
        """The models of a page."""
        page, data = self._page(number), self._page(number).data
        if page.blocks:
            marked = enumerate(page.blocks)
            data = np.concatenate([self._value("block", f"{number}/{i}", m) for i, m in marked])
        return [data[a:b] for a, b in pairwise(accumulate(page.lengths, initial=0))]

    def _page(self, number: int) -> _Page:
        """A page, read once a batch; one that was never written is empty."""
        if number >= len(self._marks):
            return _Page([], [], NOTHING)
        if number not in self._read:
            self._read[number] = _Page.of(self._value("page", str(number), self._marks[number]))
        return self._read[number]

    def _value(self, part: str, name: str, mark: bytes) -> Data:
        """A value that was written once, from the cache or from the store."""
        value = CACHE.get(mark)
        self.hits += value is not None
        if value is None:
            self.misses += 1
            found = self._store.get(part, name)
            if found is None or _mark(found) != mark:
                wrong = "is missing" if found is None else "does not match its fingerprint"
                raise StateError(
                    f"corrupted: {part} {name} of shard {self._shard} {wrong}; restore the "
                    "checkpoint from an earlier copy"
                )
            CACHE.put(mark, found)
            value = np.frombuffer(found, np.uint8)
        return value

    def _keep(self, part: str, name: str, value: bytes, before: list[bytes]) -> bytes:
        """Write a value, unless it was there ``before``: its fingerprint."""
        mark = _mark(value)
        if before != [mark]:
            self._store.put(part, name, value)
            for old in before:
                CACHE.forget(old)
            CACHE.put(mark, value)
        return mark


def _mark(value: bytes) -> bytes:
    return blake2b(value, digest_size=MARK, person=b"page").digest()
