"""Ridge regression with the present row counted in: the estimator of BBQ.

Cesa-Bianchi, Gentile and Orabona, *Robust Bounds for Classification via Selective Sampling*,
ICML 2009. With S the matrix of the rows whose labels were used and Y those labels::

    A_t = b I + S S' + x_t x_t'
    p_t = x_t' A_t^-1 S Y            the estimate
    r_t = x_t' A_t^-1 x_t            its variance, on which the query rule decides

b is 1 in their paper and free in Moroshko and Crammer's. With C = (b I + S S')^-1 and w = C S Y,
Sherman-Morrison gives p = m/(1 + q) and r = q/(1 + q), and a label used is one downdate of C.

This is the second-order perceptron's arithmetic with another purpose: BBQ uses every label it has
asked for (``update="labels"``), BBQ-I only those it missed. Cost: as the second-order perceptron.
"""

from __future__ import annotations

from typing import NamedTuple

from lasec.linalg import regress
from lasec.parameters import Positive, checked
from lasec.rules.gaussian import Gaussian, shrunk, stretch
from lasec.types import Margin, Vector

BBQ_REFERENCE = (
    "N. Cesa-Bianchi, C. Gentile and F. Orabona. Robust Bounds for Classification via Selective "
    "Sampling. Proceedings of ICML, 2009."
)


@checked
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

    def margin(self, state: Gaussian, x: Vector) -> Margin:
        """p = m / (1 + q)."""
        return shrunk(state.weights, state.cov, x)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float) -> None:
        """Append the row to S and the label to Y."""
        regress(state.weights, state.cov, x, y)

    def strain(self, state: Gaussian, x: Vector) -> float:
        """How much one label at x can shrink C."""
        return stretch(state.cov, x)

    @property
    def reference(self) -> str:
        """BBQ's paper."""
        return BBQ_REFERENCE
