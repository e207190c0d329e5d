"""Kills of the server and crashes of its database, while clients ask, tell and retry.

Each client keeps every request until it is acknowledged, and sends it again with the same key after
an error, and one time in five after an acknowledgment. At the end, everything is compared with the
library alone, which is given the same operations in the order of the journal.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

import lasec
from experiments.serving.databases import free_port, started
from lasec.service import NewModel, Service
from lasec.service.operations import Ask, Cancel, Learn, Tell, unpacked
from lasec.service.store import Store

POINTS = ("before commit", "after commit", "snapshot", "replay")
CLIENTS, WIDTH, CLASSES = 8, 4, ["ham", "spam"]
AGAIN = 0.2  # share of acknowledged requests that are sent once more
SETTINGS: dict[str, Any] = {
    "name": "m", "classes": CLASSES, "features": WIDTH, "rate": 0.5, "seed": 7, "alarms": False,
}  # fmt: skip


class Server:
    """The server's process, which is started again whenever it has ended."""

    def __init__(self, store: str) -> None:
        self.store, self.port = store, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self.process = self._begin()

    def _begin(self, *point: str) -> subprocess.Popen[bytes]:
        self.starts += 1
        call = [sys.executable, "-m", "experiments.serving.child", self.store, str(self.port)]
        return subprocess.Popen([*call, *point], stderr=subprocess.DEVNULL)  # noqa: S603

    def wait(self) -> bool:
        """Wait until it takes requests; False if it has ended before."""
        while self.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz", timeout=2.0).status_code == 200:
                    return True
            time.sleep(0.02)
        return False

    def again(self, *point: str) -> None:
        """Start it once more, perhaps to end at a named point."""
        self.process.wait()
        self.process = self._begin(*point)

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Client(threading.Thread):
    """One that asks, answers and retries until it is told to stop."""

    def __init__(self, number: int, url: str, key: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.random, self.number, self.stop = random.Random(number), number, stop  # noqa: S311
        self.http = httpx.Client(
            base_url=f"{url}/v1/models/m", headers={"Authorization": f"Bearer {key}"}, timeout=10.0
        )
        self.acknowledged: list[tuple[str, dict[str, Any], Any]] = []
        self.changed = self.retries = self.count = 0

    def run(self) -> None:
        """Ask about some rows, tell most of the labels, learn and cancel now and then."""
        while not self.stop.is_set():
            self.count += 1
            names = [f"{self.number}-{self.count}-{i}" for i in range(self.random.randint(1, 4))]
            rows = [[self.random.gauss(0, 1) for _ in range(WIDTH)] for _ in names]
            said = self.send("ask", {"rows": rows, "ids": names})
            for row, decision in zip(rows, said.get("decisions", ()), strict=False):
                if decision.get("asked"):
                    self.answer(row, decision)
            if self.random.random() < 0.1:
                self.send("learn", {"rows": rows[:1], "labels": [_label(rows[0])]})

    def answer(self, row: list[float], decision: dict[str, Any]) -> None:
        """Tell a label, or give the question up, or leave it open."""
        chance = self.random.random()
        if chance < 0.8:
            name = {"ticket": decision["ticket"]} if chance < 0.4 else {"id": decision["id"]}
            self.send("tell", {"answers": [name | {"label": _label(row), "by": "ann"}]})
        elif chance < 0.9:
            self.send("cancel", {"questions": [decision["ticket"]]})

    def send(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request until it is acknowledged; sometimes once more."""
        key = f"{self.number}-{what}-{self.random.random()}"
        reply = self._until(what, body, key)
        self.acknowledged.append((what, body, reply))
        if self.random.random() < AGAIN and not self.stop.is_set():
            again = self._until(what, body, key)
            self.changed += again not in (reply, {})
        return reply

    def _until(self, what: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        while True:
            try:
                found = self.http.post(f"/{what}", json=body, headers={"Idempotency-Key": key})
                if found.status_code == 200:
                    made: dict[str, Any] = found.json()
                    return made
                if found.status_code not in (500, 503):
                    raise SystemExit(f"{what}: {found.status_code} {found.text}")
            except httpx.HTTPError:
                pass
            self.retries += 1
            time.sleep(0.02)


def _label(row: list[float]) -> str:
    return CLASSES[row[0] + row[1] > 0.0]


def run(kills: int, store: str, out: Path, crashes: int | None = None, seed: int = 0) -> Any:
    """Kill so often, and compare; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    crashes = (kills // 10 if store == "postgres" else 0) if crashes is None else crashes
    with started(store, out) as database:
        figures = _under_fire(kills, crashes, database, random.Random(seed))  # noqa: S311
    (out / f"kills_{store}.json").write_text(
        json.dumps({"store": store} | figures, indent=1) + "\n"
    )
    return figures


def _under_fire(kills: int, crashes: int, database: Any, draw: random.Random) -> dict[str, Any]:
    key = _prepared(database.url)
    server, stop = Server(database.url), threading.Event()
    assert server.wait()
    clients = [Client(number, server.url, key, stop) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    began = time.monotonic()
    done = _fire(kills, crashes, server, database, draw)
    stop.set()
    for client in clients:
        client.join()
        client.http.close()
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}) as http:
        exported = http.get("/v1/models/m/file").content
    server.kill()
    return done | compared(database.url, clients, exported) | {
        "seconds": round(time.monotonic() - began), "starts": server.starts,
    }  # fmt: skip


def _prepared(url: str) -> str:
    """A store with a model and a key; every operation is also kept where no snapshot deletes it."""
    service = Service(url)
    service.start()
    key = service.new_key("t", "all", "owner")
    service.do_now(service.create("t", NewModel(**SETTINGS)))
    postgres = url.startswith("postgres")
    table = "CREATE TABLE archive AS SELECT * FROM journal"
    copy = "INSERT INTO archive VALUES (NEW.tenant, NEW.model, NEW.seq, NEW.body, NEW.said)"
    trigger = f"CREATE TRIGGER keep AFTER INSERT ON journal BEGIN {copy}; END"
    with service.store.transaction() as tx:
        tx.run(table)
        if postgres:
            tx.run(
                "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN {copy}; RETURN NEW; END $$"
            )
            trigger = "CREATE TRIGGER keep AFTER INSERT ON journal FOR EACH ROW "
            trigger += "EXECUTE FUNCTION keep()"
        tx.run(trigger)
    service.stop()
    return key


def _fire(
    kills: int, crashes: int, server: Server, database: Any, draw: random.Random
) -> dict[str, Any]:
    """Kill the server at random moments and at named points, and crash the database in between."""
    counts = dict.fromkeys((*POINTS, "any moment"), 0)
    crash_at = set(draw.sample(range(kills), min(crashes, kills)))
    for number in range(kills):
        if number in crash_at:
            database.crash()
        if number % 2:
            server.kill()
            point = draw.choice(POINTS)
            passes = {"snapshot": 1, "replay": 1}.get(point, draw.randint(1, 40))
            server.again(point, str(passes))
            try:
                server.process.wait(timeout=20.0)
            except subprocess.TimeoutExpired:
                point = "any moment"
                server.kill()
            counts[point] += 1
        else:
            if server.wait():
                time.sleep(draw.expovariate(4.0))
            server.kill()
            counts["any moment"] += 1
        server.again()
        if not server.wait():
            server.again()
    while not server.wait():
        server.again()
    time.sleep(0.5)
    return {"kills": sum(counts.values()), "where": counts, "crashes": len(crash_at)}


def compared(url: str, clients: list[Client], exported: bytes) -> dict[str, Any]:
    """What was acknowledged against the journal, and the journal against the library alone."""
    store = Store(url)
    archive = store.read("SELECT body FROM archive ORDER BY seq")
    store.close()
    alone = Alone()
    for (body,) in archive:
        alone.carry_out(unpacked(bytes(body)))
    sent = [given for client in clients for given in client.acknowledged]
    lost, differ, learned = alone.against(sent)
    again = lasec.Session.from_bytes(exported)
    one, other = again.accuracy(), alone.session.accuracy()
    return {
        "operations": len(sent), "rows": len(alone.asked), "labels": len(alone.told),
        "retries": sum(client.retries for client in clients), "lost": lost,
        "twice": alone.twice + abs(alone.learned - learned),
        "changed": sum(client.changed for client in clients), "differ": differ,
        "bit_for_bit": again.learner.to_bytes() == alone.session.learner.to_bytes(),
        "accuracy_differs_by": max(abs(one.low - other.low), abs(one.high - other.high)),
    }  # fmt: skip


class Alone:
    """The library without a service, given the operations of a journal."""

    def __init__(self) -> None:
        options: dict[str, Any] = {"rate": 0.5, "seed": 7, "classes": CLASSES}
        learner = lasec.registry.make("tracker", WIDTH, max_age=100_000.0, **options)
        self.session = lasec.Session(learner)
        self.asked: dict[Any, Any] = {}
        self.told: dict[int, Any] = {}
        self.twice = self.learned = 0

    def carry_out(self, operation: Any) -> None:
        """Call the library as the operation says."""
        if isinstance(operation, Ask):
            for x, name in zip(operation.rows.matrix(WIDTH), operation.ids, strict=True):
                self.twice += name in self.asked
                self.asked[name] = self.session.ask(x, id=name)
        elif isinstance(operation, Learn):
            for x, label in zip(operation.rows.matrix(WIDTH), operation.labels, strict=True):
                self.session.learn(x, label)
                self.learned += 1
        for answer in operation.answers if isinstance(operation, Tell) else ():
            with contextlib.suppress(LookupError, ValueError):
                outcome = self.session.tell(answer.question, answer.label, by=answer.by)
                self.twice += outcome.decision.ticket in self.told
                self.told[outcome.decision.ticket] = outcome
        for question in operation.questions if isinstance(operation, Cancel) else ():
            with contextlib.suppress(LookupError, ValueError):
                self.session.cancel(question)

    def against(self, sent: list[tuple[str, dict[str, Any], Any]]) -> tuple[int, int, int]:
        """How many acknowledged decisions and labels are not here, differ, or were only learned."""
        lost = differ = learned = 0
        for what, _, reply in sent:
            for decision in reply["decisions"] if what == "ask" else ():
                mine = self.asked.get(decision["id"])
                lost += mine is None
                differ += mine is not None and _fields(mine) != [decision[n] for n in _FIELDS]
            for outcome in reply["outcomes"] if what == "tell" else ():
                if "error" not in outcome:
                    heard = self.told.get(outcome["ticket"])
                    lost += heard is None
                    differ += heard is not None and heard.correct != outcome["correct"]
            learned += len(reply["outcomes"]) if what == "learn" else 0
        return lost, differ, learned


_FIELDS = ("ticket", "prediction", "margin", "query_probability", "asked")


def _fields(decision: Any) -> list[Any]:
    return [decision.ticket, decision.label, decision.margin, decision.propensity, decision.asked]
