"""The perceptron.

Rosenblatt, *The Perceptron: A Probabilistic Model for Information Storage and Organization in the
Brain*, Psychological Review 65, 1958::

    predict sign(w'x); on a mistake  w <- w + y x

Its margin is w'x, unnormalized, as in the selective form of Cesa-Bianchi, Gentile and Zaniboni
(JMLR 7, 2006). Cost: O(d) time and state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.parameters import checked
from lasec.types import Margin, Vector


class Linear(NamedTuple):
    """Weights alone: the state of a first-order rule.

    >>> Linear(np.zeros(3)).validate()
    ''
    """

    weights: Vector

    def validate(self) -> str:
        """Any finite weights are a valid state."""
        return ""


def first_order(w: Vector, x: Vector) -> Margin:
    """The margin of every first-order rule: w'x, with no variance.

    >>> first_order(np.array([2.0]), np.array([3.0]))
    Margin(raw=6.0, variance=0.0, margin=6.0)
    """
    m = float(np.dot(w, x))
    return Margin(m, 0.0, m)


@checked
@rule
class Perceptron(NamedTuple):
    """The perceptron: it has no parameter.

    >>> rule = Perceptron()
    >>> state = rule.init(dimension=2)
    >>> rule.update(state, np.array([1.0, 2.0]), y=-1.0, draw=0.0)
    >>> state.weights.tolist()
    [-1.0, -2.0]
    """

    def init(self, dimension: int) -> Linear:
        """w = 0."""
        return Linear(np.zeros(dimension))

    def margin(self, state: Linear, x: Vector, t: int = 0) -> Margin:
        """w'x."""
        return first_order(state.weights, x)

    def update(self, state: Linear, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """w <- w + y x."""
        w = state.weights
        w += y * x
