"""The matrix products of :mod:`lasec.kernel.blocks`, by SciPy's BLAS.

BLAS takes all of its arguments as addresses, and counts columns first: what it calls upper is lower
here, a row of ours is a column of its own, and AB is computed as B'A'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as _types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic as _intrinsic
from numba.np import arrayobj as _arrayobj

from lasec.kernel import blocks
from lasec.kernel.blocks import NARROW
from lasec.kernel.jit.lean import overload
from lasec.types import Matrix, Vector

types: Any = _types
cgutils: Any = _cgutils
arrayobj: Any = _arrayobj
intrinsic: Any = _intrinsic


def _data(typing_context: Any, array: Any) -> Any:
    """Where the numbers of an array begin."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = arrayobj.make_array(array)(context, builder, arguments[0])
        return builder.bitcast(given.data, cgutils.voidptr_t)

    return types.voidptr(array), generate


def _address(typing_context: Any, value: Any) -> Any:
    """Where a copy of a number lies, for as long as the calling function runs."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        slot = cgutils.alloca_once_value(builder, arguments[0])
        return builder.bitcast(slot, cgutils.voidptr_t)

    return types.voidptr(value), generate


data: Callable[[Any], Any] = intrinsic(_data)
address: Callable[[Any], Any] = intrinsic(_address)


def _routine(name: str, arguments: int) -> Any:
    """A routine of BLAS in double precision, all of whose arguments are addresses."""
    return types.ExternalFunction(f"lasec_{name}", types.void(*[types.voidptr] * arguments))


_GEMM, _GEMV = _routine("dgemm", 13), _routine("dgemv", 11)
_SYMM, _SYRK = _routine("dsymm", 12), _routine("dsyrk", 10)
_L, _U, _N, _T = (np.uint8(ord(letter)) for letter in "LUNT")
_ONE = np.int32(1)


def _times(X: Matrix, w: Vector, out: Vector) -> None:
    n, d, step = address(np.int32(X.shape[0])), address(np.int32(X.shape[1])), address(_ONE)
    one, zero, turned = address(1.0), address(0.0), address(_T)
    _GEMV(turned, d, n, one, data(X), d, data(w), step, zero, data(out), step)


def _multiply(X: Matrix, C: Matrix, out: Matrix) -> None:
    n, d = address(np.int32(X.shape[0])), address(np.int32(X.shape[1]))
    one, zero, plain = address(1.0), address(0.0), address(_N)
    if C.shape[0] < NARROW:
        _GEMM(plain, plain, d, n, d, one, data(C), d, data(X), d, zero, data(out), d)
    else:
        left, upper = address(_L), address(_U)
        _SYMM(left, upper, d, n, one, data(C), d, data(X), d, zero, data(out), d)


def _multiply_by(A: Matrix, G: Matrix, out: Matrix) -> None:
    n, d = address(np.int32(A.shape[0])), address(np.int32(A.shape[1]))
    m, wide = address(np.int32(G.shape[0])), address(np.int32(out.shape[1]))
    one, zero, turned, plain = address(1.0), address(0.0), address(_T), address(_N)
    _GEMM(turned, plain, m, n, d, one, data(G), d, data(A), d, zero, data(out), wide)


def _finish(C: Matrix, G: Matrix, swell: float) -> None:
    d, n = address(np.int32(C.shape[0])), address(np.int32(G.shape[0]))
    minus, one, plain, turned = address(-1.0), address(1.0), address(_N), address(_T)
    if C.shape[0] < NARROW:
        _GEMM(plain, turned, d, d, n, minus, data(G), d, data(G), d, one, data(C), d)
    else:
        _SYRK(address(_U), plain, d, n, minus, data(G), d, one, data(C), d)
    for i in range(C.shape[0]):
        C[i, i] += swell


overload(blocks.times)(lambda X, w, out: _times)
overload(blocks.multiply)(lambda X, C, out: _multiply)
overload(blocks.multiply_by)(lambda A, G, out: _multiply_by)
overload(blocks.finish)(lambda C, G, swell: _finish)
