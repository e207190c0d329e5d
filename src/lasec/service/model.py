"""A model that is served: what it is given, in order, and what that writes into the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from lasec.alarms import Alarm
from lasec.errors import StateError
from lasec.service.desks import Desk, Reply, opened
from lasec.service.operations import Ask, Learn, Operation, Tell, packed, unpacked
from lasec.service.settings import Asking, NewModel
from lasec.service.store import Store, Transaction
from lasec.types import Decision, Outcome

SAME = 1e-9  # how far a propensity may be from the one in the journal when it is replayed
EVERY = 20_000  # rows between two snapshots
_said = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder()


class Closings:
    """A detector that raises nothing: it hears which questions were given up."""

    raised = False

    def __init__(self) -> None:
        self.tickets: list[int] = []

    def ask(self, decision: Decision, x: Any = None) -> None:
        """Nothing."""

    def tell(self, outcome: Outcome) -> None:
        """Nothing."""

    def cancel(self, ticket: int) -> None:
        """Hear of a question that will not be answered."""
        self.tickets.append(ticket)

    def taken(self) -> list[int]:
        """What was heard since the last call."""
        found, self.tickets = self.tickets, []
        return found


class Applied(NamedTuple):
    """What an operation did: the replies, questions given up, and alarms."""

    replies: list[Reply]
    gone: list[int]
    alarms: list[Alarm]


class ServedModel:
    """A desk with the number of its last operation; it is used by the writer alone."""

    def __init__(
        self, tenant: str, name: str, new: NewModel, desk: Desk, seq: int = 0,
        status: str = "active", made: float = 0.0,
    ) -> None:  # fmt: skip
        self.tenant, self.name, self.new, self.desk = tenant, name, new, desk
        self.seq, self.status, self.made, self.rows_since = seq, status, made, 0
        self._closings = Closings()
        self.desk.session.detectors += (self._closings,)

    @property
    def asking(self) -> Asking:
        """How its questions go to people."""
        return self.new.asking

    def apply(self, operation: Operation) -> Applied:
        """Carry out an operation in memory."""
        self.seq += 1
        replies = self._carried_out(operation)
        self.rows_since += len(replies)
        alarms, self.desk.session.alarms = self.desk.session.alarms, []
        return Applied(replies, self._closings.taken(), alarms)

    def _carried_out(self, operation: Operation) -> list[Reply]:
        if isinstance(operation, Ask):
            return self.desk.ask(operation)
        if isinstance(operation, Tell):
            return [self.desk.tell(answer) for answer in operation.answers]
        if isinstance(operation, Learn):
            return self.desk.learn(operation)
        return [self._canceled(question) for question in operation.questions]

    def _canceled(self, question: str | int) -> Reply:
        try:
            self.desk.session.cancel(question)
        except (LookupError, ValueError, TypeError) as error:
            return {"error": str(error)}
        return {"canceled": True}

    def journal(self, tx: Transaction, operation: Operation, applied: Applied) -> None:
        """Write an operation that was applied, and what follows from it."""
        key = self.tenant, self.name
        tx.changed[self] = None
        said = _said[0].encode([_kept(reply) for reply in applied.replies])
        tx.put(
            "INSERT INTO journal VALUES (?, ?, ?, ?, ?)", *key, self.seq, packed(operation), said
        )
        for ticket in applied.gone:
            tx.put(
                "UPDATE questions SET status = 'gone', closed_at = ? "
                "WHERE tenant = ? AND model = ? AND ticket = ? AND status = 'open'",
                operation.at, *key, ticket,
            )  # fmt: skip
        for alarm in applied.alarms:
            tx.put(
                "INSERT INTO alarms VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                *key, alarm.ticket, alarm.kind, json.dumps(alarm._asdict()), operation.at,
            )  # fmt: skip

    def replay(self, store: Store) -> int:
        """Carry out what the journal holds beyond the snapshot; gives how many operations."""
        count = 0
        for seq, body, said in store.read(
            "SELECT seq, body, said FROM journal WHERE tenant = ? AND model = ? AND seq > ? "
            "ORDER BY seq", self.tenant, self.name, self.seq,
        ):  # fmt: skip
            if seq != self.seq + 1:
                raise StateError(f"damaged: operation {self.seq + 1} of {self.name} is missing")
            replies = self.apply(unpacked(bytes(body))).replies
            _check(self.name, seq, replies, _said[1].decode(bytes(said)))
            count += 1
        return count

    def snapshot(self, tx: Transaction, at: float) -> None:
        """Keep the whole model, and let go of what is older than the last snapshot but one."""
        key = self.tenant, self.name
        tx.run(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            *key, self.seq, at, self.desk.to_bytes(),
        )  # fmt: skip
        found = tx.read(
            "SELECT seq FROM snapshots WHERE tenant = ? AND model = ? ORDER BY seq DESC LIMIT 2",
            *key,
        )  # fmt: skip
        oldest = found[-1][0]
        tx.run("DELETE FROM snapshots WHERE tenant = ? AND model = ? AND seq < ?", *key, oldest)
        tx.run("DELETE FROM journal WHERE tenant = ? AND model = ? AND seq <= ?", *key, oldest)

    @classmethod
    def load(
        cls, store: Store, tenant: str, name: str, settings: str, status: str, made: float
    ) -> ServedModel:
        """The model of the last snapshot; the journal is not replayed yet."""
        ((seq, data),) = store.read(
            "SELECT seq, data FROM snapshots WHERE tenant = ? AND model = ? "
            "ORDER BY seq DESC LIMIT 1", tenant, name,
        )  # fmt: skip
        new = msgspec.json.decode(settings, type=NewModel)
        return cls(tenant, name, new, opened(bytes(data), timed=new.timed), seq, status, made)


def _kept(reply: Reply) -> list[Any]:
    """What the journal keeps of a reply, to compare it when it is replayed, and to export it."""
    if "error" in reply:
        return []
    names = ("ticket", "prediction", "query_probability", "asked", "label", "correct")
    return [reply.get(name) for name in names]


def _check(name: str, seq: int, replies: Sequence[Reply], said: list[list[Any]]) -> None:
    """Refuse a replay that decides otherwise than the journal says."""
    for reply, kept in zip(replies, said, strict=True):
        again = _kept(reply)
        same = len(again) == len(kept) and all(
            abs(a - b) <= SAME if isinstance(b, float) else a == b
            for a, b in zip(again, kept, strict=True)
        )
        if not same:
            raise StateError(
                f"operation {seq} of {name} is replayed otherwise than the journal has it: "
                "start the server on the kind of machine that wrote it, with the same version"
            )
