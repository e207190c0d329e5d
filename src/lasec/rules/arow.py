"""AROW, adaptive regularisation of weights.

Crammer, Kulesza and Dredze, *Adaptive Regularization of Weight Vectors*, NIPS 2009. Start with
mu = 0, Sigma = I. On a label y whose margin y x'mu is below 1 (their Figure 1)::

    v = x' Sigma x,   beta = 1/(v + r),   alpha = max(0, 1 - y x'mu) beta
    mu <- mu + alpha y Sigma x
    Sigma <- Sigma - beta Sigma x x' Sigma

``noise`` is r. Labels with a margin of 1 or more change nothing, so AROW is meant to be run with
``learn_from="labels"``. The margin handed to a query rule is x'mu as it stands: the paper has no
selective form, and AROW's prediction is not shrunk by its variance. Cost: O(d^2) a row.
"""

from __future__ import annotations

from typing import NamedTuple

from lasec.contract import rule
from lasec.parameters import Positive, checked
from lasec.rules.gaussian import Gaussian, Step, learn, look
from lasec.types import Margin, Vector


@checked
@rule(symmetric=("cov",))
class AROW(NamedTuple):
    """Adaptive regularisation of weights.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=10, every=2_000, seed=1)
    >>> learner = lasec.Learner(AROW(noise=1.0), dimension=10, learn_from="labels")
    >>> round(learner.run(X, y).accuracy, 2)
    0.97
    """

    noise: Positive = 1.0

    def init(self, dimension: int) -> Gaussian:
        """mu = 0, Sigma = I."""
        return Gaussian.prior(dimension, 1.0)

    def margin(self, state: Gaussian, x: Vector, t: int = 0) -> Margin:
        """x'mu and x' Sigma x."""
        return look(self, state, x)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """One step of their Figure 1."""
        learn(self, state, x, y)

    def judge(self, m: float, q: float) -> Margin:
        """The margin is x'mu as it stands."""
        return Margin(m, q, m)

    def step(self, m: float, q: float, y: float) -> Step:
        """alpha y for mu, beta for Sigma; nothing where the margin is 1 or more."""
        loss = 1.0 - y * m
        if loss <= 0.0:
            return Step(0.0, 0.0, 0.0)
        beta = 1.0 / (q + self.noise)
        return Step(loss * beta * y, beta, 0.0)

    def conditioning(self, size: float, largest: float) -> float:
        """How much one label at an x with ``|x|^2 = size`` can shrink Sigma."""
        return size * largest / self.noise
