"""Any classifier on the label budget of a Tracker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import lasec
from lasec.session import around


class Model(Protocol):
    """A classifier with the methods of River's; classes are numbers from 0."""

    def predict_proba_one(self, x: Any) -> dict[int, float]:
        """The probability of each class that is known."""

    def predict_one(self, x: Any) -> int | None:
        """The class; asked right after the probabilities of the same row."""

    def learn_one(self, x: Any, y: int) -> None:
        """Learn a label."""


def driven(
    model: Model, rows: Sequence[Any], y: NDArray[np.int64], rate: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Predicted classes (-1 before any is known), and which rows were queried."""
    query = lasec.Tracker(rate=rate, horizon=len(y)).query
    session = lasec.Session(around(model, query=query, seed=seed))
    predicted, asked = np.full(len(y), -1), np.zeros(len(y), dtype=np.bool_)
    for t, (x, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        decision: Any = session.ask(x)
        predicted[t] = -1 if decision.label is None else decision.label
        asked[t] = decision.asked
        if decision.asked:
            session.tell(decision.ticket, label)
    return predicted, asked
