"""Questions that are posted to a judge; its answer goes the way of an answer that is told.

A question that waits for its judge is in the store ("judging") until the answer was told. So what
was open when the process ended is posted again, with the same ``Idempotency-Key``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from lasec.service.bodies import AnswerBody, Label
from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.outgoing import Outgoing, UnansweredError
from lasec.service.requests import need_class
from lasec.service.settings import UNPRINTABLE, SourceBody
from lasec.service.store import Store, StoreError, digest_of

log = logging.getLogger("lasec.service")
AT_ONCE, OF_ALL = 16, 256  # questions that are with judges: a tenant's, and those of all
AGAIN = 1.0  # seconds until an answer that could not be told is told again
FINAL = (404, 500)  # statuses after which it is not: the model is gone, or the request has failed
Name = tuple[str, str, float]  # tenant, model, and when it was made
_NEXT = (
    "SELECT ticket, event, item FROM questions WHERE tenant = ? AND model = ? "
    "AND status = 'judging' AND ticket > ? ORDER BY ticket LIMIT 1"
)


class Said(msgspec.Struct):
    """What a judge replies; other fields are ignored."""

    label: Label | None
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None = None


class Hooks:
    """The judges behind addresses, all in one thread with an event loop of its own.

    ``tell`` takes a model and an answer, and gives what comes of it. ``posted`` and ``unanswered``
    are counted for the metrics: the latter by reason.
    """

    def __init__(
        self, outgoing: Outgoing, store: Store, models: Mapping[tuple[str, str], ServedModel],
        tell: Callable[[ServedModel, AnswerBody], Awaitable[Any]],
    ) -> None:  # fmt: skip
        self._outgoing, self._store, self._models, self._tell = outgoing, store, models, tell
        self.posted, self.unanswered = 0, Counter[str]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._news: dict[Name, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(AT_ONCE))
        self._all = asyncio.Semaphore(OF_ALL)

    def start(self) -> None:
        """Begin to post."""
        begun = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(begun)), name="lasec hooks", daemon=True
        )
        self._thread.start()
        begun.wait()

    async def _run(self, begun: threading.Event) -> None:
        """Let the others run until they are stopped; what is with a judge then is left there."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        begun.set()
        await self._ended.wait()

    def stop(self) -> None:
        """Post nothing more; questions that wait for their judge are posted at the next start."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()
            self._loop = None

    def check(self, source: SourceBody) -> None:
        """Refuse a judge to whom nothing could be posted."""
        try:
            self._outgoing.address(source.hook)
            _headers(source, "")
        except UnansweredError as error:
            raise Problem(422, f'"hook": {error}') from None

    def look(self, model: ServedModel) -> None:
        """There may be questions for the judge of a model; in any thread."""
        loop = self._loop  # another thread may stop it meanwhile
        if model.new.hooked is not None and loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._wake, (*model.key, model.made))

    def _wake(self, name: Name) -> None:
        if name not in self._news:
            for gone in [one for one in self._news if self._model(one) is None]:
                self._news.pop(gone).set()
            self._news[name] = asyncio.Event()
            self._go(self._in_order(name, self._news[name]))
        self._news[name].set()

    def _go(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a question waits until the next start for its judge", exc_info=error)

    def _model(self, name: Name) -> ServedModel | None:
        """The model by now: one that was read again is another object; None if it is gone."""
        found = self._models.get(name[:2])
        return found if found is not None and found.made == name[2] else None

    async def _in_order(self, name: Name, news: asyncio.Event) -> None:
        """Post the questions of a model in their order, as many together as its tenant may."""
        slots, after = self._slots[name[0]], -1
        while self._model(name) is not None:
            await news.wait()
            news.clear()
            while (model := self._model(name)) is not None and model.status == "active":
                await slots.acquire()  # first: what is erased while it waits is not read
                found = await asyncio.to_thread(self._read, model, after)
                if not found:
                    slots.release()
                    break
                after = found[0][0]
                self._go(self._settled(name, model, *found[0]))

    def _read(self, model: ServedModel, after: int) -> list[tuple[Any, ...]]:
        with suppress(StoreError):  # it is read with the next news, or the process ends
            return self._store.read(_NEXT, *model.key, after)
        return []

    async def _settled(
        self, name: Name, model: ServedModel, ticket: int, event: str | None, item: str
    ) -> None:
        """Post a question, and tell what is answered; also that nothing is."""
        source = model.new.hooked
        assert source is not None
        try:
            async with self._all:
                said = await self._asked(source, model, ticket, _body(model, ticket, event, item))
        finally:
            self._slots[name[0]].release()
        answer = AnswerBody(said.label, ticket, by=source.name, confidence=said.confidence)
        while (now := self._model(name)) is not None and now.status != "retired":
            try:
                await self._tell(now, answer)
            except Problem as problem:
                if problem.status in FINAL:
                    return
                await asyncio.sleep(problem.retry_after or AGAIN)
            else:
                return

    async def _asked(
        self, source: SourceBody, model: ServedModel, ticket: int, body: bytes
    ) -> Said:
        """What a judge says to a question, after a few tries; without an answer, None."""
        try:
            said = await self._replied(source, _key(model, ticket), body)
            if said.label is not None:
                need_class(model, said.label, by_name=True)
        except (UnansweredError, Problem) as error:
            kind = error.kind if isinstance(error, UnansweredError) else "class"
            self.unanswered[kind] += 1
            log.warning("%s of %s: no answer of %r to question %d: %s", model.name, model.tenant,
                        source.name, ticket, UNPRINTABLE.sub("?", f"{error}")[:200])  # fmt: skip
            return Said(None)
        return said

    async def _replied(self, source: SourceBody, key: str, body: bytes) -> Said:
        for pause in (*self._outgoing.pauses, None):
            self.posted += 1
            try:
                reply = await self._outgoing.post(
                    source.hook, body, _headers(source, key), source.timeout
                )
                return msgspec.json.decode(reply, type=Said)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise UnansweredError("reply", f"{error}") from None
            except UnansweredError as error:
                if pause is None or not error.again:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last try has no pause")


def _key(model: ServedModel, ticket: int) -> str:
    """What names a question for its judge, also after a restart; no other model's has the name."""
    made = digest_of(model.tenant.encode(), repr(model.made).encode())
    return f"{model.name}-{ticket}-{made[:12]}"


def _body(model: ServedModel, ticket: int, event: str | None, item: str) -> bytes:
    """A question as it is posted: with the item that people would see."""
    return msgspec.json.encode({
        "model": model.name, "ticket": ticket, "id": event,
        "classes": list(model.desk.session.classes), "item": msgspec.Raw(item.encode()),
    })  # fmt: skip


def _headers(source: SourceBody, key: str) -> dict[str, str]:
    """The headers of a post; the secret is read where it is sent, and kept nowhere."""
    made = {"Idempotency-Key": key}
    if source.secret:
        value = os.environ.get(source.secret, "")
        if not value or not value.isascii() or UNPRINTABLE.search(value):
            raise UnansweredError("secret", f"the server has no {source.secret} in its environment")
        made["Authorization"] = f"Bearer {value}"
    return made
