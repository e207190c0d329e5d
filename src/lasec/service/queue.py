"""What is counted of a model's questions, so that nobody has to count them again in the store."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from lasec.service.settings import DAY
from lasec.service.store import Store

SPARE = 64  # entries of a line of times that may be outdated
_WAITING = "q.tenant = ? AND q.model = ? AND q.status IN ('open', 'settled')"


K = TypeVar("K", int, tuple[int, str])


class Times(Generic[K]):
    """What is due at a time each, of which the next is found without a look at the others.

    >>> times = Times[int]()
    >>> for key, at in ((7, 3.0), (8, 2.0), (7, 1.0)):
    ...     times.put(key, at)
    >>> times.drop(8)
    >>> times.is_due(0.5), times.take(5.0), times.take(5.0)
    (False, 7, None)
    """

    def __init__(self) -> None:
        self._at: dict[K, float] = {}
        self._line: list[tuple[float, K]] = []

    def put(self, key: K, at: float) -> None:
        """Let something be due then, and not when it was before."""
        self._at[key] = at
        heappush(self._line, (at, key))
        if len(self._line) > 2 * len(self._at) + SPARE:
            line = [(at, key) for key, at in self._at.items()]
            heapify(line)
            self._line = line

    def drop(self, key: K) -> None:
        """Something is not due any more; nothing where it is not known."""
        self._at.pop(key, None)

    def is_due(self, now: float) -> bool:
        """Whether something may be due; in any thread."""
        return any(at <= now for at, _ in self._line[:1])

    def take(self, now: float) -> K | None:
        """The next that is due, which is taken; None if nothing is."""
        while self._line and self._line[0][0] <= now:
            at, key = heappop(self._line)
            if self._at.get(key) == at:
                del self._at[key]
                return key
        return None


class Queue:
    """The questions of a model that people can answer, and to which of them each has replied.

    It is made of the store when a model is read, and changed by the writer alone.

    >>> queue = Queue()
    >>> for ticket in (3, 5, 9):
    ...     queue.add(ticket, now=0.0)
    >>> queue.said(3, "ann")
    >>> queue.said(5, "ann", until=600.0)  # "later"
    >>> queue.waiting("ann", now=10.0), queue.waiting("ann", now=600.0), queue.waiting("bob", 0.0)
    (1, 2, 3)
    >>> queue.close(3)
    >>> queue.waiting("ann", now=600.0), queue.waiting("bob", now=600.0), queue.today(now=600.0)
    (2, 2, 3)
    """

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._said: dict[int, set[str]] = {}
        self._counts: Counter[str] = Counter()
        self._later: dict[str, Times[int]] = {}
        self.held: Times[tuple[int, str]] = Times()
        self._first: dict[str, int] = {}
        self._last, self._day, self._today = -1, 0.0, 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, ticket: int, now: float) -> None:
        """A question is asked."""
        self._open.add(ticket)
        self._last = max(self._last, ticket)
        self._turn(now)
        self._today += 1

    def close(self, ticket: int) -> None:
        """A question can be answered no longer; nothing where it is not known."""
        if ticket in self._open:
            self._open.remove(ticket)
            self._counts.subtract(self._said.pop(ticket, ()))

    def said(self, ticket: int, person: str, until: float | None = None) -> None:
        """A person has said something to a question, or wants it again ``until`` then."""
        if ticket in self._open and person not in self._said.setdefault(ticket, set()):
            self._said[ticket].add(person)
            self._counts[person] += 1
        self.held.drop((ticket, person))
        if until is not None:
            self._later.setdefault(person, Times()).put(ticket, until)
        elif person in self._later:
            self._later[person].drop(ticket)

    def hold(self, ticket: int, person: str, due: float) -> None:
        """A person has given an answer that can be taken back until it is due."""
        self.said(ticket, person)
        self.held.put((ticket, person), due)

    def unsaid(self, ticket: int, person: str) -> None:
        """What a person has said to a question is taken back."""
        if person in self._said.get(ticket, ()):
            self._said[ticket].remove(person)
            self._counts[person] -= 1
        self.held.drop((ticket, person))
        if person in self._later:
            self._later[person].drop(ticket)
        for each, first in self._first.items():  # there is room for another one again
            self._first[each] = min(ticket, first)

    def waiting(self, person: str, now: float) -> int:
        """The number of questions to which a person has said nothing, or "later" long ago."""
        later = self._later.get(person)
        while later is not None and (ticket := later.take(now)) is not None:
            self.unsaid(ticket, person)
        return len(self._open) - self._counts[person]

    def first(self, person: str) -> int:
        """No question before this one waits for a person: they or enough others have answered."""
        return self._first.get(person, 0)

    def begin_at(self, person: str, ticket: int | None) -> None:
        """Remember the first question that waits for a person; None if there is none."""
        self._first[person] = self._last + 1 if ticket is None else ticket

    def today(self, now: float) -> int:
        """The number of questions asked since midnight (UTC)."""
        self._turn(now)
        return self._today

    def _turn(self, now: float) -> None:
        if now - now % DAY != self._day:
            self._day, self._today = now - now % DAY, 0

    @classmethod
    def read(cls, store: Store, tenant: str, model: str, now: float) -> Queue:
        """The questions in a store."""
        made, key = cls(), (tenant, model)
        made._turn(now)
        for (ticket,) in store.read(f"SELECT q.ticket FROM questions q WHERE {_WAITING}", *key):
            made.add(ticket, now)
        for ticket, person, status, due in store.read(
            "SELECT q.ticket, a.person, a.status, a.due FROM questions q JOIN answers a ON "
            f"a.tenant = q.tenant AND a.model = q.model AND a.ticket = q.ticket WHERE {_WAITING}",
            *key,
        ):
            made.said(ticket, person, due if status == "later" else None)
        for ticket, person, due in store.read(
            "SELECT ticket, person, due FROM answers "
            "WHERE tenant = ? AND model = ? AND status = 'held'", *key,
        ):  # fmt: skip
            made.held.put((ticket, person), due)
        order = sorted(made._open)
        for person in made._counts:
            unsaid = (ticket for ticket in order if person not in made._said.get(ticket, ()))
            made.begin_at(person, next(unsaid, None))
        ((made._today,),) = store.read(
            "SELECT count(*) FROM questions WHERE tenant = ? AND model = ? AND asked_at >= ?",
            *key, made._day,
        )  # fmt: skip
        return made
