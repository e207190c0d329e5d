"""A client of ``lasec serve``, with the words of the library: needs ``lasec[client]``.

Requests that change something carry a key of their own and are sent again after a lost connection:
the service carries each out once. :class:`Client` waits for replies, :class:`AsyncClient` awaits.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import httpx

from lasec.metrics import Estimate
from lasec.types import Decision

__all__ = [
    "AsyncClient", "AsyncModel", "Client", "Given", "Model", "Question", "RefusedError", "Told",
]  # fmt: skip

_AGAIN = (429, 502, 503, 504)
_SLOW = 600.0  # seconds for a request that may compile
_WAITS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 5.0)  # seconds before each further try


class RefusedError(RuntimeError):
    """What the service does not do, and why.

    >>> RefusedError(404, "there is no model 'mails'").status
    404
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Told(NamedTuple):
    """What a label has done: whether the prediction was correct, the model learned, and so on."""

    ticket: int | None
    label: Any
    correct: bool | None
    learned: bool
    settled: bool | None


class Given(NamedTuple):
    """What a person has said to a question: held, told, recorded, dont_know or later."""

    by: str
    label: Any
    status: str


class Question(NamedTuple):
    """A question, how many people are wanted for it, and what they have said.

    >>> Question(7, "mail-7", {"text": "hi"}, "open", 1, [Given("ann", "ham", "held")]).waits
    False
    """

    ticket: int
    id: str | None
    item: Any
    status: str
    wanted: int
    answers: Sequence[Given]

    @property
    def is_open(self) -> bool:
        """Whether an answer still counts."""
        return self.status in ("open", "settled")

    @property
    def waits(self) -> bool:
        """Whether it waits for another person."""
        given = sum(one.status in ("held", "told", "recorded") for one in self.answers)
        return self.is_open and given < self.wanted


class _Call(NamedTuple):
    """A request, and how its reply is read."""

    method: str
    path: str
    body: Any = None
    read: Callable[[Any], Any] = lambda reply: reply
    once: bool = False
    slow: bool = False

    @property
    def timeout(self) -> Any:
        """How long to wait for it: code that is compiled first takes a minute or two."""
        return _SLOW if self.slow else httpx.USE_CLIENT_DEFAULT


class Client:
    """A service by its address, and a key.

    >>> client = Client("http://127.0.0.1:8077", key="lasec_...")
    >>> mails = client.model("mails")  # then: mails.ask({"text": "win a prize"}, id="mail-17")
    >>> client.close()
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def model(self, name: str) -> Model:
        """A model by its name."""
        return Model(self._send, name)

    def create(self, name: str, classes: Sequence[Hashable], **settings: Any) -> Model:
        """Make a model; settings are those of ``POST /v1/models``."""
        self._send(_made(name, classes, settings))
        return self.model(name)

    def models(self) -> list[str]:
        """The names of the models."""
        found: list[str] = self._send(_LIST)
        return found

    def new_key(self, name: str, role: str = "annotator") -> str:
        """A key for an application or a person; it is shown this once."""
        key: str = self._send(_key(name, role))
        return key

    def close(self) -> None:
        """End all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, call: _Call) -> Any:
        headers = _headers(call)
        for wait in (*_WAITS, None):
            try:
                reply = self._http.request(
                    call.method, call.path, json=call.body, headers=headers, timeout=call.timeout
                )
                if reply.status_code not in _AGAIN or wait is None:
                    return _read(call, reply)
            except httpx.TransportError:
                if wait is None or not (call.once or call.method == "GET"):
                    raise
            time.sleep(wait)
        return None


class AsyncClient:
    """The same for ``asyncio``; every call is awaited.

    >>> client = AsyncClient("http://127.0.0.1:8077", key="lasec_...")
    >>> asyncio.run(client.close())
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)

    def model(self, name: str) -> AsyncModel:
        """A model by its name."""
        return AsyncModel(self._send, name)

    async def create(self, name: str, classes: Sequence[Hashable], **settings: Any) -> AsyncModel:
        """Make a model; settings are those of ``POST /v1/models``."""
        await self._send(_made(name, classes, settings))
        return self.model(name)

    async def models(self) -> list[str]:
        """The names of the models."""
        found: list[str] = await self._send(_LIST)
        return found

    async def new_key(self, name: str, role: str = "annotator") -> str:
        """A key for an application or a person; it is shown this once."""
        key: str = await self._send(_key(name, role))
        return key

    async def close(self) -> None:
        """End all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, call: _Call) -> Any:
        headers = _headers(call)
        for wait in (*_WAITS, None):
            try:
                reply = await self._http.request(
                    call.method, call.path, json=call.body, headers=headers, timeout=call.timeout
                )
                if reply.status_code not in _AGAIN or wait is None:
                    return _read(call, reply)
            except httpx.TransportError:
                if wait is None or not (call.once or call.method == "GET"):
                    raise
            await asyncio.sleep(wait)
        return None


class _Words:
    """The requests about a model, by the words of the library."""

    def __init__(self, name: str) -> None:
        self.name, self._path = name, f"/v1/models/{name}"

    def ask_many(self, rows: Sequence[Any], ids: Any, times: Any, items: Any) -> _Call:
        """Decide about rows."""
        given = {"ids": ids, "times": times, "items": items}
        body = {"rows": [_plain(row) for row in rows]}
        body |= {name: list(values) for name, values in given.items() if values is not None}
        return self._post("ask", body, lambda reply: [_decision(d) for d in reply["decisions"]])

    def predict(self, rows: Sequence[Any]) -> _Call:
        """Predict rows."""
        body = {"rows": [_plain(row) for row in rows]}
        return self._post("predict", body, _predictions)

    def tell(self, question: Hashable, label: Hashable, by: str | None) -> _Call:
        """Learn a label."""
        name = "ticket" if isinstance(question, int) else "id"
        answer = {name: question, "label": label, "by": by}
        return self._post("tell", {"answers": [answer]}, lambda reply: _told(reply["outcomes"][0]))

    def learn(self, row: Any, label: Hashable) -> _Call:
        """Learn a label that nobody asked for."""
        body = {"rows": [_plain(row)], "labels": [label]}
        return self._post("learn", body, lambda reply: _told(reply["outcomes"][0]))

    def cancel(self, question: Hashable) -> _Call:
        """Give up a question."""
        body = {"questions": [question]}
        return self._post("cancel", body, lambda reply: _told(reply["outcomes"][0]))

    def questions(self, after: int, closed: float) -> _Call:
        """List questions."""
        where = f"{self._path}/questions?after={after}&closed={closed}"
        return _Call("GET", where, read=_questions)

    def answer(self, ticket: int, label: Hashable, say: str, by: str | None) -> _Call:
        """What a person says to a question."""
        body = {"ticket": ticket, "say": say, "label": label, "by": by}
        return self._post("answers", body, lambda reply: reply["status"])

    def info(self) -> _Call:
        """Describe the model."""
        return _Call("GET", self._path)

    def accuracy(self, over: str) -> _Call:
        """Estimate the accuracy."""
        name = {"all": "all", "window": "recent"}[over]
        return _Call("GET", f"{self._path}/accuracy", read=lambda reply: _estimate(reply[name]))

    def budget(self) -> _Call:
        """What was spent, and what waits."""
        return _Call("GET", f"{self._path}/budget")

    def _post(self, what: str, body: Any, read: Callable[[Any], Any]) -> _Call:
        return _Call("POST", f"{self._path}/{what}", body, read, once=True)


class Model:
    """A model of the service: :meth:`ask` about a row, :meth:`tell` its label.

    >>> client = Client("http://127.0.0.1:8077", key="lasec_...")
    >>> client.model("mails").name
    'mails'
    >>> client.close()
    """

    def __init__(self, send: Callable[[_Call], Any], name: str) -> None:
        self._send, self._words, self.name = send, _Words(name), name

    def ask(self, row: Any, *, id: Any = None, time: float | None = None) -> Decision:  # noqa: A002
        """Predict a row, and decide whether to query its label."""
        return self.ask_many([row], ids=[id], times=[time])[0]

    def ask_many(
        self, rows: Sequence[Any], *, ids: Any = None, times: Any = None, items: Any = None
    ) -> list[Decision]:
        """The same for many rows; ``items`` are what people see of each."""
        found: list[Decision] = self._send(self._words.ask_many(rows, ids, times, items))
        return found

    def predict(self, rows: Sequence[Any]) -> list[Any]:
        """The classes of rows; nothing is counted."""
        found: list[Any] = self._send(self._words.predict(rows))
        return found

    def tell(self, question: Hashable, label: Hashable, *, by: str | None = None) -> Told:
        """Learn the label of a question, by its ticket or the id of its row."""
        found: Told = self._send(self._words.tell(question, label, by))
        return found

    def learn(self, row: Any, label: Hashable) -> None:
        """Learn a label that nobody asked for."""
        self._send(self._words.learn(row, label))

    def cancel(self, question: Hashable) -> None:
        """Give up a question."""
        self._send(self._words.cancel(question))

    def questions(self, *, after: int = -1, closed: float = 0.0) -> list[Question]:
        """Up to 1,000 open questions after a ticket, with what people have said.

        Also those that were closed in the last ``closed`` seconds.
        """
        found: list[Question] = self._send(self._words.questions(after, closed))
        return found

    def answer(
        self, ticket: int, label: Hashable = None, *, say: str = "label", by: str | None = None
    ) -> str:
        """What a person says to a question: a "label", "dont_know", "later" or "undo".

        Unlike :meth:`tell`, the answer is held for the grace time of the model, and counts for
        the agreement of people. Returns what has become of it.
        """
        found: str = self._send(self._words.answer(ticket, label, say, by))
        return found

    def info(self) -> dict[str, Any]:
        """The model's algorithm, classes, columns and status."""
        found: dict[str, Any] = self._send(self._words.info())
        return found

    def accuracy(self, *, over: str = "all") -> Estimate:
        """The estimated accuracy over "all" rows or the last ones ("window"), with an interval."""
        found: Estimate = self._send(self._words.accuracy(over))
        return found

    def budget(self) -> dict[str, Any]:
        """What was spent, and what waits."""
        found: dict[str, Any] = self._send(self._words.budget())
        return found


class AsyncModel:
    """The same for ``asyncio``; every call is awaited."""

    def __init__(self, send: Callable[[_Call], Any], name: str) -> None:
        self._send, self._words, self.name = send, _Words(name), name

    async def ask(self, row: Any, *, id: Any = None, time: float | None = None) -> Decision:  # noqa: A002
        """Predict a row, and decide whether to query its label."""
        return (await self.ask_many([row], ids=[id], times=[time]))[0]

    async def ask_many(
        self, rows: Sequence[Any], *, ids: Any = None, times: Any = None, items: Any = None
    ) -> list[Decision]:
        """The same for many rows; ``items`` are what people see of each."""
        found: list[Decision] = await self._send(self._words.ask_many(rows, ids, times, items))
        return found

    async def predict(self, rows: Sequence[Any]) -> list[Any]:
        """The classes of rows; nothing is counted."""
        found: list[Any] = await self._send(self._words.predict(rows))
        return found

    async def tell(self, question: Hashable, label: Hashable, *, by: str | None = None) -> Told:
        """Learn the label of a question, by its ticket or the id of its row."""
        found: Told = await self._send(self._words.tell(question, label, by))
        return found

    async def learn(self, row: Any, label: Hashable) -> None:
        """Learn a label that nobody asked for."""
        await self._send(self._words.learn(row, label))

    async def cancel(self, question: Hashable) -> None:
        """Give up a question."""
        await self._send(self._words.cancel(question))

    async def questions(self, *, after: int = -1, closed: float = 0.0) -> list[Question]:
        """Up to 1,000 open questions after a ticket, with what people have said.

        Also those that were closed in the last ``closed`` seconds.
        """
        found: list[Question] = await self._send(self._words.questions(after, closed))
        return found

    async def answer(
        self, ticket: int, label: Hashable = None, *, say: str = "label", by: str | None = None
    ) -> str:
        """What a person says to a question: a "label", "dont_know", "later" or "undo".

        Unlike :meth:`tell`, the answer is held for the grace time of the model, and counts for
        the agreement of people. Returns what has become of it.
        """
        found: str = await self._send(self._words.answer(ticket, label, say, by))
        return found

    async def info(self) -> dict[str, Any]:
        """The model's algorithm, classes, columns and status."""
        found: dict[str, Any] = await self._send(self._words.info())
        return found

    async def accuracy(self, *, over: str = "all") -> Estimate:
        """The estimated accuracy over "all" rows or the last ones ("window"), with an interval."""
        found: Estimate = await self._send(self._words.accuracy(over))
        return found

    async def budget(self) -> dict[str, Any]:
        """What was spent, and what waits."""
        found: dict[str, Any] = await self._send(self._words.budget())
        return found


_LIST = _Call("GET", "/v1/models", read=lambda reply: [one["name"] for one in reply["models"]])


def _made(name: str, classes: Sequence[Hashable], settings: Mapping[str, Any]) -> _Call:
    body = {"name": name, "classes": list(classes), **settings}
    return _Call("POST", "/v1/models", body, slow=True)


def _key(name: str, role: str) -> _Call:
    return _Call("POST", "/v1/keys", {"name": name, "role": role}, lambda reply: reply["key"])


def _headers(call: _Call) -> dict[str, str]:
    """A name under which the service carries the request out once."""
    return {"Idempotency-Key": uuid.uuid4().hex} if call.once else {}


def _read(call: _Call, reply: httpx.Response) -> Any:
    """What a reply says, or an error with the service's words."""
    if reply.is_error:
        kind = reply.headers.get("content-type", "")
        detail = reply.json()["detail"] if "problem+json" in kind else reply.text[:200]
        raise RefusedError(reply.status_code, detail)
    return call.read(reply.json())


def _plain(row: Any) -> Any:
    """A row as JSON has it.

    >>> _plain((1, 2)), _plain({"text": "win"})
    ([1.0, 2.0], {'text': 'win'})
    """
    return dict(row) if isinstance(row, Mapping) else [float(value) for value in row]


def _decision(said: Mapping[str, Any]) -> Decision:
    if said.get("error"):
        raise RefusedError(422, said["error"])
    return Decision(
        said["prediction"], said["margin"], math.nan, said["query_probability"], said["asked"],
        said["ticket"],
    )  # fmt: skip


def _predictions(reply: Any) -> list[Any]:
    for said in reply["predictions"]:
        if said.get("error"):
            raise RefusedError(422, said["error"])
    return [said["prediction"] for said in reply["predictions"]]


def _told(said: Mapping[str, Any]) -> Told:
    if said.get("error"):
        raise RefusedError(422, said["error"])
    found = {name: said.get(name) for name in ("ticket", "label", "correct", "settled")}
    return Told(learned=bool(said.get("learned")), **found)


def _questions(reply: Any) -> list[Question]:
    return [
        Question(**one | {"answers": [Given(**given) for given in one["answers"]]})
        for one in reply["questions"]
    ]


def _estimate(said: Mapping[str, Any]) -> Estimate:
    value = math.nan if said["value"] is None else said["value"]
    return Estimate(value, said["low"], said["high"], said["rows"], said["labels"], said["rows"])
