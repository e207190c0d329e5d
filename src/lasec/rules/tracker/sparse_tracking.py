"""The Tracker's rule for sparse rows: the same mixture, with a variance for each weight.

Hypotheses, their posterior, drift, births and noise are those of
:mod:`lasec.rules.tracker.tracking`. Two things are not: a state keeps the variances of its weights
and no covariances (:mod:`lasec.rules.tracker.words`), which on hashed words loses nothing, and rows
are weighed, not centered (:mod:`lasec.rules.tracker.weighing`). The state grows with the columns
that occur (:mod:`lasec.rules.tracker.columns`). Where the first ``dense`` columns are numbers
rather than words, they have a full covariance of their own, in the same filter
(:mod:`lasec.rules.tracker.joint`), which is mixed with a Tracker that sees them alone
(:mod:`lasec.rules.tracker.alone`).

Approximations while asking: states of less than ``negligible`` weight are left out.
A label that comes late is learned as if its row had come with the newest label known.

Cost: O(5 slots n) a row of n non-zeros, asked or told; 56 bytes for a column that occurred, and
80 bytes times ``slots`` (with K > 2 classes, 40 (1 + K)) for one that occurred in a labeled row.
Dense columns add what they cost the Tracker.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.parameters import NonNegative, Positive, Range, Share, checked
from lasec.rules.tracker.alone import ALONE, JOINT, alone_of, first_alone
from lasec.rules.tracker.columns import FIELDS, PLACE, PLACES, admit, grown, has_room
from lasec.rules.tracker.costs import (
    count_label,
    count_said,
    count_sign,
    first_costs,
    weigh_sign,
    with_class,
)
from lasec.rules.tracker.dense import dense_of, sight
from lasec.rules.tracker.enlarging import more_classes
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS, marginals
from lasec.rules.tracker.joint import (
    as_beliefs,
    first_arrays,
    joint_glance,
    joint_lesson,
    joint_of,
    later_words,
    numbers_in,
    scale_of,
)
from lasec.rules.tracker.mixture import (
    best_of,
    class_probabilities,
    divide,
    follow,
    lead_of,
    mixture_of,
    sign,
    weigh_views,
)
from lasec.rules.tracker.seen import LABEL, LATEST, count_row, notice
from lasec.rules.tracker.softmax import add, slopes
from lasec.rules.tracker.sparse_beliefs import MixedBeliefs, SparseBeliefs, grown_shapes
from lasec.rules.tracker.tracking import view_classes, view_sign
from lasec.rules.tracker.views import restart
from lasec.rules.tracker.weighing import COUNT, LABELS, count_words, fixed_places, settle_rows
from lasec.rules.tracker.words import LABEL_NUMBER, glance, lesson, words_of
from lasec.types import ClassMargin, Vector

__all__ = [
    "SparseTracking", "count_alone", "count_sparse", "learn_alone", "mixed_classes", "mixed_sign",
    "plain_classes", "plain_sign",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)
_FIRST = 64  # places, and half the slots of the first table


@checked
@rule(sparse=True, probabilities=True, noise=True)
class SparseTracking(NamedTuple):
    """The Tracker for sparse rows, such as texts: a mixture over changes, drift and label noise.

    A :class:`~lasec.Tracker` uses it where its first row is sparse. ``rarity``, ``level`` and
    ``length`` say how rows are weighed (:mod:`lasec.rules.tracker.weighing`), and ``step`` how much
    further than by the filter some of the states move with a label
    (:mod:`lasec.rules.tracker.words`). The first ``dense`` columns are no words but numbers, as
    dense rows have them, and ``beside`` words they are so long (:mod:`lasec.rules.tracker.joint`).
    The other settings are those of :class:`~lasec.rules.Tracking`.

    >>> import lasec
    >>> from scipy.sparse import csr_array
    >>> X = csr_array(np.tile(np.eye(4), (50, 1)))
    >>> y = np.tile([1, -1, 1, -1], 50)
    >>> learner = lasec.Learner(SparseTracking(), dimension=4, learn_from="labels")
    >>> learner.run(X, y)
    Records(rows=200, accuracy=0.990, labels=200, rate=1.000)
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
    rarity: Annotated[float, Range(0.0, 4.0)] = 0.5
    level: Annotated[float, Range(0.0, 1.0)] = 0.5
    length: NonNegative = 0.1
    dense: Annotated[int, Range(0, 10_000)] = 0
    beside: Annotated[float, Range(0.0, 1.0)] = 0.125
    step: Annotated[float, Range(1.0, 100.0)] = 4.0
    weighted: bool = False
    balanced: bool = False
    tilt: Annotated[float, Range(0.0, 1.0)] = 0.25

    def validate(self) -> str:
        """Shares are only kept where classes have weights."""
        return "balanced: it needs weighted=True" if self.balanced and not self.weighted else ""

    def init(self, dimension: int) -> SparseBeliefs:
        """No column seen, one slot in use, all hypotheses alike."""
        many, states = self.classes > 2, self.slots * len(SPEEDS)
        fixed = fixed_places(self.classes)
        places = _FIRST * -(-fixed // _FIRST)
        kind = MixedBeliefs if self.dense else SparseBeliefs
        state = kind(
            table=np.full(2 * places, -1, dtype=np.int64),
            entries=np.zeros((places, FIELDS), dtype=np.int64),
            used=np.array([0, fixed, 0]),
            weights=np.zeros((places, states, self.classes if many else 1)),
            spread=np.zeros((places, states)),
            touched=np.zeros((places, 2), dtype=np.int64),
            posterior=np.zeros((len(HAZARDS), len(LAPSES), states)),
            weight=np.zeros(states),
            lapse=np.zeros(states),
            told=np.zeros(self.classes if many else 0, dtype=np.int64),
            slopes=slopes(self.classes).copy() if many else np.zeros(0),
            born=np.zeros(self.slots, dtype=np.int64),
            begun=np.zeros(self.slots, dtype=np.int64),
            clock=np.zeros(LABELS + 1, dtype=np.int64),
            rows=np.zeros(4),
            tally=np.zeros(4),
            costs=first_costs(self.classes) if self.weighted else np.zeros((0, 0)),
            **first_arrays(self.dense, self.classes, states),
            **first_alone(self),
        )
        for slot in range(self.slots if self.dense else 0):
            restart(joint_of(state).dense, self, slot)
        state.touched[:, LABEL_NUMBER] = -1
        first = state.posterior[:, :, : len(SPEEDS)]
        first[:] = 1.0 / first.size
        marginals(self, state.posterior, state.weight, state.lapse)
        return state

    def margin(self, state: SparseBeliefs, x: Any, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far the hypotheses disagree about that.

        With more classes, the lead of the best class over the second.
        """
        if state.told.size:
            mean, square = np.empty(state.told.size), np.empty(state.told.size)
            sparse_classes(self, state, x, t, mean, square)
            return best_of(self, state.costs, mean, square)
        seen = sparse_sign(self, state, x, t)
        return weigh_sign(self, state.costs, seen) if state.costs.size else seen

    def probabilities(self, state: SparseBeliefs, x: Any, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        sparse_classes(self, state, x, t, out, np.empty_like(out))

    def note(self, state: SparseBeliefs, x: Any) -> None:
        """Count a row that is asked about and its columns, which must have been admitted."""
        if self.balanced and state.costs.size:
            count_sparse(self, state, x)
        count_words(state, words_in(self, state, x))
        count_numbers(self, state, x)

    def update(self, state: SparseBeliefs, x: Any, y: float, draw: float, t: int = 0) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have.

        The label is -1 or +1; with more classes their numbers, from 1. The columns of the row must
        have been admitted.
        """
        at = lesson_of(self, state, x, t)
        count_label(state, y, int(state.rows[COUNT]))
        settle_rows(state, words_in(self, state, x))
        likely = follow(self, mixture_of(state), view_of(state), at, y, t)
        learn_numbers(self, state, x, y, t, likely)

    def admit(self, state: SparseBeliefs, x: Any) -> bool:
        """Give the columns of a row their entries; False if the state must grow first."""
        return admit(state, words_in(self, state, x)["column"])

    def is_due(self, state: SparseBeliefs) -> bool:
        """Whether the state must grow before the next row."""
        return not has_room(state)

    def renewed(self, state: SparseBeliefs) -> SparseBeliefs:
        """The same state with room for another row."""
        larger: SparseBeliefs = grown(state)
        return larger

    def grown_shapes(self, dimension: int, arrays: Any) -> dict[str, tuple[int, ...]]:
        """The shapes of a state that has grown to the size of these arrays."""
        blank = self.init(1)
        return grown_shapes({name: getattr(blank, name).shape for name in blank._fields}, arrays)

    def with_more_classes(
        self, state: SparseBeliefs, dimension: int
    ) -> tuple[SparseTracking, SparseBeliefs]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = SparseTracking().with_more_classes(SparseTracking().init(3), dimension=3)
        >>> rule.classes, state.weights.shape, state.used.tolist()
        (3, (66, 30, 3), [0, 5, 0])
        """
        larger = self._replace(classes=self.classes + 1)
        return larger, _with_class(self, state, larger.init(dimension))


def plain_sign(rule: Any, state: Any, x: Any, t: int) -> ClassMargin:
    """What is said about a row of two classes, by the mixture over words or over the joint view."""
    return sign(rule, mixture_of(state), view_of(state), glance_of(rule, state, x, t), t)


def plain_classes(rule: Any, state: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    at, view = glance_of(rule, state, x, t), view_of(state)
    class_probabilities(rule, mixture_of(state), view, at, t, mean, square)


def mixed_sign(rule: Any, state: Any, x: Any, t: int) -> ClassMargin:
    """The same by the joint view and by the dense columns alone, those that are trusted."""
    trust, core = state.trust, alone_of(state)
    bar, total, first, second = min(rule.negligible, trust.max()), 0.0, 0.0, 0.0
    for e in range(trust.size):
        if trust[e] >= bar:
            if e == JOINT:
                seen = plain_sign(rule, state, x, t)
            else:
                seen = view_sign(rule, core, numbers_in(rule, x), t)
            total += trust[e]
            first += trust[e] * seen.raw
            second += trust[e] * (seen.variance + seen.raw * seen.raw)
    return lead_of(total, first, second)


def mixed_classes(rule: Any, state: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """The same by the joint view and by the dense columns alone, those that are trusted."""
    trust, core = state.trust, alone_of(state)
    p, q, total = np.empty_like(mean), np.empty_like(mean), 0.0
    bar = min(rule.negligible, trust.max())
    for c in range(mean.size):
        mean[c] = square[c] = 0.0
    for e in range(trust.size):
        if trust[e] >= bar:
            if e == JOINT:
                plain_classes(rule, state, x, t, p, q)
            else:
                view_classes(rule, core, numbers_in(rule, x), t, p, q)
            total += trust[e]
            add(mean, trust[e], p)
            add(square, trust[e], q)
    divide(mean, square, total)


def learn_alone(rule: Any, state: Any, x: Any, y: float, t: int, likely: float) -> None:
    """Let the Tracker of the dense columns learn, and weigh it against what was ``likely`` jointly.

    Then let the columns' units learn from the row.
    """
    core, numbers = alone_of(state), numbers_in(rule, x)
    at = sight(core, numbers, t)
    alone = follow(rule, mixture_of(core), dense_of(core), at, y, t)
    state.trust[JOINT] *= likely
    state.trust[ALONE] *= alone
    weigh_views(state.trust, rule.share, np.zeros(2, np.int64))
    notice(scale_of(state), numbers)


def count_alone(rule: Any, state: Any, x: Any) -> None:
    """Count the dense columns of a row that is asked about."""
    count_row(scale_of(state), numbers_in(rule, x))


def count_sparse(rule: Any, state: Any, x: Any) -> None:
    """Add the probability of each class of a row that is asked about to those of the others."""
    t = state.clock[LATEST] + int(state.tally[COUNT]) + 1
    if state.told.size:
        mean, square = np.empty(state.told.size), np.empty(state.told.size)
        sparse_classes(rule, state, x, t, mean, square)
        count_said(state.costs, mean)
    else:
        count_sign(state.costs, sparse_sign(rule, state, x, t).raw)


# What depends on whether some columns are dense: compiled code is made for the one or the other.


def _mixed(state: Any) -> bool:
    return isinstance(state, MixedBeliefs)


def view_of(state: Any) -> Any:
    """The view of a state's rows."""
    return joint_of(state) if _mixed(state) else words_of(state)


def glance_of(rule: Any, state: Any, x: Any, t: int) -> Any:
    """The row x of step t as the view sees it."""
    return (joint_glance if _mixed(state) else glance)(rule, state, x, t)


def lesson_of(rule: Any, state: Any, x: Any, t: int) -> Any:
    """The labeled row x of step t as the view sees it."""
    return (joint_lesson if _mixed(state) else lesson)(rule, state, x, t)


def words_in(rule: Any, state: Any, x: Any) -> Any:
    """The pairs of a row that are words."""
    return later_words(rule, state, x) if _mixed(state) else x


def sparse_sign(rule: Any, state: Any, x: Any, t: int) -> ClassMargin:
    """What is said about a row of two classes."""
    return (mixed_sign if _mixed(state) else plain_sign)(rule, state, x, t)


def sparse_classes(rule: Any, state: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    (mixed_classes if _mixed(state) else plain_classes)(rule, state, x, t, mean, square)


def count_numbers(rule: Any, state: Any, x: Any) -> None:
    """Count the dense columns of a row that is asked about, if there are any."""
    if _mixed(state):
        count_alone(rule, state, x)


def learn_numbers(rule: Any, state: Any, x: Any, y: float, t: int, likely: float) -> None:
    """Learn from the dense columns of a labeled row, if there are any."""
    if _mixed(state):
        learn_alone(rule, state, x, y, t, likely)


_CARRIED = (
    "table",
    "used",
    "posterior",
    "weight",
    "lapse",
    "born",
    "begun",
    "clock",
    "rows",
    "tally",
    "means",
    "squares",
    "units",
    "sums",
    "alone_posterior",
    "alone_weight",
    "alone_lapse",
    "alone_born",
    "trust",
)


def _with_class(rule: SparseTracking, state: SparseBeliefs, blank: SparseBeliefs) -> SparseBeliefs:
    """The state with one more class: its own place for the last label, and weights of zero.

    As :mod:`lasec.rules.tracker.enlarging` has it: two classes have one weight for +1 less -1, the
    first two of three have it over the root of 2, with both signs; the sign of the last label
    becomes two places.
    """
    fixed, more = fixed_places(rule.classes), fixed_places(rule.classes + 1)
    old = np.r_[:fixed, [-1] * (more - fixed), fixed : len(state.spread)]
    sign = np.ones(len(old))
    if rule.classes == 2:
        old[2:5], sign[2] = (2, 2, -1), -1.0
    new = old < 0
    w = sign[:, None, None] * state.weights[old]
    w = np.concatenate([-_ROOT_HALF * w, _ROOT_HALF * w], axis=2) if rule.classes == 2 else w
    weights = np.concatenate([w, np.zeros((*w.shape[:2], 1))], axis=2)
    weights[new], spread, touched = 0.0, state.spread[old], state.touched[old]
    spread[new], touched[new] = 0.0, (0, -1)
    entries = state.entries.copy()
    entries[entries[:, PLACE] >= fixed, PLACE] += more - fixed
    after = blank._replace(
        weights=weights, spread=spread, touched=touched, entries=entries,
        **{name: getattr(state, name).copy() for name in _CARRIED},
    )  # fmt: skip
    after.used[PLACES] += more - fixed
    if rule.dense:
        dense = more_classes(rule, as_beliefs(state), as_beliefs(blank))
        alone = more_classes(rule, as_beliefs(state, "alone"), as_beliefs(blank, "alone"))
        after.head[:], after.covs[:] = dense.weights, dense.covs
        after.alone[:], after.alone_covs[:] = alone.weights, alone.covs
        after.alone_clock[:] = alone.clock
    if state.costs.size:
        after.costs[:] = with_class(state.costs)
    if rule.classes == 2:
        after.told[:2] = 1
        after.clock[LABEL] = {-1: 1, 0: 0, 1: 2}[int(state.clock[LABEL])]
    else:
        after.told[:-1] = state.told
    return after
