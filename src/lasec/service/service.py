"""The service without HTTP: models, keys and people, over one store and one writer."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from lasec.service import people
from lasec.service.bodies import AskBody, CancelBody, LearnBody, PersonBody, TellBody
from lasec.service.desks import Desk, Reply, opened
from lasec.service.errors import Problem
from lasec.service.figures import known_or_none
from lasec.service.model import EVERY, ServedModel
from lasec.service.operations import Answer, Ask, Cancel, Id, Learn, Operation, Rows, Tell
from lasec.service.settings import NewModel, desk_of
from lasec.service.store import Store, Transaction, digest_of
from lasec.service.warm import kind_of, warm
from lasec.service.writer import Call, Known, Name, Writer
from lasec.tables.cells import as_label

TICK = 0.25  # seconds between two looks at what is due
LARGEST = 512 * 2**20  # bytes of a model: a value of either database has fewer than 10^9
POINT = 60.0  # seconds between two points of the accuracy over time
OWNER, APP, ANNOTATOR, VIEWER = "owner", "app", "annotator", "viewer"


class Who(NamedTuple):
    """Whose key it is, and what it opens."""

    tenant: str
    role: str
    name: str


class Work:
    """A job of the writer, whose reply is a future of the event loop, or waited for in a thread."""

    def __init__(
        self,
        call: Call,
        names: Iterable[Name] = (),
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.call, self.names, self._loop = call, names, loop
        self.future: asyncio.Future[Any] | None = None if loop is None else loop.create_future()
        self.event = threading.Event()
        self.reply: Any = None

    def run(self, tx: Transaction, now: float, known: Known) -> Any:
        """Carry it out."""
        return self.call(tx, now, known)

    def done(self, reply: Any) -> None:
        """Hand the reply to who waits for it."""
        self.reply = reply
        self.event.set()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        assert self.future is not None
        if self.future.done():
            return  # the caller has gone
        if isinstance(self.reply, Problem):
            self.future.set_exception(self.reply)
        else:
            self.future.set_result(self.reply)


class Service:
    """Models that ask, learn and are measured, with a journal that survives everything.

    ``at`` is called at named points ("before commit", "after commit", "snapshot", "replay"), for
    those who test what happens when the process ends there.

    >>> service = Service(":memory:")
    >>> service.start()
    >>> key = service.new_key("acme", "first", "owner")
    >>> service.who(key)
    Who(tenant='acme', role='owner', name='first')
    >>> service.stop()
    """

    def __init__(
        self, url: str, *, at: Callable[[str], None] = lambda point: None, every: int = EVERY
    ) -> None:
        self.store, self._at, self.every = Store(url), at, every
        self.models: dict[tuple[str, str], ServedModel] = {}
        self.keys: dict[str, Who] = {}
        self.writer = Writer(self.store, after=self._after, at=at)
        self._warmed: set[Any] = set()
        self._pointed = 0.0
        self.ready = False
        self._stopped = threading.Event()

    def start(self) -> None:
        """Take the store, replay every journal, and begin to serve."""
        self.open()
        self.load()

    def open(self) -> None:
        """Take the store, and begin to write; models are not there yet, keys are."""
        self.store.lock()
        self.store.migrate()
        for digest, *who in self.store.read("SELECT digest, tenant, role, name FROM keys"):
            self.keys[digest] = Who(*who)
        self.writer.start()

    def load(self) -> None:
        """Read every model, replay its journal, load or compile its code; then it is ready."""
        for tenant, name, *rest in self.store.read(
            "SELECT tenant, model, settings, status, made FROM models"
        ):
            if self._stopped.is_set():
                return
            model = ServedModel.load(self.store, tenant, name, *rest)
            self._at("replay")
            model.replay(self.store)
            self._warm(model.desk, model.new)
            self.models[tenant, name] = model
        threading.Thread(target=self._tick, name="lasec clock", daemon=True).start()
        self.ready = True

    def stop(self) -> None:
        """Carry out what waits, keep a snapshot of every model, and let the store go."""
        self.ready = False
        self._stopped.set()
        self.writer.stop()
        with self.store.transaction() as tx:
            for model in list(self.models.values()):
                if model.rows_since:
                    model.snapshot(tx, time.time())
        self.store.close()

    async def do(self, call: Call, names: Iterable[Name] = ()) -> Any:
        """Let the writer carry out a call, and wait for its reply."""
        work = Work(call, names, asyncio.get_running_loop())
        self.writer.submit(work)
        return await work.future  # type: ignore[misc]

    def do_now(self, call: Call) -> Any:
        """The same from a thread without an event loop."""
        work = Work(call)
        self.writer.submit(work)
        work.event.wait()
        if isinstance(work.reply, Problem):
            raise work.reply
        return work.reply

    # Keys

    def who(self, key: str) -> Who | None:
        """Whose key it is; None if it is nobody's."""
        return self.keys.get(digest_of(key.encode()))

    def new_key(self, tenant: str, name: str, role: str) -> str:
        """A key, whose text is not kept; a tenant that does not exist is made."""
        put, key = self.key(tenant, name, role)
        self.do_now(put)
        return key

    def key(self, tenant: str, name: str, role: str) -> tuple[Call, str]:
        """What makes a key, and its text."""
        key = f"lasec_{secrets.token_urlsafe(24)}"
        digest = digest_of(key.encode())

        def put(tx: Transaction, now: float, known: Known) -> None:
            if any(w.tenant == tenant and w.name == name for w in self.keys.values()):
                raise Problem(409, f"there is a key of the name {name!r}")
            tx.run(_TENANT, tenant, now)
            tx.run("INSERT INTO keys VALUES (?, ?, ?, ?, ?)", digest, tenant, role, name, now)
            self.keys[digest] = Who(tenant, role, name)

        return put, key

    def revoke(self, tenant: str, name: str) -> Call:
        """Take a key back."""

        def put(tx: Transaction, now: float, known: Known) -> bool:
            found = [d for d, w in self.keys.items() if (w.tenant, w.name) == (tenant, name)]
            if not found:
                raise Problem(404, f"there is no key of the name {name!r}")
            tx.run("DELETE FROM keys WHERE tenant = ? AND name = ?", tenant, name)
            del self.keys[found[0]]
            return True

        return put

    # Models

    def model(self, tenant: str, name: str) -> ServedModel:
        """The model of a tenant."""
        found = self.models.get((tenant, name))
        if found is None:
            raise Problem(404, f"there is no model {name!r}")
        return found

    def create(self, tenant: str, new: NewModel, data: bytes | None = None) -> Call:
        """Make a model: a new one, or that of a ``.lasec`` file; its code is compiled here."""
        self._need_new(tenant, new.name)
        try:
            desk = desk_of(new) if data is None else opened(data, timed=new.timed)
        except (ValueError, TypeError, OverflowError) as error:
            raise Problem(422, str(error)) from None
        whole = desk.to_bytes()
        if len(whole) > LARGEST:
            raise Problem(
                422, f"the model takes {len(whole) >> 20:,} MB, a store has {LARGEST >> 20}"
            )
        self._warm(desk, new)
        made = ServedModel(tenant, new.name, msgspec.structs.replace(new, sample=[]), desk)

        def put(tx: Transaction, now: float, known: Known) -> ServedModel:
            self._need_new(tenant, new.name)
            settings = msgspec.json.encode(made.new).decode()
            tx.run(_TENANT, tenant, now)
            values = tenant, new.name, settings, "active", now
            tx.run("INSERT INTO models VALUES (?, ?, ?, ?, ?)", *values)
            made.snapshot(tx, now)
            made.made = now
            self.models[tenant, new.name] = made
            return made

        return put

    def _warm(self, desk: Desk, new: NewModel) -> None:
        """Load or compile the code of a model, once for each kind of model."""
        kind = kind_of(desk, new)
        if kind not in self._warmed:
            warm(desk.to_bytes(), timed=new.timed)
            self._warmed.add(kind)

    def _need_new(self, tenant: str, name: str) -> None:
        if (tenant, name) in self.models:
            raise Problem(409, f"there is a model of the name {name!r}")

    def set_status(self, model: ServedModel, status: str) -> Call:
        """Pause a model, let it go on, or retire it for good."""

        def put(tx: Transaction, now: float, known: Known) -> ServedModel:
            if model.status == "retired" and status != "retired":
                raise Problem(409, f"{model.name} is retired")
            key = model.tenant, model.name
            tx.run("UPDATE models SET status = ? WHERE tenant = ? AND model = ?", status, *key)
            model.status = status
            return model

        return put

    # Rows and labels

    def ask(self, model: ServedModel, rows: Rows, body: AskBody) -> tuple[Call, list[Name]]:
        """Decide about rows; one whose id was asked about before gets the same decision again."""
        ids = body.ids or [row.get("id") for row in rows.cells] or [None] * len(rows)
        names = [_name(model, "ask", name) for name in ids if name is not None]

        def run(tx: Transaction, now: float, known: Known) -> list[Reply]:
            _need_active(model)
            return _Asking(model, rows, body, ids, known).run(tx, now)

        return run, names

    def tell(self, model: ServedModel, body: TellBody) -> tuple[Call, list[Name]]:
        """Learn labels; a label that is told again gets the same reply."""
        answers = [_answer(model, each) for each in body.answers]
        names = [_told_name(model, a) for a in answers if isinstance(a, Answer)]

        def run(tx: Transaction, now: float, known: Known) -> list[Reply]:
            _need_active(model)
            return _tell(model, answers, tx, now, known)

        return run, names

    def learn(self, model: ServedModel, rows: Rows, body: LearnBody) -> Call:
        """Learn labels that nobody asked for."""

        def run(tx: Transaction, now: float, known: Known) -> list[Reply]:
            _need_active(model)
            for label in body.labels:
                _need_class(model, label)
            return _applied(model, Learn(now, rows, body.labels), tx)

        return run

    def cancel(self, model: ServedModel, body: CancelBody) -> Call:
        """Give up questions."""

        def run(tx: Transaction, now: float, known: Known) -> list[Reply]:
            said = _applied(model, Cancel(now, body.questions), tx)
            return [
                {"ticket" if isinstance(q, int) else "id": q} | reply
                for q, reply in zip(body.questions, said, strict=True)
            ]

        return run

    def hear(self, model: ServedModel, person: str, said: PersonBody) -> Call:
        """What a person says to a question."""

        def run(tx: Transaction, now: float, known: Known) -> Any:
            reply, give_up = people.hear(tx, now, model, person, said)
            if give_up:
                _applied(model, Cancel(now, [said.ticket]), tx)
            return reply

        return run

    def erase(self, model: ServedModel, event: str) -> Call:
        """Delete what is kept of a row by its id; the model itself cannot unlearn it.

        A snapshot is kept at once, twice, so that the journal of the row is gone too.
        """

        def run(tx: Transaction, now: float, known: Known) -> None:
            key = model.tenant, model.name
            found = tx.read(f"SELECT ticket FROM questions WHERE {_EVENT}", *key, event)
            still = [ticket for (ticket,) in found if model.desk.session.model.is_open(ticket)]
            if still:
                _applied(model, Cancel(now, list(still)), tx)
            for (ticket,) in found:
                for table in ("answers", "leases"):
                    tx.run(f"DELETE FROM {table} WHERE {_TICKET}", *key, ticket)
            tx.run(f"DELETE FROM questions WHERE {_EVENT}", *key, event)
            for name in (event, int(event) if event.isdecimal() else event):
                tx.run(f"DELETE FROM replies WHERE {_REPLY}", *_name(model, "ask", name))
            model.snapshot(tx, now)
            tx.run("DELETE FROM journal WHERE tenant = ? AND model = ?", *key)
            tx.run(
                "DELETE FROM snapshots WHERE tenant = ? AND model = ? AND seq < ?", *key, model.seq
            )

        return run

    # What happens by itself

    def _tick(self) -> None:
        while not self._stopped.wait(TICK):
            if self.ready:
                with suppress(Problem):  # too many wait: what is due is told at the next look
                    self.do_now(self._tell_due)

    def _tell_due(self, tx: Transaction, now: float, known: Known) -> None:
        """Tell the models the answers that can no longer be taken back."""
        for key, answers in people.due(tx, now).items():
            model = self.models[key]
            replies = _applied(model, Tell(now, answers), tx)
            for answer, reply in zip(answers, replies, strict=True):
                people.learned(tx, now, model, answer, reply)
        if now - self._pointed > POINT:
            self._pointed = now
            self._keep_house(tx, now)

    def _keep_house(self, tx: Transaction, now: float) -> None:
        """Points of the accuracy over time; what was kept long enough is deleted."""
        for (tenant, name), model in self.models.items():
            meter, retain = model.desk.session.meter, now - model.asking.retain
            found = meter.reaching().estimate("accuracy", over="window")
            tx.put(
                "INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                tenant, name, now, meter.rows, meter.asked, known_or_none(found.value), found.low,
                found.high,
            )  # fmt: skip
            for statement in _OUTDATED:
                tx.put(statement, tenant, name, retain)

    def _after(self, tx: Transaction, now: float, changed: Iterable[ServedModel]) -> None:
        """Keep a snapshot of the models that have come far since the last one."""
        for model in changed:
            if model.rows_since >= self.every:
                model.snapshot(tx, now)
                self._at("snapshot")
                model.rows_since = 0


_TENANT = "INSERT INTO tenants VALUES (?, ?) ON CONFLICT DO NOTHING"
_EVENT = "tenant = ? AND model = ? AND event = ?"
_TICKET = "tenant = ? AND model = ? AND ticket = ?"
_REPLY = "tenant = ? AND model = ? AND name = ?"
_MINE = "WHERE tenant = ? AND model = ?"
_OUTDATED = (
    *(
        f"DELETE FROM {table} WHERE (tenant, model, ticket) IN "
        f"(SELECT tenant, model, ticket FROM questions {_MINE} AND closed_at < ?)"
        for table in ("answers", "leases")
    ),
    f"DELETE FROM questions {_MINE} AND closed_at < ?",
    f"DELETE FROM replies {_MINE} AND at < ?",
    f"DELETE FROM points {_MINE} AND at < ?",
)


class _Asking:
    """The rows of one request, of which some may have been asked about before."""

    def __init__(
        self, model: ServedModel, rows: Rows, body: AskBody, ids: list[Id | None], known: Known
    ) -> None:
        self.model, self.rows, self.body, self.ids, self.known = model, rows, body, ids, known

    def run(self, tx: Transaction, now: float) -> list[Reply]:
        """Decide about the new rows, and repeat what was said of the others."""
        digests = self._digests()
        said: list[Reply | None] = [
            None if name is None else self._before(name, digest)
            for name, digest in zip(self.ids, digests, strict=True)
        ]
        seen: dict[Id, int] = {}
        new = [at for at, reply in enumerate(said) if reply is None and self._first(at, seen)]
        if new:
            for at, reply in zip(new, self._decided(new, tx, now), strict=True):
                said[at] = reply
                self._keep(at, digests[at], reply, tx, now)
        for at, name in enumerate(self.ids):
            if said[at] is None and name is not None:  # twice in one request
                said[at] = said[seen[name]]
        return [reply for reply in said if reply is not None]

    def _first(self, at: int, seen: dict[Id, int]) -> bool:
        name = self.ids[at]
        return name is None or seen.setdefault(name, at) == at

    def _digests(self) -> list[str]:
        """A fingerprint of each row that has an id."""
        if all(name is None for name in self.ids):
            return [""] * len(self.ids)
        if self.rows.cells:
            return [digest_of(msgspec.json.encode(row, order="sorted")) for row in self.rows.cells]
        return [digest_of(row) for row in self.rows.packed]

    def _before(self, name: Id, digest: str) -> Reply | None:
        found = self.known.get(_name(self.model, "ask", name))
        if found is None:
            return None
        if found[0] != digest:
            return {"id": name, "error": f"{name!r} was asked about with another row"}
        reply: Reply = json.loads(found[1])
        return reply

    def _decided(self, new: list[int], tx: Transaction, now: float) -> list[Reply]:
        """The decisions about the rows at these places."""
        ids = [self.ids[at] for at in new]
        times = [self.body.times[at] for at in new] if self.body.times else []
        operation = Ask(now, self.rows.some(new), ids, times)
        return [
            reply if name is None else {"id": name} | reply
            for name, reply in zip(ids, _applied(self.model, operation, tx), strict=True)
        ]

    def _keep(self, at: int, digest: str, reply: Reply, tx: Transaction, now: float) -> None:
        """Keep a question for people, and the reply for who asks again."""
        model, name = self.model, self.ids[at]
        if reply.get("asked"):
            item = json.dumps(self._item(at))
            tx.put(
                "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open', NULL)",
                model.tenant, model.name, reply["ticket"], None if name is None else str(name),
                item, reply["query_probability"], people.wanted(model, reply["ticket"]), now,
            )  # fmt: skip
        if name is not None and "error" not in reply:
            _remember(tx, now, self.known, _name(model, "ask", name), digest, reply)

    def _item(self, at: int) -> Any:
        """What people see of a row."""
        if self.body.items:
            return self.body.items[at]
        if not self.rows.cells:
            return {"id": self.ids[at]}
        shown, row = self.model.asking.show, self.rows.cells[at]
        names = shown or [name for name in row if name not in ("id", "time")]
        return {name: row.get(name) for name in names}


def _tell(
    model: ServedModel, answers: list[Answer | Reply], tx: Transaction, now: float, known: Known
) -> list[Reply]:
    """The outcomes of answers: of those that came before, the same again."""
    said: list[Reply | None] = [
        a if isinstance(a, dict) else _told_before(model, a, known) for a in answers
    ]
    new = [at for at, reply in enumerate(said) if reply is None]
    fresh = [a for a in (answers[at] for at in new) if isinstance(a, Answer)]
    if fresh:
        replies = _applied(model, Tell(now, fresh), tx)
        for at, answer, reply in zip(new, fresh, replies, strict=True):
            said[at] = reply
            if "error" not in reply:
                name = _told_name(model, answer)
                _remember(tx, now, known, name, _label_digest(answer), reply)
                if reply.get("settled"):
                    people.close(tx, now, model, reply["ticket"])
    return [reply for reply in said if reply is not None]


def _told_before(model: ServedModel, answer: Answer, known: Known) -> Reply | None:
    found = known.get(_told_name(model, answer))
    if found is None:
        return None
    if found[0] != _label_digest(answer):
        return {"error": f"question {answer.question!r} was answered, and learned"}
    reply: Reply = json.loads(found[1])
    return reply


def _applied(model: ServedModel, operation: Operation, tx: Transaction) -> list[Reply]:
    """Carry out an operation, and write it into the journal."""
    applied = model.apply(operation)
    model.journal(tx, operation, applied)
    return applied.replies


def _remember(
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


def once(call: Call, name: Name, digest: str) -> Call:
    """A call that is carried out once under its name, and later only gives its reply again."""

    def run(tx: Transaction, now: float, known: Known) -> Any:
        if name in known:
            if known[name][0] != digest:
                raise Problem(409, "this Idempotency-Key was used for another request")
            return json.loads(known[name][1])
        reply = call(tx, now, known)
        _remember(tx, now, known, name, digest, reply)
        return reply

    return run


def _answer(model: ServedModel, body: Any) -> Answer | Reply:
    """An answer of a request, or why it cannot be one."""
    question = body.ticket if body.ticket is not None else body.id
    if question is None:
        return {"error": 'give "ticket" or "id"'}
    try:
        _need_class(model, body.label)
    except Problem as problem:
        return {"error": problem.detail}
    return Answer(question, body.label, body.by)


def _need_class(model: ServedModel, label: Any) -> None:
    session = model.desk.session
    known = session.classes
    if session.positive is None and label not in known and as_label(label) not in known:
        raise Problem(422, f"there is no class {label!r}: the classes are {known}")


def _need_active(model: ServedModel) -> None:
    if model.status != "active":
        raise Problem(409, f"{model.name} is {model.status}")


def _name(model: ServedModel, what: str, name: Id) -> Name:
    return model.tenant, model.name, f"{what}:{name!r}"


def _told_name(model: ServedModel, answer: Answer) -> Name:
    return model.tenant, model.name, f"tell:{answer.question!r}:{answer.by}"


def _label_digest(answer: Answer) -> str:
    return digest_of(json.dumps(answer.label).encode())
