"""What every Tracker keeps, whatever it sees: the weights of its hypotheses, and of the classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lasec.rules.tracker.costs import first_costs
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS, marginals
from lasec.rules.tracker.seen import BIRTH, CLOCKS, LABEL, LATEST
from lasec.rules.tracker.softmax import slopes
from lasec.types import Counter, Matrix, Vector

_LAST_ROW = 2**61


class Mixture(NamedTuple):
    """The posterior of the hypotheses, what it says of each state, and when labels came.

    ``weight`` and ``lapse`` are what ``posterior`` says of each state. ``born`` is the row before
    each slot's first. ``clock`` holds the row of the newest label, the row of the last birth, the
    labels since then, the rows behind the mean squares of features, how many of the last were too
    short, and the newest label.
    """

    posterior: NDArray[np.float64]
    weight: Vector
    lapse: Vector
    born: Counter
    clock: Counter

    def flaw(self, classes: int) -> str:
        """Why these are no mixture of so many classes (0: two), as a phrase; empty if they are."""
        return first_flaw(
            (_no_distribution(self.posterior), "posterior is no probability distribution"),
            (_not_derived(self), "weight or lapse does not follow from the rest"),
            (min(self.born.min(), self.clock[:LABEL].min()) < 0, "a count is negative"),
            (_against_time(self, classes), "the clock contradicts itself"),
        )


class Classes(NamedTuple):
    """The labels of each class, the slopes for their number, and what class weights need.

    ``told`` and ``slopes`` (:mod:`lasec.rules.tracker.softmax`) are empty with two classes,
    ``costs`` (:mod:`lasec.rules.tracker.costs`) without class weights.
    """

    told: Counter
    slopes: Vector
    costs: Matrix

    def flaw(self) -> str:
        """Why these are no classes, as a phrase; empty if they are."""
        many = self.told.size
        return first_flaw(
            (bool((self.told < 0).any()), "a count is negative"),
            (bool(many and np.abs(self.slopes - slopes(many)).max() > 1e-9), "slopes are others"),
            (_no_costs(self.costs), "the class weights or shares are impossible"),
        )


def first_flaw(*flaws: tuple[bool, str]) -> str:
    """The phrase of the first that holds.

    >>> first_flaw((False, "one"), (True, "two"))
    'two'
    """
    return next((text for wrong, text in flaws if wrong), "")


def blank(*shape: int, kind: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros of a shape that take no room: what an array of a state is to be.

    >>> blank(1_000_000, 1_000_000).shape
    (1000000, 1000000)
    """
    return np.broadcast_to(np.zeros((), kind), shape)


def blank_mixture(slots: int) -> Mixture:
    """The shapes of a mixture."""
    states, whole = slots * len(SPEEDS), np.int64
    posterior = blank(len(HAZARDS), len(LAPSES), states)
    born, clock = blank(slots, kind=whole), blank(CLOCKS, kind=whole)
    return Mixture(posterior, blank(states), blank(states), born, clock)


def blank_classes(rule: Any) -> Classes:
    """The shapes of what is known of the classes."""
    many = rule.classes if rule.classes > 2 else 0
    costs = blank(3, rule.classes) if rule.weighted else blank(0, 0)
    return Classes(blank(many, kind=np.int64), blank(1 + many if many else 0), costs)


def begin(rule: Any, mixture: Mixture) -> None:
    """One slot in use, all its hypotheses alike."""
    first = mixture.posterior[:, :, : len(SPEEDS)]
    first[:] = 1.0 / first.size
    marginals(rule, mixture.posterior, mixture.weight, mixture.lapse)


def begin_classes(rule: Any, classes: Classes) -> None:
    """No label of any class, all weights 1."""
    if classes.slopes.size:
        classes.slopes[:] = slopes(rule.classes)
    if classes.costs.size:
        classes.costs[:] = first_costs(rule.classes)


def _no_distribution(posterior: NDArray[np.float64]) -> bool:
    return bool((posterior < 0.0).any() or abs(posterior.sum() - 1.0) > 1e-9)


def _not_derived(mixture: Mixture) -> bool:
    """Whether what is kept to save time is not what it is kept for."""
    derived = mixture.posterior.sum(axis=(0, 1))
    return bool(
        np.abs(derived - mixture.weight).max() > 1e-9
        or (mixture.lapse < 0.0).any()
        or (mixture.lapse >= 0.5).any()
    )


def _against_time(mixture: Mixture, classes: int) -> bool:
    clock = mixture.clock
    late = mixture.born.max() > clock[BIRTH] or clock.max() > _LAST_ROW
    known = 0 <= clock[LABEL] <= classes if classes else abs(clock[LABEL]) <= 1
    return bool(late or clock[BIRTH] > clock[LATEST] or not known)


def _no_costs(costs: Matrix) -> bool:
    """Whether weights are not positive, or shares no probabilities."""
    if not costs.size:
        return False
    given, shares, sums = costs
    return bool(
        given.min() <= 0.0 or shares.min() < 0.0 or abs(shares.sum() - 1.0) > 1e-9
        or sums.min() < 0.0
    )  # fmt: skip
