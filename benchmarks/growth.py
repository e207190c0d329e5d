"""Time and memory as d, T and the number of models grow."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import lasec
from benchmarks.measure import (
    DRIFT,
    RIDGE,
    aggressiveness_for,
    exponent,
    questions_and_labels,
    seconds,
    selective,
    spread,
    stream,
    supervised,
)

DIMENSIONS = (16, 32, 64, 128, 256, 512, 1_024, 2_048)
CHUNK = 100_000


def resident() -> float:
    """The process's resident memory in MB, now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:  # no such file on this system: the largest so far
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def with_dimension(quick: bool) -> Iterator[dict[str, Any]]:
    """Microseconds per row against d, every label used."""
    for dimension in DIMENSIONS[:6] if quick else DIMENSIONS:
        rows = int(min(40_000, max(1_500, 4e9 / dimension**2 / 4)))
        X, y = stream(dimension, rows)
        supervised(dimension).run(X, y)
        times = [
            seconds(partial(supervised(dimension).run, X, y)) for _ in range(3 if quick else 7)
        ]
        yield {
            "against": "d",
            "mode": "all labels",
            "size": dimension,
            "us_per_round": 1e6 * float(np.median(times)) / rows,
        }


def with_time(quick: bool) -> Iterator[dict[str, Any]]:
    """Microseconds per row and resident memory against T, d = 50, one learner that goes on."""
    X, y = stream(50, CHUNK)
    aggressiveness = aggressiveness_for(0.1, 50, X[:20_000], y[:20_000])
    learner = selective(50, aggressiveness)
    learner.run(X[:1_000], y[:1_000])
    marks = [10**4, 10**5, 10**6] if quick else [10**4, 10**5, 10**6, 10**7]
    done = 0
    for mark in marks:
        started, before = time.perf_counter(), done
        while done < mark:
            rows = min(CHUNK, mark - done)
            learner.run(X[:rows], y[:rows])
            done += rows
        yield {
            "against": "T",
            "mode": "10 % asked",
            "size": mark,
            "us_per_round": 1e6 * (time.perf_counter() - started) / (done - before),
            "resident_mb": round(resident(), 1),
        }


def tenants(rows: int, models: int, dimension: int) -> tuple[Any, Any, Any]:
    """Rows in random order of keys, each key with a target of its own."""
    rng = np.random.default_rng(0)
    keys = rng.integers(models, size=rows)
    targets = rng.standard_normal((models, dimension))
    X, y = rng.standard_normal((rows, dimension)), np.empty(rows, dtype=np.int8)
    for begin in range(0, rows, CHUNK):
        part = slice(begin, begin + CHUNK)
        y[part] = np.where((X[part] * targets[keys[part]]).sum(axis=1) >= 0.0, 1, -1)
    return keys, X, y


def with_models(quick: bool) -> Iterator[dict[str, Any]]:
    """A fleet of d = 16 against one model fed alone, with about as many updates.

    The fleet gets each row as a question and its label right behind it; the model alone, a chunk.
    """
    rows = 10**6 if quick else 10**7
    rule = lasec.rules.SecondOrder(DRIFT, RIDGE)
    cores = lasec.Fleet(rule, models=1, dimension=16).threads
    for models in (1, 10, 100, 1_000, 10_000, 100_000):
        each = rows // models
        serve = questions_and_labels(*tenants(rows, models, 16))
        alone_X, alone_y = stream(16, min(rows, 10**6), every=each)
        for threads in (1, cores):
            ratios, mine = [], []
            for run in range(3 if quick else 8):
                fleet = lasec.Fleet(rule, models=models, dimension=16, threads=threads)
                learner = lasec.Learner(rule, dimension=16)
                before = seconds(partial(lasec.Learner(rule, dimension=16).run, alone_X, alone_y))
                taken = seconds(partial(serve, fleet))
                after = seconds(partial(learner.run, alone_X, alone_y))
                if run:  # the first one is for the memory to be in place
                    mine.append(taken / rows)
                    ratios.append((before + after) / 2.0 / len(alone_X) / mine[-1])
            yield {
                "against": "models",
                "mode": f"{threads} thread(s)",
                "size": models,
                "us_per_round": 1e6 * float(np.median(mine)),
                "rows_per_second": round(1.0 / float(np.median(mine))),
                "rate_of_one_alone": spread(ratios)["ratio"],
                "quarter": spread(ratios)["quarter"],
                "three_quarters": spread(ratios)["three_quarters"],
                "updates": round(float(fleet.updates.sum()) / rows, 3),
                "updates_alone": round(learner.updates / len(alone_X), 3),
            }


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """All curves, then their fitted exponents."""
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for part in (with_dimension, with_time, with_models):
        for row in part(quick):
            key = (str(row["against"]), str(row["mode"]))
            curves.setdefault(key, []).append((row["size"], row["us_per_round"]))
            yield row
    for (against, mode), points in curves.items():
        kept = [point for point in points if against != "d" or point[0] >= 128]
        sizes, times = zip(*kept, strict=True)
        yield {
            "against": against,
            "mode": mode,
            "size": "exponent" + (", d >= 128" if against == "d" else ""),
            "us_per_round": exponent(list(sizes), list(times)),
        }
