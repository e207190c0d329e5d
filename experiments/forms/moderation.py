"""Content moderation in small: five classes, wide rows, few labels, and late answers.

Rows have length 1 and a power-law spectrum. The class is the largest of five linear scores with
noise. In the drifting form the weights of the scores do a slow random walk. The peer is a logistic
regression that is fitted again to all labels told so far, whose rows are drawn uniformly; until
there are ``EVERY`` labels it is fitted after every ``FIRST``, then after every ``EVERY``.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.forms.arrays import Matrix
from experiments.forms.cells import Cell, gathered
from experiments.forms.spectra import components, rotation, unit
from experiments.journal import Journal

NAMES = ("d", "drifting", "seed", "size")
KINDS = 5
RATE, DELAY, BEFORE = 0.02, 2_000, 2_000
ROWS = {128: 40_000, 768: 40_000}
DRAWS = 3
NOISE = 0.45  # of the standard deviation of the scores
HALF_LIFE, STEP = 10_000, 50  # rows in which half the concept is replaced; rows between two steps
EVERY, FIRST = 50, 10


class Posts(NamedTuple):
    """Rows, their classes, and what is best to predict if the concept is known."""

    X: Matrix
    y: NDArray[np.int64]
    best: NDArray[np.int64]


@lru_cache(maxsize=1)
def posts(d: int, drifting: bool, seed: int, size: float) -> Posts:
    """The stream of a seed."""
    rng, rows = np.random.default_rng([seed, d]), max(500, round(ROWS[d] * size))
    X = unit(components(rows, d, rng) @ rotation(d, rng).T)
    weights, kept = rng.standard_normal((d, KINDS)), 0.5 ** (STEP / HALF_LIFE)
    scores = np.empty((rows, KINDS))
    for begin in range(0, rows, STEP):
        scores[begin : begin + STEP] = X[begin : begin + STEP] @ weights
        if drifting:
            fresh = rng.standard_normal((d, KINDS))
            weights = np.sqrt(kept) * weights + np.sqrt(1.0 - kept) * fresh
    noise = NOISE * scores.std() * rng.standard_normal(scores.shape)
    return Posts(X, (scores + noise).argmax(axis=1), scores.argmax(axis=1))


def tracker(d: int, drifting: bool, seed: int, size: float) -> dict[str, Any]:
    """A Tracker through ask and tell; each answer comes late."""
    X, y, best = posts(d, drifting, seed, size)
    late = min(DELAY, len(y) // 4)
    learner = lasec.Tracker(rate=RATE, horizon=len(y), seed=seed)
    open_, right = deque[tuple[int, int]](), np.zeros(len(y), dtype=np.bool_)
    started = time.process_time()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        while open_ and open_[0][0] <= t - late:
            learner.tell(open_[0][0], open_.popleft()[1])
        decision = learner.ask(x)
        right[t] = decision.label == label
        if decision.asked:
            open_.append((decision.ticket, label))
    taken = 1e6 * (time.process_time() - started) / len(y)
    spent = {"labels": learner.asked, "us": round(taken, 1)}
    return _shares(right) | spent | {"ceiling": float(np.mean(best == y)), "rows": len(y)}


def refitted(d: int, drifting: bool, seed: int, size: float) -> dict[str, Any]:
    """Logistic regression on all labels told so far, rows drawn uniformly."""
    X, y, _ = posts(d, drifting, seed, size)
    late = min(DELAY, len(y) // 4)
    asked = np.flatnonzero(np.random.default_rng([seed, d, 1]).random(len(y)) < RATE)
    told = asked + late
    right, begin, labels = np.zeros(len(y), dtype=np.bool_), 0, 0
    while begin < len(y):
        step = FIRST if labels < EVERY else EVERY
        end = int(told[labels + step - 1]) if labels + step <= len(told) else len(y)
        end = min(end, len(y))
        some = asked[:labels]
        right[begin:end] = _predicted(X[some], y[some], X[begin:end]) == y[begin:end]
        begin, labels = end, labels + step
    return _shares(right) | {"labels": len(asked)}


def _predicted(X: Matrix, y: NDArray[np.int64], rows: Matrix) -> NDArray[np.int64]:
    """The classes of rows by a model of these labels; the only class where there is one."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    if len(np.unique(y)) < 2:
        return np.full(len(rows), y[0] if len(y) else 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=30.0, max_iter=200).fit(X, y)
    found: NDArray[np.int64] = model.predict(rows)
    return found


def _shares(right: NDArray[np.bool_]) -> dict[str, float]:
    """Accuracy after the first rows, for which no answer can have come; and in the second half."""
    after = min(BEFORE, len(right) // 4)
    return {
        "accuracy": round(float(right[after:].mean()), 6),
        "late": round(float(right[len(right) // 2 :].mean()), 6),
    }


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each width, form of drift and draw."""
    cells: list[Cell] = [
        (d, drifting, seed, size)
        for d in ROWS
        for drifting in (False, True)
        for seed in range(1, min(seeds, DRAWS) + 1)
    ]
    ours = gathered(journal, "late answers", tracker, NAMES, cells)
    theirs = gathered(journal, "late answers, refitted", refitted, NAMES, cells)
    named = [{f"refit_{key}": row[key] for key in ("accuracy", "late", "labels")} for row in theirs]
    return [a | b for a, b in zip(ours, named, strict=True)]
