"""Ask with a probability that falls as the margin grows.

Cesa-Bianchi, Gentile and Zaniboni, *Worst-Case Analysis of Selective Sampling for Linear
Classification*, JMLR 7, 2006; taken up for drift by Moroshko and Crammer (AISTATS 2014)::

    P(ask) = a / (a + |p|)

``aggressiveness`` is a: infinite asks always, near zero hardly ever. It is computed as
``1 / (1 + |p|/a)``, which is the same number and right at infinity too. The paper has
``power`` 1; where the margin is P(+1) - P(-1), as the Tracker's is, a higher power s in ``|p|^s``
asks more evenly where it is in doubt and less where it is sure.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import PositiveOrInfinite, Range, checked
from lasec.types import Margin


@checked
@query
class MarginSampling(NamedTuple):
    """Queries a label the more often, the nearer the margin is to zero.

    >>> query = MarginSampling(aggressiveness=0.5)
    >>> query.probability(Margin(raw=0.5, variance=0.0, margin=0.5), t=1)
    0.5
    >>> query.probability(Margin(raw=0.0, variance=0.0, margin=0.0), t=1)
    1.0
    """

    aggressiveness: PositiveOrInfinite = 1.0
    power: Annotated[float, Range(0.1, 10.0)] = 1.0

    def probability(self, margin: Margin, t: int) -> float:
        """``a / (a + |p|^s)``."""
        size = abs(margin.margin)
        if self.power != 1.0:
            size = size**self.power
        return 1.0 / (1.0 + size / self.aggressiveness)

    @property
    def has_propensity(self) -> Literal[True]:
        """No finite margin has probability zero."""
        return True
