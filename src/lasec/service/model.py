"""A model that is served: what it is given, in order, and what that writes into the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from lasec.alarms import Alarm
from lasec.clock import reading
from lasec.errors import StateError
from lasec.service.desks import Desk, Reply, opened
from lasec.service.operations import Ask, Learn, Operation, Ref, Tell, packed, unpacked
from lasec.service.queue import Queue
from lasec.service.settings import UNPRINTABLE, Asking, NewModel
from lasec.service.store import Store, Transaction
from lasec.types import Decision, Outcome

SAME = 1e-9  # how far a propensity may be from the one in the journal when it is replayed
DELETED = "deleted"  # status of a model of which a part may still be in the store
EVERY = 20_000  # rows between two snapshots
LONGEST = 160  # characters of the kind of an alarm in a key of the store
PIECE = 2**18  # bytes of a snapshot that are written before others have their turn
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
    """A desk with the number of its last operation; it is used by the writer alone.

    ``doubt`` says why what is in memory may not be what the journal makes of it: then it is not
    served, and read again.
    """

    def __init__(
        self, tenant: str, name: str, new: NewModel, desk: Desk, seq: int = 0,
        status: str = "active", made: float = 0.0, size: int = 0,
    ) -> None:  # fmt: skip
        self.tenant, self.name, self.new, self.desk = tenant, name, new, desk
        self.seq, self.status, self.made, self.rows_since = seq, status, made, 0
        self.size, self.queue, self.doubt = size, Queue(), ""
        self.kept = seq  # the operation of the last snapshot
        self.pointed: tuple[Any, ...] = ()  # the last point of its accuracy over time
        self.tidy_at = 0.0
        self.pace: dict[type, int] = {}  # rows of an operation that take a part of a slice
        self._closings = Closings()
        self.desk.session.detectors += (self._closings,)

    @property
    def asking(self) -> Asking:
        """How its questions go to people."""
        return self.new.asking

    @property
    def key(self) -> tuple[str, str]:
        """Its tenant and its name."""
        return self.tenant, self.name

    @property
    def memory(self) -> int:
        """The bytes of its last snapshot, and of the rows that wait for a label."""
        return self.size + self.desk.session.learner.open_bytes

    def apply(self, operation: Operation) -> Applied:
        """Carry out an operation in memory, at the time that the operation says."""
        self.seq += 1
        with reading(operation.at):
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
        return [self._canceled(of) for of in operation.questions]

    def _canceled(self, of: Ref) -> Reply:
        session = self.desk.session
        try:
            source = session.cancel(of.ticket, id=of.id)
        except (LookupError, ValueError, TypeError) as error:
            return {"error": str(error)}
        return {"canceled": True} if source is None else {"canceled": False, "source": source}

    def journal(self, tx: Transaction, operation: Operation, applied: Applied) -> None:
        """Write an operation that was applied, and what follows from it."""
        key = self.key
        tx.changed[self] = None
        said = _said[0].encode([_kept(reply) for reply in applied.replies])
        tx.put(
            "INSERT INTO journal VALUES (?, ?, ?, ?, ?)", *key, self.seq, packed(operation), said
        )
        for ticket in applied.gone:
            self.queue.close(ticket)
            tx.put(
                "UPDATE questions SET status = 'gone', closed_at = ? "
                "WHERE tenant = ? AND model = ? AND ticket = ? AND status IN ('open', 'judging')",
                operation.at, *key, ticket,
            )  # fmt: skip
        for alarm in applied.alarms:
            tx.put(
                "INSERT INTO alarms VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                *key, alarm.ticket, _key_of(alarm), json.dumps(alarm._asdict()), operation.at,
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

    def snapshot(self, tx: Transaction, at: float, seq: int, data: bytes) -> bool:
        """Keep a piece of the model as it was after an operation; whether all of it is kept.

        A snapshot without its last piece is not read. None is kept where a later one is.
        """
        if seq < self.kept:
            return True
        pieces = -(-len(data) // PIECE)
        ((have,),) = tx.read(
            "SELECT count(*) FROM snapshots WHERE tenant = ? AND model = ? AND seq = ?",
            *self.key, seq,
        )  # fmt: skip
        if have < pieces:
            some = data[have * PIECE : (have + 1) * PIECE]
            tx.run(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)",
                *self.key, seq, have, pieces, at, some,
            )  # fmt: skip
        if have + 1 < pieces:
            return False
        self.kept, self.size = seq, max(0, len(data) - self.desk.session.learner.open_bytes)
        return True

    @classmethod
    def load(
        cls, store: Store, tenant: str, name: str, settings: str, status: str, made: float
    ) -> ServedModel:
        """The model of the last snapshot; the journal is not replayed yet."""
        found = store.read(
            "SELECT seq, data FROM snapshots WHERE tenant = ? AND model = ? AND seq = ("
            "SELECT max(seq) FROM snapshots WHERE tenant = ? AND model = ? AND piece = pieces - 1"
            ") ORDER BY piece", tenant, name, tenant, name,
        )  # fmt: skip
        if not found:
            raise StateError(f"damaged: there is no snapshot of {name}")
        seq, data = found[0][0], b"".join(bytes(piece) for _, piece in found)
        new = msgspec.json.decode(settings, type=NewModel)
        desk = opened(data)
        size = len(data) - desk.session.learner.open_bytes
        return cls(tenant, name, new, desk, seq, status, made, size)


def _key_of(alarm: Alarm) -> str:
    r"""The kind of an alarm as a key of the store can hold it; the alarm itself is kept whole.

    >>> _key_of(Alarm("input: a\0b" + "c" * 1_000, 9, 6.0, 1.0, 2.0, 5))[:12]
    'input: a?bcc'
    """
    return UNPRINTABLE.sub("?", alarm.kind[:LONGEST])


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
