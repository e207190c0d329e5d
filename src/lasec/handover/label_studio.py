"""Label Studio as a place where people answer, over its HTTP API: needs ``lasec[label-studio]``.

Only questions are pushed, as tasks whose data name the ticket, so that Label Studio owns no pool
and the query probabilities stay true. What people have answered is looked up, never remembered;
webhooks are hints at most, because Label Studio sends each once, with a second of patience.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx

from lasec.client import AwayError, Question
from lasec.errors import TableError
from lasec.handover.exchange import Answer, Shown, Unreadable
from lasec.handover.forms import annotations_of, choice, person
from lasec.parameters import shown

MARK = "lasec"  # the field of a task's data that names model and ticket
AT_ONCE = 200  # tickets that are looked up, or tasks that are pushed, in one request
HOLD = 10.0  # seconds for which an answer must be there unchanged

Task = dict[str, Any]


class LabelStudio:
    """A project of Label Studio that shows the questions of one model.

    Parameters
    ----------
    url, token, project
        Where it is, a personal access token (or one of the old kind), and the project's number.
    model
        Name of the model, which tasks carry together with the ticket.
    hold
        Seconds for which an answer must be there unchanged before it is sent.

    >>> place = LabelStudio("http://127.0.0.1:8080", "token", project=1, model="mails")
    >>> place.people
    'label-studio/'
    >>> place.close()
    """

    people = "label-studio/"

    def __init__(
        self, url: str, token: str, project: int, model: str, *, hold: float = HOLD,
        timeout: float = 60.0,
    ) -> None:  # fmt: skip
        self._http = httpx.Client(base_url=url, timeout=timeout)
        self._token, self._project, self._model, self._hold = token, project, model, hold
        self._tasks: dict[int, list[Task]] = {}

    def close(self) -> None:
        """End all connections."""
        self._http.close()

    def look(self, questions: Sequence[Question]) -> list[Answer | Unreadable]:
        """The answers to these questions that are old enough, and what cannot be read."""
        self._tasks, answers = {}, list[Answer | Unreadable]()
        for at in range(0, len(questions), AT_ONCE):
            found, now = self._found(questions[at : at + AT_ONCE])
            for ticket, tasks in found.items():
                self._tasks[ticket] = tasks
                answers += _answers(ticket, tasks, now - self._hold)
        return answers

    def show(self, questions: Sequence[Question]) -> Shown:
        """Push the questions that have no task, and delete tasks that nobody has touched.

        Those are of questions that no longer wait, or are there twice.
        """
        shown = unshown = withdrawn = 0
        missing = [question for question in questions if question.ticket not in self._tasks]
        for at in range(0, len(missing), AT_ONCE):
            some = missing[at : at + AT_ONCE]
            pushed = self._pushed([self._task(question) for question in some])
            shown, unshown = shown + pushed, unshown + len(some) - pushed
        wanted = {question.ticket for question in questions}
        for ticket, tasks in self._tasks.items():
            for task in _surplus(tasks, keep=ticket in wanted):
                self._send("DELETE", f"/api/tasks/{task['id']}/", fine=(404,))
                withdrawn += 1
        return Shown(shown, withdrawn, unshown)

    def _found(self, questions: Sequence[Question]) -> tuple[dict[int, list[Task]], float]:
        """The tasks of these questions, and what Label Studio's clock reads."""
        tickets = "|".join(str(question.ticket) for question in questions)
        wanted = {
            "filter": f"filter:tasks:data.{MARK}", "operator": "regex", "type": "String",
            "value": f"^{re.escape(self._model)}/({tickets})$",
        }  # fmt: skip
        query = json.dumps({"filters": {"conjunction": "and", "items": [wanted]}})
        given: dict[str, Any] = {"project": self._project, "fields": "all", "query": query}
        found: dict[int, list[Task]] = {}
        page, more, now = 0, True, 0.0
        while more:
            page += 1
            reply = self._send(
                "GET", "/api/tasks", params=given | {"page": page, "page_size": AT_ONCE},
                fine=(404,) if page > 1 else (),
            )  # fmt: skip
            tasks = [] if reply.status_code == 404 else _json(reply, "tasks", list)
            for task in tasks:
                if (ticket := _ticket(task)) is not None:
                    found.setdefault(ticket, []).append(task)
            now, more = now or _clock(reply), len(tasks) == AT_ONCE
        return found, now

    def _task(self, question: Question) -> Task:
        """A question as a task; the model's guess is not in it."""
        item = question.item if isinstance(question.item, dict) else {"text": question.item}
        return {"data": item | {MARK: f"{self._model}/{question.ticket}"}}

    def _pushed(self, tasks: list[Task]) -> int:
        """Push tasks, and give how many were taken: one that does not fit stops no others."""
        path = f"/api/projects/{self._project}/import"
        reply = self._send("POST", path, json=tasks, fine=(400,))
        if reply.status_code != 400:
            return len(tasks)
        return 0 if len(tasks) == 1 else sum(self._pushed([task]) for task in tasks)

    def _send(
        self, method: str, path: str, *, fine: tuple[int, ...] = (), **given: Any
    ) -> httpx.Response:
        """The reply to a request; a personal access token is exchanged whenever it is needed."""
        try:
            reply = self._http.request(method, path, **given)
            if reply.status_code == 401:
                self._http.headers["Authorization"] = self._authorization()
                reply = self._http.request(method, path, **given)
        except httpx.TransportError as error:
            raise AwayError(f"Label Studio: {error or type(error).__name__}") from None
        if reply.is_server_error or reply.status_code == 429:
            raise AwayError(f"Label Studio: {reply.status_code} for {method} {path}")
        if not (reply.is_success or reply.status_code in fine):
            raise ValueError(f"Label Studio: {reply.status_code} for {path}: {reply.text[:300]}")
        return reply

    def _authorization(self) -> str:
        if self._token.count(".") != 2:
            return f"Token {self._token}"
        reply = self._http.post("/api/token/refresh/", json={"refresh": self._token})
        if reply.is_server_error:
            raise AwayError(f"Label Studio: {reply.status_code} for its token")
        if reply.is_error:
            raise ValueError("Label Studio does not take the token: make a personal access token")
        return f"Bearer {_json(reply, 'access', str)}"


def _answers(ticket: int, tasks: Sequence[Task], before: float) -> list[Answer | Unreadable]:
    """The last annotation of each person, if it was not touched since a moment.

    >>> task = {"annotations": [{"completed_by": 3, "updated_at": "2026-01-01T00:00:00Z",
    ...                          "was_cancelled": True}, {"completed_by": 4}]}
    >>> _answers(7, [task], before=2e9)[1]
    Answer(question=7, by='label-studio/3', label=None)
    >>> _answers(7, [task], before=0.0)
    [Unreadable(why='ticket 7: "updated_at" is no time, but None')]
    """
    last, found = dict[str, _Annotation](), list[Answer | Unreadable]()
    for task in tasks:
        try:
            listed = annotations_of(task)
        except TableError as error:
            found.append(Unreadable(f"ticket {ticket}: {error}"))
            continue
        for one in listed:
            try:
                said = _annotation(one)
            except TableError as error:
                found.append(Unreadable(f"ticket {ticket}: {error}"))
                continue
            if said.by not in last or said.at >= last[said.by].at:
                last[said.by] = said
    for by, said in last.items():
        if said.at <= before and (said.label is not None or said.skipped):
            found.append(Answer(ticket, f"{LabelStudio.people}{by}", said.label))
    return found


class _Annotation(NamedTuple):
    """Who has said what, and when; one that is ``skipped`` has no label."""

    by: str
    at: float
    label: str | None
    skipped: bool


def _annotation(one: Task) -> _Annotation:
    """An annotation as Label Studio's API gives it."""
    by, written, skipped = person(one), one.get("updated_at"), bool(one.get("was_cancelled"))
    if by is None:
        raise TableError('an annotation says nobody who has made it ("completed_by")')
    try:
        at = datetime.fromisoformat(written).timestamp()  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise TableError(f'"updated_at" is no time, but {shown(written)}') from None
    return _Annotation(by, at, None if skipped else choice(one), skipped)


def _ticket(task: Any) -> int | None:
    """The ticket that a task names; None if it is no task of ours.

    >>> _ticket({"id": 1, "data": {"lasec": "mails/7"}}), _ticket({"id": 1, "data": None})
    (7, None)
    """
    data = task.get("data") if isinstance(task, dict) and type(task.get("id")) is int else None
    mark = data.get(MARK) if isinstance(data, dict) else None
    number = mark.rpartition("/")[2] if isinstance(mark, str) else ""
    return int(number) if number.isdecimal() and len(number) < 20 else None


def _json(reply: httpx.Response, name: str, kind: type) -> Any:
    """A part of a reply; one that is not there is said by something else than Label Studio."""
    try:
        found = reply.json()[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise AwayError(f"Label Studio: no {name} in the reply for {reply.request.url.path}")
    return found


def _surplus(tasks: Sequence[Task], *, keep: bool) -> list[Task]:
    """The tasks of a ticket that nobody has touched, less one to keep.

    >>> _surplus([{"id": 1}, {"id": 2, "annotations": [{}]}], keep=True)
    [{'id': 1}]
    >>> _surplus([{"id": 1}], keep=True), _surplus([{"id": 1}], keep=False)
    ([], [{'id': 1}])
    """
    idle = [task for task in tasks if not task.get("annotations") and not task.get("drafts")]
    return idle[1:] if keep and len(idle) == len(tasks) else idle


def _clock(reply: httpx.Response) -> float:
    """When Label Studio has replied, by its own clock."""
    try:
        return parsedate_to_datetime(reply.headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return time.time()
