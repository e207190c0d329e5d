"""The Tracker's state in the middle of a stream: one more class, or more features.

A class that appears is one that no label was of: its weights are zero, and what is known of the
others stays. Two classes have one weight vector w for +1 less -1; with three, the first two have -w
/ sqrt(2) and w / sqrt(2), which is the same posterior (:mod:`lasec.rules.tracker.softmax`). The
last label, a feature of its own, then has a place for each class in the place of a sign.

More features: see :func:`more_features`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.beliefs import Beliefs
from lasec.rules.tracker.costs import with_class
from lasec.rules.tracker.hypotheses import prior_of
from lasec.rules.tracker.seen import LABEL, extra, renew
from lasec.types import Matrix

_ROOT_HALF = math.sqrt(0.5)
_KEPT = (
    "spread", "basis", "energy", "sample", "sampled", "posterior", "weight", "lapse", "means",
    "squares", "units", "tally", "born", "clock",
)  # fmt: skip


def more_classes(rule: Any, state: Beliefs, blank: Beliefs) -> Beliefs:
    """The state with one more class, of the shape of a blank one; from two classes, with three."""
    after = blank._replace(**{name: getattr(state, name).copy() for name in _KEPT})
    first, n, m = _places(state), _block(state), _block(after)
    A = _class_places(first, rule.classes)
    w = np.concatenate([state.weights[:, :, : A.shape[1]] @ A.T, state.weights[:, :, n:]], axis=2)
    if rule.classes == 2:
        w = _ROOT_HALF * np.concatenate([-w, w], axis=1)
    after.weights[:, :-1, : len(A)], after.weights[:, :-1, m:] = (
        w[:, :, : len(A)],
        w[:, :, len(A) :],
    )
    P = _carry_blocks(triangle.whole(state.covs, n), A, first)
    P[:, -1, -1] = [prior_of(rule, i) for i in range(len(P))]
    larger = triangle.whole(after.covs, m)
    larger[:, : len(A), : len(A)] = P
    after.covs[:] = triangle.strips(larger)
    if state.costs.size:
        after.costs[:] = with_class(state.costs)
    if rule.classes == 2:
        after.told[:2] = 1
        after.clock[LABEL] = {-1: 1, 0: 0, 1: 2}[int(state.clock[LABEL])]
    else:
        after.told[:-1] = state.told
    return after


def _block(state: Beliefs) -> int:
    """How many places have a full covariance."""
    return int(state.weights.shape[2] - state.spread.shape[1])


def _places(state: Beliefs) -> int:
    """The place of the first last label among those of a row."""
    k = state.basis.shape[0] if state.spread.shape[1] else state.means.size
    return k + 1


def _class_places(first: int, classes: int) -> Matrix:
    """How the weights for the places of a row follow from those with one class less."""
    if classes > 2:
        return np.eye(first + classes + 1, first + classes)
    A = np.zeros((first + 3, first + 1))
    A[:first, :first] = np.eye(first)
    A[first : first + 2, first] = -1.0, 1.0
    return A


def _carry_blocks(P: NDArray[np.float64], A: Matrix, first: int) -> NDArray[np.float64]:
    """The covariances of all states, with the places of one more class."""
    few = A.shape[1]
    sign = few == first + 1  # it becomes two places, which are as certain, and independent
    if sign:
        A = A.copy()
        A[first : first + 2, first] *= _ROOT_HALF
    made: NDArray[np.float64] = A @ P[:, :few, :few] @ A.T
    if sign:
        made[:, first : first + 2, first : first + 2] += P[:, first, first, None, None] / 2.0
    return made


def more_features(rule: Any, state: Beliefs, dimension: int, known: int) -> Beliefs:
    """The state for ``dimension`` features, of which the first ``known`` are those it has.

    Rows are divided by the root of the number of features, and what was learned cannot be had for
    another number without learning it again. The posterior over the known features is carried
    over as it is, to the new unit: the state says the same as before about the rows it knew. The
    prior, drift, and how long a row may be before it is shortened are those of the new number from
    then on. Where rows become wide, only the variances of the later features are kept.

    >>> from lasec.rules import Tracking
    >>> rule = Tracking()
    >>> more_features(rule, rule.init(2), dimension=3, known=2).means.size
    3
    """
    after: Beliefs = rule.init(dimension)
    before, unit = state.means.size, math.sqrt(dimension / state.means.size)
    after.means[:known], after.squares[:known] = state.means[:known], state.squares[:known]
    after.tally[: 1 + known] = state.tally[: 1 + known]
    after.tally[1 + dimension :][:known] = state.tally[1 + before :][:known]
    if state.basis.shape[0]:
        after.basis[:] = 0.0
        after.basis[:, :before], after.energy[:] = state.basis, state.energy / unit**2
    shared = ("posterior", "weight", "lapse", "told", "slopes", "born", "clock", "costs")
    grown = after._replace(**{name: getattr(state, name).copy() for name in shared})
    grown.sampled[1] = state.sampled[1]
    renew(grown)
    for i in range(len(state.weights)):
        _carry_features(state, grown, i, known, unit)
    return grown


def _carry_features(state: Beliefs, after: Beliefs, i: int, known: int, unit: float) -> None:
    """The weights and the covariance of one state, for more features."""
    first, next_ = _places(state) - 1, _places(after) - 1
    n, m = _block(state), _block(after)
    wide, places = state.spread.shape[1] > 0, extra(max(2, state.told.size))
    same = min(known, next_) if not wide else first
    old, new = np.r_[0:same, first : first + places], np.r_[0:same, next_ : next_ + places]
    scale = np.where(old < first, unit, 1.0)
    scale[same] = state.units[-1] / after.units[-1]
    after.weights[i][:, new] = scale * state.weights[i][:, old]
    block = triangle.whole(after.covs[i], m)
    full = triangle.whole(state.covs[i], n)
    block[new[:, None], new] = np.outer(scale, scale) * full[old[:, None], old]
    triangle.fill(after.covs[i], block)
    if wide:
        after.weights[i][:, m : m + known] = unit * state.weights[i][:, n : n + known]
        after.spread[i, :known] = unit**2 * state.spread[i, :known]
    elif after.spread.shape[1]:
        after.weights[i][:, m + same : m + known] = unit * state.weights[i][:, same:known]
        after.spread[i, :known] = unit**2 * full.diagonal()[:known]
