"""Estimates from queried labels, and the true values over the same rows."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.intervals.scenarios import ALPHA, COSTS, FADE, Run, play
from experiments.intervals.weighted import estimated
from experiments.journal import Journal, Task
from lasec.metrics import Estimate
from lasec.metrics.sums import likely

Row = dict[str, Any]

WEIGHTED = ("ipw", "snipw")
METRICS = ("precision", "recall", "f1", "log_loss", "cost")
COLUMNS = ("estimator", "metric", "estimate", "low", "high", "truth", "labels", "always")


class Study(NamedTuple):
    """Which scenarios, at which label rates, how many streams of how many rows."""

    scenarios: list[str]
    rates: list[float]
    streams: int
    rows: int


class Compared(NamedTuple):
    """An estimate, and the true value over the same rows."""

    estimate: float
    low: float
    high: float
    truth: float
    labels: int


def honesty(scenario: str, rate: float, number: int, rounds: int) -> list[list[Any]]:
    """All estimates of one stream at its end, as rows of :data:`COLUMNS`."""
    run = play(scenario, rate, number, rounds)
    rows: list[tuple[str, str, Compared]] = [
        ("plain", "accuracy", plain(run)),
        *((name, "accuracy", held(run, name)) for name in WEIGHTED),
        ("aipw", "accuracy", compared(run, "accuracy")),
        ("window", "accuracy", compared(run, "accuracy", over="window")),
        ("decay", "accuracy", held(run, "decay")),
        ("anytime", "accuracy", compared(run, "accuracy", interval="anytime")),
        *(("aipw", metric, compared(run, metric)) for metric in METRICS),
    ]
    return [
        [
            name,
            metric,
            *(round(value, 6) for value in found[:4]),
            found.labels,
            int(run.always) if name == "anytime" else "",
        ]
        for name, metric, found in rows
    ]


def plain(run: Run) -> Compared:
    """The mean of the answered rows, with its interval as if they were drawn at random."""
    until = run.meter.accuracy.until
    right = ~run.records.mistake[:until]
    sample = right[run.heard[:until]]
    true = float(right.mean()) if until else math.nan
    if not sample.size:
        return Compared(math.nan, 0.0, 1.0, true, 0)
    mean = float(sample.mean())
    half = NormalDist().inv_cdf(1.0 - ALPHA / 2.0) * math.sqrt(mean * (1.0 - mean) / sample.size)
    return Compared(mean, max(0.0, mean - half), min(1.0, mean + half), true, sample.size)


def compared(run: Run, metric: str, *, over: str = "all", interval: str = "normal") -> Compared:
    """An estimate of the meter."""
    found = run.meter.estimate(metric, over=over, interval=interval)
    true = truth(run, metric, found, over)
    return Compared(found.value, found.low, found.high, true, found.labels)


def held(run: Run, name: str) -> Compared:
    """An estimate of :mod:`experiments.intervals.weighted`."""
    found = estimated(run, name)
    true = truth(run, "accuracy", found, name)
    return Compared(found.value, found.low, found.high, true, found.labels)


def truth(run: Run, metric: str, estimate: Estimate, over: str = "all") -> float:
    """A metric with all labels known, of the rows that an estimate is about; NaN if it is 0/0."""
    rows = slice(estimate.until - estimate.rows if over == "window" else 0, estimate.until)
    label, y = run.records.label[rows], run.y[rows]
    if not y.size:
        return math.nan
    if metric == "accuracy":
        age = np.arange(y.size)[::-1] if over == "decay" else np.zeros(y.size)
        return float(np.average(label == y, weights=np.exp(-age / FADE)))
    if metric == "log_loss":
        p = likely(run.records.margin[rows])
        return float(-np.log(np.where(y > 0, p, 1.0 - p)).mean())
    return _of_counts(metric, label > 0, y > 0)


def _of_counts(metric: str, said: NDArray[np.bool_], is_: NDArray[np.bool_]) -> float:
    """What follows from the four kinds of rows."""
    tp, fp, fn = (int(kind.sum()) for kind in (said & is_, said & ~is_, ~said & is_))
    if metric == "cost":
        return (COSTS.false_positive * fp + COSTS.false_negative * fn) / said.size
    above, below = {
        "precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn),
    }[metric]  # fmt: skip
    return above / below if below else math.nan


def measure(journal: Journal, study: Study) -> list[Row]:
    """A row for each scenario, rate, stream and estimate."""
    cells = [
        (scenario, rate, number)
        for number in range(1, study.streams + 1)
        for scenario in study.scenarios
        for rate in study.rates
    ]
    tasks: list[Task] = [(honesty, (*cell, study.rows)) for cell in cells]
    names = ("scenario", "rate", "stream", *COLUMNS)
    return [
        dict(zip(names, (*cell, *row), strict=True))
        for cell, rows in zip(cells, journal.run("intervals", tasks), strict=True)
        for row in rows
    ]
