"""Workloads whose CPU time is compared between revisions; this file runs against any of them.

``python -P benchmarks/workloads.py [NAME ...]`` prints a JSON object: seconds of each workload,
the least of several runs, or null where this revision has no such call. It imports nothing of
this folder, so that the ``lasec`` on ``PYTHONPATH`` is the one that is measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lasec

RUNS = 7
Workload = Callable[[], Callable[[], Any]]


def least(action: Callable[[], Any], runs: int = RUNS) -> float:
    """CPU seconds of the fastest of several runs, after one that compiles."""
    action()
    taken = []
    for _ in range(runs):
        started = time.process_time()
        action()
        taken.append(time.process_time() - started)
    return min(taken)


def run(make: Callable[[int], Any], dimension: int, rows: int) -> Workload:
    """A learner along a stream whose labels are at hand."""

    def prepare() -> Callable[[], Any]:
        X, y = lasec.streams.switching(rows, dimension=dimension, every=2_000, seed=1)
        return lambda: make(dimension).run(X, y)

    return prepare


def classes(dimension: int, rows: int) -> Workload:
    """The Tracker along a stream of five classes, at a 10 % label budget."""

    def prepare() -> Callable[[], Any]:
        X, y = lasec.streams.switching(rows, dimension=dimension, every=2_000, seed=1)
        names = np.array(list("abcde"))
        labels = names[(np.abs(X[:, 0] * 7.0).astype(int) % 4) + (y > 0)]
        return lambda: lasec.Tracker(dimension, rate=0.1, seed=0, classes=list(names)).run(
            X, labels
        )

    return prepare


def texts(rows: int) -> Workload:
    """The Tracker of words, at a 10 % label budget."""

    def prepare() -> Callable[[], Any]:
        rng, hasher = np.random.default_rng(0), lasec.TextHasher()
        words = rng.zipf(1.3, (rows, 60)) % 20_000
        X = hasher.rows([" ".join(f"w{word}" for word in row) for row in words])
        y = np.where((words == 7).any(axis=1), 1, -1)
        rule, query = lasec.rules.SparseTracking(), lasec.queries.Budgeted(rate=0.1)

        def make() -> Any:
            return lasec.Learner(rule, query, dimension=hasher.columns, learn_from="labels", seed=0)

        return lambda: make().run(X, y)

    return prepare


def asking(make: Callable[[int], Any], dimension: int, rows: int) -> Workload:
    """A learner that is asked about single rows; few of them become questions."""

    def prepare() -> Callable[[], Any]:
        X, y = lasec.streams.switching(rows, dimension=dimension, every=2_000, seed=1)
        learner = make(dimension)
        learner.run(X, y)

        def action() -> None:
            for x in X:
                learner.ask(x)

        return action

    return prepare


def row_by_row(
    step: Callable[[Any, Any, int], Any], make: Callable[[int], Any], dimension: int, rows: int
) -> Workload:
    """A learner, row by row; ``step`` is what is done with a row and its label."""

    def prepare() -> Callable[[], Any]:
        X, y = lasec.streams.switching(rows, dimension=dimension, every=2_000, seed=1)
        labels = y.tolist()

        def action() -> None:
            learner = make(dimension)
            for x, label in zip(X, labels, strict=True):
                step(learner, x, label)

        return action

    return prepare


def telling(learner: Any, x: Any, label: int) -> None:
    """Learn a label that nobody asked for."""
    learner.learn(x, label)


def ask_and_tell(learner: Any, x: Any, label: int) -> None:
    """Ask about a row, and tell its label if it was asked for."""
    decision = learner.ask(x)
    if decision.asked:
        learner.tell(decision.ticket, label)


def fleet(dimension: int, models: int, rows: int) -> Workload:
    """Many models at once, on one thread: questions, then the labels."""

    def prepare() -> Callable[[], Any]:
        X, y = lasec.streams.switching(rows, dimension=dimension, every=rows, seed=1)
        keys = np.random.default_rng(0).integers(models, size=rows)
        rule = lasec.rules.SecondOrder(drift=0.01)
        many = lasec.Fleet(rule, models=models, dimension=dimension, seed=0, threads=1)

        def questions() -> None:
            asked = np.flatnonzero((found := many.serve(keys, X, np.zeros(rows))).asked)
            many.serve(keys[asked], X[asked], y[asked], tickets=found.ticket[asked])

        return questions

    return prepare


def selective(dimension: int) -> Any:
    """LASEC-SS."""
    return lasec.LASEC_SS(dimension, drift=0.01, ridge=0.5, aggressiveness=0.02, seed=0)


def tracker(dimension: int) -> Any:
    """The Tracker at a 10 % label budget."""
    return lasec.Tracker(dimension, rate=0.1, seed=0)


def lensed(dimension: int) -> Any:
    """The Tracker with lenses at a 10 % label budget."""
    rule, query = lasec.rules.Lenses(), lasec.queries.Budgeted(rate=0.1)
    return lasec.Learner(rule, query, dimension=dimension, learn_from="labels", seed=0)


def lasec_of_all(dimension: int) -> Any:
    """LASEC with every label."""
    return lasec.LASEC(dimension, drift=0.01, seed=0)


def labeled(dimension: int) -> Any:
    """The Tracker with every label."""
    return lasec.Tracker(dimension, rate=1.0, seed=0)


def budgeted(dimension: int) -> Any:
    """A rule of the paper at a 20 % label budget."""
    rule, query = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Budgeted(rate=0.2)
    return lasec.Learner(rule, query, dimension=dimension, seed=0)


def first_order(dimension: int) -> Any:
    """The perceptron."""
    return lasec.Perceptron(dimension, seed=0)


WORKLOADS: dict[str, Workload] = {
    "run LASEC_SS, d = 10": run(selective, 10, 40_000),
    "run LASEC_SS, d = 50": run(selective, 50, 20_000),
    "run LASEC_SS, d = 200": run(selective, 200, 4_000),
    "run Perceptron, d = 50": run(first_order, 50, 20_000),
    "run SecondOrder with Budgeted, d = 50": run(budgeted, 50, 10_000),
    "run Tracker, d = 10": run(tracker, 10, 10_000),
    "run Tracker, d = 50": run(tracker, 50, 5_000),
    "run Tracker, d = 128": run(tracker, 128, 2_000),
    "run Tracker, every label, d = 50": run(labeled, 50, 2_000),
    "run Tracker, every label, d = 128": run(labeled, 128, 1_000),
    "ask and tell, LASEC_SS, d = 50": row_by_row(ask_and_tell, selective, 50, 2_500),
    "ask and tell, Tracker, d = 50": row_by_row(ask_and_tell, tracker, 50, 1_000),
    "fleet serve, d = 16": fleet(16, 1_000, 40_000),
    "fleet serve, 100,000 models, d = 8": fleet(8, 100_000, 200_000),
    "run LASEC, every label, d = 50": run(lasec_of_all, 50, 10_000),
    "run LASEC, every label, d = 256": run(lasec_of_all, 256, 3_000),
    "run LASEC, every label, d = 1,000": run(lasec_of_all, 1_000, 500),
    "run Tracker, d = 512": run(tracker, 512, 500),
    "run Tracker, five classes, d = 10": classes(10, 10_000),
    "run Tracker, five classes, d = 50": classes(50, 5_000),
    "run Tracker, five classes, d = 128": classes(128, 2_000),
    "run lenses, d = 20": run(lensed, 20, 4_000),
    "run texts of 60 words": texts(3_000),
    "ask, Tracker, d = 10": asking(tracker, 10, 2_000),
    "tell, Tracker, d = 10": row_by_row(telling, tracker, 10, 1_000),
    "ask, LASEC_SS, d = 50": asking(selective, 50, 2_000),
    "tell, LASEC, d = 50": row_by_row(telling, lasec_of_all, 50, 1_000),
}


def measure(name: str) -> float | None:
    """Seconds of one workload; None where this revision cannot do it."""
    try:
        return least(WORKLOADS[name]())
    except (AttributeError, TypeError) as error:  # another revision's names and arguments
        sys.stderr.write(f"{name}: {error}\n")
        return None


if __name__ == "__main__":
    sys.stdout.write(json.dumps({name: measure(name) for name in sys.argv[1:] or WORKLOADS}))
