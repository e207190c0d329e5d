"""A server in a process of its own, as people run it."""

import shutil
import signal
from pathlib import Path

import httpx
import pytest
from experiments.serving.databases import free_port
from experiments.serving.process import owner_key, serve


class Server:
    """A server that can be stopped, killed and started again, always at the same address."""

    def __init__(self, folder, store=None):
        self.folder = Path(folder)
        self.store = store or str(self.folder / "service.db")
        self.log = self.folder / "server.log"
        self._port = free_port()
        self._running = None
        self.url = f"http://127.0.0.1:{self._port}"
        limits = httpx.Limits(max_keepalive_connections=0)  # the server may be another by then
        self.http = httpx.Client(
            base_url=self.url, trust_env=False, verify=False, timeout=600, limits=limits
        )

    @property
    def owner(self):
        """The owner's key."""
        return owner_key(self.log)

    @property
    def process(self):
        """The process that runs, or has ended by itself."""
        return self._running.process

    def start(self):
        """Start it, and wait until it takes requests."""
        self._running = serve(self.store, self._port, self.log)

    def stop(self, how=signal.SIGTERM):
        """Stop it, as an operator does; with SIGKILL, as a crash does."""
        if self._running is not None:
            self._running.end(how)
            self._running = None

    def call(self, method, path, body=None, *, key=None):
        """The reply's JSON to a request, by default with the owner's key."""
        headers = {"Authorization": f"Bearer {key or self.owner}"}
        reply = self.http.request(method, path, json=body, headers=headers)
        assert reply.is_success, (reply.status_code, reply.text)
        return reply.json() if reply.content else None


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A running server with SQLite, for the tests of one file; give each its own model."""
    made = Server(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop()
    made.http.close()


HAS_POSTGRES = shutil.which("initdb") or list(Path("/").glob("usr/lib/postgresql/*/bin/initdb"))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request):
    """The database of a server that is killed."""
    if request.param == "postgres" and not HAS_POSTGRES:
        pytest.skip("PostgreSQL is not installed")
    return request.param


@pytest.fixture
def option(pytestconfig):
    """The value of an option of the long tests."""
    return pytestconfig.getoption
