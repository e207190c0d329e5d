"""How the Tracker weighs its hypotheses: the mixture's machinery, apart from what it mixes.

The posterior is an array over (hazard h, lapse l, state i), where state i = slot * 5 + k is one
Gaussian posterior, of the k-th speed and prior. Everything here is exact Bayes for the model in
:mod:`lasec.rules.tracker.tracking`, but for three approximations that keep it finite: a concept can
only begin where a birth is allowed, there are no more beginnings than slots, and a slot whose
weight falls below 1/1000 is given up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.rules.tracker.answers import lapse_with
from lasec.rules.tracker.softmax import likelihood_of
from lasec.types import Vector

__all__ = [
    "DRIFTS", "HAZARDS", "LAPSES", "SCALES", "SPEEDS", "group_of", "heaviest", "lapse_of",
    "marginals", "mix_speeds", "normalize", "prior_of", "reborn", "reweigh", "slot_weights",
    "speed_of", "state_weights", "weakest",
]  # fmt: skip

# Grids, as multiples of the rule's ``hazard``, ``lapse``, ``drift`` and ``prior``.
HAZARDS = (1.0, 0.25, 0.0625, 0.015625)
LAPSES = (1.0 / 300.0, 1.0 / 30.0, 0.1, 1.0 / 3.0, 2.0 / 3.0, 1.0)
SPEEDS = (0.0, 1.0, 5.0, 20.0, 0.0)
SCALES = (1.0, 1.0, 1.0, 1.0, 0.03)  # of the prior: the last state of a slot has its own
DRIFTS = (0.0, 1.0, 5.0, 20.0)  # the speeds, each once
FORGOTTEN = 1e-3

Posterior = NDArray[np.float64]


def lapse_of(rule: Any, number: int) -> float:
    """The label noise of a place in the grid."""
    return float(rule.lapse * LAPSES[number])


def speed_of(rule: Any, i: int) -> float:
    """The drift a row of state i."""
    return float(rule.drift * SPEEDS[i % len(SPEEDS)])


def prior_of(rule: Any, i: int) -> float:
    """The prior variance of state i."""
    return float(rule.prior * SCALES[i % len(SPEEDS)])


def group_of(i: int) -> tuple[int, int]:
    """The first of the states of a slot that have the prior of state i, and the one after the last.

    >>> group_of(0), group_of(4), group_of(6)
    ((0, 4), (4, 5), (5, 9))
    """
    begin = i // len(SPEEDS) * len(SPEEDS)
    single = begin + len(SPEEDS) - 1
    return (begin, single) if i < single else (single, single + 1)


def marginals(rule: Any, posterior: Posterior, weight: Vector, lapse: Vector) -> None:
    """The weight of each state, and the label noise that is expected under it."""
    weight[:] = 0.0
    lapse[:] = 0.0
    for number in range(len(LAPSES)):
        level = lapse_of(rule, number)
        for h in range(len(HAZARDS)):
            for i in range(weight.size):
                weight[i] += posterior[h, number, i]
                lapse[i] += level * posterior[h, number, i]
    for i in range(weight.size):
        lapse[i] = lapse[i] / weight[i] if weight[i] > 0.0 else 0.0


def heaviest(weight: Vector, first: int, last: int) -> int:
    """The state with the largest weight, of those from ``first`` on, up to ``last`` - 1."""
    best = first
    for i in range(first + 1, last):
        if weight[i] > weight[best]:
            best = i
    return best


def reweigh(
    rule: Any, posterior: Posterior, i: int, right: float, classes: int, noise: float
) -> None:
    """Weigh state i by the probability of the answer, ``right`` where no label is wrong."""
    for number in range(len(LAPSES)):
        lapse = lapse_with(lapse_of(rule, number), noise, classes)
        said = likelihood_of(right, lapse, classes)
        for h in range(len(HAZARDS)):
            posterior[h, number, i] *= said


def state_weights(posterior: Posterior) -> Vector:
    """The weight of each state."""
    weight = np.zeros(posterior.shape[2])
    for h in range(posterior.shape[0]):
        for number in range(posterior.shape[1]):
            for i in range(weight.size):
                weight[i] += posterior[h, number, i]
    return weight


def slot_weights(posterior: Posterior) -> Vector:
    """The weight of each slot."""
    weight, speeds = state_weights(posterior), len(SPEEDS)
    total = np.zeros(weight.size // speeds)
    for slot in range(total.size):
        for k in range(speeds):
            total[slot] += weight[slot * speeds + k]
    return total


def normalize(posterior: Posterior) -> None:
    """Give up slots that have lost all weight; the rest adds up to 1."""
    weight, speeds = slot_weights(posterior), len(SPEEDS)
    lost, kept = FORGOTTEN * weight.sum(), 0.0
    for slot in range(weight.size):
        kept += weight[slot] if weight[slot] >= lost else 0.0
    factor = np.zeros(posterior.shape[2])
    for slot in range(weight.size):
        if weight[slot] >= lost:
            factor[slot * speeds : (slot + 1) * speeds] = 1.0 / kept
    for h in range(posterior.shape[0]):
        for number in range(posterior.shape[1]):
            for i in range(factor.size):
                posterior[h, number, i] *= factor[i]


def mix_speeds(posterior: Posterior, share: float) -> None:
    """Move a share of each speed's weight to the others of its slot: speeds change too."""
    for h in range(posterior.shape[0]):
        for number in range(posterior.shape[1]):
            for i in range(0, posterior.shape[2], len(SPEEDS)):
                states = posterior[h, number]
                total = 0.0
                for k in range(i, i + len(SPEEDS)):
                    total += states[k]
                if total == 0.0:
                    continue
                for k in range(i, i + len(SPEEDS)):
                    states[k] += share * ((total - states[k]) / (len(SPEEDS) - 1) - states[k])


def weakest(posterior: Posterior) -> int:
    """The slot with the least weight."""
    return int(np.argmin(slot_weights(posterior)))


def reborn(rule: Any, posterior: Posterior, slot: int, gap: int) -> None:
    """A concept that began now takes ``slot``, with weight 1 - (1 - h)^gap under each hazard h."""
    speeds = len(SPEEDS)
    posterior[:, :, slot * speeds : (slot + 1) * speeds] = 0.0
    posterior /= posterior.sum()
    for h in range(len(HAZARDS)):
        chance = 1.0 - (1.0 - rule.hazard * HAZARDS[h]) ** gap
        for number in range(len(LAPSES)):
            total = posterior[h, number].sum()
            for i in range(posterior.shape[2]):
                posterior[h, number, i] *= 1.0 - chance
            for k in range(speeds):
                posterior[h, number, slot * speeds + k] = total * chance / speeds
