"""Programs in processes of their own, which are ended, killed and started again."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 600.0  # seconds until a program is ready


class Process:
    """A program with a log; ``health`` is an address that replies 200 when it is ready, if any."""

    def __init__(self, words: list[Any], log: Path, health: str = "", **variables: str) -> None:
        self._words, self.log, self._health = [str(word) for word in words], log, health
        self._environment = os.environ | {"PYTHONUNBUFFERED": "1"} | variables
        self.kills = 0
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                self._words, stdout=log, stderr=log, env=self._environment
            )
        until = time.monotonic() + PATIENCE
        while self._health and not answers(self._health):
            if self.process.poll() is not None or time.monotonic() > until:
                self.end(signal.SIGKILL)
                raise RuntimeError(self.log.read_text()[-2_000:])
            time.sleep(0.05)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, as an operator does; with SIGKILL, as a crash does. Gives its exit status."""
        self.process.send_signal(how)
        return self.process.wait(60.0)

    def again(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, and start it again."""
        self.end(how)
        self.kills += 1
        self.start()


def answers(url: str) -> bool:
    """Whether a server replies 200."""
    with contextlib.suppress(httpx.HTTPError):
        found = httpx.get(url, timeout=5.0, trust_env=False, verify=False)  # noqa: S501
        return found.status_code == 200
    return False


def lasec(*words: Any) -> list[Any]:
    """The words of a command of lasec."""
    return [sys.executable, "-m", "lasec.cli", *words]


def serve(store: str, port: int, log: Path) -> Process:
    """A server as people start it."""
    words = lasec("serve", "--store", store, "--port", port)
    return Process(words, log, f"http://127.0.0.1:{port}/readyz")


def owner_key(log: Path) -> str:
    """The owner's key, which a server prints at its first start."""
    found: list[str] = re.findall(r"lasec_[-\w]+", log.read_text())
    return found[0]
