"""The modified perceptron: reflect the weights at the row that was missed, or project them.

Two updates go by this name. With unit rows, or with ``|x|^2`` divided out as here::

    the first example sets     w = y x
    then, on a mistake,        w <- w - 2 (w'x) x / |x|^2       reflection, ``reflect=True``
    or                         w <- w -   (w'x) x / |x|^2       projection, ``reflect=False``

The reflection keeps ``|w|`` and changes the sign of the row's margin: Dasgupta, Kalai and
Monteleoni, *Analysis of Perceptron-Based Active Learning*, COLT 2005. After the projection the row
lies on the boundary: Blum, Frieze, Kannan and Vempala, *A Polynomial-Time Algorithm for Learning
Noisy Linear Threshold Functions*, Algorithmica 22, 1998 (the factor was not checked against their
text). Moroshko and Crammer name the latter paper alone, and give no equation; Crammer, Mansour,
Even-Dar and Vaughan used the algorithm under drift (*Regret Minimization with Concept Drift*, COLT
2010).

Departure: with updates on mistakes only, the example that sets w is the first one *missed*; before
it w = 0, and zero predicts +1. A row with ``|x|^2 < 1e-290`` is taken as zero and changes nothing.
Cost: O(d) time and state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.parameters import checked
from lasec.rules.perceptron import Linear, first_order
from lasec.types import Margin, Vector

NOTHING = 1e-290


@checked
@rule
class ModifiedPerceptron(NamedTuple):
    """The modified perceptron, by reflection or by projection.

    >>> rule = ModifiedPerceptron()
    >>> state = rule.init(dimension=2)
    >>> rule.update(state, np.array([3.0, 4.0]), y=-1.0, draw=0.0)
    >>> rule.update(state, np.array([1.0, 0.0]), y=+1.0, draw=0.0)
    >>> state.weights.tolist()
    [3.0, -4.0]
    """

    reflect: bool = True

    def init(self, dimension: int) -> Linear:
        """w = 0."""
        return Linear(np.zeros(dimension))

    def margin(self, state: Linear, x: Vector, t: int = 0) -> Margin:
        """w'x."""
        return first_order(state.weights, x)

    def update(self, state: Linear, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """``w <- w - 2 (w'x) x / |x|^2``, or ``w = y x`` if there are no weights yet."""
        w = state.weights
        norm = np.dot(x, x)
        if norm < NOTHING:
            return
        if not np.any(w):
            w += y * x
            return
        factor = 2.0 if self.reflect else 1.0
        w -= (factor * np.dot(w, x) / norm) * x
