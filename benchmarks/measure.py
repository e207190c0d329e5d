"""Ratios of times that were measured side by side, and their spread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lasec

DRIFT, RIDGE = 0.01, 0.5
ROWS = {16: 60_000, 50: 50_000, 256: 20_000, 1_000: 6_000}


def seconds(action: Callable[[], Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def compare(
    ours: Callable[[], Any], other: Callable[[], Any], runs: int
) -> tuple[float, float, list[float]]:
    """Median seconds of both, and the ratios ours/other of each run.

    The other is timed before and after ours, so that a machine that changes its speed changes it
    for both.
    """
    ours(), other()  # warm: compiled, in cache, memory in place
    taken, compared, ratios = [], [], []
    for _ in range(runs):
        before, mine, after = seconds(other), seconds(ours), seconds(other)
        taken.append(mine)
        compared.append((before + after) / 2.0)
        ratios.append(taken[-1] / compared[-1])
    return float(np.median(taken)), float(np.median(compared)), ratios


def spread(ratios: list[float]) -> dict[str, float]:
    """Median and quartiles, as columns."""
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return {"ratio": round(middle, 3), "quarter": round(low, 3), "three_quarters": round(high, 3)}


def stream(dimension: int, rows: int, every: int = 500) -> Any:
    """The paper's synthetic stream, a new target every 500 rows."""
    return lasec.streams.switching(rows, dimension=dimension, every=every, seed=1)


def supervised(dimension: int) -> lasec.Learner:
    """LASEC, every label used."""
    return lasec.LASEC(dimension, drift=DRIFT, ridge=RIDGE)


def selective(dimension: int, aggressiveness: float) -> lasec.Learner:
    """LASEC-SS."""
    return lasec.LASEC_SS(
        dimension, drift=DRIFT, ridge=RIDGE, aggressiveness=aggressiveness, seed=0
    )


def aggressiveness_for(rate: float, dimension: int, X: Any, y: Any) -> float:
    """The aggressiveness with which LASEC-SS asks for this share of the rows."""
    low, high = 1e-9, 1e3
    for _ in range(18):
        middle = float(np.sqrt(low * high))
        asked = selective(dimension, middle).run(X, y).rate
        low, high = (low, middle) if asked > rate else (middle, high)
    return float(np.sqrt(low * high))


def questions_and_labels(keys: Any, X: Any, y: Any) -> Callable[[lasec.Fleet], lasec.Records]:
    """What serves each row as a question, and its label right behind it, in one call of a fleet."""
    twice = np.repeat(np.arange(len(y)), 2)
    is_label, before = np.arange(len(twice)) % 2 == 1, np.arange(len(twice)) - 1
    batch = keys[twice], X[twice], np.where(is_label, y[twice], 0)
    after = np.where(is_label, before, -1)
    return lambda fleet: fleet.serve(*batch, after=after)


def exponent(sizes: list[float], times: list[float]) -> float:
    """The slope of log time against log size."""
    return round(float(np.polyfit(np.log(sizes), np.log(times), 1)[0]), 3)
