"""Feature hashing: every token and category gets one of so many hash buckets, and a sign.

K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg. Feature Hashing for Large Scale
Multitask Learning. ICML, 2009. Values that collide in a bucket disturb each other a little; signs
make that zero on average. Buckets depend on the values alone, in every process and version.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.text import HashedColumns, words_of
from lasec.types import Matrix


class HashBuckets:
    """The hash buckets of values: one of ``count`` columns, and a sign.

    >>> buckets = HashBuckets(8)
    >>> bucket, sign = buckets.of("shop", "north")
    >>> 0 <= bucket < 8, sign in (-1.0, 1.0), buckets.of("shop", "north") == (bucket, sign)
    (True, True, True)
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._hashed = HashedColumns(count)

    def of(self, column: str, name: str) -> tuple[int, float]:
        """Bucket and sign of a value of a column."""
        return self._hashed.of(f"{column}\x1f{name}")

    def categories(
        self, column: str, values: pa.Array, out: Matrix, rows: NDArray[np.intp]
    ) -> None:
        """Add the bucket of the category of each of these ``rows``."""
        coded = values.fill_null("").dictionary_encode()
        buckets = [self.of(column, name) for name in coded.dictionary.to_pylist()]
        at, sign = (np.array(part) for part in zip(*buckets, strict=True))
        codes = coded.indices.to_numpy(zero_copy_only=False)
        out[rows, at[codes]] += sign[codes]

    def texts(self, columns: Sequence[pa.Array], out: Matrix) -> None:
        """Add the buckets of each row's tokens, each token once, so that the row has length one.

        A token has the same bucket in every column: a row of several texts is one text.
        """
        for i, parts in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
            tokens = set(words_of(" ".join(filter(None, parts))))
            if tokens:
                at, sign = (
                    np.array(p) for p in zip(*(self.of("", t) for t in tokens), strict=True)
                )
                out[i] += np.bincount(at, sign, self.count) / np.sqrt(len(tokens))
