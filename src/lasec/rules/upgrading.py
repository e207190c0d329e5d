"""States of the Tracker from before rows were in units of the standard deviation.

In files of that time, ``units`` are one over the root mean square, and the posterior is about rows
in these units. A row was u = D z then, if z is the row as it is seen now, with D the old unit of
each feature over the new one. So w'u = (Dw)'z: the weights Dw with the covariance D P D say the
same about every row that is not shortened, as of the last label; drift since then is towards the
prior in the new units. Of wide rows (:mod:`lasec.rules.subspace`) the weights are carried over
exactly as well, the variances outside the basis only about.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec import triangle
from lasec.rules.seen import renew
from lasec.types import Vector

_CLOSE = 1e-6


def upgrade(state: Any) -> None:
    """Bring a state from before to the present units, in place; any other stays as it is."""
    if follows(state) or not _by_mean_square(state):
        return
    before, scale = state.units.copy(), np.ones_like(state.units)
    with np.errstate(all="ignore"):
        renew(state)
        np.divide(before, state.units, out=scale, where=state.units > 0.0)
        _carry(state, scale[:-1], scale[-1])


def follows(state: Any) -> bool:
    """Whether the units of the features are what the means and the mean squares lead to."""
    fresh, known = state._replace(units=np.empty_like(state.units)), state.squares > 0.0
    with np.errstate(all="ignore"):  # a file may hold any numbers
        renew(fresh)
        same = np.abs(state.units - fresh.units) <= _CLOSE * fresh.units
    return bool(same[:-1][known].all())


def _by_mean_square(state: Any) -> bool:
    """Whether the units are one over the root mean square."""
    known = state.squares > 0.0
    with np.errstate(all="ignore"):
        roots = state.units[:-1][known] * np.sqrt(state.squares[known])
        return bool((np.abs(roots - 1.0) <= _CLOSE).all() and 0.0 < state.units[-1] <= 2.0)


def _carry(state: Any, scale: Vector, intercept: float) -> None:
    """Weights and covariances <- those for rows in other units."""
    rest, n = state.spread.shape[1], state.weights.shape[2] - state.spread.shape[1]
    B = state.basis.astype(np.float64) if rest else np.eye(scale.size)
    k = len(B)
    M = (B * scale) @ B.T
    P = triangle.whole(state.covs, n)
    P[:, :k] = M @ P[:, :k]
    P[:, :, :k] = P[:, :, :k] @ M.T
    P[:, k] *= intercept
    P[:, :, k] *= intercept
    state.weights[:, :, k] *= intercept
    if rest:
        c, r = state.weights[:, :, :k], state.weights[:, :, n:]
        w = ((c - r @ B.T) @ B + r) * scale
        c[:], r[:] = w @ B.T, w - (w @ B.T) @ B
        outside = B * scale - M @ B
        P[:, :k, :k] += (outside * state.spread[:, None, :]) @ outside.T
        state.spread[:] *= scale**2
        state.sample[:] /= scale
    else:
        state.weights[:, :, :k] *= scale
    state.covs[:] = triangle.strips(P)
