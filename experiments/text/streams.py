"""The streams: the words of each text, hashed into 2^18 columns.

The settings of the sparse Tracker were chosen on ``SEEN``. Nothing was chosen on ``UNSEEN``; the
accuracy on ``spam_katakis`` with the default settings was seen while times were measured.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.data import data_folder
from experiments.real import open_dataset

SEEN = ("youtube", "sms", "enron1")
UNSEEN = ("spamassassin", "spam_katakis")
STREAMS = (*SEEN, *UNSEEN)
PARTS = ("subject", "text")


class Texts(NamedTuple):
    """Sparse rows, and labels -1 and +1 (spam)."""

    X: Any
    y: NDArray[np.float64]


@lru_cache(maxsize=2)
def texts(name: str, size: float = 1.0, ngrams: tuple[int, int] | None = None) -> Texts:
    """A stream of texts, its first rows by ``size``, as words and perhaps n-grams."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: set LASEC_DATA, or give --data")
    data = open_dataset(name, folder)
    parts = [data.features[part] for part in PARTS if part in data.features]
    rows = max(200, round(len(parts[0]) * size))
    joined = [" ".join(map(str, text)) for text in zip(*parts, strict=True)][:rows]
    y = np.where(np.asarray(data.columns[data.label])[:rows] == 1, 1.0, -1.0)
    return Texts(lasec.TextHasher(ngrams=ngrams).rows(joined), y)
