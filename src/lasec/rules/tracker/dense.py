"""The view of dense rows: a weight vector and a covariance for each state.

Weights are kept for each class, or once for two classes (+1 less -1); the covariance is shared by
all classes. It is full for the first places of a row (in strips, see :mod:`lasec.triangle`), and
a variance each for the rest (see :mod:`lasec.rules.tracker.subspace`), of which most models have
none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.tracker.hypotheses import SPEEDS, group_of, heaviest, prior_of, speed_of
from lasec.rules.tracker.seen import seen
from lasec.types import Vector

__all__ = ["drifted", "glimpse", "moved", "quadratic", "scores", "shrunk", "sight"]


class Sight(NamedTuple):
    """A row as weights and as covariances take it, its squared length, and room for P u."""

    u: NDArray[Any]
    row: NDArray[np.float32]
    size: float
    g: NDArray[np.float32]


class Dense(NamedTuple):
    """Weights, covariances in strips, and the variances of the places that these leave out."""

    weights: NDArray[Any]
    covs: NDArray[np.float32]
    spread: NDArray[np.float32]

    def score(
        self, rule: Any, weight: Vector, bar: float, at: Sight, gap: int, m: NDArray[np.float64],
        v: Vector,
    ) -> None:  # fmt: skip
        """The states of a slot with the same prior share u'Pu of the heaviest among them."""
        q, end = 0.0, 0
        for i in range(weight.size):
            if weight[i] < bar:
                continue
            if i >= end:
                begin, end = group_of(i)
                q = quadratic(self, heaviest(weight, begin, end), at)
            f = (1.0 - speed_of(rule, i)) ** gap
            v[i] += max(0.0, f * q) + (1.0 - f) * prior_of(rule, i) * at.size
            scores(self, i, at, math.sqrt(f), m[i])

    def meet(self, i: int, at: Sight, fade: float, fresh: float, m: Vector) -> float:
        """g <- P u, once P has drifted."""
        v = drifted(self, i, at, fade, fresh)
        scores(self, i, at, math.sqrt(fade), m)
        return v

    def learn(
        self, i: int, at: Sight, fade: float, fresh: float, gain: Vector, shrink: float, v: float
    ) -> None:
        """w <- what it drifts to, plus gain g; P <- what it drifts to, less shrink g g'."""
        for c in range(gain.size):
            moved(self.weights[i, c], math.sqrt(fade), gain[c], at.g)
        shrunk(self, i, at, fade, fresh, shrink)

    def settle(self, rule: Any, at: Sight) -> None:
        """Nothing: each state has moved."""

    def restart(self, rule: Any, slot: int) -> None:
        """w <- 0, P <- S I."""
        for i in range(slot * len(SPEEDS), (slot + 1) * len(SPEEDS)):
            for c in range(self.weights.shape[1]):
                for j in range(self.weights.shape[2]):
                    self.weights[i, c, j] = 0.0
            triangle.set_diagonal(self.covs[i], prior_of(rule, i))
            for j in range(self.spread.shape[1]):
                self.spread[i, j] = prior_of(rule, i)


def glimpse(core: Any, classes: Any, x: Vector, t: int) -> Sight:
    """The row x of step t as the states see it, of which nothing is learned: no room for P u."""
    u, dense = seen(core, classes, x, t), core.dense
    row, size = u.astype(dense.covs.dtype), triangle.product(u, u)
    return Sight(u.astype(dense.weights.dtype), row, size, row[:0])


def sight(core: Any, classes: Any, x: Vector, t: int) -> Sight:
    """The row x of step t as the states see it."""
    at = glimpse(core, classes, x, t)
    return Sight(at.u, at.row, at.size, np.empty_like(at.row))


def quadratic(view: Any, i: int, at: Sight) -> float:
    """u'Pu under state i."""
    D, n = view.spread[i], at.row.size - view.spread.shape[1]
    rest = at.row[n:]
    return triangle.quadratic(view.covs[i], at.row[:n]) + triangle.weighted(D, rest)


def drifted(view: Any, i: int, at: Sight, fade: float, fresh: float) -> float:
    """g <- P u, and u'Pu, once P has drifted."""
    single: Any = view.covs.dtype.type
    D, n = view.spread[i], at.row.size - view.spread.shape[1]
    keep, more = single(fade), single(fresh)
    v = triangle.along(view.covs[i], at.row[:n], keep, more, at.g[:n])
    return max(0.0, v + triangle.along_diagonal(D, at.row[n:], keep, more, at.g[n:]))


def shrunk(view: Any, i: int, at: Sight, fade: float, fresh: float, shrink: float) -> None:
    """P <- what it drifts to, less shrink g g', in place."""
    single: Any = view.covs.dtype.type
    P, D, n = view.covs[i], view.spread[i], at.row.size - view.spread.shape[1]
    triangle.fade_and_downdate(P, at.g[:n], single(fade), single(shrink))
    triangle.add_diagonal(P, single(fresh))
    triangle.fade_diagonal(D, at.g[n:], single(fade), single(fresh), single(shrink))


def moved(w: Vector, root: float, gain: float, g: NDArray[np.float32]) -> None:
    """w <- root w + gain g, in place."""
    for j in range(w.size):
        w[j] = root * w[j] + gain * g[j]


def scores(view: Any, i: int, at: Sight, root: float, m: Vector) -> None:
    """Add the mean of each class's score under state i to m."""
    for c in range(m.size):
        m[c] += root * triangle.product(view.weights[i, c], at.u)
