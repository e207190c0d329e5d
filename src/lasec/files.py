"""Files that are written all or nothing, and are private from their first byte.

A draft is written next to the target, and takes its place when all of it is on disk::

    .model.lasec.<16 hex digits>.tmp      mode 0600, locked by its writer as long as it lives

A writer that is killed leaves its draft behind, without a lock: the next one that writes the same
target removes it. A draft whose lock is held belongs to somebody who is still writing, and stays.
Where there are no such locks (Windows, some network drives), nothing is removed.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN
_LOOK = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _PLAIN
_LONGEST = 200  # bytes of the target's name in that of its draft: names end at 255
_PRIVATE, _PUBLIC = 0o600, 0o666  # the second less the umask


def write(
    path: str | os.PathLike[str], data: bytes | Iterable[bytes], *, private: bool = True
) -> None:
    """Write a file, all of it or nothing; ``data`` is its bytes, or gives them in parts.

    A new file is readable by its owner alone (mode 0600) unless it is not ``private``; one that
    exists keeps its mode. Where ``path`` is a symbolic link, the file that it points to is written.
    Anything but a regular file is refused with an ``OSError``.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "model.lasec")
    >>> write(file, b"all of it")
    >>> file.read_bytes(), oct(file.stat().st_mode & 0o777)
    (b'all of it', '0o600')
    """
    target = _resolved(path)
    mode = _mode(target)
    _remove_orphans(target)
    with _draft(target, _PRIVATE if private or mode is not None else _PUBLIC) as (draft, file):
        file.writelines([data] if isinstance(data, bytes) else data)
        file.flush()
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
        if fcntl is None:
            file.close()  # Windows replaces no open file
        draft.replace(target)
    _sync_folder(target.parent)


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The file that is meant, its links followed once; nothing is followed after that."""
    try:
        return Path(path).resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path)) from error


def _mode(target: Path) -> int | None:
    """The mode of a file that exists, or None; an error if it is anything but a regular file."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "not a regular file, so nothing is saved there", str(target))
    return stat.S_IMODE(found) & 0o777


@contextmanager
def _draft(target: Path, mode: int) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new draft that is locked; it is gone afterwards, under this name at least."""
    draft, handle = _begin(target, mode)
    with os.fdopen(handle, "wb") as file:
        try:
            yield draft, file
        finally:
            with suppress(OSError):
                draft.unlink()


def _begin(target: Path, mode: int) -> tuple[Path, int]:
    """Make and lock a draft; again, if somebody took it for an orphan in between."""
    while True:
        draft = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
        handle = os.open(draft, _NEW, mode)
        if fcntl is not None:
            with suppress(OSError):  # a drive without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return draft, handle
        os.close(handle)


def _prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_LONGEST])}."


def _remove_orphans(target: Path) -> None:
    """Remove the drafts of this target whose writers are dead."""
    if fcntl is None:
        return
    name = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{16}\.tmp")
    drafts: list[str] = []
    with suppress(PermissionError), os.scandir(target.parent) as entries:
        drafts = [entry.path for entry in entries if name.fullmatch(entry.name)]
    for draft in drafts:
        with suppress(OSError):  # somebody else's, or gone
            handle = os.open(draft, _LOOK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(draft)
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut too."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder that may be written but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a drive that cannot do it
            raise
    finally:
        os.close(handle)
