"""The state of the lenses' rule: a Tracker's for the raw rows, one core for each lens, the maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.beliefs import Beliefs
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS, marginals, prior_of
from lasec.rules.tracker.lens_maps import LENSES, Maps
from lasec.rules.tracker.seen import CLOCKS, extra
from lasec.types import Counter, Matrix, Vector

__all__ = ["core_of", "counted", "maps_of", "raw_core"]

RAW = len(Beliefs._fields)
# Places in ``stage``: where the lenses are, and how many rows and labels are kept.
STAGE, EARLY, KEPT = range(3)
COLLECTING, MADE, RUNNING = range(3)
# Places in ``naps``: labels below the bar in a row, labels left to sleep, the next sleep.
LOW, LEFT, NEXT = range(3)
# Places in ``notes``, of a label that is kept: the label, its step, and what it was given.
SAID, STEP, GIVEN = range(3)
_SINGLE = ("lens_weights", "lens_covs", "lens_spread", "lens_basis", "directions", "phases", "cuts")
_WHOLE = ("lens_born", "lens_clock", "pairs", "naps", "stage")


class Core(NamedTuple):
    """What :mod:`lasec.rules.tracker.tracking` needs of a state, for the rows of one lens."""

    weights: NDArray[Any]
    covs: NDArray[np.float32]
    spread: NDArray[np.float32]
    basis: NDArray[np.float32]
    posterior: NDArray[np.float64]
    weight: Vector
    lapse: Vector
    means: Vector
    units: Vector
    told: Counter
    slopes: Vector
    born: Counter
    clock: Counter


class Counted(NamedTuple):
    """What :mod:`lasec.rules.tracker.seen` needs of a state to count rows."""

    tally: Vector
    means: Vector
    squares: Vector
    units: Vector
    clock: Counter
    sample: NDArray[np.float32]
    sampled: Counter


class Lensed(NamedTuple):
    """All that a Tracker with lenses knows.

    The first arrays are those of :class:`~lasec.rules.tracker.beliefs.Beliefs`, for the raw rows;
    those named ``lens_`` are the same for each lens, with a first axis for them. ``directions``,
    ``phases``, ``pairs`` and ``cuts`` are the maps. ``omega`` is the weight of the raw rows and of
    each lens, ``naps`` says which lenses sleep. ``early`` holds the first rows, ``kept`` and
    ``notes`` the first labels, until the maps are made, and ``stage`` how many there are.

    >>> from lasec.rules import Lenses
    >>> state = Lenses().init(dimension=3)
    >>> state.omega.tolist(), state.lens_weights.shape
    ([0.5, 0.125, 0.125, 0.125, 0.125], (4, 20, 1, 139))
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
    lens_weights: NDArray[np.float32]
    lens_covs: NDArray[np.float32]
    lens_spread: NDArray[np.float32]
    lens_basis: NDArray[np.float32]
    lens_posterior: NDArray[np.float64]
    lens_weight: Matrix
    lens_lapse: Matrix
    lens_means: Matrix
    lens_units: Matrix
    lens_born: Counter
    lens_clock: Counter
    directions: NDArray[np.float32]
    phases: NDArray[np.float32]
    pairs: Counter
    cuts: NDArray[np.float32]
    omega: Vector
    naps: Counter
    early: Matrix
    kept: Matrix
    notes: Matrix
    stage: Counter

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker with lenses, as a phrase; empty if they are.

        >>> from lasec.rules import Lenses
        >>> state = Lenses().init(dimension=1)
        >>> state.omega[0] = 2.0
        >>> state.validate()
        'the weights of the lenses are no probability distribution'
        """
        d, stage = self.means.size, self.stage
        flaws = (
            (_no_weights(self.omega), "the weights of the lenses are no probability distribution"),
            (not _possible(self), "the lenses' counts contradict each other"),
            (not _in_columns(self.pairs, d, stage[STAGE]), "a pair names a column there is not"),
            ((self.lens_units < 0.0).any(), "a unit of a lens is negative"),
        )
        found = raw_of(self).validate() or next((text for wrong, text in flaws if wrong), "")
        for e in range(LENSES):
            found = found or lens_of(self, e).validate()
        return found


# Parts of a state, for functions that are called often: to hand on all arrays takes longer than
# what most of them do.


def counted(state: Any) -> Counted:
    """What counts the raw rows, as views."""
    return Counted(
        state.tally, state.means, state.squares, state.units, state.clock, state.sample,
        state.sampled,
    )  # fmt: skip


def maps_of(state: Any) -> Maps:
    """The maps, as views."""
    return Maps(state.directions, state.phases, state.pairs, state.cuts)


def raw_core(state: Any) -> Core:
    """The state of the raw rows, as views."""
    return Core(
        state.weights, state.covs, state.spread, state.basis, state.posterior, state.weight,
        state.lapse, state.means, state.units, state.told, state.slopes, state.born, state.clock,
    )  # fmt: skip


def core_of(state: Any, e: int) -> Core:
    """The state of lens ``e``, as views."""
    return Core(
        state.lens_weights[e], state.lens_covs[e], state.lens_spread[e], state.lens_basis[e],
        state.lens_posterior[e], state.lens_weight[e], state.lens_lapse[e], state.lens_means[e],
        state.lens_units[e], state.told, state.slopes, state.lens_born[e], state.lens_clock[e],
    )  # fmt: skip


def raw_of(state: Lensed) -> Beliefs:
    """The state of the raw rows, as views."""
    given: dict[str, Any] = state._asdict()
    return Beliefs(**{name: given[name] for name in Beliefs._fields})


def lens_of(state: Lensed, e: int) -> Beliefs:
    """The state of lens ``e`` as that of a Tracker; its scales are fixed, and not learned."""
    core, none = core_of(state, e)._asdict(), np.zeros((0, state.lens_means.shape[1]), np.float32)
    width = state.lens_means.shape[1]
    return Beliefs(
        **core, energy=np.zeros(0), sample=none, sampled=np.zeros(2, np.int64),
        squares=np.zeros(width), tally=np.zeros(1), costs=np.zeros((0, 0)),
    )  # fmt: skip


def with_lens(state: Lensed, e: int, core: Beliefs) -> None:
    """The state of lens ``e`` <- that of a Tracker, in place."""
    for name in Core._fields:
        if name not in ("told", "slopes"):
            getattr(state, f"lens_{name}")[e] = getattr(core, name)


def lens_shapes(rule: Any, dimension: int) -> dict[str, tuple[int, ...]]:
    """The shape of each array beside those of the raw rows."""
    k, width, D = rule.lens_block, dimension + rule.features, rule.features
    n, states = triangle.padded(k + extra(rule.classes)), rule.lens_slots * len(SPEEDS)
    cores: dict[str, tuple[int, ...]] = {
        "weights": (states, rule.classes if rule.classes > 2 else 1, n + width),
        "covs": (states, triangle.size(n)),
        "spread": (states, width),
        "basis": (k, width),
        "posterior": (len(HAZARDS), len(LAPSES), states),
        "weight": (states,),
        "lapse": (states,),
        "means": (width,),
        "units": (width + 1,),
        "born": (rule.lens_slots,),
        "clock": (CLOCKS,),
    }
    return {f"lens_{name}": (LENSES, *shape) for name, shape in cores.items()} | {
        "directions": (2, D, dimension),
        "phases": (2, D),
        "pairs": (D, 4),
        "cuts": (D,),
        "omega": (1 + LENSES,),
        "naps": (LENSES, 3),
        "early": (rule.warm_up, dimension),
        "kept": (rule.replayed, dimension),
        "notes": (rule.replayed, 3),
        "stage": (3,),
    }


def lens_kinds(shapes: dict[str, tuple[int, ...]]) -> dict[str, type]:
    """The type of the numbers in each of these arrays."""
    made: dict[str, type] = dict.fromkeys(shapes, np.float64)
    return made | dict.fromkeys(_SINGLE, np.float32) | dict.fromkeys(_WHOLE, np.int64)


def begin_lenses(rule: Any, state: Lensed) -> None:
    """All hypotheses of all lenses alike, no maps yet, half of the weight to the raw rows."""
    states = state.lens_weight.shape[1]
    priors = np.array([prior_of(rule, i) for i in range(states)])
    for e in range(LENSES):
        np.fill_diagonal(state.lens_basis[e], 1.0)
        for i in range(states):
            triangle.set_diagonal(state.lens_covs[e, i], priors[i])
            state.lens_spread[e, i] = priors[i]
        first = state.lens_posterior[e, :, :, : len(SPEEDS)]
        first[:] = 1.0 / first.size
        core = core_of(state, e)
        marginals(rule, core.posterior, core.weight, core.lapse)
    state.omega[:] = (1.0 - rule.raw_weight) / LENSES
    state.omega[0], state.naps[:, NEXT] = rule.raw_weight, rule.nap


def _no_weights(omega: Vector) -> bool:
    return bool((omega < 0.0).any() or abs(omega.sum() - 1.0) > 1e-9)


def _possible(state: Lensed) -> bool:
    """Whether the counts are within what there is room for."""
    stage, early, kept = state.stage
    return bool(
        COLLECTING <= stage <= RUNNING
        and 0 <= early <= len(state.early)
        and kept >= 0
        and state.naps.min() >= 0
    )


def _in_columns(pairs: Counter, dimension: int, stage: int) -> bool:
    """Whether each entry of a pair is a column, once there are pairs."""
    size = np.abs(pairs)
    return stage == COLLECTING or bool(size.min() >= 1 and size.max() <= dimension)
