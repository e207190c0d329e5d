"""A chunk of rows: what comes with it, what it leaves behind, and what its precision allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from lasec.kernel.dispatch import compiled
from lasec.kernel.lean import overload
from lasec.kernel.philox import draw
from lasec.sparse import Csr
from lasec.types import Vector

LARGEST_STRAIN = 1e12  # the largest conditioning that double precision allows
NO_NUMBERS: Vector = np.empty(0)


class Chunk(NamedTuple):
    """Consecutive rows of one model with their labels: an array, or the arrays of sparse rows.

    ``draws`` are the queries' random draws; where it is empty they come from the seed and the
    tickets, of which ``first`` is the first. ``times`` are event times; where it is empty, rows
    are taken for them. ``waiting`` counts the questions that were open before and stay so.
    """

    X: Any
    y: Vector
    seed: np.uint64
    first: int
    draws: Vector = NO_NUMBERS
    times: Vector = NO_NUMBERS
    waiting: int = 0


class Columns(NamedTuple):
    """What a chunk of rows leaves behind, an entry a row: the columns of ``Records``."""

    label: NDArray[np.int16]
    margin: NDArray[np.float64]
    variance: NDArray[np.float64]
    propensity: NDArray[np.float64]
    asked: NDArray[np.bool_]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]

    @classmethod
    def empty(cls, count: int) -> Columns:
        """Columns for ``count`` rows, not yet written."""
        margin, variance, propensity = np.empty((3, count))
        asked, mistake, updated = np.empty((3, count), dtype=np.bool_)
        label = np.empty(count, dtype=np.int16)
        return cls(label, margin, variance, propensity, asked, mistake, updated)


def count(X: Any) -> int:
    """How many rows a chunk has, dense or sparse."""
    return len(X.starts) - 1 if isinstance(X, Csr) else len(X)


def row_of(X: Any, i: int) -> Any:
    """Row i of a chunk, dense or sparse."""
    return X.pairs[X.starts[i] : X.starts[i + 1]] if isinstance(X, Csr) else X[i]


@overload(count)
def _count(X: Any) -> Any:
    if isinstance(X, types.Array):
        return lambda X: X.shape[0]
    return lambda X: X.starts.size - 1


@overload(row_of, inline="always")
def _row_of(X: Any, i: Any) -> Any:
    if isinstance(X, types.Array):
        return lambda X, i: X[i]
    return lambda X, i: X.pairs[X.starts[i] : X.starts[i + 1]]


@compiled
def drawn(draws: Vector, seed: np.uint64, first: int, at: int) -> float:
    """The query's draw for the chunk's row ``at``."""
    return draws[at] if draws.size else draw(seed, np.uint64(first + at))[0]


@compiled
def entry(values: Vector, i: int, otherwise: float) -> float:
    """The i-th of the values, if there are any."""
    return values[i] if values.size else otherwise
