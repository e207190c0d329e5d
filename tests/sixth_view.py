"""A view with a level: what rows near in time have in common, whatever their features.

A row has one place more, u_l, and the weight of that place is an Ornstein-Uhlenbeck walk in rows,
which forgets half in 32 of them. With g rows since the newest label, r = 2^(-g/32)::

    ask:   u_l = 0.4 sqrt(r),  v = u'Pu + (1 - r) S 0.4^2
    tell:  w_l <- sqrt(r) w_l,  P_l. and P_.l <- sqrt(r) of themselves,  P_ll <- P_ll + (1 - r) S,
           then a step with u_l = 0.4

All else is the view of dense rows, with which it is mixed: without a level everything stays as it
is (:func:`lasec.rules.tracker.states.mix_says`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.contract import rule
from lasec.nested import mapped
from lasec.rules.tracker.core import (
    Core,
    begin_core,
    blank_core,
    core_chances,
    core_says,
    teach_core,
)
from lasec.rules.tracker.costs import count_label
from lasec.rules.tracker.dense import Dense, Sight, sight
from lasec.rules.tracker.hypotheses import prior_of
from lasec.rules.tracker.mixture import class_probabilities, follow, sign, weigh_views
from lasec.rules.tracker.seen import LATEST, ROWS, extra, notice
from lasec.rules.tracker.states import asked, chances, look, mix_chances, mix_says, teach
from lasec.rules.tracker.tracking import Beliefs, Tracking
from lasec.rules.tracker.views import learn, meet, restart, score
from lasec.types import ClassMargin, Matrix, Vector

LEVEL, LIFE = 0.4, 32.0


class Placed(NamedTuple):
    """A row with a level: its squared length, what is kept of the level, its place, and priors."""

    sight: Sight
    size: float
    keep: float
    place: int
    prior: Vector


class Level(NamedTuple):
    """Dense rows with a level."""

    dense: Dense

    def score(
        self, rule: Any, weight: Vector, bar: float, at: Placed, gap: int, m: NDArray[np.float64],
        v: Vector,
    ) -> None:  # fmt: skip
        """What the dense rows have, and the variance of what the level has become."""
        score(self.dense, rule, weight, bar, at.sight, gap, m, v)
        for i in range(weight.size):
            if weight[i] >= bar:
                v[i] += (1.0 - at.keep) * LEVEL * LEVEL * at.prior[i]

    def meet(self, i: int, at: Placed, fade: float, fresh: float, m: Vector) -> float:
        """The level forgets, and then it is a dense row."""
        dense, root, more = self.dense, math.sqrt(at.keep), (1.0 - at.keep) * at.prior[i]
        for c in range(dense.weights.shape[1]):
            dense.weights[i, c, at.place] *= root
        forget(dense.covs[i], at.sight.row.size, at.place, root, more)
        return meet(dense, i, at.sight, fade, fresh, m)

    def learn(
        self, i: int, at: Placed, fade: float, fresh: float, gain: Vector, shrink: float, v: float
    ) -> None:
        """As dense rows."""
        learn(self.dense, i, at.sight, fade, fresh, gain, shrink, v)

    def settle(self, rule: Any, at: Placed) -> None:
        """Nothing: each state has moved."""

    def restart(self, rule: Any, slot: int) -> None:
        """As dense rows."""
        restart(self.dense, rule, slot)


def forget(T: NDArray[np.float32], rows: int, j: int, root: float, more: float) -> None:
    """Row and column j of a matrix in strips <- root of themselves, and more on the diagonal."""
    strip = j // 4
    begin = 8 * strip * (strip + 1) + (j % 4) * 4 * (strip + 1)
    for b in range(4 * (strip + 1)):
        T[begin + b] *= root
    for a in range(4 * strip, rows):
        k = a // 4
        T[8 * k * (k + 1) + (a % 4) * 4 * (k + 1) + j] *= root
    T[begin + j] += more


def placed(rule: Any, core: Any, classes: Any, x: Vector, t: int, told: bool) -> Placed:
    """The row x of step t with its level, asked about or told."""
    at, place = sight(core, classes, x, t), x.size + extra(rule.classes)
    keep = 2.0 ** (-max(0, t - core.mixture.clock[LATEST]) / LIFE)
    level = LEVEL if told else LEVEL * math.sqrt(keep)
    u, row = at.u, at.row  # by a name: numba drops what is written into at.u as if nobody read it
    u[place] = level
    row[place] = level
    prior = np.empty(core.mixture.weight.size)
    for i in range(prior.size):
        prior[i] = prior_of(rule, i)
    size = at.size + level * level
    return Placed(Sight(u, row, size, at.g), size, keep, place, prior)


class Leveled(NamedTuple):
    """A Tracker of dense rows, and beside it one with a level."""

    raw: Beliefs
    level: Core
    omega: Vector

    @property
    def posterior(self) -> Any:
        return self.raw.posterior

    @property
    def born(self) -> Any:
        return self.raw.born

    @property
    def costs(self) -> Matrix:
        return self.raw.costs

    def validate(self) -> str:
        """Why these arrays are no such state."""
        return self.raw.validate()

    def says(self, rule: Any, x: Vector, t: int) -> ClassMargin:
        """What both say about a row of two classes."""
        return mix_says(self, rule, self.omega, x, t)

    def chances(self, rule: Any, x: Vector, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        mix_chances(self, rule, self.omega, x, t, mean, square)

    def view_says(self, rule: Any, e: int, x: Vector, t: int) -> ClassMargin:
        """What the one says, or the other."""
        raw, level = self.raw, self.level
        if e == 0:
            return core_says(rule, raw.core, raw.classes, x, t)
        core = Core(level.mixture, level.dense, level.basis, raw.core.means, raw.core.units)
        at = placed(rule, core, raw.classes, x, t, False)
        return sign(rule, level.mixture, Level(level.dense), at, t)

    def view_chances(
        self, rule: Any, e: int, x: Vector, t: int, mean: Vector, square: Vector
    ) -> None:
        """The same of many classes."""
        raw, level = self.raw, self.level
        if e == 0:
            core_chances(rule, raw.core, raw.classes, x, t, mean, square)
        else:
            core = Core(level.mixture, level.dense, level.basis, raw.core.means, raw.core.units)
            at = placed(rule, core, raw.classes, x, t, False)
            view = Level(level.dense)
            class_probabilities(rule, level.mixture, raw.classes, view, at, t, mean, square)

    def asked(self, rule: Any, x: Vector) -> None:
        """Count a row that is asked about."""
        asked(self.raw, rule, x)

    def teach(self, rule: Any, x: Vector, y: float, t: int) -> None:
        """Let both learn, and weigh them."""
        raw, level, classes = self.raw, self.level, self.raw.classes
        core = Core(level.mixture, level.dense, level.basis, raw.core.means, raw.core.units)
        at = placed(rule, core, classes, x, t, True)
        count_label(classes, y, raw.core.mixture.clock[ROWS])
        self.omega[0] *= teach_core(rule, raw.core, classes, x, y, t)
        self.omega[1] *= follow(rule, level.mixture, classes, Level(level.dense), at, y, t)
        weigh_views(self.omega, rule.share, np.zeros(2, np.int64))
        notice(raw.core, raw.counted, x)


@rule(probabilities=True, noise=True)
class Leveling(NamedTuple):
    """The Tracker, with a level beside it."""

    slots: int = 6
    patience: int = 6
    hazard: float = 2.0**-8
    drift: float = 0.0005
    prior: float = 1_000.0
    lapse: float = 0.3
    share: float = 0.002
    negligible: float = 0.03
    classes: int = 2
    block: int = -1
    weighted: bool = False
    balanced: bool = False
    tilt: float = 0.25
    level_slots: int = 2
    trust: float = 0.5

    def init(self, dimension: int) -> Leveled:
        """All hypotheses alike."""
        given = self._asdict()
        raw = Tracking(**{name: given[name] for name in Tracking._fields}).init(dimension)
        core: Core = mapped(np.array, blank_core(self, dimension, dimension + 1, self.level_slots))
        begin_core(self, core)
        return Leveled(raw, core, np.array([1.0 - self.trust, self.trust]))

    def margin(self, state: Leveled, x: Vector, t: int = 0) -> ClassMargin:
        return look(self, state, state.raw.classes, x, t)

    def probabilities(self, state: Leveled, x: Vector, t: int, out: Vector) -> None:
        chances(state, self, x, t, out, np.empty_like(out))

    def note(self, state: Leveled, x: Vector) -> None:
        asked(state, self, x)

    def update(self, state: Leveled, x: Vector, y: float, draw: float, t: int = 0) -> None:
        teach(state, self, x, y, t)
