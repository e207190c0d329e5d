"""Columns that give the label away: often they are filled in only after it is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.cli.output import say
from lasec.notebook import percent
from lasec.tables import Encoder
from lasec.tables.cells import as_label

PERFECT = 0.995  # accuracy of one column, from which on it is worth a warning
CHANGES = 50  # of the label, from one row to the next, that are needed to tell
ROWS, MOST = 10_000, 500  # rows and columns that are looked at
SHOWN = 3  # warnings at most


def warn_of_leaks(head: pa.RecordBatch, label: str, encoder: Encoder, positive: str | None) -> None:
    """Warn of columns that separate the classes of the first rows by themselves.

    Where labels hardly change from row to row, any column that varies slowly would do so.
    """
    head = head.slice(0, ROWS)
    names = [as_label(value) for value in head[label].to_pylist()]
    kept = np.flatnonzero([name is not None for name in names])
    one = as_label(positive) if positive is not None else max(filter(None, names), default="")
    y = np.array([names[i] == one for i in kept])
    if np.count_nonzero(y[1:] != y[:-1]) < CHANGES:
        return
    rows = head.take(pa.array(kept))
    best = {name: _of_number(rows[name], y) for name in encoder.numbers[:MOST]}
    best |= {name: _of_name(rows[name], y) for name in list(encoder.one_hot.categories)[:MOST]}
    for name in [name for name, right in best.items() if right >= PERFECT][:SHOWN]:
        say(
            f"lasec: warning: column {name[:80]!r} alone predicts the label in "
            f"{percent(best[name])} of the first {len(y):,} rows; if it is known only after the "
            f"label, use --ignore {name[:80]}"
        )


def _of_name(values: Any, y: NDArray[np.bool_]) -> float:
    """The accuracy of the best class for each category.

    >>> _of_name(pa.array(["a", "a", "b", "b"]), np.array([True, True, False, True]))
    0.75
    """
    codes = values.fill_null("").dictionary_encode().indices.to_numpy(zero_copy_only=False)
    of_all, of_plus = np.bincount(codes), np.bincount(codes, y)
    return float(np.maximum(of_plus, of_all - of_plus).sum() / len(y))


def _of_number(values: Any, y: NDArray[np.bool_]) -> float:
    """The accuracy of the best threshold.

    >>> _of_number(pa.array([1.0, 2.0, 2.0, 9.0]), np.array([False, False, True, True]))
    0.75
    """
    x = np.nan_to_num(values.cast(pa.float64()).to_numpy(zero_copy_only=False), nan=np.inf)
    order = np.argsort(x, kind="stable")
    x, plus = x[order], np.concatenate([[0], np.cumsum(y[order])])
    ends = np.concatenate([[True], x[1:] != x[:-1], [True]])  # a cut between equal values is none
    below = np.flatnonzero(ends)
    right = plus[below] + (len(y) - below) - (plus[-1] - plus[below])  # +1 below, -1 above
    return float(max(right.max(), len(y) - right.min()) / len(y))
