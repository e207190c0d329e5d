"""The randomized budget perceptron: remember at most B examples.

Cavallanti, Cesa-Bianchi and Gentile, *Tracking the Best Hyperplane with a Simple Budget
Perceptron*, Machine Learning 69, 2007. On a mistake the example joins the support; where the
support holds B already, one of those B, drawn uniformly, leaves first::

    w = sum over the support of y_i x_i

The draw comes in as data, so the same seed drops the same examples. The weights follow the support
by one addition and one subtraction, and are summed again on every B-th update, so that no rounding
error outlives B updates. Cost: O(d) a row; (B + 1) d numbers of state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.linalg import put
from lasec.parameters import Count, checked
from lasec.rules.perceptron import first_order
from lasec.rules.shifting import MOST_STEPS
from lasec.types import Counter, Margin, Matrix, Vector


class Support(NamedTuple):
    """The remembered rows and their labels (0 where a place is free), and their weighted sum."""

    weights: Vector
    rows: Matrix
    labels: Vector
    steps: Counter

    def validate(self) -> str:
        """Every place that was filled holds a label, the others none; the weights are their sum.

        After a row has left, and until all are summed again, the weights hold a rounding error of
        the size of that row, which may be far larger than all that stay: then they are not checked.

        >>> Support(np.zeros(1), np.zeros((2, 1)), np.array([1.0, 0.5]), np.array([2])).validate()
        'labels are not -1 or +1 exactly where the support is filled'
        """
        if not 0 <= self.steps[0] <= MOST_STEPS:
            return "steps are negative or too many"
        filled = np.arange(self.labels.size) < self.steps[0]
        if not np.array_equal(np.abs(self.labels), filled.astype(float)):
            return "labels are not -1 or +1 exactly where the support is filled"
        steps, places = int(self.steps[0]), self.labels.size
        if steps > places and steps % places:
            return ""
        slack = 1e-6 * np.dot(np.abs(self.labels), np.abs(self.rows))
        if (np.abs(self.weights - np.dot(self.labels, self.rows)) > slack).any():
            return "weights are not the sum of the support"
        return ""


@checked
@rule
class BudgetPerceptron(NamedTuple):
    """The randomized budget perceptron; with a budget that is never reached, the perceptron.

    >>> rule = BudgetPerceptron(budget=1)
    >>> state = rule.init(dimension=1)
    >>> rule.update(state, np.array([5.0]), y=1.0, draw=0.3)
    >>> rule.update(state, np.array([7.0]), y=1.0, draw=0.9)
    >>> state.weights.tolist()
    [7.0]
    """

    budget: Count = 500

    def init(self, dimension: int) -> Support:
        """An empty support."""
        rows = np.zeros((self.budget, dimension))
        labels = np.zeros(self.budget)
        return Support(np.zeros(dimension), rows, labels, np.zeros(1, dtype=np.int64))

    def margin(self, state: Support, x: Vector, t: int = 0) -> Margin:
        """w'x, the sum over the support."""
        return first_order(state.weights, x)

    def update(self, state: Support, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Join the support, in a free place or in one whose holder was drawn to leave."""
        w, rows, labels, steps = state
        k = steps[0]
        place = k if k < self.budget else int(draw * self.budget)
        w += y * x - labels[place] * rows[place]
        put(rows[place], x)
        labels[place] = y
        steps[0] = k + 1
        if (k + 1) % self.budget == 0:
            put(w, np.dot(labels, rows))
