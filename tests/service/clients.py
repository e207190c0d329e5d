"""Clients that mean well: applications that ask, tell and retry, and people who answer.

The ids of rows are whole numbers, near to the tickets and other than they. The label of a row is a
function of its id, and every answer says who gave it, so that a label on another row is noticed.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from collections import Counter, deque
from typing import Any

import httpx

WIDTH, CLASSES = 4, [f"class {number}" for number in range(10)]
AGAIN = 0.2  # share of acknowledged requests that are sent once more
PAUSE = 0.02  # seconds before a request is sent again
LONGER = 0.5  # the same while the server starts
TIMEOUT = 10.0
CLOSED = (404, 409, 410)  # what a person may hear whose question another has settled or erased


class Tally:
    """Replies by kind of request and status; ``trouble`` is what excuses a failure just now."""

    def __init__(self) -> None:
        self.trouble = ""
        self.replies: dict[str, Counter[str]] = {}
        self.failures: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, kind: str, reply: httpx.Response | None, before: str) -> None:
        """Count a reply, or that none came; ``before`` is the trouble when the request was sent."""
        trouble = before or self.trouble
        status = "no reply" if reply is None else str(reply.status_code)
        with self._lock:
            self.replies.setdefault(kind, Counter())[f"{status} {trouble}".strip()] += 1
            if reply is not None and status[0] == "5" and status != "503" and not trouble:
                self.failures[f"{kind}: {status} {reply.text[-200:]}"] += 1

    def shown(self) -> dict[str, dict[str, int]]:
        """The counts, sorted."""
        return {kind: dict(sorted(self.replies[kind].items())) for kind in sorted(self.replies)}


class Book:
    """What the clients have sent: rows by their ids, who answered which, what was given up."""

    def __init__(self) -> None:
        self.ids = itertools.count(1)
        self.rows: dict[int, list[float]] = {}
        self.labels: set[tuple[int, str]] = set()  # id of the row, and who said its label
        self.given_up: set[int] = set()  # canceled or erased
        self.refused: Counter[str] = Counter()
        self.queried: deque[int] = deque([0], maxlen=100)  # tickets of the last questions
        self.stop, self.abandon = threading.Event(), threading.Event()
        self.up = threading.Event()  # whether the server takes requests, as far as is known

    def pause(self) -> None:
        """Wait a little, and longer where the server is known not to be there."""
        if not self.up.wait(LONGER):
            return
        time.sleep(PAUSE)


def label_of(number: int) -> str:
    """The label of the row with this id."""
    return CLASSES[number % len(CLASSES)]


class Sender(threading.Thread):
    """One that sends each request until it is acknowledged."""

    def __init__(self, name: str, url: str, key: str, book: Book, tally: Tally) -> None:
        super().__init__(name=name, daemon=True)
        self.random, self.book, self.tally = random.Random(name), book, tally
        self.http = httpx.Client(
            base_url=f"{url}/v1/models/m", headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT,
        )  # fmt: skip
        self.acknowledged: list[tuple[str, dict[str, Any], Any]] = []
        self.changed = self.retries = 0

    def until(
        self, method: str, path: str, body: Any = None, key: str = "", fine: tuple[int, ...] = ()
    ) -> httpx.Response | None:
        """Send a request until it is acknowledged or refused; None if that is no more awaited."""
        headers = {"Idempotency-Key": key} if key else {}
        while not self.book.abandon.is_set():
            trouble, found = self.tally.trouble, None
            with contextlib.suppress(httpx.HTTPError):
                found = self.http.request(method, path, json=body, headers=headers)
            self.tally.add("friendly", found, trouble)
            if found is not None and found.status_code < 500 and found.status_code != 429:
                if found.status_code >= 400 and found.status_code not in fine:
                    self.book.refused[f"{path} {found.status_code} {found.text[:200]}"] += 1
                return found
            self.retries += 1
            self.book.pause()
        return None


class Client(Sender):
    """An application: it asks, answers and retries until it is told to stop."""

    def run(self) -> None:
        """Ask about some rows, tell most of the labels, learn, cancel and erase now and then."""
        while not self.book.stop.is_set():
            ids = [next(self.book.ids) for _ in range(self.random.randint(1, 4))]
            rows = [[self.random.gauss(0, 1) for _ in range(WIDTH)] for _ in ids]
            self.book.rows.update(zip(ids, rows, strict=True))
            said = self.send("ask", {"rows": rows, "ids": ids})
            for decision in said.get("decisions", ()):
                if decision.get("asked"):
                    self.book.queried.append(decision["ticket"])
                    self.answer(decision["id"], decision["ticket"])
            if self.random.random() < 0.1:
                self.send("learn", {"rows": rows[:1], "labels": [label_of(ids[0])]})

    def answer(self, number: int, ticket: int) -> None:
        """Tell a label, or give the question up, or leave it to people."""
        chance = self.random.random()
        name = {"ticket": ticket} if self.random.random() < 0.5 else {"id": number}
        if chance < 0.6:
            by = f"{self.name}:{number}"
            self.book.labels.add((number, by))
            self.send("tell", {"answers": [name | {"label": label_of(number), "by": by}]}, number)
        elif chance < 0.7:
            self.book.given_up.add(number)
            self.send("cancel", {"questions": [name]})
        elif chance < 0.73:
            self.book.given_up.add(number)
            self.until("DELETE", f"/events/{number}", fine=(404,))

    def send(self, what: str, body: dict[str, Any], number: int = 0) -> dict[str, Any]:
        """Send a request until it is acknowledged; sometimes once more."""
        key = f"{self.name}-{what}-{self.random.random()}"
        first = self.until("POST", f"/{what}", body, key)
        if first is None or first.status_code != 200:
            return {}
        reply: dict[str, Any] = first.json()
        self.acknowledged.append((what, body | {"row": number}, reply))
        if self.random.random() < AGAIN and not self.book.stop.is_set():
            again = self.until("POST", f"/{what}", body, key)
            self.changed += again is not None and (again.status_code, again.json()) != (200, reply)
        return reply


class Annotator(Sender):
    """A person: takes questions, and answers them by their tickets."""

    def run(self) -> None:
        """Answer what is handed out, until told to stop."""
        while not self.book.stop.is_set():
            leased = self.until("POST", "/lease", {"count": 3})
            found = leased.json()["questions"] if leased and leased.status_code == 200 else []
            for question in found:
                self.answer(question["ticket"], question["item"]["id"])
            time.sleep(0.2 * self.random.random())

    def answer(self, ticket: int, number: int) -> None:
        """Say the label of a question."""
        self.book.labels.add((number, self.name))
        body = {"ticket": ticket, "label": label_of(number)}
        said = self.until("POST", "/answers", body, fine=CLOSED)
        if said is not None and said.status_code == 200:
            self.acknowledged.append(("answer", {"row": number}, said.json()))
