"""Single precision: what it costs in digits and gives in time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import lasec
from benchmarks.measure import DRIFT, RIDGE, ROWS, compare, spread, stream


def learner(dimension: int, **options: Any) -> lasec.Learner:
    """LASEC."""
    return lasec.LASEC(dimension, drift=DRIFT, ridge=RIDGE, **options)


def fresh_run(dimension: int, X: Any, y: Any, **options: Any) -> lasec.Records:
    """A run from the start."""
    return learner(dimension, **options).run(X, y)


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """Ratio of times, error of margins until decisions part, and the accuracies."""
    for dimension in (50, 256, 1_000):
        rows = ROWS[dimension] // (4 if quick else 1)
        X, y = stream(dimension, rows)
        half = X.astype(np.float32)
        double, single = learner(dimension), learner(dimension, precision="single")
        expected, records = double.run(X, y), single.run(half, y)
        apart = np.flatnonzero(expected.updated != records.updated)
        first = int(apart[0]) if apart.size else rows
        scale = np.abs(expected.margin[:first]).max()
        error = np.abs(expected.margin[:first] - records.margin[:first]).max() / scale
        _, _, ratios = compare(
            partial(fresh_run, dimension, half, y, precision="single"),
            partial(fresh_run, dimension, X, y),
            7,
        )
        yield {
            "d": dimension,
            "rounds": rows,
            "first_other_decision": first,
            "margin_error": float(f"{error:.1e}"),
            "accuracy_double": round(expected.accuracy, 4),
            "accuracy_single": round(records.accuracy, 4),
            **spread(ratios),
        }
