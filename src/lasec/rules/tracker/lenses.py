"""A Tracker that is not linear: a mixture over the raw rows and four non-linear views of them.

The raw rows have a Tracker's states (:mod:`lasec.rules.tracker.tracking`). Each *lens* is a map of
the standardized row (:mod:`lasec.rules.tracker.lens_maps`: random Fourier features of two kernels,
random products, quantile steps), with states of the same kind about what the map gives, in the form
for wide rows (:mod:`lasec.rules.tracker.subspace`): a full covariance in ``lens_block`` directions,
variances for the rest, ``lens_slots`` beginnings. With the margin m_e of lens e, raw rows
included::

    margin = sum_e omega_e m_e
    label y:  omega_e <- omega_e P_e(y),  normalized,  omega_e <- (1 - a) omega_e + a / E

with a = ``lens_share``; at the start the raw rows have ``raw_weight``, and the lenses share the
rest. It is Bayes over views that may change, with a fixed share (Herbster and Warmuth, *Tracking
the Best Expert*, 1998): where the truth is linear, the raw rows soon have the weight.

*The first rows.* Distances, quantiles and directions come from the first ``warm_up`` rows, labeled
or not, and are made between two labels. Until then the raw rows predict alone. No prediction
depends on a row after it. Of the labels until then, the last ``replayed`` are kept, with the
probability that the raw rows gave to each. The first label after the maps are made is kept too, and
then all are learned by the lenses in their order, and weigh them: each lens predicts a label before
it learns it, as if it had been there from the start. Without that, lenses would start to learn
after the labels that a budget spends first.

*Scales.* z is the raw row in its running units. The scale of what a map adds is fixed; its mean and
the directions of the covariance are those of the first rows and stay, so that rows without a label
cost a lens nothing when they are counted.

*Sleep.* A lens whose weight is below ``negligible`` is left out while asking (and the raw rows
too), as the states of a Tracker are; it still learns. A lens below ``SLEEPY`` for ``DROWSY`` labels
in a row sleeps: it has no weight, and neither predicts nor learns. After ``nap`` labels it wakes
with the weight of a share and with what it knew, drifted since then. Each sleep is twice as long as
the one before, up to ``LONGEST`` labels.

The decision with class weights is as the Tracker's; the shares of balanced ones are those that the
raw rows alone lead to.

Cost: that of a Tracker, and for each lens that is awake O(D (d + k)) for the margin and
O(5 slots (k^2 + D)) for a label, with D = ``features`` and k = ``lens_block``.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.nested import copied, entry_of, leaves, mapped, named
from lasec.parameters import Positive, Range, Share, checked
from lasec.rules.tracker.answers import coded, noise_in
from lasec.rules.tracker.beliefs import begin_classes
from lasec.rules.tracker.core import begin_core
from lasec.rules.tracker.enlarging import more_classes
from lasec.rules.tracker.lens_maps import LENSES, make_maps
from lasec.rules.tracker.lensed import (
    COLLECTING,
    EARLY,
    MADE,
    NEXT,
    SAID,
    STAGE,
    Lensed,
    blank_lensed,
)
from lasec.rules.tracker.states import asked, chances, look, teach
from lasec.rules.tracker.subspace import is_due, renew_basis
from lasec.rules.tracker.tracking import Tracking
from lasec.types import ClassMargin, Vector


@checked
@rule(probabilities=True, noise=True)
class Lenses(NamedTuple):
    """A Tracker with non-linear views of the rows: one setting for every stream.

    The first parameters are those of :class:`~lasec.rules.Tracking`.

    >>> import lasec
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4_000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, 1, -1)  # a disk: no line separates it
    >>> for lenses in (False, True):
    ...     print(lasec.Tracker(2, rate=0.1, lenses=lenses, seed=0).run(X, y))
    Records(rows=4000, accuracy=0.575, labels=431, rate=0.108)
    Records(rows=4000, accuracy=0.946, labels=428, rate=0.107)
    """

    slots: Annotated[int, Range(1, 1_000)] = 6
    patience: Annotated[int, Range(1, 1_000_000)] = 6
    hazard: Annotated[float, Range(1e-12, 0.5)] = 2.0**-8
    drift: Annotated[float, Range(1e-12, 0.04)] = 0.0005
    prior: Positive = 1_000.0
    lapse: Annotated[float, Range(1e-9, 0.49)] = 0.3
    share: Share = 0.002
    negligible: Share = 0.03
    classes: Annotated[int, Range(2, 10_000)] = 2
    block: Annotated[int, Range(-1, 2**31)] = -1
    weighted: bool = False
    balanced: bool = False
    tilt: Annotated[float, Range(0.0, 1.0)] = 0.25
    features: Annotated[int, Range(1, 100_000)] = 100
    lens_block: Annotated[int, Range(1, 1_000)] = 32
    lens_slots: Annotated[int, Range(1, 1_000)] = 4
    warm_up: Annotated[int, Range(10, 100_000)] = 300
    replayed: Annotated[int, Range(1, 100_000)] = 128
    nap: Annotated[int, Range(1, 1_000_000)] = 1_000
    raw_weight: Annotated[float, Range(0.001, 0.999)] = 0.5
    lens_share: Share = 0.002
    map_seed: Annotated[int, Range(0, 2**62)] = 0

    def validate(self) -> str:
        """Directions are fewer than features; shares are only kept where classes have weights."""
        if self.lens_block > self.features:
            return "lens_block: there are fewer features than directions"
        return "balanced: it needs weighted=True" if self.balanced and not self.weighted else ""

    def init(self, dimension: int) -> Lensed:
        """All hypotheses alike, no maps yet, ``raw_weight`` for the raw rows."""
        state: Lensed = mapped(np.array, self._blank(dimension))
        begin_core(self, state.raw.core)
        begin_classes(self, state.raw.classes)
        for e in range(LENSES):
            begin_core(self, entry_of(state.cores, e))
        state.omega[:] = (1.0 - self.raw_weight) / LENSES
        state.omega[0], state.naps[:, NEXT] = self.raw_weight, self.nap
        return state

    def _tracking(self) -> Tracking:
        """The rule of the raw rows."""
        given: dict[str, Any] = self._asdict()
        return Tracking(**{name: given[name] for name in Tracking._fields})

    def _blank(self, dimension: int) -> Lensed:
        """The shape of each array of the state."""
        return blank_lensed(self, self._tracking().blank(dimension))

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state."""
        return {name: part.shape for name, part in named(self._blank(dimension)).items()}

    def kinds(self, dimension: int) -> dict[str, Any]:
        """The type of the numbers in each array."""
        return {name: part.dtype for name, part in named(self._blank(dimension)).items()}

    def label_cost(self, dimension: int) -> float:
        """About how many microseconds a label takes, with all lenses awake.

        >>> round(Lenses().label_cost(50))
        65
        """
        dense = leaves(self._blank(dimension).cores.dense)
        numbers: int = sum(part.size for part in dense)
        return self._tracking().label_cost(dimension) + numbers / 2_000.0

    def margin(self, state: Lensed, x: Vector, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far views and hypotheses disagree about it.

        With more classes, the lead of the best class over the second.
        """
        return look(self, state, state.raw.classes, x, t)

    def probabilities(self, state: Lensed, x: Vector, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        chances(state, self, x, t, out, np.empty_like(out))

    def note(self, state: Lensed, x: Vector) -> None:
        """Count a row that is asked about, labeled or not."""
        asked(state, self, x)

    def update(self, state: Lensed, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Learn a label, -1 or +1; with more classes their numbers, from 1."""
        teach(state, self, x, y, t)

    def with_more_classes(self, state: Lensed, dimension: int) -> tuple[Lenses, Lensed]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = Lenses().with_more_classes(Lenses().init(3), dimension=3)
        >>> rule.classes, state.cores.dense.weights.shape
        (3, (4, 20, 3, 139))
        """
        larger = self._replace(classes=self.classes + 1)
        _, raw = self._tracking().with_more_classes(state.raw, dimension)
        blank = larger.init(dimension)
        after: Lensed = copied(state._replace(raw=raw, cores=blank.cores))
        for e in range(LENSES):
            core = more_classes(self, entry_of(state.cores, e), entry_of(blank.cores, e))
            for old, new in zip(leaves(core), leaves(entry_of(after.cores, e)), strict=True):
                new[...] = old
        if self.classes == 2:
            kept = state.notes[:, SAID].tolist()
            after.notes[:, SAID] = [coded(1.0 + (y > 0.0), noise_in(y)) for y in kept]
        return larger, after

    def widened(self, state: Lensed, dimension: int, known: int) -> Lensed:
        """The state for more features: the raw rows' as a Tracker's, and lenses that begin again.

        >>> Lenses().widened(Lenses().init(2), dimension=3, known=2).raw.core.means.size
        3
        """
        raw = self._tracking().widened(state.raw, dimension, known)
        return self.init(dimension)._replace(raw=raw)

    def is_due(self, state: Lensed) -> bool:
        """Whether it is time for :meth:`renewed`."""
        full = state.stage[EARLY] >= state.early.shape[0]
        return is_due(state.raw.counted) or bool(full and state.stage[STAGE] == COLLECTING)

    def renewed(self, state: Lensed) -> Lensed:
        """The state with its maps, in which the basis of wide raw rows has followed the rows."""
        if state.stage[STAGE] == COLLECTING and state.stage[EARLY] >= len(state.early):
            make_maps(self, state)
            state.stage[STAGE] = MADE
            state.early[:] = 0.0
        if is_due(state.raw.counted):
            renew_basis(state.raw.core, state.raw.counted)
        return state
