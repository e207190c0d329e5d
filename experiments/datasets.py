"""The paper's two datasets, one stream a run: run 0 is for tuning, runs 1, 2, ... for measuring."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from experiments import digests
from experiments.data import data_folder
from lasec.streams import Stream, shifting_classes, stationary, switching, usps

EVERY = 500
TUNING = 0


class DigitsError(Exception):
    """The USPS digits are neither in a folder nor to be had from OpenML."""


class Dataset(NamedTuple):
    """How many rows it has, and its stream of so many rows in a run."""

    rows: int
    draw: Callable[[int, int], Stream]


def draw(name: str, run: int, size: float = 1.0) -> Stream:
    """The stream of run ``run``: the same for every algorithm."""
    dataset = DATASETS[name]
    return dataset.draw(max(20, round(dataset.rows * size)), run)


@lru_cache
def behind(name: str) -> str:
    """A digest of what a dataset comes from: the code that draws it, and the rows of a file."""
    return digests.code(switching.__module__, digests.CHECKS) + checksum(name)[:12]


@lru_cache
def checksum(name: str) -> str:
    """The SHA-256 of the rows of a file, as float64, and of their digits; empty where none is."""
    if name != "usps":
        return ""
    X, digits = _digits()
    return hashlib.sha256(X.tobytes() + digits.tobytes()).hexdigest()


def _synthetic(rounds: int, run: int) -> Stream:
    return switching(rounds, dimension=50, every=EVERY, seed=run)


def _stationary(rounds: int, run: int) -> Stream:
    return stationary(rounds, dimension=50, seed=run)


def _usps(rounds: int, run: int) -> Stream:
    X, digits = _digits()
    whole = shifting_classes(X, digits, every=EVERY, seed=run)
    return Stream(whole.X[:rounds], whole.y[:rounds], whole.concept[:rounds])


@lru_cache(maxsize=1)
def _digits():  # type: ignore[no-untyped-def]
    try:
        return usps(os.environ.get("LASEC_DATA") or data_folder())
    except (OSError, ImportError) as error:  # no such file, no network, no scikit-learn
        raise DigitsError(
            "the USPS digits are not here and could not be fetched: give --data FOLDER"
        ) from error


DATASETS = {
    "synthetic": Dataset(10_000, _synthetic),
    "stationary": Dataset(10_000, _stationary),
    "usps": Dataset(9_298, _usps),
}
