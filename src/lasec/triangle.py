"""Symmetric matrices of which little more than the lower triangle is kept, in strips of four rows.

The strip of the rows i to i + 3 (i = 0, 4, 8, ...) holds the columns 0 to i + 3 of these rows, one
row after the other. Four rows together keep a processor busy even where they are short, which a
triangle's rows are; the upper half of the last four columns is the price, some per cent of memory.
The number of rows is a multiple of four: :func:`padded`.

Plain NumPy that numba compiles as it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.types import Matrix

Vector = NDArray[Any]  # of any precision

__all__ = [
    "add_diagonal",
    "along",
    "along_diagonal",
    "fade_and_downdate",
    "fade_diagonal",
    "multiply",
    "product",
    "quadratic",
    "set_diagonal",
    "weighted",
]

STRIP = 4


def padded(rows: int) -> int:
    """The next multiple of four.

    >>> padded(5), padded(8)
    (8, 8)
    """
    return -(-rows // STRIP) * STRIP


def size(rows: int) -> int:
    """How many numbers a matrix of so many rows has in strips.

    >>> size(8)
    48
    """
    strips = rows // STRIP
    return STRIP * STRIP * strips * (strips + 1) // 2


def whole(T: Vector, rows: int) -> Matrix:
    """The first rows and columns of the matrix in double precision; or of many matrices.

    >>> T = np.zeros(size(4))
    >>> set_diagonal(T, 2.0)
    >>> whole(T, 2).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    n, begin = padded(rows), 0
    C = np.zeros((*T.shape[:-1], n, n))
    for i in range(0, n, STRIP):
        width = i + STRIP
        strip = T[..., begin : begin + STRIP * width]
        C[..., i:width, :width] = strip.reshape(*T.shape[:-1], STRIP, width)
        begin += STRIP * width
    lower = np.tril(C[..., :rows, :rows])
    made: Matrix = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
    return made


def strips(C: Matrix) -> Matrix:
    """A symmetric matrix in strips, or many; the number of rows is a multiple of four.

    >>> whole(strips(np.eye(4)), 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    parts = [
        C[..., i : i + STRIP, : i + STRIP].reshape(*C.shape[:-2], -1)
        for i in range(0, C.shape[-1], STRIP)
    ]
    return np.concatenate(parts, axis=-1)


def fill(T: Vector, C: Matrix) -> None:
    """The first rows and columns <- C, in place.

    >>> T = np.zeros(size(4))
    >>> fill(T, np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> whole(T, 2).tolist()
    [[2.0, 1.0], [1.0, 3.0]]
    """
    larger = whole(T, padded(len(C)))
    larger[: len(C), : len(C)] = C
    T[:] = strips(larger)


def multiply(T: Vector, x: Vector, out: Vector) -> None:
    """out <- T x.

    >>> T, out = np.ones(size(4)), np.empty(4)
    >>> multiply(T, np.array([1.0, 10.0, 0.0, 0.0]), out)
    >>> out.tolist()
    [11.0, 11.0, 11.0, 11.0]
    """
    begin = 0
    for i in range(0, x.size, STRIP):
        n = i + STRIP
        a, b = T[begin : begin + n], T[begin + n : begin + 2 * n]
        c, d = T[begin + 2 * n : begin + 3 * n], T[begin + 3 * n : begin + 4 * n]
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(i):
            out[j] += (a[j] * p + b[j] * q) + (c[j] * r + d[j] * s)
        p = q = r = s = x.dtype.type(0.0)
        for j in range(n):
            p += a[j] * x[j]
            q += b[j] * x[j]
            r += c[j] * x[j]
            s += d[j] * x[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = p, q, r, s
        begin += STRIP * n


def product(x: Vector, y: Vector) -> float:
    """x'y.

    >>> product(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    total = x.dtype.type(0.0)
    for j in range(x.size):
        total += x[j] * y[j]
    return float(total)


def along(T: Vector, x: Vector, keep: float, more: float, g: Vector) -> float:
    """g <- (keep T + more I) x; gives x'g.

    >>> T, g = np.ones(size(4)), np.empty(4)
    >>> along(T, np.array([1.0, 2.0, 0.0, 0.0]), 1.0, 10.0, g), g.tolist()
    (59.0, [13.0, 23.0, 3.0, 3.0])
    """
    multiply(T, x, g)
    total = x.dtype.type(0.0)
    for j in range(x.size):
        g[j] = keep * g[j] + more * x[j]
        total += x[j] * g[j]
    return float(total)


def quadratic(T: Vector, x: Vector) -> float:
    """x'Tx.

    >>> quadratic(np.ones(size(4)), np.array([1.0, 2.0, 0.0, 0.0]))
    9.0
    """
    total, begin = 0.0, 0
    for i in range(0, x.size, STRIP):
        n = i + STRIP
        a, b = T[begin : begin + n], T[begin + n : begin + 2 * n]
        c, d = T[begin + 2 * n : begin + 3 * n], T[begin + 3 * n : begin + 4 * n]
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        beside = last = x.dtype.type(0.0)
        for j in range(i):
            beside += ((a[j] * p + b[j] * q) + (c[j] * r + d[j] * s)) * x[j]
        for j in range(i, n):
            last += ((a[j] * p + b[j] * q) + (c[j] * r + d[j] * s)) * x[j]
        total += 2.0 * beside + last
        begin += STRIP * n
    return float(total)


def fade_and_downdate(T: Vector, g: Vector, keep: float, factor: float) -> None:
    """T <- keep T - factor g g', in place.

    >>> T = np.ones(size(4))
    >>> fade_and_downdate(T, np.array([1.0, 0.0, 0.0, 0.0]), 0.5, 0.25)
    >>> whole(T, 2).tolist()
    [[0.25, 0.5], [0.5, 0.5]]
    """
    begin = 0
    for i in range(0, g.size, STRIP):
        n = i + STRIP
        a, b = T[begin : begin + n], T[begin + n : begin + 2 * n]
        c, d = T[begin + 2 * n : begin + 3 * n], T[begin + 3 * n : begin + 4 * n]
        p, q, r, s = factor * g[i], factor * g[i + 1], factor * g[i + 2], factor * g[i + 3]
        for j in range(n):
            a[j] = keep * a[j] - p * g[j]
            b[j] = keep * b[j] - q * g[j]
            c[j] = keep * c[j] - r * g[j]
            d[j] = keep * d[j] - s * g[j]
        begin += STRIP * n


def add_diagonal(T: Vector, amount: float) -> None:
    """T <- T + amount I, in place.

    >>> T = np.zeros(size(4))
    >>> add_diagonal(T, 0.25)
    >>> whole(T, 2).tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    begin, i = 0, 0
    while begin < T.size:
        n = i + STRIP
        for k in range(STRIP):
            T[begin + k * n + i + k] += amount
        begin += STRIP * n
        i += STRIP


def set_diagonal(T: Vector, amount: float) -> None:
    """T <- amount I, in place.

    >>> T = np.ones(size(4))
    >>> set_diagonal(T, 2.0)
    >>> whole(T, 2).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    T[:] = 0.0
    add_diagonal(T, amount)


def weighted(D: Vector, x: Vector) -> float:
    """The sum of D_j x_j^2.

    >>> weighted(np.array([1.0, 2.0]), np.array([3.0, 1.0]))
    11.0
    """
    total = x.dtype.type(0.0)
    for j in range(x.size):
        total += D[j] * (x[j] * x[j])
    return float(total)


def along_diagonal(D: Vector, x: Vector, keep: float, more: float, g: Vector) -> float:
    """g <- (keep D + more) x, entry by entry; gives x'g.

    >>> g = np.empty(2)
    >>> along_diagonal(np.array([1.0, 2.0]), np.array([1.0, 3.0]), 1.0, 0.5, g), g.tolist()
    (24.0, [1.5, 7.5])
    """
    total = x.dtype.type(0.0)
    for j in range(x.size):
        g[j] = (keep * D[j] + more) * x[j]
        total += x[j] * g[j]
    return float(total)


def fade_diagonal(D: Vector, g: Vector, keep: float, more: float, factor: float) -> None:
    """D <- keep D + more - factor g^2, entry by entry, in place.

    >>> D = np.array([1.0, 2.0])
    >>> fade_diagonal(D, np.array([1.0, 0.0]), 1.0, 0.5, 0.25)
    >>> D.tolist()
    [1.25, 2.5]
    """
    for j in range(D.size):
        D[j] = keep * D[j] + more - factor * (g[j] * g[j])
