"""The state of the Tracker's rule, as plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.gaussian import Gaussian
from lasec.rules.seen import BIRTH, LABEL, LATEST
from lasec.types import Counter, Vector

_LAST_ROW = 2**61


class Beliefs(NamedTuple):
    """All that the Tracker knows: a Gaussian for each state, and the weight of each.

    ``weights`` are those of each state and class. ``covs`` are the covariances in strips
    (:mod:`lasec.triangle`), ``spread`` the variances of the features that they leave out, and
    ``basis``, ``energy``, ``sample`` and ``sampled`` what wide rows need besides
    (:mod:`lasec.rules.subspace`). ``weight`` and ``lapse`` are what ``posterior`` says of each
    state. ``means`` and ``squares`` are those of the features, ``units`` what they make of a row,
    and ``tally`` the rows that are not in them yet (:mod:`lasec.rules.seen`). ``told`` counts the
    labels of each class, and ``slopes`` belong to their number (:mod:`lasec.rules.softmax`); both
    are empty with two classes. ``born`` is the row before each slot's first. ``clock`` holds the
    row of the newest label, the row of the last birth, the labels since then, the rows behind
    ``squares``, how many of the last were too short, and the newest label.

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

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker, as a phrase; empty if they are.

        >>> from lasec.rules import Tracking
        >>> state = Tracking(slots=1).init(dimension=1)
        >>> state.posterior[0] = -1.0
        >>> state.validate()
        'posterior is no probability distribution'
        """
        if (self.posterior < 0.0).any() or abs(self.posterior.sum() - 1.0) > 1e-9:
            return "posterior is no probability distribution"
        counts = (
            self.squares, self.born, self.clock[:5], self.tally[:1], self.told, self.sampled,
            self.energy,
        )  # fmt: skip
        if any((array < 0).any() for array in counts):
            return "a count or a mean square is negative"
        late = self.born.max() > self.clock[BIRTH] or self.clock.max() > _LAST_ROW
        label = self.clock[LABEL]
        known = 0 <= label <= self.told.size if self.told.size else abs(label) <= 1
        if late or self.clock[BIRTH] > self.clock[LATEST] or not known:
            return "the clock contradicts itself"
        if (self.spread <= 0.0).any() or not _orthonormal(self.basis):
            return "a variance is not positive, or the basis is none"
        n = self.weights.shape[2] - self.spread.shape[1]
        for weights, cov in zip(self.weights, self.covs, strict=True):
            defect = Gaussian(weights[0, :n], triangle.whole(cov, n)).validate()
            if defect:
                return defect
        return ""


def _orthonormal(basis: NDArray[np.float32]) -> bool:
    """Whether the rows have length 1 and right angles."""
    return bool(np.abs(basis @ basis.T - np.eye(len(basis))).max(initial=0.0) < 1e-3)
