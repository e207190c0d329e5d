"""The state of every second-order rule: weights and the covariance of what they might have been."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.linalg import quadratic
from lasec.types import Margin, Matrix, Vector


class Gaussian(NamedTuple):
    """A Gaussian belief about the target: mean ``weights``, covariance ``cov``, never an inverse.

    >>> Gaussian.prior(2, variance=0.5).cov.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    weights: Vector
    cov: Matrix

    @classmethod
    def prior(cls, dimension: int, variance: float) -> Gaussian:
        """Nothing known yet: zero mean, the same variance in every direction."""
        return cls(np.zeros(dimension), variance * np.eye(dimension))

    def defect(self) -> str:
        """Why this is no Gaussian, as a phrase; empty if it is one.

        >>> Gaussian(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]])).defect()
        'cov is not positive definite'
        """
        if not np.array_equal(self.cov, self.cov.T):
            return "cov is not symmetric"
        try:
            np.linalg.cholesky(self.cov)
        except np.linalg.LinAlgError:
            return "cov is not positive definite"
        return ""


def stretch(C: Matrix, x: Vector) -> float:
    """By what factor, at most, a label at x shrinks C: ``|x|^2`` times its largest variance.

    >>> stretch(np.diag([1.0, 3.0]), np.array([2.0, 0.0]))
    12.0
    """
    return float(np.dot(x, x) * largest_variance(C))


def largest_variance(C: Matrix) -> float:
    """The largest entry on the diagonal of C.

    >>> largest_variance(np.diag([1.0, 3.0]))
    3.0
    """
    largest = 0.0
    for i in range(C.shape[0]):
        largest = max(largest, C[i, i])
    return float(largest)


def shrunk(w: Vector, C: Matrix, x: Vector) -> Margin:
    """The last-step min-max margin p = m / (1 + q), with m = x'w and q = x'Cx.

    >>> shrunk(np.array([1.0]), np.eye(1), np.array([2.0]))
    Margin(raw=2.0, variance=4.0, margin=0.4)
    """
    m = float(np.dot(w, x))
    q = quadratic(C, x)
    return Margin(m, q, m / (1.0 + q))
