"""The streams of the study, in three groups.

``linear``: synthetic ones whose truth is linear, where lenses can only cost. ``built on``: real
ones that were looked at while the lenses were built. ``unseen``: real ones that were not. Rows are
in the order of their file, and the same for every seed: seeds draw the queries and the maps. Of a
synthetic stream every seed is another draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import data_folder
from lasec.streams import stationary, switching, walking

ROWS, LATER = 12_000, 300_000
SEGMENT = 19_034  # draw 1 of the benchmark begins here
DIMENSION, LINEAR_ROWS = 50, 10_000
Labels = NDArray[np.bool_]


class Labeled(NamedTuple):
    """Rows, and their labels, -1 or +1."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


class File(NamedTuple):
    """A file, which of its rows, and which labels are positive."""

    file: str
    rows: slice
    positive: Callable[[NDArray[np.int64]], Labels]


def _is(label: int) -> Callable[[NDArray[np.int64]], Labels]:
    return lambda y: y == label


FIRST = slice(0, ROWS)
BUILT_ON = {
    "covertype": File("covertype.npz", FIRST, _is(2)),
    "covertype, rows 19,034-": File("covertype.npz", slice(SEGMENT, SEGMENT + ROWS), _is(2)),
    "noaa": File("noaa_weather.npz", FIRST, _is(1)),
    "elec2": File("elec2.npz", FIRST, _is(1)),
    "phishing": File("phishing_websites.npz", FIRST, _is(1)),
    "powersupply": File("powersupply.npz", FIRST, lambda y: (y >= 8) & (y < 20)),
    "outdoor": File("outdoor.npz", FIRST, lambda y: y % 2 == 1),
}
UNSEEN = {
    "covertype, rows 300,000-": File("covertype.npz", slice(LATER, LATER + ROWS), _is(2)),
    "flights": File("nycflights13.npz", FIRST, _is(1)),
    "kdd, every 40th row": File("kddcup99_10percent.npz", slice(0, None, 40), _is(1)),
    "phishing_river": File("phishing_river.npz", FIRST, _is(1)),
    "usenet1": File("usenet1.npz", FIRST, _is(1)),
    "usenet2": File("usenet2.npz", FIRST, _is(1)),
}
LINEAR = ("switching", "slow", "still")
GROUPS = {"linear": LINEAR, "built on": tuple(BUILT_ON), "unseen": tuple(UNSEEN)}
FILES = BUILT_ON | UNSEEN


@lru_cache(maxsize=4)
def draw(name: str, seed: int, size: float = 1.0) -> Labeled:
    """The rows of a stream, shortened to the share ``size``."""
    if name in LINEAR:
        rows = max(400, round(LINEAR_ROWS * size))
        made = _linear(name, rows, seed)
        return Labeled(made[0], made[1].astype(np.int64))
    X, y = _file(name)
    count = max(400, round(len(y) * size))
    return Labeled(X[:count], y[:count])


def _linear(name: str, rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    if name == "switching":
        X, y = switching(rows, dimension=DIMENSION, every=1_000, seed=seed)
    elif name == "slow":
        X, y = walking(rows, dimension=DIMENSION, speed=0.03, seed=seed)
    else:
        X, y = stationary(rows, dimension=DIMENSION, seed=seed)
    return X, y


@lru_cache(maxsize=16)
def _file(name: str) -> Labeled:
    known, folder = FILES[name], data_folder()
    if folder is None:
        raise FileNotFoundError(f"{known.file}: there is no folder of data; set LASEC_DATA")
    with np.load(folder / known.file) as data:
        X, y = data["X"][known.rows], data["y"][known.rows].astype(np.int64)
    signs = np.where(known.positive(y), 1, -1)
    return Labeled(np.ascontiguousarray(X, dtype=np.float64), signs)
