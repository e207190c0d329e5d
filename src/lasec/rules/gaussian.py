"""What every second-order rule shares: a Gaussian posterior, read and moved through two numbers.

All of these rules look at a row x through m = x'w and q = x'Cx, and learn its label by one step
along g = Cx::

    w <- w + gain g
    C <- C - shrink g g' + inflate I

What makes a rule is how it judges (m, q) and how it chooses (gain, shrink, inflate): its methods
``judge`` and ``step``. Because these are numbers and not arrays, a whole block of rows can be
learned with a few matrix products (:mod:`lasec.kernel.blocks`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec import methods
from lasec.linalg import definite, downdate, inflate, quadratic
from lasec.types import Margin, Matrix, Vector

__all__ = ["Gaussian", "Step", "learn", "look", "shrunk"]


class Gaussian(NamedTuple):
    """A Gaussian posterior: mean ``weights``, covariance ``cov``, never an inverse.

    >>> Gaussian.prior(2, variance=0.5).cov.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    weights: Vector
    cov: Matrix

    @classmethod
    def prior(cls, dimension: int, variance: float) -> Gaussian:
        """Nothing known yet: zero mean, the same variance in every direction."""
        return cls(np.zeros(dimension), variance * np.eye(dimension))

    def validate(self) -> str:
        """Why this is no Gaussian, as a phrase; empty if it is one.

        >>> Gaussian(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]])).validate()
        'cov is not positive definite'
        """
        if not np.array_equal(self.cov, self.cov.T):
            return "cov is not symmetric"
        return "" if definite(self.cov) else "cov is not positive definite"


class Step(NamedTuple):
    """How one label moves the posterior: w += gain g, C -= shrink g g', C += inflate I.

    >>> Step(gain=0.5, shrink=0.25, inflate=0.0)
    Step(gain=0.5, shrink=0.25, inflate=0.0)
    """

    gain: float
    shrink: float
    inflate: float


def look(rule: Any, state: Gaussian, x: Vector) -> Margin:
    """What a second-order rule says about x."""
    return methods.judge(rule, float(np.dot(state.weights, x)), quadratic(state.cov, x))


def learn(rule: Any, state: Gaussian, x: Vector, y: float) -> None:
    """Let a second-order rule take its step for the label y of x, in place."""
    g = np.dot(state.cov, x)
    gain, shrink, drift = methods.step(rule, np.dot(state.weights, x), np.dot(g, x), y)
    for i in range(g.size):
        state.weights[i] += gain * g[i]
    downdate(state.cov, g, shrink)
    inflate(state.cov, drift)


def shrunk(m: float, q: float) -> Margin:
    """The last-step min-max margin p = m / (1 + q).

    >>> shrunk(2.0, 4.0)
    Margin(raw=2.0, variance=4.0, margin=0.4)
    """
    return Margin(m, q, m / (1.0 + q))
