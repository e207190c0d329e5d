"""Rules that the paper does not compare with: for context, and as examples of ``--rule``.

``python -m experiments panel a --algorithms LASEC --rule experiments.outside:PassiveAggressive
--grid max_step=0.001,0.003,0.01,0.03,0.1,0.3,1 --learn-from labels --out DIR``
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import lasec
from lasec.rules.perceptron import Linear, first_order


@lasec.rule(reference="K. Crammer et al. Online Passive-Aggressive Algorithms. JMLR 7, 2006.")
class PassiveAggressive(NamedTuple):
    """PA-I: the smallest step that gives the row a margin of 1, of at most ``max_step``."""

    max_step: float = 0.1

    def init(self, dimension: int) -> Linear:
        """No weights yet."""
        return Linear(np.zeros(dimension))

    def margin(self, state, x, t):  # type: ignore[no-untyped-def]
        """The perceptron's margin."""
        return first_order(state.weights, x)

    def update(self, state, x, y, draw, t) -> None:  # type: ignore[no-untyped-def]
        """A step of the hinge loss over the squared norm."""
        w = state.weights
        loss = max(0.0, 1.0 - y * np.dot(w, x))
        w += min(self.max_step, loss / np.dot(x, x)) * y * x
