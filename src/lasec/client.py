"""A client of ``lasec serve``, with the words of the library: needs ``lasec[client]``.

Requests that change something carry a key of their own and are sent again after a lost connection:
the service carries each out once. :class:`Client` waits for replies, :class:`AsyncClient` awaits.
A service that is not there costs a second, and :class:`AwayError` says its address.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Hashable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import update_wrapper
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, Self, TypeVar
from urllib.parse import urlencode

import httpx

from lasec.metrics import Estimate
from lasec.types import Decision
from lasec.validation import ticket_or_id

__all__ = [
    "AsyncClient", "AsyncModel", "AwayError", "Client", "Given", "Label", "Model", "Question",
    "RefusedError", "Told",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")

_AGAIN = (429, 502, 503, 504)
_WAITS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 5.0)  # seconds before each further try
_PAUSE = 0.1  # the same where nobody listens
_CONNECT = 5.0  # seconds for a connection
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
_NEVER = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


class RefusedError(RuntimeError):
    """What the service does not do, and why.

    >>> RefusedError(404, "there is no model 'mails'").status
    404
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class AwayError(ConnectionError):
    """A service that cannot be reached, with its address.

    >>> with Client("http://127.0.0.1:1", key="lasec_...", patience=0.0) as client:
    ...     client.models()
    Traceback (most recent call last):
    lasec.client.AwayError: http://127.0.0.1:1 cannot be reached (Connection refused): ...
    """


class Told(NamedTuple):
    """What a label has done: whether the prediction was correct, the model learned, and so on.

    ``source`` is who is asked next, where there are two sources of labels.
    """

    ticket: int | None
    label: Any
    correct: bool | None
    learned: bool
    settled: bool | None
    source: str | None = None


class Given(NamedTuple):
    """What was said to a question: held, told, recorded, sent, dont_know or later.

    ``by`` is None for a label that an application sent without a name.
    """

    by: str | None
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


class Label(NamedTuple):
    """A label that was given to a question, and all that is known about it.

    ``label`` is what it is by now, ``given`` what was said: they differ if the owner has corrected
    it. ``learned`` is what the model was told; it is None while the answer can be taken back
    (``status`` "held"), and for an answer to a question that had its label ("recorded"). "told"
    came from people, "sent" from an application. Times are seconds since 1970.

    >>> known = {"ticket": 7, "id": "mail-7", "by": "ann", "at": 1.8e9, "status": "told"}
    >>> known |= {"corrected_by": None, "corrected_at": None, "item": {"text": "win"}}
    >>> known |= {"query_probability": 0.25, "asked_at": 1.7e9, "prediction": "ham"}
    >>> label = Label(label="spam", learned="spam", given="spam", **known)
    >>> label.prediction == label.label
    False
    """

    ticket: int
    id: str | None
    label: Any
    by: str | None
    at: float
    status: str
    learned: Any
    given: Any
    corrected_by: str | None
    corrected_at: float | None
    prediction: Any
    query_probability: float
    asked_at: float
    item: Any


class _Call(NamedTuple, Generic[T]):
    """A request, and how its reply is read."""

    method: str
    path: str
    body: object = None
    read: Callable[[Any], T] = lambda reply: reply
    once: bool = False


class _Tries:
    """Whether, and after how many seconds, a request is sent again."""

    def __init__(self, call: _Call[Any], url: httpx.URL, patience: float) -> None:
        self._call, self._url, self._patience = call, url, patience
        self._waits, self._until = iter(_WAITS), math.inf

    def again(self, status: int) -> float | None:
        """The seconds to wait after a reply; None if it counts."""
        return next(self._waits, None) if status in _AGAIN else None

    def failed(self, error: httpx.TransportError) -> float:
        """The seconds to wait after a failure, or :class:`AwayError` if it is one too many."""
        reason = str(error).partition("] ")[2] or str(error) or type(error).__name__
        if isinstance(error, _UNSENT):
            self._until = min(self._until, time.monotonic() + self._patience)
            if time.monotonic() + _PAUSE < self._until:
                return _PAUSE
        elif not isinstance(error, _NEVER) and (self._call.once or self._call.method == "GET"):
            wait = next(self._waits, None)
            if wait is not None:
                return wait
        raise AwayError(
            f"{str(self._url).rstrip('/')} cannot be reached ({reason}): is lasec serve running "
            "there?"
        ) from error


class Client:
    """A service by its address, and a key.

    ``timeout`` is how many seconds a reply may take, and ``patience`` for how many a server that
    is not there is tried again: set more where it may be restarted meanwhile.

    >>> client = Client("http://127.0.0.1:8077", key="lasec_...")
    >>> mails = client.model("mails")  # then: mails.ask({"text": "win a prize"}, id="mail-17")
    >>> client.close()
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0, patience: float = 1.0) -> None:
        headers, limits = {"Authorization": f"Bearer {key}"}, _timeout(timeout)
        self._http = httpx.Client(base_url=url, headers=headers, timeout=limits)
        self._patience = patience

    def model(self, name: str) -> Model:
        """A model by its name."""
        return Model(self._send, name)

    def create(self, name: str, classes: Sequence[Hashable], **settings: Any) -> Model:
        """Make a model; settings are those of ``POST /v1/models``."""
        self._send(_made(name, classes, settings))
        return self.model(name)

    def models(self) -> list[str]:
        """The names of the models."""
        return self._send(_LIST)

    def new_key(self, name: str, role: str = "annotator") -> str:
        """A key for an application or a person; it is shown this once."""
        return self._send(_key(name, role))

    def close(self) -> None:
        """End all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, call: _Call[T]) -> T:
        headers, tries = _headers(call), _Tries(call, self._http.base_url, self._patience)
        while True:
            try:
                reply = self._http.request(call.method, call.path, json=call.body, headers=headers)
                wait = tries.again(reply.status_code)
                if wait is None:
                    return _read(call, reply)
            except httpx.TransportError as error:
                wait = tries.failed(error)
            time.sleep(wait)


class AsyncClient:
    """The same for ``asyncio``; every call is awaited.

    >>> client = AsyncClient("http://127.0.0.1:8077", key="lasec_...")
    >>> asyncio.run(client.close())
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0, patience: float = 1.0) -> None:
        headers, limits = {"Authorization": f"Bearer {key}"}, _timeout(timeout)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=limits)
        self._patience = patience

    def model(self, name: str) -> AsyncModel:
        """A model by its name."""
        return AsyncModel(self._send, name)

    async def create(self, name: str, classes: Sequence[Hashable], **settings: Any) -> AsyncModel:
        """Make a model; settings are those of ``POST /v1/models``."""
        await self._send(_made(name, classes, settings))
        return self.model(name)

    async def models(self) -> list[str]:
        """The names of the models."""
        return await self._send(_LIST)

    async def new_key(self, name: str, role: str = "annotator") -> str:
        """A key for an application or a person; it is shown this once."""
        return await self._send(_key(name, role))

    async def close(self) -> None:
        """End all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, call: _Call[T]) -> T:
        headers, tries = _headers(call), _Tries(call, self._http.base_url, self._patience)
        while True:
            try:
                reply = await self._http.request(
                    call.method, call.path, json=call.body, headers=headers
                )
                wait = tries.again(reply.status_code)
                if wait is None:
                    return _read(call, reply)
            except httpx.TransportError as error:
                wait = tries.failed(error)
            await asyncio.sleep(wait)


class _Send(Protocol):
    """What carries a request out, and gives what its reply says."""

    def __call__(self, call: _Call[T], /) -> T: ...


class _SendLater(Protocol):
    """The same, to be awaited."""

    def __call__(self, call: _Call[T], /) -> Coroutine[Any, Any, T]: ...


class Model:
    """A model of the service: :meth:`ask` about a row, :meth:`tell` its label.

    >>> client = Client("http://127.0.0.1:8077", key="lasec_...")
    >>> client.model("mails").name
    'mails'
    >>> client.close()
    """

    def __init__(self, send: _Send, name: str) -> None:
        self._send, self.name, self._path = send, name, f"/v1/models/{name}"

    def ask(self, row: Any, *, id: Hashable = None, time: float | None = None) -> Decision:  # noqa: A002
        """Predict a row, and decide whether to query its label."""
        return self._asked([row], lambda found: found[0], ids=[id], times=[time])

    def ask_many(
        self,
        rows: Sequence[Any],
        *,
        ids: Sequence[Hashable] | None = None,
        times: Sequence[float | None] | None = None,
        items: Sequence[Any] | None = None,
    ) -> list[Decision]:
        """The same for many rows; ``items`` are what people see of each."""
        return self._asked(rows, lambda found: found, ids=ids, times=times, items=items)

    def _asked(self, rows: Sequence[Any], take: Callable[[list[Decision]], T], **given: Any) -> T:
        body = {"rows": [_plain(row) for row in rows]}
        body |= {name: list(values) for name, values in given.items() if values is not None}
        return self._post("ask", body, lambda reply: take(list(map(_decision, reply["decisions"]))))

    def predict(self, rows: Sequence[Any]) -> list[Any]:
        """The classes of rows; nothing is counted."""
        body = {"rows": [_plain(row) for row in rows]}
        return self._post("predict", body, _predictions)

    def tell(
        self, question: Hashable = None, label: Hashable = None, *, id: Hashable = None,  # noqa: A002
        by: str | None = None, confidence: float | None = None,
    ) -> Told:  # fmt: skip
        """Learn the label of a question, by its ticket or the id of its row.

        A whole number is a ticket, unless it is given as ``id``.
        """
        answer = _named(question, id) | {"label": label, "by": by}
        answer |= {} if confidence is None else {"confidence": confidence}
        return self._post("tell", {"answers": [answer]}, lambda reply: _told(reply["outcomes"][0]))

    def learn(self, row: Any, label: Hashable) -> None:
        """Learn a label that nobody asked for."""
        return self._post("learn", {"rows": [_plain(row)], "labels": [label]}, _done)

    def cancel(self, question: Hashable = None, *, id: Hashable = None) -> None:  # noqa: A002
        """Give up a question, by its ticket or the id of its row, as in :meth:`tell`."""
        return self._post("cancel", {"questions": [_named(question, id)]}, _done)

    def questions(
        self, *, after: int = -1, closed: float = 0.0, status: str | None = None
    ) -> list[Question]:
        """Up to 1,000 open questions after a ticket, with what people have said.

        Also those that were closed in the last ``closed`` seconds; or, with a ``status``, those
        that are "open", "settled" (a second person is wanted), "answered", "gone" or "judging" (a
        cheap judge is asked).
        """
        query = {"after": after, "closed": closed} | ({"status": status} if status else {})
        return self._send(
            _Call("GET", f"{self._path}/questions?{urlencode(query)}", read=_questions)
        )

    def labels(self, *, by: str | None = None) -> Iterator[Label]:
        """The labels that were given, the oldest first; with ``by``, those of one person.

        They are read 1,000 at a time, so that there can be any number of them.
        """
        after = ""
        while True:
            labels, after = self._page(after, by)
            if not labels:
                return
            yield from labels

    def _page(self, after: str = "", by: str | None = None) -> tuple[list[Label], str]:
        """Up to 1,000 of these labels, and where the next page begins: ``after`` of that one."""
        query = {"after": after} | ({} if by is None else {"by": by})
        return self._send(_Call("GET", f"{self._path}/labels?{urlencode(query)}", read=_labels))

    def correct(self, ticket: int, label: Hashable, *, by: str | None = None) -> str:
        """Correct a label that was given, by whom it was given (None: an application).

        Returns what follows: before the model has learned it, it learns the corrected label. After
        that a model cannot unlearn: :meth:`labels` has the corrected label and what was learned.
        """
        body = {"ticket": ticket, "label": label, "by": by}
        call = _Call("POST", f"{self._path}/corrections", body, lambda reply: str(reply["detail"]))
        return self._send(call)

    def instruct(self, text: str) -> None:
        """Set what annotators see above each question, as plain text."""
        return self._send(
            _Call("PUT", f"{self._path}/instructions", {"text": text}, read=lambda _: None)
        )

    def answer(
        self, ticket: int, label: Hashable = None, *, say: str = "label", by: str | None = None
    ) -> str:
        """What a person says to a question: a "label", "dont_know", "later" or "undo".

        Unlike :meth:`tell`, the answer is held for the grace time of the model, and counts for
        the agreement of people. Returns what has become of it.
        """
        body = {"ticket": ticket, "say": say, "label": label, "by": by}
        return self._post("answers", body, lambda reply: str(reply["status"]))

    def info(self) -> dict[str, Any]:
        """The model's algorithm, classes, columns and status."""
        return self._send(_Call("GET", self._path))

    def accuracy(self, *, over: str = "all") -> Estimate:
        """The estimated accuracy over "all" rows or the last ones ("window"), with an interval.

        That of the "judge", where labels have two prices, is over the rows that it answered.
        """
        name = {"all": "all", "window": "recent", "judge": "judge"}[over]
        return self._send(
            _Call("GET", f"{self._path}/accuracy", read=lambda reply: _estimate(reply[name]))
        )

    def budget(self) -> dict[str, Any]:
        """What was spent, and what waits."""
        return self._send(_Call("GET", f"{self._path}/budget"))

    def _post(self, what: str, body: object, read: Callable[[Any], T]) -> T:
        return self._send(_Call("POST", f"{self._path}/{what}", body, read, once=True))


def _awaited(
    method: Callable[Concatenate[Model, P], T],
) -> Callable[Concatenate[AsyncModel, P], Coroutine[Any, Any, T]]:
    """A method of :class:`Model`, to be awaited: its request is made there, and sent here."""

    async def awaited(model: AsyncModel, /, *args: P.args, **options: P.kwargs) -> T:
        call: Any = method(model._requests, *args, **options)
        found: T = await model._send(call)
        return found

    return update_wrapper(awaited, method, ("__doc__", "__name__"))


def _unsent(call: Any) -> Any:
    """The request itself."""
    return call


class AsyncModel:
    """The same for ``asyncio``; every call is awaited."""

    def __init__(self, send: _SendLater, name: str) -> None:
        self._send, self.name, self._requests = send, name, Model(_unsent, name)

    ask = _awaited(Model.ask)
    ask_many = _awaited(Model.ask_many)
    predict = _awaited(Model.predict)
    tell = _awaited(Model.tell)
    learn = _awaited(Model.learn)
    cancel = _awaited(Model.cancel)
    questions = _awaited(Model.questions)
    _page = _awaited(Model._page)
    correct = _awaited(Model.correct)
    instruct = _awaited(Model.instruct)
    answer = _awaited(Model.answer)
    info = _awaited(Model.info)
    accuracy = _awaited(Model.accuracy)
    budget = _awaited(Model.budget)

    async def labels(self, *, by: str | None = None) -> AsyncIterator[Label]:
        """As :meth:`Model.labels`."""
        after = ""
        while True:
            labels, after = await self._page(after, by)
            if not labels:
                return
            for label in labels:
                yield label


_LIST: _Call[list[str]] = _Call(
    "GET", "/v1/models", read=lambda reply: [one["name"] for one in reply["models"]]
)


def _timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(seconds, _CONNECT))


def _made(name: str, classes: Sequence[Hashable], settings: Mapping[str, Any]) -> _Call[Any]:
    body = {"name": name, "classes": list(classes), **settings}
    return _Call("POST", "/v1/models", body)


def _key(name: str, role: str) -> _Call[str]:
    return _Call("POST", "/v1/keys", {"name": name, "role": role}, lambda reply: str(reply["key"]))


def _headers(call: _Call[Any]) -> dict[str, str]:
    """A name under which the service carries the request out once."""
    return {"Idempotency-Key": uuid.uuid4().hex} if call.once else {}


def _read(call: _Call[T], reply: httpx.Response) -> T:
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


def _named(question: Hashable, id: Hashable) -> dict[str, Hashable]:  # noqa: A002
    """How a request names a question: a whole number is a ticket, and never an id.

    >>> _named(7, None), _named("mail-7", None), _named(None, 7)
    ({'ticket': 7}, {'id': 'mail-7'}, {'id': 7})
    """
    ticket, name = ticket_or_id(question, id)
    return {"id": name} if ticket is None else {"ticket": int(ticket)}


def _decision(said: Mapping[str, Any]) -> Decision:
    if said.get("error"):
        raise RefusedError(422, said["error"])
    return Decision(
        said["prediction"], said["margin"], math.nan, said["query_probability"], said["asked"],
        said["ticket"], said.get("source"),
    )  # fmt: skip


def _predictions(reply: Any) -> list[Any]:
    for said in reply["predictions"]:
        if said.get("error"):
            raise RefusedError(422, said["error"])
    return [said["prediction"] for said in reply["predictions"]]


def _told(said: Mapping[str, Any]) -> Told:
    if said.get("error"):
        raise RefusedError(422, said["error"])
    found = {name: said.get(name) for name in ("ticket", "label", "correct", "settled", "source")}
    return Told(learned=bool(said.get("learned")), **found)


def _done(reply: Any) -> None:
    _told(reply["outcomes"][0])


def _questions(reply: Any) -> list[Question]:
    return [
        Question(**one | {"answers": [Given(**given) for given in one["answers"]]})
        for one in reply["questions"]
    ]


def _labels(reply: Any) -> tuple[list[Label], str]:
    return [Label(**one) for one in reply["labels"]], reply["next"]


def _estimate(said: Mapping[str, Any]) -> Estimate:
    value = math.nan if said["value"] is None else said["value"]
    low, high = said["low"], said["high"]
    return Estimate(
        value, low, high, said["rows"], said["labels"], said["rows"], said["lost"],
        low - said["worst_low"], said["worst_high"] - high,
    )  # fmt: skip
