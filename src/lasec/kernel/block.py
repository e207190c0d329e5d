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
start; what margins have moved since then, a row that was not foreseen gets a product of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.blas import (
    product,
    product_transposed,
    subtract_squares,
    subtract_squares_below,
    symmetric_product,
    symmetric_times,
    times,
)
from lasec.kernel.borrow import borrowed
from lasec.kernel.dispatch import compiled, inlined, probability, reordering, strain
from lasec.kernel.rounds import Coins, Columns, falls, inner, limit
from lasec.rules.gaussian import judge, largest_variance, step
from lasec.types import Matrix, Query, Rule, Vector

# Below this dimension one general product is faster than any that spares a triangle.
NARROW = 128
# What a rule that does not shrink C at all is taken to shrink it by: nothing that can be seen.
LEAST = 1e-30


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
    slot: NDArray[np.int64]

    @classmethod
    def empty(cls, rows: int, part: int, dimension: int, kind: Any) -> Desk:
        """Room for blocks of up to ``rows`` rows in parts of up to ``part``."""
        a, b, c = np.empty((3, rows, dimension), kind)
        v, m, q, size = np.empty((4, rows), kind)
        F, g = np.empty((part, rows), kind), np.empty(dimension, kind)
        return cls(a, b, c, F, v.copy(), g, v, m, q, size, np.empty(rows, np.int64))


@compiled
def lend(desk: Desk) -> Desk:
    """The desk, uncounted."""
    return Desk(
        borrowed(desk.rows), borrowed(desk.H), borrowed(desk.G), borrowed(desk.F),
        borrowed(desk.along), borrowed(desk.g), borrowed(desk.v), borrowed(desk.m),
        borrowed(desk.q), borrowed(desk.size), borrowed(desk.slot),
    )  # fmt: skip


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
    m, size, slot = desk.m, desk.size, desk.slot
    count = 0
    times(X, w, m)
    for i in range(X.shape[0]):
        slot[i] = -1
        if lazy:
            _, p = weigh(rule, query, m[i], top * size[i], first + start + i + 1)
            if not falls(p, given, seed, first, start + i):
                continue
        slot[i] = count
        count += 1
    return count


@compiled
def multiply(X: Matrix, C: Matrix, out: Matrix) -> None:
    """out <- XC."""
    if C.shape[0] < NARROW:
        product(X, C, out)
    else:
        symmetric_product(X, C, out)


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


@reordering
def catch_up(
    X: Matrix, s: int, e: int, J: int, swell: float, F: Matrix, along: Vector, m: Vector,
    q: Vector, size: Vector,
) -> None:  # fmt: skip
    """Bring m and q of the rows ``s`` to ``e - 1`` up to the J updates so far, whose F is there."""
    for i in range(s, e):
        moved, shrunk = X.dtype.type(0.0), X.dtype.type(0.0)
        for k in range(J):
            moved += F[i - s, k] * along[k]
            shrunk += F[i - s, k] * F[i - s, k]
        m[i] += moved
        q[i] += X.dtype.type(swell) * size[i] - shrunk


@reordering
def mend(g: Vector, G: Matrix, F: Matrix, i: int, J: int) -> None:
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


@reordering
def project(X: Matrix, s: int, e: int, g: Vector, v: Vector) -> None:
    """v[r] <- x_r'g for the rows ``s`` to ``e - 1``, four at a time."""
    r, zero = s, X.dtype.type(0.0)
    while r + 4 <= e:
        a, b, c, d = zero, zero, zero, zero
        for j in range(X.shape[1]):
            a += X[r, j] * g[j]
            b += X[r + 1, j] * g[j]
            c += X[r + 2, j] * g[j]
            d += X[r + 3, j] * g[j]
        v[r], v[r + 1], v[r + 2], v[r + 3] = a, b, c, d
        r += 4
    while r < e:
        a = zero
        for j in range(X.shape[1]):
            a += X[r, j] * g[j]
        v[r] = a
        r += 1


@compiled
def learn(
    X: Matrix, w: Vector, i: int, s: int, e: int, J: int, swell: float, gain: Any, shrink: Any,
    inflate: Any, g: Vector, G: Matrix, F: Matrix, along: Vector, v: Vector, m: Vector, q: Vector,
    size: Vector,
) -> None:  # fmt: skip
    """Learn row ``i`` of the part ``s`` to ``e - 1`` as update J; g holds its row of H."""
    root, grown = np.sqrt(shrink), X.dtype.type(swell)
    for j in range(g.size):
        g[j] += grown * X[i, j]
    mend(g, G, F, i - s, J)
    along[J] = gain / root
    for j in range(g.size):
        w[j] += gain * g[j]
        G[J, j] = root * g[j]
    project(X, i + 1, e, g, v)
    for r in range(i + 1, e):
        f = root * v[r]
        F[r - s, J] = f
        m[r] += gain * v[r]
        q[r] += inflate * size[r] - f * f


@compiled
def idle(gain: float, shrink: float, inflate: float) -> bool:
    """Whether a step leads nowhere."""
    return gain == 0.0 and shrink == 0.0 and inflate == 0.0


@compiled
def finish(C: Matrix, G: Matrix, swell: float) -> None:
    """C <- C - G'G + swell I; of a wide C the lower triangle only."""
    d = C.shape[0]
    if d < NARROW:
        subtract_squares(C, G)
    else:
        subtract_squares_below(C, G)
    for i in range(d):
        C[i, i] += swell


@compiled
def largest_now(C: Matrix, G: Matrix, J: int, swell: float) -> float:
    """The largest variance of any weight after J updates of the block."""
    largest = 0.0
    for i in range(C.shape[0]):
        variance = C[i, i] + swell
        for k in range(J):
            variance -= G[k, i] ** 2
        largest = max(largest, variance)
    return largest


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
    m, q, size, slot = desk.m, desk.q, desk.size, desk.slot
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
        asks = falls(p, given, seed, first, at)
        if asks and not known:
            fetch(X, C, i, desk)
            p_t, p = weigh(rule, query, m[i], q[i], t)
            asks, known = falls(p, given, seed, first, at), True
        wrong = (m[i] >= 0.0) != (y[i] > 0.0)
        used = asks and (wrong or not mistakes_only)
        label[at] = 1 if m[i] >= 0.0 else -1
        margin[at] = p_t if known else np.nan
        variance[at] = q[i] if known else np.nan
        propensity[at] = p if known else np.nan
        asked[at], mistake[at], updated[at] = asks, wrong, used
        if not used:
            continue
        gain, shrink, inflate = step(rule, m[i], q[i], y[i])
        if idle(gain, shrink, inflate):
            continue
        shrink = max(shrink, LEAST)
        if slot[i] >= 0:
            for j in range(g.size):
                g[j] = H[slot[i], j]
        learn(
            X, w, i, s, e, J, swell, kind(gain), kind(shrink), kind(inflate),
            g, G, F, along, v, m, q, size,
        )  # fmt: skip
        swell += inflate
        J += 1
    if J:
        finish(C, G[:J], swell)
    return -1, J, swell
