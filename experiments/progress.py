"""What a command says while it works: a line on standard error when it begins and now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 30.0  # seconds between two lines

_described: list[Callable[[], str]] = []  # what is being done, the innermost last


def start(name: str) -> None:
    """Say that a command begins, and how far it is now and then, until the process ends."""
    began = time.monotonic()
    _say(f"{name}: started; a line every {EVERY:g} s says how far it is")
    _described.append(lambda: f"{name}: {clock(time.monotonic() - began)} so far")
    threading.Thread(target=_tick, daemon=True).start()


def _tick() -> None:
    while True:
        time.sleep(EVERY)
        if words := _described[-1]():
            _say(words)


@contextmanager
def doing(words: Callable[[], str]) -> Iterator[None]:
    """Describe what is done inside a ``with``; nothing is said where the words are empty."""
    _described.append(words)
    try:
        yield
    finally:
        _described.remove(words)


def of_tasks(title: str, done: int, total: int, seconds: float) -> str:
    """How far some tasks are, and about how long the others will take.

    >>> of_tasks("panel a", 0, 40, 12.0), of_tasks("panel a", 10, 40, 65.0)
    ('panel a: 0 of 40 tasks, 0:12 so far', 'panel a: 10 of 40 tasks, 1:05 so far, 3:15 left')
    """
    left = f", {clock(seconds / done * (total - done))} left" if done else ""
    return f"{title}: {done} of {total} tasks, {clock(seconds)} so far{left}"


def clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock(65.4)
    '1:05'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
