"""A Gaussian posterior under a probit link, filtered one label at a time: what the Tracker mixes.

The label of x is sign(w'x + noise), noise standard normal, and flipped with probability l (lapse).
Under the posterior w ~ N(m, P), with mean m = x'w and variance v = x'Px of the margin::

    z   = y m / sqrt(1 + v)
    L   = l + (1 - 2 l) Phi(z)                     the probability of the label y
    al  = (1 - 2 l) phi(z) / L
    w  <- w + y al / sqrt(1 + v)  Px
    P  <- P - al (al + z) / (1 + v)  Px (Px)'

This is assumed-density filtering (Opper, *A Bayesian Approach to Online Learning*, 1998; Minka,
*Expectation Propagation*, UAI 2001): the Gaussian with the mean and the covariance of the exact
posterior of each step. Where al + z is negative (a label so surprising that a flip is the better
explanation) the step widens P; the rule ``Probit`` leaves P as it is there, because blocks of rows
can only narrow it. Phi(z) is computed for the label at hand and never as 1 - Phi, which would lose
all digits.

Cost: as the second-order perceptron.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from lasec.contract import rule
from lasec.parameters import Positive, Range, checked
from lasec.rules.gaussian import Gaussian, Step, learn, look
from lasec.types import Margin, Vector

__all__ = ["Probit", "chance", "filtered", "likelihood"]

_ROOT_HALF = math.sqrt(0.5)
_PHI_0 = 1.0 / math.sqrt(2.0 * math.pi)
# One label leaves at least this share of the variance along its row.
LEAST_LEFT = 1e-6


def chance(z: float) -> float:
    """Phi(z), the standard normal distribution function.

    >>> chance(0.0)
    0.5
    """
    return 0.5 * math.erfc(-z * _ROOT_HALF)


def likelihood(z: float, lapse: float) -> float:
    """The probability of a label whose standardized margin is z.

    >>> likelihood(0.0, lapse=0.1)
    0.5
    """
    return lapse + (1.0 - 2.0 * lapse) * chance(z)


def filtered(m: float, v: float, y: float, lapse: float) -> tuple[float, float]:
    """Gain and shrink along Px for the label y; a negative shrink widens.

    >>> gain, shrink = filtered(m=0.0, v=1.0, y=1.0, lapse=0.0)
    >>> round(gain, 3), round(shrink, 3)
    (0.564, 0.318)
    """
    s = math.sqrt(1.0 + v)
    z = y * m / s
    L = likelihood(z, lapse)
    al = (1.0 - 2.0 * lapse) * _PHI_0 * math.exp(-0.5 * z * z) / L if L > 0.0 else -z
    shrink = al * (al + z) / (1.0 + v)
    return y * al / s, min(shrink, (1.0 - LEAST_LEFT) / v) if v > 0.0 else 0.0


@checked
@rule(probabilities=True, symmetric=("cov",))
class Probit(NamedTuple):
    """One concept, no drift: Bayes with a probit link, using every label (``learn_from="labels"``).

    ``prior`` is the variance of each weight before the first label, best chosen as large as the
    inverse of the rows' mean squared norm or larger; ``lapse`` is how often a label is wrong. The
    margin is the difference of the two labels' probabilities.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(seed=1)
    >>> lasec.Learner(Probit(), dimension=50, learn_from="labels").run(X, y)
    Records(rows=10000, accuracy=0.985, labels=10000, rate=1.000)
    """

    prior: Positive = 20.0
    lapse: Annotated[float, Range(1e-30, 0.49)] = 0.001

    def init(self, dimension: int) -> Gaussian:
        """w = 0, P = S I."""
        return Gaussian.prior(dimension, self.prior)

    def margin(self, state: Gaussian, x: Vector, t: int = 0) -> Margin:
        """P(y = +1) - P(y = -1)."""
        return look(self, state, x)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """One filtering step."""
        learn(self, state, x, y)

    def judge(self, m: float, q: float) -> Margin:
        """(1 - 2 l) (2 Phi(m / sqrt(1 + v)) - 1)."""
        lean = math.erf(m / math.sqrt(1.0 + q) * _ROOT_HALF)
        return Margin(m, q, (1.0 - 2.0 * self.lapse) * lean)

    def step(self, m: float, q: float, y: float) -> Step:
        """Along g = Px."""
        gain, shrink = filtered(m, q, y, self.lapse)
        return Step(gain, max(0.0, shrink), 0.0)

    def conditioning(self, size: float, largest: float) -> float:
        """How much one label at an x with ``|x|^2 = size`` can shrink P."""
        return min(size * largest, 1.0 / LEAST_LEFT)
