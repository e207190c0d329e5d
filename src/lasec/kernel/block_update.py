"""The arithmetic of one block: products with C, what an update does to the rows after it, and to C.

The equations are in :mod:`lasec.kernel.block`, which walks the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.blas import (
    product,
    subtract_squares,
    subtract_squares_below,
    symmetric_product,
)
from lasec.kernel.dispatch import compiled, reordering
from lasec.rules.gaussian import Step
from lasec.types import Matrix, Vector

# Below this dimension one general product is faster than any that spares a triangle.
NARROW = 128
# What a rule that does not shrink C at all is taken to shrink it by: too little to be visible.
LEAST = 1e-30


class Workspace(NamedTuple):
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
    draw: NDArray[np.float64]
    slot: NDArray[np.int64]

    @classmethod
    def empty(cls, rows: int, part: int, dimension: int, kind: Any) -> Workspace:
        """Room for blocks of up to ``rows`` rows in parts of up to ``part``."""
        a, b, c = np.empty((3, rows, dimension), kind)
        v, m, q, size = np.empty((4, rows), kind)
        F, g = np.empty((part, rows), kind), np.empty(dimension, kind)
        draw, slot = np.ones(rows), np.empty(rows, np.int64)
        return cls(a, b, c, F, v.copy(), g, v, m, q, size, draw, slot)


class Progress(NamedTuple):
    """How far a block is: its part begins at ``s`` and ends before ``e``; updates and drift."""

    s: int
    e: int
    updates: int
    swell: float


@compiled
def multiply(X: Matrix, C: Matrix, out: Matrix) -> None:
    """out <- XC."""
    if C.shape[0] < NARROW:
        product(X, C, out)
    else:
        symmetric_product(X, C, out)


@reordering
def catch_up(X: Matrix, now: Progress, space: Workspace) -> None:
    """Bring m and q of the part's rows up to the updates so far, whose F is there."""
    s, e, J, swell = now
    F, along, m, q, size = space.F, space.along, space.m, space.q, space.size
    for i in range(s, e):
        moved, shrunk = X.dtype.type(0.0), X.dtype.type(0.0)
        for k in range(J):
            moved += F[i - s, k] * along[k]
            shrunk += F[i - s, k] * F[i - s, k]
        m[i] += moved
        q[i] += X.dtype.type(swell) * size[i] - shrunk


@reordering
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
def learn(X: Matrix, w: Vector, i: int, now: Progress, move: Step, space: Workspace) -> None:
    """Learn row ``i`` as the next update; ``space.g`` holds its row of H."""
    s, e, J, swell = now
    gain, shrink, inflate = move
    g, G, F, v = space.g, space.G, space.F, space.v
    root, grown = np.sqrt(shrink), X.dtype.type(swell)
    for j in range(g.size):
        g[j] += grown * X[i, j]
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
