"""Requests about rows, questions and labels, carried out a few rows at a time.

Between two slices, other tenants have their turn. Each slice is committed with its replies: under
the Idempotency-Key of the request, if it has one, and under the ids of rows. So a request that is
sent again after a crash goes on behind the last slice that was committed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from lasec.service import people
from lasec.service.bodies import AnswerBody, AskBody
from lasec.service.desks import Reply
from lasec.service.errors import Problem
from lasec.service.model import DELETED, ServedModel
from lasec.service.operations import Answer, Ask, Cancel, Id, Learn, Operation, Ref, Rows, Tell
from lasec.service.store import Transaction, digest_of
from lasec.service.writer import MORE, SLICE, Known, Name
from lasec.tables.cells import as_label

WINDOW = 256  # rows of a slice at most: the replies that they got before are looked up together
FIRST, MOST = 4, 64  # rows of a step of a slice: of the first one, at most


class Key(NamedTuple):
    """The Idempotency-Key of a request, and a fingerprint of its body."""

    name: Name
    digest: str

    def part(self, number: int) -> Name:
        """The name of the replies of a slice."""
        tenant, model, name = self.name
        return tenant, model, f"{name}:{number}"


class Kind:
    """What is done with the rows of a request, of which there are ``count``."""

    operation: type = object  # what the journal has of it

    def __init__(self, model: ServedModel, count: int) -> None:
        self.model, self.count = model, count

    def names(self, places: range) -> Sequence[Name]:
        """The replies that these rows may have got before; none where rows have no ids."""
        return []

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """The replies to these rows."""
        raise NotImplementedError


class Request:
    """A request of some rows: a task of the writer, which is done when all rows have a reply."""

    def __init__(self, kind: Kind, key: Key | None = None) -> None:
        self.kind, self.key = kind, key
        self._said: list[Reply] = []
        self._parts = 0

    @property
    def _places(self) -> range:
        """The rows of the next slice, if there is time for all of them."""
        begin = len(self._said)
        return range(begin, min(begin + WINDOW, self.kind.count))

    def names(self) -> list[Name]:
        """The replies that the next slice may have given before."""
        own = [] if self.key is None else [self.key.part(self._parts)]
        return own + list(self.kind.names(self._places))

    def run(self, tx: Transaction, now: float, known: Known) -> object:
        """The replies to the next rows; to all of them, if they are the last."""
        need_served(self.kind.model)
        self._said += self._again(known) or self._carried_out(tx, now, known)
        self._parts += 1
        return MORE if len(self._said) < self.kind.count else self._said

    def _again(self, known: Known) -> list[Reply]:
        """The replies of a slice that was carried out before; empty if it was not."""
        found = None if self.key is None else known.get(self.key.part(self._parts))
        if self.key is None or found is None:
            return []
        if found[0] != self.key.digest:
            raise Problem(409, "this Idempotency-Key was used for another request")
        said: list[Reply] = json.loads(found[1])
        return said

    def _carried_out(self, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """The replies to as many rows as a slice has time for, of which some take much longer."""
        places, until = self._places, time.thread_time() + SLICE
        said: list[Reply] = []
        while len(said) < len(places) and time.thread_time() < until:
            try:
                said += self._step(places[len(said) :], tx, now, known)
            except Problem:  # it comes before a step does anything: the next slice tells it
                if not said:
                    raise
                break
        if self.key is not None:
            remember(tx, now, known, self.key.part(self._parts), self.key.digest, said)
        return said

    def _step(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """The replies to the first of these rows, as many as take a part of a slice."""
        pace, kind, began = self.kind.model.pace, self.kind.operation, time.thread_time()
        most = pace.get(kind, FIRST)
        said = self.kind.run(places[:most], tx, now, known)
        seconds = time.thread_time() - began
        if seconds > SLICE / 2:
            pace[kind] = max(1, most // 2)
        elif len(said) == most and seconds < SLICE / 8:
            pace[kind] = min(MOST, 2 * most)
        return said


class Asking(Kind):
    """Decide about rows; one whose id was asked about before gets the same decision again."""

    operation = Ask

    def __init__(
        self, model: ServedModel, rows: Rows, body: AskBody,
        need_room: Callable[[ServedModel], None],
    ) -> None:  # fmt: skip
        super().__init__(model, len(rows))
        self._rows, self._body, self._need_room = rows, body, need_room
        self._ids: list[Id | None] = (
            body.ids or [row.get("id") for row in rows.cells] or [None] * len(rows)
        )

    def names(self, places: range) -> list[Name]:
        """The decisions by the ids of rows."""
        ids = (self._ids[at] for at in places)
        return [_asked_name(self.model, name) for name in ids if name is not None]

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """Decide about the new rows, and repeat what was said of the others."""
        need_active(self.model)
        said: dict[int, Reply] = {}
        first: dict[Id, int] = {}
        for at in places:
            name = self._ids[at]
            if name is not None:
                first.setdefault(name, at)
                if before := self._before(at, name, known):
                    said[at] = before
        new = [at for at in places if at not in said and self._is_first(at, first)]
        if new:
            self._need_room(self.model)
            for at, reply in zip(new, self._decided(new, tx, now), strict=True):
                said[at] = reply
                self._keep(at, reply, tx, now, known)
        return [said[at] if at in said else said[first[self._ids[at]]] for at in places]  # type: ignore[index]

    def _is_first(self, at: int, first: dict[Id, int]) -> bool:
        name = self._ids[at]
        return name is None or first[name] == at

    def _digest(self, at: int) -> str:
        """A fingerprint of a row."""
        if self._rows.cells:
            return digest_of(msgspec.json.encode(self._rows.cells[at], order="sorted"))
        return digest_of(self._rows.packed(at))

    def _before(self, at: int, name: Id, known: Known) -> Reply | None:
        found = known.get(_asked_name(self.model, name))
        if found is None:
            return None
        if found[0] != self._digest(at):
            return {"id": name, "error": f"{name!r} was asked about with another row"}
        reply: Reply = json.loads(found[1])
        return reply

    def _decided(self, new: list[int], tx: Transaction, now: float) -> list[Reply]:
        """The decisions about the rows at these places."""
        ids = [self._ids[at] for at in new]
        times = [self._body.times[at] for at in new] if self._body.times else []
        replies = applied(self.model, Ask(now, self._rows.some(new), ids, times), tx)
        return [
            reply if name is None else {"id": name} | reply
            for name, reply in zip(ids, replies, strict=True)
        ]

    def _keep(self, at: int, reply: Reply, tx: Transaction, now: float, known: Known) -> None:
        """Keep a question for people, and the reply for who asks again."""
        model, name = self.model, self._ids[at]
        if reply.get("asked"):
            judging = model.desk.session.is_judge(reply.get("source"))
            people.open_question(tx, now, model, name, self._item(at), reply, judging=judging)
        if name is not None and "error" not in reply:
            remember(tx, now, known, _asked_name(model, name), self._digest(at), reply)

    def _item(self, at: int) -> Any:
        """What people see of a row."""
        if self._body.items:
            return self._body.items[at]
        if not self._rows.cells:
            return {"id": self._ids[at]}
        shown, row = self.model.asking.show, self._rows.cells[at]
        names = shown or [name for name in row if name not in ("id", "time")]
        return {name: row.get(name) for name in names}


class Telling(Kind):
    """Learn labels; a label that is told again gets the same reply."""

    operation = Tell

    def __init__(self, model: ServedModel, answers: Sequence[AnswerBody]) -> None:
        super().__init__(model, len(answers))
        self._answers = answers

    def names(self, places: range) -> list[Name]:
        """The outcomes by question and person."""
        found = (self._answers[at] for at in places)
        answers = (Answer(Ref(each.ticket, each.id), each.label, each.by) for each in found)
        return [_told_name(self.model, answer) for answer in answers]

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """The outcomes of answers: of those that came before, the same again."""
        need_active(self.model)
        given = {at: _answer(self.model, self._answers[at]) for at in places}
        said = {at: self._before(answer, known) for at, answer in given.items()}
        fresh = ((at, given[at]) for at in places if said[at] is None)
        new = [(at, answer) for at, answer in fresh if isinstance(answer, Answer)]
        if new:
            replies = applied(self.model, Tell(now, [answer for _, answer in new]), tx)
            for (at, answer), reply in zip(new, replies, strict=True):
                said[at] = reply
                self._keep(answer, reply, tx, now, known)
        return [reply for reply in said.values() if reply is not None]

    def _before(self, answer: Answer | Reply, known: Known) -> Reply | None:
        if isinstance(answer, dict):
            return answer
        found = known.get(_told_name(self.model, answer))
        if found is None:
            return None
        if found[0] != _label_digest(answer):
            return {"error": f"the question of {answer.of} was answered, and learned"}
        reply: Reply = json.loads(found[1])
        return reply

    def _keep(
        self, answer: Answer, reply: Reply, tx: Transaction, now: float, known: Known
    ) -> None:
        if "error" not in reply:
            name = _told_name(self.model, answer)
            remember(tx, now, known, name, _label_digest(answer), reply)
            if self.model.desk.session.is_judge(answer.by):
                people.judged(tx, now, self.model, reply)
            else:
                people.sent(tx, now, self.model, answer, reply)


class Learning(Kind):
    """Learn labels that nobody asked for."""

    operation = Learn

    def __init__(self, model: ServedModel, rows: Rows, labels: Sequence[Any]) -> None:
        super().__init__(model, len(rows))
        self._rows, self._labels = rows, labels

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """What was learned of each row."""
        need_active(self.model)
        if places.start == 0:  # a request with a wrong label is refused as a whole
            for label in dict.fromkeys(self._labels):
                need_class(self.model, label)
        labels = [self._labels[at] for at in places]
        return applied(self.model, Learn(now, self._rows.some(places), labels), tx)


class Canceling(Kind):
    """Give up questions; to give one up twice is refused the second time."""

    operation = Cancel

    def __init__(self, model: ServedModel, questions: Sequence[Ref]) -> None:
        super().__init__(model, len(questions))
        self._questions = questions

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """Whether each was given up."""
        some = [self._questions[at] for at in places]
        replies = applied(self.model, Cancel(now, some), tx)
        for of, reply in zip(some, replies, strict=True):
            if "canceled" in reply and self.model.desk.session.buying is not None:
                people.given_up(tx, now, self.model, of, reply)
        return [
            ({"ticket": of.ticket} if of.id is None else {"id": of.id}) | reply
            for of, reply in zip(some, replies, strict=True)
        ]


class Predicting(Kind):
    """Predict rows; nothing is counted, and nothing is kept."""

    def __init__(self, model: ServedModel, rows: Rows) -> None:
        super().__init__(model, len(rows))
        self._rows = rows

    def run(self, places: range, tx: Transaction, now: float, known: Known) -> list[Reply]:
        """The classes of some rows."""
        return self.model.desk.predict(self._rows.some(places))


def applied(model: ServedModel, operation: Operation, tx: Transaction) -> list[Reply]:
    """Carry out an operation, and write it into the journal.

    Where the job fails later on, what is in memory is in doubt.
    """
    need_served(model)
    tx.touched[model] = None
    done = model.apply(operation)
    model.journal(tx, operation, done)
    return done.replies


def remember(
    tx: Transaction, now: float, known: Known, name: Name, digest: str, reply: Any
) -> None:
    """Keep a reply for who sends the same again."""
    data = json.dumps(reply).encode()
    known[name] = digest, data
    tx.put(
        "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, model, name) "
        "DO UPDATE SET digest = excluded.digest, reply = excluded.reply, at = excluded.at",
        *name, digest, data, now,
    )  # fmt: skip


def refs(questions: Sequence[Any]) -> list[Ref]:
    """The questions of a request, each by its ticket or the id of its row."""
    if any((each.ticket is None) == (each.id is None) for each in questions):
        raise Problem(422, 'questions: give "ticket" or "id" of each')
    return [Ref(each.ticket, each.id) for each in questions]


def _answer(model: ServedModel, body: AnswerBody) -> Answer | Reply:
    """An answer of a request, or why it cannot be one."""
    if (body.ticket is None) == (body.id is None):
        return {"error": 'give "ticket" or "id"'}
    try:
        if not model.desk.session.is_judge(body.by):  # what a judge says may be anything
            need_class(model, body.label)
    except Problem as problem:
        return {"error": problem.detail}
    return Answer(Ref(body.ticket, body.id), body.label, body.by, body.confidence)


def need_class(model: ServedModel, label: Any, *, by_name: bool = False) -> None:
    """Refuse a label that is none of the classes.

    Where one class is apart from all others, every label is one of these: except ``by_name``.
    """
    session = model.desk.session
    known = session.classes
    if session.positive is not None and not by_name:
        return
    spelled = label if by_name and model.desk.table is None else as_label(label)
    if label not in known and spelled not in known:
        raise Problem(422, f"there is no class {label!r}: the classes are {known}")


def need_served(model: ServedModel) -> None:
    """Refuse what needs a model that was deleted, or whose memory is in doubt."""
    if model.status == DELETED:
        raise Problem(404, f"there is no model {model.name!r}")
    if model.doubt:
        raise Problem(503, f"{model.name}: {model.doubt}", retry_after=1.0)


def need_active(model: ServedModel) -> None:
    """Refuse rows and labels of a model that is paused or retired."""
    if model.status != "active":
        raise Problem(409, f"{model.name} is {model.status}")


def asked_prefix(name: Id) -> str:
    """The name of the decision about a row by its id."""
    return f"ask:{name!r}"


def told_prefix(of: Ref) -> str:
    """What the names of the outcomes of a question begin with."""
    return f"tell:{of}:"


def _asked_name(model: ServedModel, name: Id) -> Name:
    return model.tenant, model.name, asked_prefix(name)


def _told_name(model: ServedModel, answer: Answer) -> Name:
    return model.tenant, model.name, f"{told_prefix(answer.of)}{answer.by!r}"


def _label_digest(answer: Answer) -> str:
    said = answer.label if answer.confidence is None else [answer.label, answer.confidence]
    return digest_of(json.dumps(said).encode())
