"""Kills of a service around the answers of a judge to whom it posts questions.

One client asks about a row, waits until the judge has settled or sent on the question, and answers
in the place of people. Meanwhile the service is killed: when the judge has the question and has not
answered, when it has just answered, before and after the commit of the draw, and at any moment. The
judge is right most of the time, says what is no class, breaks off, and answers twice. A session of
the library is given the same rows and answers: every decision, the money and the estimate are
compared.
"""

from __future__ import annotations

import contextlib
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from experiments.serving.databases import started

import lasec
from lasec.service import Service
from service.judges import Judge, dies, judging, reply, says, twice
from service.kills import POINTS, TRIES, Server

ASKED, ANSWERED, ANY = "judge has the question", "judge has answered", "any moment"
WHERE = (ASKED, ANSWERED, ANSWERED, "before commit", "after commit", ANY)
SOURCES = [{"name": "gpt", "price": 1.0}, {"name": "people", "price": 20.0}]
MONEY, CLASSES = 6.0, ["ham", "spam"]
LAST, MANY = 20, 100  # rows after the last kill, and at most for each one


def truth(row: int) -> str:
    """The label of a row."""
    return CLASSES[row % 2]


def said(row: int) -> str | None:
    """What the judge makes of a row: nothing, where it breaks off or names no class."""
    if row % 11 in (3, 4):
        return None
    return "spam" if row % 11 == 5 else truth(row if row % 7 else row + 1)


def values(row: int) -> np.ndarray:
    """A row whose label can be learned."""
    drawn = np.random.default_rng(row).normal(size=3)
    return drawn + (1.0 if row % 2 else -1.0)


class Trial:
    """A service that is killed, its judge, and the library that is given the same."""

    def __init__(self, judge: Judge, store: str, draw: random.Random) -> None:
        self.judge, self.draw = judge, draw
        self.where, self.differ = Counter[str](), list[str]()
        self.kind, self.row_now, self.vain = "", -1, 0
        self.posts = Counter[tuple[int, int]]()  # by the start of the service, and the ticket
        self.late: list[int] = []  # tickets that were posted when they had been settled
        key = _prepared(store)
        judge.behave = self.behave
        self.server = Server(store)
        self.http = httpx.Client(
            base_url=self.server.url, headers={"Authorization": f"Bearer {key}"}, timeout=30.0
        )
        self.server.wait()
        hook = {"hook": judge.url, "timeout": 5.0}
        self.call("POST", "/v1/models", {
            "name": "m", "classes": CLASSES, "features": 3, "seed": 4, "alarms": False,
            "sources": [SOURCES[0] | hook, SOURCES[1]], "money": MONEY,
        })  # fmt: skip
        self.mine = lasec.Session(
            lasec.Tracker(3, seed=4, max_pending=200_000, max_age=100_000), classes=CLASSES,
            sources=[lasec.Source(**one) for one in SOURCES], money=lasec.Money(MONEY),
        )  # fmt: skip

    def behave(self, handler: Any, body: dict[str, Any]) -> None:
        """The judge: what it says depends on the row alone, and it may see the service killed."""
        row = body["ticket"]
        self.posts[self.server.starts, row] += 1
        if row != self.row_now:
            self.late.append(row)
        kind = self.kind
        if kind == ASKED:
            self.strike(kind)
        if row % 11 == 3:
            return dies(handler, body)
        if row % 11 == 4:
            return says("eggs")(handler, body)
        if row % 11 == 5:
            return twice(handler, body)
        reply(handler, {"label": said(row)})
        if kind == ANSWERED:
            time.sleep(self.draw.random() * 0.02)
            self.strike(kind)
        return None

    def strike(self, kind: str) -> None:
        """Kill the service, if it runs."""
        if self.server.process.poll() is None:
            self.where[kind] += 1
            self.server.process.send_signal(signal.SIGKILL)

    def again(self, kills: int) -> None:
        """Start the service once more, if it has ended; decide where the next kill is to be."""
        if self.server.process.poll() is None:
            return
        self.where.update([self.kind] if self.kind in POINTS else [])  # there it kills itself
        self.kind = self.draw.choice(WHERE) if self.where.total() < kills else ""
        is_point = self.kind in POINTS
        self.server.again(*((self.kind, self.draw.randint(1, 8)) if is_point else ()))
        self.server.prepare()
        self.vain = 0 if self.server.wait() or is_point else self.vain + 1
        assert self.vain < TRIES, "the service does not start any more"
        if self.kind == ANY:
            threading.Timer(self.draw.random(), self.strike, [ANY]).start()

    def call(self, method: str, path: str, body: Any = None, kills: int = 0) -> Any:
        """The reply to a request that is sent until it has one."""
        while True:
            with contextlib.suppress(httpx.TransportError):
                found = self.http.request(method, path, json=body)
                if found.status_code != 503:
                    assert found.status_code == 200, found.text
                    return found.json()
            self.again(kills)

    def row(self, row: int, kills: int) -> None:
        """A row, asked and answered by both."""
        path, x, self.row_now = "/v1/models/m", values(row), row
        mine = self.mine.ask(x, id=row)
        body = {"rows": [x.tolist()], "ids": [row]}
        its = self.call("POST", f"{path}/ask", body, kills)["decisions"][0]
        self.same(row, (its["query_probability"], its.get("source"), its["prediction"]),
                  (mine.propensity, mine.source, mine.label))  # fmt: skip
        if mine.source is None:
            return
        step = self.mine.tell(id=row, label=said(row), by="gpt")
        while self.of_status("judging", row, kills):
            time.sleep(0.005)
        self.same(row, "people" if self.of_status("open", row, kills) else None, step.source)
        if step.source is not None:
            outcome = self.mine.tell(id=row, label=truth(row), by="people")
            answer = {"answers": [{"id": row, "label": truth(row), "by": "people"}]}
            told = self.call("POST", f"{path}/tell", answer, kills)["outcomes"][0]
            self.same(row, (told.get("correct"), told.get("settled")),
                      (outcome.correct, outcome.settled))  # fmt: skip

    def of_status(self, status: str, row: int, kills: int) -> bool:
        """Whether the question about a row has a status."""
        path = f"/v1/models/m/questions?status={status}&after={row - 1}&limit=1"
        return bool(self.call("GET", path, None, kills)["questions"])

    def same(self, row: int, its: Any, mine: Any) -> None:
        """Note what the service decides otherwise than the library."""
        if its != mine:
            self.differ.append(f"row {row}: {its} instead of {mine}")

    def close(self) -> None:
        """End it."""
        self.server.close()
        self.http.close()


def _prepared(store: str) -> str:
    """A store with the owner's key."""
    service = Service(store)
    service.start()
    key = service.new_key("default", "me", "owner")
    service.stop()
    return key


def run(kills: int, store: str, seed: int = 0) -> dict[str, Any]:
    """Kill so often, with a database of SQLite or PostgreSQL, and compare."""
    with (
        judging(says(None)) as judge, pytest.MonkeyPatch.context() as environment,
        tempfile.TemporaryDirectory() as folder, started(store, Path(folder)) as database,
    ):  # fmt: skip
        environment.setenv("LASEC_HOOK_HOSTS", judge.place)
        trial, row, last = Trial(judge, database.url, random.Random(seed)), 0, LAST
        try:
            trial.strike(ANY)  # from now on, each start has its plan
            while trial.where.total() < kills or last:
                assert row < MANY * kills, "the service is not killed any more"
                last -= trial.where.total() >= kills
                trial.row(row, kills)
                row += 1
            return {"store": store} | _figures(trial, judge, row)
        finally:
            trial.close()


def _figures(trial: Trial, judge: Judge, rows: int) -> dict[str, Any]:
    """What was seen: ``twice`` are questions that were posted again where no kill explains it."""
    spent = trial.call("GET", "/v1/models/m/budget")["spent"]
    value = trial.call("GET", "/v1/models/m/accuracy")["all"]["value"]
    of_ticket = {(body["ticket"], headers["Idempotency-Key"]) for headers, body in judge.posts}
    questions = trial.mine.buying.questions if trial.mine.buying else 0
    often = [row for (_, row), n in trial.posts.items() if n > (3 if row % 11 == 3 else 1)]
    return {
        "kills": trial.where.total(), "where": dict(trial.where), "rows": rows,
        "questions": questions, "posts": len(judge.posts), "differ": trial.differ,
        "lost": questions - len(of_ticket), "twice": often + trial.late,
        "money_differs_by": {name: spent[name] - paid for name, paid in trial.mine.spent.items()},
        "accuracy_differs_by": abs(value - trial.mine.accuracy().value),
    }  # fmt: skip
