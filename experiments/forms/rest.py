"""One Tracker for each class against the rest, on one label budget.

The probabilities of the classes told so far are divided by their sum. The lead of the best over the
second decides about the query, as in all of lasec. A label is learned by every Tracker.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.forms.arrays import Matrix, Vector
from lasec.queries import Always, Uniform
from lasec.rules import Tracking

ALWAYS = Always()


class OneVsRest:
    """A binary Tracker for each class, with the methods of a River classifier."""

    def __init__(self, dimension: int, kinds: int) -> None:
        self.learners = [_binary(dimension, ALWAYS) for _ in range(kinds)]
        self.told = np.zeros(kinds, dtype=np.bool_)
        self.shares = np.zeros(kinds)

    def predict_proba_one(self, x: dict[int, float]) -> dict[int, float]:
        """The probabilities of the classes told so far; the row counts as seen."""
        row = np.array(list(x.values()))
        margins = np.array([learner.ask(row).margin for learner in self.learners])
        self.shares = normalized(margins[None], self.told)[0]
        return {int(kind): float(self.shares[kind]) for kind in np.flatnonzero(self.told)}

    def predict_one(self, x: dict[int, float]) -> int | None:
        """The best class of the row that was seen last."""
        return int(self.shares.argmax()) if self.told.any() else None

    def learn_one(self, x: dict[int, float], y: int) -> None:
        """Tell every Tracker about the row that was seen last."""
        for kind, learner in enumerate(self.learners):
            learner.tell(learner.pending[0], 1 if kind == y else -1)
        self.told[y] = True


def _binary(dimension: int, query: Always | Uniform) -> lasec.Learner:
    """The model of a Tracker of two classes, that is queried as it is told to."""
    return lasec.Learner(
        Tracking(), query, dimension=dimension, learn_from="labels", seed=0, max_pending=1
    )


def normalized(margins: Matrix, told: NDArray[np.bool_]) -> Matrix:
    """The probabilities of one against the rest, divided by their sum over the told classes."""
    chances = np.where(told, (1.0 + margins) / 2.0, 0.0)
    total = chances.sum(axis=1, keepdims=True)
    np.divide(chances, total, out=chances, where=total > 0.0)
    return chances


def replayed(X: Matrix, y: Any, kinds: int, asked: NDArray[np.bool_]) -> tuple[Matrix, float]:
    """The margins of the same Trackers in compiled code, and the CPU seconds of all.

    The queried rows are given, so that no time goes into Python.
    """
    draws: Vector = np.where(asked, 0.0, 0.999)
    margins, taken = np.empty((len(y), kinds)), 0.0
    for kind in range(kinds):
        signs = np.where(y == kind, 1, -1).astype(np.int8)
        learner = _binary(X.shape[1], Uniform(0.5))
        started = time.process_time()
        margins[:, kind] = learner.run(X, signs, draws=draws).margin
        taken += time.process_time() - started
    return margins, taken
