"""Words and categories as numbers: each gets one of so many places, and a sign.

K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg. Feature Hashing for Large Scale
Multitask Learning. ICML, 2009. Two names in one place spoil each other a little; signs make that
come out even on average. The places depend on the names alone, in every process and version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from lasec.types import Matrix

_WORD = re.compile(r"\w+")
_ROOM = 200_000  # names whose places are remembered


class Places:
    """The places of names among ``width`` columns.

    >>> places = Places(width=8)
    >>> place, sign = places.of("shop", "north")
    >>> 0 <= place < 8, sign in (-1.0, 1.0), places.of("shop", "north") == (place, sign)
    (True, True, True)
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._known: dict[tuple[str, str], tuple[int, float]] = {}

    def of(self, column: str, name: str) -> tuple[int, float]:
        """Place and sign of a name in a column."""
        found = self._known.get((column, name))
        if found is None:
            digest = blake2b(f"{column}\x1f{name}".encode("utf-8", "replace"), digest_size=8)
            number = int.from_bytes(digest.digest(), "little")
            found = (number >> 1) % self.width, 1.0 if number & 1 else -1.0
            if len(self._known) >= _ROOM:
                self._known.clear()
            self._known[column, name] = found
        return found

    def categories(self, column: str, values: pa.Array, out: Matrix) -> None:
        """Add one place a row: that of the row's category."""
        coded = values.fill_null("").dictionary_encode()
        places = [self.of(column, name) for name in coded.dictionary.to_pylist()]
        at, sign = (np.array(part) for part in zip(*places, strict=True))
        codes = coded.indices.to_numpy(zero_copy_only=False)
        out[np.arange(len(out)), at[codes]] += sign[codes]

    def texts(self, columns: Sequence[pa.Array], out: Matrix) -> None:
        """Add the places of each row's words, each word once, so that the row has length one.

        A word has the same place in every column: a row of several texts is one text.
        """
        for i, parts in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
            words = set(_WORD.findall(" ".join(filter(None, parts)).lower()))
            if words:
                at, sign = (np.array(p) for p in zip(*(self.of("", w) for w in words), strict=True))
                out[i] += np.bincount(at, sign, self.width) / np.sqrt(len(words))
