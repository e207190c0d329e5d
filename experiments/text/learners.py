"""The learners: what each predicts before a label comes, with the same budget and draws."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import lasec
from lasec.queries import Budgeted
from lasec.rules import SparseTracking
from lasec.selector import Selector

FEW = 0.1  # the share of the labels that is spread evenly over all rows; the default is 0.5
STEP = 0.1  # of gradient descent
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


def columns(X: Any, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The columns of a row, and the logarithm of its counts."""
    at = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[at], np.sign(X.data[at]) * np.log1p(np.abs(X.data[at]))


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
    pairs = zip(*(part.tolist() for part in columns(X, row)), strict=True)
    return "| " + " ".join(f"{c}:{v:.6g}" for c, v in pairs)


class ScikitLearn:
    """Scikit-learn's logistic regression by stochastic gradient descent, in steps of 0.1.

    Its own falling steps are less accurate here.
    """

    def __init__(self) -> None:
        from sklearn.linear_model import SGDClassifier  # noqa: PLC0415, as above

        self.model = SGDClassifier(
            loss="log_loss", learning_rate="constant", eta0=STEP, random_state=0
        )

    def margin(self, X: Any, row: int) -> float:
        """tanh of half the log odds; nothing is known before the first label."""
        if not hasattr(self.model, "coef_"):
            return 0.0
        at, values = columns(X, row)
        odds = float(self.model.coef_[0, at] @ values + self.model.intercept_[0])
        return float(np.tanh(odds / 2.0))

    def learn(self, X: Any, row: int, y: float) -> None:
        """One step."""
        at, values = columns(X, row)
        ends = np.array([0, at.size], dtype=np.int32)
        x = csr_array((values, at.astype(np.int32), ends), shape=(1, X.shape[1]))
        self.model.partial_fit(x, [y], classes=[-1.0, 1.0])


class River:
    """River's logistic regression in steps of 0.1; its own of 0.01 are less accurate here."""

    def __init__(self) -> None:
        from river import linear_model, optim  # noqa: PLC0415, as above

        self.model = linear_model.LogisticRegression(optimizer=optim.SGD(STEP))

    def margin(self, X: Any, row: int) -> float:
        """P(+1) - P(-1)."""
        return 2.0 * float(self.model.predict_proba_one(_words(X, row)).get(True, 0.5)) - 1.0

    def learn(self, X: Any, row: int, y: float) -> None:
        """One step."""
        self.model.learn_one(_words(X, row), y > 0.0)


def _words(X: Any, row: int) -> dict[int, float]:
    """A row as River reads it."""
    return dict(zip(*(part.tolist() for part in columns(X, row)), strict=True))


OURS, OURS_FEW = "Tracker", "Tracker, audit=0.1"
LEARNERS: dict[str, Callable[..., Outcome]] = {
    OURS: tracker,
    OURS_FEW: partial(tracker, audit=FEW),
    "Vowpal Wabbit": partial(peer, make=VowpalWabbit),
    "Vowpal Wabbit -l 2": partial(peer, make=partial(VowpalWabbit, 2.0)),
    "Vowpal Wabbit -l 8": partial(peer, make=partial(VowpalWabbit, 8.0)),
    "scikit-learn SGD, step 0.1": partial(peer, make=ScikitLearn),
    "River logistic, step 0.1": partial(peer, make=River),
}
PEERS = tuple(name for name in LEARNERS if not name.startswith(OURS))
SETTINGS = {
    "as it is": {},
    "step 1": {"step": 1.0},
    "step 2": {"step": 2.0},
    "step 8": {"step": 8.0},
    "rarity 0": {"rarity": 0.0},
    "rarity 1": {"rarity": 1.0},
    "level 0": {"level": 0.0},
    "level 1": {"level": 1.0},
    "length 0": {"length": 0.0},
    "length 0.05": {"length": 0.05},
    "length 0.2": {"length": 0.2},
    "tf-idf of length 1": {"rarity": 1.0, "level": 0.0, "length": 0.0},
    "counts as they are": {"rarity": 0.0, "level": 1.0, "length": 0.0},
    "prior 100": {"prior": 100.0},
}
