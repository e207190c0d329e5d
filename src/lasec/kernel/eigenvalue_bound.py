"""An upper bound on the largest eigenvalue of a covariance, kept tight at little cost.

A bound is certified in two ways. From the trace T and the Frobenius norm F (Wolkowicz and Styan,
*Bounds for Eigenvalues Using Traces*, Linear Algebra and its Applications 29, 1980)::

    largest <= T/d + sqrt((d - 1)/d (F^2 - T^2/d))

which costs one pass over C but is loose where a few eigenvalues stand out; and by Cholesky: if
``bound I - C`` has a Cholesky factor, no eigenvalue of C is above ``bound``. What to try is found
by a few steps of the power method, which comes from below. Between two such checks, an update can
raise the largest eigenvalue by no more than its drift. Both bounds allow for rounding errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.blas import factorized, symmetric_times
from lasec.kernel.dispatch import compiled, reordering
from lasec.types import Matrix, Vector

# A check costs as much as d/2 rows; one in this many times d rows is 5 % of the work.
PERIOD = 10
_POWER_STEPS = 4
_LEAST, _MOST = 0.02, 2.0


class EigenvalueBound(NamedTuple):
    """What is known about the largest eigenvalue of one covariance.

    ``numbers`` are the bound, the rows since it was last checked, and how far above the
    power method's estimate the next bound is tried; ``direction`` is where the power method stands.
    """

    numbers: NDArray[np.float64]
    direction: Vector

    @classmethod
    def unknown(cls, dimension: int, kind: np.dtype[np.float64]) -> EigenvalueBound:
        """Nothing is known yet."""
        direction = np.cos(1.1 * np.arange(dimension))
        numbers = np.array([np.inf, PERIOD * dimension, 0.3])
        return cls(numbers, (direction / np.linalg.norm(direction)).astype(kind))

    def copy(self) -> EigenvalueBound:
        """The same, in arrays of its own."""
        return EigenvalueBound(self.numbers.copy(), self.direction.copy())


@reordering
def squared_length(x: Vector) -> float:
    """``|x|^2``."""
    total = 0.0
    for value in x:
        total += value * value
    return total


@compiled
def from_traces(C: Matrix) -> float:
    """The bound from trace and Frobenius norm, of the lower triangle of C."""
    d = C.shape[0]
    trace, squares = 0.0, 0.0
    for i in range(d):
        trace += C[i, i]
        squares += C[i, i] ** 2 + 2.0 * squared_length(C[i, :i])
    rounding = 8.0 * d * np.finfo(C.dtype).eps
    spread = max(0.0, squares - trace * trace / d) + rounding * squares
    return float((trace / d + np.sqrt(spread * (d - 1) / d)) * (1.0 + rounding))


@compiled
def holds(bound: float, C: Matrix) -> bool:
    """Whether ``bound`` is above all eigenvalues of C, for certain: ``bound I - C`` has a factor.

    A factor that was found belongs to a matrix within ``8 d^2 eps bound`` of the one meant.
    """
    d = C.shape[0]
    room = 8.0 * d * d * np.finfo(C.dtype).eps
    gap = np.empty_like(C)
    for i in range(d):
        for j in range(i):
            gap[i, j] = -C[i, j]
        gap[i, i] = bound * (1.0 - room) - C[i, i]
    return bool(factorized(gap))


@compiled
def power(C: Matrix, direction: Vector) -> float:
    """A few steps of the power method; the largest eigenvalue is no less than what this gives."""
    image, estimate = np.empty_like(direction), 0.0
    for _ in range(_POWER_STEPS):
        symmetric_times(C, direction, image)
        length = np.sqrt(squared_length(image))
        estimate = 0.0
        for i in range(image.size):
            estimate += image[i] * direction[i]
            direction[i] = image[i] / length
    return estimate


@compiled
def tighten(known: EigenvalueBound, C: Matrix, rows: int) -> float:
    """The bound to use for the next ``rows`` rows; checks C periodically."""
    numbers, direction = known
    if numbers[0] == np.inf:
        numbers[0] = from_traces(C)
    numbers[1] += rows
    if numbers[1] > PERIOD * C.shape[0]:
        numbers[1] = 0.0
        goal = power(C, direction) * (1.0 + numbers[2])
        if goal < 0.95 * numbers[0]:
            if holds(goal, C):
                numbers[0], numbers[2] = goal, max(_LEAST, 0.7 * numbers[2])
            else:
                numbers[2] = min(_MOST, 2.0 * numbers[2])
    return float(numbers[0])
