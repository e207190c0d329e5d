"""The rule of a selector: the way of a margin, found elsewhere, into compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.types import Margin, Vector


class NoModel(NamedTuple):
    """The state of a rule that learns nothing."""

    weights: Vector

    def validate(self) -> str:
        """Any array will do."""
        return ""


@rule
class GivenMargin(NamedTuple):
    """A rule whose rows are a margin and its variance.

    >>> GivenMargin().margin(GivenMargin().init(2), np.array([0.5, 0.1])).margin
    0.5
    """

    unused: float = 0.0

    def init(self, dimension: int) -> NoModel:
        """Nothing, ever."""
        return NoModel(np.zeros(dimension))

    def margin(self, state: NoModel, x: Vector, t: int = 0) -> Margin:
        """What the row says."""
        return Margin(float(x[0]), float(x[1]), float(x[0]))

    def update(self, state: NoModel, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Learn nothing."""
