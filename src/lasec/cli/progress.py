"""Progress on a terminal: share of the rows, rows per second, time left, estimated accuracy."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from lasec.cli.output import say
from lasec.cli.terminal import Terminal, one_line
from lasec.metrics import Estimate
from lasec.notebook import counted

EVERY, RARELY = 0.2, 60.0  # seconds between two updates of a bar; between two lines of a log
WIDE, SHORT = 130, 12  # columns of a terminal with room for all; characters of a title without


class Pace:
    """Rows per second, and seconds left, by what came after the first batch.

    The first batch is left out: modules are imported in it.

    >>> pace = Pace()
    >>> pace.at(5.0, rows=100, share=0.1)
    (nan, nan)
    >>> pace.at(7.0, rows=300, share=0.3)
    (100.0, 7.0)
    """

    def __init__(self) -> None:
        self._first: tuple[float, int, float] | None = None

    def at(self, now: float, rows: int, share: float) -> tuple[float, float]:
        """Rows per second and seconds left, each NaN while it is not known."""
        if self._first is None:
            self._first = now, rows, share
            return math.nan, math.nan
        began, before, done = self._first
        passed = max(now - began, 1e-9)
        left = (1.0 - share) * passed / (share - done) if share > done else math.nan
        return (rows - before) / passed, left


class Bar:
    """A progress bar; a line of text now and then where there is no terminal."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self._title, self._quiet = title, quiet
        self._progress: Progress | None = None
        self._task, self._wide, self._words = TaskID(0), True, "starting ..."
        self._pace, self._shown = Pace(), time.monotonic()

    def draw(self, progress: Progress, wide: bool, endless: bool) -> None:
        """Draw the bar from now on."""
        self._progress, self._wide, self._shown = progress, wide, 0.0
        title = one_line(self._title)
        title = title if wide or len(title) <= SHORT else f"{title[: SHORT - 1]}…"
        total = None if endless else 100.0
        self._task = progress.add_task(title, total=total, words=self._words)

    def due(self) -> bool:
        """Whether it is time for another update."""
        pause = RARELY if self._progress is None else EVERY
        return not self._quiet and time.monotonic() - self._shown > pause

    def show(self, share: float, rows: int, labels: int, estimate: Estimate) -> None:
        """Update the bar; ``rows`` are those of this process."""
        self._shown = time.monotonic()
        rate, left = self._pace.at(self._shown, rows, share)
        parts = [
            f"{100 * share:3.0f} %" if math.isfinite(share) else "",
            f"{rows:,} rows" if self._wide else "",
            f"{rate:,.0f} rows/s" if math.isfinite(rate) else "",
            f"{clock(left)} left" if math.isfinite(left) else "",
            counted(labels, "label") if self._wide else "",
            _accuracy(estimate, self._wide),
        ]
        self._words = "  ".join(filter(None, parts))
        if self._progress is None:
            say(f"lasec: {self._title}: {self._words}")
            return
        done = 100.0 * share if math.isfinite(share) else None
        self._progress.update(self._task, completed=done, words=self._words)


def clock(seconds: float) -> str:
    """A duration.

    >>> clock(7.2), clock(83), clock(4_000)
    ('0:08', '1:23', '1:06:40')
    """
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _accuracy(estimate: Estimate, wide: bool) -> str:
    """The estimated accuracy, and half of its interval."""
    if math.isnan(estimate.value):
        return ""
    half = 50 * (estimate.high - estimate.low)
    value = f"{100 * estimate.value:.1f} ± {half:.1f} %"
    return f"estimated accuracy {value}" if wide else f"est. acc. {value}"


@contextmanager
def bar(title: str, quiet: bool, endless: bool) -> Iterator[Bar]:
    """A progress bar on standard error for the time of a ``with``."""
    console, shown = Terminal(stderr=True), Bar(title, quiet)
    if quiet or not console.is_terminal:
        yield shown
        return
    wide = console.width >= WIDE
    columns = (
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(20 if wide else 5),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        shown.draw(progress, wide, endless)
        yield shown


@contextmanager
def busy(what: str, quiet: bool = False) -> Iterator[None]:
    """A moving line on a terminal while something takes its time."""
    console = Terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(one_line(what), spinner="line"):
        yield
