"""Adaptive random forests on the label budget of a Tracker: River's, and MOA's through CapyMOA.

A forest of ten trees with the settings of its library. The lead of the best class over the second
decides about the query.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.forms.arrays import Matrix
from experiments.forms.driven import driven
from experiments.forms.labeled import labeled

TREES = 10
LIBRARIES = {"river": "river", "moa": "capymoa"}


def installed() -> list[str]:
    """The libraries that are there."""
    return [name for name, package in LIBRARIES.items() if find_spec(package) is not None]


def forest(stream: str, rate: float, seed: int, size: float, library: str) -> dict[str, Any]:
    """Accuracy, share of labels and CPU time of a forest."""
    X, y = labeled(stream, seed, size)
    return measured(X, y, rate, seed, library)


def measured(
    X: Matrix, y: NDArray[np.int64], rate: float, seed: int, library: str, trees: int = TREES
) -> dict[str, Any]:
    """Accuracy, share of labels and CPU time of a forest on rows whose classes count from 0."""
    model, rows = (_river if library == "river" else moa)(X, y, seed, trees)
    started = time.process_time()
    predicted, asked = driven(model, rows, y, rate, seed)
    taken = time.process_time() - started
    return {
        "accuracy": round(float(np.mean(predicted == y)), 6),
        "labels": round(float(asked.mean()), 6),
        "us": round(1e6 * taken / len(y), 1),
    }


def _river(X: Matrix, y: NDArray[np.int64], seed: int, trees: int = TREES) -> tuple[Any, list[Any]]:
    from river import forest as forests  # noqa: PLC0415

    model = forests.ARFClassifier(n_models=trees, seed=seed)
    return model, [dict(enumerate(x)) for x in X.tolist()]


def moa(X: Matrix, y: NDArray[np.int64], seed: int, trees: int = TREES) -> tuple[Any, list[Any]]:
    """MOA's forest, and the rows as it takes them."""
    from capymoa.classifier import AdaptiveRandomForestClassifier  # noqa: PLC0415
    from capymoa.stream import NumpyStream  # noqa: PLC0415

    source = NumpyStream(X, y, target_type="categorical")
    schema = source.get_schema()
    model = AdaptiveRandomForestClassifier(schema, ensemble_size=trees, random_seed=seed)
    return _Moa(model), [source.next_instance() for _ in range(len(y))]


class _Moa:
    """MOA's forest with the methods of a River classifier; its rows know their labels."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.best: int | None = None

    def predict_proba_one(self, x: Any) -> dict[int, float]:
        found = self.model.predict_proba(x)
        shares = {} if found is None else dict(enumerate(map(float, found)))
        self.best = max(shares, key=shares.__getitem__) if shares else None
        return shares

    def predict_one(self, x: Any) -> int | None:
        return self.best

    def learn_one(self, x: Any, y: int) -> None:
        self.model.train(x)
