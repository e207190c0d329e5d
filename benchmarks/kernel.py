"""``run`` against the bare product ``X @ C``, and ``ask`` + ``tell`` against ``C @ x``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import lasec
from benchmarks.measure import ROWS, compare, spread, stream, supervised
from benchmarks.pseudocode import rounds as pseudocode

# Rows of the paper's pseudocode that are timed: it inverts matrices in each of them.
PSEUDO_ROUNDS = {50: 400, 256: 12, 1_000: 2}


def covariance(learner: lasec.Learner) -> Any:
    """A covariance such as the run ends with, whole."""
    return learner.state.cov.copy()


def run_against_product(dimension: int, rows: int, runs: int) -> dict[str, Any]:
    """Every label used."""
    X, y = stream(dimension, rows)
    learner = _after(supervised(dimension), X, y)
    C = covariance(learner)
    mine, bare, ratios = compare(lambda: supervised(dimension).run(X, y), lambda: X @ C, runs)
    return {
        "d": dimension,
        "mode": "all labels",
        "updates": round(learner.updates / rows, 3),
        "ours_us": 1e6 * mine / rows,
        "bare_us": 1e6 * bare / rows,
        **spread(ratios),
    }


def run_against_pseudocode(dimension: int, rows: int, runs: int) -> dict[str, Any]:
    """Every label used, against the paper's Figure 1 as it stands."""
    X, y = stream(dimension, rows)
    few = PSEUDO_ROUNDS[dimension]
    mine, theirs, ratios = compare(
        lambda: supervised(dimension).run(X, y), lambda: pseudocode(X[:few], y[:few]), runs
    )
    share = few / rows
    return {
        "d": dimension,
        "mode": "pseudocode / all labels",
        "ours_us": 1e6 * mine / rows,
        "bare_us": 1e6 * theirs / few,
        **spread([1.0 / (ratio * share) for ratio in ratios]),
    }


def rounds_against_product(dimension: int, rows: int, runs: int) -> dict[str, Any]:
    """``ask`` and ``tell`` on one NumPy row after another, against ``C @ x`` on each."""
    X, y = stream(dimension, rows)
    labels, C = y.tolist(), covariance(_after(supervised(dimension), X, y))

    def ours() -> None:
        learner = supervised(dimension)
        for x, label in zip(X, labels, strict=True):
            learner.tell(learner.ask(x).ticket, label)

    def bare() -> None:
        for x in X:
            C @ x

    mine, theirs, ratios = compare(ours, bare, runs)
    return {
        "d": dimension,
        "mode": "ask + tell, a row at a time / C @ x",
        "ours_us": 1e6 * mine / rows,
        "bare_us": 1e6 * theirs / rows,
        **spread(ratios),
    }


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """All of it; ``quick`` with fewer runs on fewer rows."""
    runs = 7 if quick else 15
    for dimension in (50, 256, 1_000):
        rows = ROWS[dimension] // (2 if quick else 1)
        yield run_against_product(dimension, rows, runs)
    yield rounds_against_product(50, 5_000 if quick else 20_000, runs)
    for dimension in (50, 256) if quick else (50, 256, 1_000):
        yield run_against_pseudocode(dimension, ROWS[dimension] // 4, 3 if quick else 7)


def _after(learner: lasec.Learner, X: Any, y: Any) -> lasec.Learner:
    """The learner, once it has seen these rows."""
    learner.run(np.asarray(X), y)
    return learner
