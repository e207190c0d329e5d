"""The learners: what each predicts before a label comes, with the same budget and draws."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import lasec
from lasec.queries import Budgeted
from lasec.rules import SparseTracking
from lasec.selector import Selector

FEW = 0.1  # the share of the labels that is spread evenly over all rows; the default is 0.5
_COMPILED = 30  # rows


class Outcome(NamedTuple):
    """Whether each row was right, how many labels it took, and CPU microseconds a row."""

    right: NDArray[np.bool_]
    labels: int
    microseconds: float


class Peer(Protocol):
    """A model that predicts one row of a sparse matrix, P(+1) - P(-1), and learns one label."""

    def margin(self, X: Any, row: int) -> float:
        """What the model says."""

    def learn(self, X: Any, row: int, y: float) -> None:
        """Learn a label."""


def tracker(
    X: Any, y: Any, rate: float, seed: int, audit: float | None = None, **settings: Any
) -> Outcome:
    """The sparse Tracker, as it is or with other settings."""
    rule = SparseTracking(**settings) if settings else None
    for rows in (slice(0, _COMPILED), slice(None)):
        made = lasec.Tracker(rate=rate, audit=audit, rule=rule, seed=seed)
        begin = time.process_time()
        records = made.run(X[rows], y[rows])
        spent = time.process_time() - begin
    return Outcome(~records.mistake, made.asked, 1e6 * spent / len(y))


def peer(X: Any, y: Any, rate: float, seed: int, make: Callable[[], Peer]) -> Outcome:
    """Another model, whose labels are asked by the same rule."""
    model, selector = make(), Selector(Budgeted(rate, audit=FEW), seed=seed)
    selector.decide(0.0)  # compiled before the time is taken
    selector = Selector(Budgeted(rate, audit=FEW), seed=seed)
    right, begin = np.empty(len(y), dtype=bool), time.process_time()
    for row in range(len(y)):
        margin = model.margin(X, row)
        right[row] = (margin >= 0.0) == (y[row] > 0.0)
        if selector.decide(margin)[1]:
            model.learn(X, row, y[row])
    return Outcome(right, selector.asked, 1e6 * (time.process_time() - begin) / len(y))


class VowpalWabbit:
    """Vowpal Wabbit with logistic loss; ``step`` is its learning rate."""

    def __init__(self, step: float = 0.5) -> None:
        from vowpalwabbit import Workspace  # noqa: PLC0415, not everybody has it

        self.model = Workspace(f"--loss_function logistic -b 18 -l {step} --quiet")

    def margin(self, X: Any, row: int) -> float:
        """tanh of half the log odds."""
        return float(np.tanh(self.model.predict(_example(X, row)) / 2.0))

    def learn(self, X: Any, row: int, y: float) -> None:
        """One step."""
        self.model.learn(f"{y:g} {_example(X, row)}")


def _example(X: Any, row: int) -> str:
    """A row as Vowpal Wabbit reads it."""
    at = slice(X.indptr[row], X.indptr[row + 1])
    columns, values = X.indices[at].tolist(), X.data[at]
    values = np.sign(values) * np.log1p(np.abs(values))
    return "| " + " ".join(f"{c}:{v:.6g}" for c, v in zip(columns, values, strict=True))


OURS, OURS_FEW = "Tracker", "Tracker, audit=0.1"
LEARNERS: dict[str, Callable[..., Outcome]] = {
    OURS: tracker,
    OURS_FEW: partial(tracker, audit=FEW),
    "Vowpal Wabbit": partial(peer, make=VowpalWabbit),
    "Vowpal Wabbit -l 2": partial(peer, make=partial(VowpalWabbit, 2.0)),
    "Vowpal Wabbit -l 8": partial(peer, make=partial(VowpalWabbit, 8.0)),
}
PEERS = tuple(name for name in LEARNERS if not name.startswith(OURS))
SETTINGS = {
    "as it is": {},
    "rarity 0": {"rarity": 0.0},
    "rarity 0.25": {"rarity": 0.25},
    "rarity 1": {"rarity": 1.0},
    "level 0": {"level": 0.0},
    "level 1": {"level": 1.0},
    "length 0": {"length": 0.0},
    "length 0.1": {"length": 0.1},
    "tf-idf of length 1": {"rarity": 1.0, "level": 0.0, "length": 0.0},
    "counts as they are": {"rarity": 0.0, "level": 1.0, "length": 0.0},
    "prior 100": {"prior": 100.0},
}
