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
