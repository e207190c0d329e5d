"""The mixture over slots, speeds, hazards and lapses, over any view of the rows.

What is mixed is a view's (:mod:`lasec.rules.tracker.views`): of each state, the mean and the
variance of a score for each class. How hypotheses are weighed is in
:mod:`lasec.rules.tracker.hypotheses`; one filtering step is that of :mod:`lasec.rules.probit` for
two classes, of :mod:`lasec.rules.tracker.softmax` for more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.rules.probit import chance, filtered
from lasec.rules.tracker.answers import label_in, lapse_with, noise_in
from lasec.rules.tracker.costs import weigh_classes
from lasec.rules.tracker.hypotheses import (
    marginals,
    mix_speeds,
    normalize,
    prior_of,
    reborn,
    reweigh,
    speed_of,
    weakest,
)
from lasec.rules.tracker.seen import BIRTH, LABEL, LATEST, SINCE
from lasec.rules.tracker.softmax import (
    add,
    classes_known,
    gains,
    largest,
    leading,
    likelihood_of,
    soften,
)
from lasec.rules.tracker.views import learn, meet, restart, score, settle
from lasec.types import ClassMargin, Counter, Matrix, Vector

__all__ = [
    "add_said", "begin_concept", "best_of", "class_probabilities", "divide", "filter_state",
    "follow", "is_missed", "lead_of", "narrowed", "nothing_said", "sign",
    "step_of_label", "weigh_views",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)


def nothing_said(states: int, classes: int) -> tuple[NDArray[np.float64], Vector]:
    """Zeros for the mean of each class's score in each state, and for its variance."""
    room = np.zeros(states * (classes + 1))
    return room[states:].reshape((states, classes)), room[:states]


def sign(rule: Any, mixture: Any, view: Any, at: Any, t: int) -> ClassMargin:
    """What the mixture says about a row of two classes."""
    weight, lapse = mixture.weight, mixture.lapse
    bar, gap = min(rule.negligible, weight.max()), max(0, t - mixture.clock[LATEST])
    m, v = nothing_said(weight.size, 1)
    score(view, rule, weight, bar, at, gap, m, v)
    total, first, second = 0.0, 0.0, 0.0
    for i in range(weight.size):
        if weight[i] >= bar:
            lean = math.erf(m[i, 0] / math.sqrt(1.0 + v[i]) * _ROOT_HALF)
            lean *= 1.0 - 2.0 * lapse[i]
            total += weight[i]
            first += weight[i] * lean
            second += weight[i] * lean * lean
    return lead_of(total, first, second)


def lead_of(total: float, first: float, second: float) -> ClassMargin:
    """The decision by the weighed sums of leads and of their squares, of states or of views."""
    p = first / total
    return ClassMargin(p, max(0.0, second / total - p * p), p, 1.0 if p >= 0.0 else -1.0)


def class_probabilities(
    rule: Any, mixture: Any, classes: Any, view: Any, at: Any, t: int, mean: Vector, square: Vector
) -> None:
    """mean <- the probability of each class, and the mean of the states' squared ones."""
    weight, known = mixture.weight, classes_known(classes.told)
    bar, gap = min(rule.negligible, weight.max()), max(0, t - mixture.clock[LATEST])
    (m, v), total = nothing_said(weight.size, mean.size), 0.0
    score(view, rule, weight, bar, at, gap, m, v)
    for c in range(mean.size):
        mean[c] = square[c] = 0.0
    for i in range(weight.size):
        if weight[i] >= bar:
            p = m[i]
            soften(p, classes.slopes[known] / math.sqrt(1.0 + v[i]), classes.told)
            total += weight[i]
            for c in range(p.size):
                if p[c] > 0.0:
                    said = likelihood_of(p[c], mixture.lapse[i], known)
                    mean[c] += weight[i] * said
                    square[c] += weight[i] * said * said
    divide(mean, square, total)


def divide(mean: Vector, square: Vector, total: float) -> None:
    """Make means of the weighed sums of each class, in place."""
    for c in range(mean.size):
        mean[c], square[c] = mean[c] / total, square[c] / total


def weigh_views(omega: Vector, share: float, asleep: Counter) -> None:
    """The weights of views add up to one, and a share of it is spread evenly over them.

    Views whose entry is not 0 are ``asleep`` and have no part in it. It is the fixed share of
    Herbster and Warmuth (*Tracking the Best Expert*, 1998).

    >>> omega = np.array([0.3, 0.1])
    >>> weigh_views(omega, 0.5, np.zeros(2, np.int64))
    >>> omega.tolist()
    [0.625, 0.375]
    """
    awake, total = 0, omega.sum()
    for e in range(omega.size):
        awake += asleep[e] == 0
    for e in range(omega.size):
        if asleep[e] == 0:
            part = (1.0 - share) * omega[e] / total if total > 0.0 else (1.0 - share) / awake
            omega[e] = part + share / awake


def best_of(rule: Any, costs: Matrix, mean: Vector, square: Vector) -> ClassMargin:
    """The decision between many classes of these probabilities, and of these mean squares."""
    if costs.size:
        return weigh_classes(rule, costs, mean, square)
    return leading(mean, square)


def follow(rule: Any, mixture: Any, classes: Any, view: Any, at: Any, y: float, t: int) -> float:
    """Filter every state, weigh the hypotheses, and let a concept begin where one may have.

    Gives the probability that the answer y had, a label that may be wrong.
    """
    weight, lapse, clock = mixture.weight, mixture.lapse, mixture.clock
    now, likely, many = max(t, clock[LATEST]), 0.0, max(1, classes.told.size)
    known = classes_known(classes.told) if classes.told.size else 2
    label, noise = label_in(y), noise_in(y)
    said, p, gain = np.zeros(many), np.empty(many), np.zeros(many)
    for i in range(weight.size):
        if weight[i] > 0.0:
            gap = now - clock[LATEST]
            wrong = lapse_with(lapse[i], noise, known)
            right = filter_state(rule, classes, view, i, at, label, gap, wrong, p, gain)
            add_said(said, p, label, right, weight[i], lapse[i], known)
            likely += weight[i] * likelihood_of(right, wrong, known)
            reweigh(rule, mixture.posterior, i, right, known, noise)
    settle(view, rule, at)
    normalize(mixture.posterior)
    mix_speeds(mixture.posterior, rule.share)
    clock[LATEST], clock[SINCE], clock[LABEL] = now, clock[SINCE] + 1, int(y)
    if is_missed(said, label) and clock[SINCE] >= rule.patience and mixture.born.size > 1:
        begin_concept(rule, mixture, view, now)
    marginals(rule, mixture.posterior, weight, lapse)
    return likely


def filter_state(
    rule: Any, classes: Any, view: Any, i: int, at: Any, y: float, gap: int, lapse: float,
    p: Vector, gain: Vector,
) -> float:  # fmt: skip
    """Drift and one filtering step of one state; gives the probability of the label.

    With many classes, p becomes the probability of each before the step.
    """
    fade, prior = (1.0 - speed_of(rule, i)) ** gap, prior_of(rule, i)
    fresh = (1.0 - fade) * prior
    for c in range(p.size):
        p[c] = 0.0
    v = meet(view, i, at, fade, fresh, p)
    right, shrink = step_of_label(classes, y, p, v, lapse, gain)
    learn(view, i, at, fade, fresh, gain, narrowed(shrink, v, prior * at.size), v)
    return right


def step_of_label(
    classes: Any, y: float, m: Vector, v: float, lapse: float, gain: Vector
) -> tuple[float, float]:
    """gain <- along Pu; gives the probability of the label and how much P shrinks.

    With many classes, m becomes the probability of each.
    """
    if not classes.told.size:
        gain[0], shrink = filtered(m[0], v, y, lapse)
        return chance(y * m[0] / math.sqrt(1.0 + v)), shrink
    known = classes_known(classes.told)
    slope, c = classes.slopes[known], int(y) - 1
    soften(m, slope / math.sqrt(1.0 + v), classes.told)
    shrink = gains(m, c, v, slope, lapse, known, gain)
    return m[c], shrink


def narrowed(shrink: float, v: float, widest: float) -> float:
    """Widen, where a step widens, at most up to the prior."""
    return shrink if shrink >= 0.0 else max(shrink, min(0.0, v - widest) / (v * v))


def add_said(
    said: Vector, p: Vector, y: float, right: float, weight: float, lapse: float, known: int
) -> None:
    """Add what a state had said: of each class, or P(y) - 1/2 of two, both without label noise."""
    if said.size == 1:
        said[0] += weight * (1.0 - 2.0 * lapse) * (right - 0.5)
    else:
        add(said, weight * (1.0 - lapse * known / (known - 1)), p)


def is_missed(said: Vector, y: float) -> bool:
    """Whether the prediction was another class than that of the label; of two, 0 predicts +1."""
    if said.size > 1:
        return largest(said) != int(y) - 1
    return bool(said[0] < 0.0 if y > 0.0 else said[0] <= 0.0)


def begin_concept(rule: Any, mixture: Any, view: Any, now: int) -> None:
    """A concept that begins after this row takes the place of the weakest."""
    slot, clock = weakest(mixture.posterior), mixture.clock
    reborn(rule, mixture.posterior, slot, now - clock[BIRTH])
    restart(view, rule, slot)
    clock[BIRTH], clock[SINCE], mixture.born[slot] = now, 0, now
