"""The gamma that makes a bound smallest, found exactly.

In v = 1/gamma, the scaled hinge loss L/gamma = sum of max(0, 1 - margin v) is convex and piecewise
linear, with its corners where gamma is one of the margins.
"""

from __future__ import annotations

import math

import numpy as np

from lasec.bounds.terms import Array


class Loss:
    """L/gamma for sorted margins, each counted with ``weight``.

    >>> Loss(np.array([2.0, -1.0, 0.5]))(np.array([1.0, math.inf])).tolist()
    [2.5, 3.0]
    """

    def __init__(self, margins: Array, weight: float = 1.0) -> None:
        self.order = np.sort(margins)
        self.sums = np.concatenate([[0.0], np.cumsum(self.order)])
        self.weight = weight

    def __call__(self, gamma: Array) -> Array:
        """L/gamma, for each gamma; infinite ones are allowed."""
        k = np.searchsorted(self.order, gamma)
        return np.asarray(self.weight * (k - self.sums[k] / gamma))

    @property
    def corners(self) -> Array:
        """The positive margins, and infinity."""
        return np.append(self.order[self.order > 0.0], math.inf)


def least(
    loss: Loss, linear: float, quadratic: float, gamma: float | None = None
) -> tuple[float, float]:
    """L/gamma + linear/gamma + quadratic/gamma^2, and gamma: the best one, if none is given.

    The function is convex in 1/gamma and quadratic between corners: its minimum is at a corner, or
    where the derivative -S + linear + 2 quadratic/gamma of a piece is zero, S being the sum of the
    margins below gamma.

    >>> least(Loss(np.array([1.0, 2.0, 3.0])), linear=0.5, quadratic=0.0)
    (0.5, 1.0)
    """
    if math.isinf(linear) or math.isinf(quadratic):
        return math.inf, math.inf
    slope = loss.weight * loss.sums - linear
    inside = 2.0 * quadratic / slope[slope > 0.0]
    every = np.concatenate([loss.corners, inside[inside > 0.0]])
    at = every if gamma is None else np.array([gamma], dtype=np.float64)
    with np.errstate(over="ignore"):
        value = loss(at) + linear / at + quadratic / at**2
    best = int(np.argmin(value))
    return float(value[best]), float(at[best])
