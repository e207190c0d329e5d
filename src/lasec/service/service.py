"""The service without HTTP: models, keys and people, over one store and one writer."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from lasec.errors import TableError
from lasec.metrics.proportion import student
from lasec.service import people, removal
from lasec.service import requests as r
from lasec.service.bodies import AnswerBody, AskBody, CancelBody, LearnBody, PersonBody, TellBody
from lasec.service.errors import Problem
from lasec.service.figures import known_or_none
from lasec.service.hooks import Hooks
from lasec.service.limits import Accounts, Limits
from lasec.service.model import DELETED, EVERY, ServedModel
from lasec.service.operations import Cancel, Ref, Rows, Tell
from lasec.service.outgoing import Outgoing
from lasec.service.queue import Queue
from lasec.service.settings import LONGEST, UNPRINTABLE, NewModel, brought, desk_of
from lasec.service.store import Store, StoreError, Transaction, digest_of
from lasec.service.writer import FAILED, MORE, SLICE, Call, Command, Job, Known, Room, Writer

log = logging.getLogger("lasec.service")
T = TypeVar("T")
LARGEST = 768 * 2**20  # bytes of a snapshot: a value of either database has fewer than 10^9
TICK = 0.25  # seconds between two looks at what is due
DUE = 4  # answers of people that are told together: a part of a slice
POINT = 60.0  # seconds between two points of the accuracy over time
TIDY = 3_600.0  # seconds between two looks at what was kept long enough
NOBODY = ""  # the tenant of what happens by itself
OWNER, APP, ANNOTATOR, VIEWER = "owner", "app", "annotator", "viewer"


class Who(NamedTuple):
    """Whose key it is, and what it opens."""

    tenant: str
    role: str
    name: str


class Aside(NamedTuple):
    """A model that cannot be read, and why; its data is kept, and the others are served."""

    tenant: str
    name: str
    new: NewModel | None
    made: float
    why: str


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
        self, url: str, *, at: Callable[[str], None] = lambda point: None, every: int = EVERY,
        limits: Limits = Limits(), room: Room = Room(), outgoing: Outgoing = Outgoing(),  # noqa: B008
    ) -> None:  # fmt: skip
        self.store, self._at, self.every = Store(url), at, every
        self.models: dict[tuple[str, str], ServedModel] = {}
        self.aside: dict[tuple[str, str], Aside] = {}
        self.accounts = Accounts(limits)
        self.keys: dict[str, Who] = {}
        self.writer = Writer(self.store, after=self._after, doubt=self._in_doubt, at=at, room=room)
        self.hooks = Hooks(outgoing, self.store, self.models, self._judged)
        self._doubtful: dict[ServedModel, int] = {}
        self._telling: dict[ServedModel, Job] = {}
        self._packing = ThreadPoolExecutor(1, "lasec snapshots")
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
        with self.store.transaction() as tx:
            removal.delete_unfinished(tx)
        for digest, *who in self.store.read("SELECT digest, tenant, role, name FROM keys"):
            self.keys[digest] = Who(*who)
        self.writer.start()

    def load(self) -> None:
        """Read every model, replay its journal; then it is ready."""
        self.hooks.start()
        student(0.95, 1.0)  # loads SciPy, for which the first estimate would hold everybody up
        for tenant, name, settings, status, made in self.store.read(_MODELS):
            if self._stopped.is_set():
                return
            self._read(tenant, name, settings, status, made)
        threading.Thread(target=self._tick, name="lasec clock", daemon=True).start()
        self.ready = True

    def _read(self, tenant: str, name: str, settings: str, status: str, made: float) -> None:
        """Serve a model of the store, or set it aside where it cannot be read."""
        key = tenant, name
        if status == DELETED:  # the process ended on the way
            self.do_now(self._deleting(*key), tenant)
            return
        try:
            model = ServedModel.load(self.store, tenant, name, settings, status, made)
            self._at("replay")
            model.replay(self.store)
            model.queue = Queue.read(self.store, tenant, name, time.time())
        except StoreError:
            raise
        except Exception as error:
            log.exception("model %s of %s is set aside", name, tenant)
            aside = Aside(*key, _settings(settings), made, f"{error}"[:500])
            self.do_now(self._unless_deleted(key, made, lambda: self._set_aside(aside)), tenant)
            return
        self.do_now(self._unless_deleted(key, made, lambda: self._serve(model)), tenant)

    def _unless_deleted(self, key: tuple[str, str], made: float, do: Callable[[], None]) -> Call:
        """What is done with a model that was read, unless it was deleted in the meantime."""

        def run(tx: Transaction, now: float, known: Known) -> None:
            statement = f"SELECT made FROM models WHERE {_NAMED} AND status <> ?"
            if tx.read(statement, *key, DELETED) == [(made,)]:
                do()

        return run

    def _set_aside(self, aside: Aside) -> None:
        """Serve a model no longer, and say why."""
        self.models.pop((aside.tenant, aside.name), None)
        self.aside[aside.tenant, aside.name] = aside

    def _serve(self, model: ServedModel) -> None:
        """Let the writer use a model."""
        self.models[model.key] = model
        self.accounts.note(model)
        self.hooks.look(model)

    def stop(self) -> None:
        """Carry out what waits, keep a snapshot of every model, and let the store go."""
        self.ready = False
        self._stopped.set()
        self.hooks.stop()
        self._packing.shutdown()
        self.writer.stop()
        for model in list(self.models.values()):
            if model.rows_since and not model.doubt and not self._is_too_large(model):
                with self.store.transaction() as tx:
                    data = model.desk.packing()()
                    while not model.snapshot(tx, time.time(), model.seq, data):
                        pass
                    while not removal.delete_replayed(tx, model):
                        pass
        self.store.close()

    async def do(self, tenant: str, task: Command, size: int = 0) -> Any:
        """Let the writer carry out a task in the turn of a tenant, and wait for its reply.

        ``size`` is that of the request's body, which is in memory as long as it waits.
        """
        work = Job(tenant, task, asyncio.get_running_loop(), size)
        self.writer.submit(work)
        return await work.future  # type: ignore[misc]

    async def read(self, model: ServedModel, see: Callable[[Transaction, float], T]) -> T:
        """What the writer sees of a model, which it alone uses."""

        def call(tx: Transaction, now: float, known: Known) -> T:
            r.need_served(model)
            return see(tx, now)

        seen: T = await self.do(model.tenant, call)
        return seen

    def do_now(self, task: Command, tenant: str = NOBODY) -> Any:
        """The same from a thread without an event loop."""
        work = Job(tenant, task)
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
        if tenant == NOBODY or UNPRINTABLE.search(tenant) or len(tenant) > LONGEST:
            raise TableError(f"tenant {tenant[:80]!r}: expected 1 to {LONGEST} characters")
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
        key = tenant, name
        if key in self.aside:
            raise Problem(503, f"{name} cannot be read and is set aside: {self.aside[key].why}")
        if key not in self.models:
            raise Problem(404, f"there is no model {name!r}")
        return self.models[key]

    def create(self, tenant: str, new: NewModel, data: bytes | None = None) -> Call:
        """Make a model: a new one, or that of a ``.lasec`` file."""
        self._need_new(tenant, new.name)
        self.accounts.need_room(tenant, 0)
        if new.hooked is not None:
            self.hooks.check(new.hooked)
        try:
            desk = desk_of(new) if data is None else brought(data)
        except (ValueError, TypeError, OverflowError) as error:
            raise Problem(422, str(error)) from None
        if not desk.session.classes:
            raise Problem(422, "the model of the file has no classes: name them first")
        whole = desk.packing()()
        size = len(whole)
        self.accounts.need_room(tenant, size)
        kept = msgspec.structs.replace(new, sample=[])
        made = ServedModel(tenant, new.name, kept, desk, size=size)

        def put(tx: Transaction, now: float, known: Known) -> ServedModel:
            self._need_new(tenant, new.name)
            self.accounts.need_room(tenant, size)
            settings = msgspec.json.encode(made.new).decode()
            tx.run(_TENANT, tenant, now)
            values = tenant, new.name, settings, "active", now
            tx.run("INSERT INTO models VALUES (?, ?, ?, ?, ?)", *values)
            while not made.snapshot(tx, now, made.seq, whole):
                pass
            made.made = now
            self._serve(made)
            return made

        return put

    def delete(self, tenant: str, name: str) -> Call:
        """Delete a model with all that is kept of it, also one that is set aside."""
        delete = self._deleting(tenant, name)

        def run(tx: Transaction, now: float, known: Known) -> object:
            if (tenant, name) in self.models or (tenant, name) in self.aside:
                tx.run(f"UPDATE models SET status = ? WHERE {_NAMED}", DELETED, tenant, name)
                self.aside.pop((tenant, name), None)
                if (model := self.models.pop((tenant, name), None)) is not None:
                    model.status = DELETED  # for those who still have it in hand
            elif not tx.read(f"SELECT 1 FROM models WHERE {_NAMED}", tenant, name):
                raise Problem(404, f"there is no model {name!r}")
            return delete(tx, now, known)

        return run

    def _deleting(self, tenant: str, name: str) -> Call:
        """What deletes a model that is served no longer, some rows at a time."""

        def run(tx: Transaction, now: float, known: Known) -> object:
            if not removal.delete_model(tx, tenant, name):
                return MORE
            self.accounts.forget(tenant, name)
            return None

        return run

    def _need_new(self, tenant: str, name: str) -> None:
        if (tenant, name) in self.models or (tenant, name) in self.aside:
            raise Problem(409, f"there is a model of the name {name!r}")

    def set_status(self, model: ServedModel, status: str) -> Call:
        """Pause a model, let it go on, or retire it for good."""

        def put(tx: Transaction, now: float, known: Known) -> ServedModel:
            r.need_served(model)
            if model.status == "retired" and status != "retired":
                raise Problem(409, f"{model.name} is retired")
            tx.run(f"UPDATE models SET status = ? WHERE {_NAMED}", status, *model.key)
            model.status = status
            self.hooks.look(model)
            return model

        return put

    def instruct(self, model: ServedModel, text: str) -> Call:
        """Set what annotators are to know."""

        def put(tx: Transaction, now: float, known: Known) -> None:
            r.need_served(model)
            asking = msgspec.structs.replace(model.asking, instructions=text)
            model.new = msgspec.structs.replace(model.new, asking=asking)
            settings = msgspec.json.encode(model.new).decode()
            tx.run(f"UPDATE models SET settings = ? WHERE {_NAMED}", settings, *model.key)

        return put

    # Rows and labels

    def ask(
        self, model: ServedModel, rows: Rows, body: AskBody, key: r.Key | None = None
    ) -> r.Request:
        """Decide about rows."""
        return r.Request(r.Asking(model, rows, body, self.accounts.need_questions), key)

    def tell(self, model: ServedModel, body: TellBody, key: r.Key | None = None) -> r.Request:
        """Learn labels."""
        return r.Request(r.Telling(model, body.answers), key)

    async def _judged(self, model: ServedModel, answer: AnswerBody) -> Any:
        """Tell what a judge has answered to whom the question was posted."""
        return await self.do(model.tenant, self.tell(model, TellBody([answer])))

    def learn(
        self, model: ServedModel, rows: Rows, body: LearnBody, key: r.Key | None = None
    ) -> r.Request:
        """Learn labels that nobody asked for."""
        return r.Request(r.Learning(model, rows, body.labels), key)

    def cancel(self, model: ServedModel, body: CancelBody, key: r.Key | None = None) -> r.Request:
        """Give up questions."""
        return r.Request(r.Canceling(model, r.refs(body.questions)), key)

    def predict(self, model: ServedModel, rows: Rows) -> r.Request:
        """Predict rows; nothing is counted."""
        return r.Request(r.Predicting(model, rows))

    def hear(self, model: ServedModel, person: str, said: PersonBody, *, leased: bool) -> Call:
        """What a person says to a question; ``leased``: only to one that they have a lease of."""

        def run(tx: Transaction, now: float, known: Known) -> object:
            r.need_served(model)
            reply, give_up = people.hear(tx, now, model, person, said, leased=leased)
            if give_up:
                r.applied(model, Cancel(now, [Ref(ticket=said.ticket)]), tx)
            return reply

        return run

    async def erase(self, model: ServedModel, event: str) -> None:
        """Delete what is kept of a row by its id; the model itself cannot unlearn it.

        A snapshot is kept, so that the journal of the row and older snapshots are gone too. What
        may take long is done outside of the writer.
        """
        tickets, seq, pack = await self.do(model.tenant, self._erasing(model, event))
        data: bytes = await asyncio.to_thread(pack)
        found = await asyncio.to_thread(removal.replies_of, self.store, model, event, tickets)
        gone, changed = found

        def forget(tx: Transaction, now: float, known: Known) -> object:
            r.need_served(model)
            if not model.snapshot(tx, now, seq, data):
                return MORE
            if not removal.delete_replayed(tx, model, keep=1):
                return MORE
            for name in gone:
                tx.put(f"DELETE FROM replies WHERE {_NAMED} AND name = ?", *model.key, name)
            for name, reply in changed.items():
                statement = f"UPDATE replies SET reply = ? WHERE {_NAMED} AND name = ?"
                tx.put(statement, reply, *model.key, name)
            tx.erased = True
            return None

        await self.do(model.tenant, forget)

    def _erasing(self, model: ServedModel, event: str) -> Call:
        def run(tx: Transaction, now: float, known: Known) -> tuple[list[int], int, Any]:
            r.need_served(model)
            if self._is_too_large(model):
                raise Problem(409, "the model is too large for a snapshot: delete it as a whole")
            tickets = removal.tickets_of(tx, model, event)
            still = [t for t in tickets if model.desk.session.model.is_open(t)]
            if still:
                r.applied(model, Cancel(now, [Ref(ticket=t) for t in still]), tx)
            for ticket in tickets:
                removal.erase_question(tx, model, ticket)
            return tickets, model.seq, model.desk.packing()

        return run

    def _in_doubt(self, models: Iterable[ServedModel]) -> None:
        """Serve these models no longer, until they are read again: memory is ahead of the store."""
        for model in models:
            model.doubt = "an operation has failed, and the model is read again"
            self._doubtful[model] = self.writer.groups

    # What happens by itself

    def _tick(self) -> None:
        """Do what is due, until the service stops; without the store, the process ends."""
        pointed = time.monotonic()
        try:
            while not self._stopped.wait(TICK):
                if not self.store.holds_lock():
                    raise StoreError("the store is another server's, or gone")
                self._tell_due()
                with suppress(Problem):  # too many wait: it is done at the next look
                    self._read_doubtful()
                    if time.monotonic() - pointed > POINT:
                        pointed = time.monotonic()
                        self.do_now(self._house())
        except StoreError as error:
            if not self._stopped.is_set():
                log.critical("%s: the server ends", error)
                os._exit(FAILED)

    def _tell_due(self) -> None:
        """Let models learn what can no longer be taken back: each by itself, in its tenant's turn.

        So a model that fails is the only one that is undone.
        """
        now = time.time()
        self._telling = {m: work for m, work in self._telling.items() if not work.event.is_set()}
        for model in list(self.models.values()):
            if model.queue.held.is_due(now) and not model.doubt and model not in self._telling:
                work = Job(model.tenant, self._telling_due(model))
                with suppress(Problem):  # too many wait: it is told at the next look
                    self.writer.submit(work)
                    self._telling[model] = work

    def _telling_due(self, model: ServedModel) -> Call:
        """What tells a model the answers that are due, as many as a slice has time for."""

        def run(tx: Transaction, now: float, known: Known) -> object:
            r.need_served(model)
            tx.touched[model] = None  # what is due is taken from memory
            until = time.thread_time() + SLICE
            while answers := people.due(tx, now, model, DUE):
                replies = r.applied(model, Tell(now, answers), tx)
                for answer, reply in zip(answers, replies, strict=True):
                    people.learned(tx, now, model, answer, reply)
                if time.thread_time() > until:
                    return MORE
            return None

        return run

    def _read_doubtful(self) -> None:
        """Read the models again whose memory is in doubt, when all before it is committed."""
        for model, group in list(self._doubtful.items()):
            if self.writer.groups > group:
                for row in self.store.read(f"{_MODELS} WHERE {_NAMED}", *model.key):
                    self._read(*row)
                del self._doubtful[model]

    def _house(self) -> Call:
        """Points of the accuracy over time; what was kept long enough is deleted."""
        left = list(self.models.values())

        def run(tx: Transaction, now: float, known: Known) -> object:
            until = time.monotonic() + SLICE
            while left and time.monotonic() < until:
                model = left.pop()
                if not model.doubt and not self._tidied(tx, now, model):
                    left.append(model)
                    break
            return MORE if left else None

        return run

    def _tidied(self, tx: Transaction, now: float, model: ServedModel) -> bool:
        """Keep a point; delete some of what is outdated. Whether that was all."""
        meter = model.desk.session.meter
        point = meter.rows, meter.asked, meter.labels
        if point != model.pointed[:3]:  # an estimate takes longer than all the rest
            found = meter.reaching().estimate(over="window")
            model.pointed = *point, known_or_none(found.value), found.low, found.high
        rows, asked, _, *estimate = model.pointed
        tx.put(
            "INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            *model.key, now, rows, asked, *estimate,
        )  # fmt: skip
        if now < model.tidy_at:
            return True
        done = removal.delete_outdated(tx, model, now - model.asking.retain)
        model.tidy_at = now + TIDY if done else now
        return done

    def _after(self, now: float, changed: Iterable[ServedModel]) -> None:
        """Keep a snapshot of the models that have come far since the last one."""
        for model in changed:
            if self.models.get(model.key) is not model:
                continue  # it was deleted since
            self.accounts.note(model)
            self.hooks.look(model)
            if model.rows_since >= self.every and not model.doubt:
                model.rows_since = 0
                if not self._is_too_large(model):
                    pack = model.desk.packing()
                    self._packing.submit(self._snapshot, model, model.seq, pack)

    def _is_too_large(self, model: ServedModel) -> bool:
        """Whether no store could hold a snapshot of a model."""
        if model.memory > LARGEST:
            log.error("model %s of %s is too large for a snapshot", model.name, model.tenant)
        return model.memory > LARGEST

    def _snapshot(self, model: ServedModel, seq: int, pack: Callable[[], bytes]) -> None:
        """Write a model as it was, outside of the writer, which goes on, and let it be kept."""
        data = pack()

        def put(tx: Transaction, now: float, known: Known) -> object:
            if self.models.get(model.key) is not model:
                return None
            if not model.snapshot(tx, now, seq, data):
                return MORE
            self._at("snapshot")
            return None if removal.delete_replayed(tx, model) else MORE

        with suppress(Problem):  # too many wait: the next one is kept
            self.writer.submit(Job(NOBODY, put))


_TENANT = "INSERT INTO tenants VALUES (?, ?) ON CONFLICT DO NOTHING"
_NAMED = "tenant = ? AND model = ?"
_MODELS = "SELECT tenant, model, settings, status, made FROM models"


def _settings(text: str) -> NewModel | None:
    """The settings of a model, if they can be read."""
    try:
        return msgspec.json.decode(text, type=NewModel)
    except msgspec.MsgspecError:
        return None
