"""A rule that fails on some rows."""

from typing import NamedTuple

import numpy as np

from lasec.types import Margin


class Weights(NamedTuple):
    weights: np.ndarray

    def validate(self):
        return ""


class Failing(NamedTuple):
    scale: float = 1.0

    def init(self, dimension):
        return Weights(np.zeros(dimension))

    def margin(self, state, x):
        return Margin(self.scale / float(x[0]), 0.0, 1.0)

    def update(self, state, x, y, draw):
        state.weights[0] += y
