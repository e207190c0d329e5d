"""A block of rows whose products with C are formed at once, and mended after each update.

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
(:mod:`lasec.kernel.ceiling`): a row whose coin is not below the probability at that bound is not
asked, whatever its q is. Which rows might be asked is foreseen with the margins of the block's
start. Margins move within a block: a row that was not foreseen gets a product of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.blas import product_transposed, symmetric_times, times
from lasec.kernel.dispatch import compiled, inlined, probability, strain
from lasec.kernel.mend import LEAST, catch_up, finish, largest_now, learn, multiply, project
from lasec.kernel.rounds import Coins, Columns, inner, limit, toss
from lasec.rules.gaussian import judge, largest_variance, step
from lasec.types import Matrix, Query, Rule, Vector


class Desk(NamedTuple):
    """Scratch space for one block."""

    rows: Matrix
    H: Matrix
    G: Matrix
    F: Matrix
    along: Vector
    g: Vector
    v: Vector
    m: Vector
    q: Vector
    size: Vector
    coin: NDArray[np.float64]
    slot: NDArray[np.int64]

    @classmethod
    def empty(cls, rows: int, part: int, dimension: int, kind: Any) -> Desk:
        """Room for blocks of up to ``rows`` rows in parts of up to ``part``."""
        a, b, c = np.empty((3, rows, dimension), kind)
        v, m, q, size = np.empty((4, rows), kind)
        F, g = np.empty((part, rows), kind), np.empty(dimension, kind)
        coin, slot = np.ones(rows), np.empty(rows, np.int64)
        return cls(a, b, c, F, v.copy(), g, v, m, q, size, coin, slot)


@compiled
def weigh(rule: Rule[Any], query: Query, m: float, q: float, t: int) -> tuple[float, float]:
    """The margin that follows from m and q, and the probability of asking in round t."""
    seen = judge(rule, m, q)
    return seen.margin, probability(query, seen, t)


@compiled
def foresee(
    rule: Rule[Any], query: Query, X: Matrix, w: Vector, top: float, coins: Coins, start: int,
    lazy: bool, desk: Desk,
) -> int:  # fmt: skip
    """m <- Xw; each row that might be asked gets a slot in H, the others -1; how many got one."""
    given, seed, first = coins
    m, size, slot, coin = desk.m, desk.size, desk.slot, desk.coin
    count = 0
    times(X, w, m)
    for i in range(X.shape[0]):
        slot[i] = -1
        if lazy:
            _, p = weigh(rule, query, m[i], top * size[i], first + start + i + 1)
            coin[i] = toss(given, seed, first, start + i)
            if coin[i] >= p:
                continue
        slot[i] = count
        count += 1
    return count


@compiled
def prepare(X: Matrix, C: Matrix, count: int, desk: Desk) -> None:
    """H <- XC and q <- x'Cx for the rows with a slot; q <- 0 for the others."""
    n, d = X.shape
    rows, H, v, q, slot = desk.rows[:count], desk.H[:count], desk.v, desk.q, desk.slot
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
def bearable(
    rule: Rule[Any], size: float, largest: float, C: Matrix, G: Matrix, J: int, swell: float
) -> bool:
    """Whether a label at an x of this size is one that the precision can carry.

    ``largest`` was the largest variance at the block's start, and can have grown by ``swell`` only;
    where that does not settle it, the variances of this moment do.
    """
    if strain(rule, size, largest + swell) <= limit(C):
        return True
    return strain(rule, size, largest_now(C, G, J, swell)) <= limit(C)


@compiled
def take(H: Matrix, slot: int, g: Vector) -> None:
    """g <- the row of H in ``slot``, if there is one; else g holds what was fetched."""
    if slot >= 0:
        for j in range(g.size):
            g[j] = H[slot, j]


@compiled
def fetch(X: Matrix, C: Matrix, i: int, desk: Desk) -> None:
    """The product of a row that was not foreseen, into g, and its variance."""
    symmetric_times(C, X[i], desk.g)
    project(X, i, i + 1, desk.g, desk.v)
    desk.q[i] += desk.v[i]


@inlined
def run_block(
    rule: Rule[Any], query: Query, w: Vector, C: Matrix, X: Matrix, y: Vector, coins: Coins,
    start: int, mistakes_only: bool, lazy: bool, top: float, part: int, desk: Desk, out: Columns,
) -> tuple[int, int, float]:  # fmt: skip
    """The rounds of one block; gives a row to refuse or -1, the number of updates, their drift.

    ``desk.size`` holds ``|x|^2``. Where a row is refused, w and C are not to be used any more.
    """
    label, margin, variance, propensity, asked, mistake, updated = out
    given, seed, first = coins
    H, G, F, along, g, v = desk.H, desk.G, desk.F, desk.along, desk.g, desk.v
    m, q, size, slot, coin = desk.m, desk.q, desk.size, desk.slot, desk.coin
    kind, largest = C.dtype.type, largest_variance(C)
    prepare(X, C, foresee(rule, query, X, w, top, coins, start, lazy, desk), desk)
    J, swell, s, e = 0, 0.0, 0, 0
    for i in range(X.shape[0]):
        if i == e:
            s, e = i, min(i + part, X.shape[0])
            if J:
                product_transposed(X[s:e], G[:J], F)
                catch_up(X, s, e, J, swell, F, along, m, q, size)
        at, t = start + i, first + start + i + 1
        if not bearable(rule, size[i], largest, C, G, J, swell):
            return at, J, swell
        known = slot[i] >= 0
        q[i] = max(q[i], kind(0.0)) if known else q[i]
        p_t, p = weigh(rule, query, m[i], q[i] if known else kind((top + swell) * size[i]), t)
        u = coin[i] if lazy or p >= 1.0 else toss(given, seed, first, at)
        asks = p >= 1.0 or u < p
        if asks and not known:
            fetch(X, C, i, desk)
            p_t, p = weigh(rule, query, m[i], q[i], t)
            asks, known = u < p, True
        wrong = (m[i] >= 0.0) != (y[i] > 0.0)
        used = asks and (wrong or not mistakes_only)
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
        take(H, slot[i], g)
        learn(
            X, w, i, s, e, J, swell, kind(gain), kind(shrink), kind(inflate),
            g, G, F, along, v, m, q, size,
        )  # fmt: skip
        swell += inflate
        J += 1
    if J:
        finish(C, G[:J], swell)
    return -1, J, swell
