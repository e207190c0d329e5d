"""A service that listens in a thread of the test's process."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from lasec.service import Service, application

OWNER = "owner"


class Api:
    """A client of a service, with a key; ``of`` gives one with another key."""

    def __init__(self, service: Service, url: str, key: str, open_: list[Any]) -> None:
        self.service, self.url, self.key, self.open = service, url, key, open_
        self.http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=600
        )
        self.open.append(self.http)

    def of(self, tenant: str, name: str, role: str) -> Api:
        return Api(self.service, self.url, self.service.new_key(tenant, name, role), self.open)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, bytes):
            return self.http.request(method, path, content=body, headers=named)
        return self.http.request(method, path, json=body, headers=named)

    def made(self, **settings: Any) -> str:
        """Create a model, and give its path."""
        given = {"name": "m", "classes": ["ham", "spam"], "features": 3, "seed": 1} | settings
        found = self("POST", "/v1/models", given)
        assert found.status_code == 200, found.text
        return f"/v1/models/{given['name']}"


@contextmanager
def running(url: str, **options: Any) -> Any:
    service = Service(url, **options)
    server = uvicorn.Server(
        uvicorn.Config(application(service), port=0, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    made: list[Any] = []
    try:
        name = f"first-{time.monotonic_ns()}"
        yield Api(service, f"http://127.0.0.1:{port}", service.new_key("acme", name, OWNER), made)
    finally:
        for client in made:
            client.close()
        server.should_exit = True
        thread.join()
