"""The server itself: it listens at once, and is ready when the models are read."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lasec.service.app import application
from lasec.service.service import Service

LARGEST_HEAD = 64 * 2**10  # bytes of a request before its body
HEAD, BODY = 10.0, 60.0  # seconds in which the headers of a request have come, and its body
REPLY, LEAST = 60.0, 2**18  # seconds in which a client takes so many bytes of a reply, or all
SWITCH = 0.001  # seconds after which a thread lets another one go on
SELDOM = 1_000  # collections of younger garbage before one of all
MOST, SHARE = 1_000, 0.5  # connections at a time, and the part of the descriptors that they take


class Bounded(HttpToolsProtocol):
    """Ends a connection whose headers or body do not come to an end, or whose replies stay unread.

    Where too many connections are open, a new one takes the place of the oldest that has sent no
    whole request, so that those who send nothing keep nobody out.
    """

    _head = -1  # bytes of headers so far; -1 where none are open
    _end: asyncio.TimerHandle | None = None
    _waiting: dict[Bounded, None] = {}  # noqa: RUF012 - those without a whole request, oldest first
    most = MOST
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody connects."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # to be told of every byte that stays
        self._within(HEAD)
        self._waiting[self] = None
        if len(self.connections) > self.most:
            oldest = next(iter(self._waiting))
            oldest._too_slow()

    def connection_lost(self, exc: Exception | None) -> None:
        """A connection ends."""
        self._within(None)
        self._forget_unread()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Some of a reply stays here, because it is not read."""
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """All of it was read."""
        self._forget_unread()
        super().resume_writing()

    def _look_again(self, unread: int) -> None:
        self._unread = self.loop.call_later(REPLY, self._look, unread)

    def _look(self, before: int) -> None:
        """End the connection if less was read since the last look than a slow network carries."""
        unread = self.transport.get_write_buffer_size()
        if before - unread < LEAST:
            self.transport.abort()
        else:
            self._look_again(unread)

    def _forget_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        self._unread = None

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self._waiting[self] = None
        self._within(HEAD)

    def on_headers_complete(self) -> None:
        """Only its body is left."""
        super().on_headers_complete()
        self._head = -1
        self._within(BODY)

    def on_message_complete(self) -> None:
        """A request has come; the reply may take as long as it takes."""
        self._within(None)
        self._waiting.pop(self, None)
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request."""
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")

    def _within(self, seconds: float | None) -> None:
        """End the connection after so many seconds, unless there is something else by then."""
        if self._end is not None:
            self._end.cancel()
        self._end = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._waiting.pop(self, None)
        self.transport.abort()


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
        Bounded.most = _connections()

    def run(self, *given: Any, **more: Any) -> None:
        """Listen until a signal comes; raise what kept the models from being read.

        uvicorn raises the signal again when it has ended: then the service still has to stop.
        """
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda number, frame: None)
        sys.setswitchinterval(SWITCH)
        threading.Thread(target=self._load, name="lasec models", daemon=True).start()
        super().run(*given, **more)
        if self.error is not None:
            raise self.error

    def _load(self) -> None:
        try:
            self.service.load()
            _seldom_collect()
        except BaseException as error:  # it is raised where the server ends
            self.error, self.should_exit = error, True


def _seldom_collect() -> None:
    """Let whole collections of garbage be rare: each looks at all open questions, in 0.1 s."""
    gc.freeze()
    young, old, _ = gc.get_threshold()
    gc.set_threshold(young, old, SELDOM)


def _connections() -> int:
    """The number of connections at a time: stores and files need descriptors too."""
    with suppress(ImportError):  # not on Windows
        import resource  # noqa: PLC0415

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return MOST if most == resource.RLIM_INFINITY else min(MOST, int(SHARE * most))
    return MOST
