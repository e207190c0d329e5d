"""Clients that mean harm, between the kills: another tenant, a viewer, a thief, and nobody at all.

What they do is counted by kind and by the status of the reply. No reply may be a 5xx but 503, and
nothing that they send may end the server, keep it from starting, or change a model of others.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx

from lasec.service.app import LARGEST, ROUTES
from lasec.service.bodies import MOST_ROWS
from service.clients import CLASSES, TIMEOUT, WIDTH, Book, Tally, label_of

LEAD = 3_600.0  # seconds that a row may be ahead of the clock
YEAR_2100 = 4_102_444_800.0
HUGE = (1e59, 1e60, 1e61, 1e308, -1e308)
UNSAID = ("NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400)  # JSON has no such numbers
HELD = 40  # connections that are left open, half a request sent
PAST, FUTURE = (0.0, -1.0, -1e12, -1e308), (3_590.0, 3_603.0, 86_400.0)
ODD_IDS = (3, "3", -1, 2**63 - 1, 2**63, "", 1.5, True, "a" * 129, "\0", "../m", [3], {"id": 3})
BODIES: dict[str, Any] = {
    "ask": {"rows": [[0.0] * WIDTH], "ids": ["viewed"]},
    "predict": {"rows": [[0.0] * WIDTH]},
    "tell": {"answers": [{"ticket": 1, "label": CLASSES[0]}]},
    "learn": {"rows": [[0.0] * WIDTH], "labels": [CLASSES[0]]},
    "cancel": {"questions": [{"ticket": 1}]},
    "lease": {"count": 50},
    "answers": {"ticket": 1, "label": CLASSES[0]},
    "keys": {"name": "more", "role": "owner"},
    "models": {"name": "more", "classes": CLASSES, "features": WIDTH},
    "{model}": {"status": "retired"},
}


class Attacker(threading.Thread):
    """One that does harm of some kind, and then of another, until told to stop."""

    def __init__(self, number: int, url: str, keys: dict[str, str], book: Book, tally: Tally):
        super().__init__(name=f"attacker {number}", daemon=True)
        self.random, self.number, self.count = random.Random(self.name), number, 0
        self.keys, self.book, self.tally = keys, book, tally
        self.http = httpx.Client(base_url=url, timeout=TIMEOUT)
        self.place = "127.0.0.1", int(url.rpartition(":")[2])
        self.decisions: list[tuple[str, dict[str, Any]]] = []  # acknowledged, with the model
        self.labels: list[tuple[str, dict[str, Any]]] = []
        self.held: list[socket.socket] = []

    def run(self) -> None:
        """Choose a kind of harm, often one that is cheap; on a full disk those that fill it."""
        kinds, weights = list(KINDS), [weight for _, weight in KINDS.values()]
        while not self.book.stop.is_set():
            kind = self.random.choices(kinds, weights)[0]
            if self.tally.trouble == "full disk" and self.random.random() < 0.3:
                kind = "many rows"
            self.count += 1
            KINDS[kind][0](self, kind)
            self.book.pause()
        for each in self.held:
            each.close()

    def call(
        self, kind: str, method: str, path: str, key: str | None, **body: Any
    ) -> httpx.Response | None:
        """Send a request once, and count the reply."""
        trouble, found = self.tally.trouble, None
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        with contextlib.suppress(httpx.HTTPError):
            found = self.http.request(method, path, headers=headers, **body)
        self.tally.add(kind, found, trouble)
        return found

    def own(self, kind: str, model: str, what: str, body: Any) -> list[dict[str, Any]]:
        """Send something to a model of the own tenant; keep what is acknowledged."""
        path = f"/v1/models/{model}/{what}"
        given = {"content": body} if isinstance(body, bytes) else {"json": body}
        found = self.call(kind, "POST", path, self.keys["mallory"], **given)
        if found is None or found.status_code != 200 or what not in ("ask", "tell"):
            return []
        said: list[dict[str, Any]] = found.json()["decisions" if what == "ask" else "outcomes"]
        kept = self.decisions if what == "ask" else self.labels
        kept += [(model, one) for one in said if "error" not in one]
        return said

    def asked(self, kind: str, model: str, body: dict[str, Any]) -> None:
        """Ask about rows, and answer some of the questions."""
        for decision in self.own(kind, model, "ask", body):
            if decision.get("asked") and self.random.random() < 0.5:
                label = self.random.choice(CLASSES)
                answers = [{"ticket": decision["ticket"], "label": label}]
                self.own(kind, model, "tell", {"answers": answers})

    def rows(self, count: int) -> list[list[float]]:
        """Some rows."""
        return [[self.random.gauss(0, 1) for _ in range(WIDTH)] for _ in range(count)]


def _at(attacker: Attacker, kind: str, times: list[float]) -> None:
    rows = attacker.rows(len(times))
    ids = [f"{attacker.number}-{attacker.count}-{at}" for at in range(len(rows))]
    attacker.asked(kind, "timed", {"rows": rows, "ids": ids, "times": times})


def future(attacker: Attacker, kind: str) -> None:
    """Rows dated ahead: a little less or more than is trusted, a day, and the year 2100."""
    now, draw = time.time(), attacker.random
    ahead = [now + LEAD + 6.0 * draw.random(), *(now + each for each in FUTURE), YEAR_2100]
    _at(attacker, kind, draw.sample(ahead, draw.randint(1, 3)))


def past(attacker: Attacker, kind: str) -> None:
    """Rows dated before, at 0, and at times that are none; and some without fault."""
    now = time.time()
    _at(attacker, kind, [attacker.random.choice((*PAST, now - 86_400.0, 1e308)), now])


def huge(attacker: Attacker, kind: str) -> None:
    """Numbers too large to compute with, and those that JSON cannot say."""
    row, draw = attacker.rows(1)[0], attacker.random
    row[draw.randrange(WIDTH)] = draw.choice(HUGE)
    what = draw.choice(("ask", "ask", "predict", "learn"))
    body: dict[str, Any] = {"rows": [row, *attacker.rows(1)]}
    body |= {"labels": CLASSES[:2]} if what == "learn" else {}
    data = json.dumps(body).encode()
    if draw.random() < 0.3:
        data = data.replace(str(row[0]).encode(), draw.choice(UNSAID).encode(), 1)
    attacker.own(kind, "large", what, data)


def viewer_huge(attacker: Attacker, kind: str) -> None:
    """The same from one who may only look."""
    rows = [[attacker.random.choice(HUGE)] * WIDTH, *attacker.rows(1)]
    key = attacker.keys["eye"]
    attacker.call(kind, "POST", "/v1/models/m/predict", key, json={"rows": rows})


def many(attacker: Attacker, kind: str) -> None:
    """As many rows as are allowed, and one more."""
    rows = [attacker.rows(1)[0]] * (MOST_ROWS + attacker.random.choice((0, 0, 1)))
    attacker.own(kind, "large", "ask", {"rows": rows})


def large(attacker: Attacker, kind: str) -> None:
    """Bodies of 8 MB, and more; items of 1 MB."""
    body: dict[str, Any] = {"rows": attacker.rows(1)}
    size = attacker.random.choice((0, LARGEST, LARGEST + 1))
    if not size:
        body["items"] = ["x" * 2**20]
    attacker.own(kind, "large", "ask", json.dumps(body).encode().ljust(size))


def deep(attacker: Attacker, kind: str) -> None:
    """Items nested so deep that a reader might fall."""
    levels = attacker.random.choice((19, 20, 21, 900, 100_000))
    rows = json.dumps(attacker.rows(1))
    item = "[" * levels + "]" * levels
    attacker.own(kind, "large", "ask", f'{{"rows": {rows}, "items": [{item}]}}'.encode())


def odd_ids(attacker: Attacker, kind: str) -> None:
    """Ids that look like tickets, and such as are none."""
    draw = attacker.random
    name = draw.choice(ODD_IDS)
    what = draw.choice(("ask", "tell", "cancel", "erase"))
    if what == "ask":
        attacker.own(kind, "large", "ask", {"rows": attacker.rows(1), "ids": [name]})
    elif what == "erase":
        path = f"/v1/models/large/events/{draw.randrange(1_000)}"
        attacker.call(kind, "DELETE", path, attacker.keys["mallory"])
    else:
        which = {draw.choice(("id", "ticket")): name}
        body = {"questions": [which]} if what == "cancel" else {
            "answers": [which | {"label": CLASSES[0]}]
        }  # fmt: skip
        attacker.own(kind, "large", what, body)


def cut(attacker: Attacker, kind: str) -> None:
    """Half of the headers, half of the body, or all of it and no wait for the reply."""
    body = json.dumps({"rows": attacker.rows(2)}).encode()
    head = (
        f"POST /v1/models/large/ask HTTP/1.1\r\nHost: {attacker.place[0]}\r\n"
        f"Authorization: Bearer {attacker.keys['mallory']}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    end = attacker.random.choice((len(head) // 2, len(head) + len(body) // 2, len(head + body)))
    with contextlib.suppress(OSError):
        made = socket.create_connection(attacker.place, timeout=TIMEOUT)
        made.sendall((head + body)[:end])
        attacker.held.append(made)
    while len(attacker.held) > attacker.random.choice((0, HELD)):
        attacker.held.pop(0).close()
    attacker.tally.add(kind, None, "")


def viewer(attacker: Attacker, kind: str) -> None:
    """Everything, with a key that may only look."""
    _anything(attacker, kind, attacker.keys["eye"])


def wrong_key(attacker: Attacker, kind: str) -> None:
    """Everything, with no key, a wrong one, or one of another tenant."""
    key = attacker.random.choice((None, "", "lasec_guess", attacker.keys["mallory"]))
    _anything(attacker, kind, key)


def _anything(attacker: Attacker, kind: str, key: str | None) -> None:
    foreign = key == attacker.keys["mallory"]
    known = [route for route in ROUTES if "{model}" in route.path or not foreign]
    route = attacker.random.choice(known)
    path = route.path.format(model="m", name="all", event=attacker.random.randrange(1_000))
    body = BODIES.get(route.path.rpartition("/")[2])
    given = {"json": body} if body is not None and route.body is not None else {}
    attacker.call(kind, route.method, path, key, **given)


def thief(attacker: Attacker, kind: str) -> None:
    """Answers to questions that were handed to others, with the key of an annotator."""
    ticket = attacker.random.choice(attacker.book.queried)
    body = {"ticket": ticket, "label": label_of(ticket)}
    attacker.call(kind, "POST", "/v1/models/m/answers", attacker.keys["thief"], json=body)


def models(attacker: Attacker, kind: str) -> None:
    """Models that are made, paused and deleted."""
    name, key = f"more{attacker.random.randrange(4)}", attacker.keys["mallory"]
    method = attacker.random.choice(("POST", "PATCH", "DELETE"))
    path = "/v1/models" if method == "POST" else f"/v1/models/{name}"
    new = {"name": name, "classes": CLASSES, "features": WIDTH, "rate": 0.1, "alarms": False}
    body: Any = {"POST": new, "PATCH": {"status": "paused"}}.get(method)
    attacker.call(kind, method, path, key, **({} if body is None else {"json": body}))


Harm = Callable[[Attacker, str], None]
KINDS: dict[str, tuple[Harm, float]] = {
    "rows from the future": (future, 4.0), "rows from the past": (past, 2.0),
    "huge rows": (huge, 4.0), "huge rows, viewer": (viewer_huge, 2.0),
    "many rows": (many, 0.3), "large bodies": (large, 0.5), "deep items": (deep, 1.0),
    "odd ids": (odd_ids, 3.0), "cut connections": (cut, 4.0), "viewer's key": (viewer, 4.0),
    "wrong keys": (wrong_key, 4.0), "answers without a lease": (thief, 1.0),
    "models made and deleted": (models, 0.5),
}  # fmt: skip
