"""A block of rows whose products with C are formed at once, and corrected after each update.

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

*Lazily*, H and q are formed only for rows that might be asked. The probability of asking must not
fall as q grows, and q <= top |x|^2 where ``top`` is at least the largest eigenvalue of C
(:mod:`lasec.kernel.eigenvalue_bound`): a row whose draw is not below the probability at that bound
is not asked, whatever its q is. Which rows might be asked is foreseen with the margins of the
block's start. Margins move within a block: a row that was not foreseen gets a product of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec.kernel.blas import product_transposed, symmetric_times, times
from lasec.kernel.block_update import (
    LEAST,
    Progress,
    Workspace,
    catch_up,
    finish,
    largest_now,
    learn,
    multiply,
    project,
)
from lasec.kernel.chunk import Chunk, Columns, drawn, inner, limit
from lasec.kernel.dispatch import compiled, conditioning, inlined, probability
from lasec.rules.gaussian import Gaussian, Step, judge, largest_variance, step
from lasec.types import Matrix, Query, Rule, Vector


class Block(NamedTuple):
    """Which rows of a chunk form a block, and how it is walked.

    ``part`` is the number of rows in a part; ``top`` bounds the eigenvalues of C where ``lazy``.
    """

    start: int
    stop: int
    part: int
    lazy: bool
    top: float
    mistakes_only: bool


@compiled
def weigh(rule: Rule[Any], query: Query, m: float, q: float, t: int) -> tuple[float, float]:
    """The margin that follows from m and q, and the probability of asking in step t."""
    seen = judge(rule, m, q)
    return seen.margin, probability(query, seen, t)


@compiled
def foresee(
    rule: Rule[Any], query: Query, w: Vector, X: Matrix, chunk: Chunk, block: Block,
    space: Workspace,
) -> int:  # fmt: skip
    """m <- Xw; each row that might be asked gets a slot in H, the others -1; how many got one."""
    m, size, slot, draw = space.m, space.size, space.slot, space.draw
    start, first = block.start, chunk.first
    count = 0
    times(X, w, m)
    for i in range(X.shape[0]):
        slot[i] = -1
        if block.lazy:
            _, p = weigh(rule, query, m[i], block.top * size[i], first + start + i + 1)
            draw[i] = drawn(chunk.draws, chunk.seed, first, start + i)
            if draw[i] >= p:
                continue
        slot[i] = count
        count += 1
    return count


@compiled
def prepare(X: Matrix, C: Matrix, count: int, space: Workspace) -> None:
    """H <- XC and q <- x'Cx for the rows with a slot; q <- 0 for the others."""
    n, d = X.shape
    rows, H, v, q, slot = space.rows[:count], space.H[:count], space.v, space.q, space.slot
    if count == n:
        multiply(X, C, H)
        inner(X, H, q)
        return
    for i in range(n):
        if slot[i] >= 0:
            for j in range(d):
                rows[slot[i], j] = X[i, j]
    if count:
        multiply(rows, C, H)
        inner(rows, H, v)
    for i in range(n):
        q[i] = v[slot[i]] if slot[i] >= 0 else 0.0


@compiled
def shown(value: float, known: bool) -> float:
    """What is written down: NaN where a number was not computed."""
    return value if known else np.nan


@compiled
def idle(gain: float, shrink: float, inflate: float) -> bool:
    """Whether a step leads nowhere."""
    return gain == 0.0 and shrink == 0.0 and inflate == 0.0


@compiled
def learnable(
    rule: Rule[Any], size: float, largest: float, C: Matrix, G: Matrix, J: int, swell: float
) -> bool:
    """Whether a label at an x of this size stays within the conditioning limit.

    ``largest`` was the largest variance at the block's start, and can have grown by ``swell`` only;
    where that does not settle it, the present variances do.
    """
    if conditioning(rule, size, largest + swell) <= limit(C):
        return True
    return conditioning(rule, size, largest_now(C, G, J, swell)) <= limit(C)


@compiled
def take(H: Matrix, slot: int, g: Vector) -> None:
    """g <- the row of H in ``slot``, if there is one; else g holds what was fetched."""
    if slot >= 0:
        for j in range(g.size):
            g[j] = H[slot, j]


@compiled
def fetch(X: Matrix, C: Matrix, i: int, space: Workspace) -> None:
    """The product of a row that was not foreseen, into g, and its variance."""
    symmetric_times(C, X[i], space.g)
    project(X, i, i + 1, space.g, space.v)
    space.q[i] += space.v[i]


@inlined
def run_block(
    rule: Rule[Any], query: Query, state: Gaussian, chunk: Chunk, block: Block, space: Workspace,
    out: Columns,
) -> tuple[int, int, float]:  # fmt: skip
    """The steps of one block; gives a row to refuse or -1, the number of updates, their drift.

    ``space.size`` holds ``|x|^2``. Where a row is refused, the state must not be used any more.
    """
    label, margin, variance, propensity, asked, mistake, updated = out
    X, y, seed, first, draws, _, _ = chunk
    start, stop, part, lazy, top, mistakes_only = block
    X, y = X[start:stop], y[start:stop]
    w, C = state
    m, q, size, slot = space.m, space.q, space.size, space.slot
    kind, largest = C.dtype.type, largest_variance(C)
    prepare(X, C, foresee(rule, query, w, X, chunk, block, space), space)
    J, swell, s, e = 0, 0.0, 0, 0
    for i in range(X.shape[0]):
        if i == e:
            s, e = i, min(i + part, X.shape[0])
            if J:
                product_transposed(X[s:e], space.G[:J], space.F)
                catch_up(X, Progress(s, e, J, swell), space)
        at, t = start + i, first + start + i + 1
        if not learnable(rule, size[i], largest, C, space.G, J, swell):
            return at, J, swell
        known = slot[i] >= 0
        q[i] = max(q[i], kind(0.0)) if known else q[i]
        p_t, p = weigh(rule, query, m[i], q[i] if known else kind((top + swell) * size[i]), t)
        u = space.draw[i] if lazy or p >= 1.0 else drawn(draws, seed, first, at)
        asks = p >= 1.0 or u < p
        if asks and not known:
            fetch(X, C, i, space)
            p_t, p = weigh(rule, query, m[i], q[i], t)
            asks, known = u < p, True
        told = y[i] == y[i]  # a label that is NaN is not known
        wrong = told and (m[i] >= 0.0) != (y[i] > 0.0)
        used = asks and told and (wrong or not mistakes_only)
        label[at] = 1 if m[i] >= 0.0 else -1
        margin[at], variance[at] = shown(p_t, known), shown(q[i], known)
        propensity[at] = shown(p, known)
        asked[at], mistake[at], updated[at] = asks, wrong, used
        if not used:
            continue
        gain, shrink, inflate = step(rule, m[i], q[i], y[i])
        if idle(gain, shrink, inflate):
            continue
        shrink = shrink if shrink > 0.0 else LEAST
        take(space.H, slot[i], space.g)
        move = Step(kind(gain), kind(shrink), kind(inflate))
        learn(X, w, i, Progress(s, e, J, swell), move, space)
        swell += inflate
        J += 1
    if J:
        finish(C, space.G[:J], swell)
    return -1, J, swell
