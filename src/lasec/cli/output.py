"""What is printed for people, and what for scripts."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec

import typer
from rich.table import Table
from rich.text import Text

from lasec.cli.terminal import Terminal, clean, one_line
from lasec.errors import StateError, TableError, TicketError
from lasec.metrics import Estimate
from lasec.metrics.agreement import by_chance, is_better
from lasec.notebook import counted, percent
from lasec.tables import Table as Source

REFUSED, WRONG, STOPPED = 1, 2, 130
CLEARLY = 0.02  # the least difference in accuracy that is worth a warning
P = ParamSpec("P")


def screen() -> Terminal:
    """Standard output as people read it: plain text where it is no terminal."""
    there = sys.stdout.isatty()
    return Terminal(highlight=False, soft_wrap=not there, width=None if there else 200)


def put_facts(facts: Iterable[tuple[str, str]], title: str = "", width: int = 20) -> None:
    """Print names and values for people, in two columns; long values are wrapped on a terminal."""
    console = screen()
    if title:
        console.print(title, style="bold", markup=False)
    if not console.is_terminal:
        for name, value in facts:
            console.print(f"{name:<{width - 1}} {value}", markup=False)
        return
    grid = Table.grid()
    grid.add_column(no_wrap=True, min_width=width)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(name), Text(one_line(value)))
    console.print(grid)


def say(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(one_line(text) + "\n")


def say_if_typed(file: str, what: str) -> None:
    """Say what is expected where standard input is a terminal, which would wait in silence."""
    if file == "-" and sys.stdin.isatty():
        say(f"lasec: reading {what} from the terminal; end with Ctrl-D")


def put(data: object) -> None:
    """Print a value as one line of JSON."""
    put_lines([as_line(data)])


def as_line(data: object) -> str:
    """A value as one line of JSON in ASCII, which any terminal and file can hold."""
    return json.dumps(plain(data)).replace("\x7f", "\\u007f") + "\n"


def as_text(data: object) -> bytes:
    """A value as the contents of a JSON file."""
    return (json.dumps(plain(data), indent=1) + "\n").encode()


def put_lines(lines: Iterable[str]) -> None:
    """Print lines for scripts."""
    sys.stdout.writelines(map(clean, lines))
    sys.stdout.flush()


def plain(value: object) -> object:
    """The value as JSON allows it: null in place of NaN and infinity.

    >>> plain({"accuracy": math.nan, "rows": 3})
    {'accuracy': None, 'rows': 3}
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def few(names: Sequence[str], most: int = 12) -> str:
    """The first of some names.

    >>> few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(name[:80] for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def as_facts(estimate: Estimate) -> dict[str, float]:
    """An estimate with its 95 % confidence interval, for scripts.

    Where answers are lost, also how many, and the worst case.

    >>> lossy = Estimate(0.9, 0.88, 0.92, 1_000, 90, 1_000, lost=10, below=0.1, above=0.08)
    >>> sorted(as_facts(lossy))
    ['high', 'lost', 'low', 'value', 'worst_high', 'worst_low']
    """
    found = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    if not estimate.lost:
        return found
    ends = {"worst_low": estimate.worst_low, "worst_high": estimate.worst_high}
    return found | {"lost": estimate.lost} | ends


def warn_of_no_change(
    persistence: float, shares: Sequence[float], accuracy: float, labels: int
) -> None:
    """Warn where the labels are autocorrelated and the previous one is the better prediction."""
    if is_better(persistence, shares, accuracy, labels):
        say(
            f"lasec: warning: the no-change baseline ({percent(persistence)}) beats this model "
            f"({percent(accuracy)}): labels are autocorrelated (chance agreement "
            f"{percent(by_chance(shares))}). If every true label arrives before the next row, "
            "predict the previous label in place of a model"
        )


def warn_of_majority(majority: float, accuracy: float) -> None:
    """Warn where always predicting the majority class is clearly better."""
    if majority > accuracy + CLEARLY:
        say(
            f"lasec: warning: the majority-class baseline ({percent(majority)}) beats this model "
            f"({percent(accuracy)}): raise --rate, or check how the columns are read"
        )


def warn_of_cells(table: Source) -> None:
    """Warn of cells that could not be read."""
    for name, bad in table.bad.found.items():
        say(
            f"lasec: warning: column {name[:80]!r}: {counted(bad.cells, 'cell')} not numeric, read "
            f"as missing, first {bad.example!r} in row {bad.row:,}; if these are categories, use "
            f"--category {name[:80]}"
        )


def honest(command: Callable[P, None]) -> Callable[P, None]:
    """A command that reports errors which a user can fix in one line, with exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:
            _leave_pipe()
        except MemoryError as error:
            say(f"lasec: out of memory: ignore some columns ({error})")
            raise typer.Exit(WRONG) from None
        except (TableError, StateError, TicketError, OSError, ValueError) as error:
            say(f"lasec: {_words(error)}")
            raise typer.Exit(WRONG) from None

    return run


def guarded(app: Callable[..., Any]) -> int:
    """Run the command line and return its exit code; messages of typer and Python are cleaned."""
    warnings.showwarning = lambda message, *_, **__: say(f"lasec: warning: {message}")
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        return STOPPED
    except Exception as error:
        if not hasattr(error, "show"):  # typer has click's own errors, or its copy of them
            raise
        shown = io.StringIO()
        error.show(shown)
        if not shown.getvalue().strip():  # the help, which has been printed
            return 0
        sys.stderr.write(clean(shown.getvalue()))
        return int(getattr(error, "exit_code", WRONG))
    return code if isinstance(code, int) else 0


def _words(error: Exception) -> str:
    """The message of an error, which begins with the file's name where there is one."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error)


def _leave_pipe() -> None:
    """The reader of standard output has gone: end quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(0)
