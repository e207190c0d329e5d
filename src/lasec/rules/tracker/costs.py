"""Class weights: decisions where one class is rare, or costs more to miss than another.

With the probability p_k and the weight w_k of class k, the class with the largest w_k p_k is
predicted: the one with the least expected cost, if a missed row of class k costs w_k (Elkan, *The
Foundations of Cost-Sensitive Learning*, IJCAI 2001). A query sees the lead of the best over the
second of ::

    p'_k = w_k^a p_k / sum_j w_j^a p_j,        a = ``tilt``

so that labels go to rows that may be of a class that is rare or costly. With a = 1 these are the
rows where the decision is uncertain, with a = 0 those where the class is; a = 1/4 has the best
average precision (``python -m experiments rare --settings``). The probabilities themselves stay as
they are. Balanced weights are w_k = 1 / s_k, with the share s_k of each class
(at least 1 in 10,000) as the model has it: its mean probability over the rows that were asked
about, labeled or not. Labels are not counted for it, because queried rows are not like the others.

A state keeps three rows of numbers for the classes, ``costs``: the weights that were given, the
shares, and the sum of the probabilities of the rows since the last label. Asking adds to the sum,
which no prediction depends on; the next label adds the sum to the shares, which forget what is
older than the last fifth of the rows, or than 5,000 rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.types import ClassMargin, Matrix, Vector

__all__ = [
    "add_shares", "count_label", "count_said", "count_sign", "weigh_classes", "weigh_sign",
    "weight_of",
]  # fmt: skip

RAREST, AGE, MEMORY = 1e-4, 0.25, 5_000.0
GIVEN, SHARES, SUMS = range(3)


def first_costs(classes: int) -> Matrix:
    """All weights 1, and all shares alike.

    >>> first_costs(2).tolist()
    [[1.0, 1.0], [0.5, 0.5], [0.0, 0.0]]
    """
    made = np.zeros((3, classes))
    made[GIVEN], made[SHARES] = 1.0, 1.0 / classes
    return made


def with_class(costs: Matrix) -> Matrix:
    """The numbers with one more class, of weight 1; its share begins as the mean of the others.

    >>> with_class(first_costs(2)).round(3).tolist()
    [[1.0, 1.0, 1.0], [0.333, 0.333, 0.333], [0.0, 0.0, 0.0]]
    """
    classes = costs.shape[1] + 1
    made = first_costs(classes)
    made[:, :-1] = costs
    made[SHARES, :-1] *= 1.0 - made[SHARES, -1]
    return made


def weight_of(rule: Any, costs: Matrix, c: int) -> float:
    """The weight of class c."""
    given = costs[GIVEN, c]
    return float(given / max(costs[SHARES, c], RAREST) if rule.balanced else given)


def weigh_sign(rule: Any, costs: Matrix, seen: ClassMargin) -> ClassMargin:
    """The decision between two classes, and the margin that a query sees."""
    one, other = weight_of(rule, costs, 1), weight_of(rule, costs, 0)
    yes, no = 1.0 + seen.raw, 1.0 - seen.raw
    odds = (one / other) ** rule.tilt * yes
    label = 1.0 if one * yes >= other * no else -1.0
    return ClassMargin(seen.raw, seen.variance, (odds - no) / (odds + no), label)


def weigh_classes(rule: Any, costs: Matrix, mean: Vector, square: Vector) -> ClassMargin:
    """The decision between many classes, and the margin that a query sees."""
    best, cost, first, second, total = 0, -1.0, 0.0, 0.0, 0.0
    for c in range(mean.size):
        weight = weight_of(rule, costs, c)
        if weight * mean[c] > cost:
            best, cost = c, weight * mean[c]
        tilted = weight**rule.tilt * mean[c]
        total += tilted
        first, second = max(first, tilted), max(second, min(first, tilted))
    p = mean[best]
    variance = 4.0 * max(0.0, square[best] - p * p)
    return ClassMargin(2.0 * p - 1.0, variance, (first - second) / total, best + 1.0)


def add_shares(costs: Matrix, rows: int) -> None:
    """With a label, let the shares learn from the rows since the last one; ``rows`` came before."""
    count = costs[SUMS].sum()
    if count > 0.0:
        part = count / (min(AGE * rows, MEMORY) + count)
        for c in range(costs.shape[1]):
            costs[SHARES, c] += part * (costs[SUMS, c] / count - costs[SHARES, c])
            costs[SUMS, c] = 0.0


def count_label(classes: Any, y: float, rows: int) -> None:
    """Count a label for its class, and let the shares learn from the rows before it."""
    if classes.told.size:
        classes.told[int(y) - 1] += 1
    if classes.costs.size:
        add_shares(classes.costs, rows)


def count_said(costs: Matrix, p: Vector) -> None:
    """Add the probability of each class of a row that is asked about to those of the others."""
    for c in range(p.size):
        costs[SUMS, c] += p[c]


def count_sign(costs: Matrix, lead: float) -> None:
    """The same of two classes, by P(y = +1) - P(y = -1)."""
    costs[SUMS, 0] += (1.0 - lead) / 2.0
    costs[SUMS, 1] += (1.0 + lead) / 2.0
