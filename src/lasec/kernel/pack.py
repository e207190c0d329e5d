"""Models of a stack as rows of numbers, and back: of a symmetric matrix, one triangle only."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lasec.kernel.blocks import mirror
from lasec.linalg import put
from lasec.types import Counter, Matrix


def pack_whole(array: Matrix, keys: Counter, out: Matrix, begin: int) -> None:
    """Put the rows ``keys`` of ``array`` into the columns of ``out`` from ``begin`` on."""
    for i in range(keys.size):
        put(out[i, begin:], array[keys[i]])


def unpack_whole(array: Matrix, keys: Counter, packed: Matrix, begin: int) -> None:
    """Take the rows ``keys`` of ``array`` from the columns of ``packed`` from ``begin`` on."""
    for i in range(keys.size):
        put(array[keys[i]], packed[i, begin : begin + array.shape[1]])


def pack_lower(array: NDArray[Any], keys: Counter, out: Matrix, begin: int) -> None:
    """As :func:`pack_whole`, the lower triangles of several matrices for each key."""
    for i in range(keys.size):
        place = begin
        for C in array[keys[i]]:
            for row in range(C.shape[0]):
                put(out[i, place:], C[row, : row + 1])
                place += row + 1


def unpack_lower(array: NDArray[Any], keys: Counter, packed: Matrix, begin: int) -> None:
    """As :func:`unpack_whole`, symmetric matrices from their lower triangles."""
    for i in range(keys.size):
        place = begin
        for C in array[keys[i]]:
            for row in range(C.shape[0]):
                put(C[row], packed[i, place : place + row + 1])
                place += row + 1
            mirror(C)


def sum_of_nothing(row: Any) -> float:
    """Zero times each number, added up: zero if they are all finite, and NaN if not."""
    total = row.dtype.type(0.0)
    for value in row:
        total += value * row.dtype.type(0.0)
    return float(total)


def first_infinite(packed: Matrix, begin: int, end: int) -> int:
    """The first row with NaN or infinity in the columns ``begin`` to ``end - 1``, or -1."""
    for i in range(packed.shape[0]):
        if sum_of_nothing(packed[i, begin:end]) != 0.0:
            return i
    return -1
