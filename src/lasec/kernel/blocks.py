"""Rows of a second-order rule in blocks, whose products with C are formed at once.

With C as it was at the block's start, H = XC is one matrix product. When row t is learned, as the
j-th update of the block, and ``swell`` is the drift that the updates before it have added up::

    g = H[t] + swell x_t - sum_{l < j} shrink_l (g_l'x_t) g_l

and for each later row, with v = x'g::

    m <- m + gain v,    q <- q + inflate |x|^2 - shrink v^2

At the block's end C <- C + swell I - sum_l shrink_l g_l g_l' is one product again. G keeps the rows
sqrt(shrink_l) g_l', and F the products of a row with them. All of this is exact: the numbers are
those of the row-by-row form, up to rounding. A block is walked in parts. At a part's start, m and q
of its rows are brought up to date by one small product; an update then only has to look at the
rows that are left of its part.

Compiled code takes the products from SciPy's BLAS (:func:`load_products`): NumPy has no name for a
product that reads or writes one triangle of a symmetric matrix, which is half the work. All
matrices are C-contiguous doubles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec import methods
from lasec.kernel.functions import LARGEST_STRAIN
from lasec.kernel.loops import Columns, Query, Scratch, Turns, decide
from lasec.kernel.places import ASKED, CHANCE, FAILED, LEAD, RAW, VARIANCE
from lasec.linalg import largest_variance
from lasec.rules.gaussian import Gaussian, Step
from lasec.types import Matrix, Vector
from lasec.validation import LARGEST_ENTRY

# Below this dimension one general product is faster than any that spares a triangle.
NARROW = 128
# Blocks of this many rows: wide rows gain from long blocks until updates become many.
SHORT, MIDDLE, LONG = 32, 128, 256
# The share of rows that are updates from which on blocks of wide rows are kept shorter.
OFTEN = 0.1
# What a rule that does not shrink C at all is taken to shrink it by: too little to be visible.
LEAST = 1e-30


def times(X: Matrix, w: Vector, out: Vector) -> None:
    """out <- Xw."""
    out[: len(X)] = X @ w


def multiply(X: Matrix, C: Matrix, out: Matrix) -> None:
    """out <- XC, of a wide C by its lower triangle."""
    out[: len(X)] = X @ _whole(C)


def multiply_by(A: Matrix, G: Matrix, out: Matrix) -> None:
    """out <- AG', in the first rows and columns of ``out``."""
    out[: len(A), : len(G)] = A @ G.T


def finish(C: Matrix, G: Matrix, swell: float) -> None:
    """C <- C - G'G + swell I; of a wide C the lower triangle only."""
    C -= G.T @ G
    C[np.diag_indices(len(C))] += swell


def _whole(C: Matrix) -> Matrix:
    lower = np.tril(C)
    return C if C.shape[0] < NARROW else lower + np.tril(lower, -1).T


class Workspace(NamedTuple):
    """Scratch space for one block."""

    H: Matrix
    G: Matrix
    F: Matrix
    along: Vector
    v: Vector
    m: Vector
    q: Vector
    size: Vector

    @classmethod
    def empty(cls, rows: int, part: int, dimension: int) -> Workspace:
        """Room for blocks of up to ``rows`` rows in parts of up to ``part``."""
        H, G = np.empty((2, rows, dimension))
        along, v, m, q, size = np.empty((5, rows))
        return cls(H, G, np.empty((part, rows)), along, v, m, q, size)


class Progress(NamedTuple):
    """How far a block is: its part begins at ``s`` and ends before ``e``; updates and drift."""

    s: int
    e: int
    updates: int
    swell: float


def inner(X: Matrix, Y: Matrix, out: Vector) -> None:
    """out[i] <- the inner product of the i-th rows; in any order of summation, as BLAS has it."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * Y[i, j]
        out[i] = total


def unsound(X: Matrix, size: Vector) -> int:
    """Puts ``|x|^2`` of each row into ``size``; the first row with an unusable entry, or -1."""
    inner(X, X, size)
    for i in range(X.shape[0]):
        if not size[i] <= LARGEST_ENTRY * LARGEST_ENTRY:
            for j in range(X.shape[1]):
                if not abs(X[i, j]) <= LARGEST_ENTRY:
                    return i
    return -1


def catch_up(now: Progress, space: Workspace) -> None:
    """Bring m and q of the part's rows up to the updates so far, whose F is there."""
    s, e, J, swell = now
    F, along, m, q, size = space.F, space.along, space.m, space.q, space.size
    for i in range(s, e):
        moved, shrunk = 0.0, 0.0
        for k in range(J):
            moved += F[i - s, k] * along[k]
            shrunk += F[i - s, k] * F[i - s, k]
        m[i] += moved
        q[i] += swell * size[i] - shrunk


def subtract_updates(g: Vector, G: Matrix, F: Matrix, i: int, J: int) -> None:
    """g <- g - sum_{k < J} F[i, k] G[k], four at a time."""
    k = 0
    while k + 4 <= J:
        a, b, c, e = F[i, k], F[i, k + 1], F[i, k + 2], F[i, k + 3]
        for j in range(g.size):
            g[j] -= (a * G[k, j] + b * G[k + 1, j]) + (c * G[k + 2, j] + e * G[k + 3, j])
        k += 4
    while k < J:
        a = F[i, k]
        for j in range(g.size):
            g[j] -= a * G[k, j]
        k += 1


def project(X: Matrix, s: int, e: int, g: Vector, v: Vector) -> None:
    """v[r] <- x_r'g for the rows ``s`` to ``e - 1``, four at a time."""
    r = s
    while r + 4 <= e:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(X.shape[1]):
            a += X[r, j] * g[j]
            b += X[r + 1, j] * g[j]
            c += X[r + 2, j] * g[j]
            d += X[r + 3, j] * g[j]
        v[r], v[r + 1], v[r + 2], v[r + 3] = a, b, c, d
        r += 4
    while r < e:
        a = 0.0
        for j in range(X.shape[1]):
            a += X[r, j] * g[j]
        v[r] = a
        r += 1


def learn(X: Matrix, w: Vector, i: int, now: Progress, move: Step, space: Workspace) -> None:
    """Learn row ``i`` as the next update, and let the rest of its part follow."""
    s, e, J, swell = now
    gain, shrink, inflate = move
    shrink = shrink if shrink > 0.0 else LEAST
    g, G, F, v = space.H[i], space.G, space.F, space.v
    root = np.sqrt(shrink)
    for j in range(g.size):
        g[j] += swell * X[i, j]
    subtract_updates(g, G, F, i - s, J)
    space.along[J] = gain / root
    for j in range(g.size):
        w[j] += gain * g[j]
        G[J, j] = root * g[j]
    project(X, i + 1, e, g, v)
    for r in range(i + 1, e):
        f = root * v[r]
        F[r - s, J] = f
        space.m[r] += gain * v[r]
        space.q[r] += inflate * space.size[r] - f * f


def largest_now(C: Matrix, G: Matrix, J: int, swell: float) -> float:
    """The largest variance of any weight after J updates of the block."""
    largest = 0.0
    for i in range(C.shape[0]):
        variance = C[i, i] + swell
        for k in range(J):
            variance -= G[k, i] ** 2
        largest = max(largest, variance)
    return largest


def learnable(
    rule: Any, size: float, largest: float, C: Matrix, G: Matrix, J: int, swell: float
) -> bool:
    """Whether a label at an x of this size stays within the conditioning limit.

    ``largest`` was the largest variance at the block's start, and can have grown by ``swell`` only;
    where that does not settle it, the present variances do.
    """
    if methods.conditioning(rule, size, largest + swell) <= LARGEST_STRAIN:
        return True
    return methods.conditioning(rule, size, largest_now(C, G, J, swell)) <= LARGEST_STRAIN


class Work(NamedTuple):
    """What :func:`run_blocks` takes: ``block`` rows in a block, 0 to choose it, ``part`` in a part.

    The state is changed in place, and must be discarded where a row is refused.
    """

    rule: Any
    state: Gaussian
    query: Query
    X: Matrix
    turns: Turns
    y: Vector
    block: int
    part: int
    mistakes_only: bool
    space: Workspace
    out: Columns
    scratch: Scratch


def run_block(work: Work, start: int, stop: int) -> tuple[int, int]:
    """The steps of one block; gives a row to refuse, -1 or ``FAILED``, and the number of updates.

    ``space.size`` holds ``|x|^2``. Where a row is refused, the state must not be used any more.
    """
    rule, space, out, seen = work.rule, work.space, work.out, work.scratch.seen
    X, y, w, C = work.X[start:stop], work.y[start:stop], work.state.weights, work.state.cov
    m, q, size, G = space.m, space.q, space.size, space.G
    largest = largest_variance(C)
    times(X, w, m)
    multiply(X, C, space.H)
    inner(X, space.H, q)
    J, swell, s, e = 0, 0.0, 0, 0
    for i in range(X.shape[0]):
        if i == e:
            s, e = i, min(i + work.part, X.shape[0])
            if J:
                multiply_by(X[s:e], G[:J], space.F)
                catch_up(Progress(s, e, J, swell), space)
        at = start + i
        if not learnable(rule, size[i], largest, C, G, J, swell):
            return at, J
        q[i] = max(q[i], 0.0)
        said = methods.judge(rule, m[i], q[i])
        seen[RAW], seen[VARIANCE], seen[LEAD] = m[i], q[i], said.margin
        if decide(work.query, work.turns, at, work.scratch, work.turns.waiting) < 0:
            return FAILED, J
        asks, told = seen[ASKED] > 0.0, y[i] == y[i]  # a label that is NaN is not known
        wrong = told and (m[i] >= 0.0) != (y[i] > 0.0)
        used = asks and told and (wrong or not work.mistakes_only)
        out.label[at] = 1 if m[i] >= 0.0 else -1
        out.margin[at], out.variance[at], out.propensity[at] = said.margin, q[i], seen[CHANCE]
        out.asked[at], out.mistake[at], out.updated[at] = asks, wrong, used
        if used:
            move = methods.step(rule, m[i], q[i], y[i])
            if not (move.gain == 0.0 and move.shrink == 0.0 and move.inflate == 0.0):
                learn(X, w, i, Progress(s, e, J, swell), move, space)
                swell += move.inflate
                J += 1
    if J:
        finish(C, G[:J], swell)
    return -1, J


def parts(dimension: int) -> int:
    """How many rows of a block are walked before the others catch up."""
    return 32 if dimension < NARROW else 8 if dimension < 512 else 16


def mirror(C: Matrix) -> None:
    """Copy the lower triangle of C onto the upper one, tile by tile."""
    d = C.shape[0]
    for row in range(0, d, 32):
        for column in range(0, row + 1, 32):
            for i in range(row, min(row + 32, d)):
                for j in range(column, min(column + 32, i)):
                    C[j, i] = C[i, j]


def run_blocks(work: Work) -> int:
    """Ask and, where asked, tell at once, for each row of a chunk; a row to refuse, or -1."""
    X, C = work.X, work.state.cov
    d = C.shape[0]
    start, rate, stale = 0, 0.0, 0
    while start < X.shape[0]:
        n = SHORT if d < NARROW else MIDDLE if rate > OFTEN else LONG
        stop = min(start + (work.block if work.block else n), X.shape[0])
        bad = unsound(X[start:stop], work.space.size)
        if bad >= 0:
            return start + bad
        bad, updates = run_block(work, start, stop)
        if bad != -1:
            return bad
        rate += 0.25 * (updates / (stop - start) - rate)
        stale += updates
        if stale > 1000 and d < NARROW:
            mirror(C)
            stale = 0
        start = stop
    mirror(C)
    return -1
