"""What is counted of a model's questions, so that nobody has to count them again in the store."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from lasec.service.settings import DAY
from lasec.service.store import Store

SPARE = 64  # entries of a line of times that may be outdated
ANSWERS = ("held", "told", "recorded")  # what people have said, and what counts as an answer
_WAITING = "q.tenant = ? AND q.model = ? AND q.status IN ('open', 'settled')"
_OF = "o.tenant = q.tenant AND o.model = q.model AND o.ticket = q.ticket"
_QUESTIONS = f"SELECT q.ticket, q.wanted FROM questions q WHERE {_WAITING} ORDER BY q.ticket"
_SAID = (
    "SELECT q.ticket, o.person, o.status, o.due FROM questions q JOIN answers o "
    f"ON {_OF} WHERE {_WAITING}"
)
_LEASES = (
    f"SELECT q.ticket, o.person, o.until FROM questions q JOIN leases o ON {_OF} WHERE {_WAITING}"
)
_HELD = "SELECT ticket, person, due FROM answers WHERE tenant = ? AND model = ? AND status = 'held'"
_TODAY = "SELECT count(*) FROM questions WHERE tenant = ? AND model = ? AND asked_at >= ?"


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
    """The questions of a model that people can answer: who has replied to which, and has leases.

    It is made of the store when a model is read, and changed by the writer alone. The questions
    that have room for one more person are in a line of their own, so that a lease does not look at
    all those that are with somebody.

    >>> queue = Queue()
    >>> for ticket in (3, 5, 9):
    ...     queue.add(ticket, now=0.0)
    >>> queue.lease("ann", now=0.0, count=2, until=300.0), queue.lease("bob", 0.0, 2, 300.0)
    ([3, 5], [9])
    >>> queue.said(3, "ann")
    >>> queue.said(5, "ann", until=600.0)  # "later"
    >>> queue.waiting("ann", now=10.0), queue.waiting("ann", now=600.0), queue.waiting("bob", 0.0)
    (1, 2, 3)
    >>> queue.close(3)
    >>> queue.waiting("ann", now=600.0), queue.waiting("bob", now=600.0), queue.today(now=600.0)
    (2, 2, 3)
    """

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}  # people for each open question
        self._said: dict[int, dict[str, bool]] = {}  # by whom, and whether it is an answer
        self._counts: Counter[str] = Counter()
        self._later: dict[str, Times[int]] = {}
        self.held: Times[tuple[int, str]] = Times()
        self._leases: dict[int, set[str]] = {}
        self._mine: dict[str, set[int]] = {}  # the same by person
        self._ends: Times[tuple[int, str]] = Times()
        self._free: list[int] = []  # questions with room for another person, in order
        self._first: dict[str, int] = {}  # a person has said something to all free ones before
        self._last, self._day, self._today = -1, 0.0, 0

    def __len__(self) -> int:
        return len(self._wanted)

    def add(self, ticket: int, now: float, wanted: int = 1) -> None:
        """A question is asked, for so many people."""
        self._wanted[ticket] = wanted
        self._last = max(self._last, ticket)
        self._settle(ticket)
        self._turn(now)
        self._today += 1

    def close(self, ticket: int) -> None:
        """A question can be answered no longer; nothing where it is not known."""
        if self._wanted.pop(ticket, None) is not None:
            self._counts.subtract(self._said.pop(ticket, {}).keys())
            for person in list(self._leases.get(ticket, ())):
                self.release(ticket, person)
            self._settle(ticket)

    def said(
        self, ticket: int, person: str, until: float | None = None, *, answer: bool = False
    ) -> None:
        """A person has said something to a question, or wants it again ``until`` then."""
        if ticket in self._wanted:
            said = self._said.setdefault(ticket, {})
            self._counts[person] += person not in said
            said[person] = answer
            self._settle(ticket)
        self.held.drop((ticket, person))
        if until is not None:
            self._later.setdefault(person, Times()).put(ticket, until)
        elif person in self._later:
            self._later[person].drop(ticket)

    def hold(self, ticket: int, person: str, due: float) -> None:
        """A person has given an answer that can be taken back until it is due."""
        self.said(ticket, person, answer=True)
        self.held.put((ticket, person), due)

    def unsaid(self, ticket: int, person: str) -> None:
        """What a person has said to a question is taken back."""
        if person in self._said.get(ticket, ()):
            del self._said[ticket][person]
            self._counts[person] -= 1
            self._first[person] = min(ticket, self._first.get(person, 0))
            self._settle(ticket)
        self.held.drop((ticket, person))
        if person in self._later:
            self._later[person].drop(ticket)

    def waiting(self, person: str, now: float) -> int:
        """The number of questions to which a person has said nothing, or "later" long ago."""
        later = self._later.get(person)
        while later is not None and (ticket := later.take(now)) is not None:
            self.unsaid(ticket, person)
        return len(self._wanted) - self._counts[person]

    def lease(self, person: str, now: float, count: int, until: float) -> list[int]:
        """The oldest questions for a person: those that they have, and then free ones."""
        while (ended := self._ends.take(now)) is not None:
            self.release(*ended)
        mine = sorted(
            ticket for ticket in self._mine.get(person, ())
            if person not in self._said.get(ticket, ())
            and self._answers(ticket) < self._wanted[ticket]
        )  # fmt: skip
        found = mine[:count] + self._others(person, count - len(mine))
        for ticket in found:
            self.grant(ticket, person, until)
        return sorted(found)

    def _others(self, person: str, count: int) -> list[int]:
        """The first free questions that a person neither has nor has said anything to."""
        found: list[int] = []
        first, at = None, bisect_left(self._free, self._first.get(person, 0))
        while len(found) < count and at < len(self._free):
            ticket, at = self._free[at], at + 1
            if person not in self._said.get(ticket, ()):
                first = ticket if first is None else first
                if person not in self._leases.get(ticket, ()):
                    found.append(ticket)
        if count > 0:
            self._first[person] = self._last + 1 if first is None else first
        return found

    def grant(self, ticket: int, person: str, until: float) -> None:
        """A question is a person's until then."""
        if ticket in self._wanted:
            self._leases.setdefault(ticket, set()).add(person)
            self._mine.setdefault(person, set()).add(ticket)
            self._ends.put((ticket, person), until)
            self._settle(ticket)

    def release(self, ticket: int, person: str) -> None:
        """A question is a person's no longer; nothing where it was not."""
        if person in self._leases.get(ticket, ()):
            self._leases[ticket].remove(person)
            self._mine[person].remove(ticket)
            if not self._leases[ticket]:
                del self._leases[ticket]
            self._ends.drop((ticket, person))
            self._settle(ticket)

    def _answers(self, ticket: int) -> int:
        return sum(self._said.get(ticket, {}).values())

    def _settle(self, ticket: int) -> None:
        """Let a question be in the line of free ones if it has room for another person."""
        have = self._answers(ticket) + len(self._leases.get(ticket, ()))
        at = bisect_left(self._free, ticket)
        is_free = self._free[at : at + 1] == [ticket]
        if have >= self._wanted.get(ticket, 0):
            del self._free[at : at + is_free]
        elif not is_free:
            self._free.insert(at, ticket)
            for person, first in self._first.items():
                self._first[person] = min(ticket, first)

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
        for ticket, wanted in store.read(_QUESTIONS, *key):
            made.add(ticket, now, wanted)
        for ticket, person, status, due in store.read(_SAID, *key):
            later = due if status == "later" else None
            made.said(ticket, person, later, answer=status in ANSWERS)
        for ticket, person, until in store.read(_LEASES, *key):
            made.grant(ticket, person, until)
        for ticket, person, due in store.read(_HELD, *key):
            made.held.put((ticket, person), due)
        ((made._today,),) = store.read(_TODAY, *key, now - now % DAY)
        for person in made._counts:  # their first lease looks at no question that they answered
            made._others(person, 1)
        return made
