"""A chunk of rounds of a second-order rule, block by block (:mod:`lasec.kernel.block`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.kernel.block import Desk, run_block
from lasec.kernel.borrow import borrowed
from lasec.kernel.ceiling import Ceiling, tighten
from lasec.kernel.dispatch import compiled
from lasec.kernel.mend import NARROW
from lasec.kernel.rounds import Coins, Columns, unsound
from lasec.types import Matrix, Query, Rule, Vector

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


def run_blocks(
    rule: Rule[Any], query: Query, w: Vector, C: Matrix, X: Matrix, y: Vector, coins: Coins,
    mistakes_only: bool, lazy: bool, ceiling: Ceiling, block: int, part: int, desk: Desk,
    out: Columns,
) -> int:  # fmt: skip
    """Ask and, where asked, tell at once, for each row of X; a row that must be refused, or -1.

    ``w`` and ``C`` are changed in place, and must be thrown away where a row is refused. ``block``
    is the number of rows in a block, or 0 to choose it.
    """
    w, C, X, y = borrowed(w), borrowed(C), borrowed(X), borrowed(y)
    coins, desk, out = borrowed(coins), borrowed(desk), borrowed(out)
    d = w.size
    slack = 1.0 + 16.0 * d * np.sqrt(d) * np.finfo(C.dtype).eps
    start, top, rate, stale = 0, 0.0, 0.0, 0
    while start < X.shape[0]:
        n = block if block else SHORT if d < NARROW else MIDDLE if rate > OFTEN else LONG
        stop = min(start + n, X.shape[0])
        rows = X[start:stop]
        bad = unsound(rows, desk.size)
        if bad >= 0:
            return start + bad
        if lazy:
            top = tighten(ceiling, C, stop - start) * slack
        bad, updates, drift = run_block(
            rule, query, w, C, rows, y[start:stop], coins, start, mistakes_only, lazy, top,
            part, desk, out,
        )  # fmt: skip
        if bad >= 0:
            return bad
        ceiling.numbers[0] += drift
        rate += 0.25 * (updates / (stop - start) - rate)
        stale += updates
        if stale > 1000 and d < NARROW:
            mirror(C)
            stale = 0
        start = stop
    mirror(C)
    return -1
