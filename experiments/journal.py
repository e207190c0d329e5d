"""A sweep that can be stopped at any moment: every finished task is a line of a file.

A task is a function of this package and its arguments, which are plain JSON, as is its result. What
the journal holds is not run again. Tasks are independent of each other, so they are spread over
processes; over machines, each would take a share of the runs, and the journals would be joined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Task = tuple[Callable[..., Any], tuple[Any, ...]]


class Journal:
    """Results by task, kept in ``path``; missing ones are run in ``jobs`` processes.

    Used as a context, so that the processes, each of which compiles once, end with it.
    """

    def __init__(self, path: Path, jobs: int) -> None:
        self.path = path
        self.ran = 0
        self._results: dict[str, Any] = {}
        self._pool = ProcessPoolExecutor(jobs) if jobs > 1 else None
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ""
        self._torn = not text.endswith("\n") and text != ""
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # the last line of a run that was killed while it wrote
                continue
            self._results[entry["task"]] = entry["result"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if kind is KeyboardInterrupt:
            Console(stderr=True).print("stopped: the same command goes on from here")

    def run(self, title: str, tasks: Sequence[Task]) -> list[Any]:
        """The results of the tasks, in their order; only those that are missing are run."""
        missing = {key: task for task in tasks if (key := _key(task)) not in self._results}
        if missing:
            with _progress() as bar, open(self.path, "a") as file:
                if self._torn:
                    file.write("\n")
                    self._torn = False
                item = bar.add_task(title, total=len(missing))
                for key, result in self._finished(missing):
                    self._results[key] = result
                    self.ran += 1
                    file.write(json.dumps({"task": key, "result": result}) + "\n")
                    file.flush()
                    bar.advance(item)
        return [self._results[_key(task)] for task in tasks]

    def _finished(self, tasks: dict[str, Task]) -> Iterator[tuple[str, Any]]:
        """Keys and results, as they come."""
        if self._pool is None:
            for key, (function, arguments) in tasks.items():
                yield key, function(*arguments)
            return
        futures = {self._pool.submit(f, *given): key for key, (f, given) in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _key(task: Task) -> str:
    function, arguments = task
    return f"{function.__name__}{json.dumps(arguments, sort_keys=True)}"


def _progress() -> Progress:
    """A bar with the time left on a terminal; nothing that would clutter a file elsewhere."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
