"""A judge behind an address: a small server that answers, hangs, lies or breaks off."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behave = Callable[[Any, dict[str, Any]], None]


def reply(handler: Any, body: Any, status: int = 200, **headers: str) -> None:
    """Send a reply of JSON, or of bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def says(label: Any, **more: Any) -> Behave:
    """Always the same answer."""
    return lambda handler, body: reply(handler, {"label": label, **more})


def hangs(handler: Any, body: dict[str, Any]) -> None:
    """No reply, for longer than anybody waits."""
    handler.server.released.wait(20.0)


def drips(handler: Any, body: dict[str, Any]) -> None:
    """A reply of which a byte comes now and then."""
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        while not handler.server.released.wait(0.1):
            handler.wfile.write(b"X")


def dies(handler: Any, body: dict[str, Any]) -> None:
    """Half a reply."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"label": "sp')


def twice(handler: Any, body: dict[str, Any]) -> None:
    """Two replies to one question, which contradict each other."""
    reply(handler, {"label": "spam"})
    with suppress(OSError):
        reply(handler, {"label": "ham"})


def without_length(handler: Any, body: dict[str, Any]) -> None:
    """A reply that ends with the connection."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b'{"label": "spam", "why": "a prize"}')


def in_chunks(handler: Any, body: dict[str, Any]) -> None:
    """A reply in chunks, after one that says that it takes a while."""
    handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n")
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for part in (b'{"label":', b' "spam"}'):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.flush()
        time.sleep(0.05)
    handler.wfile.write(b"0\r\n\r\n")
    with suppress(OSError):
        handler.server.released.wait(1.0)  # the connection stays open


class Judge:
    """What was posted, and what is done with it: ``behave`` can be changed at any time."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.posts: list[tuple[dict[str, str], dict[str, Any]]] = []
        judge = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                judge.posts.append((dict(self.headers), body))
                judge.behave(self, body)

            def log_message(self, *given: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 64

        self.server: Any = Server(("127.0.0.1", 0), Handler)
        self.server.released = threading.Event()
        self.server.handle_error = lambda *given: None
        self.place = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.place}/label"

    @property
    def keys(self) -> Counter[str]:
        """How often each question was posted."""
        return Counter(headers["Idempotency-Key"] for headers, _ in self.posts)


@contextmanager
def judging(behave: Behave) -> Any:
    """A judge in a thread, as long as it is needed."""
    made = Judge(behave)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.released.set()
        made.server.shutdown()
        made.server.server_close()
        thread.join()


def until(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What is true at last."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.01)
    return found
