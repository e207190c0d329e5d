"""The modified perceptron: reflect the weights at the row that was missed.

Blum, Frieze, Kannan and Vempala, *A Polynomial-Time Algorithm for Learning Noisy Linear Threshold
Functions*, Algorithmica 22, 1998; used under drift by Crammer, Mansour, Even-Dar and Wortman
Vaughan, *Regret Minimization with Concept Drift*, COLT 2010::

    the first example sets     w = y x
    then, on a mistake,        w <- w - 2 (w'x) x / |x|^2

which keeps ``|w|`` and turns the margin of that row round. ``reflect=False`` is the projection,
with factor 1 for 2, after which that row lies on the boundary.

Departure: with updates on mistakes only, the example that sets w is the first one *missed*; before
it w = 0, and zero predicts +1. A row with ``|x|^2 < 1e-290`` is taken as zero and changes nothing.
Cost: O(d) time and state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.parameters import checked
from lasec.rules.perceptron import Linear, first_order
from lasec.types import Margin, Vector

MODIFIED_REFERENCE = (
    "A. Blum, A. Frieze, R. Kannan and S. Vempala. A Polynomial-Time Algorithm for Learning Noisy "
    "Linear Threshold Functions. Algorithmica 22, 1998."
)

NOTHING = 1e-290


@checked
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

    def margin(self, state: Linear, x: Vector) -> Margin:
        """w'x."""
        return first_order(state.weights, x)

    def update(self, state: Linear, x: Vector, y: float, draw: float) -> None:
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

    @property
    def reference(self) -> str:
        """The modified perceptron's paper."""
        return MODIFIED_REFERENCE
