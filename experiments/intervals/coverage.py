"""Estimates from queried labels, and the true values over the same rows."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from experiments.intervals.scenarios import ALPHA, FADE, Run, play
from experiments.intervals.weighted import estimated
from experiments.journal import Journal, Task
from lasec.metrics import Estimate

Row = dict[str, Any]

WEIGHTED = ("ipw", "snipw")
COLUMNS = ("estimator", "estimate", "low", "high", "truth", "labels", "always")


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
    rows: list[tuple[str, Compared]] = [
        ("plain", plain(run)),
        *((name, held(run, name)) for name in WEIGHTED),
        ("aipw", compared(run)),
        ("window", compared(run, over="window")),
        ("decay", held(run, "decay")),
        ("anytime", compared(run, interval="anytime")),
    ]
    return [
        [
            name,
            *(round(value, 6) for value in found[:4]),
            found.labels,
            int(run.always) if name == "anytime" else "",
        ]
        for name, found in rows
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


def compared(run: Run, *, over: str = "all", interval: str = "normal") -> Compared:
    """An estimate of the meter."""
    found = run.meter.estimate(over=over, interval=interval)
    true = truth(run, found, over)
    return Compared(found.value, found.low, found.high, true, found.labels)


def held(run: Run, name: str) -> Compared:
    """An estimate of :mod:`experiments.intervals.weighted`."""
    found = estimated(run, name)
    true = truth(run, found, name)
    return Compared(found.value, found.low, found.high, true, found.labels)


def truth(run: Run, estimate: Estimate, over: str = "all") -> float:
    """The accuracy with all labels known, of the rows that an estimate is about; NaN if none."""
    rows = slice(estimate.until - estimate.rows if over == "window" else 0, estimate.until)
    right = run.records.label[rows] == run.y[rows]
    if not right.size:
        return math.nan
    age = np.arange(right.size)[::-1] if over == "decay" else np.zeros(right.size)
    return float(np.average(right, weights=np.exp(-age / FADE)))


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
