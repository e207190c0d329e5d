"""Intervals of shares that hold with few labels.

They are those of Clopper and Pearson, with the number of labels that the variance of the estimate
stands for (Korn and Graubard, *Confidence intervals for proportions with small expected number of
positive counts estimated from survey data*, Survey Methodology 24, 1998).
"""

from __future__ import annotations

import math

MANY = 1e9


def student(level: float, freedom: float) -> float:
    """How many standard deviations to either side hold a share ``level``.

    >>> round(student(0.95, math.inf), 3), round(student(0.95, 3), 3)
    (1.96, 3.182)
    """
    from scipy.special import stdtrit  # noqa: PLC0415, a fifth of a second that few need

    return float(stdtrit(min(freedom, MANY), 0.5 + level / 2.0))


def smooth(value: float, labels: float) -> float:
    """A share that is neither 0 nor 1, as if there were one more label of each kind.

    >>> smooth(0.0, 8.0)
    0.1
    """
    return (labels * value + 1.0) / (labels + 2.0)


def lacking(value: float, variance: float, labels: float, rarer: float, relative: float) -> float:
    """What the variance of a share lacks where hardly a label spoke for it, or against it.

    ``rarer`` is how many did, whichever are fewer; ``relative`` is one over the number of equally
    weighted labels that as much is known by.

    >>> round(240 * lacking(0.0, 0.0, labels=240.0, rarer=0.0, relative=1 / 240), 4)
    0.0041
    """
    middle = smooth(value, labels)
    return max(0.0, middle * (1.0 - middle) * relative - variance) / (1.0 + rarer)


def interval(
    value: float, variance: float, labels: float, level: float, freedom: float = math.inf
) -> tuple[float, float]:
    """The interval of a share of which so many labels speak.

    ``freedom`` are the degrees of freedom behind the variance: with few, the interval is wider.

    >>> low, high = interval(0.0, 0.01, labels=10.0, level=0.95)
    >>> low, round(high, 2)
    (0.0, 0.38)
    """
    from scipy.special import betaincinv  # noqa: PLC0415, a fifth of a second that few need

    if variance <= 0.0:
        return value, value
    middle = smooth(value, labels)
    n = middle * (1.0 - middle) / variance
    if freedom < math.inf:
        n *= (student(level, math.inf) / student(level, freedom)) ** 2
    n = max(1.0, n)
    hits, rest = n * min(max(value, 0.0), 1.0), (1.0 - level) / 2.0
    low = betaincinv(hits, n - hits + 1.0, rest) if hits > 0.0 else 0.0
    high = betaincinv(hits + 1.0, n - hits, 1.0 - rest) if hits < n else 1.0
    return float(low), float(high)
