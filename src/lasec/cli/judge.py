"""A judge that is a command: it reads a row as a line of JSON, and writes its answer as one."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from lasec.cli.output import say
from lasec.errors import TableError

PATIENCE = 60.0  # seconds until there is no answer
Answer = tuple[Any, float | None]
NONE: Answer = None, None


class Judge:
    """A process that stays open, and is started again when it has ended or takes too long.

    >>> judge = Judge('''sed -u 's/.*/{"label": "spam", "confidence": 0.8}/' ''')
    >>> judge({"text": "win a prize"}), judge.silent
    (('spam', 0.8), 0)
    >>> judge.close()
    """

    def __init__(self, command: str, patience: float = PATIENCE) -> None:
        self._command, self._patience = command, patience
        self.silent = 0  # rows without an answer
        self._heard = False  # whether it has ever given one
        self._start()

    def _start(self) -> None:
        try:
            words = shlex.split(self._command)
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        except (OSError, ValueError, IndexError) as error:
            raise TableError(f"command={self._command}: cannot be started: {error}") from None
        self._fresh, self._lines = True, queue.Queue[str]()
        given = self._process.stdout, self._lines
        threading.Thread(target=_read, args=given, daemon=True).start()

    def __call__(self, row: Mapping[str, Any]) -> Answer:
        """What it says of a row, and how sure it is; without an answer, None.

        Lines before the first answer of a process are passed over, such as a greeting.
        """
        if self._process.poll() is not None:
            self._start()
        until = time.monotonic() + self._patience
        said = line = self._line(row, until)
        while not (found := _answer(line)) and line and self._fresh:
            line = self._next(until)
        if found:
            self._fresh, self._heard = False, True
            return found
        self.close()  # what it writes later would be taken for the next row's answer
        if said and not self._heard:
            raise TableError(
                f"command={self._command}: {said.strip()[:60]!r} is no answer: "
                'expected a line such as {"label": "spam", "confidence": 0.8}'
            )
        self.silent += 1
        return NONE

    def _line(self, row: Mapping[str, Any], until: float) -> str:
        """The line that a process writes after a row; empty where there is none."""
        late = threading.Timer(self._patience, self._process.kill)  # also where it does not read
        late.start()
        try:
            while not (self._fresh or self._lines.empty()):  # a second answer to the row before
                self._lines.get()
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(row, default=str) + "\n")
            self._process.stdin.flush()
            return self._next(until)
        except OSError:
            return ""
        finally:
            late.cancel()

    def _next(self, until: float) -> str:
        with suppress(queue.Empty):
            return self._lines.get(timeout=max(0.0, until - time.monotonic()))
        return ""

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                assert pipe is not None
                pipe.close()


def _read(lines: IO[str], into: queue.Queue[str]) -> None:
    """Hand over what a process writes, and an empty line where it ends."""
    with suppress(OSError, ValueError):
        for line in lines:
            into.put(line)
    into.put("")


def _answer(line: str) -> Answer | None:
    """The answer that a line is, if it is one."""
    try:
        found = json.loads(line)
        label, sure = found["label"], found.get("confidence")
        sound = isinstance(label, str | int) and (sure is None or 0.0 <= sure <= 1.0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (label, sure) if sound else None


@contextmanager
def called(command: str | None) -> Iterator[Judge | None]:
    """A judge as long as it is needed, where there is one; how often it had no answer is said."""
    if command is None:
        yield None
        return
    judge = Judge(command)
    try:
        yield judge
    finally:
        judge.close()
        if judge.silent:
            say(f"lasec: warning: no answer of the judge to {judge.silent:,} rows")
