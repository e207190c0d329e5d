"""Compiled loops that are cached on disk, by the sources they were compiled from.

numba keeps what it has compiled, but looks only at the file of the outermost function to see
whether it is still valid; rules, queries and helpers are in other files. So the loops are kept in a
folder named by a digest of all of them (:mod:`lasec.kernel.folder`).
Loops over a rule or a query that is not lasec's own are compiled in each process, because changes
in such a class cannot be detected here.

Without a usable folder, everything works the same, and is compiled in each process. So it does with
damaged files in it, and on a full disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from lasec.kernel.folder import folder
from lasec.kernel.lean import outermost

njit: Any = numba.njit
config: Any = numba.config
typeof: Any = numba.typeof
_named_tuple: Any = numba.types.NamedTuple
_NUMBA_ERROR: Any = numba.core.errors.NumbaError

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
        """The machine code for arguments of these types, without numba's type check of each call.

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
            with outermost():
                dispatcher = self._compiled(dispatcher, types)
        code: Callable[..., Any] = dispatcher.overloads[types].entry_point
        return code

    def _compiled(self, dispatcher: Any, types: tuple[Any, ...]) -> Any:
        """The dispatcher that has code for these types: a cache that fails is only passed over.

        Where nothing can be written, what was compiled is there all the same. A file that cannot be
        read is replaced, and if that fails too, this process keeps nothing.
        """
        try:
            dispatcher.compile(types)
        except Exception as error:
            if dispatcher is self.fresh or isinstance(error, _NUMBA_ERROR):
                raise
            if types not in dispatcher.overloads:
                try:
                    dispatcher._cache.flush()
                    dispatcher.compile(types)
                except Exception:
                    dispatcher = self.kept = self.fresh
                    dispatcher.compile(types)
        return dispatcher

    def __call__(self, parts: tuple[object, ...], *arguments: Any) -> Any:
        """Call the function."""
        return self.code(parts, arguments)(*arguments)


def _writable(kind: Any) -> Any:
    """The type itself, but of arrays that can be written, those of a NamedTuple as well."""
    if isinstance(kind, numba.types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    if isinstance(kind, numba.types.NamedTuple):
        tuple_: Any = kind
        members = [_writable(member) for member in tuple_.types]
        if any(new is not old for new, old in zip(members, tuple_.types, strict=True)):
            return _named_tuple(members, tuple_.instance_class)
    return kind
