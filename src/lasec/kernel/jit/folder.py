"""Where compiled code is kept: a folder that lasec made, and that nobody else can write to.

The folder is ``lasec-compiled`` under ``NUMBA_CACHE_DIR`` if that is set, else under the user's
cache folder. Code is loaded only if this user alone can have written it: the folder belongs to this
user, has mode 0700, and is no symbolic link. Nobody else can then reach what is in it. Nobody else
must be able to put another folder in its place either: each folder above belongs to this user or to
root, and others can write to it only if its sticky bit keeps them from renaming what is not theirs,
as in ``/tmp``. Otherwise a warning says which folder it was, and everything is compiled in each
process. Windows keeps users apart by access lists, which are not looked at here.

Code that no process has used for a month is removed; links are never followed.
"""

from __future__ import annotations

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
NAME = "lasec-compiled"
_FILE = re.compile(r"lasec_[0-9a-f]{24}-\S+\.(o|\d+)")
_MONTH = 30 * 24 * 3600.0
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def folder() -> str:
    """Where compiled loops are kept; empty if they cannot be."""
    try:
        chosen = _above().resolve() / NAME
        _make(chosen)
        flaw = _flaw(chosen)
        if not flaw:
            _tidy(chosen)
            probe = chosen / f".{os.getpid()}"
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


def _make(chosen: Path) -> None:
    """Make the folder for this user alone, if it is not there."""
    with suppress(OSError):  # it is looked at in any case: perhaps it is somebody else's
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.mkdir(mode=0o700, exist_ok=True)


def _flaw(chosen: Path) -> str:
    """Why code in this folder may be somebody else's; empty if it cannot be."""
    if sys.platform == "win32":
        return ""
    for path in (*reversed(chosen.parents), chosen):
        seen = path.lstat()
        if stat.S_ISLNK(seen.st_mode):
            return f"{path} is a symbolic link"
        if not stat.S_ISDIR(seen.st_mode):
            raise NotADirectoryError(path)
        if seen.st_uid != os.geteuid() and (path == chosen or seen.st_uid != 0):
            return f"{path} belongs to another user"
        if seen.st_mode & 0o077 if path == chosen else _open(seen):
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


def _tidy(chosen: Path) -> None:
    """Remove code that nobody has used for a month."""
    for path in chosen.iterdir():
        with suppress(OSError):
            seen = path.lstat()
            old = time.time() - max(seen.st_mtime, seen.st_atime) > _MONTH
            if old and _FILE.fullmatch(path.name) and stat.S_ISREG(seen.st_mode):
                path.unlink()
