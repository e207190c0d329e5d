"""Whether the labels of neighboring rows agree more often than by chance.

Two labels drawn at random agree with the sum of the squared shares of the classes: in 98 % of the
pairs where a class has 1 % of the rows. What counts is the excess over that, as a share of all that
is possible (Cohen, *A coefficient of agreement for nominal scales*, Educational and Psychological
Measurement 20, 1960). For two classes it is the autocorrelation of the labels, with a standard
deviation of 1/sqrt(rows) where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST, DEVIATIONS = 0.05, 3.0
SMALL = 0.005  # a difference in accuracy of two models that is not worth a warning


def by_chance(shares: Sequence[float]) -> float:
    """How often two labels drawn at random agree.

    >>> by_chance([0.5, 0.5]), round(by_chance([0.99, 0.01]), 4)
    (0.5, 0.9802)
    """
    return sum(share**2 for share in shares)


def beyond_chance(agreement: float, shares: Sequence[float]) -> float:
    """The agreement beyond chance: 0 by chance, 1 if all agree; 0 with a single class.

    >>> beyond_chance(0.75, [0.5, 0.5]), beyond_chance(1.0, [1.0])
    (0.5, 0.0)
    """
    room = 1.0 - by_chance(shares)
    return (agreement - by_chance(shares)) / room if room > 0.0 else 0.0


def autocorrelated(agreement: float, shares: Sequence[float], rows: int) -> bool:
    """Whether that many rows with the label of the row before are more than chance.

    >>> autocorrelated(0.9802, [0.99, 0.01], rows=100_000)
    False
    >>> autocorrelated(0.99, [0.99, 0.01], rows=100_000)
    True
    """
    least = max(LEAST, DEVIATIONS / math.sqrt(max(rows, 1)))
    return beyond_chance(agreement, shares) > least


def is_better(agreement: float, shares: Sequence[float], accuracy: float, rows: int) -> bool:
    """Whether the label of the row before predicts notably better than a model, and not by chance.

    Where nearly all rows are of one class, no prediction is notably better than another.

    >>> is_better(0.853, [0.575, 0.425], accuracy=0.841, rows=10_000)
    True
    >>> is_better(0.9990, [0.998, 0.002], accuracy=0.9978, rows=100_000)
    False
    """
    return agreement > accuracy + SMALL and autocorrelated(agreement, shares, rows)
