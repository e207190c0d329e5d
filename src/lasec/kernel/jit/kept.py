"""Object code that this machine has compiled, kept on disk by the digest of its sources."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numba

from lasec.kernel.jit.emit import Object, here
from lasec.kernel.jit.folder import folder
from lasec.kernel.sources import can_be_kept

_DIGEST = 32  # bytes at the end of a file, of what is before them


def kept(symbol: str, types: tuple[type, ...]) -> Object | None:
    """The object code of a function, if it is there and whole."""
    if not (folder() and can_be_kept(types)):
        return None
    with suppress(OSError):
        data = _path(symbol).read_bytes()
        if hashlib.sha256(data[:-_DIGEST]).digest() == data[-_DIGEST:]:
            needs, _, code = data[:-_DIGEST].partition(b"\n")
            return Object(tuple(needs.decode().split()), code)
    return None


def keep(symbol: str, types: tuple[type, ...], made: Object) -> None:
    """Keep object code; where nothing can be written, each process compiles its own."""
    if not (folder() and can_be_kept(types)):
        return
    path, data = _path(symbol), " ".join(made.needs).encode() + b"\n" + made.data
    draft = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        draft.write_bytes(data + hashlib.sha256(data).digest())
        draft.replace(path)


def _path(symbol: str) -> Path:
    """Code is that of a version of numba, for a processor."""
    machine = f"{numba.__version__} {here()}".encode()
    return Path(folder()) / f"{symbol}-{hashlib.sha256(machine).hexdigest()[:12]}.o"


@cache
def announce(what: str) -> None:
    """Say that something is compiled, which takes seconds."""
    print(f"lasec: compiling {what}, some seconds, once", file=sys.stderr)  # noqa: T201
