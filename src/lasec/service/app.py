"""The service over HTTP: one table of routes, of which application and OpenAPI are made."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import update_wrapper
from importlib.resources import files
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path

from lasec.service import bodies as b
from lasec.service import figures, labels, people
from lasec.service.bodies import MOST_ROWS
from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.openapi import PACKED, Route, document
from lasec.service.operations import Rows
from lasec.service.requests import Key
from lasec.service.service import ANNOTATOR, APP, NOBODY, OWNER, VIEWER, Service, Who
from lasec.service.settings import NewModel
from lasec.service.store import Store, StoreError, Transaction, digest_of
from lasec.service.writer import Command, Known

log = logging.getLogger("lasec.service")
LARGEST, LARGEST_JSON = 8 * 2**20, 2**20  # bytes of a body: JSON is read while others wait
LONG, ROW = 2**15, 2**9  # bytes that a thread reads, so that others go on; about those of a row
DEEPEST = 20  # levels of an item
TRIES = 20  # wrong keys of one address in a minute
_json = msgspec.json.Encoder()
_NOBODY = Who("", "", "")
T = TypeVar("T")
B = TypeVar("B")
Handler = Callable[..., Awaitable[object]]


class Call(NamedTuple, Generic[B]):
    """A request, whose key it has, the model of its path, and its body or query."""

    request: Request
    who: Who
    model: ServedModel
    body: B


class Api:
    """The handlers, over one service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._wrong: dict[str, list[float]] = {}

    # Keys

    def who(self, request: Request, roles: tuple[str, ...]) -> Who:
        """Whose key the request has, if it may do this."""
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise Problem(401, "send a key: Authorization: Bearer KEY")
        found = self.service.who(key.strip())
        if found is None:
            self._slow_down(request.client.host if request.client else "")
            raise Problem(401, "this key is nobody's: it may have been taken back")
        if found.role not in roles:
            raise Problem(403, f"a key of the role {found.role!r} is not for this")
        return found

    def _slow_down(self, address: str) -> None:
        """Refuse an address that tries many wrong keys; a right one is never refused."""
        now = time.monotonic()
        tries = [at for at in self._wrong.get(address, ()) if at > now - 60.0]
        if len(tries) >= TRIES:
            raise Problem(429, "too many wrong keys", retry_after=60.0)
        if len(self._wrong) > 10_000:
            self._wrong.clear()
        self._wrong[address] = [*tries, now]

    async def keys(self, call: Call[None]) -> b.Keys:
        """The keys of the tenant."""
        statement = "SELECT name, role, made FROM keys WHERE tenant = ? ORDER BY made"
        found = await asyncio.to_thread(self.service.store.read, statement, call.who.tenant)
        return b.Keys([b.Key(*row) for row in found])

    async def new_key(self, call: Call[b.KeyBody]) -> b.Key:
        """Make a key."""
        put, key = self.service.key(call.who.tenant, call.body.name, call.body.role)
        await self.service.do(call.who.tenant, put)
        return b.Key(call.body.name, call.body.role, time.time(), key)

    async def revoke_key(self, call: Call[None]) -> None:
        """Take a key back; not the own one, so that an owner is always left."""
        name, who = call.request.path_params["name"], call.who
        if name == who.name:
            raise Problem(409, "a key does not take itself back: use another owner's")
        await self.service.do(who.tenant, self.service.revoke(who.tenant, name))

    async def _done(self, call: Call[Any], task: Command) -> Any:
        """The writer's reply to a request, whose body is counted while it waits."""
        return await self.service.do(call.who.tenant, task, len(await call.request.body()))

    # Models

    async def models(self, call: Call[None]) -> b.Models:
        """The models of the tenant, those that are set aside last."""
        tenant = call.who.tenant

        def mine(tx: Transaction, now: float, known: Known) -> b.Models:
            found = [m for m in self.service.models.values() if m.tenant == tenant]
            aside = [a for a in self.service.aside.values() if a.tenant == tenant]
            return b.Models([
                *map(figures.described, found),
                *(figures.set_aside(one.name, one.new, one.made, one.why) for one in aside),
            ])  # fmt: skip

        listed: b.Models = await self.service.do(tenant, mine)
        return listed

    async def _described(self, model: ServedModel) -> b.Model:
        """A model as it is listed; the writer reads it, because it alone uses models."""
        return await self.service.read(model, lambda tx, now: figures.described(model))

    async def create(self, call: Call[NewModel]) -> b.Model:
        """Make a model."""
        _check_name(call.body.name)
        put = await asyncio.to_thread(self.service.create, call.who.tenant, call.body)
        return await self._described(await self._done(call, put))

    async def describe(self, call: Call[None]) -> b.Model:
        """A model."""
        return await self._described(call.model)

    async def set_status(self, call: Call[b.StatusBody]) -> b.Model:
        """Pause a model, let it go on, or retire it."""
        put = self.service.set_status(call.model, call.body.status)
        return await self._described(await self._done(call, put))

    async def delete(self, call: Call[None]) -> None:
        """Delete a model with all that is kept of it; also one that is set aside."""
        tenant, name = call.who.tenant, call.request.path_params["model"]
        await self.service.do(tenant, self.service.delete(tenant, name))

    async def export(self, call: Call[None]) -> Response:
        """The model as a ``.lasec`` file."""
        model = call.model
        pack = await self.service.read(model, lambda tx, now: model.desk.packing())
        return Response(await asyncio.to_thread(pack), media_type=PACKED)

    async def bring(self, call: Call[None]) -> b.Model:
        """Make a model of a ``.lasec`` file."""
        name = call.request.path_params["model"]
        _check_name(name)
        data = await _body(call.request)
        new = NewModel(name=name, classes=[])
        put = await asyncio.to_thread(self.service.create, call.who.tenant, new, data)
        return await self._described(await self._done(call, put))

    # Rows and labels

    async def ask(self, call: Call[None]) -> dict[str, object]:
        """Decide about rows."""
        rows, body = await _asked(call.request, call.model)
        wish = self.service.ask(call.model, rows, body, await _key(call))
        return {"decisions": await self._done(call, wish)}

    async def predict(self, call: Call[b.PredictBody]) -> dict[str, object]:
        """Predict rows."""
        wish = self.service.predict(call.model, await _rows(call.model, call.body))
        return {"predictions": await self._done(call, wish)}

    async def tell(self, call: Call[b.TellBody]) -> dict[str, object]:
        """Learn the labels of questions."""
        wish = self.service.tell(call.model, call.body, await _key(call))
        return {"outcomes": await self._done(call, wish)}

    async def learn(self, call: Call[b.LearnBody]) -> dict[str, object]:
        """Learn labels that nobody asked for."""
        model, body = call.model, call.body
        if len(body.labels) != len(body.rows):
            raise Problem(422, '"labels": one for each row')
        wish = self.service.learn(model, await _rows(model, body), body, await _key(call))
        return {"outcomes": await self._done(call, wish)}

    async def cancel(self, call: Call[b.CancelBody]) -> dict[str, object]:
        """Give up questions."""
        wish = self.service.cancel(call.model, call.body, await _key(call))
        return {"outcomes": await self._done(call, wish)}

    # People

    async def questions(self, call: Call[b.QuestionsQuery]) -> b.Questions:
        """The open questions, for those who hand them to people elsewhere."""
        store, now = self.service.store, time.time()
        return await asyncio.to_thread(people.listed, store, now, call.model, call.body)

    async def lease(self, call: Call[b.LeaseBody]) -> b.Leased:
        """Questions for a person."""
        model, person, count = call.model, _person(call.who, call.body.by), call.body.count
        return await self.service.read(
            model, lambda tx, now: people.lease(tx, now, model, person, count)
        )

    async def hear(self, call: Call[b.PersonBody]) -> b.Said:
        """What a person says to a question."""
        person, leased = _person(call.who, call.body.by), call.who.role == ANNOTATOR
        wish = self.service.hear(call.model, person, call.body, leased=leased)
        said: b.Said = await self.service.do(call.who.tenant, wish)
        return said

    async def labels(self, call: Call[b.LabelsQuery]) -> b.Labels | Response:
        """The labels that were given: a page, or all of them in a stream."""
        model, query, store = call.model, call.body, self.service.store
        if query.format == "json":
            return await asyncio.to_thread(labels.listed, store, model, query)
        name = f'attachment; filename="{model.name}-labels.{query.format}"'
        return StreamingResponse(
            labels.exported(store, model, query), headers={"Content-Disposition": name},
            media_type=labels.KINDS[query.format],
        )  # fmt: skip

    async def correct(self, call: Call[b.CorrectionBody]) -> b.Corrected:
        """Correct a label that was given."""
        model, name, body = call.model, call.who.name, call.body
        return await self.service.read(
            model, lambda tx, now: labels.correct(tx, now, model, name, body)
        )

    async def instructions(self, call: Call[None]) -> b.Instructions:
        """What annotators are to know."""
        return b.Instructions(call.model.asking.instructions)

    async def instruct(self, call: Call[b.Instructions]) -> b.Instructions:
        """Set what annotators are to know."""
        await self.service.do(call.who.tenant, self.service.instruct(call.model, call.body.text))
        return b.Instructions(call.body.text)

    # Figures

    async def budget(self, call: Call[None]) -> b.Budget:
        """What was spent, and what waits."""
        model = call.model
        return await self.service.read(model, lambda tx, now: figures.budget(tx, now, model))

    async def journal(self, call: Call[None]) -> Response:
        """What is kept of the journal, a line of JSON for each row."""
        lines = figures.journal(self.service.store, call.model)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def erase(self, call: Call[None]) -> None:
        """Delete what is kept of a row: its item, its replies, and the question if it is open."""
        event = msgspec.convert(call.request.path_params["event"], b.Text)
        await self.service.erase(call.model, event)

    # The service itself

    async def healthz(self, call: Call[None]) -> dict[str, bool]:
        """Whether the process lives."""
        return {"alive": True}

    async def readyz(self, call: Call[None]) -> dict[str, bool]:
        """Whether it takes requests."""
        self.need_ready()
        return {"ready": True}

    def need_ready(self) -> None:
        """Refuse what needs a model while models are still being read, or no longer served."""
        if not self.service.ready:
            raise Problem(503, "models are being read, or the server ends", retry_after=1.0)

    async def metrics(self, call: Call[None]) -> Response:
        """Figures for Prometheus: of the process, and with a key of the tenant's models."""
        keyed = "authorization" in call.request.headers
        tenant = self.who(call.request, _SEES).tenant if keyed else None
        service = self.service
        counted = figures.Counted(service.models.values(), tenant)
        await service.do(NOBODY, counted.run)
        text = figures.prometheus(
            service.writer.groups, service.writer.waiting, len(service.aside), counted,
            service.hooks,
        )  # fmt: skip
        return Response(text, media_type=figures.PROMETHEUS)

    async def called(self, route: Route, request: Request) -> object:
        """The reply to a request: the key is looked at first, then the model, then the body."""
        who, model, body = _NOBODY, None, None
        if route.roles:
            who = self.who(request, route.roles)
            self.need_ready()
        if "model" in request.path_params and not route.unserved:
            model = self.service.model(who.tenant, request.path_params["model"])
        if route.query is not None:
            body = msgspec.convert(dict(request.query_params), route.query, strict=False)
        elif route.body not in (None, bytes) and not route.packed:
            body = await _read(request, route.body)
        call: Call[Any] = Call(request, who, model, body)  # type: ignore[arg-type]
        return await route.handler(self, call)


def _seen(see: Callable[[ServedModel], object]) -> Handler:
    """What the writer sees of a model, which it alone uses."""

    async def handler(api: Api, call: Call[None]) -> object:
        return await api.service.read(call.model, lambda tx, now: see(call.model))

    return update_wrapper(handler, see, ("__name__", "__doc__"))


def _stored(see: Callable[[Store, ServedModel], object]) -> Handler:
    """What the store has of a model, read in a thread: the event loop goes on meanwhile."""

    async def handler(api: Api, call: Call[None]) -> object:
        return await asyncio.to_thread(see, api.service.store, call.model)

    return update_wrapper(handler, see, ("__name__", "__doc__"))


_M = "/v1/models/{model}"
_ALL = (OWNER, APP, ANNOTATOR, VIEWER)
_SEES = (OWNER, APP, VIEWER)
_ASKS = (OWNER, APP)
_PEOPLE = (OWNER, APP, ANNOTATOR)
ROUTES = (
    Route("GET", "/v1/keys", Api.keys, "List keys", (OWNER,), reply=b.Keys),
    Route("POST", "/v1/keys", Api.new_key, "Make a key", (OWNER,), b.KeyBody, b.Key),
    Route("DELETE", "/v1/keys/{name}", Api.revoke_key, "Take a key back", (OWNER,)),
    Route("GET", "/v1/models", Api.models, "List models", _ALL, reply=b.Models),
    Route("POST", "/v1/models", Api.create, "Make a model", (OWNER,), NewModel, b.Model),
    Route("GET", _M, Api.describe, "Describe a model", _ALL, reply=b.Model),
    Route("PATCH", _M, Api.set_status, "Pause, go on, retire", (OWNER,), b.StatusBody, b.Model),
    Route("DELETE", _M, Api.delete, "Delete a model", (OWNER,), unserved=True),
    Route("GET", f"{_M}/file", Api.export, "Export the model's file", (OWNER,), reply=bytes),
    Route("PUT", f"{_M}/file", Api.bring, "Make a model of a file", (OWNER,), bytes, b.Model,
          unserved=True),
    Route("POST", f"{_M}/ask", Api.ask, "Predict rows, and decide which labels to query", _ASKS,
          b.AskBody, b.Decisions, packed=True),
    Route("POST", f"{_M}/predict", Api.predict, "Predict rows", _SEES, b.PredictBody,
          b.Predictions),
    Route("POST", f"{_M}/tell", Api.tell, "Learn labels of questions", _ASKS, b.TellBody,
          b.Outcomes),
    Route("POST", f"{_M}/learn", Api.learn, "Learn labels that nobody asked for", _ASKS,
          b.LearnBody, b.Outcomes),
    Route("POST", f"{_M}/cancel", Api.cancel, "Give up questions", _ASKS, b.CancelBody, b.Outcomes),
    Route("GET", f"{_M}/questions", Api.questions, "List questions and their answers", _ASKS,
          reply=b.Questions, query=b.QuestionsQuery),
    Route("POST", f"{_M}/lease", Api.lease, "Take questions to answer", _PEOPLE, b.LeaseBody,
          b.Leased),
    Route("POST", f"{_M}/answers", Api.hear, "Answer a question, or take it back", _PEOPLE,
          b.PersonBody, b.Said),
    Route("GET", f"{_M}/labels", Api.labels, "Export the labels that were given", _ASKS,
          reply=b.Labels, query=b.LabelsQuery),
    Route("POST", f"{_M}/corrections", Api.correct, "Correct a label that was given", (OWNER,),
          b.CorrectionBody, b.Corrected),
    Route("GET", f"{_M}/instructions", Api.instructions, "What annotators are to know", _ALL,
          reply=b.Instructions),
    Route("PUT", f"{_M}/instructions", Api.instruct, "Set what annotators are to know", (OWNER,),
          b.Instructions, b.Instructions),
    Route("GET", f"{_M}/accuracy", _seen(figures.accuracy), "Estimate the accuracy", _SEES,
          reply=b.Figures),
    Route("GET", f"{_M}/budget", Api.budget, "Labels spent and waiting", _SEES, reply=b.Budget),
    Route("GET", f"{_M}/sources", _seen(figures.sources), "What sources of labels cost and know",
          _SEES, reply=b.Sources),
    Route("GET", f"{_M}/alarms", _stored(figures.alarms), "List alarms", _SEES, reply=b.Alarms),
    Route("GET", f"{_M}/agreement", _stored(people.agreement), "Whether people agree", _SEES,
          reply=b.Agreement),
    Route("GET", f"{_M}/points", _stored(figures.points), "The accuracy over time", _SEES,
          reply=b.Points),
    Route("GET", f"{_M}/journal", Api.journal, "Export the journal", (OWNER,), reply=bytes),
    Route("DELETE", f"{_M}/events/{{event}}", Api.erase, "Erase what is kept of a row", (OWNER,)),
    Route("GET", "/healthz", Api.healthz, "Whether the process lives", ()),
    Route("GET", "/readyz", Api.readyz, "Whether it takes requests", ()),
    Route("GET", "/metrics", Api.metrics, "Figures for Prometheus", (), reply=bytes),
)  # fmt: skip
PAGES = {
    "/": "annotate.html",
    "/owner": "owner.html",
    "/annotate.js": "annotate.js",
    "/owner.js": "owner.js",
    "/owner-answers.js": "owner-answers.js",
    "/owner-create.js": "owner-create.js",
    "/owner-sources.js": "owner-sources.js",
    "/owner-text.js": "owner-text.js",
    "/page.js": "page.js",
    "/page.css": "page.css",
}
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:"
_PAGE = f"{_CSP}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_DATA = "default-src 'none'; frame-ancestors 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_ALWAYS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]


def application(service: Service, *, manage: bool = True) -> Starlette:
    """The ASGI application; it starts and stops the service, unless told not to.

    >>> sorted(application(Service(":memory:")).state._state)
    ['api']
    """
    api = Api(service)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        if manage:
            service.start()
        yield
        if manage:
            service.stop()

    text = _json.encode(document(ROUTES))
    routes = _paths(api)
    routes += [Path(path, _page(name), methods=["GET"]) for path, name in PAGES.items()]
    routes += [Path("/openapi.json", _fixed(text, "application/json"), methods=["GET"])]
    handlers: Any = {404: _unknown, 405: _unknown, 500: _failed}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    app.state.api = api
    return app


def _paths(api: Api) -> list[Path]:
    """One Starlette route for each path, so that a wrong method hears of all right ones."""
    found: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        found.setdefault(route.path, {})[route.method] = _endpoint(api, route)
    return [  # an event may have slashes in its name
        Path(path.replace("{event}", "{event:path}"), _by_method(made), methods=list(made))
        for path, made in found.items()
    ]


def _by_method(made: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        reply: Response = await made[method](request)
        return reply

    return serve


def _endpoint(api: Api, route: Route) -> Callable[[Request], Awaitable[Response]]:
    """A route as Starlette has it: problems become replies."""

    async def serve(request: Request) -> Response:
        try:
            reply = await api.called(route, request)
        except Problem as problem:
            return _refused(problem)
        except msgspec.ValidationError as error:
            return _refused(Problem(422, str(error)))
        except StoreError:
            log.exception("%s %s", request.method, request.url.path)
            return _refused(Problem(503, "the store does not answer", retry_after=1.0))
        if reply is None:
            return _safe(Response(status_code=204))
        if not isinstance(reply, Response):
            reply = Response(_json.encode(reply), media_type="application/json")
        return _safe(reply)

    return serve


def _safe(reply: Response, policy: str = _DATA) -> Response:
    """A reply that no browser keeps, frames, or takes for something else."""
    reply.raw_headers += [*_ALWAYS, (b"content-security-policy", policy.encode())]
    return reply


def _refused(problem: Problem) -> Response:
    headers = {} if problem.retry_after is None else {"Retry-After": f"{problem.retry_after:.0f}"}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    data = _json.encode(problem.body())
    return _safe(Response(data, problem.status, headers, "application/problem+json"))


async def _unknown(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    reply = _refused(Problem(status, f"{request.method} {request.url.path}"))
    reply.headers.update(getattr(error, "headers", None) or {})
    return reply


async def _failed(request: Request, error: Exception) -> Response:
    return _refused(Problem(500, "see the log of the server"))


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    data = files("lasec.service").joinpath("pages", name).read_bytes()
    return _fixed(data, _TYPES[name.rpartition(".")[2]], _PAGE)


def _fixed(data: bytes, kind: str, policy: str = _DATA) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return _safe(Response(data, media_type=kind), policy)

    return serve


async def _body(request: Request, most: int = LARGEST) -> bytes:
    """The body of a request, if it is not too large."""
    if int(request.headers.get("content-length") or 0) > most:
        raise Problem(413, f"a request like this has at most {most:,} bytes")
    data = bytearray()
    if hasattr(request, "_body"):
        return await request.body()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Problem(413, f"a request like this has at most {most:,} bytes")
    request._body = bytes(data)
    return request._body


async def _key(call: Call[Any]) -> Key | None:
    """The Idempotency-Key of a request, under which it is carried out once."""
    request = call.request
    given = request.headers.get("idempotency-key")
    if given is None:
        return None
    if not 0 < len(given) <= 200:
        raise Problem(422, "Idempotency-Key: from 1 to 200 characters")
    name = f"key:{request.url.path}:{given}"
    return Key((*call.model.key, name), digest_of(await _body(request)))


async def _read(request: Request, kind: type[T]) -> T:
    """The body of a request as what it should be."""
    data = await _body(request, LARGEST_JSON)
    try:
        return await _elsewhere(len(data), lambda: msgspec.json.decode(data, type=kind))
    except msgspec.ValidationError:
        raise  # it is told as it is
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is no JSON: {error}") from None
    except RecursionError:
        raise Problem(400, "the body is nested too deep") from None


async def _elsewhere(size: int, call: Callable[[], T]) -> T:
    """What a call gives; one that takes long, in a thread: the event loop goes on meanwhile."""
    return await asyncio.to_thread(call) if size > LONG else call()


async def _asked(request: Request, model: ServedModel) -> tuple[Rows, b.AskBody]:
    """The rows of a request: JSON, or numbers of eight bytes each."""
    if request.headers.get("content-type", "").partition(";")[0] != PACKED:
        body = await _read(request, b.AskBody)
        for name in ("ids", "times", "items"):
            if getattr(body, name) and len(getattr(body, name)) != len(body.rows):
                raise Problem(422, f'"{name}": one for each row, or none')
        _shallow("items", body.items)
        return await _rows(model, body), body
    data, width = await _body(request), model.desk.session.learner.dimension
    if model.desk.table is not None or not data or len(data) % (8 * width):
        raise Problem(422, f"expected rows of {width} numbers, eight bytes each")
    _check_count(len(data) // (8 * width))
    return Rows(data, len(data) // (8 * width)), b.AskBody([])


async def _rows(model: ServedModel, body: b.AskBody | b.LearnBody | b.PredictBody) -> Rows:
    """The rows of a request, of the kind that the model takes; the body has them no longer."""
    rows, body.rows = body.rows, []
    return await _elsewhere(len(rows) * ROW, lambda: _of_model(model, rows))


def _of_model(model: ServedModel, rows: list[Any]) -> Rows:
    if model.desk.table is not None:
        if not all(isinstance(row, dict) for row in rows):
            raise Problem(422, "rows: expected objects with the columns of the model")
        return Rows(cells=_cells(rows))
    width = model.desk.session.learner.dimension
    if any(isinstance(row, dict) or len(row) != width for row in rows):
        raise Problem(422, f"rows: expected lists of {width} numbers")
    return Rows.of_numbers(np.array(rows, dtype=np.float64))


def _cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of cells that the journal can hold, with ids that are ids."""
    msgspec.convert([row.get("id") for row in rows], list[b.Id | None])
    _shallow("rows", rows)
    try:
        msgspec.msgpack.encode(rows)
    except OverflowError:
        raise Problem(422, '"rows": a whole number has at most 64 bits') from None
    return rows


def _shallow(name: str, values: Any, left: int = DEEPEST) -> None:
    """Refuse what is nested so deep that nobody could read it, the server included."""
    if not left:
        raise Problem(422, f'"{name}": nested more than {DEEPEST} deep')
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, list | dict):
            _shallow(name, value, left - 1)


def _check_count(count: int) -> None:
    if not 0 < count <= MOST_ROWS:
        raise Problem(422, f"from 1 to {MOST_ROWS:,} at a time, got {count:,}")


def _check_name(name: str) -> None:
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not (plain.isascii() and plain.isalnum() and len(name) <= 100):
        raise Problem(422, '"name": letters, digits, hyphens, dots, at most 100')


def _person(who: Who, given: str | None) -> str:
    """Who answers: the key's own name, or one that an application gives."""
    if who.role == ANNOTATOR:
        if given not in (None, who.name):
            raise Problem(403, "an annotator's key answers for nobody else")
        return who.name
    return given or who.name
