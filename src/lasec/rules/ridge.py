"""Ridge regression with the present row counted in: the estimator of BBQ.

Cesa-Bianchi, Gentile and Orabona, *Robust Bounds for Classification via Selective Sampling*,
ICML 2009. With S the matrix of the rows whose labels were used and Y those labels::

    A_t = b I + S S' + x_t x_t'
    p_t = x_t' A_t^-1 S Y            the estimate
    r_t = x_t' A_t^-1 x_t            its variance, on which the query rule decides

In their analysis b is 1 and rows have unit norm; here b is free and rows are taken as they are.
With C = (b I + S S')^-1 and w = C S Y, Sherman-Morrison gives p = m/(1 + q) and r = q/(1 + q), and
a label used is one downdate of C.

This is the second-order perceptron's arithmetic with another purpose: BBQ uses every label it has
asked for (``learn_from="labels"``), BBQ-I only those it missed. Cost: as the second-order
perceptron.
"""

from __future__ import annotations

from typing import NamedTuple

from lasec.contract import rule
from lasec.parameters import Positive, checked
from lasec.rules.gaussian import Gaussian, Step, learn, look, shrunk
from lasec.types import Margin, Vector


@checked
@rule(symmetric=("cov",))
class Ridge(NamedTuple):
    """Regularised least squares on the labels, one row at a time.

    >>> import numpy as np
    >>> rule = Ridge(ridge=1.0)
    >>> state = rule.init(dimension=1)
    >>> rule.update(state, np.array([1.0]), y=1.0, draw=0.0)
    >>> state.weights.tolist()
    [0.5]
    """

    ridge: Positive = 1.0

    def init(self, dimension: int) -> Gaussian:
        """w = 0, C = I/b."""
        return Gaussian.prior(dimension, 1.0 / self.ridge)

    def margin(self, state: Gaussian, x: Vector, t: int = 0) -> Margin:
        """p = m / (1 + q)."""
        return look(self, state, x)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Append the row to S and the label to Y."""
        learn(self, state, x, y)

    def judge(self, m: float, q: float) -> Margin:
        """p = m / (1 + q)."""
        return shrunk(m, q)

    def step(self, m: float, q: float, y: float) -> Step:
        """Recursive least squares: (y - m)/s for w, 1/s for C."""
        s = 1.0 + q
        return Step((y - m) / s, 1.0 / s, 0.0)

    def conditioning(self, size: float, largest: float) -> float:
        """How much one label at an x with ``|x|^2 = size`` can shrink C."""
        return size * largest
