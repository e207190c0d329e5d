"""Compiled loops that are kept on disk, and found again only by the sources they were made from.

numba keeps what it has compiled, but looks only at the file of the outermost function to see
whether it is still good; rules, queries and helpers are in other files. So the loops are kept in a
folder named by a digest of all sources that compiled code can come from (``SOURCES``): a change in
any of them leads to another folder.
Loops over a rule or a query that is not lasec's own are compiled anew in each process, because
nothing here can know when such a class has changed.

The folder is under ``NUMBA_CACHE_DIR`` if that is set, else under the user's cache folder. If it
cannot be written, everything works as it does otherwise, and is compiled in each process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

njit: Any = numba.njit
config: Any = numba.config
typeof: Any = numba.typeof
SOURCES = ("guards", "kernel", "linalg", "parameters", "queries", "rules", "types")
_MONTH = 30 * 24 * 3600.0


def _home() -> Path:
    """The user's folder for things that can be made again."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def digest(package: Path) -> str:
    """A name for the sources in ``package`` that are compiled, and for the compiler."""
    total = hashlib.blake2b(f"{numba.__version__} {sys.version}".encode(), digest_size=12)
    files = (
        f for room in SOURCES for f in (*package.glob(f"{room}.py"), *package.glob(f"{room}/*.py"))
    )
    for source in sorted(files):
        total.update(f"\0{source.relative_to(package).as_posix()}\0".encode())
        total.update(source.read_bytes())
    return total.hexdigest()


@cache
def folder() -> str:
    """Where compiled loops are kept; empty if they cannot be."""
    try:
        home = _home() / "lasec"
        chosen = home / digest(Path(__file__).parents[1])
        if not chosen.is_dir():
            chosen.mkdir(parents=True, exist_ok=True)
            _tidy(home, chosen)
        probe = chosen / f".{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):
        return ""
    return str(chosen)


def _tidy(home: Path, chosen: Path) -> None:
    """Remove what other versions have left behind and nobody has touched for a month."""
    for other in home.iterdir():
        if other != chosen and time.time() - other.stat().st_mtime > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


class Entry:
    """A compiled function that is called from Python: kept on disk for lasec's own types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.fresh = njit(nogil=True)(function)
        self.kept = self._keep() if folder() else self.fresh

    def _keep(self) -> Any:
        """The same function with numba's cache in our folder."""
        before = config.CACHE_DIR
        config.CACHE_DIR = folder()
        try:
            return njit(nogil=True, cache=True)(self.py_func)
        finally:
            config.CACHE_DIR = before

    def code(self, parts: tuple[object, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code for arguments of these types, without numba's look at each of them.

        ``parts`` are the rules and queries among them. It must only ever be called with arguments
        of these very types; an array that cannot be written counts as one that can.
        """
        if config.DISABLE_JIT:
            return self.py_func
        inner = tuple(part.inner for part in parts if hasattr(part, "inner"))
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
