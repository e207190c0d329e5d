"""The streams of the benchmark: draw 0 is for tuning, draws 1, 2, ... are for measuring.

Draws of the synthetic streams and of ``usps`` are independent of each other. ``elec2``,
``covertype`` and ``kdd`` are long files, of which each draw is another segment. ``noaa``,
``usenet1``, ``usenet2`` and ``phishing`` have the same rows in every draw: only the coins of the
learners differ, and whatever is tuned is tuned on the very rows that it is measured on. That
favours the tuned learners over one that has nothing to tune. Rows are as the files have them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.data import data_folder, set_data
from experiments.real import KNOWN
from lasec.streams import Stream, recurring, stationary, switching, walking

SEGMENT = 10_000
SEGMENTS = 30  # steps between the first segment of a file and the last
RARER = 50  # rows of the rarer label that a segment of kdd has at least
SLOW, FASTER = 0.03, 0.06  # LASEC with every label is right in about .86 and .79 of the rows


class Source(NamedTuple):
    """How many rows, the stream of so many rows in a draw, and the file it needs."""

    rows: int
    draw: Callable[[int, int], Stream]
    file: str | None = None

    @property
    def real(self) -> bool:
        """Whether its rows are of a real dataset, whose columns have units of their own."""
        return self.file is not None


def draw(name: str, seed: int, size: float = 1.0) -> Stream:
    """Draw ``seed`` of a stream, the same for every learner, shortened to the share ``size``."""
    return prepared(name, seed, size, False)


@lru_cache(maxsize=4)
def prepared(name: str, seed: int, size: float, standardise: bool) -> Stream:
    """The draw, its rows as they are or standardised; kept, so that learners can share it."""
    if standardise:
        stream = prepared(name, seed, size, False)
        return Stream(standardised(stream.X), stream.y, stream.concept)
    source = STREAMS[name]
    return source.draw(max(20, round(source.rows * size)), seed)


def standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows less the mean of the rows so far, over their standard deviation, and a constant 1.

    The row itself counts: it is known before its label. The constant stands in for an intercept,
    which centred rows need more than others. A column that has not changed yet is 0.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    shifted = X - X[:1]  # the variance is then not a small difference of large numbers
    count = np.arange(1, len(X) + 1)[:, None]
    mean = np.cumsum(shifted, axis=0) / count
    variance = np.cumsum(shifted**2, axis=0) / count - mean**2
    known = variance > 1e-12 * (mean**2 + 1e-300)
    scaled = (shifted - mean) / np.sqrt(np.where(known, variance, 1.0))
    return np.column_stack([np.where(known, scaled, 0.0), np.ones(len(X))])


def missing(name: str) -> str | None:
    """Why this stream cannot be drawn here, or None."""
    file, folder = STREAMS[name].file, data_folder()
    if file is None or (folder is not None and (folder / file).exists()):
        return None
    return f"stream {name} needs a folder with {file}: give --data, or set LASEC_DATA"


@lru_cache(maxsize=2)
def _file(path: Path) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    with np.load(path) as data:
        return data["X"], data["y"]  # codes of categories are numbers here


def _rows(name: str) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """The rows of a known stream, and which of them are positive."""
    known, folder = KNOWN[name], data_folder()
    if folder is None:
        raise FileNotFoundError(f"{known.file}: there is no folder of data; set LASEC_DATA")
    X, y = _file(folder / known.file)
    return X, y == known.positive


def _stream(X: NDArray[np.generic], positive: NDArray[np.bool_]) -> Stream:
    y = np.where(positive, 1, -1).astype(np.int8)
    return Stream(np.ascontiguousarray(X, dtype=np.float64), y, np.zeros(len(y), dtype=np.int64))


def _switch(rounds: int, seed: int, noise: float = 0.0) -> Stream:
    return switching(rounds, dimension=50, every=datasets.EVERY, noise=noise, seed=seed)


def _walk(rounds: int, seed: int, speed: float) -> Stream:
    return walking(rounds, dimension=50, speed=speed, seed=seed)


def _still(rounds: int, seed: int, noise: float = 0.0) -> Stream:
    return stationary(rounds, dimension=50, noise=noise, seed=seed)


def _recurring(rounds: int, seed: int) -> Stream:
    return recurring(rounds, dimension=50, every=datasets.EVERY, concepts=4, seed=seed)


def _usps(rounds: int, seed: int) -> Stream:
    folder = data_folder()
    set_data(None if folder is None else str(folder))
    return datasets.DATASETS["usps"].draw(rounds, seed)


def _whole(rounds: int, seed: int, name: str) -> Stream:
    X, positive = _rows(name)
    return _stream(X[:rounds], positive[:rounds])


def _segment(rounds: int, seed: int, name: str, rarer: int = 0) -> Stream:
    X, positive = _rows(name)
    first = segment_start(positive, seed, rarer)
    return _stream(X[first : first + rounds], positive[first : first + rounds])


def segment_start(positive: NDArray[np.bool_], seed: int, rarer: int) -> int:
    """Where a segment begins: ``seed`` steps into the file, or further on.

    If the segment there has fewer than ``rarer`` rows of its rarer label, the next one of those
    that begin a multiple of 1,000 rows later is taken, and after the last the first.
    """
    last = len(positive) - SEGMENT
    start = round(seed % (SEGMENTS + 1) / SEGMENTS * last)
    for step in range(0, last + 1, 1_000):
        first = (start + step) % (last + 1)
        share = int(positive[first : first + SEGMENT].sum())
        if min(share, SEGMENT - share) >= rarer:
            return first
    raise ValueError(f"no segment has {rarer} rows of each label")


def _file_source(name: str) -> Source:
    known = KNOWN[name]
    return Source(known.rows, partial(_whole, name=name), known.file)


def _segments(name: str, rarer: int = 0) -> Source:
    return Source(SEGMENT, partial(_segment, name=name, rarer=rarer), KNOWN[name].file)


STREAMS = {
    "switch": Source(10_000, _switch),
    "switch-noise": Source(10_000, partial(_switch, noise=0.1)),
    "slow": Source(10_000, partial(_walk, speed=SLOW)),
    "faster": Source(10_000, partial(_walk, speed=FASTER)),
    "stationary": Source(10_000, _still),
    "stationary-noise": Source(10_000, partial(_still, noise=0.1)),
    "recurring": Source(10_000, _recurring),
    "usps": Source(9_298, _usps, "usps.npz"),
    "elec2": _segments("elec2"),
    "noaa": _file_source("noaa"),
    "covertype": _segments("covertype"),
    "kdd": _segments("kdd", rarer=RARER),
    "usenet1": _file_source("usenet1"),
    "usenet2": _file_source("usenet2"),
    "phishing": _file_source("phishing"),
}
