"""AROW, adaptive regularisation of weights.

Crammer, Kulesza and Dredze, *Adaptive Regularization of Weight Vectors*, NIPS 2009. Start with
mu = 0, Sigma = I. On a label y whose margin y x'mu is below 1 (their Figure 1)::

    v = x' Sigma x,   beta = 1/(v + r),   alpha = max(0, 1 - y x'mu) beta
    mu <- mu + alpha y Sigma x
    Sigma <- Sigma - beta Sigma x x' Sigma

``noise`` is r. Labels with a margin of 1 or more change nothing, so AROW is meant to be run with
``update="labels"``. The margin handed to a query rule is x'mu as it stands: the paper has no
selective form, and AROW's prediction is not shrunk by its variance. Cost: O(d^2) a round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.linalg import downdate, quadratic
from lasec.parameters import Positive, checked
from lasec.rules.gaussian import Gaussian, stretch
from lasec.types import Margin, Vector

AROW_REFERENCE = (
    "K. Crammer, A. Kulesza and M. Dredze. Adaptive Regularization of Weight Vectors. "
    "Advances in Neural Information Processing Systems 22, 2009."
)


@checked
class AROW(NamedTuple):
    """Adaptive regularisation of weights.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=10, every=2_000, seed=1)
    >>> learner = lasec.Learner(AROW(noise=1.0), dimension=10, update="labels")
    >>> round(learner.run(X, y).accuracy, 2)
    0.97
    """

    noise: Positive = 1.0

    def init(self, dimension: int) -> Gaussian:
        """mu = 0, Sigma = I."""
        return Gaussian.prior(dimension, 1.0)

    def margin(self, state: Gaussian, x: Vector) -> Margin:
        """x'mu and x' Sigma x."""
        mu, Sigma = state
        m = np.dot(mu, x)
        return Margin(m, quadratic(Sigma, x), m)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float) -> None:
        """One step of their Figure 1; nothing where the margin is 1 or more."""
        mu, Sigma = state
        loss = 1.0 - y * np.dot(mu, x)
        if loss <= 0.0:
            return
        g = np.dot(Sigma, x)
        beta = 1.0 / (np.dot(g, x) + self.noise)
        mu += g * (loss * beta * y)
        downdate(Sigma, g, beta)

    def strain(self, state: Gaussian, x: Vector) -> float:
        """How much one label at x can shrink Sigma."""
        return stretch(state.cov, x) / self.noise

    @property
    def reference(self) -> str:
        """AROW's paper."""
        return AROW_REFERENCE
