"""Pages that were read or written lately: files on an executor's disk, shared by its workers.

A page is named by its fingerprint, and the index of its shard says which one is wanted: so a file
is only ever taken if it is the very page that the state store would give, whatever was replayed or
moved to another machine meanwhile. Any Python worker of the executor may be handed any shard, and
Spark ends workers that have been idle for a minute: what they know in common lasts as long as the
executor. The files are in its private directory, which Spark deletes with it; the operating system
keeps them in memory where there is room.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Data = NDArray[np.uint8]
SHARE = 16  # a worker looks how full the cache is after each sixteenth of the limit that it added


class PageCache:
    """Pages in a directory, in about ``limit`` bytes; 0 keeps nothing.

    >>> import tempfile
    >>> cache = PageCache(tempfile.mkdtemp(), limit=100)
    >>> cache.put(b"a", b"first")
    >>> cache.get(b"a").tobytes(), cache.get(b"b") is None
    (b'first', True)
    >>> for number in range(50):
    ...     cache.put(bytes([number]), b"a page of 20 bytes..")
    >>> 50 < cache.size() <= 100
    True
    """

    def __init__(self, folder: str = "", limit: int = 0) -> None:
        self.folder, self.limit = folder, limit
        self._random, self._added = random.Random(), 0  # noqa: S311 - nothing secret

    def open(self, limit: int) -> None:
        """Keep pages where this executor keeps its files, as Spark says."""
        local = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
        self.folder, self.limit = os.path.join(local, "lasec-pages"), limit if local else 0

    def get(self, mark: bytes) -> Data | None:
        """The page with this fingerprint, if it is there."""
        try:
            return np.fromfile(self._path(mark), np.uint8) if self.limit else None
        except OSError:
            return None

    def put(self, mark: bytes, page: bytes) -> None:
        """Keep a page; where that fails, as on a full disk, it will be read from the state."""
        if len(page) > self.limit:
            return
        draft = Path(self.folder, f"{os.getpid()}.draft")
        with suppress(OSError):
            draft.parent.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(page)
            draft.replace(self._path(mark))
        self._added += len(page)
        if self._added > self.limit // SHARE:
            self._added = 0
            self._make_room()

    def forget(self, mark: bytes) -> None:
        """A page that was replaced is of no use any more."""
        if self.limit:
            with suppress(OSError):
                os.unlink(self._path(mark))

    def size(self) -> int:
        """How many bytes are kept."""
        return sum(self._sizes().values())

    def _make_room(self) -> None:
        """Delete pages at random: each batch may touch all of them, and then none is the oldest."""
        sizes = self._sizes()
        names, total = list(sizes), sum(sizes.values())
        self._random.shuffle(names)
        while total > self.limit - self.limit // SHARE:
            name = names.pop()
            total -= sizes[name]
            with suppress(OSError):
                os.unlink(name)

    def _sizes(self) -> dict[str, int]:
        """The bytes of each file; another worker may delete one meanwhile."""
        sizes = dict[str, int]()
        with suppress(OSError):
            for entry in os.scandir(self.folder):
                with suppress(OSError):
                    sizes[entry.path] = entry.stat().st_size
        return sizes

    def _path(self, mark: bytes) -> str:
        return os.path.join(self.folder, mark.hex())


CACHE = PageCache()  # of this process
