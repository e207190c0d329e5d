"""The service against the library, row by row; its budget over restarts; and a second writer.

The library alone is given the same rows and labels in the same order. Every decision must be the
same to the last bit, whether rows come one by one or in batches, and however often a request is
sent again or the server ends.
"""

from __future__ import annotations

import json
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import lasec
from experiments.serving.databases import free_port, started
from experiments.serving.process import Process, serve
from lasec.queries.account import settled
from lasec.service import NewModel, Service
from lasec.service.settings import OPEN
from lasec.service.store import TakenError

WIDTH, CLASSES = 4, ["ham", "spam"]
AGAIN = 0.2  # share of asks that are sent again
SINGLES = 0.95  # share of requests with one row; the others have up to 200
SEGMENT = 400  # rows between two restarts
FIELDS = ("ticket", "prediction", "margin", "query_probability", "asked")


def run(
    store: str, out: Path, rows: int = 100_000, restarts: int = 50, tries: int = 100, seed: int = 0
) -> dict[str, Any]:
    """All three, on a database of its own; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)  # noqa: S311
    with started(store, out) as database:
        key = _prepared(database.url)
        port = free_port()
        server = serve(database.url, port, out / "serve.log")
        url, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60.0) as client:
            found = {
                "store": store,
                "equal": _equal(Pair(client, "equal"), rows, draw),
                "budget": _budget(Pair(client, "budget"), server, restarts, draw),
                "second writer": _second(database.url, tries),
            }
        server.end(signal.SIGKILL)
    (out / f"equal_{store}.json").write_text(json.dumps(found, indent=1) + "\n")
    return found


RATES = {"equal": 0.3, "budget": 0.1}


def _prepared(url: str) -> str:
    """A store with both models, and a key."""
    service = Service(url)
    service.start()
    key = service.new_key("t", "all", "owner")
    for name, rate in RATES.items():
        given: dict[str, Any] = {"features": WIDTH, "rate": rate, "seed": 7, "alarms": False}
        service.do_now(service.create("t", NewModel(name=name, classes=[*CLASSES], **given)))
    service.stop()
    return key


class Pair:
    """A model of the service, and the library alone, which are given the same."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.client, self.path = client, f"/v1/models/{name}"
        options: dict[str, Any] = {"rate": RATES[name], "seed": 7, "classes": CLASSES}
        options |= {"max_age": 100_000.0, "max_pending": OPEN}
        learner = lasec.registry.make("tracker", WIDTH, **options)
        self.session = lasec.Session(learner)
        self.counts = dict.fromkeys(("rows", "requests", "labels", "retried", "differ"), 0)
        self.counts["changed"] = 0
        self.asked: list[bool] = []
        self.last: tuple[dict[str, Any], Any] = {}, None

    def ask(self, X: Any, *, again: bool = False) -> list[dict[str, Any]]:
        """Decide about rows in both; the request is perhaps sent again."""
        first = self.counts["rows"]
        body = {"rows": X.tolist(), "ids": [f"r{first + at}" for at in range(len(X))]}
        said = self.post("ask", body)["decisions"]
        for x, name, reply in zip(X, body["ids"], said, strict=True):
            mine = self.session.ask(x, id=name)
            fields = mine.ticket, mine.label, mine.margin, mine.propensity, mine.asked
            self.counts["differ"] += tuple(reply[name] for name in FIELDS) != fields
        self.counts["rows"] += len(X)
        self.asked += [reply["asked"] for reply in said]
        self.last = body, said
        if again:
            self.repeat()
        return [reply for reply in said if reply["asked"]]

    def repeat(self) -> None:
        """Send the last rows again: the reply must be the same."""
        body, said = self.last
        self.counts["retried"] += 1
        self.counts["changed"] += self.post("ask", body)["decisions"] != said

    def tell(self, asked: list[dict[str, Any]], labels: Any) -> None:
        """Tell both the labels of what was asked."""
        if not asked:
            return
        answers = [{"ticket": d["ticket"], "label": labels[d["ticket"]]} for d in asked]
        for answer, reply in zip(
            answers, self.post("tell", {"answers": answers})["outcomes"], strict=True
        ):
            mine = self.session.tell(answer["ticket"], answer["label"])
            self.counts["differ"] += reply["correct"] != mine.correct
            self.counts["labels"] += 1

    def post(self, what: str, body: Any) -> Any:
        """The reply to a request."""
        self.counts["requests"] += 1
        found = self.client.post(f"{self.path}/{what}", json=body)
        assert found.status_code == 200, found.text
        return found.json()

    def same_file(self) -> bool:
        """Whether the exported model is the library's, bit for bit."""
        exported = lasec.Session.from_bytes(self.client.get(f"{self.path}/file").content)
        return exported.learner.to_bytes() == self.session.learner.to_bytes()


def _stream(rows: int) -> tuple[Any, Any]:
    X, y = lasec.streams.switching(rows, dimension=WIDTH, every=5_000, noise=0.05, seed=1)
    return X, np.where(y > 0, "spam", "ham")


def _equal(pair: Pair, rows: int, draw: random.Random) -> dict[str, Any]:
    """Singles and batches, until so many rows were compared."""
    X, labels = _stream(rows)
    began, at, singles = time.monotonic(), 0, 0
    while at < rows:
        size = 1 if draw.random() < SINGLES else draw.randint(2, 200)
        singles += size == 1
        pair.tell(pair.ask(X[at : at + size]), labels)
        at += size
    seconds = round(time.monotonic() - began)
    return pair.counts | {
        "singles": singles, "bit_for_bit": pair.same_file(), "seconds": seconds
    }  # fmt: skip


def _budget(pair: Pair, server: Process, restarts: int, draw: random.Random) -> dict[str, Any]:
    """Restart again and again, every second time by a kill; the last ask is sent again after it."""
    X, labels = _stream(SEGMENT * (restarts + 1))
    at = 0
    for segment in range(restarts + 1):
        while at < SEGMENT * (segment + 1):
            size = min(draw.choice((1, 1, 5, 40)), SEGMENT * (segment + 1) - at)
            pair.tell(pair.ask(X[at : at + size], again=draw.random() < AGAIN), labels)
            at += size
        if segment < restarts:
            server.again(signal.SIGKILL if segment % 2 else signal.SIGTERM)
            pair.repeat()
    rate, (_, _, burst) = RATES["budget"], settled(pair.session.learner.query)
    spent = np.concatenate([[0.0], np.cumsum(np.array(pair.asked) - rate)])
    most = float((spent - np.minimum.accumulate(spent)).max())
    return pair.counts | {
        "restarts": restarts, "asked": sum(pair.asked), "planned": rate * len(pair.asked),
        "most above the rate in any window": most, "hard cap": burst, "exceeded": most > burst,
        "bit_for_bit": pair.same_file(),
    }  # fmt: skip


def _second(url: str, tries: int) -> dict[str, int]:
    """How many of so many further servers on the same store were refused."""

    def refused(number: int) -> bool:
        service = Service(url)
        try:
            service.start()
        except TakenError:
            return True
        finally:
            service.store.close()
        return False

    with ThreadPoolExecutor(10) as pool:
        return {"tries": tries, "refused": sum(pool.map(refused, range(tries)))}
