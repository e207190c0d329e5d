"""Ask where the estimate is uncertain, and less so as time goes on.

Cesa-Bianchi, Gentile and Orabona, *Robust Bounds for Classification via Selective Sampling*,
ICML 2009 (BBQ): in step t = 1, 2, ... ask iff::

    r_t = x_t' A_t^-1 x_t = q / (1 + q) > t^-kappa

``exponent`` is kappa. There is no random draw: the probability is 0 or 1, and ``has_propensity`` is
false, because a row that could never be asked about cannot be weighted up to stand for itself.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import NonNegative, checked
from lasec.types import Margin


@checked
@query
class VarianceThreshold(NamedTuple):
    """BBQ's query: ask iff the variance is above a threshold that falls with time.

    >>> threshold = VarianceThreshold(exponent=0.5)
    >>> seen_before = Margin(raw=0.2, variance=0.25, margin=0.16)
    >>> threshold.probability(seen_before, t=4), threshold.probability(seen_before, t=100)
    (0.0, 1.0)
    """

    exponent: NonNegative = 0.5

    def probability(self, margin: Margin, t: int) -> float:
        """1 or 0: whether r > t^-kappa."""
        q = margin.variance
        return 1.0 if q / (1.0 + q) > t**-self.exponent else 0.0

    @property
    def has_propensity(self) -> Literal[False]:
        """Some rows have probability zero: no unbiased estimate can be made from these labels."""
        return False
