"""Ask at random, whatever the margin: the baseline that every active learner has to beat."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import Share, checked
from lasec.types import Margin


@checked
@query
class Uniform(NamedTuple):
    """Every label is asked for with the same probability ``rate``.

    >>> Uniform(rate=0.1).probability(Margin(raw=9.0, variance=0.0, margin=9.0), t=1)
    0.1
    """

    rate: Share = 0.1

    def probability(self, margin: Margin, t: int) -> float:
        """The rate."""
        return self.rate

    @property
    def has_propensity(self) -> Literal[True]:
        """The rate is positive."""
        return True
