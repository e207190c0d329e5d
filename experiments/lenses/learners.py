"""One run of a learner: accuracy, labels and CPU time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import lasec
from experiments.forms import forests
from experiments.lenses.streams import draw
from lasec.rules import Lenses

TRACKER, OURS, FOREST = "Tracker", "lenses", "forest"
TREES = 30
_FIRST = 20  # rows that compile, and are not timed


def tracker(learner: str, dimension: int, rate: float, seed: int) -> lasec.Tracker:
    """The Tracker, with lenses whose maps are drawn by the seed, or without."""
    rule = Lenses(map_seed=seed) if learner == OURS else None
    return lasec.Tracker(dimension, rate=rate, rule=rule, seed=seed)


def one(stream: str, learner: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """A Tracker on a stream; of lenses, the weights at the end and how many sleep."""
    X, y = draw(stream, seed, size)
    tracker(learner, X.shape[1], rate, seed).run(X[:_FIRST], y[:_FIRST])
    model = tracker(learner, X.shape[1], rate, seed)
    started = time.process_time()
    records = model.run(X, y)
    taken = time.process_time() - started
    lensed = learner == OURS
    return {
        "accuracy": round(float(np.mean(records.label == y)), 6),
        "labels": round(records.rate, 6),
        "us": round(1e6 * taken / len(y), 2),
        "raw": round(float(model.state.omega[0]), 4) if lensed else 1.0,
        "asleep": int((model.state.omega[1:] == 0.0).sum()) if lensed else 0,
    }


def forest(stream: str, rate: float, seed: int, size: float, library: str) -> dict[str, Any]:
    """An adaptive random forest of 30 trees on the label budget of a Tracker."""
    X, y = draw(stream, seed, size)
    found = forests.measured(X, (y > 0).astype(np.int64), rate, seed, library, trees=TREES)
    return found | {"raw": 0.0, "asleep": 0}
