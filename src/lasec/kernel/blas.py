"""BLAS and LAPACK for compiled code, in double and in single precision.

``np.dot`` covers general products. A symmetric matrix needs only half of that work if only one of
its triangles is read and written: NumPy has no name for such products, BLAS has. The routines come
from SciPy (``scipy.linalg.cython_blas``), the same library that numba's ``np.dot`` calls, and the
compiler knows them by name, so that compiled code can be kept on disk. General products are here as
well, because numba compiles these few lines much faster than its own ``np.dot``.

All matrices are C-contiguous and of one type. ``C`` is symmetric, and only its lower triangle,
diagonal included, is touched. BLAS counts columns first: what it calls upper is lower here, a row
of ours is a column of its own, and AB is computed as B'A'.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from lasec.kernel.lean import overload
from lasec.kernel.unmanaged import address, data

_L, _U, _N, _T = (np.uint8(ord(letter)) for letter in "LUNT")
_ONE = np.int32(1)


def _routine(name: str, arguments: int) -> dict[Any, Any]:
    """A routine in both precisions, all of whose arguments are addresses."""
    found = {}
    home = "cython_lapack" if name == "potrf" else "cython_blas"
    for kind, letter in ((types.float64, "d"), (types.float32, "s")):
        symbol = f"lasec_{letter}{name}"
        llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{home}", letter + name))
        found[kind] = types.ExternalFunction(symbol, types.void(*[types.voidptr] * arguments))
    return found


_GEMM, _GEMV = _routine("gemm", 13), _routine("gemv", 11)
_SYMM, _SYMV = _routine("symm", 12), _routine("symv", 10)
_SYRK, _POTRF = _routine("syrk", 10), _routine("potrf", 5)


def _compiled_only(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that exists in compiled code alone: ``make`` gives the one for some types."""

    @wraps(make)
    def stub(*arguments: Any) -> Any:
        raise NotImplementedError("for compiled code only")

    overload(stub)(make)
    return stub


@_compiled_only
def times(X: Any, w: Any, out: Any) -> Any:
    """out <- X w."""
    gemv = _GEMV[X.dtype]

    def compute(X: Any, w: Any, out: Any) -> None:
        n, d = address(np.int32(X.shape[0])), address(np.int32(X.shape[1]))
        one, zero = address(X.dtype.type(1.0)), address(X.dtype.type(0.0))
        step = address(_ONE)
        gemv(address(_T), d, n, one, data(X), d, data(w), step, zero, data(out), step)

    return compute


@_compiled_only
def product(A: Any, B: Any, out: Any) -> Any:
    """out <- A B."""
    gemm = _GEMM[A.dtype]

    def compute(A: Any, B: Any, out: Any) -> None:
        n, k = address(np.int32(A.shape[0])), address(np.int32(A.shape[1]))
        m = address(np.int32(B.shape[1]))
        one, zero, plain = address(A.dtype.type(1.0)), address(A.dtype.type(0.0)), address(_N)
        gemm(plain, plain, m, n, k, one, data(B), m, data(A), k, zero, data(out), m)

    return compute


@_compiled_only
def product_transposed(A: Any, B: Any, out: Any) -> Any:
    """out <- A B', in the first rows and columns of ``out``."""
    gemm = _GEMM[A.dtype]

    def compute(A: Any, B: Any, out: Any) -> None:
        n, k = address(np.int32(A.shape[0])), address(np.int32(A.shape[1]))
        m = address(np.int32(B.shape[0]))
        one, zero = address(A.dtype.type(1.0)), address(A.dtype.type(0.0))
        wide = address(np.int32(out.shape[1]))
        gemm(
            address(_T), address(_N), m, n, k, one, data(B), k, data(A), k, zero, data(out), wide
        )  # fmt: skip

    return compute


@_compiled_only
def symmetric_product(B: Any, C: Any, out: Any) -> Any:
    """out <- B C."""
    symm = _SYMM[C.dtype]

    def compute(B: Any, C: Any, out: Any) -> None:
        d, n = address(np.int32(C.shape[0])), address(np.int32(B.shape[0]))
        one, zero = address(C.dtype.type(1.0)), address(C.dtype.type(0.0))
        symm(address(_L), address(_U), d, n, one, data(C), d, data(B), d, zero, data(out), d)

    return compute


@_compiled_only
def symmetric_times(C: Any, x: Any, out: Any) -> Any:
    """out <- C x."""
    symv = _SYMV[C.dtype]

    def compute(C: Any, x: Any, out: Any) -> None:
        d, step = address(np.int32(C.shape[0])), address(_ONE)
        one, zero = address(C.dtype.type(1.0)), address(C.dtype.type(0.0))
        symv(address(_U), d, one, data(C), d, data(x), step, zero, data(out), step)

    return compute


@_compiled_only
def subtract_squares(C: Any, G: Any) -> Any:
    """C <- C - G'G, all of C."""
    gemm = _GEMM[C.dtype]

    def compute(C: Any, G: Any) -> None:
        d, n = address(np.int32(C.shape[0])), address(np.int32(G.shape[0]))
        minus, one = address(C.dtype.type(-1.0)), address(C.dtype.type(1.0))
        gemm(
            address(_N), address(_T), d, d, n, minus, data(G), d, data(G), d, one, data(C), d
        )  # fmt: skip

    return compute


@_compiled_only
def subtract_squares_below(C: Any, G: Any) -> Any:
    """C <- C - G'G, in the lower triangle of C."""
    syrk = _SYRK[C.dtype]

    def compute(C: Any, G: Any) -> None:
        d, n = address(np.int32(C.shape[0])), address(np.int32(G.shape[0]))
        minus, one = address(C.dtype.type(-1.0)), address(C.dtype.type(1.0))
        syrk(address(_U), address(_N), d, n, minus, data(G), d, one, data(C), d)

    return compute


@_compiled_only
def factorized(A: Any) -> Any:
    """Whether A is positive definite to working precision; its lower triangle is overwritten."""
    potrf = _POTRF[A.dtype]

    def compute(A: Any) -> bool:
        d, info = address(np.int32(A.shape[0])), np.zeros(1, np.int32)
        potrf(address(_U), d, data(A), d, data(info))
        return bool(info[0] == 0)

    return compute
