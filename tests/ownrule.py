"""A rule as a user of the library would write it."""

from typing import NamedTuple

import numpy as np

import lasec
from lasec.types import Margin


class Weights(NamedTuple):
    weights: np.ndarray

    def validate(self):
        return ""


@lasec.rule(reference="Nobody. An Average. 2026.")
class Averaging(NamedTuple):
    """w <- (1 - rate) w + rate y x."""

    rate: float = 0.1

    def init(self, dimension):
        return Weights(np.zeros(dimension))

    def margin(self, state, x, t):
        m = np.dot(state.weights, x)
        return Margin(m, 0.0, m)

    def update(self, state, x, y, draw, t):
        w = state.weights
        w += self.rate * (y * x - w)


@lasec.rule
class Lost(NamedTuple):
    """Averages, and does not know what to say of large rows."""

    rate: float = 0.1

    def init(self, dimension):
        return Weights(np.zeros(dimension))

    def margin(self, state, x, t):
        m = np.dot(state.weights, x)
        if np.abs(x[0]) > 1000.0:
            m = np.nan
        return Margin(m, 0.0, m)

    def update(self, state, x, y, draw, t):
        w = state.weights
        w += self.rate * (y * x - w)


@lasec.rule
class Failing(NamedTuple):
    """Fails on rows that begin with zero."""

    scale: float = 1.0

    def init(self, dimension):
        return Weights(np.zeros(dimension))

    def margin(self, state, x, t):
        return Margin(self.scale / float(x[0]), 0.0, 1.0)

    def update(self, state, x, y, draw, t):
        state.weights[0] += y


@lasec.query
class Contrary(NamedTuple):
    """Asks the less, the larger the variance."""

    def probability(self, margin, t):
        return 1.0 / (1.0 + margin.variance)
