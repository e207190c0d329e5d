"""What a Tracker with lenses knows: a core for the raw rows and one for each lens, and the maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.linalg import put
from lasec.nested import entry_of, mapped
from lasec.rules.tracker.beliefs import blank, first_flaw
from lasec.rules.tracker.core import Core, blank_core, core_chances, core_says, teach_core
from lasec.rules.tracker.costs import count_label
from lasec.rules.tracker.lens_maps import LENSES, Maps, blank_maps, lens_row, standardized
from lasec.rules.tracker.mixture import weigh_views
from lasec.rules.tracker.seen import ROWS, notice
from lasec.rules.tracker.states import asked, mix_chances, mix_says
from lasec.rules.tracker.tracking import Beliefs
from lasec.types import ClassMargin, Counter, Matrix, Vector

__all__ = ["keep_label", "keep_row", "replay", "teach_lenses", "weigh"]

SLEEPY, DROWSY, LONGEST = 0.01, 500, 16_000
# Places in ``stage``: where the lenses are, and how many rows and labels are kept.
STAGE, EARLY, KEPT = range(3)
COLLECTING, MADE, RUNNING = range(3)
# Places in ``naps``: labels below the bar in a row, labels left to sleep, the next sleep.
LOW, LEFT, NEXT = range(3)
# Places in ``notes``, of a label that is kept: the label, its step, and what it was given.
SAID, STEP, GIVEN = range(3)


class Row(NamedTuple):
    """A row as it came, and as the lenses' maps take it."""

    x: Vector
    z: NDArray[np.float32]


class Lensed(NamedTuple):
    """All that a Tracker with lenses knows.

    ``raw`` is the state of a Tracker of the raw rows, ``cores`` are those of the lenses, and
    ``maps`` what these see. ``omega`` is the weight of the raw rows and of each lens, ``naps`` says
    which lenses sleep. ``early`` holds the first rows, ``kept`` and ``notes`` the first labels,
    until the maps are made, and ``stage`` how many there are.

    >>> from lasec.rules import Lenses
    >>> state = Lenses().init(dimension=3)
    >>> state.omega.tolist(), state.cores.dense.weights.shape
    ([0.5, 0.125, 0.125, 0.125, 0.125], (4, 20, 1, 139))
    """

    raw: Beliefs
    cores: Core
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
        known = self.raw.core.means.size if self.stage[STAGE] != COLLECTING else None
        found = self.raw.validate() or first_flaw(
            (_no_weights(self.omega), "the weights of the lenses are no probability distribution"),
            (not _possible(self), "the lenses' counts contradict each other"),
            (not _in_columns(self.maps.pairs, known), "a pair names a column there is not"),
            (bool((self.cores.units < 0.0).any()), "a unit of a lens is negative"),
        )
        for e in range(LENSES):
            found = found or entry_of(self.cores, e).flaw(self.raw.classes.told.size)
        return found

    def says(self, rule: Any, x: Vector, t: int) -> ClassMargin:
        """What the raw rows and the lenses say about a row of two classes."""
        raw, omega = self.raw, self.omega
        if self.stage[STAGE] != RUNNING:
            return core_says(rule, raw.core, raw.classes, x, t)
        z = standardized(raw.core.means, raw.core.units, x)
        return mix_says(self, rule, omega, Row(x, z), t)

    def chances(self, rule: Any, x: Vector, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        raw, omega = self.raw, self.omega
        if self.stage[STAGE] != RUNNING:
            core_chances(rule, raw.core, raw.classes, x, t, mean, square)
        else:
            z = standardized(raw.core.means, raw.core.units, x)
            mix_chances(self, rule, omega, Row(x, z), t, mean, square)

    def view_says(self, rule: Any, e: int, at: Row, t: int) -> ClassMargin:
        """What the raw rows say (0), or a lens."""
        classes = self.raw.classes
        if e == 0:
            return core_says(rule, self.raw.core, classes, at.x, t)
        row = lens_row(self.maps, e - 1, at.z)
        return core_says(rule, entry_of(self.cores, e - 1), classes, row, t)

    def view_chances(
        self, rule: Any, e: int, at: Row, t: int, mean: Vector, square: Vector
    ) -> None:
        """The same of many classes."""
        classes = self.raw.classes
        if e == 0:
            core_chances(rule, self.raw.core, classes, at.x, t, mean, square)
        else:
            row = lens_row(self.maps, e - 1, at.z)
            core_chances(rule, entry_of(self.cores, e - 1), classes, row, t, mean, square)

    def asked(self, rule: Any, x: Vector) -> None:
        """Count a row, labeled or not; class shares are those that the raw rows lead to."""
        asked(self.raw, rule, x)
        keep_row(self.stage, self.early, x)

    def teach(self, rule: Any, x: Vector, y: float, t: int) -> None:
        """Let the raw rows' states learn, and the lenses, or keep the label for them."""
        raw = self.raw
        if raw.counted.tally[0] == 0.0:
            keep_row(self.stage, self.early, x)
        count_label(raw.classes, y, raw.core.mixture.clock[ROWS])
        likely = teach_core(rule, raw.core, raw.classes, x, y, t)
        if self.stage[STAGE] == RUNNING:
            teach_lenses(rule, self, x, y, t, likely)
        else:
            keep_label(self, x, y, t, likely)
        notice(raw.core, raw.counted, x)
        if self.stage[STAGE] == MADE:
            replay(rule, self)


def blank_lensed(rule: Any, raw: Beliefs) -> Lensed:
    """The shapes of a state, with those of the raw rows."""
    d, D = raw.core.means.size, rule.features
    core = blank_core(rule, d + D, rule.lens_block, rule.lens_slots)
    cores: Core = mapped(lambda part: blank(LENSES, *part.shape, kind=part.dtype), core)
    naps, stage = blank(LENSES, 3, kind=np.int64), blank(3, kind=np.int64)
    early, kept = blank(rule.warm_up, d), blank(rule.replayed, d)
    notes = blank(rule.replayed, 3)
    return Lensed(raw, cores, blank_maps(d, D), blank(1 + LENSES), naps, early, kept, notes, stage)


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


def teach_lenses(rule: Any, state: Any, x: Vector, y: float, t: int, likely: float) -> None:
    """Let the lenses that are awake learn a label, to which the raw rows gave ``likely``."""
    omega, naps, classes, raw = state.omega, state.naps, state.raw.classes, state.raw.core
    z = standardized(raw.means, raw.units, x)
    omega[0] *= likely
    for e in range(naps.shape[0]):
        if naps[e, LEFT] > 0:
            continue
        core, row = entry_of(state.cores, e), lens_row(state.maps, e, z)
        omega[1 + e] *= teach_core(rule, core, classes, row, y, t)
    weigh(rule, omega, naps)


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
        x, t = state.kept[number % room], int(note[STEP])
        teach_lenses(rule, state, x, note[SAID], t, note[GIVEN])
    state.kept[:] = 0.0
    state.notes[:] = 0.0
    state.stage[STAGE] = RUNNING


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
