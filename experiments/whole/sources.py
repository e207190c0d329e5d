"""The five streams, whole: rows as their files have them, and rows as the papers' rules need them.

The codes of ``kdd`` (protocol, service, flag) are expanded to columns of 0 and 1: 118 columns. The
words of ``spam_katakis`` are hashed to 512 columns, each mail of length 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from experiments.benchmark.streams import standardised
from experiments.data import data_folder
from experiments.real import KNOWN, open_dataset
from lasec.streams import Stream

WIDTH = 512
LONG = 200_000  # rows from which on River runs once
LEAST = 400


class Source(NamedTuple):
    """How a stream is called in tables, whether its rows are hashed words, and its decimals."""

    title: str
    text: bool = False
    digits: int = 3


SOURCES = {
    "elec2": Source("Elec2"),
    "noaa": Source("NOAA weather"),
    "spam_katakis": Source("Katakis spam", text=True),
    "covertype": Source("Covertype"),
    "kdd": Source("KDD", digits=4),
}


def missing(name: str) -> str | None:
    """Why this stream cannot be read here, or None."""
    folder = data_folder()
    if folder is not None and (folder / KNOWN[name].file).exists():
        return None
    return f"stream {name} needs a folder with {KNOWN[name].file}: give --data, or set LASEC_DATA"


@lru_cache(maxsize=1)
def whole(name: str, size: float) -> Stream:
    """The stream, shortened to the share ``size``."""
    data = open_dataset(name, data_folder())
    stream = data.hashed(WIDTH) if SOURCES[name].text else data.one_hot().stream()
    rounds = max(LEAST, round(len(stream.y) * size))
    return Stream(stream.X[:rounds], stream.y[:rounds], stream.concept[:rounds])


@lru_cache(maxsize=1)
def scaled(name: str, size: float) -> Stream:
    """Its rows standardised as they come, with a constant; hashed words only get the constant.

    Standardised, the rare columns of the hashed words are the loudest, and every rule that was
    tried is worse for it.
    """
    stream = whole(name, size)
    if SOURCES[name].text:
        X = np.column_stack([stream.X, np.ones(len(stream.y))])
    else:
        X = standardised(stream.X)
    return Stream(X, stream.y, stream.concept)
