"""Calibration of the probabilities of a class: predicted against observed, from queried labels.

In a bin, the observed share of the class is the share of the weights 1/q of its labels, with the
interval of a share (:mod:`lasec.metrics.proportion`). The expected calibration error is the mean
over rows of the distance between the two. Noise of either sign makes distances larger on average.
The value takes that off, bin by bin. It is 0 where the noise explains all; a small error
can therefore not be told from none, and the value may be somewhat too high there.

The interval holds whatever the true distances are: noise adds to a distance no more than its own
absolute value, which the lower end takes off, and takes off no more than if all errors had one
sign, which the upper end adds. Bins with rows and no label may be wrong by all that is possible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.estimate import Estimate
from lasec.metrics.proportion import interval, lacking, student
from lasec.metrics.score_bins import EDGES, TWENTY, Bin, answered

Array = NDArray[np.float64]

HALF = math.sqrt(2.0 / math.pi)  # the mean of |x| for a normal x


class Reliability(NamedTuple):
    """Rows with a predicted probability from ``low`` to ``high``.

    ``predicted`` is its mean over these rows, and ``observed`` the estimated share of the class:
    NaN, and anything from 0 to 1, where no label was queried.

    >>> Reliability(0.9, 1.0, 0.95, Estimate(0.9, 0.8, 0.96, 200, 60, 0)).known
    True
    """

    low: float
    high: float
    predicted: float
    observed: Estimate

    @property
    def known(self) -> bool:
        """Whether there are labels of these rows."""
        return self.observed.labels > 0


class Calibration(NamedTuple):
    """The bins that have rows, and the expected calibration error.

    >>> bin = Reliability(0.9, 1.0, 0.95, Estimate(0.9, 0.8, 0.96, 200, 60, 0))
    >>> Calibration(Estimate(0.05, 0.0, 0.15, 200, 60, 0), [bin]).error.value
    0.05
    """

    error: Estimate
    bins: list[Reliability]


def estimate(cells: Array, count: int, level: float) -> Calibration:
    """The calibration of a class with these bins, in ``count`` equal ones.

    >>> cells = np.zeros((len(EDGES) + 1, len(Bin)))
    >>> cells[-1, : Bin.WEIGHTS + 1] = 10.0, 9.5, 10.0, 9.0, 10.0
    >>> cells[-1, Bin.HIT_WEIGHTS] = 9.0
    >>> round(estimate(cells, 10, level=0.95).error.value, 3)
    0.05
    """
    if count not in (5, 10, TWENTY):
        raise ValueError(f"bins must be 5, 10 or {TWENTY}, got {count}")
    place = np.floor(np.concatenate([[0.0], EDGES]) * count + 1e-9).astype(np.int64)
    table = np.zeros((count, len(Bin)))
    np.add.at(table, place, cells)
    made, noise = [], []
    for at, row in enumerate(table):
        if row[Bin.ROWS] > 0.0:
            observed, deviation = _observed(row, level)
            predicted = float(row[Bin.PREDICTED] / row[Bin.ROWS])
            made.append(Reliability(at / count, (at + 1) / count, predicted, observed))
            noise.append(deviation)
    return Calibration(_error(made, noise, level), made)


def _observed(row: Array, level: float) -> tuple[Estimate, float]:
    """The share of the class in a bin, and its standard deviation."""
    rows, labels, hits = (float(row[of]) for of in (Bin.ROWS, Bin.LABELS, Bin.HITS))
    if labels <= 0.0:
        return Estimate(math.nan, 0.0, 1.0, round(rows), 0, 0), math.nan
    scale, lost = answered(row)
    value = float(row[Bin.HIT_WEIGHTS] / row[Bin.WEIGHTS])
    every, of_hits = (
        float(scale**2 * (row[of] + lost * row[of - 2]) / rows**2)
        for of in (Bin.SPREAD, Bin.HIT_SPREAD)
    )
    variance = of_hits * (1.0 - value) ** 2 + (every - of_hits) * value**2
    variance *= labels / max(labels - 1.0, 1.0)
    variance += lacking(value, variance, labels, min(hits, labels - hits), every)
    ends = interval(value, variance, labels, level)
    return Estimate(value, *ends, round(rows), round(labels), 0), math.sqrt(variance)


def _error(bins: list[Reliability], noise: list[float], level: float) -> Estimate:
    """The expected calibration error."""
    rows, labels = (sum(getattr(one.observed, of) for one in bins) for of in ("rows", "labels"))
    if not labels:
        return Estimate(math.nan, 0.0, 1.0, rows, labels, 0)
    normal = student(level, math.inf)
    value = total = several = squares = blind = known = 0.0
    for one, deviation in zip(bins, noise, strict=True):
        share, found = one.observed.rows / rows, one.observed
        if not one.known:
            blind += share * max(one.predicted, 1.0 - one.predicted)
            continue
        known += share
        off = abs(found.value - one.predicted)
        reach = share * max(found.high - found.value, found.value - found.low) / normal
        value += share * _without_noise(off, deviation)
        total, several, squares = total + share * off, several + reach, squares + reach**2
    low = total - HALF * several - normal * math.sqrt((1.0 - HALF**2) * squares)
    high = total + normal * math.sqrt(squares) + blind
    return Estimate(value / known, max(low, 0.0), min(high, 1.0), rows, labels, 0)


def _without_noise(off: float, deviation: float) -> float:
    """The distance d for which the mean of |d + noise| is what was found; 0 if none is so small.

    >>> _without_noise(0.7, 1.0), round(_without_noise(1.0, 1.0), 2), _without_noise(9.0, 1.0)
    (0.0, 0.73, 9.0)
    """
    if deviation <= 0.0 or off > 6.0 * deviation:
        return off
    low, high, wanted = 0.0, off / deviation, off / deviation
    for _ in range(40):
        middle = (low + high) / 2.0
        mean = middle * math.erf(middle / math.sqrt(2.0)) + HALF * math.exp(-(middle**2) / 2.0)
        low, high = (middle, high) if mean < wanted else (low, middle)
    return 0.0 if wanted <= HALF else high * deviation
