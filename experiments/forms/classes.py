"""Many classes: one Tracker for all of them, against one for each class against the rest."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

import lasec
from experiments.forms.cells import Cell, gathered, measured
from experiments.forms.driven import driven
from experiments.forms.forests import LIBRARIES, forest, installed
from experiments.forms.labeled import labeled
from experiments.forms.rest import OneVsRest, replayed
from experiments.journal import Journal
from lasec.rules import Tracking

NAMES = ("stream", "rate", "seed", "size")
STREAMS = ("outdoor", "usps", "kdd", "covertype")
RATES = (0.05, 0.1, 0.3, 1.0)
FOREST_RATES = (0.1, 1.0)
DRAWS = 5


def native(stream: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """A Tracker of all classes, told as they come or given; one of two classes, for its time."""
    X, y = labeled(stream, seed, size)
    found = measured(Tracking(), X, y, rate, seed)
    signs = np.where(y == np.bincount(y).argmax(), 1, -1).astype(np.int8)
    binary = measured(Tracking(), X, signs, rate, seed)
    known = lasec.Tracker(rate=rate, horizon=len(y), seed=seed, classes=range(int(y.max()) + 1))
    started = time.process_time()
    records = known.run(X, y)
    taken = time.process_time() - started
    return {
        "d": X.shape[1],
        "classes": int(y.max()) + 1,
        "rows": len(y),
        **found,
        "known": round(records.accuracy, 6),
        "known_us": round(1e6 * taken / len(y), 2),
        "binary_us": binary["us"],
    }


@cache
def load() -> None:
    """Load the compiled code of the binary models, for rows of both kinds of width."""
    for dimension in (3, 200):
        X = np.random.default_rng(0).standard_normal((200, dimension))
        replayed(X, (X[:, 0] > 0.0).astype(np.int64), 2, np.ones(200, dtype=np.bool_))


def rest(stream: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """One Tracker for each class against the rest."""
    load()
    X, y = labeled(stream, seed, size)
    kinds = int(y.max()) + 1
    predicted, asked = driven(OneVsRest(X.shape[1], kinds), list(X), y, rate, seed)
    _, taken = replayed(X, y, kinds, asked)
    return {
        "rest": round(float(np.mean(predicted == y)), 6),
        "rest_labels": round(float(asked.mean()), 6),
        "rest_us": round(1e6 * taken / len(y), 2),
    }


def draws_of(stream: str, rate: float) -> int:
    """How many draws tell something: with all labels, only those of shuffled rows differ."""
    if rate == 1.0 and stream != "usps":
        return 1
    return DRAWS


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each stream, rate and draw."""
    cells: list[Cell] = [
        (stream, rate, seed, size)
        for stream in STREAMS
        for rate in RATES
        for seed in range(1, min(seeds, draws_of(stream, rate)) + 1)
    ]
    ours = gathered(journal, "all classes", native, NAMES, cells)
    theirs = gathered(journal, "one against the rest", rest, NAMES, cells)
    trees = forests(journal, size)
    return [
        {**a, **b, **{name: trees.get((name, *cell[:3])) for name in LIBRARIES}}
        for a, b, cell in zip(ours, theirs, cells, strict=True)
    ]


def forests(journal: Journal, size: float) -> dict[Cell, float | None]:
    """The accuracy of each forest on the first draw, by library, stream, rate and seed."""
    cells: list[Cell] = [
        (stream, rate, 1, size, library)
        for library in installed()
        for stream in STREAMS
        for rate in FOREST_RATES
    ]
    rows = gathered(journal, "forests", forest, (*NAMES, "library"), cells)
    return {(r["library"], r["stream"], r["rate"], r["seed"]): r["accuracy"] for r in rows}
