"""Log-loss and Brier score of all rows from queried labels.

The loss of a row is estimated by the loss g that the model expects of it; queried labels, with the
weights 1/q, correct the mean of that: mean g + sum (loss - g)/q / sum 1/q. It holds however wrong
the model is, and is the more precise the better calibrated it is. Large losses are rare, and few
labels may have none: where the model expects more variance than they show, that counts, too, the
less the more labels there are. A model whose losses are larger than it expects is taken to expect
its variance as much too small.

Intervals are Garwood's for Poisson counts, with the count that the variance stands for and
Satterthwaite's degrees of freedom: losses are not negative, and their sums are skewed as counts are
(Fay and Feuer, *Confidence intervals for directly standardized rates*, Statistics in Medicine 16,
1997). A model without a doubt expects no variance, and labels without an error show none. So the
upper end is at least the loss of an error, as the model has it, times the upper end of the share of
such errors (:mod:`lasec.metrics.proportion`). Where a model is far too sure of itself in some rows
alone and hardly a label is of a rare class, the upper end of the log-loss can still be too low.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.estimate import Estimate
from lasec.metrics.means import RARE, degrees
from lasec.metrics.proportion import interval, smooth, student

Array = NDArray[np.float64]

LOG, BRIER = 0, 1
EPSILON = float(np.finfo(np.float64).eps)
FEW, LEAST, TINY, WORST = 10.0, 1e-3, 1e-300, 1e100


class Loss(IntEnum):
    """The sums of a loss; d is the loss less what the model expects.

    >>> Loss.EXPECTED.value, len(Loss)
    (0, 8)
    """

    EXPECTED = 0
    VARIANCE = 1  # that of the loss, as the model has it
    REACH = 2  # the same by q
    OFF = 3  # d/q, over the labels
    SQUARED = 4  # d^2/q
    SPREAD = 5  # d (1 - q)/q^2
    SPREAD_SQUARED = 6  # d^2 (1 - q)/q^2
    FOURTH = 7  # the square of that


def of_rows(p: Array, q: Array) -> Array:
    """The sums of rows with these probabilities (rows, classes), for log-loss and Brier score.

    >>> of_rows(np.array([[0.5, 0.5]]), np.array([0.1]))[:, Loss.EXPECTED].round(3).tolist()
    [0.693, 0.5]
    """
    made = np.zeros((2, len(Loss)))
    for which, loss in enumerate(_possible(p)):
        expected = (p * loss).sum(axis=1)
        variance = (p * (loss - expected[:, None]) ** 2).sum(axis=1)
        reach = np.where(q > 0.0, variance / np.where(q > 0.0, q, 1.0), variance)
        made[which, :3] = expected.sum(), variance.sum(), reach.sum()
    return made


def of_labels(p: Array, true: NDArray[np.int64], q: Array) -> Array:
    """The sums of labels: the class of each, with the probabilities and the q of its row.

    >>> made = of_labels(np.array([[0.8, 0.2]]), np.array([1]), np.array([0.5]))
    >>> made[:, Loss.OFF].round(3).tolist()
    [2.218, 1.92]
    """
    made = np.zeros((2, len(Loss)))
    w, s = 1.0 / q, (1.0 - q) / q**2
    for which, loss in enumerate(_possible(p)):
        d = loss[np.arange(len(q)), true] - (p * loss).sum(axis=1)
        terms = (w * d, w * d**2, s * d, s * d**2, (s * d**2) ** 2)
        made[which, Loss.OFF :] = [term.sum() for term in terms]
    return made


def _possible(p: Array) -> tuple[Array, Array]:
    """The two losses of each row, if its class is each of the classes."""
    brier = (p**2).sum(axis=1, keepdims=True) - 2.0 * p + 1.0
    return -np.log(np.clip(p, EPSILON, 1.0)), brier


class Labels(NamedTuple):
    """How many rows and labels, and the sums of 1/q and of (1 - q)/q^2 over the labels.

    >>> Labels(rows=10.0, labels=2.0, weights=8.0, spread=24.0).lost
    0.19999999999999996
    """

    rows: float
    labels: float
    weights: float
    spread: float

    @property
    def lost(self) -> float:
        """The share of the rows that the weights do not reach."""
        return max(0.0, 1.0 - self.weights / self.rows)


def estimate(sums: Array, of: Labels, most: float, level: float) -> Estimate:
    """The mean loss; ``most`` is the largest that is possible.

    >>> p, q = np.array([[0.8, 0.2]] * 2), np.array([0.5, 0.5])
    >>> sums = of_rows(p, q) + of_labels(p[:1], np.array([0]), q[:1])
    >>> round(estimate(sums[LOG], Labels(2.0, 1.0, 2.0, 2.0), 36.0, level=0.95).value, 3)
    0.223
    """
    counts = (round(of.rows), round(of.labels), 0)
    if of.labels <= 0.0:
        return Estimate(math.nan, 0.0, most, *counts)
    value = float(sums[Loss.EXPECTED] / of.rows + sums[Loss.OFF] / of.weights)
    free = degrees(sums[Loss.SPREAD_SQUARED], sums[Loss.FOURTH])
    worse = max(1.0, min(value * of.rows / max(float(sums[Loss.EXPECTED]), TINY), WORST))
    seen, expected = _seen(sums, of), worse**2 * _expected(sums, of)
    variance = seen + max(0.0, expected - seen) / (1.0 + free / FEW)
    low, high = _interval(value, variance, free, level)
    high = max(high, _unheard(sums, of, most, level))
    return Estimate(value, min(low, most), min(high, most), *counts)


def _seen(sums: Array, of: Labels) -> float:
    """The variance of the mean loss that the labels show."""
    off = sums[Loss.OFF] / of.weights
    first = sums[Loss.SPREAD] + of.lost * sums[Loss.OFF]
    second = sums[Loss.SPREAD_SQUARED] + of.lost * sums[Loss.SQUARED]
    total = second - 2.0 * off * first + off**2 * (of.spread + of.lost * of.weights)
    return max(float(total), 0.0) / of.weights**2 * of.labels / max(of.labels - 1.0, 1.0)


def _expected(sums: Array, of: Labels) -> float:
    """The variance of the mean loss that the model expects."""
    total = sums[Loss.REACH] / (1.0 - of.lost) - sums[Loss.VARIANCE]
    return max(float(total), 0.0) / of.rows**2


def _unheard(sums: Array, of: Labels, most: float, level: float) -> float:
    """The least upper end where few of the labels are errors, or none is.

    >>> p, q = np.array([[1.0, 0.0]] * 20), np.full(20, 0.5)
    >>> sums = of_rows(p, q) + of_labels(p[:10], np.zeros(10, dtype=np.int64), q[:10])
    >>> round(_unheard(sums[LOG], Labels(20.0, 10.0, 20.0, 20.0), 36.0, level=0.95), 1)
    6.1
    """
    expected = float(sums[Loss.EXPECTED])
    error = min(float(sums[Loss.VARIANCE]) / expected, most) if expected > TINY else most
    heard = float(sums[Loss.SQUARED]) * of.labels / (of.weights * max(error, LEAST) ** 2)
    relative = (of.spread + of.lost * of.weights) / of.weights**2
    if heard >= RARE or relative <= 0.0:
        return 0.0
    share = min(heard / of.labels, 1.0)
    middle = smooth(share, of.labels)
    return error * interval(share, middle * (1.0 - middle) * relative, of.labels, level)[1]


def _interval(value: float, variance: float, free: float, level: float) -> tuple[float, float]:
    """The interval of a mean that is not negative.

    >>> [round(end, 2) for end in _interval(5.0, 5.0, math.inf, level=0.95)]
    [1.62, 11.67]
    """
    from scipy.special import gammaincinv  # noqa: PLC0415, a fifth of a second that few need

    if variance <= 0.0:
        return value, value
    variance *= (student(level, free) / student(level, math.inf)) ** 2
    middle, rest = max(value, LEAST * math.sqrt(variance)), (1.0 - level) / 2.0
    count = middle**2 / variance
    low, high = gammaincinv(count, rest), gammaincinv(count + 1.0, 1.0 - rest)
    return float(low * middle / count), float(high * middle / count)
