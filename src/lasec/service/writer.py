"""The one writer: a thread that takes what waits, carries it out, commits, and then answers.

Nothing is answered before it is on disk. A request that fails is undone and answered with 500, and
the others go on. If a commit fails, or its outcome is unknown, what is in memory may be ahead of
the store: the process ends, and the next one replays the journal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from lasec.service.errors import Problem
from lasec.service.store import Store, StoreError, Transaction

log = logging.getLogger("lasec.service")
FAILED = 75  # exit status: try again (EX_TEMPFAIL)
MOST = 256  # jobs that are committed together
NAMES = 300  # names of replies that are looked up together, unless a single job has more
LONGEST = 0.01  # seconds of jobs that are committed together; the others wait for the next commit
SLICE = 0.005  # seconds of CPU time that a job takes before it lets others have their turn
SCRUB = 10.0  # seconds between two tries to get what was erased out of the files
MORE: Final = object()  # what a job replies that is not done: it has another turn
Name = tuple[str, str, str]  # tenant, model, and the name of a reply
Known = dict[Name, tuple[str, bytes]]
Call = Callable[[Transaction, float, Known], object]


class Task(Protocol):
    """What is carried out in slices, each of which may have been carried out before."""

    def names(self) -> Iterable[Name]:
        """The replies that the next slice may have given before."""

    def run(self, tx: Transaction, now: float, known: Known) -> object:
        """Carry out a slice: gives the reply or ``MORE``, or raises a :class:`Problem`."""


Command = Task | Call


class Job:
    """A command of a tenant, which waits its turn.

    Its reply is a future of the event loop, or waited for in a thread. ``size`` is that of the body
    of its request.
    """

    def __init__(
        self, tenant: str, command: Command, loop: asyncio.AbstractEventLoop | None = None,
        size: int = 0,
    ) -> None:  # fmt: skip
        self.tenant, self.size, self._loop = tenant, size, loop
        self.names: Callable[[], Iterable[Name]] = tuple
        if callable(command):
            self.run: Call = command
        else:
            self.names, self.run = command.names, command.run
        self.future: asyncio.Future[Any] | None = None if loop is None else loop.create_future()
        self.event = threading.Event()
        self.reply: Any = None

    def done(self, reply: Any) -> None:
        """Hand the reply, or the problem, to who waits for it; called in the writer's thread."""
        self.reply = reply
        self.event.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        assert self.future is not None
        if self.future.done():
            return  # the caller has gone
        if isinstance(self.reply, Problem):
            self.future.set_exception(self.reply)
        else:
            self.future.set_result(self.reply)


class Failure(Problem):
    """A request that has failed, and was undone."""


class Room(NamedTuple):
    """The number of requests that may wait: of all tenants, and of one."""

    all: int = 10_000
    tenant: int = 1_000
    bytes: int = 64 * 2**20
    """The bodies of one tenant's requests that wait or are carried out."""


class Turns:
    """The jobs that wait, by tenant; a tenant that has been served goes to the end of the line.

    A job that has had a slice and is not done has its turns by itself, between those of the others:
    nobody waits for a slice of it and for their own work after that.

    >>> from types import SimpleNamespace as Of
    >>> turns = Turns()
    >>> jobs = [Of(tenant=tenant, number=number) for number, tenant in enumerate("aaab")]
    >>> for job in jobs:
    ...     turns.put(job)
    >>> [job.number for job in turns.take(3)], turns.of("a"), len(turns)
    ([0, 3, 1], 1, 1)
    >>> turns.put_back([jobs[3], jobs[1]], more=jobs[0])
    >>> [[job.number for job in turns.take(3)] for _ in range(3)]
    [[3], [0], [1, 2]]
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, deque[Job]] = {}
        self._begun: dict[str, Job] = {}  # a tenant's job that is not done: its others wait
        self._alone = False  # whether the last turn was that of such a job
        self._count, self._closed = 0, False

    def __len__(self) -> int:
        return self._count

    def of(self, tenant: str) -> int:
        """The number that wait of one tenant."""
        return len(self._lines.get(tenant, ())) + (tenant in self._begun)

    def put(self, one: Job) -> None:
        """Let something wait at the end of its tenant's line."""
        with self._changed:
            self._lines.setdefault(one.tenant, deque()).append(one)
            self._count += 1
            self._changed.notify()

    def put_back(self, some: list[Job], more: Job | None = None) -> None:
        """Let what was taken, in this order, be the next again; ``more`` has had a slice."""
        with self._changed:
            later, self._lines = self._lines, {}
            for tenant, line in [(one.tenant, [one]) for one in some] + list(later.items()):
                self._lines.setdefault(tenant, deque()).extend(line)
            self._count += len(some)
            if more is not None:
                self._begun[more.tenant], self._alone = more, True
                self._count += 1

    def close(self) -> None:
        """What waits is still given out, and then nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self, most: int) -> list[Job]:
        """The next ones, one of each tenant in turn, or one that is not done.

        Waits for the first; empty if it is closed.
        """
        with self._changed:
            while not self._count and not self._closed:
                self._changed.wait()
            free = {tenant: None for tenant in self._lines if tenant not in self._begun}
            self._alone = bool(self._begun) and not (free and self._alone)
            if self._alone:
                found = [self._begun.pop(next(iter(self._begun)))]
            else:
                found = self._of_each(free, most)
            self._count -= len(found)
            return found

    def _of_each(self, tenants: dict[str, None], most: int) -> list[Job]:
        """One job of each of these tenants in turn."""
        found: list[Job] = []
        while tenants and len(found) < most:
            tenant = next(iter(tenants))
            del tenants[tenant]
            line = self._lines.pop(tenant)
            found.append(line.popleft())
            if line:
                self._lines[tenant], tenants[tenant] = line, None
        return found


class Writer(threading.Thread):
    """The thread that carries out jobs: tenants take turns, each one's jobs keep their order.

    ``after`` is called when something was committed, with the models that were changed; ``doubt``
    with the models that a job had changed in memory before it failed. ``at`` is called at named
    points, for those who test what happens when the process ends there.
    """

    def __init__(
        self, store: Store, *, after: Callable[[float, Iterable[Any]], None],
        doubt: Callable[[Iterable[Any]], None] = lambda models: None,
        at: Callable[[str], None] = lambda point: None, room: Room = Room(),  # noqa: B008
    ) -> None:  # fmt: skip
        super().__init__(name="lasec writer", daemon=True)
        self.store, self._after, self._doubt, self._at = store, after, doubt, at
        self.room = room
        self._turns = Turns()
        self._sizes, self._sizing = Counter[str](), threading.Lock()
        self.groups, self._unscrubbed = 0, 0.0  # when deleted rows were still in a file

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        return len(self._turns)

    def submit(self, job: Job) -> None:
        """Let a job wait its turn, or refuse it where too many wait."""
        if self.waiting >= self.room.all or self._turns.of(job.tenant) >= self.room.tenant:
            raise Problem(503, "too many requests wait already", retry_after=1.0)
        with self._sizing:
            size = self._sizes[job.tenant]
            if size and size + job.size > self.room.bytes:
                raise Problem(503, f"requests of {size:,} bytes wait already", retry_after=1.0)
            self._sizes[job.tenant] = size + job.size
        self._turns.put(job)

    def _done(self, job: Job, reply: Any) -> None:
        """Hand a reply out: the request waits no more."""
        with self._sizing:
            self._sizes[job.tenant] -= job.size
            if not self._sizes[job.tenant]:
                del self._sizes[job.tenant]
        job.done(reply)

    def stop(self) -> None:
        """Carry out what waits, and end."""
        self._turns.close()
        self.join()

    def run(self) -> None:
        """Take jobs until it is stopped."""
        while jobs := self._turns.take(MOST):
            try:
                self._group(jobs)
            except StoreError as error:
                log.critical("%s: the server ends, and replays its journal", error)
                os._exit(FAILED)
            except BaseException:
                log.exception("a commit failed: the server ends, and replays its journal")
                os._exit(FAILED)

    def _group(self, jobs: list[Job]) -> None:
        """Carry out jobs for a while, and commit that together."""
        now = time.time()
        with self.store.transaction() as tx:
            said, left, more = self._in_turn(jobs, tx, now)
            tx.flush()
            self._at("before commit")
        self._at("after commit")
        self._committed(tx)
        self._turns.put_back(left, more)
        for job, reply in said:
            self._done(job, reply)
        if tx.changed:
            self._after(now, tx.changed)

    def _in_turn(
        self, jobs: list[Job], tx: Transaction, now: float
    ) -> tuple[list[tuple[Job, Any]], list[Job], Job | None]:
        """The replies to the jobs that are done, those that had no time, and one with ``MORE``."""
        said, left, known = list[tuple[Job, Any]](), list[Job](), Known()
        until, looked = time.monotonic() + LONGEST, 0  # the replies to the jobs before are known
        halted: set[str] = set()  # tenants whose next jobs need what this commit leaves
        for at, job in enumerate(jobs):
            if job.tenant in halted or (said and time.monotonic() > until):
                left.append(job)
                continue
            if at >= looked:
                looked = self._look_up(jobs, at, halted, known)
            reply = self._carried_out(job, tx, now, known)
            if reply is MORE:  # that was a slice: the others do not wait for more than that
                return said, left + jobs[at + 1 :], job
            if isinstance(reply, Failure):
                halted.add(job.tenant)
            said.append((job, reply))
        return said, left, None

    def _committed(self, tx: Transaction) -> None:
        """Get what was erased out of the files, at once or when nobody reads it any more."""
        self.groups += 1
        if tx.erased or (self._unscrubbed and time.monotonic() > self._unscrubbed + SCRUB):
            self._unscrubbed = 0.0 if self.store.scrub() else time.monotonic()

    def _carried_out(self, job: Job, tx: Transaction, now: float, known: Known) -> object:
        """The reply of a job, ``MORE``, or a problem; what has failed leaves nothing behind."""
        tx.mark()
        try:
            return job.run(tx, now, known)
        except Problem as problem:
            self._undo(tx)
            return problem
        except StoreError:  # whether anything can be committed is in doubt
            raise
        except Exception:
            log.exception("a request has failed")
            self._undo(tx)
            return Failure(500, "see the log of the server")

    def _undo(self, tx: Transaction) -> None:
        """Undo what the last job has written; what it did in memory cannot be undone."""
        self._doubt(tx.touched)
        tx.undo()

    def _look_up(self, jobs: list[Job], begin: int, halted: set[str], known: Known) -> int:
        """Look up the replies that some jobs may have given before; gives the place behind them.

        The jobs from ``begin`` on are looked at just before they are carried out, as many as have
        few names together: those that have no time in this group cost the others nothing.
        """
        names, at = list(jobs[begin].names()), begin + 1
        while at < len(jobs) and len(names) < NAMES:
            more = [] if jobs[at].tenant in halted else list(jobs[at].names())
            if len(names) + len(more) > NAMES:
                break
            names += more
            at += 1
        for name, found in self._found(list(dict.fromkeys(names))):
            known.setdefault(name, found)  # a job of this group may have given a later reply
        return at

    def _found(self, names: list[Name]) -> Iterator[tuple[Name, tuple[str, bytes]]]:
        """The replies of the store under some names."""
        for at in range(0, len(names), NAMES):
            some = names[at : at + NAMES]
            statement = _REPLIES.format(", ".join(["(?, ?, ?)"] * len(some)))
            values = [part for name in some for part in name]
            with self.store.failing():
                found = self.store.writer.execute(self.store.text(statement), values).fetchall()
            for *name, digest, reply in found:
                yield (name[0], name[1], name[2]), (digest, bytes(reply))


_REPLIES = (  # SQLite would look at every reply of all tenants, were the names behind an IN
    "WITH names (tenant, model, name) AS (VALUES {}) "
    "SELECT r.tenant, r.model, r.name, r.digest, r.reply FROM names n CROSS JOIN replies r "
    "WHERE r.tenant = n.tenant AND r.model = n.model AND r.name = n.name"
)
