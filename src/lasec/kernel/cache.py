"""Compiled loops that are kept on disk, and found again only by the sources they were made from.

numba keeps what it has compiled, but looks only at the file of the outermost function to see
whether it is still good; rules, queries and helpers are in other files. So the loops are kept in a
folder named by a digest of all of them (:mod:`lasec.kernel.folder`).
Loops over a rule or a query that is not lasec's own are compiled anew in each process, because
nothing here can know when such a class has changed.

If there is no folder to keep them in, everything works as it does otherwise, and is compiled in
each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from lasec.kernel.folder import folder

njit: Any = numba.njit
config: Any = numba.config
typeof: Any = numba.typeof

# Where a part may hold another one: a query's query, a rule's Mercer kernel.
_NESTED = ("inner", "kernel")


class Entry:
    """A compiled function that is called from Python: kept on disk for lasec's own types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.fresh = njit(nogil=True)(function)
        self.kept = self.fresh if config.DISABLE_JIT or not folder() else self._keep()

    def _keep(self) -> Any:
        """The same function with numba's cache in our folder, or without one: nowhere else."""
        before = config.CACHE_DIR
        config.CACHE_DIR = folder()
        try:
            kept = njit(nogil=True, cache=True)(self.py_func)
        finally:
            config.CACHE_DIR = before
        return kept if kept.stats.cache_path.startswith(folder()) else self.fresh

    def code(self, parts: tuple[object, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code for arguments of these types, without numba's look at each of them.

        ``parts`` are the rules and queries among them. It must only ever be called with arguments
        of these very types; an array that cannot be written counts as one that can.
        """
        if config.DISABLE_JIT:
            return self.py_func
        inner = tuple(
            getattr(part, name) for part in parts for name in _NESTED if hasattr(part, name)
        )
        own = all(type(part).__module__.startswith("lasec.") for part in parts + inner)
        dispatcher = self.kept if own else self.fresh
        types = tuple(_writable(typeof(argument)) for argument in arguments)
        if types not in dispatcher.overloads:
            dispatcher.compile(types)
        code: Callable[..., Any] = dispatcher.overloads[types].entry_point
        return code

    def __call__(self, parts: tuple[object, ...], *arguments: Any) -> Any:
        """Call the function."""
        return self.code(parts, arguments)(*arguments)


def _writable(kind: Any) -> Any:
    """The type itself, but of an array that can be written."""
    return kind.copy(readonly=False) if isinstance(kind, numba.types.Array) else kind
