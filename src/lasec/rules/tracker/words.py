"""The view of words: a variance for each weight of a state, brought up to date when touched.

State i has a weight w_j (for each class) and a variance D_j for each column j that a label was of.
A column is touched where a row with it is labeled; g rows after the last touch, with the speed k
and the prior variance S of the state::

    f = (1 - k)^g,   w_j <- sqrt(f) w_j,   D_j <- f D_j + (1 - f) S
    m = sum_j u_j w_j,   v = sum_j u_j^2 D_j
    w_j <- w_j + c gain D_j u_j,   1 / D_j <- 1 / D_j + u_j^2 h / (1 - h v)    h = max(0, shrink)

Steps of drift compose: g at once are the same as g one by one. Gain and shrink are those of
:mod:`lasec.rules.probit` or :mod:`lasec.rules.tracker.softmax`; the last line is the diagonal of
the inverse of P - h P u u'P, which keeps every D_j positive. A column that no label was of has w_j
= 0 and D_j = S. Where a slot restarts, nothing is written: a column that was last touched before
counts as never touched. So a row costs its own columns, and a birth costs nothing.

Without covariances, v is too large: what a label says about a row of n words is learned about the
row, but each D_j shrinks by about an n-th of that. Margins would stay near 0 for hundreds of
labels, and every label would be learned almost in full, whether it was foreseen or not. The states
with c = ``step`` move further with a label and soon are as sure as they are right; those with c = 1
are exact where a row is a single column. Their likelihoods decide between them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.beliefs import first_flaw
from lasec.rules.tracker.columns import PLACE, PLACES, slot_of
from lasec.rules.tracker.hypotheses import SPEEDS, prior_of, speed_of
from lasec.rules.tracker.seen import LATEST
from lasec.rules.tracker.weighing import (
    LONG,
    SIZES,
    fixed_places,
    mark_fixed,
    weigh,
)
from lasec.types import Counter, Matrix, Vector

__all__ = [
    "absorb", "drift_of", "glance", "heavy_states", "lesson", "look_up", "step_of", "take_places",
    "touch",
]  # fmt: skip

AT, LABEL_NUMBER = range(2)  # when a place was last touched: the row, and the number of the label
BOLD = (True, False, True, False, False)  # which states of a slot take the larger step


class Glance(NamedTuple):
    """A row as the states see it: values and places of its columns, then the fixed ones; |u|^2.

    ``latest`` is the row of the newest label.
    """

    u: Vector
    place: Counter
    size: float
    latest: int


class Lesson(NamedTuple):
    """A labeled row, what each state says of it, and how it is to move: along Du, and in 1/D."""

    u: Vector
    place: Counter
    size: float
    m: NDArray[np.float64]
    v: Vector
    gain: NDArray[np.float64]
    narrow: Vector


class Words(NamedTuple):
    """Weights and variances of each place, when it was touched, and since when slots know it.

    ``touched`` has the row and the number of the label with which each place was last written,
    ``begun`` the number of labels before each slot's first, ``labels`` how many there were.
    """

    weights: NDArray[np.float64]
    spread: Matrix
    touched: NDArray[np.int64]
    begun: Counter
    labels: Counter

    def flaw(self, used: int, latest: int) -> str:
        """Why these are no words of so many places, as a phrase; empty if they are."""
        places, labels = self.touched[:used], self.labels[0]
        ahead = places[:, AT].max() > latest or places[:, LABEL_NUMBER].max() > labels
        stale = self.begun.max() > labels or places[:, LABEL_NUMBER].min() < -1
        counts = (self.spread, self.touched[:, AT], self.begun, self.labels)
        return first_flaw(
            (any(bool((part < 0).any()) for part in counts), "a count or a variance is negative"),
            (bool(ahead or stale), "the clock contradicts itself"),
        )

    def score(
        self, rule: Any, weight: Vector, bar: float, at: Glance, gap: int, m: NDArray[np.float64],
        v: Vector,
    ) -> None:  # fmt: skip
        """The states of a place stand together, so that all are looked up at once."""
        look_up(rule, self, at.u, at.place, at.latest + gap, heavy_states(weight, bar), m, v)

    def meet(self, i: int, at: Lesson, fade: float, fresh: float, m: Vector) -> float:
        """What the lesson holds: the places were brought up to date for all states at once."""
        for c in range(m.size):
            m[c] += at.m[i, c]
        return float(at.v[i])

    def learn(
        self, i: int, at: Lesson, fade: float, fresh: float, gain: Vector, shrink: float, v: float
    ) -> None:
        """How the state is to move, by :meth:`settle`."""
        narrow = max(0.0, shrink)
        at.narrow[i] = narrow / (1.0 - narrow * v)
        for c in range(gain.size):
            at.gain[i, c] = gain[c]

    def settle(self, rule: Any, at: Lesson) -> None:
        """All states move at once."""
        absorb(rule, self, at)

    def restart(self, rule: Any, slot: int) -> None:
        """No word is cleared: what was touched before counts as never touched."""
        self.begun[slot] = self.labels[0]


def glance(rule: Any, texts: Any, x: Any, t: int) -> Glance:
    """The row x of step t."""
    n, fixed = x.size, fixed_places(rule.classes)
    u, place = np.empty(n + fixed), np.empty(n + fixed, np.int64)
    total, size = weigh(rule, texts, x, u, place)
    if total > 0.0:
        usual = texts.rows.known[SIZES]
        level = math.sqrt(size / usual) ** rule.level if usual > 0.0 else 1.0
        factor = min(LONG, level) / math.sqrt(total)
        for j in range(n):
            u[j] *= factor
    mark_fixed(rule, texts, n, t, u[n:], place[n:])
    return Glance(u, place, triangle.product(u, u), texts.mixture.clock[LATEST])


def lesson(rule: Any, texts: Any, x: Any, t: int) -> Lesson:
    """The labeled row x of step t: its columns have their places, which are up to date."""
    seen, weight, view = glance(rule, texts, x, t), texts.mixture.weight, texts.words
    now, classes = max(t, seen.latest), view.weights.shape[2]
    take_places(texts.columns, view, x, seen.place)
    touch(rule, view, seen.place, now)
    m, v = np.zeros((weight.size, classes)), np.zeros(weight.size)
    look_up(rule, view, seen.u, seen.place, now, heavy_states(weight, 0.0), m, v)
    gain, narrow = np.zeros((weight.size, classes)), np.zeros(weight.size)
    return Lesson(seen.u, seen.place, seen.size, m, v, gain, narrow)


def heavy_states(weight: Vector, bar: float) -> Counter:
    """The states of at least this weight, and of more than none.

    >>> heavy_states(np.array([0.5, 0.0, 0.1, 0.4]), 0.2).tolist()
    [0, 3]
    """
    found, heavy = 0, np.empty(weight.size, np.int64)
    for i in range(weight.size):
        if weight[i] >= bar and weight[i] > 0.0:
            heavy[found] = i
            found += 1
    return heavy[:found]


def drift_of(
    u: float, gap: int, rate: Vector, prior: Vector, fade: Vector, old: Vector, new: Vector
) -> None:
    """What u times a weight, and its square times a variance, become in so many rows.

    For each speed: u w becomes ``fade`` w, and u^2 D becomes ``old`` D + ``new``.
    """
    for k in range(rate.size):
        fade[k], old[k], new[k] = u, u * u, 0.0
        if rate[k] < 0.0 and gap > 0:
            f = math.exp(gap * rate[k])
            fade[k], old[k], new[k] = u * math.sqrt(f), u * u * f, u * u * (1.0 - f) * prior[k]


def look_up(
    rule: Any, view: Words, us: Vector, place: Counter, now: int, heavy: Counter,
    m: NDArray[np.float64], v: Vector,
) -> None:  # fmt: skip
    """Add the mean of each class's score to m[i, c], its variance to v[i], by row ``now``.

    Of the heavy states i. Only speeds that a heavy state has are worked out.
    """
    weights, spread, touched, begun = view.weights, view.spread, view.touched, view.begun
    nowhere, unknown = 0.0, np.zeros(v.size)  # squares of columns without a place, or a label
    prior, rate = np.zeros(len(SPEEDS)), np.zeros(len(SPEEDS))
    fade, old, new = np.empty(len(SPEEDS)), np.empty(len(SPEEDS)), np.empty(len(SPEEDS))
    for i in heavy:
        k = i % len(SPEEDS)
        prior[k], rate[k] = prior_of(rule, k), math.log1p(-speed_of(rule, k))
    for j in range(us.size):
        u, p = us[j], place[j]
        if p < 0:
            nowhere += u * u
            continue
        drift_of(u, now - touched[p, AT], rate, prior, fade, old, new)
        for i in heavy:
            if touched[p, LABEL_NUMBER] > begun[i // len(SPEEDS)]:
                k = i % len(SPEEDS)
                v[i] += old[k] * spread[p, i] + new[k]
                for c in range(m.shape[1]):
                    m[i, c] += fade[k] * weights[p, i, c]
            else:
                unknown[i] += u * u
    for i in heavy:
        v[i] += (nowhere + unknown[i]) * prior[i % len(SPEEDS)]


def step_of(rule: Any, i: int) -> float:
    """How much further than by the filter state i moves with a label."""
    return float(rule.step) if BOLD[i % len(BOLD)] else 1.0


def take_places(columns: Any, view: Any, x: Any, place: Counter) -> None:
    """Give a place to each column of a labeled row that has none."""
    row, table, entries, used = x["column"], columns.table, columns.entries, columns.used
    for j in range(row.size):
        if place[j] < 0:
            entry = table[slot_of(table, entries, row[j])]
            if entry >= 0 and used[PLACES] < view.spread.shape[0]:
                place[j] = used[PLACES]
                entries[entry, PLACE] = place[j]
                view.touched[place[j], LABEL_NUMBER] = -1
                used[PLACES] += 1


def touch(rule: Any, view: Words, place: Counter, now: int) -> None:
    """Bring the places of a row up to date, in every state."""
    weights, spread, touched, begun = view.weights, view.spread, view.touched, view.begun
    prior, rate = np.empty(len(SPEEDS)), np.empty(len(SPEEDS))
    fade, old, new = np.empty(len(SPEEDS)), np.empty(len(SPEEDS)), np.empty(len(SPEEDS))
    for k in range(len(SPEEDS)):
        prior[k], rate[k] = prior_of(rule, k), math.log1p(-speed_of(rule, k))
    for p in place:
        if p < 0:
            continue
        drift_of(1.0, now - touched[p, AT], rate, prior, fade, old, new)
        for slot in range(begun.size):
            known = touched[p, LABEL_NUMBER] > begun[slot]
            for k in range(len(SPEEDS)):
                i = slot * len(SPEEDS) + k
                spread[p, i] = old[k] * spread[p, i] + new[k] if known else prior[k]
            for c in range(weights.shape[2]):  # outside, so that two classes have one plain loop
                for k in range(len(SPEEDS)):
                    i = slot * len(SPEEDS) + k
                    weights[p, i, c] = fade[k] * weights[p, i, c] if known else 0.0
        touched[p, AT], touched[p, LABEL_NUMBER] = now, view.labels[0] + 1


def absorb(rule: Any, view: Words, at: Lesson) -> None:
    """w_j <- w_j + gain D_j u_j, and 1 / D_j <- 1 / D_j + narrow u_j^2, in every state."""
    weights, spread, narrow, gain = view.weights, view.spread, at.narrow, at.gain
    for i in range(narrow.size):
        for c in range(gain.shape[1]):
            gain[i, c] *= step_of(rule, i)
    for j in range(at.u.size):
        u, p = at.u[j], at.place[j]
        if p < 0:
            continue
        D = spread[p]
        for c in range(gain.shape[1]):
            for i in range(narrow.size):
                weights[p, i, c] += gain[i, c] * D[i] * u
        for i in range(narrow.size):
            D[i] /= 1.0 + D[i] * u * u * narrow[i]
