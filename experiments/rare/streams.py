"""Streams with few positives: draws from 1 on are for measuring, those from 101 on for settings.

A *separable* stream is positive on one side of a plane far from the mean, a *noisy* one has
positives whose mean lies 2.5 standard deviations away from that of the others; where it drifts, the
direction walks at random. Of the network connections of ``kdd``, the normal ones are kept with one
kind of attack that is rare; of the mails, all ham with 1 % spam, drawn at random from the rest. A
draw of ``kdd`` has the same rows as every other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import data_folder
from experiments.real import open_dataset
from lasec.streams import walking

DIMENSION, SPEED, APART, WIDTH = 10, 0.003, 2.5, 256
ROWS = {0.01: 20_000, 0.001: 50_000}
KDD = {0.01: ("warezclient",), 0.001: ("guess_passwd", "buffer_overflow", "warezmaster", "imap")}
SYNTHETIC = ("separable", "separable, drifting", "noisy", "noisy, drifting")
REAL = {"KDD": (0.01, 0.001), "Katakis spam": (0.01,), "Enron spam": (0.01,)}
FILES = {"Katakis spam": "spam_katakis", "Enron spam": "enron1"}


class Rare(NamedTuple):
    """Rows, and whether each is positive."""

    X: NDArray[np.float64]
    y: NDArray[np.bool_]


@lru_cache(maxsize=2)
def draw(name: str, share: float, seed: int, size: float = 1.0) -> Rare:
    """A draw of a stream with this share of positives, its first rows by ``size``."""
    made = _SOURCES[name](share, seed)
    rows = max(400, round(len(made.y) * size))
    return Rare(np.ascontiguousarray(made.X[:rows]), made.y[:rows])


def cells(real: bool) -> list[tuple[str, float]]:
    """The streams and their shares of positives."""
    found = [(name, share) for name in SYNTHETIC for share in ROWS]
    return found + [(name, share) for name in REAL for share in REAL[name] if real]


def _plane(share: float, seed: int, *, speed: float) -> Rare:
    """Positive where x'u is beyond the quantile of the share."""
    stream: Any = walking(ROWS[share], dimension=DIMENSION, speed=speed, seed=seed)
    score = np.einsum("td,td->t", stream.X, stream.target)
    return Rare(stream.X, score > NormalDist().inv_cdf(1.0 - share))


def _shifted(share: float, seed: int, *, speed: float) -> Rare:
    """Positive rows lie ``APART`` further along u."""
    stream: Any = walking(ROWS[share], dimension=DIMENSION, speed=speed, seed=seed)
    y = np.random.default_rng([seed, 1]).random(len(stream.X)) < share
    return Rare(stream.X + APART * y[:, None] * stream.target, y)


def _kdd(share: float, seed: int) -> Rare:
    """Normal connections, with the attacks of some kinds."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("kdd: set LASEC_DATA, or give --data")
    with np.load(folder / "kddcup99_10percent.npz") as file:
        kinds = file["attack_names"][file["attack"]]
    kept = np.isin(kinds, ("normal", *KDD[share]))
    X = open_dataset("kdd", folder).one_hot().stream().X[kept]
    return Rare(X[:, X.min(axis=0) < X.max(axis=0)], kinds[kept] != "normal")


def _mails(share: float, seed: int, *, name: str) -> Rare:
    """All ham, and so many of the spam, in the order of the stream."""
    stream = _hashed(name)
    spam, rng = np.flatnonzero(stream.y > 0), np.random.default_rng([seed, 2])
    count = round(share / (1.0 - share) * int(np.sum(stream.y < 0)))
    kept = np.union1d(np.flatnonzero(stream.y < 0), rng.choice(spam, count, replace=False))
    return Rare(stream.X[kept], stream.y[kept] > 0)


@lru_cache(maxsize=1)
def _hashed(name: str) -> Any:
    return open_dataset(name, data_folder()).hashed(WIDTH)


_SOURCES: dict[str, Callable[[float, int], Rare]] = {
    "separable": partial(_plane, speed=0.0),
    "separable, drifting": partial(_plane, speed=SPEED),
    "noisy": partial(_shifted, speed=0.0),
    "noisy, drifting": partial(_shifted, speed=SPEED),
    "KDD": _kdd,
    **{title: partial(_mails, name=name) for title, name in FILES.items()},
}
