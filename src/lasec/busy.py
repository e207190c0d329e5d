"""One thread at a time: a second one is told so, before it can change anything."""

from __future__ import annotations

from threading import Lock
from typing import Any


class Busy:
    """Held while an object is read or written; any other call meanwhile raises RuntimeError.

    Compiled loops run without Python's global lock, so that two threads in one model would write
    the same arrays. Waiting instead would hide that the order of the rows is left to chance.

    >>> busy = Busy("learner")
    >>> with busy:
    ...     with busy:
    ...         pass
    Traceback (most recent call last):
    RuntimeError: this learner is in use by another thread: give each thread its own, or ...
    """

    __slots__ = ("_lock", "_what")

    def __init__(self, what: str) -> None:
        self._what, self._lock = what, Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                f"this {self._what} is in use by another thread: give each thread its own, or "
                "hold a lock of your own around every call"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return Busy, (self._what,)  # a copy is in use by nobody
