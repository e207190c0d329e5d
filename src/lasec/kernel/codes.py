"""Which code there is: in lasec's library, compiled by numba on this machine, or the source itself.

``LASEC_CODE=interpreted`` takes the sources, ``LASEC_CODE=jit`` numba alone, and
``LASEC_CODE=library`` the library and else the sources.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from lasec.kernel import functions, library
from lasec.kernel.handle import Handle, Kinds
from lasec.kernel.places import FAILED
from lasec.kernel.sources import symbol

Call = Callable[[int], int]
_free, _held = (
    kind(ctypes.c_int64, ctypes.c_int64) for kind in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE)
)
_look = ctypes.PYFUNCTYPE(*[ctypes.c_int64] * 6)


class Code(NamedTuple):
    """The functions of a rule or a query by name: addresses, if compiled, and their sources.

    ``look`` is that of a rule, to be called from Python.
    """

    addresses: dict[str, int] | None
    plain: functions.Functions
    look: Callable[..., int] | None = None


@cache
def wanted() -> str:
    """Where code may come from: anywhere, unless the environment says otherwise."""
    return os.environ.get("LASEC_CODE", "")


def compiles() -> bool:
    """Whether loops are compiled here."""
    return wanted() != "interpreted" and (has_library() or has_numba())


def has_library() -> bool:
    """Whether lasec's library is there and may be used."""
    return wanted() in {"", "library"} and not library.shipped().flaw


@cache
def has_numba() -> bool:
    """Whether numba is there and may be used."""
    return wanted() in {"", "jit"} and find_spec("numba") is not None


_known: dict[tuple[Kinds, np.dtype[Any] | None], Code] = {}


def code_of(handle: Handle, kind: np.dtype[Any] | None) -> Code:
    """The functions for the rule and state, or query and memory, of a handle.

    ``kind`` is that of the entries of rows; None for a query.
    """
    key = handle.kinds, kind
    code = _known.get(key)
    if code is None:
        code = _known[key] = _found(handle, kind)
    if handle.table[0] != handle.kinds.digest:
        raise ValueError("a handle of other kinds than its code was made for")
    return code


def _found(handle: Handle, kind: np.dtype[Any] | None) -> Code:
    kinds, subject, row = handle.kinds, handle.parts[0], "" if kind is None else str(kind)
    plain = functions.of_query() if kind is None else functions.of_rule(subject, kind)
    if not kinds.is_known or wanted() == "interpreted":
        return Code(None, plain, plain.get("look"))
    symbols = {name: symbol(f"{name} {row}", kinds.text, kinds.types) for name in plain}
    ready = _ready(symbols, kinds.types)
    if ready is None and has_numba():
        ready = jit().functions(handle, kind, symbols, kinds.types)
    if ready is None:
        _hint(subject)
    look = _look(ready["look"]) if ready and "look" in ready else plain.get("look")
    return Code(ready, plain, look)


def _ready(symbols: dict[str, str], types: tuple[type, ...]) -> dict[str, int] | None:
    """Addresses in the library, if it has them all."""
    if not has_library() or not all(kind.__module__.startswith("lasec.") for kind in types):
        return None
    found = {name: library.shipped().address(name_) for name, name_ in symbols.items()}
    return None if None in found.values() else found  # type: ignore[return-value]


_calls: dict[tuple[Any, Kinds, bool], Call | None] = {}


def compiled(function: Any, example: Handle, *, held: bool = False) -> Call | None:
    """The compiled form of a function, to be called with a table such as this one.

    It lets other threads of Python go on, unless the interpreter is ``held``.
    """
    key = function, example.kinds, held
    if key not in _calls:
        address = _address(function, example)
        _calls[key] = None if address is None else (_held if held else _free)(address)
    return _calls[key]


def _address(function: Any, example: Handle) -> int | None:
    kinds, role = example.kinds, f"{function.__module__}.{function.__qualname__}"
    if not (compiles() and kinds.is_known):
        return None
    name = symbol(role, kinds.text, kinds.types)
    ready = _ready({role: name}, kinds.types)
    if ready is not None:
        return ready[role]
    address: int | None = None
    if has_numba():
        address = jit().function(function, example, name, kinds.types)
    return address


def invoke(function: Callable[..., Any], *given: Any) -> int:
    """Call a function, compiled for these arguments if it can be, and has no error to raise."""
    done = called(function, *given) if compiles() else FAILED
    return interpreted(function, *given) if done == FAILED else done


def called(function: Callable[..., Any], *given: Any) -> int:
    """Call a compiled function; ``FAILED`` where there is none, or where it failed."""
    handle = Handle(*given)
    call = compiled(function, handle)
    return FAILED if call is None else call(handle.address)


def interpreted(function: Callable[..., Any], *given: Any) -> int:
    """Call a function as it is written; whole numbers overflow, as in compiled code."""
    with np.errstate(over="ignore"):
        return int(function(*given) or 0)


@cache
def load_products() -> None:
    """Let the library find the matrix products of BLAS; code of this machine has found them."""
    if has_library():
        table = np.array(library.products(), np.int64)
        library.shipped().library.lasec_set_products(ctypes.c_void_p(table.ctypes.data))


def jit() -> Any:
    """What compiles; it takes half a second to import."""
    if has_library() and not library.shipped().is_current:
        _say_once("lasec: the library is older than the sources: run `make build`")
    return importlib.import_module("lasec.kernel.jit")


@cache
def _say_once(words: str) -> None:
    print(words, file=sys.stderr)  # noqa: T201


def _hint(subject: Any) -> None:
    _say_once(
        f"lasec: {type(subject).__name__} is not compiled and takes milliseconds a row; "
        "`pip install lasec[jit]` compiles it"
    )
