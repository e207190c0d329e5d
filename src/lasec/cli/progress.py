"""The progress of a run, on a terminal: rows, rows a second, labels, accuracy."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from lasec.cli.terminal import Terminal, one_line
from lasec.metrics import Estimate

EVERY = 0.2  # seconds between two looks
WIDE, SHORT = 110, 14  # a terminal with room for words, and a title where there is none


class Bar:
    """A bar that is redrawn now and then; nothing where there is no terminal."""

    def __init__(self, progress: Progress | None, task: TaskID | None, wide: bool) -> None:
        self._progress, self._task, self._wide = progress, task, wide
        self._began = time.monotonic()
        self._shown = 0.0

    def due(self) -> bool:
        """Whether it is time for another look."""
        return self._progress is not None and time.monotonic() - self._shown > EVERY

    def show(self, share: float, rows: int, labels: int, estimate: Estimate) -> None:
        """How things stand; ``rows`` are those of this sitting."""
        if self._progress is None or self._task is None:
            return
        self._shown = time.monotonic()
        speed = rows / max(self._shown - self._began, 1e-9)
        self._progress.update(
            self._task,
            completed=100.0 * share if math.isfinite(share) else None,
            words=f"{rows:,} rows  {speed:,.0f}/s  {labels:,} labels  {self._right(estimate)}",
        )

    def _right(self, estimate: Estimate) -> str:
        word = "right " if self._wide else ""
        if math.isnan(estimate.value):
            return f"{word}-"
        half = 50 * (estimate.high - estimate.low)
        return f"{word}{100 * estimate.value:.1f} ± {half:.1f} %"


@contextmanager
def bar(title: str, quiet: bool, endless: bool) -> Iterator[Bar]:
    """A bar on standard error for the time of a ``with``, if that is a terminal."""
    console = Terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield Bar(None, None, False)
        return
    wide = console.width >= WIDE
    bar_and_words = BarColumn(20 if wide else 6), TextColumn("{task.fields[words]}", markup=False)
    columns = (TextColumn("{task.description}", markup=False), *bar_and_words)
    title = one_line(title)
    title = title if wide or len(title) <= SHORT else f"{title[: SHORT - 1]}…"
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None if endless else 100.0, words="")
        yield Bar(progress, task, wide)
