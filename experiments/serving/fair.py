"""Tenants on one server: what the largest requests of one cost another, and leases in a long queue.

A neighbor sends the largest request of each kind that is allowed, one after the other, while a
second tenant asks about single rows. Times are those of the second tenant's replies.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from experiments.serving.databases import free_port
from experiments.serving.process import serve
from lasec.service import NewModel, Service, people
from lasec.service.app import LARGEST, LARGEST_JSON
from lasec.service.bodies import MOST_ROWS, AskBody, PersonBody
from lasec.service.openapi import PACKED
from lasec.service.operations import Rows
from lasec.service.settings import Asking

WIDTH, WIDE = 10, 100
CLASSES: list[str | int] = ["a", "b"]
PAUSE = 0.005  # seconds between two asks
Large = tuple[str, bytes, str]  # a request: its path, body and type


def run(asks: int, waiting: int, out: Path) -> dict[str, Any]:
    """Measure both; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    made = {"neighbors": _neighbors(asks, out), "leases": _leases(waiting, out)}
    (out / "fair.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


# Neighbors


def _client(url: str, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return httpx.Client(base_url=url, headers=headers, timeout=600, trust_env=False)


def _keys(folder: Path) -> tuple[str, str]:
    """An owner's key of each of two tenants."""
    service = Service(str(folder / "fair.db"))
    service.open()
    made = service.new_key("calm", "owner", "owner"), service.new_key("loud", "owner", "owner")
    service.stop()
    return made


def _neighbors(asks: int, out: Path) -> dict[str, dict[str, float]]:
    """The times of a calm tenant's asks, alone and beside each large request of a loud one."""
    for path in out.glob("fair.db*"):
        path.unlink()
    keys = _keys(out)
    port = free_port()
    server, url = serve(str(out / "fair.db"), port, out / "fair.log"), f"http://127.0.0.1:{port}"
    with _client(url, keys[0]) as calm, _client(url, keys[1]) as loud:
        for client, features in ((calm, WIDTH), (loud, WIDE)):
            new = {"name": "m", "classes": CLASSES, "features": features, "rate": 0.5, "seed": 1}
            client.post("/v1/models", json=new).raise_for_status()
        _times(calm, asks)
        found = {"alone": _quantiles(_times(calm, asks))}
        for name, request in _largest().items():
            found[name] = _beside(calm, loud, request, asks)
            found[name]["p99 of alone"] = found[name]["p99 ms"] / found["alone"]["p99 ms"]
    server.end()
    return found


def _times(client: httpx.Client, asks: int) -> list[float]:
    """How long each ask took."""
    rng, found = np.random.default_rng(0), []
    for x in rng.normal(size=(asks, WIDTH)).tolist():
        began = time.perf_counter()
        client.post("/v1/models/m/ask", json={"rows": [x]}).raise_for_status()
        found.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    return found


def _quantiles(seconds: list[float]) -> dict[str, float]:
    return {
        name: 1e3 * float(np.quantile(seconds, share))
        for name, share in (("p50 ms", 0.5), ("p99 ms", 0.99), ("worst ms", 1.0))
    }


def _largest() -> dict[str, Large]:
    """The largest request of each kind."""
    rng = np.random.default_rng(1)
    rows = np.round(rng.normal(size=(MOST_ROWS, WIDE)), 4)
    while len(json.dumps(rows.tolist())) > LARGEST_JSON - 50_000:
        rows = rows[: int(0.9 * len(rows))]
    listed = rows.tolist()
    labels = [CLASSES[at % 2] for at in range(len(rows))]
    packed = rng.normal(size=(min(MOST_ROWS, LARGEST // (8 * WIDE)), WIDE)).tobytes()
    answers = [{"ticket": at, "label": "a"} for at in range(MOST_ROWS)]
    plain = "application/json"

    def body(**parts: Any) -> bytes:
        return json.dumps(parts).encode()

    return {
        f"learn of {len(rows):,} rows": ("learn", body(rows=listed, labels=labels), plain),
        f"ask of {len(rows):,} rows": ("ask", body(rows=listed), plain),
        f"ask of {len(packed) // (8 * WIDE):,} packed rows": ("ask", packed, PACKED),
        f"predict of {len(rows):,} rows": ("predict", body(rows=listed), plain),
        f"tell of {MOST_ROWS:,} labels": ("tell", body(answers=answers), plain),
    }


def _beside(calm: httpx.Client, loud: httpx.Client, request: Large, asks: int) -> dict[str, float]:
    """The same while the neighbor, in a process of its own, sends a request over and over."""
    spawn = multiprocessing.get_context("spawn")
    stop, sent = spawn.Event(), spawn.Queue()
    key = loud.headers["Authorization"].removeprefix("Bearer ")
    given = (str(loud.base_url), key, request, stop, sent)
    neighbor = spawn.Process(target=_send, args=given)
    neighbor.start()
    sent.get()  # it has begun
    time.sleep(0.5)
    times = _times(calm, asks)
    stop.set()
    took: list[float] = sent.get()
    neighbor.join()
    return _quantiles(times) | {"large requests": len(took), "s of each": float(np.mean(took))}


def _send(url: str, key: str, request: Large, stop: Any, sent: Any) -> None:
    """Send a request until it is told to stop; then say how long each took."""
    path, body, kind = request
    took = list[float]()
    with _client(url, key) as loud:
        sent.put(None)
        while not stop.is_set():
            began = time.perf_counter()
            reply = loud.post(f"/v1/models/m/{path}", content=body, headers={"Content-Type": kind})
            assert reply.status_code in (200, 409), reply.text
            took.append(time.perf_counter() - began)
    sent.put(took)


# Leases


def _leases(waiting: int, out: Path) -> dict[str, dict[str, float]]:
    """CPU time of a lease with so many open questions, in four states of the queue."""
    for path in out.glob("leases.db*"):
        path.unlink()
    service = Service(str(out / "leases.db"))
    service.start()
    service.new_key("t", "owner", "owner")
    asking = Asking(annotators=3, lease=3_600.0, grace=3_600.0)
    new = NewModel(
        name="m",
        classes=CLASSES,
        features=1,
        algorithm="perceptron",
        seed=1,
        asking=asking,
        alarms=False,
    )
    model = service.do_now(service.create("t", new))
    rng = np.random.default_rng(0)
    for count in [MOST_ROWS] * (waiting // MOST_ROWS):
        rows = Rows.of_numbers(rng.normal(size=(count, 1)))
        service.do_now(service.ask(model, rows, AskBody([])))
    found = {"nobody has answered": _leased(service, model, "new")}
    for person in ("first", "second"):
        for _ in range(20):
            _answer(service, model, person, 50)
    found["1,000 answered by two others, and held"] = _leased(service, model, "third")
    _fill(service, "busy", waiting)
    model.queue = type(model.queue).read(service.store, "t", "m", time.time())
    found["all answered by this person"] = _leased(service, model, "busy")
    found["all answered by another person"] = _leased(service, model, "new")
    service.stop()
    return found


def _leased(service: Service, model: Any, person: str) -> dict[str, float]:
    """Milliseconds of CPU time of a lease of five questions."""
    times = list[float]()

    def lease(tx: Any, now: float, known: Any) -> Any:
        began = time.thread_time()
        found = people.lease(tx, now, model, person, 5)
        tx.flush()
        times.append(1e3 * (time.thread_time() - began))
        return found

    for _ in range(50):
        leased = service.do_now(lease)
    return {"first ms": times[0], "median ms": float(np.median(times)),
            "most ms": max(times[1:]), "waiting": leased.waiting}  # fmt: skip


def _answer(service: Service, model: Any, person: str, count: int) -> None:
    leased = service.do_now(lambda tx, now, known: people.lease(tx, now, model, person, count))
    for question in leased.questions:
        said = PersonBody(ticket=question.ticket, label="a")
        service.do_now(service.hear(model, person, said, leased=True))


def _fill(service: Service, person: str, waiting: int) -> None:
    """Answers of a person to all questions, as hours of work would leave them."""

    def put(tx: Any, now: float, known: Any) -> None:
        for ticket in range(waiting):
            tx.put(
                "INSERT INTO answers (tenant, model, ticket, person, label, status, at, due) "
                "VALUES ('t', 'm', ?, ?, '\"a\"', 'recorded', ?, ?)",
                ticket, person, now - 90_000.0, now,
            )  # fmt: skip

    service.do_now(put)
