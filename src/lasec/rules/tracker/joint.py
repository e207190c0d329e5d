"""The view of dense columns and words: a full covariance for the former, in one filter with both.

Where numbers and categories stand beside words, the first ``dense`` columns of a row are theirs.
They are seen as the Tracker sees any dense row (:mod:`lasec.rules.tracker.seen`), with the
intercept and the last label: z. The words are seen as in :mod:`lasec.rules.tracker.weighing`: u. A
state has weights and a covariance P for z, and weights and variances D for u, and no covariance
between the two::

    m = w_z'z + w_u'u,   v = z'Pz + sum of D_j u_j^2,   gain and shrink from m, v and the label
    w_z <- w_z + gain Pz,   P <- P - shrink Pz (Pz)'

and for u as in :mod:`lasec.rules.tracker.words`. Without words this is the Tracker; the cost is
that of the Tracker for the dense columns and of the words that occur.

How long z is beside u decides who learns first. As the Tracker has it, with abs(z) about 1, a few
columns explain the first labels before any word has come twice. The intercept of sparse rows has a
length of 0.1, and so have the dense columns, about: with the geometric mean n of 1 + the number of
words of a row, z is shortened by max(``beside``, 1 / n), which is 1 without words.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.dense import Dense, Sight
from lasec.rules.tracker.seen import INTERCEPT, in_row_units, mark_last
from lasec.rules.tracker.views import learn, meet, restart, score, settle
from lasec.rules.tracker.weighing import COUNT, LENGTHS
from lasec.rules.tracker.words import Words, glance, lesson
from lasec.types import Vector

__all__ = [
    "beside_words", "count_dense", "joint_glance", "joint_lesson", "later_words", "numbers_in",
    "shortened",
]  # fmt: skip


class Both(NamedTuple):
    """A row as both views see it, and its squared length."""

    words: Any
    dense: Sight
    size: float


class Joint(NamedTuple):
    """Words and dense columns: a score is the sum of theirs, and so is its variance."""

    words: Words
    dense: Dense

    def score(
        self, rule: Any, weight: Vector, bar: float, at: Both, gap: int, m: NDArray[np.float64],
        v: Vector,
    ) -> None:  # fmt: skip
        """What the words say, and the dense columns."""
        score(self.words, rule, weight, bar, at.words, gap, m, v)
        score(self.dense, rule, weight, bar, at.dense, gap, m, v)

    def meet(self, i: int, at: Both, fade: float, fresh: float, m: Vector) -> float:
        """What the words say, and the dense columns."""
        v = meet(self.words, i, at.words, fade, fresh, m)
        return v + meet(self.dense, i, at.dense, fade, fresh, m)

    def learn(
        self, i: int, at: Both, fade: float, fresh: float, gain: Vector, shrink: float, v: float
    ) -> None:
        """Both move."""
        learn(self.words, i, at.words, fade, fresh, gain, shrink, v)
        learn(self.dense, i, at.dense, fade, fresh, gain, shrink, v)

    def settle(self, rule: Any, at: Both) -> None:
        """The words move."""
        settle(self.words, rule, at.words)

    def restart(self, rule: Any, slot: int) -> None:
        """Both know nothing."""
        restart(self.words, rule, slot)
        restart(self.dense, rule, slot)


def joint_glance(rule: Any, state: Any, x: Any, t: int) -> Both:
    """The row x of step t."""
    words = later_words(rule, x)
    dense = beside_words(rule, state, numbers_in(rule, x), words.size, t)
    at = glance(rule, state.texts, words, t)
    return Both(at, dense, dense.size + at.size)


def joint_lesson(rule: Any, state: Any, x: Any, t: int) -> Both:
    """The labeled row x of step t."""
    words = later_words(rule, x)
    dense = beside_words(rule, state, numbers_in(rule, x), words.size, t)
    at = lesson(rule, state.texts, words, t)
    return Both(at, dense, dense.size + at.size)


def count_dense(rule: Any, x: Any) -> int:
    """How many pairs of a row are of dense columns: the first ones."""
    columns, n = x["column"], 0
    while n < columns.size and columns[n] < rule.dense:
        n += 1
    return n


def numbers_in(rule: Any, x: Any) -> Vector:
    """The dense columns of a row."""
    columns, values, numbers = x["column"], x["value"], np.zeros(rule.dense)
    for n in range(count_dense(rule, x)):
        numbers[columns[n]] = values[n]
    return numbers


def later_words(rule: Any, x: Any) -> Any:
    """The pairs of a row that are of no dense column."""
    return x[count_dense(rule, x) :]


def shortened(rule: Any, known: Vector, words: int) -> float:
    """How long the dense columns are beside words, of a row that has so many of them."""
    usual = known[LENGTHS] if known[COUNT] > 0.0 else math.log1p(words)
    return float(max(rule.beside, math.exp(-usual)))


def beside_words(rule: Any, state: Any, numbers: Vector, words: int, t: int) -> Sight:
    """The dense columns of the row of step t as the states see them, beside so many words."""
    core, d, z = state.alone, numbers.size, np.zeros(state.joint.weights.shape[2])
    short = shortened(rule, state.texts.rows.known, words)
    offset = core.units[d] ** 2 - INTERCEPT**2
    in_row_units(core.means, core.units, numbers, z[:d])
    for j in range(d):
        z[j] *= short
    z[d] = core.units[d]
    if short < 1.0:
        z[d] = math.sqrt(INTERCEPT**2 + short * short * max(0.0, offset))
    mark_last(state.texts.mixture.clock, state.texts.classes, t, z[d + 1 :])
    row = z.astype(np.float32)
    return Sight(z, row, triangle.product(z, z), np.empty_like(row))
