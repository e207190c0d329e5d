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
from lasec.linalg import put
from lasec.nested import copied
from lasec.parameters import Positive, Range, Share, checked
from lasec.rules.tracker.answers import coded, noise_in
from lasec.rules.tracker.costs import count_label, weigh_sign
from lasec.rules.tracker.dense import dense_of, sight
from lasec.rules.tracker.enlarging import more_classes, more_features
from lasec.rules.tracker.lens_maps import LENSES, Maps, lens_row, make_maps, standardized
from lasec.rules.tracker.lensed import (
    COLLECTING,
    EARLY,
    GIVEN,
    KEPT,
    LEFT,
    LOW,
    MADE,
    NEXT,
    RUNNING,
    SAID,
    STAGE,
    STEP,
    Cores,
    Lensed,
    begin_lenses,
    core_of,
    lens_kinds,
    lens_of,
    lens_shapes,
    with_lens,
)
from lasec.rules.tracker.mixture import (
    best_of,
    divide,
    follow,
    lead_of,
    mixture_of,
    weigh_views,
)
from lasec.rules.tracker.seen import ROWS, count_row, notice
from lasec.rules.tracker.softmax import add
from lasec.rules.tracker.subspace import is_due, renew_basis
from lasec.rules.tracker.tracking import Tracking, count_classes, view_classes, view_sign
from lasec.types import ClassMargin, Counter, Matrix, Vector

__all__ = [
    "Lenses", "keep_label", "keep_row", "mix_classes", "mix_signs", "replay", "teach",
    "teach_core", "weigh",
]  # fmt: skip

SLEEPY, DROWSY, LONGEST = 0.01, 500, 16_000


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
        """A Tracker's first state, and lenses without maps."""
        shapes = lens_shapes(self, dimension)
        kinds = lens_kinds(shapes)
        made: dict[str, Any] = {n: np.zeros(shape, kinds[n]) for n, shape in shapes.items()}
        cores = Cores(*(made.pop(f"cores.{name}") for name in Cores._fields))
        maps = Maps(*(made.pop(f"maps.{name}") for name in Maps._fields))
        state = Lensed(self._tracking().init(dimension), cores, maps, **made)
        begin_lenses(self, state)
        return state

    def _tracking(self) -> Tracking:
        """The rule of the raw rows."""
        given: dict[str, Any] = self._asdict()
        return Tracking(**{name: given[name] for name in Tracking._fields})

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state."""
        raw = self._tracking().shapes(dimension)
        return {f"raw.{name}": raw[name] for name in raw} | lens_shapes(self, dimension)

    def kinds(self, dimension: int) -> dict[str, type]:
        """The type of the numbers in each array."""
        raw = self._tracking().kinds(dimension)
        rest = lens_kinds(lens_shapes(self, dimension))
        return {f"raw.{name}": raw[name] for name in raw} | rest

    def label_cost(self, dimension: int) -> float:
        """About how many microseconds a label takes, with all lenses awake.

        >>> round(Lenses().label_cost(50))
        65
        """
        shapes = lens_shapes(self, dimension)
        large = (shapes[f"cores.{name}"] for name in ("weights", "covs", "spread"))
        numbers = sum(float(np.prod(shape)) for shape in large)
        return self._tracking().label_cost(dimension) + numbers / 2_000.0

    def margin(self, state: Lensed, x: Vector, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far views and hypotheses disagree about it.

        With more classes, the lead of the best class over the second.
        """
        told, costs = state.raw.told, state.raw.costs
        if told.size:
            mean, square = np.empty(told.size), np.empty(told.size)
            mix_classes(self, state, x, t, mean, square)
            return best_of(self, costs, mean, square)
        seen = mix_signs(self, state, x, t)
        return weigh_sign(self, costs, seen) if costs.size else seen

    def note(self, state: Lensed, x: Vector) -> None:
        """Count a row that is asked about, labeled or not."""
        if self.balanced and state.raw.costs.size:
            count_classes(self, state.raw, x)
        count_row(state.raw, x)
        keep_row(state.stage, state.early, x)

    def probabilities(self, state: Lensed, x: Vector, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        mix_classes(self, state, x, t, out, np.empty_like(out))

    def update(self, state: Lensed, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Let the raw rows' states learn, and the lenses, or keep the label for them."""
        raw = state.raw
        if raw.tally[0] == 0.0:
            keep_row(state.stage, state.early, x)
        count_label(raw, y, raw.clock[ROWS])
        likely = teach_core(self, raw, x, y, t)
        if state.stage[STAGE] == RUNNING:
            teach(self, state, x, y, t, likely)
        else:
            keep_label(state, x, y, t, likely)
        notice(raw, x)
        if state.stage[STAGE] == MADE:
            replay(self, state)

    def with_more_classes(self, state: Lensed, dimension: int) -> tuple[Lenses, Lensed]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = Lenses().with_more_classes(Lenses().init(3), dimension=3)
        >>> rule.classes, state.cores.weights.shape
        (3, (4, 20, 3, 139))
        """
        larger = self._replace(classes=self.classes + 1)
        blank = larger.init(dimension)
        raw = more_classes(self, state.raw, blank.raw)
        after: Lensed = copied(state._replace(raw=raw, cores=blank.cores))
        for e in range(LENSES):
            with_lens(after, e, more_classes(self, lens_of(state, e), lens_of(blank, e)))
        if self.classes == 2:
            kept = state.notes[:, SAID].tolist()
            after.notes[:, SAID] = [coded(1.0 + (y > 0.0), noise_in(y)) for y in kept]
        return larger, after

    def widened(self, state: Lensed, dimension: int, known: int) -> Lensed:
        """The state for more features: the raw rows' as a Tracker's, and lenses that begin again.

        >>> Lenses().widened(Lenses().init(2), dimension=3, known=2).raw.means.size
        3
        """
        raw = more_features(self._tracking(), state.raw, dimension, known)
        return self.init(dimension)._replace(raw=raw)

    def is_due(self, state: Lensed) -> bool:
        """Whether it is time for :meth:`renewed`."""
        full = state.stage[EARLY] >= state.early.shape[0]
        return is_due(state.raw) or bool(full and state.stage[STAGE] == COLLECTING)

    def renewed(self, state: Lensed) -> Lensed:
        """The state with its maps, in which the basis of wide raw rows has followed the rows."""
        if state.stage[STAGE] == COLLECTING and state.stage[EARLY] >= len(state.early):
            make_maps(self, state)
            state.stage[STAGE] = MADE
            state.early[:] = 0.0
        if is_due(state.raw):
            renew_basis(state.raw)
        return state


def mix_signs(rule: Any, state: Any, x: Vector, t: int) -> ClassMargin:
    """What the raw rows and the lenses say about a row of two classes."""
    omega, raw, maps = state.omega, state.raw, state.maps
    if state.stage[STAGE] != RUNNING:
        return view_sign(rule, raw, x, t)
    bar, z = min(rule.negligible, omega.max()), standardized(raw.means, raw.units, x)
    total, first, second = 0.0, 0.0, 0.0
    for e in range(omega.size):
        if omega[e] < bar:
            continue
        if e == 0:
            seen = view_sign(rule, raw, x, t)
        else:
            core = core_of(state, e - 1)
            seen = view_sign(rule, core, lens_row(maps, e - 1, z), t)
        total += omega[e]
        first += omega[e] * seen.raw
        second += omega[e] * (seen.variance + seen.raw * seen.raw)
    return lead_of(total, first, second)


def mix_classes(rule: Any, state: Any, x: Vector, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each class, and the mean of the states' squared ones."""
    omega, raw, maps = state.omega, state.raw, state.maps
    if state.stage[STAGE] != RUNNING:
        view_classes(rule, raw, x, t, mean, square)
        return
    bar, z = min(rule.negligible, omega.max()), standardized(raw.means, raw.units, x)
    p, q, total = np.empty_like(mean), np.empty_like(mean), 0.0
    for c in range(mean.size):
        mean[c] = square[c] = 0.0
    for e in range(omega.size):
        if omega[e] < bar:
            continue
        if e == 0:
            view_classes(rule, raw, x, t, p, q)
        else:
            core = core_of(state, e - 1)
            view_classes(rule, core, lens_row(maps, e - 1, z), t, p, q)
        total += omega[e]
        add(mean, omega[e], p)
        add(square, omega[e], q)
    divide(mean, square, total)


def keep_row(stage: Counter, early: Matrix, x: Vector) -> None:
    """Keep one of the first rows for the maps."""
    if stage[STAGE] == COLLECTING and stage[EARLY] < early.shape[0]:
        put(early[stage[EARLY]], x)
        stage[EARLY] += 1


def keep_label(state: Any, x: Vector, y: float, t: int, likely: float) -> None:
    """Keep a label, with the probability that the raw rows gave to it; the oldest goes first."""
    place = state.stage[KEPT] % state.kept.shape[0]
    put(state.kept[place], x)
    note = state.notes[place]
    note[SAID], note[STEP], note[GIVEN] = y, t, likely
    state.stage[KEPT] += 1


def teach(rule: Any, state: Any, x: Vector, y: float, t: int, likely: float) -> None:
    """Let the lenses that are awake learn a label, to which the raw rows gave ``likely``."""
    omega, naps, maps = state.omega, state.naps, state.maps
    z = standardized(state.raw.means, state.raw.units, x)
    omega[0] *= likely
    for e in range(naps.shape[0]):
        if naps[e, LEFT] > 0:
            continue
        core = core_of(state, e)
        omega[1 + e] *= teach_core(rule, core, lens_row(maps, e, z), y, t)
    weigh(rule, omega, naps)


def teach_core(rule: Any, core: Any, x: Vector, y: float, t: int) -> float:
    """Let one view learn a label; gives the probability that it gave to it."""
    at = sight(core, x, t)
    return follow(rule, mixture_of(core), dense_of(core), at, y, t)


def weigh(rule: Any, omega: Vector, naps: Any) -> None:
    """The weights add up to one, a share is spread evenly, and lenses fall asleep or wake."""
    asleep = np.zeros(omega.size, np.int64)
    for e in range(naps.shape[0]):
        asleep[1 + e] = naps[e, LEFT]
    weigh_views(omega, rule.lens_share, asleep)
    for e in range(naps.shape[0]):
        if naps[e, LEFT] > 0:
            naps[e, LEFT] -= 1
            if naps[e, LEFT] == 0:
                omega[1 + e] = rule.lens_share / omega.size
            continue
        naps[e, LOW] = naps[e, LOW] + 1 if omega[1 + e] < SLEEPY else 0
        if naps[e, LOW] >= DROWSY:
            omega[1 + e], naps[e, LOW], naps[e, LEFT] = 0.0, 0, naps[e, NEXT]
            naps[e, NEXT] = min(2 * naps[e, NEXT], LONGEST)
    total = omega.sum()
    for e in range(omega.size):
        omega[e] /= total


def replay(rule: Any, state: Any) -> None:
    """Let the lenses learn the labels that were kept, in their order."""
    count, room = state.stage[KEPT], state.kept.shape[0]
    for number in range(max(0, count - room), count):
        note = state.notes[number % room]
        teach(rule, state, state.kept[number % room], note[SAID], int(note[STEP]), note[GIVEN])
    state.kept[:] = 0.0
    state.notes[:] = 0.0
    state.stage[STAGE] = RUNNING
