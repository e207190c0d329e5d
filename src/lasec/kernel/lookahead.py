"""What a model says about its next questions, computed together.

Between two labels a model does not change, so all rows up to the next label can be predicted at
once. A second-order rule looks at rows through x'w and x'Cx alone: for many rows that is one matrix
product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.chunk import inner, limit
from lasec.kernel.dispatch import compiled, conditioning
from lasec.kernel.lean import overload
from lasec.kernel.stack import Requests
from lasec.rules.gaussian import Gaussian, judge, largest_variance
from lasec.types import Margin, Matrix, Rule, Vector

# Rows that are predicted together; with fewer than FEW it does not pay.
MOST, FEW = 32, 4


class Lookahead(NamedTuple):
    """Scratch space of one thread: rows side by side, and what the model says about them."""

    X: Matrix
    G: Matrix
    raw: Vector
    variance: Vector
    size: Vector
    margin: Vector
    fine: NDArray[np.bool_]

    @classmethod
    def empty(cls, dimension: int, kind: Any) -> Lookahead:
        """Room for as many rows as are ever predicted together."""
        X, G = np.empty((2, MOST, dimension), kind)
        raw, variance, size, margin = np.empty((4, MOST))
        return cls(X, G, raw, variance, size, margin, np.empty(MOST, dtype=np.bool_))


@compiled
def predict(rule: Rule[Any], state: Gaussian, n: int, found: Lookahead) -> None:
    """What a second-order model says about the first ``n`` rows, and which it can learn."""
    X, G = found.X[:n], found.G[:n]
    np.dot(X, state.cov, G)
    inner(X, G, found.variance)
    inner(X, X, found.size)
    largest = largest_variance(state.cov)
    for i in range(n):
        seen = judge(rule, float(np.dot(state.weights, X[i])), found.variance[i])
        found.raw[i], found.variance[i], found.margin[i] = seen.raw, seen.variance, seen.margin
        found.fine[i] = conditioning(rule, found.size[i], largest) <= limit(X)


@compiled
def gather(requests: Requests, begin: int, end: int, found: Lookahead) -> int:
    """The rows that ask from ``begin`` on, up to the next label, side by side; how many."""
    X, y, order = requests.X, requests.y, requests.order
    n = 0
    while n < MOST and begin + n < end and y[order[begin + n]] == 0.0:
        n += 1
    if n < FEW:
        return 0
    for i in range(n):
        row = order[begin + i]
        for j in range(X.shape[1]):
            found.X[i, j] = X[row, j]
    return n


@compiled
def foreseen(found: Lookahead, i: int) -> Margin:
    """What the model says about the i-th of the rows predicted together."""
    return Margin(found.raw[i], found.variance[i], found.margin[i])


def look_ahead(
    rule: Rule[Any], state: Any, requests: Requests, begin: int, end: int, found: Lookahead
) -> int:
    """How many rows from ``begin`` on were predicted together: none, where it does not pay."""
    return 0


@overload(look_ahead)
def _look_ahead(rule: Any, state: Any, requests: Any, begin: Any, end: Any, found: Any) -> Any:
    stepping = hasattr(rule.instance_class, "judge") and hasattr(rule.instance_class, "step")
    if state.instance_class is not Gaussian or not stepping:
        return lambda rule, state, requests, begin, end, found: 0

    def together(rule: Any, state: Any, requests: Any, begin: Any, end: Any, found: Any) -> Any:
        n = gather(requests, begin, end, found)
        if n > 0:
            predict(rule, state, n, found)
        return n

    return together
