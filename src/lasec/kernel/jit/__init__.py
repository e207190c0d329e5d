"""numba: what builds lasec's library, and compiles rules and queries of one's own.

Imported only where something has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lasec.kernel import functions as sources
from lasec.kernel.handle import Handle
from lasec.kernel.jit import bridge, products
from lasec.kernel.jit.calls import SIGNATURES, TABLE, kind_of, reader, viewer
from lasec.kernel.jit.emit import bitcode, here, inner, object_code
from lasec.kernel.jit.kept import announce, keep, kept
from lasec.kernel.jit.loaded import load

__all__ = ["bridge", "function", "functions", "products", "written"]

Source = tuple[Callable[..., int], Any]


def functions(
    handle: Handle, kind: np.dtype[Any] | None, symbols: dict[str, str], types: tuple[type, ...]
) -> dict[str, int]:
    """The addresses of the functions of a rule or a query, compiled unless they were kept."""
    made = written(handle, kind)
    return {
        name: _address(symbol, *made[name], types, f"{type(handle.parts[0]).__name__}.{name}")
        for name, symbol in symbols.items()
    }


def function(
    function: Callable[..., Any], example: Handle, symbol: str, types: tuple[type, ...]
) -> int:
    """The address of a function of a table like an example's, compiled unless it was kept."""
    return _address(symbol, *of_table(function, example), types, function.__name__)


def written(handle: Handle, kind: np.dtype[Any] | None) -> dict[str, Source]:
    """The functions of a rule or a query as numba compiles them, and their signatures."""
    read = reader(kind_of(handle.parts))
    if kind is None:
        made = sources.of_query(read)
    else:
        made = sources.of_rule(handle.parts[0], kind, read, viewer(kind))
    return {name: (function, SIGNATURES[name]) for name, function in made.items()}


def of_table(function: Callable[..., Any], example: Handle) -> Source:
    """A function of a table, which hands on the parts that lie there."""
    parts = ", ".join(f"p{i}" for i in range(len(example.parts)))
    says = function.__annotations__["return"] != "None"
    call = f"return inner({parts})" if says else f"inner({parts}); return 0"
    space = {"read": reader(kind_of(example.parts)), "inner": inner(function)}
    exec(f"def of(table):\n    ({parts},) = read(table)\n    {call}", space)  # noqa: S102
    return space["of"], TABLE


def _address(
    symbol: str, made: Callable[..., int], signature: Any, types: tuple[type, ...], what: str
) -> int:
    found = kept(symbol, types)
    if found is None:
        announce(what)
        found = object_code(bitcode(symbol, made, signature), *here())
        keep(symbol, types, found)
    return load(symbol, found)
