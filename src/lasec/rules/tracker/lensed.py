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

__all__ = ["core_of"]

# Places in ``stage``: where the lenses are, and how many rows and labels are kept.
STAGE, EARLY, KEPT = range(3)
COLLECTING, MADE, RUNNING = range(3)
# Places in ``naps``: labels below the bar in a row, labels left to sleep, the next sleep.
LOW, LEFT, NEXT = range(3)
# Places in ``notes``, of a label that is kept: the label, its step, and what it was given.
SAID, STEP, GIVEN = range(3)
_SINGLE = (
    *(f"cores.{name}" for name in ("weights", "covs", "spread", "basis")),
    *(f"maps.{name}" for name in ("directions", "phases", "cuts")),
)
_WHOLE = ("cores.born", "cores.clock", "maps.pairs", "naps", "stage")


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


class Cores(NamedTuple):
    """The same for all lenses, with a first axis for them, but for what they share."""

    weights: NDArray[np.float32]
    covs: NDArray[np.float32]
    spread: NDArray[np.float32]
    basis: NDArray[np.float32]
    posterior: NDArray[np.float64]
    weight: Matrix
    lapse: Matrix
    means: Matrix
    units: Matrix
    born: Counter
    clock: Counter


class Lensed(NamedTuple):
    """All that a Tracker with lenses knows.

    ``raw`` is the state of a Tracker of the raw rows, ``cores`` are those of the lenses, and
    ``maps`` what these see. ``omega`` is the weight of the raw rows and of each lens, ``naps`` says
    which lenses sleep. ``early`` holds the first rows, ``kept`` and ``notes`` the first labels,
    until the maps are made, and ``stage`` how many there are.

    >>> from lasec.rules import Lenses
    >>> state = Lenses().init(dimension=3)
    >>> state.omega.tolist(), state.cores.weights.shape
    ([0.5, 0.125, 0.125, 0.125, 0.125], (4, 20, 1, 139))
    """

    raw: Beliefs
    cores: Cores
    maps: Maps
    omega: Vector
    naps: Counter
    early: Matrix
    kept: Matrix
    notes: Matrix
    stage: Counter

    @property
    def costs(self) -> Matrix:
        """The class weights, as the raw rows have them."""
        return self.raw.costs

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The posterior of the raw rows."""
        return self.raw.posterior

    @property
    def born(self) -> Counter:
        """When the concepts of the raw rows began."""
        return self.raw.born

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker with lenses, as a phrase; empty if they are.

        >>> from lasec.rules import Lenses
        >>> state = Lenses().init(dimension=1)
        >>> state.omega[0] = 2.0
        >>> state.validate()
        'the weights of the lenses are no probability distribution'
        """
        known = self.raw.means.size if self.stage[STAGE] != COLLECTING else None
        flaws = (
            (_no_weights(self.omega), "the weights of the lenses are no probability distribution"),
            (not _possible(self), "the lenses' counts contradict each other"),
            (not _in_columns(self.maps.pairs, known), "a pair names a column there is not"),
            ((self.cores.units < 0.0).any(), "a unit of a lens is negative"),
        )
        found = self.raw.validate() or next((text for wrong, text in flaws if wrong), "")
        for e in range(LENSES):
            found = found or lens_of(self, e).validate()
        return found


def core_of(state: Any, e: int) -> Core:
    """The state of lens ``e``, as views."""
    raw, all_ = state.raw, state.cores
    return Core(
        all_.weights[e], all_.covs[e], all_.spread[e], all_.basis[e], all_.posterior[e],
        all_.weight[e], all_.lapse[e], all_.means[e], all_.units[e], raw.told, raw.slopes,
        all_.born[e], all_.clock[e],
    )  # fmt: skip


def lens_of(state: Lensed, e: int) -> Beliefs:
    """The state of lens ``e`` as that of a Tracker; its scales are fixed, and not learned."""
    width = state.cores.means.shape[1]
    none = np.zeros((0, width), np.float32)
    return Beliefs(
        **core_of(state, e)._asdict(), energy=np.zeros(0), sample=none,
        sampled=np.zeros(2, np.int64), squares=np.zeros(width), tally=np.zeros(1),
        costs=np.zeros((0, 0)),
    )  # fmt: skip


def with_lens(state: Lensed, e: int, core: Beliefs) -> None:
    """The state of lens ``e`` <- that of a Tracker, in place."""
    for name, array in state.cores._asdict().items():
        array[e] = getattr(core, name)


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
    return {f"cores.{name}": (LENSES, *shape) for name, shape in cores.items()} | {
        "maps.directions": (2, D, dimension),
        "maps.phases": (2, D),
        "maps.pairs": (D, 4),
        "maps.cuts": (D,),
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
    cores, states = state.cores, state.cores.weight.shape[1]
    priors = np.array([prior_of(rule, i) for i in range(states)])
    for e in range(LENSES):
        np.fill_diagonal(cores.basis[e], 1.0)
        for i in range(states):
            triangle.set_diagonal(cores.covs[e, i], priors[i])
            cores.spread[e, i] = priors[i]
        first = cores.posterior[e, :, :, : len(SPEEDS)]
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


def _in_columns(pairs: Counter, dimension: int | None) -> bool:
    """Whether each entry of a pair is a column, once there are pairs."""
    size = np.abs(pairs)
    return dimension is None or bool(size.min() >= 1 and size.max() <= dimension)
