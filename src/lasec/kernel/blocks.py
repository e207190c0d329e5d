"""A chunk of rows of a second-order rule, block by block (:mod:`lasec.kernel.block`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec.kernel.block import Block, run_block
from lasec.kernel.block_update import NARROW, Workspace
from lasec.kernel.chunk import Chunk, Columns, unsound
from lasec.kernel.dispatch import compiled
from lasec.kernel.eigenvalue_bound import EigenvalueBound, tighten
from lasec.kernel.unmanaged import unmanaged
from lasec.rules.gaussian import Gaussian
from lasec.types import Matrix, Query, Rule

# Blocks of this many rows: wide rows gain from long blocks until updates become many.
SHORT, MIDDLE, LONG = 32, 128, 256
# The share of rows that are updates from which on blocks of wide rows are kept shorter.
OFTEN = 0.1


def parts(dimension: int) -> int:
    """How many rows of a block are walked before the others catch up."""
    return 32 if dimension < NARROW else 8 if dimension < 512 else 16


@compiled
def mirror(C: Matrix) -> None:
    """Copy the lower triangle of C onto the upper one, tile by tile."""
    d = C.shape[0]
    for row in range(0, d, 32):
        for column in range(0, row + 1, 32):
            for i in range(row, min(row + 32, d)):
                for j in range(column, min(column + 32, i)):
                    C[j, i] = C[i, j]


class Plan(NamedTuple):
    """How a chunk is walked: rows in a block (0 to choose them) and in a part of it."""

    block: int
    part: int
    lazy: bool
    mistakes_only: bool


def run_blocks(
    rule: Rule[Any], query: Query, state: Gaussian, chunk: Chunk, plan: Plan,
    bound: EigenvalueBound, space: Workspace, out: Columns,
) -> int:  # fmt: skip
    """Ask and, where asked, tell at once, for each row of a chunk; a row to refuse, or -1.

    The state is changed in place, and must be discarded where a row is refused.
    """
    state, chunk, space = unmanaged(state), unmanaged(chunk), unmanaged(space)
    out, X, C = unmanaged(out), unmanaged(chunk.X), unmanaged(state.cov)
    d = C.shape[0]
    slack = 1.0 + 16.0 * d * np.sqrt(d) * np.finfo(C.dtype).eps
    start, top, rate, stale = 0, 0.0, 0.0, 0
    while start < X.shape[0]:
        n = SHORT if d < NARROW else MIDDLE if rate > OFTEN else LONG
        stop = min(start + (plan.block if plan.block else n), X.shape[0])
        bad = unsound(X[start:stop], space.size)
        if bad >= 0:
            return start + bad
        if plan.lazy:
            top = tighten(bound, C, stop - start) * slack
        block = Block(start, stop, plan.part, plan.lazy, top, plan.mistakes_only)
        bad, updates, drift = run_block(rule, query, state, chunk, block, space, out)
        if bad >= 0:
            return bad
        bound.numbers[0] += drift
        rate += 0.25 * (updates / (stop - start) - rate)
        stale += updates
        if stale > 1000 and d < NARROW:
            mirror(C)
            stale = 0
        start = stop
    mirror(C)
    return -1
