"""Webhooks as hints: they say that it is time to look, and what they say is not read."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


class Hints:
    """Something to wait on: until a hint has come, or for so many seconds.

    Parameters
    ----------
    every
        Polling interval in seconds, without a hint.
    after
        Seconds to wait after a hint, so that the change that it announces is old enough.
    port, host
        Where POST requests are taken as hints; without a port, there are none (0 is any free one).

    >>> hints = Hints(every=0.01)
    >>> hints.wait()
    >>> hints.close()
    """

    def __init__(
        self, every: float, after: float = 0.0, port: int | None = None, host: str = "127.0.0.1"
    ) -> None:
        self._every, self._after, self._event = every, after, Event()
        self._server = None if port is None else _server(host, port, self._event)
        self.port = port
        if self._server is not None:
            self.port = self._server.server_address[1]
            Thread(target=self._server.serve_forever, name="lasec hints", daemon=True).start()

    def wait(self) -> None:
        """Wait until it is time to look."""
        if self._event.wait(self._every):
            self._event.clear()
            time.sleep(min(self._after, self._every))

    def close(self) -> None:
        """Take no more hints."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _server(host: str, port: int, event: Event) -> ThreadingHTTPServer:
    """A server that takes every POST request for a hint."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 5.0

        def do_POST(self) -> None:
            event.set()
            self.send_response(204)
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    return ThreadingHTTPServer((host, port), Handler)
