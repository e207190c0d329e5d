"""The shifting perceptron: a perceptron whose old updates decay.

Cavallanti, Cesa-Bianchi and Gentile, *Tracking the Best Hyperplane with a Simple Budget
Perceptron*, Machine Learning 69, 2007. On the mistake after k earlier ones::

    lambda_k = lambda / (lambda + k)
    w <- (1 - lambda_k) w + y x

``decay`` is lambda. The form that also scales the new example by lambda_k predicts the same with
lambda + 1 in place of lambda: its w is then (lambda + 1)/(lambda + k) times this one.
Cost: O(d) time and state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.parameters import NonNegative, checked
from lasec.rules.perceptron import first_order
from lasec.types import Counter, Margin, Vector

MOST_STEPS = 2**62


class Decaying(NamedTuple):
    """Weights, and how many updates they have seen."""

    weights: Vector
    steps: Counter

    def validate(self) -> str:
        """A number of steps is one that can have been counted.

        >>> Decaying(np.zeros(1), np.array([-1])).validate()
        'steps are negative or too many'
        """
        return "" if 0 <= self.steps[0] <= MOST_STEPS else "steps are negative or too many"


@checked
@rule
class ShiftingPerceptron(NamedTuple):
    """The shifting perceptron; ``decay=0`` is the perceptron.

    >>> rule = ShiftingPerceptron(decay=1.0)
    >>> state = rule.init(dimension=1)
    >>> for _ in range(3):
    ...     rule.update(state, np.array([1.0]), y=1.0, draw=0.0)
    >>> state.weights.tolist()
    [2.0]
    """

    decay: NonNegative = 0.01

    def init(self, dimension: int) -> Decaying:
        """w = 0, k = 0."""
        return Decaying(np.zeros(dimension), np.zeros(1, dtype=np.int64))

    def margin(self, state: Decaying, x: Vector, t: int = 0) -> Margin:
        """w'x."""
        return first_order(state.weights, x)

    def update(self, state: Decaying, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """w <- (1 - lambda_k) w + y x, with 1 - lambda_k = k / (lambda + k)."""
        w, steps = state
        k = steps[0]
        if k > 0:
            w *= k / (self.decay + k)
        w += y * x
        steps[0] = k + 1
