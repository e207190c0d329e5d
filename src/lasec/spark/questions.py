"""Open questions, and what is remembered of closed ones, in a shard's state.

A question is kept under its ticket, ``key/id`` with both parts percent-encoded. When its label
comes, or when it grows too old, a mark stays in its place, so that a second label or a late one is
told apart from one that was never asked for. The questions of a batch are one chunk of a queue (or
a few, where it had too many keys to be served at once):
``max_age`` after it was asked the chunk's open questions expire; after twice that time its marks
are forgotten, but never in the batch in which they were made.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, unquote_plus

import numpy as np
from numpy.typing import NDArray

from lasec.spark.index import Head
from lasec.spark.store import Store

OPEN, TOLD, EXPIRED = b"o", b"t", b"x"
_FORM = struct.Struct("<cqbdddd")


def ticket_of(key: str, name: str) -> str:
    """The ticket of the question about an event: what an annotator brings back with the label.

    >>> ticket_of("north/1", "mail 7"), parts_of("north%2F1/mail+7")
    ('north%2F1/mail+7', ('north/1', 'mail 7'))
    """
    return f"{quote_plus(key)}/{quote_plus(name)}"


def parts_of(ticket: str) -> tuple[str, str]:
    """The key and the id of a ticket."""
    key, _, name = ticket.partition("/")
    return unquote_plus(key), unquote_plus(name)


@dataclass(frozen=True, eq=False)
class Asked:
    """One question: its step, the decision about it, when it was asked, and its row."""

    round: int
    label: int
    margin: float
    variance: float
    propensity: float
    time: float
    x: NDArray[Any]

    def to_bytes(self) -> bytes:
        """As it is kept."""
        head = _FORM.pack(
            OPEN, self.round, self.label, self.margin, self.variance, self.propensity, self.time
        )
        return head + self.x.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, kind: np.dtype[Any]) -> Asked:
        """What was kept; rows are of the type of their model's."""
        x = np.frombuffer(data, kind, offset=_FORM.size)
        values: list[Any] = [*_FORM.unpack_from(data)[1:], x]
        return cls(*values)


class Questions:
    """The questions of one shard.

    >>> from lasec.spark.store import PlainStore
    >>> head, store = Head(job=""), PlainStore()
    >>> questions = Questions(store, head, max_age=10.0)
    >>> asked = Asked(0, 1, 0.2, 1.0, 0.5, 100.0, np.zeros(2))
    >>> questions.open("north/7", asked)
    >>> questions.queue(["north/7"], now=100.0)
    >>> list(questions.expire(now=105.0)), list(questions.expire(now=111.0))
    ([], ['north/7'])
    >>> questions.state("north/7")
    b'x'
    """

    def __init__(self, store: Store, head: Head, max_age: float) -> None:
        self._store, self._head, self.max_age = store, head, max_age

    def find(self, ticket: str) -> bytes | None:
        """What is kept of a question."""
        return self._store.get("question", ticket)

    def state(self, ticket: str) -> bytes | None:
        """Whether it is open, told or expired; None if nothing is known of it."""
        kept = self.find(ticket)
        return kept and kept[:1]

    def open(self, ticket: str, asked: Asked) -> None:
        """Keep a question."""
        self._store.put("question", ticket, asked.to_bytes())

    def queue(self, tickets: list[str], now: float) -> None:
        """Let what is known of these questions age together."""
        head = self._head
        if tickets:
            self._store.put("queue", str(head.next), json.dumps([now, tickets]).encode())
            head.oldest_open = now if head.open == head.next else head.oldest_open
            head.oldest = now if head.first == head.next else head.oldest
            head.next += 1

    def close(self, ticket: str, mark: bytes) -> None:
        """Leave a mark in the place of a question."""
        self._store.put("question", ticket, mark)

    def expire(self, now: float) -> Iterator[str]:
        """Close what has been open for too long, give its tickets, and forget what is older yet.

        What is closed now is forgotten at the next call at the earliest, so that a label that comes
        meanwhile is late, and not unknown.
        """
        head = self._head
        closed = head.open
        while head.open < head.next and head.oldest_open + self.max_age < now:
            for ticket in self._chunk(head.open)[1]:
                if self.state(ticket) == OPEN:
                    self.close(ticket, EXPIRED)
                    yield ticket
            head.open += 1
            if head.open < head.next:
                head.oldest_open = self._chunk(head.open)[0]
        while head.first < closed and head.oldest + 2 * self.max_age < now:
            for ticket in self._chunk(head.first)[1]:
                self._store.remove("question", ticket)
            self._store.remove("queue", str(head.first))
            head.first += 1
            if head.first < head.next:
                head.oldest = self._chunk(head.first)[0]

    def _chunk(self, number: int) -> tuple[float, list[str]]:
        """When a chunk was asked, and its tickets."""
        time, tickets = json.loads(self._store.get("queue", str(number)) or b"[0.0, []]")
        return time, tickets
