"""The server itself: it listens at once, and is ready when the models are read and compiled."""

from __future__ import annotations

import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lasec.service.app import application
from lasec.service.service import Service

LARGEST_HEAD = 64 * 2**10  # bytes of a request before its body


class Bounded(HttpToolsProtocol):
    """Ends a connection whose headers do not come to an end."""

    _head = -1  # bytes of headers so far; -1 where none are open

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        """Only its body is left."""
        super().on_headers_complete()
        self._head = -1

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request."""
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")


class Server(uvicorn.Server):
    """A server that reads the models of its service while it listens already."""

    def __init__(self, service: Service, **options: Any) -> None:
        app = application(service, manage=False)
        super().__init__(
            uvicorn.Config(
                app,
                http=Bounded,
                log_level="warning",
                access_log=False,
                server_header=False,
                **options,
            )
        )
        self.service = service
        self.error: BaseException | None = None

    def run(self, *given: Any, **more: Any) -> None:
        """Listen until a signal comes; raise what kept the models from being read."""
        threading.Thread(target=self._load, name="lasec models", daemon=True).start()
        super().run(*given, **more)
        if self.error is not None:
            raise self.error

    def _load(self) -> None:
        try:
            self.service.load()
        except BaseException as error:  # it is raised where the server ends
            self.error, self.should_exit = error, True
