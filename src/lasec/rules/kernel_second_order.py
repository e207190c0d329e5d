"""LASEC, and with no drift the second-order perceptron, with a Mercer kernel.

The paper (Moroshko and Crammer, *Selective Sampling with Drift*, AISTATS 2014) notes that LASEC
uses only inner and outer products of rows, so that any kernel K can stand for the inner product.
The weights and the covariance then live in the kernel's feature space: with Phi the rows learned
from, as columns, and alpha = 1/b + k/c after k updates::

    w = Phi beta,    C = alpha I - Phi M Phi'

Here neither beta nor M is kept, but the same w and C in an orthonormal basis U of the span of the
*support set*: the rows learned from, as columns Phi = U R with R upper triangular::

    start      empty support,  C = I/b
    margin     z = R'^-1 k_x, where k_x holds K(support, x),  r = sqrt(K(x, x) - |z|^2)
               x has the coordinates u = (z, r) in (U, the direction of x outside of the span)
               m = w'u,  q = u'Cu,  p = m / (1 + q)
    update     g = Cu,  s = 1 + q
               w <- w + g (y - m)/s
               C <- C - g g'/s + I/c
               x joins the support; (z, r) is its column of R

These are the equations of :mod:`lasec.rules.second_order` in the coordinates u, so the numbers are
those of LASEC in the feature space.

*Jitter.* K(x, x) counts as (1 + 1e-12) K(x, x), so that R can be inverted even where rows of the
support depend on each other. That is a Mercer kernel too: each row of the support has a small
feature of its own, which it shares with no other row. It adds 1e-12 alpha K(x, x) to q.

*Budget.* All of this is exact while the support has at most ``budget`` rows. When one more joins,
the oldest leaves. With Pi the orthogonal projection onto the span of the others::

    w <- Pi w,    C <- Pi C Pi + alpha (I - Pi)

In the basis, that is a rotation which brings the direction to be lost to the last place, and w and
C without that place. What was learned about the span of the others is kept, whichever row it was
learned from; the direction that is lost counts as unknown again. C stays positive definite: a
principal submatrix of a rotated positive definite matrix is positive definite, and so is alpha I
on the rest. Where the oldest row depends on the others, nothing is lost at all: with a kernel of n
features, a budget of n or a few more rows is enough for ever. Marginalizing a Gaussian posterior to
a support of fixed size follows Van Vaerenbergh, Lazaro-Gredilla and Santamaria, *Kernel Recursive
Least-Squares Tracker for Time-Varying Regression*, IEEE Trans. Neural Networks and Learning Systems
23(8), 2012, who choose the row to leave by the loss it causes.

Cost, for n rows of support (n <= ``budget``): O(n^2 + n d) for a margin and for an update. State:
2 (budget + 1)^2 + (budget + 1)(d + 1) numbers, allocated at the start: 0.7 MB for 200 rows of
support and 10 features, 16 MB for 1,000, 400 MB for 5,000.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec import methods
from lasec.contract import rule
from lasec.linalg import definite, downdate, inflate, put
from lasec.mercer import RBF
from lasec.parameters import NonNegative, Positive, Range, checked
from lasec.rules.gaussian import shrunk
from lasec.types import Counter, Margin, Matrix, Mercer, Vector

__all__ = ["coordinates", "drop_oldest", "filled", "image", "rotate", "rotate_both"]

# Added to K(x, x), as a share of it: well above the rounding of a factor of 5,000 rows.
JITTER = 1e-12
# The largest K(x, x) with which no product of an update overflows.
LARGEST_SIZE = 1e120


class Span(NamedTuple):
    """A Gaussian posterior in the span of a support set, in an orthonormal basis of it.

    There is one place more than the budget. The places after the support's are free: no weight, and
    the covariance alpha I of all directions outside of the span.

    >>> KernelSecondOrder(ridge=2.0, budget=1).init(dimension=3).cov.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    weights: Vector
    cov: Matrix
    factor: Matrix
    rows: Matrix
    size: Counter

    def validate(self) -> str:
        """What makes these arrays no posterior of this kind, as a phrase; empty if nothing does.

        >>> state = KernelSecondOrder(budget=2).init(dimension=1)
        >>> state._replace(size=np.array([3])).validate()
        'size is not between 0 and the budget'
        """
        places, n = self.weights.size, int(self.size[0])
        if not 0 <= n < places:
            return "size is not between 0 and the budget"
        free = (self.weights[n:], self.rows[n:], self.factor[n:], self.factor[:, n:])
        if any(part.any() for part in free):
            return "a free place of the support is not empty"
        return _flaw_of_factor(self.factor[:n, :n]) or _flaw_of_cov(self.cov, n)


def _flaw_of_factor(R: Matrix) -> str:
    """Why R is no factor of a Gram matrix with jitter; empty if it is one."""
    diagonal = np.diag(R)
    if np.tril(R, -1).any() or (diagonal <= 0.0).any():
        return "factor is not upper triangular with a positive diagonal"
    lengths = np.hypot.reduce(R, axis=0)  # squares of what a file may hold can overflow
    if (diagonal < math.sqrt(0.5 * JITTER) * lengths).any():
        return "factor belongs to rows that depend on each other"
    return ""


def _flaw_of_cov(C: Matrix, n: int) -> str:
    """Why C is no covariance with a support of n rows; empty if it is one."""
    if not np.array_equal(C[n:], C[n, n] * np.eye(len(C))[n:]):
        return "cov is not alpha I outside of the support"
    if not np.array_equal(C, C.T):
        return "cov is not symmetric"
    return "" if definite(C) else "cov is not positive definite"


def filled(state: Span) -> int:
    """How many rows the support has; never more than there are places."""
    return int(min(max(state.size[0], 0), state.weights.size - 1))


def coordinates(kernel: Mercer, state: Span, x: Vector) -> Vector:
    """u = (z, r): x in the basis of the support, and its distance from the support's span."""
    n, size = filled(state), methods.product(kernel, x, x)
    u, left = np.empty(n + 1), size
    for j in range(n):
        u[j] = methods.product(kernel, state.rows[j], x)
    for i in range(n):
        found, row = u[i] / state.factor[i, i], state.factor[i]
        u[i] = found
        left -= found * found
        for j in range(i + 1, n):
            u[j] -= found * row[j]
    u[n] = math.sqrt(max(left, 0.0) + JITTER * size)
    return u


def image(C: Matrix, u: Vector) -> Vector:
    """Cu, of as much of the symmetric C as u is long."""
    g = np.zeros(u.size)
    for j in range(u.size):
        along, row = u[j], C[j]
        for i in range(u.size):
            g[i] += along * row[i]
    return g


def rotate(one: Any, other: Any, c: float, s: float) -> None:
    """(one, other) <- (c one + s other, c other - s one)."""
    for i in range(one.size):
        a, b = one[i], other[i]
        one[i], other[i] = c * a + s * b, c * b - s * a


def rotate_both(C: Matrix, k: int, c: float, s: float) -> None:
    """Rotate rows k and k + 1 of a symmetric matrix, and its columns, and keep it symmetric."""
    a, b, d = C[k, k], C[k, k + 1], C[k + 1, k + 1]
    rotate(C[k], C[k + 1], c, s)
    for i in range(C.shape[0]):
        C[i, k], C[i, k + 1] = C[k, i], C[k + 1, i]
    C[k, k] = c * c * a + 2.0 * c * s * b + s * s * d
    C[k + 1, k + 1] = c * c * d - 2.0 * c * s * b + s * s * a
    C[k, k + 1] = C[k + 1, k] = (c * c - s * s) * b + c * s * (d - a)


def drop_oldest(state: Span) -> None:
    """Project on the span of all support rows but the first, where every place is filled.

    Without its first column R is upper Hessenberg; rotations of its rows k and k + 1, from the
    first to the last, make it triangular again, and turn the basis with it.
    """
    weights, cov, factor, rows, _ = state
    last = weights.size - 1
    for k in range(last):
        put(rows[k], rows[k + 1])
        for i in range(k + 2):
            factor[i, k] = factor[i, k + 1]
    for k in range(last):
        length = math.hypot(factor[k, k], factor[k + 1, k])
        c, s = factor[k, k] / length, factor[k + 1, k] / length
        rotate(factor[k, k:last], factor[k + 1, k:last], c, s)
        factor[k + 1, k] = 0.0
        rotate(weights[k : k + 1], weights[k + 1 : k + 2], c, s)
        rotate_both(cov, k, c, s)
    weights[last] = 0.0
    for i in range(last + 1):
        factor[i, last] = factor[last, i] = cov[i, last] = cov[last, i] = 0.0
    rows[last] = 0.0


@checked
@rule(symmetric=("cov",))
class KernelSecondOrder(NamedTuple):
    """The rule of LASEC (``drift > 0``) and of the second-order perceptron, with a kernel.

    Four points that no line separates:

    >>> rule = KernelSecondOrder(RBF(bandwidth=0.5), drift=0.01, ridge=1.0, budget=10)
    >>> state = rule.init(dimension=2)
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> for x, y in zip(X, [1.0, 1.0, -1.0, -1.0]):
    ...     rule.update(state, x, y, draw=0.0)
    >>> [rule.margin(state, x).label for x in X]
    [1, 1, -1, -1]
    """

    kernel: Mercer = RBF()
    drift: NonNegative = 0.0
    ridge: Positive = 1.0
    budget: Annotated[int, Range(1, 5_000)] = 200

    def validate(self) -> str:
        """The paper's condition b < c."""
        if self.ridge * self.drift < 1.0:
            return ""
        return f"ridge * drift must be below 1 (the paper's b < c), got {self.ridge * self.drift:g}"

    def init(self, dimension: int) -> Span:
        """An empty support, C = I/b."""
        n = self.budget + 1
        cov, size = np.zeros((n, n)), np.zeros(1, dtype=np.int64)
        inflate(cov, 1.0 / self.ridge)
        return Span(np.zeros(n), cov, np.zeros((n, n)), np.zeros((n, dimension)), size)

    def margin(self, state: Span, x: Vector, t: int = 0) -> Margin:
        """p = m / (1 + q)."""
        u = coordinates(self.kernel, state, x)
        q = np.dot(image(state.cov, u), u)
        return shrunk(float(np.dot(state.weights[: u.size], u)), max(float(q), 0.0))

    def update(self, state: Span, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """One step of LASEC in the coordinates of x; then x may join the support."""
        u = coordinates(self.kernel, state, x)
        n = u.size - 1
        g = image(state.cov, u)
        s, alpha = 1.0 + max(np.dot(g, u), 0.0), state.cov[n, n] + self.drift
        gain = (y - np.dot(state.weights[: n + 1], u)) / s
        for i in range(n + 1):
            state.weights[i] += gain * g[i]
        downdate(state.cov, g, 1.0 / s)
        inflate(state.cov, self.drift)
        if u[n] > 0.0:
            put(state.rows[n], x)
            for i in range(n + 1):
                state.factor[i, n] = u[i]
            state.size[0] = n + 1
        if n == self.budget and u[n] > 0.0:
            drop_oldest(state)
            state.cov[n, n], state.size[0] = alpha, n

    def squared_norm(self, x: Vector) -> float:
        """K(x, x)."""
        return methods.product(self.kernel, x, x)

    def conditioning(self, size: float, largest: float) -> float:
        """How much one label at an x with ``K(x, x) = size`` can shrink C, never below I/c."""
        if not size <= LARGEST_SIZE:
            return math.inf
        free = size * largest
        return min(free, largest / self.drift) if self.drift > 0.0 else free
