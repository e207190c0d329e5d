"""CPU time of the server for a durable decision, against a bare reply, and the library alone.

Everything is measured in one run, as CPU time of processes, so that ratios hold on a busy machine.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import lasec
from experiments.serving.databases import free_port, started
from experiments.serving.process import Process, owner_key
from lasec.service import NewModel, Service
from lasec.service.store import Store

WIDTH, CLIENTS = 50, 32
PACKED = "application/octet-stream"


def run(store: str, out: Path, requests: int = 4_000) -> dict[str, Any]:
    """Measure, and write the figures to a file."""
    out.mkdir(parents=True, exist_ok=True)
    with started(store, out) as database:
        made = _ratios(_measured(database.url, requests), _measured(":memory:", requests))
        made |= {"store": store, "requests": requests}
    (out / f"cost_{store}.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


def _ratios(durable: dict[str, float], memory: dict[str, float]) -> dict[str, Any]:
    bare = library()
    return {
        "us": {"durable": durable, "memory": memory, "100 bare asks": bare},
        "one row / hello": durable["one"] / durable["hello"],
        "100 rows / 100 bare asks": durable["hundred"] / bare,
        "one row, durable / memory": durable["one"] / memory["one"],
        "p50 of one client / a bare commit": durable["p50"] / durable["commit"],
    }


def _measured(url: str, requests: int) -> dict[str, float]:
    """Microseconds of CPU time of the server for each kind of request."""
    in_memory = url == ":memory:"
    with tempfile.TemporaryDirectory() as folder:
        server = Alone(url, Path(folder) / "log")
    key = server.key
    try:
        rows = np.random.default_rng(0).normal(size=(requests, WIDTH))
        one = [row.tobytes() for row in rows]
        hundred = [rows[at : at + 100].tobytes() for at in range(0, requests, 100)] * 10
        server.spent("POST", "/v1/models/m/ask", one[:200], key)  # warm
        made = {
            "hello": server.spent("GET", "/healthz", [b""] * requests, key),
            "one": server.spent("POST", "/v1/models/m/ask", one, key),
            "hundred": server.spent("POST", "/v1/models/m/ask", hundred, key),
        }
        made["p50"] = server.median("/v1/models/m/ask", one[:300], key)
    finally:
        server.server.end(signal.SIGKILL)
    return made if in_memory else made | {"commit": bare_commit(url)}


class Alone:
    """A server with one model of fifty features, and its CPU time."""

    def __init__(self, url: str, log: Path) -> None:
        self.port = free_port()
        call = [sys.executable, "-m", "experiments.serving.cost", url, self.port]
        self.server = Process(call, log, f"http://127.0.0.1:{self.port}/readyz")
        self.key = owner_key(log)

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        stat = Path(f"/proc/{self.server.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def spent(self, method: str, path: str, bodies: list[bytes], key: str) -> float:
        """Microseconds of CPU time for each request, sent by many clients at once."""
        before = self.cpu()
        shares = [bodies[at::CLIENTS] for at in range(CLIENTS)]
        threads = [
            threading.Thread(target=self.send, args=(method, path, share, key)) for share in shares
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 1e6 * (self.cpu() - before) / len(bodies)

    def median(self, path: str, bodies: list[bytes], key: str) -> float:
        """Microseconds from a request to its reply, of a client that is alone."""
        return 1e6 * statistics.median(self.send("POST", path, bodies, key))

    def send(self, method: str, path: str, bodies: list[bytes], key: str) -> list[float]:
        """Send requests one after the other; gives the time of each."""
        headers = {"Authorization": f"Bearer {key}", "Content-Type": PACKED}
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60.0)
        times = []
        for body in bodies:
            began = time.perf_counter()
            made.request(method, path, body, headers)
            reply = made.getresponse()
            reply.read()
            times.append(time.perf_counter() - began)
            assert reply.status == 200
        made.close()
        return times


def library() -> float:
    """Microseconds of CPU time for a hundred asks of a bare session: the median of many."""
    session = lasec.Session(lasec.Tracker(WIDTH, rate=0.1, seed=1))
    times = []
    for rows in np.random.default_rng(0).normal(size=(100, 100, WIDTH)):
        began = time.process_time()
        for x in rows:
            session.ask(x)
        times.append(1e6 * (time.process_time() - began))
    return statistics.median(times)


def bare_commit(url: str) -> float:
    """Microseconds of a transaction that writes one row, nothing else."""
    store, times = Store(url), []
    with store.transaction() as tx:
        tx.run("CREATE TABLE IF NOT EXISTS bare (n BIGINT)")
    for number in range(300):
        began = time.perf_counter()
        with store.transaction() as tx:
            tx.run("INSERT INTO bare VALUES (?)", number)
        times.append(time.perf_counter() - began)
    store.close()
    return 1e6 * statistics.median(times)


def main(url: str, port: str) -> None:
    """Serve one model; its key is printed."""
    import uvicorn  # noqa: PLC0415

    from lasec.service import application  # noqa: PLC0415

    service = Service(url)
    service.start()
    new = NewModel(name="m", classes=["ham", "spam"], features=WIDTH, seed=1, alarms=False)
    key = service.new_key("t", "all", "owner")
    service.do_now(service.create("t", new))
    sys.stdout.write(key + "\n")
    sys.stdout.flush()
    app = application(service, manage=False)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
