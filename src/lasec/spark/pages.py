"""Models, several to a page, so that a batch that touches many of them needs few round trips.

A model is a fixed number of bytes in a slot; page n holds the slots from n * ``per_page`` on. Only
pages with a model that is wanted are read, and only pages with one that changed are written.

A Python worker remembers pages that it has read or written, by their content: the shard's index
has the fingerprint of each page, so that a page is only ever taken from memory if it is the very
one that the state store would give, whatever was replayed or moved to another machine meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from lasec import StateError
from lasec.spark.index import MARK
from lasec.spark.store import Store

PAGE_BYTES = 2**17

Page = NDArray[np.uint8]


class Remembered:
    """The pages that were used last, in at most ``limit`` bytes.

    >>> remembered = Remembered(limit=10)
    >>> remembered.put(b"a", np.zeros(6, np.uint8))
    >>> remembered.put(b"b", np.zeros(6, np.uint8))
    >>> remembered.get(b"a") is None, remembered.get(b"b").size
    (True, 6)
    """

    def __init__(self, limit: int) -> None:
        self.limit, self._bytes = limit, 0
        self._pages: OrderedDict[bytes, Page] = OrderedDict()

    def get(self, mark: bytes) -> Page | None:
        """The page with this fingerprint, if it is remembered."""
        page = self._pages.get(mark)
        if page is not None:
            self._pages.move_to_end(mark)
        return page

    def put(self, mark: bytes, page: Page) -> None:
        """Remember a page, which nobody may write to from now on."""
        if mark not in self._pages:
            self._pages[mark] = page
            self._bytes += page.nbytes
        while self._bytes > self.limit:
            self._bytes -= self._pages.popitem(last=False)[1].nbytes

    def forget(self, mark: bytes) -> None:
        """A page that was replaced is of no use any more."""
        if mark in self._pages:
            self._bytes -= self._pages.pop(mark).nbytes


REMEMBERED = Remembered(limit=0)  # one for each Python worker


def intact(data: bytes | None, mark: bytes, mark_of: Callable[[bytes], bytes], what: str) -> bytes:
    """What a store gave, if it is what was written there, by its fingerprint."""
    if data is None or mark_of(data) != mark:
        wrong = "is missing" if data is None else "does not match its fingerprint"
        raise StateError(f"corrupted: {what} {wrong}; restore the checkpoint from an earlier copy")
    return data


def per_page(size: int) -> int:
    """How many models of ``size`` bytes share a page: as many as make 128 KB, and at least one.

    >>> per_page(10_600), per_page(1_000_000)
    (12, 1)
    """
    return max(1, PAGE_BYTES // size)


class Pages:
    """The pages of a shard; ``marks`` are their fingerprints, kept in the shard's index.

    >>> from lasec.spark.store import PlainStore
    >>> pages = Pages(PlainStore(), [], size=4, per_page=2)
    >>> pages.save(np.array([0, 2]), np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8))
    >>> pages.load(np.array([2])).tolist()
    [[5, 6, 7, 8]]
    """

    def __init__(
        self, store: Store, marks: list[bytes], size: int, per_page: int, shard: int = 0
    ) -> None:
        self._store, self._marks, self._shard = store, marks, shard
        self._size, self._per_page = size, per_page
        self._read: dict[int, Page] = {}

    def sizes(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many bytes the models in these slots have: all of them as many."""
        return np.full(slots.size, self._size)

    def drop(self, slots: NDArray[np.int64]) -> None:
        """Nothing: the next models take these slots, which are as large."""

    def load(self, slots: NDArray[np.int64]) -> Page:
        """The models in these slots, a row each."""
        out = np.empty((slots.size, self._size), np.uint8)
        for number, here, place in self._split(slots):
            out[here] = self._page(number)[place]
        return out

    def save(self, slots: NDArray[np.int64], models: Page) -> None:
        """Put models into their slots, and write the pages that hold them."""
        for number, here, place in self._split(slots):
            before, wanted = self._page(number), int(place.max()) + 1
            held = np.zeros((max(wanted, len(before)), self._size), np.uint8)
            held[: len(before)] = before
            held[place] = models[here]
            self._keep(number, held)

    def _keep(self, number: int, held: Page) -> None:
        """Write a page."""
        data = held.tobytes()
        mark = self._mark(data)
        for old in self._marks[number : number + 1]:
            REMEMBERED.forget(old)
        self._marks[number : number + 1] = [mark]
        self._read[number] = held
        REMEMBERED.put(mark, held)
        self._store.put("page", str(number), data)

    def _page(self, number: int) -> Page:
        """A page, read once a batch."""
        if number not in self._read:
            known = number < len(self._marks)
            page = self._fetch(number) if known else np.empty((0, self._size), np.uint8)
            self._read[number] = page
        return self._read[number]

    def _fetch(self, number: int) -> Page:
        """A page that was written once, from memory or from the store."""
        mark = self._marks[number]
        page = REMEMBERED.get(mark)
        if page is None:
            found = self._store.get("page", str(number))
            data = intact(found, mark, self._mark, f"page {number} of shard {self._shard}")
            page = np.frombuffer(data, np.uint8).reshape(-1, self._size)
            REMEMBERED.put(mark, page)
        return page

    def _mark(self, data: bytes) -> bytes:
        """The fingerprint of a page: bytes alone do not tell where a model ends."""
        size = self._size.to_bytes(8, "little")
        return blake2b(data, digest_size=MARK, person=size).digest()

    def _split(
        self, slots: NDArray[np.int64]
    ) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """For each page: its number, which of the slots are on it, and where."""
        page, place = np.divmod(slots, self._per_page)
        order = np.argsort(page, kind="stable")
        numbers, begins = np.unique(page[order], return_index=True)
        parts = np.split(order, begins[1:])
        return [(int(n), part, place[part]) for n, part in zip(numbers, parts, strict=True)]
