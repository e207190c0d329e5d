"""Models, several to a page, so that a batch that touches many of them needs few round trips.

A model is a fixed number of bytes in a slot; page n holds the slots from n * ``per_page`` on. Only
pages with a model that was asked for are read, and only pages with one that changed are written.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lasec.spark.store import Store

PAGE_BYTES = 2**17


def per_page(size: int) -> int:
    """How many models of ``size`` bytes share a page: as many as make 128 KB, and at least one.

    >>> per_page(10_600), per_page(1_000_000)
    (12, 1)
    """
    return max(1, PAGE_BYTES // size)


class Pages:
    """The pages of a shard that one batch has to do with.

    >>> from lasec.spark.store import PlainStore
    >>> pages = Pages(PlainStore(), size=4, per_page=2)
    >>> pages.save(np.array([0, 2]), np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8))
    >>> pages.load(np.array([2])).tolist()
    [[5, 6, 7, 8]]
    """

    def __init__(self, store: Store, size: int, per_page: int) -> None:
        self._store, self._size, self._per_page = store, size, per_page
        self._read: dict[int, NDArray[np.uint8]] = {}

    def load(self, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The models in these slots, a row each."""
        out = np.empty((slots.size, self._size), np.uint8)
        page, place = np.divmod(slots, self._per_page)
        for number in np.unique(page).tolist():
            here = np.flatnonzero(page == number)
            out[here] = self._page(number)[place[here]]
        return out

    def save(self, slots: NDArray[np.int64], models: NDArray[np.uint8]) -> None:
        """Put models into their slots, and write the pages that hold them."""
        page, place = np.divmod(slots, self._per_page)
        for number in np.unique(page).tolist():
            here = np.flatnonzero(page == number)
            held, wanted = self._page(number), int(place[here].max()) + 1
            if len(held) < wanted:
                held = np.concatenate([held, np.zeros((wanted - len(held), self._size), np.uint8)])
            held[place[here]] = models[here]
            self._read[number] = held
            self._store.put("page", str(number), held.tobytes())

    def _page(self, number: int) -> NDArray[np.uint8]:
        """A page, read once a batch."""
        if number not in self._read:
            data = self._store.get("page", str(number)) or b""
            self._read[number] = np.frombuffer(data, np.uint8).reshape(-1, self._size).copy()
        return self._read[number]
