"""The next questions of a model, looked at together.

Between two labels a model does not change, so that what it says about all rows that come until the
next label can be computed at once. A second-order rule looks at rows through x'w and x'Cx alone:
for many rows that is one matrix product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from lasec.kernel.dispatch import compiled, strain
from lasec.kernel.rounds import inner, limit
from lasec.rules.gaussian import Gaussian, judge, largest_variance
from lasec.types import Counter, Matrix, Rule, Vector

# Rows that are looked at together; with fewer than FEW it does not pay.
AHEAD, FEW = 32, 4


class Ahead(NamedTuple):
    """Scratch space of one thread: rows side by side, and what the model says about them."""

    X: Matrix
    G: Matrix
    raw: Vector
    variance: Vector
    size: Vector
    margin: Vector
    fine: NDArray[np.bool_]

    @classmethod
    def empty(cls, dimension: int, kind: Any) -> Ahead:
        """Room for as many rows as are ever looked at together."""
        X, G = np.empty((2, AHEAD, dimension), kind)
        raw, variance, size, margin = np.empty((4, AHEAD))
        return cls(X, G, raw, variance, size, margin, np.empty(AHEAD, dtype=np.bool_))


@compiled
def look(rule: Rule[Any], state: Gaussian, n: int, ahead: Ahead) -> None:
    """What a second-order model says about the first ``n`` rows, and which it can bear."""
    X, G = ahead.X[:n], ahead.G[:n]
    np.dot(X, state.cov, G)
    inner(X, G, ahead.variance)
    inner(X, X, ahead.size)
    largest = largest_variance(state.cov)
    for i in range(n):
        seen = judge(rule, float(np.dot(state.weights, X[i])), ahead.variance[i])
        ahead.raw[i], ahead.variance[i], ahead.margin[i] = seen.raw, seen.variance, seen.margin
        ahead.fine[i] = strain(rule, ahead.size[i], largest) <= limit(X)


@compiled
def gather(X: NDArray[Any], y: Vector, order: Counter, begin: int, end: int, ahead: Ahead) -> int:
    """The rows that ask from ``begin`` on, up to the next label, side by side; how many."""
    n = 0
    while n < AHEAD and begin + n < end and y[order[begin + n]] == 0.0:
        n += 1
    if n < FEW:
        return 0
    for i in range(n):
        row = order[begin + i]
        for j in range(X.shape[1]):
            ahead.X[i, j] = X[row, j]
    return n


def look_ahead(
    rule: Rule[Any], state: Any, X: NDArray[Any], y: Vector, order: Counter, begin: int, end: int,
    ahead: Ahead,
) -> int:  # fmt: skip
    """How many rows from ``begin`` on were looked at together: none, where it does not pay."""
    return 0


@overload(look_ahead, strict=False)
def _look_ahead(
    rule: Any, state: Any, X: Any, y: Any, order: Any, begin: Any, end: Any, ahead: Any
) -> Any:
    stepping = hasattr(rule.instance_class, "judge") and hasattr(rule.instance_class, "step")
    if state.instance_class is not Gaussian or not stepping:
        return lambda rule, state, X, y, order, begin, end, ahead: 0

    def together(
        rule: Any, state: Any, X: Any, y: Any, order: Any, begin: Any, end: Any, ahead: Any
    ) -> Any:
        n = gather(X, y, order, begin, end, ahead)
        if n > 0:
            look(rule, state, n, ahead)
        return n

    return together
