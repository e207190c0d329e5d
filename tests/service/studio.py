"""Label Studio in a process of its own, the people who work in it, and its webhook."""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
import time
import venv
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from experiments.serving.databases import free_port
from experiments.serving.process import Process

CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="label" toName="text">'
    '<Choice value="ham"/><Choice value="spam"/></Choices></View>'
)
FIRST, SECRET = "ann@example.org", "not-a-secret-0"


def environment(python: str | None, out: Path) -> Path:
    """The Python of an environment with Label Studio, which is made if none is given."""
    if python is not None:
        return Path(python)
    made = out / "environment"
    if not made.exists():
        venv.create(made, with_pip=True)
        call = [str(made / "bin" / "pip"), "install", "--quiet", "label-studio"]
        subprocess.run(call, check=True)
    return made / "bin" / "python"


def started(python: Path, folder: Path) -> tuple[Process, str]:
    """Label Studio with SQLite, and its address; the first person is its owner."""
    folder.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [python.parent / "label-studio", "start", "--no-browser", "--port", port]
    process = Process(
        [*command, "--username", FIRST, "--password", SECRET], folder / "log",
        f"{url}/health", LABEL_STUDIO_BASE_DATA_DIR=str(folder),
        SSRF_PROTECTION_ENABLED="false",  # else it refuses a webhook on this machine
    )  # fmt: skip
    return process, url


class Person:
    """Somebody with an account, who works through the API until it replies."""

    def __init__(self, url: str, email: str) -> None:
        self._url, self.token = url, _token(url, email)
        self._http = httpx.Client(base_url=url, timeout=60.0)

    def send(self, method: str, path: str, **given: Any) -> Any:
        """The reply to a request, which is sent until there is one; None if it is gone."""
        while True:
            with contextlib.suppress(httpx.TransportError):
                reply = self._http.request(method, path, **given)
                if reply.status_code == 404:
                    return None
                if reply.is_success:
                    return reply.json() if reply.content else {}
                if reply.status_code == 401:
                    found = self._http.post("/api/token/refresh/", json={"refresh": self.token})
                    if found.is_success:
                        self._http.headers["Authorization"] = f"Bearer {found.json()['access']}"
                elif reply.status_code < 500:
                    raise RuntimeError(f"{method} {path}: {reply.status_code} {reply.text[:500]}")
            time.sleep(0.1)

    def project(self, hook: str) -> int:
        """A new project whose webhook goes to an address."""
        body = {"title": "mails", "label_config": CONFIG}
        number: int = self.send("POST", "/api/projects", json=body)["id"]
        hooked = {"project": number, "url": hook, "send_for_all_actions": True}
        self.send("POST", "/api/webhooks/", json=hooked)
        return number

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """All tasks of a project."""
        given = {"project": project, "fields": "all", "page_size": 10_000}
        found: list[dict[str, Any]] = self.send("GET", "/api/tasks", params=given)["tasks"]
        return found

    def answer(self, task: int, label: str | None) -> int | None:
        """Choose a label, or skip; gives the number of the annotation, if the task is there."""
        body = {"result": _chosen(label), "was_cancelled": label is None}
        made = self.send("POST", f"/api/tasks/{task}/annotations/", json=body)
        return None if made is None else int(made["id"])

    def change(self, annotation: int, label: str) -> None:
        """Choose another label."""
        body = {"result": _chosen(label), "was_cancelled": False}
        self.send("PATCH", f"/api/annotations/{annotation}/", json=body)

    def delete(self, what: str, number: int) -> None:
        """Delete a task, or an annotation."""
        self.send("DELETE", f"/api/{what}/{number}/")


def _chosen(label: str | None) -> list[dict[str, Any]]:
    if label is None:
        return []
    value = {"choices": [label]}
    return [{"from_name": "label", "to_name": "text", "type": "choices", "value": value}]


def _token(url: str, email: str) -> str:
    """A personal access token, got as a person gets it: signing up or in, and asking for one."""
    page = f"{url}/user/{'login' if email == FIRST else 'signup'}/"
    with httpx.Client(base_url=url, timeout=60.0, follow_redirects=True) as http:
        shown = http.get(page).text
        form = re.search(r'csrfmiddlewaretoken" value="([^"]+)', shown)
        assert form is not None
        given = {"csrfmiddlewaretoken": form[1], "email": email, "password": SECRET}
        http.post(page, data=given, headers={"Referer": page})
        headers = {"X-CSRFToken": http.cookies["csrftoken"], "Referer": url}
        made: str = http.post("/api/token/", json={}, headers=headers).json()["token"]
        return made


class Hook:
    """The way of webhooks to the adapter: dead for every other five seconds."""

    def __init__(self, target: str) -> None:
        self.passed = self.dropped = 0
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                alive = int(time.monotonic() / 5.0) % 2 == 0
                if alive:
                    with contextlib.suppress(httpx.HTTPError):
                        httpx.post(target, timeout=1.0)
                hook.passed, hook.dropped = hook.passed + alive, hook.dropped + (not alive)
                self.send_response(204 if alive else 500)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
