"""The Tracker's rule for sparse rows: the same mixture, with a variance for each weight.

Hypotheses, their posterior, drift, births and noise are those of :mod:`lasec.rules.tracking`. Two
things are not: a state keeps the variances of its weights and no covariances
(:mod:`lasec.rules.diagonal`), which on hashed words loses nothing, and rows are weighed, not
centered (:mod:`lasec.rules.weighing`). The state grows with the columns that occur
(:mod:`lasec.rules.columns`). Where the first ``dense`` columns are numbers rather than words, they
have a full covariance of their own, in the same filter (:mod:`lasec.rules.head`), which is mixed
with a Tracker that sees them alone (:mod:`lasec.rules.alone`).

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
from numpy.typing import NDArray

from lasec import triangle
from lasec.parameters import NonNegative, Positive, Range, Share, checked
from lasec.rules.alone import alone_of, first_alone, mixed_sign, trusted, weigh_trust
from lasec.rules.columns import FIELDS, PLACE, PLACES, admit, grown, has_room
from lasec.rules.costs import (
    add_shares,
    first_costs,
    weigh_classes,
    weigh_sign,
    with_class,
)
from lasec.rules.diagonal import (
    LABEL_NUMBER,
    absorb,
    glance,
    heavy_states,
    look_up,
    step_of,
    take_places,
    touch,
)
from lasec.rules.enlarging import more_classes
from lasec.rules.filtering import narrowed, sight
from lasec.rules.head import (
    Head,
    as_beliefs,
    count_numbers,
    first_arrays,
    head_of,
    learn_head,
    look_at_head,
    meet_head,
    restart_head,
    scale_of,
    words_after,
)
from lasec.rules.hypotheses import (
    HAZARDS,
    LAPSES,
    SPEEDS,
    marginals,
    mix_speeds,
    normalize,
    prior_of,
    reborn,
    reweigh,
    speed_of,
    weakest,
)
from lasec.rules.probit import chance, filtered
from lasec.rules.seen import BIRTH, LABEL, LATEST, SINCE, notice
from lasec.rules.softmax import (
    add,
    classes_known,
    gains,
    largest,
    leading,
    likelihood_of,
    slopes,
    soften,
)
from lasec.rules.sparse_beliefs import MixedBeliefs, SparseBeliefs, grown_shapes
from lasec.rules.tracking import class_probabilities, follow, sign
from lasec.rules.weighing import COUNT, LABELS, count_words, fixed_places, settle_rows
from lasec.types import ClassMargin, Vector, facts

__all__ = [
    "SparseTracking", "count_sparse", "filter_all", "filter_one", "joint_classes", "joint_sign",
    "look", "restart_weakest",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)
_FIRST = 64  # places, and half the slots of the first table


@checked
@facts(is_sparse=True, depends_on_time=True, has_probabilities=True)
class SparseTracking(NamedTuple):
    """The Tracker for sparse rows, such as texts: a mixture over changes, drift and label noise.

    A :class:`~lasec.Tracker` uses it where its first row is sparse. ``rarity``, ``level`` and
    ``length`` say how rows are weighed (:mod:`lasec.rules.weighing`), and ``step`` how much further
    than by the filter some of the states move with a label (:mod:`lasec.rules.diagonal`). The first
    ``dense`` columns are no words but numbers, as dense rows have them, and ``beside`` words they
    are so long (:mod:`lasec.rules.head`). The other settings are those of
    :class:`~lasec.rules.Tracking`.

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
            restart_head(self, state, slot)
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
            if state.costs.size:
                return weigh_classes(self, state.costs, mean, square)
            return leading(mean, square)
        seen = sparse_sign(self, state, x, t)
        return weigh_sign(self, state.costs, seen) if state.costs.size else seen

    def probabilities(self, state: SparseBeliefs, x: Any, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        sparse_classes(self, state, x, t, out, np.empty_like(out))

    def note(self, state: SparseBeliefs, x: Any) -> None:
        """Count a row that is asked about and its columns, which must have been admitted."""
        if self.balanced and state.costs.size:
            count_sparse(self, state, x)
        numbers = np.zeros(self.dense)
        count_words(state, words_after(self.dense, x, numbers))
        if numbers.size > 0:
            count_numbers(state, numbers)

    def update(self, state: SparseBeliefs, x: Any, y: float, draw: float, t: int = 0) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have.

        The label is -1 or +1; with more classes their numbers, from 1. The columns of the row must
        have been admitted.
        """
        clock, numbers, c = state.clock, np.zeros(self.dense), int(y) - 1
        words = words_after(self.dense, x, numbers)
        at, dense = glance(self, state, words, t), head_of(self, state, numbers, words.size, t)
        now, many = max(t, clock[LATEST]), state.told.size > 0
        if many:
            state.told[c] += 1
        if state.costs.size:
            add_shares(state.costs, int(state.rows[COUNT]))
        take_places(state, words, at.place)
        touch(self, state, at.place, now)
        said, likely = filter_all(self, state, at, dense, y, now)
        normalize(state.posterior)
        mix_speeds(state.posterior, self.share)
        settle_rows(state, words)
        if numbers.size > 0:
            learn_alone(self, state, numbers, y, t, likely)
        clock[LATEST], clock[SINCE], clock[LABEL] = now, clock[SINCE] + 1, int(y)
        missed = said[0] < 0.0 if y > 0.0 else said[0] <= 0.0
        if many:
            missed = largest(said) != c
        if missed and clock[SINCE] >= self.patience and self.slots > 1:
            restart_weakest(self, state, now)
        marginals(self, state.posterior, state.weight, state.lapse)

    def admit(self, state: SparseBeliefs, x: Any) -> bool:
        """Give the columns of a row their entries; False if the state must grow first."""
        return admit(state, words_after(self.dense, x, np.zeros(self.dense))["column"])

    def is_due(self, state: SparseBeliefs) -> bool:
        """Whether the state must grow before the next row."""
        return not has_room(state)

    def grown(self, state: SparseBeliefs) -> SparseBeliefs:
        """The same state with room for another row."""
        larger: SparseBeliefs = grown(state)
        return larger

    def grown_shapes(self, arrays: Any) -> dict[str, tuple[int, ...]]:
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


def look(
    rule: Any, state: Any, x: Any, t: int, bar: float, m: NDArray[np.float64], v: Vector
) -> None:
    """m and v <- mean and variance of each class's score, in the states of at least this weight."""
    numbers, now = np.zeros(rule.dense), max(t, state.clock[LATEST])
    words = words_after(rule.dense, x, numbers)
    at = glance(rule, state, words, t)
    look_up(rule, state, at, now, heavy_states(state.weight, bar), m, v)
    if numbers.size > 0:
        dense = head_of(rule, state, numbers, words.size, t)
        look_at_head(rule, state, dense, now - state.clock[LATEST], bar, m, v)


def sparse_sign(rule: Any, state: Any, x: Any, t: int) -> ClassMargin:
    """What is said about a row of two classes, by the mixture that is trusted, or by both."""
    joint, alone = trusted(rule, state)
    if alone == 0.0:
        return joint_sign(rule, state, x, t)
    numbers = np.zeros(rule.dense)
    words_after(rule.dense, x, numbers)
    seen = sign(rule, alone_of(state), numbers, t)
    if joint == 0.0:
        return seen
    return mixed_sign(joint, joint_sign(rule, state, x, t), alone, seen)


def joint_sign(rule: Any, state: Any, x: Any, t: int) -> ClassMargin:
    """What the joint filter's mixture says about a row of two classes."""
    weight, lapse = state.weight, state.lapse
    bar = min(rule.negligible, weight.max())
    m, v = np.empty((weight.size, 1)), np.empty(weight.size)
    look(rule, state, x, t, bar, m, v)
    total, first, second = 0.0, 0.0, 0.0
    for i in range(weight.size):
        if weight[i] >= bar:
            lean = math.erf(m[i, 0] / math.sqrt(1.0 + v[i]) * _ROOT_HALF)
            lean *= 1.0 - 2.0 * lapse[i]
            total += weight[i]
            first += weight[i] * lean
            second += weight[i] * lean * lean
    mean = first / total
    variance = max(0.0, second / total - mean * mean)
    return ClassMargin(mean, variance, mean, 1.0 if mean >= 0.0 else -1.0)


def sparse_classes(rule: Any, state: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    joint, alone = trusted(rule, state)
    if joint > 0.0:
        joint_classes(rule, state, x, t, mean, square)
    if alone == 0.0:
        return
    numbers, p, q = np.zeros(rule.dense), np.empty_like(mean), np.empty_like(mean)
    words_after(rule.dense, x, numbers)
    class_probabilities(rule, alone_of(state), numbers, t, p, q)
    for c in range(p.size):
        mean[c] = alone * p[c] + (joint * mean[c] if joint > 0.0 else 0.0)
        square[c] = alone * q[c] + (joint * square[c] if joint > 0.0 else 0.0)


def joint_classes(rule: Any, state: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
    """The same by the joint filter's mixture."""
    weight, known = state.weight, classes_known(state.told)
    bar = min(rule.negligible, weight.max())
    m, v = np.empty((weight.size, mean.size)), np.empty(weight.size)
    look(rule, state, x, t, bar, m, v)
    mean[:] = 0.0
    square[:] = 0.0
    total = 0.0
    for i in range(weight.size):
        if weight[i] >= bar:
            p = m[i]
            soften(p, state.slopes[known] / math.sqrt(1.0 + v[i]), state.told)
            total += weight[i]
            for c in range(p.size):
                if p[c] > 0.0:
                    said = likelihood_of(p[c], state.lapse[i], known)
                    mean[c] += weight[i] * said
                    square[c] += weight[i] * said * said
    for c in range(mean.size):
        mean[c], square[c] = mean[c] / total, square[c] / total


def learn_alone(rule: Any, state: Any, numbers: Vector, y: float, t: int, likely: float) -> None:
    """Let the Tracker of the dense columns learn, and weigh it against what was ``likely`` jointly.

    Then let the columns' units learn from the row.
    """
    core = alone_of(state)
    alone = follow(rule, core, sight(core, numbers, t), y, t)
    weigh_trust(rule, state.trust, likely, alone)
    notice(scale_of(state), numbers)


def count_sparse(rule: Any, state: Any, x: Any) -> None:
    """Add the probability of each class of a row that is asked about to those of the others."""
    t, sums = state.clock[LATEST] + int(state.tally[COUNT]) + 1, state.costs[2]
    if state.told.size:
        mean, square = np.empty(state.told.size), np.empty(state.told.size)
        sparse_classes(rule, state, x, t, mean, square)
        add(sums, 1.0, mean)
    else:
        p = sparse_sign(rule, state, x, t).raw
        sums[0] += (1.0 - p) / 2.0
        sums[1] += (1.0 + p) / 2.0


def filter_all(
    rule: Any, state: Any, at: Any, dense: Head, y: float, now: int
) -> tuple[Vector, float]:
    """One filtering step of every state; gives what the mixture had said of each class, and P(y).

    Of two classes, P(y) - 1/2 without label noise.
    """
    weight, lapse, classes = state.weight, state.lapse, state.weights.shape[2]
    known = classes_known(state.told) if state.told.size else 2
    m, v = np.empty((weight.size, classes)), np.empty(weight.size)
    look_up(rule, state, at, now, heavy_states(weight, 0.0), m, v)
    gain, narrow, said = np.zeros((weight.size, classes)), np.zeros(weight.size), np.zeros(classes)
    size, gap = dense.size + triangle.product(at.u, at.u), now - state.clock[LATEST]
    likely = 0.0
    for i in range(weight.size):
        if weight[i] > 0.0:
            f, S = (1.0 - speed_of(rule, i)) ** gap, prior_of(rule, i)
            if rule.dense > 0:
                v[i] += meet_head(state, i, dense, f, (1.0 - f) * S, m[i])
            right, shrink = filter_one(state, y, m[i], v[i], lapse[i], gain[i])
            if rule.dense > 0:
                step = narrowed(shrink, v[i], S * size)
                learn_head(state, i, dense, f, (1.0 - f) * S, gain[i], step)
            narrow[i] = max(0.0, shrink) / (1.0 - max(0.0, shrink) * v[i])
            gain[i] *= step_of(rule, i)
            if state.told.size:
                add(said, weight[i] * (1.0 - lapse[i] * known / (known - 1)), m[i])
            else:
                said[0] += weight[i] * (1.0 - 2.0 * lapse[i]) * (right - 0.5)
            likely += weight[i] * likelihood_of(right, lapse[i], known)
            reweigh(rule, state.posterior, i, right, known)
    absorb(state, at, gain, narrow)
    return said, likely


def filter_one(
    state: Any, y: float, m: Vector, v: float, lapse: float, gain: Vector
) -> tuple[float, float]:
    """gain <- along Pu; gives the probability of the label and how much P shrinks.

    With many classes, m becomes the probability of each.
    """
    if not state.told.size:
        gain[0], shrink = filtered(m[0], v, y, lapse)
        return chance(y * m[0] / math.sqrt(1.0 + v)), shrink
    known = classes_known(state.told)
    slope, c = state.slopes[known], int(y) - 1
    soften(m, slope / math.sqrt(1.0 + v), state.told)
    shrink = gains(m, c, v, slope, lapse, known, gain)
    return m[c], shrink


def restart_weakest(rule: Any, state: Any, now: int) -> None:
    """A concept that begins after this row takes the place of the weakest; no word is cleared."""
    slot, clock = weakest(state.posterior), state.clock
    reborn(rule, state.posterior, slot, now - clock[BIRTH])
    clock[BIRTH], clock[SINCE], state.born[slot] = now, 0, now
    state.begun[slot] = clock[LABELS]
    if rule.dense > 0:
        restart_head(rule, state, slot)


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

    As :mod:`lasec.rules.enlarging` has it: two classes have one weight for +1 less -1, the first
    two of three have it over the root of 2, with both signs; the sign of the last label becomes two
    places.
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
