"""Requests that wait for the writer: tenants take turns, each one's requests keep their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar


class Waiting(Protocol):
    """Something that waits, and whose it is."""

    tenant: str


W = TypeVar("W", bound=Waiting)


class Turns(Generic[W]):
    """What waits, by tenant; a tenant that has been served goes to the end of the line.

    >>> from types import SimpleNamespace as Of
    >>> turns = Turns()
    >>> for number, tenant in enumerate("aaab"):
    ...     turns.put(Of(tenant=tenant, number=number))
    >>> [job.number for job in turns.take(3)], turns.of("a"), len(turns)
    ([0, 3, 1], 1, 1)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, deque[W]] = {}
        self._count, self._closed = 0, False

    def __len__(self) -> int:
        return self._count

    def of(self, tenant: str) -> int:
        """The number that wait of one tenant."""
        line = self._lines.get(tenant)
        return 0 if line is None else len(line)

    def put(self, one: W) -> None:
        """Let something wait at the end of its tenant's line."""
        with self._changed:
            self._lines.setdefault(one.tenant, deque()).append(one)
            self._count += 1
            self._changed.notify()

    def put_back(self, some: Iterable[W]) -> None:
        """Let what was taken, in this order, be the next of its tenant again."""
        with self._changed:
            for one in reversed(list(some)):
                self._lines.setdefault(one.tenant, deque()).appendleft(one)
                self._count += 1

    def close(self) -> None:
        """What waits is still given out, and then nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self, most: int) -> list[W]:
        """The next ones, one of each tenant in turn; waits for the first, empty if it is closed."""
        with self._changed:
            while not self._count and not self._closed:
                self._changed.wait()
            found: list[W] = []
            while self._lines and len(found) < most:
                tenant = next(iter(self._lines))
                line = self._lines.pop(tenant)
                found.append(line.popleft())
                if line:
                    self._lines[tenant] = line
            self._count -= len(found)
            return found
