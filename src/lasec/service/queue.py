"""What is counted of a model's questions, so that nobody has to count them again in the store."""

from __future__ import annotations

from collections import Counter

from lasec.service.settings import DAY
from lasec.service.store import Store

_WAITING = "q.tenant = ? AND q.model = ? AND q.status IN ('open', 'settled')"


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
        self._later: dict[str, dict[int, float]] = {}
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
        later = self._later.setdefault(person, {})
        later.pop(ticket, None)
        if until is not None:
            later[ticket] = until

    def unsaid(self, ticket: int, person: str) -> None:
        """What a person has said to a question is taken back."""
        if person in self._said.get(ticket, ()):
            self._said[ticket].remove(person)
            self._counts[person] -= 1
        self._later.get(person, {}).pop(ticket, None)
        for each, first in self._first.items():  # there is room for another one again
            self._first[each] = min(ticket, first)

    def waiting(self, person: str, now: float) -> int:
        """The number of questions to which a person has said nothing, or "later" long ago."""
        for ticket, until in list(self._later.get(person, {}).items()):
            if until <= now:
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
        order = sorted(made._open)
        for person in made._counts:
            unsaid = (ticket for ticket in order if person not in made._said.get(ticket, ()))
            made.begin_at(person, next(unsaid, None))
        ((made._today,),) = store.read(
            "SELECT count(*) FROM questions WHERE tenant = ? AND model = ? AND asked_at >= ?",
            *key, made._day,
        )  # fmt: skip
        return made
