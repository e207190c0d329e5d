"""A batch of rows of many small models.

Rows are grouped by model, in the order in which they came; then every model's rows are a chunk of
its own, walked in blocks (:mod:`lasec.kernel.block`). Models share nothing, so that shares of them
can be run by several threads at once, and the result does not depend on how many there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec.kernel.block import Block, run_block
from lasec.kernel.block_update import Workspace
from lasec.kernel.blocks import mirror
from lasec.kernel.chunk import Chunk, Columns, inner, unsound
from lasec.kernel.dispatch import compiled
from lasec.kernel.stack import Answers, ModelStack, Requests
from lasec.kernel.unmanaged import unmanaged
from lasec.rules.gaussian import Gaussian
from lasec.types import Counter, Matrix, Query, Rule, Vector

# Rows of one model that are walked as one block.
BLOCK = 32


class Bench(NamedTuple):
    """Scratch space of one thread: the rows of a block, what comes of them, and a model to undo."""

    X: Matrix
    y: Vector
    draws: Vector
    w: Vector
    C: Matrix
    space: Workspace
    out: Columns

    @classmethod
    def empty(cls, dimension: int, kind: Any) -> Bench:
        """Room for one block."""
        X, C = np.empty((BLOCK, dimension), kind), np.empty((dimension, dimension), kind)
        space = Workspace.empty(BLOCK, BLOCK, dimension, kind)
        y, draws = np.empty((2, BLOCK))
        return cls(X, y, draws, C[0].copy(), C, space, Columns.empty(BLOCK))


def sort_rows(
    keys: Counter, rounds: Counter, order: Counter, begins: Counter, tickets: Counter
) -> None:
    """Sort rows by key, equal keys in the order in which they came, and give them their tickets.

    ``order[begins[k] : begins[k + 1]]`` are the rows of key k, which has had ``rows[k]`` so far.
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
    X = unmanaged(X)
    size = np.empty(BLOCK, X.dtype)
    for i in range(0, X.shape[0], BLOCK):
        bad = unsound(X[i : i + BLOCK], size)
        if bad >= 0:
            return i + bad
    return -1


@compiled
def gather(requests: Requests, begin: int, n: int, bench: Bench) -> None:
    """The next ``n`` rows of a model, side by side."""
    X, y, draws = requests.X, requests.y, requests.draws
    for i in range(n):
        row = requests.order[begin + i]
        bench.y[i] = y[row]
        for j in range(X.shape[1]):
            bench.X[i, j] = X[row, j]
        if draws.size:
            bench.draws[i] = draws[row]


@compiled
def scatter(out: Columns, order: Counter, begin: int, n: int, y: Vector, packed: Matrix) -> None:
    """What came of these rows, back to where they were: one place in memory for each row."""
    for i in range(n):
        row = order[begin + i]
        packed[row, 0], packed[row, 1] = out.margin[i], out.variance[i]
        packed[row, 2] = out.propensity[i]
        packed[row, 3] = (
            (out.label[i] > 0) + 2 * out.asked[i] + 4 * out.mistake[i] + 8 * out.updated[i]
            + 32 * np.isnan(y[i])
        )  # fmt: skip


def unpack(packed: Matrix, begin: int, end: int, out: Answers) -> None:
    """The columns of the rows ``begin`` to ``end - 1`` of what was scattered."""
    for i in range(begin, end):
        bits = np.int64(packed[i, 3])
        out.margin[i], out.variance[i] = packed[i, 0], packed[i, 1]
        out.propensity[i] = packed[i, 2]
        out.label[i] = 1 if bits & 1 else -1
        out.asked[i], out.mistake[i] = bits & 2 != 0, bits & 4 != 0
        out.updated[i], out.learned[i] = bits & 8 != 0, bits & 34 == 2
        out.refused[i] = bits & 16 != 0


@compiled
def refuse(w: Vector, i: int, bench: Bench, row: int, packed: Matrix) -> None:
    """Write down row ``i`` of a block, which can be predicted, but never asked about."""
    m = 0.0
    for j in range(w.size):
        m += w[j] * bench.X[i, j]
    packed[row, :3] = np.nan
    wrong = (m >= 0.0) != (bench.y[i] > 0.0) and not np.isnan(bench.y[i])
    packed[row, 3] = 16 + (m >= 0.0) + 4 * wrong


@compiled
def count(stack: ModelStack, k: int, out: Columns, n: int, y: Vector) -> None:
    """Add the first ``n`` rows of a block to the counters of model ``k``."""
    for i in range(n):
        stack.asked[k] += out.asked[i]
        stack.told[k] += out.asked[i] and not np.isnan(y[i])
        stack.updates[k] += out.updated[i]
    stack.rows[k] += n


def run_share(
    rule: Rule[Any], query: Query, stack: ModelStack, models: Counter, requests: Requests,
    mistakes_only: bool, bench: Bench, packed: Matrix,
) -> None:  # fmt: skip
    """Run the rows of some models in blocks; a row beyond the conditioning limit is refused."""
    stack, requests, models = unmanaged(stack), unmanaged(requests), unmanaged(models)
    bench, packed = unmanaged(bench), unmanaged(packed)
    for k in models:
        state = Gaussian(stack.state.weights[k], stack.state.cov[k])
        w, C = state
        begin, end = requests.begins[k], requests.begins[k + 1]
        while begin < end:
            n = whole = min(BLOCK, end - begin)
            gather(requests, begin, n, bench)
            bench.w[:], bench.C[:] = w, C
            draws = bench.draws[: n if requests.draws.size else 0]
            chunk = Chunk(bench.X, bench.y, stack.seeds[k], stack.rows[k], draws, draws, 0)
            inner(bench.X[:n], bench.X[:n], bench.space.size)
            while n > 0:
                block = Block(0, n, BLOCK, False, 0.0, mistakes_only)
                bad, _, _ = run_block(rule, query, state, chunk, block, bench.space, bench.out)
                if bad < 0:
                    break
                w[:], C[:] = bench.w, bench.C
                n = bad
            scatter(bench.out, requests.order, begin, n, bench.y, packed)
            count(stack, k, bench.out, n, bench.y)
            if n < whole:
                refuse(w, n, bench, requests.order[begin + n], packed)
                stack.rows[k] += 1
                n += 1
            begin += n
        mirror(C)
