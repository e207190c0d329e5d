"""The arithmetic of one block: products with C, what an update does to the rows after it, and to C.

The equations are in :mod:`lasec.kernel.block`, which walks the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.kernel.blas import (
    product,
    subtract_squares,
    subtract_squares_below,
    symmetric_product,
)
from lasec.kernel.dispatch import compiled, reordering
from lasec.types import Matrix, Vector

# Below this dimension one general product is faster than any that spares a triangle.
NARROW = 128
# What a rule that does not shrink C at all is taken to shrink it by: nothing that can be seen.
LEAST = 1e-30


@compiled
def multiply(X: Matrix, C: Matrix, out: Matrix) -> None:
    """out <- XC."""
    if C.shape[0] < NARROW:
        product(X, C, out)
    else:
        symmetric_product(X, C, out)


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
