"""One state of the Tracker: a Gaussian posterior that drifts, and learns one label at a time.

Weights are kept for each class, or once for two classes (+1 less -1); the covariance is shared by
all classes. It is full for the first places of a row (in strips, see :mod:`lasec.triangle`), and
a variance each for the rest (see :mod:`lasec.rules.subspace`), of which most models have none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.rules.hypotheses import SCALES, SPEEDS
from lasec.rules.probit import chance, filtered
from lasec.rules.seen import seen
from lasec.rules.softmax import classes_known, gains, soften
from lasec.types import Vector

__all__ = [
    "born", "drifted", "filter_classes", "filter_state", "moved", "narrowed", "quadratic", "scores",
    "shrunk", "sight",
]  # fmt: skip


class Sight(NamedTuple):
    """A row as weights and as covariances take it, its squared length, and room for P u."""

    u: NDArray[Any]
    row: NDArray[np.float32]
    size: float
    g: NDArray[np.float32]


def sight(state: Any, x: Vector, t: int) -> Sight:
    """The row x of step t as the states see it."""
    u = seen(state, x, t)
    row, size = u.astype(state.covs.dtype), triangle.product(u, u)
    return Sight(u.astype(state.weights.dtype), row, size, np.empty_like(row))


def quadratic(state: Any, i: int, at: Sight) -> float:
    """u'Pu under state i."""
    D, n = state.spread[i], at.row.size - state.spread.shape[1]
    rest = at.row[n:]
    return triangle.quadratic(state.covs[i], at.row[:n]) + triangle.weighted(D, rest)


def drifted(state: Any, i: int, at: Sight, fade: float, fresh: float) -> float:
    """g <- P u, and u'Pu, once P has drifted."""
    single: Any = state.covs.dtype.type
    D, n = state.spread[i], at.row.size - state.spread.shape[1]
    keep, more = single(fade), single(fresh)
    v = triangle.along(state.covs[i], at.row[:n], keep, more, at.g[:n])
    return max(0.0, v + triangle.along_diagonal(D, at.row[n:], keep, more, at.g[n:]))


def shrunk(state: Any, i: int, at: Sight, fade: float, fresh: float, shrink: float) -> None:
    """P <- what it drifts to, less shrink g g', in place."""
    single: Any = state.covs.dtype.type
    P, D, n = state.covs[i], state.spread[i], at.row.size - state.spread.shape[1]
    triangle.fade_and_downdate(P, at.g[:n], single(fade), single(shrink))
    triangle.add_diagonal(P, single(fresh))
    triangle.fade_diagonal(D, at.g[n:], single(fade), single(fresh), single(shrink))


def moved(w: Vector, root: float, gain: float, g: NDArray[np.float32]) -> None:
    """w <- root w + gain g, in place."""
    for j in range(w.size):
        w[j] = root * w[j] + gain * g[j]


def narrowed(shrink: float, v: float, widest: float) -> float:
    """Widen, where a step widens, at most up to the prior."""
    return shrink if shrink >= 0.0 else max(shrink, min(0.0, v - widest) / (v * v))


def filter_state(
    state: Any, i: int, at: Sight, y: float, fade: float, prior: float, lapse: float
) -> float:
    """Drift and one filtering step of one state of two classes; gives Phi(z) of the label."""
    fresh, root, w = (1.0 - fade) * prior, math.sqrt(fade), state.weights[i, 0]
    v = drifted(state, i, at, fade, fresh)
    m = root * triangle.product(w, at.u)
    gain, shrink = filtered(m, v, y, lapse)
    moved(w, root, gain, at.g)
    shrunk(state, i, at, fade, fresh, narrowed(shrink, v, prior * at.size))
    return chance(y * m / math.sqrt(1.0 + v))


def scores(state: Any, i: int, at: Sight, root: float, p: Vector) -> None:
    """p <- the mean of each class's score under state i."""
    for c in range(p.size):
        p[c] = root * triangle.product(state.weights[i, c], at.u)


def filter_classes(
    state: Any, i: int, at: Sight, y: int, fade: float, prior: float, lapse: float, said: Vector
) -> float:
    """Drift and one filtering step of one state of many classes; gives the probability of y.

    ``said`` becomes the probability of each class before the step.
    """
    fresh, root = (1.0 - fade) * prior, math.sqrt(fade)
    v, known = drifted(state, i, at, fade, fresh), classes_known(state.told)
    slope = state.slopes[known]
    scores(state, i, at, root, said)
    soften(said, slope / math.sqrt(1.0 + v), state.told)
    gain, right = np.zeros(said.size), said[y]
    shrink = gains(said, y, v, slope, lapse, known, gain)
    for c in range(gain.size):
        moved(state.weights[i, c], root, gain[c], at.g)
    shrunk(state, i, at, fade, fresh, narrowed(shrink, v, prior * at.size))
    return float(right)


def born(state: Any, slot: int, prior: float) -> None:
    """The states of a slot restart."""
    for i in range(slot * len(SPEEDS), (slot + 1) * len(SPEEDS)):
        scale = prior * SCALES[i % len(SPEEDS)]
        for c in range(state.weights.shape[1]):
            for j in range(state.weights.shape[2]):
                state.weights[i, c, j] = 0.0
        triangle.set_diagonal(state.covs[i], scale)
        for j in range(state.spread.shape[1]):
            state.spread[i, j] = scale
