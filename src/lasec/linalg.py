"""The few matrix identities of second-order rules: the only place where they are written.

Plain NumPy that numba compiles as it stands, but for :func:`definite`. ``C`` is symmetric; each
step keeps it so to the last bit: ``g[i] * g[j]`` and ``g[j] * g[i]`` are the same number, and only
that product is scaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.types import Matrix, Vector

__all__ = ["downdate", "inflate", "largest_of_all", "largest_variance", "put", "quadratic"]


def quadratic(C: Matrix, x: Vector) -> float:
    """x'Cx.

    >>> quadratic(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0]))
    3.0
    """
    return float(np.dot(np.dot(C, x), x))


def put(target: NDArray[Any], source: NDArray[Any]) -> None:
    """target <- source, as long as the source is; an assignment of NumPy's may also raise an error.

    >>> numbers = np.zeros(3)
    >>> put(numbers, np.array([1.0, 2.0]))
    >>> numbers.tolist()
    [1.0, 2.0, 0.0]
    """
    for i in range(source.size):
        target[i] = source[i]


def downdate(C: Matrix, g: Vector, factor: float) -> None:
    """C <- C - factor g g', in place.

    With g = Cx and factor = 1/(1 + x'Cx) this is the Sherman-Morrison form of (C^-1 + xx')^-1.

    >>> C = np.eye(2)
    >>> downdate(C, np.array([1.0, 0.0]), 0.5)
    >>> C.tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    for i in range(g.size):
        for j in range(g.size):
            C[i, j] -= factor * (g[i] * g[j])


def inflate(C: Matrix, amount: float) -> None:
    """C <- C + amount I, in place: what a random walk of the target does to a covariance.

    >>> C = np.zeros((2, 2))
    >>> inflate(C, 0.25)
    >>> C.tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    for i in range(C.shape[0]):
        C[i, i] += amount


# A BLAS puts products of this many rows and columns on one thread. Larger ones it cuts up for all
# cores, and where those are busy, a factorization of 260 rows takes 100 times as long as on one.
TILE = 64


def largest_variance(C: Matrix) -> float:
    """The largest entry on the diagonal of C.

    >>> largest_variance(np.diag([1.0, 3.0]))
    3.0
    """
    largest = 0.0
    for i in range(C.shape[0]):
        largest = max(largest, C[i, i])
    return float(largest)


def largest_of_all(covs: NDArray[Any]) -> float:
    """The same of several covariances.

    >>> largest_of_all(np.array([[[1.0]], [[3.0]]]))
    3.0
    """
    largest = 0.0
    for k in range(covs.shape[0]):
        largest = max(largest, largest_variance(covs[k]))
    return largest


def definite(C: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite, to working precision.

    It is Cholesky's factorization, tile by tile. It is never compiled, and reads the upper half.

    >>> definite(np.array([[1.0, 0.5], [0.5, 1.0]])), definite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    (True, False)
    """
    tiles = _tiles(C)
    try:
        for j in range(len(tiles)):
            L = np.linalg.cholesky(tiles[j, j])
            rest = np.linalg.solve(L[None], tiles[j, j + 1 :])
            for k, i in enumerate(range(j + 1, len(tiles))):
                tiles[i, i:] -= np.matmul(rest[k].T, rest[k:])
    except np.linalg.LinAlgError:
        return False
    return True


def _tiles(C: Matrix) -> Matrix:
    """A matrix in square tiles of one size, filled up with ones on the diagonal."""
    n = len(C)
    count = max(1, -(-n // TILE))
    side = -(-n // count)
    whole = np.eye(count * side, dtype=C.dtype)
    whole[:n, :n] = C
    return np.ascontiguousarray(whole.reshape(count, side, count, side).swapaxes(1, 2))
