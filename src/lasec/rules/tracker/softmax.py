"""Many classes with one covariance: the softmax that stands for a probit of K classes.

The label of u is the class with the largest w_c'u + noise, noise standard normal, or with
probability l (lapse) any other class. Under the posterior all w_c share one covariance P: with the
means m_c = w_c'u and the variance v = u'Pu, and kappa_K as below::

    p     = softmax(kappa_K m / sqrt(1 + v))
    L     = l / (K - 1) + (1 - l K / (K - 1)) p_y          the probability of the label y
    rho   = (1 - l K / (K - 1)) p_y / L                    that it is no lapse
    w_c  <- w_c + rho (1[c = y] - p_c) kappa_K / sqrt(1 + v)  Pu
    P    <- P - h kappa_K^2 / (1 + v)  Pu (Pu)'

-H = -rho (diag p - pp') + rho (1 - rho) ee', e_c = 1[c = y] - p_c, is the second derivative of ln L
by the scores. One scalar h must stand for the matrix: it is the one with the same trace in the
K - 1 directions in which the scores differ, h = tr H / (K - 1). With K = 2 this is the filter of
:mod:`lasec.rules.probit` for m = (m_2 - m_1) / sqrt(2), but for the logistic in place of Phi.

kappa_K is the slope of the exact probabilities where all means are equal: there p_c of K normal
variables moves by K integral(phi^2 Phi^(K-2)) / sqrt(1 + v) times the lead of m_c over the mean of
all, and a softmax by 1/K times its own scale. kappa_2 = 2 / sqrt(pi), and kappa_K grows like the
root of 2 ln K.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from lasec.rules.probit import LEAST_LEFT
from lasec.types import ClassMargin, Counter, Vector

__all__ = [
    "add", "classes_known", "gains", "is_known", "largest", "leading", "likelihood_of", "soften",
]  # fmt: skip

_PHI_0 = 1.0 / math.sqrt(2.0 * math.pi)


@lru_cache(maxsize=64)
def slopes(classes: int) -> Vector:
    """kappa_K for K = 0, 1, .. ``classes``; those of 0 and 1 are not used.

    >>> slopes(3).round(3).tolist()
    [1.0, 1.0, 1.128, 1.269]
    """
    z = np.linspace(-10.0, 10.0, 2_001)
    below = np.array([0.5 * math.erfc(-math.sqrt(0.5) * a) for a in z])
    squared = (_PHI_0 * np.exp(-0.5 * z**2)) ** 2
    step = z[1] - z[0]
    made = [k**2 * step * float((squared * below ** (k - 2)).sum()) for k in range(2, classes + 1)]
    return np.array([1.0, 1.0, *made][: classes + 1])


def is_known(told: Counter, c: int) -> bool:
    """Whether class c has a probability: it was told, or is one of the first two.

    >>> [is_known(np.array([0, 0, 5, 0]), c) for c in range(4)]
    [True, True, True, False]
    """
    return bool(c < 2 or told[c] > 0)


def classes_known(told: Counter) -> int:
    """How many classes have a probability.

    >>> classes_known(np.array([0, 0, 5, 0]))
    3
    """
    count = 0
    for c in range(told.size):
        count += is_known(told, c)
    return count


def soften(p: Vector, scale: float, told: Counter) -> None:
    """p <- softmax(scale p) over the known classes, and 0 for the others.

    >>> p = np.array([0.0, 0.0, 1.0])
    >>> soften(p, 1.0, np.array([1, 1, 0]))
    >>> p.tolist()
    [0.5, 0.5, 0.0]
    """
    top = -math.inf
    for c in range(p.size):
        if is_known(told, c):
            top = max(top, p[c])
    total = 0.0
    for c in range(p.size):
        p[c] = math.exp(scale * (p[c] - top)) if is_known(told, c) else 0.0
        total += p[c]
    for c in range(p.size):
        p[c] /= total


def likelihood_of(right: float, lapse: float, classes: int) -> float:
    """The probability of a label that has the probability ``right`` where no label is wrong.

    >>> likelihood_of(0.5, lapse=0.1, classes=2), round(likelihood_of(1.0, 0.1, classes=3), 2)
    (0.5, 0.9)
    """
    other = lapse / (classes - 1)
    return other + (1.0 - classes * other) * right


def gains(
    p: Vector, y: int, v: float, slope: float, lapse: float, classes: int, out: Vector
) -> float:
    """out <- the gain of each class along Pu for the label y; gives how much P shrinks there.

    >>> gain = np.empty(2)
    >>> float(gains(np.array([0.25, 0.75]), 0, v=1.0, slope=2.0, lapse=0.0, classes=2, out=gain))
    0.75
    >>> gain.round(2).tolist()
    [1.06, -1.06]
    """
    said = likelihood_of(p[y], lapse, classes)
    rho = 1.0 - lapse / (classes - 1) / said if said > 0.0 else 1.0
    trace, misfit = 0.0, 0.0
    for c in range(p.size):
        trace += p[c] * (1.0 - p[c])
        error = (1.0 if c == y else 0.0) - p[c]
        misfit += error * error
        out[c] = rho * error * slope / math.sqrt(1.0 + v)
    h = (rho * trace - rho * (1.0 - rho) * misfit) / (classes - 1)
    shrink = h * slope * slope / (1.0 + v)
    return min(shrink, (1.0 - LEAST_LEFT) / v) if v > 0.0 else 0.0


def add(total: Vector, factor: float, p: Vector) -> None:
    """total <- total + factor p, in place.

    >>> total = np.array([1.0, 2.0])
    >>> add(total, 2.0, np.array([0.5, 0.0]))
    >>> total.tolist()
    [2.0, 2.0]
    """
    for c in range(p.size):
        total[c] += factor * p[c]


def largest(p: Vector) -> int:
    """The first place of the largest entry.

    >>> largest(np.array([0.2, 0.4, 0.4]))
    1
    """
    best = 0
    for c in range(1, p.size):
        if p[c] > p[best]:
            best = c
    return best


def leading(mean: Vector, square: Vector) -> ClassMargin:
    """The best class by the probability of each; its variance by the mean of the squares.

    >>> said = leading(np.array([0.2, 0.5, 0.3]), np.array([0.04, 0.25, 0.09]))
    >>> round(float(said.margin), 3), said.label
    (0.2, 2.0)
    """
    best = largest(mean)
    p, second = mean[best], 0.0
    for c in range(mean.size):
        if c != best:
            second = max(second, mean[c])
    variance = 4.0 * max(0.0, square[best] - p * p)
    return ClassMargin(2.0 * p - 1.0, variance, p - second, best + 1.0)
