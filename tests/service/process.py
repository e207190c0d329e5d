"""``lasec serve`` in a process of its own, which may be expected to end."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import httpx

from lasec.service import Service
from service.conftest import Server

MODEL = {"name": "m", "classes": ["a", "b"], "features": 2, "algorithm": "perceptron"}
ENDED = 75


class Process:
    """A server with one model; remembers what it has acknowledged."""

    def __init__(self, folder, store):
        self.server, self.store = Server(folder, store), store
        self.server.start()
        self.process, self.log, self.http = self.server.process, self.server.log, self.server.http
        self.http.headers["Authorization"] = f"Bearer {self.server.owner}"
        self.server.call("POST", "/v1/models", MODEL)
        self.acknowledged: list[str] = []

    def ask(self, size=0):
        """Ask about a row, whose item has so many characters."""
        name = f"row-{len(self.acknowledged)}"
        body = {"rows": [[1.0, 2.0]], "ids": [name], "items": [{"text": "x" * size}]}
        found = self.http.post("/v1/models/m/ask", json=body)
        if found.status_code == 200:
            self.acknowledged.append(name)
        return found.status_code

    def ask_until_it_ends(self, size=0):
        """Ask until the server is gone; errors are no acknowledgment. Gives its status."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                self.ask(size)
            except httpx.TransportError:
                break
        return self.process.wait(30)

    def kept(self):
        """The ids of questions that the next server has, after it has replayed its journal."""
        service = Service(self.store)
        service.start()
        try:
            found = service.store.read("SELECT event FROM questions ORDER BY ticket")
            assert service.models["default", "m"].status == "active"
            return [name for (name,) in found]
        finally:
            service.stop()


@contextmanager
def process(folder, store):
    """A server that is ready, and ended at the latest when the test is."""
    made = Process(folder, store)
    try:
        yield made
    finally:
        made.server.stop(signal.SIGKILL)
        made.server.http.close()
