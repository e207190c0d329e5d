"""Where compiled loops are kept: a folder that lasec made, and that nobody else can write to.

The folder is ``lasec-compiled/<digest>`` under ``NUMBA_CACHE_DIR`` if that is set, else under the
user's cache folder. The digest is one of all sources that compiled code can come from
(``SOURCES``), of the compiler and of Python: a change in any of them leads to another folder.

numba's index of a folder is a pickle, so reading one is running it. It is read only if this user
alone can have written it: ``lasec-compiled`` and the folder in it belong to this user and have mode
0700, and neither is a symbolic link. Nobody else can then reach what is in them, so that the
files need no look. Nobody else must be able to put another folder in their place either: each
folder above belongs to this user or to root, and others can write to it only if its sticky bit
keeps them from renaming what is not theirs, as in ``/tmp``. Otherwise a warning says which folder
it was, and everything is compiled in each process. Windows keeps users apart by access lists,
which are not looked at here.

A folder that no process has used for a month is removed, but only one that carries the marker
that lasec put there and holds nothing but numba's files; links are never followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

config: Any = numba.config
SOURCES = (
    "kernel", "linalg", "mercer", "murmur", "parameters", "queries", "rules",
    "sparse", "triangle", "types", "validation",
)  # fmt: skip
NAME, MARKER = "lasec-compiled", "made-by-lasec"
_DIGEST = re.compile(r"[0-9a-f]{24}")
_PART = re.compile(r"\w+_[0-9a-f]{40}")  # numba makes such a folder for each folder of sources
_FILE = re.compile(r".+\.nb[ic](\.tmp\.[0-9a-f]{16})?")
_MONTH = 30 * 24 * 3600.0
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
        home = _above().resolve() / NAME
        chosen = home / digest(Path(__file__).parents[1])
        made = _make(chosen)
        flaw = _flaw(chosen)
        if not flaw:
            if made:
                (chosen / MARKER).touch()
                _tidy(home, chosen)
            probe = chosen / f".{os.getpid()}"  # leaves a new time of use on the folder
            probe.touch()
            probe.unlink()
            return str(chosen)
    except (OSError, RuntimeError):
        return ""
    advice = "set NUMBA_CACHE_DIR to a folder that belongs to you and that only you can write to"
    warnings.warn(
        f"lasec does not keep compiled code: {flaw}. Each process compiles its own, which takes "
        f"seconds; to keep it, {advice}",
        RuntimeWarning,
        stacklevel=2,
    )
    return ""


def _above() -> Path:
    """The user's folder for things that can be made again."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _make(chosen: Path) -> bool:
    """Whether the folder was not there and has now been made, for this user alone."""
    made = False
    try:
        chosen.parent.parent.mkdir(parents=True, exist_ok=True)
        for path in (chosen.parent, chosen):
            made = not os.path.lexists(path)
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError:  # looked at in any case: perhaps it is somebody else's
        return False
    return made


def _flaw(chosen: Path) -> str:
    """Why code in this folder may be somebody else's; empty if it cannot be."""
    if sys.platform == "win32":
        return ""
    own = (chosen.parent, chosen)
    for path in (*reversed(chosen.parents), chosen):
        seen = path.lstat()
        if stat.S_ISLNK(seen.st_mode):
            return f"{path} is a symbolic link"
        if not stat.S_ISDIR(seen.st_mode):
            raise NotADirectoryError(path)
        if seen.st_uid != os.geteuid() and (path in own or seen.st_uid != 0):
            return f"{path} belongs to another user"
        if seen.st_mode & 0o077 if path in own else _open(seen):
            return f"other users can get at {path} (mode {stat.S_IMODE(seen.st_mode):o})"
    return ""


def _open(seen: os.stat_result) -> bool:
    """Whether others can rename what is in a folder."""
    writers = seen.st_mode & _OTHERS
    if writers == stat.S_IWGRP and _alone(seen.st_gid):
        return False
    return bool(writers) and not seen.st_mode & stat.S_ISVTX


def _alone(group: int) -> bool:
    """Whether a group has this user only, as the one that Linux makes for each new user."""
    import grp  # noqa: PLC0415 not on Windows
    import pwd  # noqa: PLC0415

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    same = (found.gr_gid, found.gr_name) == (user.pw_gid, user.pw_name)
    return same and set(found.gr_mem) <= {user.pw_name}


def _tidy(home: Path, chosen: Path) -> None:
    """Remove what other versions have left behind and nobody has used for a month."""
    for other in home.iterdir():
        with suppress(OSError):
            if other != chosen and time.time() - other.lstat().st_mtime > _MONTH:
                _remove(other)


def _remove(other: Path) -> None:
    """Remove a folder of ours, file by file; one with anything else in it is left alone."""
    if not (_DIGEST.fullmatch(other.name) and _is(other, stat.S_ISDIR)):
        return
    parts = [p for p in other.iterdir() if _PART.fullmatch(p.name) and _is(p, stat.S_ISDIR)]
    files = [path for path in other.iterdir() if path not in parts]
    marker = other / MARKER
    kept = [path for part in parts for path in part.iterdir()]
    if files != [marker] or not all(_FILE.fullmatch(path.name) for path in kept):
        return
    if all(_is(path, stat.S_ISREG) for path in (marker, *kept)):
        for path in (*kept, marker):
            path.unlink()
        for path in (*parts, other):
            path.rmdir()


def _is(path: Path, kind: Any) -> bool:
    """Whether the path itself, not what it may point at, is of a kind."""
    return bool(kind(path.lstat().st_mode))
