"""Ask for every label: the supervised setting."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import checked
from lasec.types import Margin


@checked
@query
class Always(NamedTuple):
    """Every label is asked for.

    >>> Always().probability(Margin(raw=9.0, variance=0.0, margin=9.0), t=1)
    1.0
    """

    def probability(self, margin: Margin, t: int) -> float:
        """1."""
        return 1.0

    @property
    def has_propensity(self) -> Literal[True]:
        """Certainty is a positive probability."""
        return True
