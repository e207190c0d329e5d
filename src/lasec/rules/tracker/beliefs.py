"""The state of the Tracker's rule, as plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.gaussian import Gaussian
from lasec.rules.tracker.seen import BIRTH, LABEL, LATEST, renew
from lasec.types import Counter, Matrix, Vector

_LAST_ROW = 2**61
_CLOSE = 1e-6


class Beliefs(NamedTuple):
    """All that the Tracker knows: a Gaussian for each state, and the weight of each.

    ``weights`` are those of each state and class. ``covs`` are the covariances in strips
    (:mod:`lasec.triangle`), ``spread`` the variances of the features that they leave out, and
    ``basis``, ``energy``, ``sample`` and ``sampled`` what wide rows need besides
    (:mod:`lasec.rules.tracker.subspace`). ``weight`` and ``lapse`` are what ``posterior`` says of
    each state. ``means`` and ``squares`` are those of the features, ``units`` what they make of a
    row, and ``tally`` the rows that are not in them yet (:mod:`lasec.rules.tracker.seen`). ``told``
    counts the labels of each class, and ``slopes`` belong to their number
    (:mod:`lasec.rules.tracker.softmax`); both are empty with two classes. ``born`` is the row
    before each slot's first. ``clock`` holds the row of the newest label, the row of the last
    birth, the labels since then, the rows behind ``squares``, how many of the last were too short,
    and the newest label. ``costs`` are what class weights need (:mod:`lasec.rules.tracker.costs`),
    empty without.

    >>> from lasec.rules import Tracking
    >>> state = Tracking(slots=2).init(dimension=3)
    >>> state.weights.shape, state.covs.shape
    ((10, 1, 8), (10, 48))
    """

    weights: NDArray[np.float64]
    covs: NDArray[np.float32]
    spread: NDArray[np.float32]
    basis: NDArray[np.float32]
    energy: Vector
    sample: NDArray[np.float32]
    sampled: Counter
    posterior: NDArray[np.float64]
    weight: Vector
    lapse: Vector
    means: Vector
    squares: Vector
    units: Vector
    tally: Vector
    told: Counter
    slopes: Vector
    born: Counter
    clock: Counter
    costs: Matrix

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker, as a phrase; empty if they are.

        >>> from lasec.rules import Tracking
        >>> state = Tracking(slots=1).init(dimension=1)
        >>> state.posterior[0] = -1.0
        >>> state.validate()
        'posterior is no probability distribution'
        """
        flaws = (
            (_no_distribution(self), "posterior is no probability distribution"),
            (_not_derived(self), "weight, lapse, units or slopes do not follow from the rest"),
            (_negative(self), "a count or a mean square is negative"),
            (_against_time(self), "the clock contradicts itself"),
            ((self.spread <= 0.0).any(), "a variance is not positive"),
            (_no_costs(self.costs), "the class weights or shares are impossible"),
            (not _orthonormal(self.basis), "the basis is not orthonormal"),
        )
        defect = next((text for wrong, text in flaws if wrong), "")
        n = self.weights.shape[2] - self.spread.shape[1]
        for weights, cov in zip(self.weights, self.covs, strict=True):
            defect = defect or Gaussian(weights[0, :n], triangle.whole(cov, n)).validate()
        return defect


def _no_distribution(state: Beliefs) -> bool:
    return bool((state.posterior < 0.0).any() or abs(state.posterior.sum() - 1.0) > 1e-9)


def _not_derived(state: Beliefs) -> bool:
    """Whether what is kept to save time is not what it is kept for."""
    return bool(
        np.abs(state.posterior.sum(axis=(0, 1)) - state.weight).max() > 1e-9
        or (state.lapse < 0.0).any()
        or (state.lapse >= 0.5).any()
        or not _follow(state)
        or not 0.0 <= state.units[-1] <= 2.0
        or (state.slopes <= 0.0).any()
    )


def _follow(state: Beliefs) -> bool:
    """Whether the units of the features are what the means and the mean squares lead to."""
    fresh, known = state._replace(units=np.empty_like(state.units)), state.squares > 0.0
    with np.errstate(all="ignore"):  # a file may hold any numbers
        renew(fresh)
        same = np.abs(state.units - fresh.units) <= _CLOSE * fresh.units
    return bool(same[:-1][known].all())


def _no_costs(costs: Matrix) -> bool:
    """Whether weights are not positive, or shares no probabilities."""
    if not costs.size:
        return False
    given, shares, sums = costs
    return bool(
        given.min() <= 0.0 or shares.min() < 0.0 or abs(shares.sum() - 1.0) > 1e-9
        or sums.min() < 0.0
    )  # fmt: skip


def _negative(state: Beliefs) -> bool:
    counts = (
        state.squares, state.born, state.clock[:5], state.tally[:1], state.told, state.sampled,
        state.energy,
    )  # fmt: skip
    return any((array < 0).any() for array in counts)


def _against_time(state: Beliefs) -> bool:
    clock, many = state.clock, state.told.size
    late = state.born.max() > clock[BIRTH] or clock.max() > _LAST_ROW
    known = 0 <= clock[LABEL] <= many if many else abs(clock[LABEL]) <= 1
    return bool(late or clock[BIRTH] > clock[LATEST] or not known)


def _orthonormal(basis: NDArray[np.float32]) -> bool:
    """Whether the rows have length 1 and right angles."""
    return not len(basis) or bool(np.abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-3)
