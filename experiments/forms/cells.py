"""What every part does: a timed run of a Tracker, and a row for each cell of a sweep."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import lasec
from experiments.forms.arrays import Matrix, Vector
from experiments.journal import Journal, Task
from lasec.nested import leaves
from lasec.rules import Tracking

Cell = tuple[Any, ...]


def uniforms(rows: int, seed: int) -> Vector:
    """The random draws of the queries, the same for every form."""
    return np.random.default_rng([seed, 2_026]).random(rows)


def kilobytes(learner: lasec.Learner) -> float:
    """The size of the model's arrays, in kB."""
    size: int = sum(array.nbytes for array in leaves(learner.state))
    return round(size / 1e3, 1)


@cache
def warm() -> None:
    """Load the compiled code of each form, so that no run is timed with it."""
    X = np.random.default_rng(0).standard_normal((300, 140))
    for block in (-1, 140, 0):
        for kinds in (2, 3):
            lasec.Tracker(rate=1.0, rule=Tracking(block=block), seed=0).run(X, _labels(X, kinds))


def _labels(X: Matrix, kinds: int) -> Any:
    return X[:, :kinds].argmax(axis=1)


def measured(
    rule: Tracking, X: Matrix, y: Any, rate: float, seed: int, draws: Vector | None = None
) -> dict[str, float]:
    """Accuracy, share of labels, CPU microseconds a row and kB of state of a Tracker."""
    warm()
    tracker = lasec.Tracker(rate=rate, horizon=len(y), rule=rule, seed=seed)
    started = time.process_time()
    records = tracker.run(X, y, draws=draws)
    taken = time.process_time() - started
    return {
        "accuracy": round(records.accuracy, 6),
        "labels": round(records.rate, 6),
        "us": round(1e6 * taken / len(y), 2),
        "kb": kilobytes(tracker),
    }


def gathered(
    journal: Journal,
    title: str,
    task: Callable[..., dict[str, Any]],
    names: Sequence[str],
    cells: Sequence[Cell],
) -> list[dict[str, Any]]:
    """A row for each cell: its arguments by name, and what the task gave."""
    tasks: list[Task] = [(task, cell) for cell in cells]
    found = journal.run(title, tasks)
    return [
        dict(zip(names, cell, strict=True)) | result
        for cell, result in zip(cells, found, strict=True)
    ]
