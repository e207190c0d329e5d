"""Ask with a probability that falls with the margin, and hold the share of labels by itself.

The coin of :mod:`lasec.queries.margin_coin` needs a ``caution`` a, and which a gives which share
of labels depends on the stream and changes with it. Here a controller moves log a, so that the
share of rows asked becomes ``rate`` in the long run::

    owed   = rate (rounds so far) - (labels so far)
    log a  = log 0.5 + gain owed + (rate gain^2 / 4) (sum of owed over the rounds)
    P(ask) = e + (1 - e) a / (a + |p|^s)

with the floor e = ``floor`` * ``rate``, so that no row is invisible; log a stays in [-14, 7]. The
integral's factor makes the loop critically damped. The coin is the sharper, the more labels there
are: s = 1.5 + min(0.5, ``sharpness`` * ``rate``). ``gain`` is raised where the budget of a
``horizon`` is small, to min(0.2, 30 / (rate horizon)), so that what was spent early is paid back
within it.

In the beginning nothing is known, p is near 0, and nearly every row is asked: labels are worth most
then, and the controller pays them back.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from lasec.parameters import Range, Share, checked
from lasec.queries.margin_coin import COIN_REFERENCE
from lasec.types import Margin, Vector

__all__ = ["Budgeted", "gain_of"]

START, LOWEST, HIGHEST = math.log(0.5), -14.0, 7.0


def gain_of(query: Any) -> float:
    """How hard the controller pulls: harder where the budget of the horizon is small."""
    return float(max(query.gain, min(0.2, 30.0 / (query.rate * query.horizon))))


@checked
class Budgeted(NamedTuple):
    """Ask for a share of ``rate`` of the labels, most likely where the margin is small.

    The margin must lie in [-1, 1], as the Tracker's does. What the query remembers is an array: the
    rounds, the labels asked, and the integral.

    >>> query = Budgeted(rate=0.1)
    >>> memory = query.start()
    >>> doubt, certain = Margin(0.0, 0.0, 0.0), Margin(0.9, 0.0, 0.9)
    >>> query.chance(doubt, memory), round(query.chance(certain, memory), 3)
    (1.0, 0.379)
    >>> for _ in range(100):
    ...     query.spend(memory, asked=True)
    >>> round(query.chance(certain, memory), 3)
    0.044
    """

    rate: Share = 0.1
    floor: Share = 0.1
    gain: Annotated[float, Range(1e-6, 1.0)] = 0.02
    horizon: Annotated[int, Range(1, 2**62)] = 10_000
    sharpness: Annotated[float, Range(0.0, 100.0)] = 1.25

    def start(self) -> Vector:
        """Nothing asked yet: rounds, labels, integral."""
        return np.zeros(3)

    def chance(self, margin: Margin, memory: Vector) -> float:
        """The probability of asking in the round that follows what is remembered."""
        if self.rate >= 1.0:
            return 1.0
        rounds, labels, integral = memory
        log_a = START + gain_of(self) * (self.rate * rounds - labels) + integral
        a = math.exp(min(max(log_a, LOWEST), HIGHEST))
        least = self.floor * self.rate
        doubt = abs(margin.margin) ** (1.5 + min(0.5, self.sharpness * self.rate))
        return float(least + (1.0 - least) * a / (a + doubt))

    def spend(self, memory: Vector, asked: bool) -> None:
        """Remember a round."""
        memory[0] += 1.0
        memory[1] += asked
        owed = self.rate * memory[0] - memory[1]
        memory[2] = min(
            max(memory[2] + self.rate * gain_of(self) ** 2 / 4.0 * owed, LOWEST), HIGHEST
        )

    def defect(self, memory: Vector) -> str:
        """Why an array is nothing that this query can remember, as a phrase; empty if it can."""
        if not (0.0 <= memory[1] <= memory[0] and LOWEST <= memory[2] <= HIGHEST):
            return "the query's memory holds impossible numbers"
        return ""

    def probability(self, margin: Margin, t: int) -> float:
        """The probability of asking in a first round."""
        return self.chance(margin, self.start())

    @property
    def has_propensity(self) -> Literal[True]:
        """Every row has at least the floor."""
        return True

    @property
    def rises_with_variance(self) -> bool:
        """The controller must see every round."""
        return False

    @property
    def reference(self) -> str:
        """The coin's paper."""
        return COIN_REFERENCE
