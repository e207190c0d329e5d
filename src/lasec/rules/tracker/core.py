"""Dense rows and what is known of them: the part that raw rows, lenses and mixed tables have.

A :class:`Core` predicts and learns; with :class:`Counted`, its scale follows the rows that come.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.gaussian import Gaussian
from lasec.rules.tracker.beliefs import Classes, Mixture, begin, blank, blank_mixture, first_flaw
from lasec.rules.tracker.dense import Dense, glimpse, sight
from lasec.rules.tracker.hypotheses import prior_of
from lasec.rules.tracker.mixture import class_probabilities, follow, sign
from lasec.rules.tracker.seen import INTERCEPT, extra, renew
from lasec.rules.tracker.subspace import KEPT
from lasec.types import ClassMargin, Counter, Vector

__all__ = ["core_chances", "core_says", "teach_core"]

_CLOSE = 1e-6


class Core(NamedTuple):
    """A mixture over dense rows, with what makes them comparable: means, units, and a basis.

    ``units`` are those of each feature, and the intercept (:mod:`lasec.rules.tracker.seen`);
    ``basis`` is for wide rows (:mod:`lasec.rules.tracker.subspace`), and else empty.
    """

    mixture: Mixture
    dense: Dense
    basis: NDArray[np.float32]
    means: Vector
    units: Vector

    def flaw(self, classes: int) -> str:
        """Why these are no core for so many classes (0: two), as a phrase; empty if they are."""
        spread, n = self.dense.spread, self.dense.weights.shape[2] - self.dense.spread.shape[1]
        found = self.mixture.flaw(classes) or first_flaw(
            (bool((spread <= 0.0).any()), "a variance is not positive"),
            (not 0.0 <= self.units[-1] <= 2.0, "the intercept does not follow from the rest"),
            (not _orthonormal(self.basis), "the basis is not orthonormal"),
        )
        for weights, cov in zip(self.dense.weights, self.dense.covs, strict=True):
            found = found or Gaussian(weights[0, :n], triangle.whole(cov, n)).validate()
        return found


class Counted(NamedTuple):
    """What is counted of rows, so that means, units and basis follow them.

    ``squares`` are the mean squares of the features, and ``tally`` the rows that are not in them
    yet; ``energy``, ``sample`` and ``sampled`` are for the basis, and else empty.
    """

    squares: Vector
    tally: Vector
    energy: Vector
    sample: NDArray[np.float32]
    sampled: Counter

    def flaw(self, core: Core) -> str:
        """Why these counts are not those of a core, as a phrase; empty if they are."""
        counts = (self.squares, self.tally[:1], self.sampled, self.energy)
        return first_flaw(
            (any((part < 0).any() for part in counts), "a count or a mean square is negative"),
            (not _follow(core, self), "units do not follow from the rest"),
        )


def blank_core(rule: Any, width: int, k: int, slots: int) -> Core:
    """The shapes of a core of so many features, k directions and slots."""
    rest, single = (width if k < width else 0), np.float32
    n, mixture = triangle.padded(k + extra(rule.classes)), blank_mixture(slots)
    states, rows = mixture.weight.size, rule.classes if rule.classes > 2 else 1
    weights = blank(states, rows, n + rest, kind=single if rest else np.float64)
    covs, spread = blank(states, triangle.size(n), kind=single), blank(states, rest, kind=single)
    basis = blank(k if rest else 0, rest, kind=single)
    return Core(mixture, Dense(weights, covs, spread), basis, blank(width), blank(width + 1))


def blank_counted(width: int, k: int) -> Counted:
    """The shapes of what is counted of rows of so many features, with k directions."""
    based = 0 < k < width
    sample = blank(KEPT if based else 0, width, kind=np.float32)
    sampled = blank(2 if based else 0, kind=np.int64)
    return Counted(blank(width), blank(1 + 2 * width), blank(k if based else 0), sample, sampled)


def begin_core(rule: Any, core: Core) -> None:
    """w = 0, P = S I, all hypotheses alike."""
    core.units[-1] = INTERCEPT
    np.fill_diagonal(core.basis, 1.0)
    begin_dense(rule, core.dense)
    begin(rule, core.mixture)


def begin_dense(rule: Any, dense: Dense) -> None:
    """P = S I in every state."""
    for i in range(len(dense.covs)):
        triangle.set_diagonal(dense.covs[i], prior_of(rule, i))
        dense.spread[i] = prior_of(rule, i)


def core_says(rule: Any, core: Any, classes: Any, x: Vector, t: int) -> ClassMargin:
    """What a core says about a row of two classes."""
    return sign(rule, core.mixture, core.dense, glimpse(core, classes, x, t), t)


def core_chances(
    rule: Any, core: Any, classes: Any, x: Vector, t: int, mean: Vector, square: Vector
) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    at = glimpse(core, classes, x, t)
    class_probabilities(rule, core.mixture, classes, core.dense, at, t, mean, square)


def teach_core(rule: Any, core: Any, classes: Any, x: Vector, y: float, t: int) -> float:
    """Let a core learn a label; gives the probability that it gave to it."""
    return follow(rule, core.mixture, classes, core.dense, sight(core, classes, x, t), y, t)


def flaw_of(core: Core, counted: Counted, classes: Classes) -> str:
    """Why these are no state of a Tracker, as a phrase; empty if they are."""
    return counted.flaw(core) or core.flaw(classes.told.size) or classes.flaw()


def _follow(core: Core, counted: Counted) -> bool:
    """Whether the units of the features are what the means and the mean squares lead to."""
    fresh, known = core._replace(units=np.empty_like(core.units)), counted.squares > 0.0
    with np.errstate(all="ignore"):  # a file may hold any numbers
        renew(fresh, counted)
        same = np.abs(core.units - fresh.units) <= _CLOSE * fresh.units
    return bool(same[:-1][known].all())


def _orthonormal(basis: NDArray[np.float32]) -> bool:
    """Whether the rows have length 1 and right angles."""
    return not len(basis) or bool(np.abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-3)
