"""The one writer: a thread that takes all that waits, carries it out, commits, and then answers.

Nothing is answered before it is on disk. If a commit fails, or its outcome is unknown, what is in
memory may be ahead of the store: the process ends, and the next one replays the journal.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from lasec.service.errors import Problem
from lasec.service.store import Store, Transaction

log = logging.getLogger("lasec.service")
FAILED = 75  # exit status: try again (EX_TEMPFAIL)
MOST = 256  # jobs that are committed together
LONGEST = 0.002  # seconds that are collected into one commit
Name = tuple[str, str, str]  # tenant, model, and the name of a reply
Known = dict[Name, tuple[str, bytes]]
Call = Callable[[Transaction, float, Known], Any]


class Job(Protocol):
    """Something that may read and write the models and the store."""

    names: Iterable[Name]
    """The replies that the job may have given before."""

    def run(self, tx: Transaction, now: float, known: Known) -> Any:
        """Carry it out, or raise a :class:`Problem` before anything has changed."""

    def done(self, reply: Any) -> None:
        """Hear the reply, or the problem; called in the writer's thread."""


class Writer(threading.Thread):
    """The thread that carries out jobs, in the order in which they came.

    ``at`` is called at named points, for those who test what happens when the process ends there.
    """

    def __init__(
        self, store: Store, *, after: Callable[[Transaction, float, Iterable[Any]], None],
        at: Callable[[str], None] = lambda point: None, room: int = 10_000,
    ) -> None:  # fmt: skip
        super().__init__(name="lasec writer", daemon=True)
        self.store, self._after, self._at = store, after, at
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.room, self.groups = room, 0

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        return self._jobs.qsize()

    def submit(self, job: Job) -> None:
        """Let a job wait its turn, or refuse it where too many wait."""
        if self.waiting >= self.room:
            raise Problem(503, f"{self.waiting:,} requests wait already", retry_after=1.0)
        self._jobs.put(job)

    def stop(self) -> None:
        """Carry out what waits, and end."""
        self._jobs.put(None)
        self.join()

    def run(self) -> None:
        """Take jobs until there is a None."""
        while (first := self._jobs.get()) is not None:
            try:
                if not self._group(first):
                    return
            except BaseException:
                log.exception("a commit failed: the server ends, and replays its journal")
                os._exit(FAILED)

    def _group(self, first: Job) -> bool:
        """Carry out what waits, and commit it together; False if that was all."""
        jobs, end = self._collected(first)
        known = self._known(jobs)
        now = time.time()
        replies: list[Any] = []
        with self.store.transaction() as tx:
            for job in jobs:
                try:
                    replies.append(job.run(tx, now, known))
                except Problem as problem:
                    replies.append(problem)
            tx.flush()
            self._at("before commit")
        self._at("after commit")
        self.groups += 1
        for job, reply in zip(jobs, replies, strict=True):
            job.done(reply)
        if tx.changed:
            with self.store.transaction() as after:
                self._after(after, now, tx.changed)
        return not end

    def _collected(self, first: Job) -> tuple[list[Job], bool]:
        """The jobs that wait by now, and whether a None is among them."""
        jobs, began = [first], time.monotonic()
        while len(jobs) < MOST and time.monotonic() - began < LONGEST:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _known(self, jobs: list[Job]) -> Known:
        """The replies that were given before under the names of these jobs."""
        names = list(dict.fromkeys(name for job in jobs for name in job.names))
        known: Known = {}
        for at in range(0, len(names), 300):
            some = names[at : at + 300]
            marks = ", ".join(["(?, ?, ?)"] * len(some))
            found = self.store.writer.execute(
                self.store.text(
                    "SELECT tenant, model, name, digest, reply FROM replies "
                    f"WHERE (tenant, model, name) IN (VALUES {marks})"
                ),
                [part for name in some for part in name],
            )
            for tenant, model, name, digest, reply in found.fetchall():
                known[tenant, model, name] = digest, bytes(reply)
        return known
