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
from lasec.nested import copied, leaves, mapped
from lasec.rules.tracker.beliefs import Classes, begin_classes, blank_classes
from lasec.rules.tracker.core import Core, Counted
from lasec.rules.tracker.costs import with_class
from lasec.rules.tracker.dense import Dense
from lasec.rules.tracker.hypotheses import prior_of
from lasec.rules.tracker.seen import LABEL, extra, renew
from lasec.types import Counter, Matrix

_ROOT_HALF = math.sqrt(0.5)


def one_more(larger: Any, classes: Classes) -> Classes:
    """What is known of the classes, for the rule with one more; from two classes, with three."""
    after: Classes = mapped(np.array, blank_classes(larger))
    begin_classes(larger, after)
    if classes.costs.size:
        after.costs[:] = with_class(classes.costs)
    after.told[:-1] = classes.told if classes.told.size else 1
    return after


def label_as_class(clock: Counter) -> None:
    """In the clock of two classes, the sign of the last label <- its class."""
    clock[LABEL] = {-1: 1, 0: 0, 1: 2}[int(clock[LABEL])]


def more_classes(rule: Any, core: Core, blank: Core) -> Core:
    """The core with one more class, of the shape of a blank one; from two classes, with three."""
    dense = dense_classes(rule, core, core.dense, blank.dense)
    after: Core = copied(core._replace(dense=dense))
    if rule.classes == 2:
        label_as_class(after.mixture.clock)
    return after


def dense_classes(rule: Any, core: Core, dense: Dense, blank: Dense) -> Dense:
    """Weights and covariances for the rows of a core, with one more class."""
    first, n, m = _places(core), _block(dense), _block(blank)
    A = _class_places(first, rule.classes)
    w = np.concatenate([dense.weights[:, :, : A.shape[1]] @ A.T, dense.weights[:, :, n:]], axis=2)
    if rule.classes == 2:
        w = _ROOT_HALF * np.concatenate([-w, w], axis=1)
    blank.weights[:, :-1, : len(A)] = w[:, :, : len(A)]
    blank.weights[:, :-1, m:] = w[:, :, len(A) :]
    P = _carry_blocks(triangle.whole(dense.covs, n), A, first)
    P[:, -1, -1] = [prior_of(rule, i) for i in range(len(P))]
    larger = triangle.whole(blank.covs, m)
    larger[:, : len(A), : len(A)] = P
    blank.covs[:] = triangle.strips(larger)
    return blank._replace(spread=dense.spread)


def _block(dense: Dense) -> int:
    """How many places have a full covariance."""
    return int(dense.weights.shape[2] - dense.spread.shape[1])


def _places(core: Core) -> int:
    """The place of the first last label among those of a row."""
    k = core.basis.shape[0] if core.dense.spread.shape[1] else core.means.size
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


def more_features(core: Core, counted: Counted, after: Core, blank: Counted, known: int) -> Counted:
    """``after`` <- the core for more features, of which the first ``known`` are those it has.

    Rows are divided by the root of the number of features, and what was learned cannot be had for
    another number without learning it again. The posterior over the known features is carried
    over as it is, to the new unit: the state says the same as before about the rows it knew. The
    prior, drift, and how long a row may be before it is shortened are those of the new number from
    then on. Where rows become wide, only the variances of the later features are kept.

    Gives what was counted, for more features. ``after`` and ``blank`` are those before any row.
    """
    before, dimension = core.means.size, after.means.size
    unit = math.sqrt(dimension / before)
    after.means[:known], blank.squares[:known] = core.means[:known], counted.squares[:known]
    blank.tally[: 1 + known] = counted.tally[: 1 + known]
    blank.tally[1 + dimension :][:known] = counted.tally[1 + before :][:known]
    if core.basis.shape[0]:
        after.basis[:] = 0.0
        after.basis[:, :before], blank.energy[:] = core.basis, counted.energy / unit**2
        blank.sampled[1] = counted.sampled[1]
    for old, new in zip(leaves(core.mixture), leaves(after.mixture), strict=True):
        new[:] = old
    renew(after, blank)
    for i in range(len(core.dense.weights)):
        _carry_features(core, after, i, known, unit)
    return blank


def _carry_features(core: Core, after: Core, i: int, known: int, unit: float) -> None:
    """The weights and the covariance of one state, for more features."""
    was, now, first, next_ = core.dense, after.dense, _places(core) - 1, _places(after) - 1
    n, m, wide = _block(was), _block(now), was.spread.shape[1] > 0
    places = extra(max(2, was.weights.shape[1]))
    same = min(known, next_) if not wide else first
    old, new = np.r_[0:same, first : first + places], np.r_[0:same, next_ : next_ + places]
    scale = np.where(old < first, unit, 1.0)
    scale[same] = core.units[-1] / after.units[-1]
    now.weights[i][:, new] = scale * was.weights[i][:, old]
    block = triangle.whole(now.covs[i], m)
    full = triangle.whole(was.covs[i], n)
    block[new[:, None], new] = np.outer(scale, scale) * full[old[:, None], old]
    triangle.fill(now.covs[i], block)
    if wide:
        now.weights[i][:, m : m + known] = unit * was.weights[i][:, n : n + known]
        now.spread[i, :known] = unit**2 * was.spread[i, :known]
    elif now.spread.shape[1]:
        now.weights[i][:, m + same : m + known] = unit * was.weights[i][:, same:known]
        now.spread[i, :known] = unit**2 * full.diagonal()[:known]
