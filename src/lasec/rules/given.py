"""The margin is the row: for budgets over what somebody else's model says (:mod:`lasec.gate`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.types import Margin, Vector


class Nothing(NamedTuple):
    """The state of a rule that learns nothing."""

    weights: Vector

    def defect(self) -> str:
        """Any array will do."""
        return ""


class Given(NamedTuple):
    """A rule whose rows are a margin and its variance, as another model has found them.

    >>> rule = Given()
    >>> rule.margin(rule.init(2), np.array([-0.25, 1.0]))
    Margin(raw=-0.25, variance=1.0, margin=-0.25)
    """

    unused: float = 0.0

    def init(self, dimension: int) -> Nothing:
        """Nothing, ever."""
        return Nothing(np.zeros(dimension))

    def margin(self, state: Nothing, x: Vector) -> Margin:
        """What the row says."""
        return Margin(float(x[0]), float(x[1]), float(x[0]))

    def update(self, state: Nothing, x: Vector, y: float, draw: float) -> None:
        """Learn nothing."""

    @property
    def reference(self) -> str:
        """None: whoever found the margin has one."""
        return ""
