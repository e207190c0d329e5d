"""Ask where the model is uncertain: with a probability that falls with the size of the margin.

Lewis and Gale, *A Sequential Algorithm for Training Text Classifiers*, SIGIR 1994, ask about the
rows nearest to an even chance. Here a margin decides with what probability::

    P(ask) = max(0.01, (1 - p^2)^k)

for a margin p = P(+1) - P(-1), or the lead of the best class. 1 - p^2 is four times the variance
of the label, so that k = 1/2 is Neyman's allocation, the best one to measure the accuracy of a
calibrated model with; a larger ``sharpness`` k leaves more labels to the rows that teach most.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import Range, checked
from lasec.types import Margin

LEAST = 0.01


@checked
@query
class UncertaintySampling(NamedTuple):
    """Queries a label the more often, the nearer the probabilities of the classes are.

    >>> query = UncertaintySampling(sharpness=2.0)
    >>> [query.probability(Margin(m, 0.0, m), t=1) for m in (0.0, 0.5, -1.0)]
    [1.0, 0.5625, 0.01]
    """

    sharpness: Annotated[float, Range(0.1, 100.0)] = 4.0

    def probability(self, margin: Margin, t: int) -> float:
        """``max(0.01, (1 - p^2)^k)``."""
        spread = max(0.0, 1.0 - margin.margin * margin.margin)
        return float(max(LEAST, spread**self.sharpness))

    @property
    def has_propensity(self) -> Literal[True]:
        """No row has less than 0.01."""
        return True
