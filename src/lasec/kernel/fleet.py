"""A batch of rows of many small models.

Rows are grouped by model, in the order in which they came; then every model's rows are a chunk of
its own, walked in blocks (:mod:`lasec.kernel.block`). Models share nothing, so that shares of them
can be run by several threads at once, and the result does not depend on how many there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.block import Desk, run_block
from lasec.kernel.blocks import mirror
from lasec.kernel.borrow import borrowed, lent
from lasec.kernel.dispatch import compiled
from lasec.kernel.rounds import Coins, Columns, inner, unsound
from lasec.types import Matrix, Query, Rule, Vector

# Rows of one model that are walked as one block.
BLOCK = 32


class Stack(NamedTuple):
    """Many models of one kind: a row of each array is one model."""

    weights: Matrix
    cov: NDArray[Any]
    seeds: NDArray[np.uint64]
    rounds: NDArray[np.int64]
    asked: NDArray[np.int64]
    told: NDArray[np.int64]
    updates: NDArray[np.int64]


class Bench(NamedTuple):
    """Scratch space of one thread: the rows of a block, what comes of them, and a model to undo."""

    X: Matrix
    y: Vector
    given: Vector
    w: Vector
    C: Matrix

    @classmethod
    def empty(cls, dimension: int, kind: Any) -> Bench:
        """Room for one block."""
        X, C = np.empty((BLOCK, dimension), kind), np.empty((dimension, dimension), kind)
        return cls(X, np.empty(BLOCK), np.empty(BLOCK), C[0].copy(), C)


def sort_rows(
    keys: NDArray[np.int64], rounds: NDArray[np.int64], order: NDArray[np.int64],
    begins: NDArray[np.int64], tickets: NDArray[np.int64],
) -> None:  # fmt: skip
    """Sort rows by key, equal keys in the order in which they came, and give them their tickets.

    ``order[begins[k] : begins[k + 1]]`` are the rows of key k, which has had ``rounds[k]`` so far.
    """
    models = begins.size - 1
    begins[:] = 0
    for i in range(keys.size):
        tickets[i] = rounds[keys[i]] + begins[keys[i] + 1]
        begins[keys[i] + 1] += 1
    for k in range(models):
        begins[k + 1] += begins[k]
    for i in range(keys.size):
        order[begins[keys[i]]] = i
        begins[keys[i]] += 1
    for k in range(models, 0, -1):
        begins[k] = begins[k - 1]
    begins[0] = 0


def first_unsound(X: Matrix) -> int:
    """The first row with an entry that cannot be used, or -1."""
    X = lent(X)
    size = np.empty(BLOCK, X.dtype)
    for i in range(0, X.shape[0], BLOCK):
        bad = unsound(X[i : i + BLOCK], size)
        if bad >= 0:
            return i + bad
    return -1


@compiled
def gather(
    X: Matrix, y: Vector, given: Vector, order: NDArray[np.int64], begin: int, n: int, bench: Bench
) -> None:
    """The next ``n`` rows of a model, side by side."""
    for i in range(n):
        row = order[begin + i]
        bench.y[i] = y[row]
        for j in range(X.shape[1]):
            bench.X[i, j] = X[row, j]
        if given.size:
            bench.given[i] = given[row]


@compiled
def scatter(
    local: Columns, order: NDArray[np.int64], begin: int, n: int, packed: NDArray[np.float64]
) -> None:
    """What came of these rows, back to where they were: one place in memory for each row."""
    for i in range(n):
        row = order[begin + i]
        packed[row, 0], packed[row, 1] = local.margin[i], local.variance[i]
        packed[row, 2] = local.propensity[i]
        packed[row, 3] = (
            (local.label[i] > 0) + 2 * local.asked[i] + 4 * local.mistake[i] + 8 * local.updated[i]
        )


def unpack(packed: NDArray[np.float64], begin: int, end: int, out: Columns) -> None:
    """The columns of the rows ``begin`` to ``end - 1`` of what was scattered."""
    for i in range(begin, end):
        bits = np.int64(packed[i, 3])
        out.margin[i], out.variance[i] = packed[i, 0], packed[i, 1]
        out.propensity[i] = packed[i, 2]
        out.label[i] = 1 if bits & 1 else -1
        out.asked[i], out.mistake[i] = bits & 2 != 0, bits & 4 != 0
        out.updated[i] = bits & 8 != 0


@compiled
def refuse(w: Vector, x: Vector, y: float, i: int, local: Columns) -> None:
    """Write down a row that can be predicted, but never asked about."""
    m = 0.0
    for j in range(w.size):
        m += w[j] * x[j]
    local.label[i] = 1 if m >= 0.0 else -1
    local.margin[i] = local.variance[i] = local.propensity[i] = np.nan
    local.asked[i], local.updated[i] = False, False
    local.mistake[i] = (m >= 0.0) != (y > 0.0)


def run_share(
    rule: Rule[Any], query: Query, stack: Stack, models: NDArray[np.int64], X: Matrix, y: Vector,
    given: Vector, order: NDArray[np.int64], begins: NDArray[np.int64], mistakes_only: bool,
    bench: Bench, desk: Desk, local: Columns, packed: NDArray[np.float64],
) -> int:  # fmt: skip
    """Run the rows of some models; how many rows were refused because of their strain."""
    W, S, seeds, rounds, asked, told, updates = borrowed(stack)
    X, y, given = borrowed(X), borrowed(y), borrowed(given)
    order, begins, packed = borrowed(order), borrowed(begins), borrowed(packed)
    models, bench = borrowed(models), borrowed(bench)
    desk, local = borrowed(desk), borrowed(local)
    refused = 0
    for k in models:
        w, C, begin = W[k], S[k], begins[k]
        while begin < begins[k + 1]:
            n = min(BLOCK, begins[k + 1] - begin)
            gather(X, y, given, order, begin, n, bench)
            bench.w[:], bench.C[:] = w, C
            coins = Coins(bench.given[: n if given.size else 0], seeds[k], rounds[k])
            inner(bench.X[:n], bench.X[:n], desk.size)
            whole = n
            while n > 0:
                bad, _, _ = run_block(
                    rule, query, w, C, bench.X[:n], bench.y[:n], coins, 0, mistakes_only, False,
                    0.0, BLOCK, desk, local,
                )  # fmt: skip
                if bad < 0:
                    break
                w[:], C[:] = bench.w, bench.C
                n = bad
            if n < whole:
                refuse(w, bench.X[n], bench.y[n], n, local)
                refused += 1
                n += 1
            scatter(local, order, begin, n, packed)
            for i in range(n):
                asked[k] += local.asked[i]
                told[k] += local.asked[i]
                updates[k] += local.updated[i]
            rounds[k] += n
            begin += n
        mirror(C)
    return refused
