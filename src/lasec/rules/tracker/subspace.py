"""Wide rows: a few directions with a full covariance, and a variance for each feature besides.

A row u of d features is split by an orthonormal basis B (k rows of length d) that all hypotheses
share: c = Bu, and what is left, r = u - B'c. The posterior has a full covariance for c (with the
intercept and the last label), and one variance for each entry of r::

    z = (c, intercept, last label),   m = w_z'z + w_r'r,   v = z'Pz + sum of D_j r_j^2

B spans the directions in which rows vary most. It follows the rows that are asked about, labeled
or not: more and more rarely, up to each ``EVERY``-th, one is put into a sample. When it is full,
the next label renews the basis, as in incremental principal components (Ross, Lim, Lin and Yang,
2008): the k leading directions of the sample and of the basis so far, which counts for up to
``BEHIND`` samples. What is known is carried over. With R = B B+', and the weights of a state in the
features' own coordinates, w = B'w_c + w_r::

    w_c <- B+ w,   w_r <- w - B+'w_c,   P_cc <- R'P_cc R + mean(D) (I - R'R),   P_cz <- R'P_cz

D stays. Until the first renewal B is the first k features.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.types import Matrix, Vector

__all__ = ["is_due", "project", "sample_row"]

BLOCK, WIDE = 64, 192
KEPT, EVERY, BEHIND = 64, 16, 8.0
FIRST = 32  # rows before the first renewal
_FLAT = 1e-9

Single = NDArray[np.float32]


def block_of(block: int, dimension: int) -> int:
    """How many directions have a full covariance; -1 chooses by the number of features.

    >>> block_of(-1, 192), block_of(-1, 193), block_of(8, 5), block_of(0, 5)
    (192, 64, 5, 0)
    """
    if block < 0:
        return dimension if dimension <= WIDE else BLOCK
    return min(block, dimension)


def project(basis: Single, r: Vector, c: Vector) -> None:
    """c <- B r, and r <- r - B'c, in the precision of the basis.

    >>> r, c = np.array([3.0, 4.0]), np.empty(1)
    >>> project(np.array([[0.0, 1.0]], np.float32), r, c)
    >>> c.tolist(), r.tolist()
    ([4.0], [3.0, 0.0])
    """
    left = np.empty(r.size, basis.dtype)
    for j in range(r.size):
        left[j] = r[j]
    for i in range(basis.shape[0]):
        total = basis.dtype.type(0.0)
        for j in range(r.size):
            total += basis[i, j] * left[j]
        c[i] = total
    for i in range(basis.shape[0]):
        amount = basis.dtype.type(c[i])
        for j in range(r.size):
            left[j] -= amount * basis[i, j]
    for j in range(r.size):
        r[j] = left[j]


def sample_row(counted: Any, u: Vector, number: int) -> None:
    """Keep the row of this number, from 0, if it is one of those that the basis is made of."""
    kept, counts = counted.sample, counted.sampled
    if kept.shape[0] == 0 or number % max(1, min(EVERY, number // KEPT)) != 0:
        return
    place = int(counts[0]) % KEPT
    for j in range(u.size):
        kept[place, j] = u[j]
    counts[0] += 1


def is_due(counted: Any) -> bool:
    """Whether enough rows were kept for another basis."""
    counts = counted.sampled
    return bool(counts.size > 0 and counts[0] >= (FIRST if counts[1] == 0 else KEPT))


def renew_basis(core: Any, counted: Any) -> None:
    """The basis that the rows of the sample lead to; all states are carried over, in place."""
    counts, before, state = counted.sampled, core.basis.astype(np.float64), core.dense
    rows = min(int(counts[0]), KEPT)
    share = rows / (min(float(counts[1]), BEHIND * KEPT) + rows)
    after, energy = leading(before, (1.0 - share) * counted.energy, counted.sample[:rows], share)
    k, n = len(after), state.weights.shape[2] - state.spread.shape[1]
    alive, R = np.flatnonzero(core.mixture.weight), before @ after.T
    w = state.weights[alive][:, :, :k] @ before + state.weights[alive][:, :, n:]
    inside = w @ after.T
    state.weights[alive, :, :k], state.weights[alive, :, n:] = inside, w - inside @ after
    P = triangle.whole(state.covs[alive], n)
    P[:, :k] = R.T @ P[:, :k]
    P[:, :, :k] = P[:, :, :k] @ R
    outside = state.spread[alive].mean(axis=1)[:, None, None]
    P[:, :k, :k] += outside * (np.eye(k) - R.T @ R)
    state.covs[alive] = triangle.strips(P)
    counted.energy[:], core.basis[:] = energy, after
    counts[0], counts[1] = 0, counts[1] + rows


def leading(before: Matrix, energy: Vector, rows: Single, share: float) -> tuple[Matrix, Vector]:
    """The leading directions of the old basis, by its energies, with a share of new rows.

    >>> rows = np.array([[0.0, 3.0], [0.1, -3.0]], np.float32)
    >>> basis, energy = leading(np.array([[1.0, 0.0]]), np.array([1.0]), rows, share=0.5)
    >>> np.abs(basis).round(2).tolist(), energy.round(1).tolist()
    ([[0.02, 1.0]], [4.5])
    """
    k = len(before)
    M = np.vstack([np.sqrt(energy)[:, None] * before, math.sqrt(share / len(rows)) * rows])
    values, vectors = np.linalg.eigh(M @ M.T)
    values, vectors = values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
    found = int((values > _FLAT * values[0]).sum())
    leads = vectors[:, :found].T @ M / np.sqrt(values[:found, None])
    if found < k:  # the rows span too few directions: the old basis has the rest
        others = before - (before @ leads.T) @ leads
        more = np.linalg.svd(others, full_matrices=False)[2][: k - found]
        leads = np.vstack([leads, more])
    return leads, np.where(np.arange(k) < found, values, 0.0)
