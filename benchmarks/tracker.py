"""What the Tracker costs: time per step against LASEC's on the same rows, and memory.

LASEC-SS asks for the same share of labels. Through ``ask`` and ``tell`` both work row by row; in
``run``, LASEC works in blocks and the Tracker row by row, because its hypotheses weigh each other
anew after every label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import lasec
from benchmarks.measure import (
    aggressiveness_for,
    compare,
    questions_and_labels,
    seconds,
    selective,
    spread,
    stream,
)
from lasec.nested import leaves

RATES = (0.1, 0.4, 1.0)
WIDE = (512, 1_024)
MODELS = 100_000


def rounds(build: Callable[[], lasec.Learner], X: Any, y: Any) -> Callable[[], None]:
    """A learner's life through ``ask`` and ``tell``."""
    labels = [int(label) for label in y]

    def live() -> None:
        learner = build()
        for x, label in zip(X, labels, strict=True):
            decision = learner.ask(x)
            if decision.asked:
                learner.tell(decision.ticket, label)

    return live


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """Ratios by dimension, share of labels and door; the state's size."""
    for dimension in (50,) if quick else (16, 50, 256):
        rows = (20_000 if dimension < 256 else 4_000) // (4 if quick else 1)
        X, y = stream(dimension, rows)
        for rate in RATES:
            aggressiveness = 1e9 if rate == 1.0 else aggressiveness_for(rate, dimension, X, y)
            yield from _ratios(dimension, rate, aggressiveness, X, y, 2 if quick else 7)
    for dimension in WIDE:
        yield _alone(dimension, 0.1, 1_000 if quick else 4_000, 2 if quick else 7)
    if not quick:
        yield _fleet(MODELS, 10)


def _alone(dimension: int, rate: float, rows: int, runs: int) -> dict[str, Any]:
    """The time of ``run`` on wide rows, without LASEC's, whose state has d^2 numbers."""
    X, y = stream(dimension, rows)

    def build() -> lasec.Learner:
        return lasec.Tracker(dimension, rate=rate, horizon=len(y), seed=1)

    build().run(X, y)  # warm: compiled, in cache, memory in place
    taken = float(np.median([seconds(lambda: build().run(X, y)) for _ in range(runs)]))
    return _row(dimension, rate, "run", taken / rows, build())


def _fleet(models: int, each: int) -> dict[str, Any]:
    """The small form: so many models with a target each, and ``each`` rows of a model on average.

    Rows come in random order, in chunks of as many as there are models, with the label of a row
    right behind it; the first chunk is not timed.
    """
    rule, query = lasec.rules.Tracking(block=0, slots=5), lasec.queries.Budgeted(rate=1.0)
    fleet = lasec.Fleet(rule, query, models=models, dimension=50, seed=0, learn_from="labels")
    rng, taken = np.random.default_rng(0), []
    targets = rng.standard_normal((models, 50), dtype=np.float32)
    for _ in range(each):
        keys, X = rng.integers(models, size=models), rng.standard_normal((models, 50))
        y = np.where((X * targets[keys]).sum(axis=1) >= 0.0, 1, -1)
        taken.append(seconds(partial(questions_and_labels(keys, X, y), fleet)) / models)
    return {
        "d": 50,
        "labels": "100%",
        "through": f"a fleet of {models:,}, {fleet.threads} threads",
        "tracker us": round(1e6 * float(np.median(taken[1:])), 2),
        "state kb": round(sum(array.nbytes for array in leaves(fleet.state)) / models / 1e3),
    }


def _row(
    dimension: int, rate: float, door: str, taken: float, learner: lasec.Learner, **more: float
) -> dict[str, Any]:
    """What is said of every measurement, and more between time and memory."""
    size = sum(array.nbytes for array in leaves(learner.state))
    return {
        "d": dimension,
        "labels": f"{rate:.0%}",
        "through": door,
        "tracker us": round(1e6 * taken, 2),
        **more,
        "state kb": round(size / 1e3),
    }


def _ratios(
    dimension: int, rate: float, aggressiveness: float, X: Any, y: Any, runs: int
) -> Iterator[dict[str, Any]]:
    def ours() -> lasec.Learner:
        return lasec.Tracker(dimension, rate=rate, horizon=len(y), seed=1)

    def theirs() -> lasec.Learner:
        return selective(dimension, aggressiveness)

    few = min(4_000, len(y))
    doors = {
        "ask and tell": (rounds(ours, X[:few], y[:few]), rounds(theirs, X[:few], y[:few]), few),
        "run": (lambda: ours().run(X, y), lambda: theirs().run(X, y), len(y)),
    }
    for door, (tracker, other, count) in doors.items():
        taken, compared, ratios = compare(tracker, other, runs)
        more = {"lasec us": round(1e6 * compared / count, 2), **spread(ratios)}
        yield _row(dimension, rate, door, taken / count, ours(), **more)
