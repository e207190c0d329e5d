"""A sweep that can be stopped at any moment: every finished task is a line of a file.

A task is a function of this package and its arguments, which are plain JSON, as is its result. Each
line carries a digest of the code, grid and data behind the result (:mod:`experiments.digests`), the
commit, and the CPU time. A result is used again only under the same digest; what is stale is run
again, and said. Tasks are independent of each other, so they are spread over processes; over
machines, each would take a share of the runs, and the journals would be joined.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments import digests, progress

Task = tuple[Callable[..., Any], tuple[Any, ...]]
Key = tuple[str, str]  # the task as text, and the digest of what is behind it


class Entry(NamedTuple):
    """A finished task: the commit and the CPU seconds it was run with, and its result."""

    commit: str
    seconds: float
    result: Any


class Journal:
    """Results by task, kept in ``path``; missing ones are run in ``jobs`` processes.

    Used as a context, so that the processes, each of which compiles once, end with it.
    """

    def __init__(self, path: Path, jobs: int) -> None:
        self.path = path
        self.seconds = 0.0  # CPU time of all results given, found or run
        self._entries: dict[Key, Entry] = {}
        self._known: set[str] = set()
        self._pool = ProcessPoolExecutor(jobs) if jobs > 1 else None
        text = path.read_text() if path.exists() else ""
        self._torn = not text.endswith("\n") and text != ""
        for line in text.splitlines():
            try:
                found = json.loads(line)
            except ValueError:  # the last line of a run that was killed while it wrote
                continue
            self._known.add(found["task"])
            if "digest" in found:
                entry = Entry(found["commit"], found["seconds"], found["result"])
                self._entries[found["task"], found["digest"]] = entry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if kind is KeyboardInterrupt:
            Console(stderr=True).print("stopped: the same command goes on from here")

    def run(self, title: str, tasks: Sequence[Task]) -> list[Any]:
        """The results of the tasks, in their order; only those that are missing are run."""
        return [entry.result for entry in self.entries(title, tasks)]

    def entries(self, title: str, tasks: Sequence[Task]) -> list[Entry]:
        """The same, each with its commit and its CPU time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        keys = [_key(task) for task in tasks]
        missing = {k: t for k, t in zip(keys, tasks, strict=True) if k not in self._entries}
        stale = sum(text in self._known for text, _ in missing)
        if stale:
            say = Console(stderr=True, highlight=False, soft_wrap=True).print
            say(
                f"{title}: {stale} earlier results came from other code, grids or data; "
                "they are run again"
            )
        if missing:
            self._run(title, missing)
        found = [self._entries[key] for key in keys]
        self.seconds += sum(entry.seconds for entry in found)
        return found

    def _run(self, title: str, missing: dict[Key, Task]) -> None:
        began, done = time.monotonic(), 0

        def words() -> str:
            shown = progress.of_tasks(title, done, len(missing), time.monotonic() - began)
            return "" if sys.stderr.isatty() else shown  # where there is a bar

        with progress.doing(words), _progress() as bar, open(self.path, "a") as file:
            if self._torn:
                file.write("\n")
                self._torn = False
            item = bar.add_task(title, total=len(missing))
            for key, (result, seconds) in self._finished(missing):
                entry = Entry(digests.commit(), round(seconds, 3), result)
                self._entries[key] = entry
                line = {"task": key[0], "digest": key[1]} | entry._asdict()
                file.write(json.dumps(line) + "\n")
                file.flush()
                done += 1
                bar.advance(item)

    def _finished(self, tasks: dict[Key, Task]) -> Iterator[tuple[Key, tuple[Any, float]]]:
        """Keys, results and CPU times, as they come."""
        if self._pool is None:
            for key, (function, arguments) in tasks.items():
                yield key, _timed(function, arguments)
            return
        futures = {self._pool.submit(_timed, *task): key for key, task in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    started = time.process_time()
    return function(*arguments), time.process_time() - started


def _key(task: Task) -> Key:
    function, arguments = task
    text = f"{function.__name__}{json.dumps(arguments, sort_keys=True)}"
    return text, digests.digest(function, arguments)


def _progress() -> Progress:
    """A bar with the time left on a terminal; elsewhere :mod:`experiments.progress` has lines."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not sys.stderr.isatty(),  # a notebook passes for a terminal
    )
