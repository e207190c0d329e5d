"""The three ways to read a table, each with the same Tracker's budget and random draws."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import lasec
from experiments.mixed.streams import LABEL, TEXTS, table
from lasec.rules import SparseTracking
from lasec.tables import Encoder

BOTH, TEXT, OTHERS = "both", "words alone", "other columns alone"
WAYS = (BOTH, TEXT, OTHERS)
_COMPILED = 30  # rows


class Coded(NamedTuple):
    """The rows of a table, encoded: how many first columns of sparse rows are dense, and labels."""

    X: Any
    dense: int
    y: NDArray[Any]


class Outcome(NamedTuple):
    """Whether each row was right, how many labels it took, and CPU microseconds a row."""

    right: NDArray[np.bool_]
    labels: int
    microseconds: float


@lru_cache(maxsize=1)
def coded(stream: str, way: str, size: float) -> Coded:
    """A stream as a way reads it. Each row's numbers are scaled by those up to it alone."""
    rows = table(stream, size)
    texts = {name for name in rows.schema.names if name in TEXTS}
    others = set(rows.schema.names) - texts - {LABEL}
    left_out = {LABEL} | {TEXT: others, OTHERS: texts}.get(way, set())
    encoder = Encoder.fit(_head(rows), left_out=frozenset(left_out))
    X = encoder.encode(rows)
    return Coded(X, encoder.dense, np.array(rows[LABEL].to_pylist()))


def run(stream: str, way: str, rate: float, seed: int, size: float) -> Outcome:
    """One run of a Tracker along a table."""
    X, dense, y = coded(stream, way, size)
    rule = None if isinstance(X, np.ndarray) else SparseTracking(dense=dense)
    for rows in (slice(0, _COMPILED), slice(None)):
        made = lasec.Tracker(rate=rate, rule=rule, seed=seed, classes=["no", "yes"])
        begin = time.process_time()
        records = made.run(X[rows], y[rows])
        spent = time.process_time() - begin
    return Outcome(~records.mistake, made.asked, 1e6 * spent / len(y))


def _head(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that the kinds of the columns are found by."""
    return rows.slice(0, 1_000)
