"""The dense columns of a sparse row: a full covariance, in one filter with the words.

Where numbers and categories stand beside words, the first ``dense`` columns of a row are theirs.
They are seen as the Tracker sees any dense row (:mod:`lasec.rules.seen`), with the intercept and
the last label: z. The words are seen as in :mod:`lasec.rules.weighing`: u. A state has weights and
a covariance P for z, and weights and variances D for u, and no covariance between the two::

    m = w_z'z + w_u'u,   v = z'Pz + sum of D_j u_j^2,   gain and shrink from m, v and the label
    w_z <- w_z + gain Pz,   P <- P - shrink Pz (Pz)'

and for u as in :mod:`lasec.rules.diagonal`. Without words this is the Tracker; the cost is that of
the Tracker for the dense columns and of the words that occur.

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
from lasec.rules.beliefs import Beliefs
from lasec.rules.filtering import moved
from lasec.rules.hypotheses import SPEEDS, group_of, heaviest, prior_of, speed_of
from lasec.rules.lensed import Counted
from lasec.rules.seen import INTERCEPT, count_row, extra, in_row_units, mark_last
from lasec.rules.weighing import COUNT, LENGTHS
from lasec.types import Vector

__all__ = ["scale_of", "shortened", "words_after"]


class Head(NamedTuple):
    """The dense columns as weights and as covariances take them, |z|^2, and room for Pz."""

    z: Vector
    row: NDArray[np.float32]
    size: float
    g: NDArray[np.float32]


def first_arrays(dense: int, classes: int, states: int) -> dict[str, NDArray[Any]]:
    """The arrays of a first state but for the covariances' diagonals; without dense columns, empty.

    >>> made = first_arrays(3, classes=2, states=30)
    >>> made["head"].shape, made["covs"].shape, made["units"].tolist()
    ((30, 1, 8), (30, 48), [0.0, 0.0, 0.0, 0.1])
    """
    n = triangle.padded(dense + extra(classes)) if dense else 0
    made: dict[str, NDArray[Any]] = {
        "head": np.zeros((states, classes if classes > 2 else 1, n)),
        "covs": np.zeros((states, triangle.size(n)), np.float32),
        "means": np.zeros(dense),
        "squares": np.zeros(dense),
        "units": np.zeros(dense + 1 if dense else 0),
        "sums": np.zeros(1 + 2 * dense if dense else 0),
    }
    made["units"][dense:] = INTERCEPT
    return made


def words_after(dense: int, x: Any, numbers: Vector) -> Any:
    """numbers <- the first ``dense`` columns of a row; gives the pairs of the others."""
    columns, values, n = x["column"], x["value"], 0
    while n < columns.size and columns[n] < dense:
        numbers[columns[n]] = values[n]
        n += 1
    return x[n:]


def scale_of(state: Any) -> Counted:
    """The units of the dense columns, for :func:`~lasec.rules.seen.count_row` and ``notice``."""
    return Counted(
        state.sums, state.means, state.squares, state.units, state.clock, state.covs[:0],
        state.clock,
    )  # fmt: skip


def shortened(rule: Any, state: Any, words: int) -> float:
    """How long the dense columns are beside words, of a row that has so many of them."""
    usual = state.rows[LENGTHS] if state.rows[COUNT] > 0.0 else math.log1p(words)
    return float(max(rule.beside, math.exp(-usual)))


def head_of(rule: Any, state: Any, numbers: Vector, words: int, t: int) -> Head:
    """The dense columns of the row of step t as the states see them, beside so many words."""
    d, z = numbers.size, np.zeros(state.head.shape[2])
    if d > 0:
        short, offset = shortened(rule, state, words), state.units[d] ** 2 - INTERCEPT**2
        in_row_units(state.means, state.units, numbers, z[:d])
        for j in range(d):
            z[j] *= short
        z[d] = state.units[d]
        if short < 1.0:
            z[d] = math.sqrt(INTERCEPT**2 + short * short * max(0.0, offset))
        mark_last(state, t, z[d + 1 :])
    row = z.astype(np.float32)
    return Head(z, row, triangle.product(z, z), np.empty_like(row))


def no_head(rule: Any, state: Any, numbers: Vector, words: int, t: int) -> Head:
    """The same where there are no dense columns."""
    row = np.zeros(0, np.float32)
    return Head(np.zeros(0), row, 0.0, row)


def count_numbers(state: Any, numbers: Vector) -> None:
    """Count the dense columns of a row that is asked about."""
    count_row(scale_of(state), numbers)


def look_at_head(
    rule: Any, state: Any, at: Head, gap: int, bar: float, m: NDArray[np.float64], v: Vector
) -> None:
    """Add what the states of at least this weight say of the dense columns, ``gap`` rows on."""
    weight, q, end = state.weight, 0.0, 0
    for i in range(weight.size):
        if weight[i] < bar:
            continue
        if i >= end:
            begin, end = group_of(i)
            q = triangle.quadratic(state.covs[heaviest(weight, begin, end)], at.row)
        f = (1.0 - speed_of(rule, i)) ** gap
        v[i] += max(0.0, f * q) + (1.0 - f) * prior_of(rule, i) * at.size
        for c in range(m.shape[1]):
            m[i, c] += math.sqrt(f) * triangle.product(state.head[i, c], at.z)


def meet_head(state: Any, i: int, at: Head, fade: float, fresh: float, m: Vector) -> float:
    """g <- Pz, m <- m + w'z, and z'Pz, once state i has drifted."""
    single: Any = state.covs.dtype.type
    v = max(0.0, triangle.along(state.covs[i], at.row, single(fade), single(fresh), at.g))
    for c in range(m.size):
        m[c] += math.sqrt(fade) * triangle.product(state.head[i, c], at.z)
    return v


def learn_head(
    state: Any, i: int, at: Head, fade: float, fresh: float, gain: Vector, shrink: float
) -> None:
    """w <- what it drifts to, plus gain g; P <- what it drifts to, less shrink g g'."""
    single: Any = state.covs.dtype.type
    for c in range(gain.size):
        moved(state.head[i, c], math.sqrt(fade), gain[c], at.g)
    triangle.fade_and_downdate(state.covs[i], at.g, single(fade), single(shrink))
    triangle.add_diagonal(state.covs[i], single(fresh))


def restart_head(rule: Any, state: Any, slot: int) -> None:
    """The states of a slot know nothing of the dense columns."""
    for i in range(slot * len(SPEEDS), (slot + 1) * len(SPEEDS)):
        state.head[i] = 0.0
        triangle.set_diagonal(state.covs[i], prior_of(rule, i))


def as_beliefs(state: Any, prefix: str = "") -> Beliefs:
    """What is known of the dense columns as a state of the Tracker, which shares its arrays.

    With the prefix "alone", that of the dense columns by themselves.
    """
    none = np.zeros((len(state.head), 0), np.float32)
    own = {name: getattr(state, f"{prefix}_{name}" if prefix else name) for name in _OWN}
    shared = {name: getattr(state, name) for name in _SHARED}
    return Beliefs(
        weights=getattr(state, prefix or "head"), tally=state.sums, spread=none, basis=none[:0],
        energy=np.zeros(0), sample=none[:0], sampled=np.zeros(2, np.int64), **own, **shared,
    )  # fmt: skip


_OWN = ("covs", "posterior", "weight", "lapse", "born", "clock")
_SHARED = ("means", "squares", "units", "told", "slopes", "costs")
