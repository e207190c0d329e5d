"""A server in a process of its own, as people run it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

# The first argument is the store, the second the port, the third where the owner's key is kept.
PROGRAM = """
import sys
from pathlib import Path
from lasec.service import Service
from lasec.service.listen import Server

url, port, key = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
service = Service(url)
service.open()
if not key.exists():
    key.write_text(service.new_key("acme", "owner", "owner"))
Server(service, port=port).run()
service.stop()
"""


class Server:
    """A server that can be stopped, killed and started again, always at the same address."""

    def __init__(self, folder, store=None):
        self.folder = Path(folder)
        self.store = store or str(self.folder / "service.db")
        self._port = _free_port()
        self._process = None
        self.url = f"http://127.0.0.1:{self._port}"
        limits = httpx.Limits(max_keepalive_connections=0)  # the server may be another by then
        self.http = httpx.Client(
            base_url=self.url, trust_env=False, verify=False, timeout=600, limits=limits
        )

    @property
    def owner(self):
        """The owner's key of the tenant "acme"."""
        return (self.folder / "owner.key").read_text()

    def start(self):
        """Start it, and wait until it takes requests."""
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, self.store, str(self._port),
                 str(self.folder / "owner.key")],
                stdout=log, stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        until = time.monotonic() + 120
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "server.log").read_text()[-2000:])
            time.sleep(0.05)

    def _ready(self):
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self, how=signal.SIGTERM):
        """Stop it, as an operator does; with SIGKILL, as a crash does."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def call(self, method, path, body=None, *, key=None):
        """The reply's JSON to a request, by default with the owner's key."""
        headers = {"Authorization": f"Bearer {key or self.owner}"}
        reply = self.http.request(method, path, json=body, headers=headers)
        assert reply.is_success, (reply.status_code, reply.text)
        return reply.json() if reply.content else None


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A running server with SQLite, for the tests of one file; give each its own model."""
    made = Server(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop()
    made.http.close()
