"""What is said to people, and what to scripts."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec

import typer

from lasec.alarms import Alarm
from lasec.cli.terminal import Terminal, clean, one_line
from lasec.errors import StateError, TableError, TicketError
from lasec.metrics import Estimate
from lasec.tables import Kind, Table, TableLearner

REFUSED, WRONG, STOPPED = 1, 2, 130
FEW = 10  # labels, below which an interval says nothing
P = ParamSpec("P")


def screen() -> Terminal:
    """The terminal that people read: plain text where it is none."""
    there = sys.stdout.isatty()
    return Terminal(highlight=False, soft_wrap=not there, width=None if there else 200)


def say(text: str) -> None:
    """A line beside the output: to standard error."""
    sys.stderr.write(one_line(text) + "\n")


def put(data: Any) -> None:
    """Something for scripts, as one line of JSON."""
    put_lines([as_line(data)])


def as_line(data: Any) -> str:
    """Something for scripts, as it is written: one line that any terminal and file can hold."""
    return json.dumps(plain(data)).replace("\x7f", "\\u007f") + "\n"


def as_text(data: Any) -> bytes:
    """Something for scripts, as a file that people may look at."""
    return (json.dumps(plain(data), indent=1) + "\n").encode()


def put_lines(lines: Iterable[str]) -> None:
    """Lines for scripts."""
    sys.stdout.writelines(map(clean, lines))
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """The value as JSON has it: no NaN, no infinity.

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


def percent(value: float) -> str:
    """A share, for people.

    >>> percent(0.8768), percent(math.nan)
    ('87.7 %', '-')
    """
    return "-" if math.isnan(value) else f"{max(100 * value, 0.0):.1f} %"


def interval(estimate: Estimate) -> str:
    """An estimate with its interval, for people.

    >>> interval(Estimate(0.9, 0.88, 0.92, rows=1_000, labels=100, until=1_000))
    '90.0 % (88.0 to 92.0)'
    """
    if math.isnan(estimate.value) or estimate.labels < FEW:
        return "too few labels to tell"
    return f"{percent(estimate.value)} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def as_facts(estimate: Estimate) -> dict[str, float]:
    """An estimate with its interval, for scripts."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def described(alarm: Alarm) -> str:
    """An alarm in a line.

    >>> described(Alarm("drop", 5_210, 1.3e5, 0.06, 0.41, 5_030))
    'drop in row 5,211: error rate 6.0 % before, 41.0 % since row 5,031'
    """
    what = "error rate" if alarm.kind == "drop" else "score"
    shown = percent if alarm.kind == "drop" else "{:.2f}".format
    return (
        f"{alarm.kind} in row {alarm.ticket + 1:,}: {what} {shown(alarm.before)} before, "
        f"{shown(alarm.after)} since row {alarm.since + 1:,}"
    )


def warn_of_no_change(persistence: float, majority: float, accuracy: float) -> None:
    """Say so where the previous label, were it known, is the better prediction."""
    if persistence > accuracy:
        by_chance = majority**2 + (1.0 - majority) ** 2
        why = ": labels are autocorrelated" if persistence > by_chance + 0.01 else ""
        say(
            f"lasec: warning: the no-change baseline ({percent(persistence)}) beats this model "
            f"({percent(accuracy)}){why}"
        )


def warn_of_cells(table: Table) -> None:
    """Say which cells of a table could not be read."""
    for name, bad in table.bad.found.items():
        cells = "1 cell that is" if bad.cells == 1 else f"{bad.cells:,} cells that are"
        say(
            f"lasec: warning: column {name[:80]!r} has {cells} not readable, taken as missing; the "
            f"first is {bad.example!r} in row {bad.row:,} (--category reads the column as "
            "categories)"
        )


def columns(desk: TableLearner) -> str:
    """How many columns of which kind there are, and what becomes of them."""
    counts = Counter(column.kind for column in desk.encoder.columns)
    words = [f"{n} {_NAMES[kind][n > 1]}" for kind, n in counts.items()]
    return f"{', '.join(words)}; {desk.learner.dimension} features"


def honest(command: Callable[P, None]) -> Callable[P, None]:
    """Errors that a user can mend are said in one line, with exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:
            _leave_pipe()
        except MemoryError as error:
            say(f"lasec: out of memory: use fewer columns or fewer --hash-buckets ({error})")
            raise typer.Exit(WRONG) from None
        except (TableError, StateError, TicketError, OSError, ValueError) as error:
            say(f"lasec: {_words(error)}")
            raise typer.Exit(WRONG) from None

    return run


def guarded(app: Callable[..., Any]) -> int:
    """Run the command line, and give its exit code; what typer and Python say is cleaned, too."""
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
        sys.stderr.write(clean(shown.getvalue()))
        return int(getattr(error, "exit_code", WRONG))
    return code if isinstance(code, int) else 0


def _words(error: Exception) -> str:
    """An error in a line; a file's name comes first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error)


def _leave_pipe() -> None:
    """Whoever read the output has gone: nothing more to say."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(0)


_NAMES = {
    Kind.NUMBER: ("number", "numbers"),
    Kind.CATEGORY: ("category", "categories"),
    Kind.TEXT: ("text", "texts"),
    Kind.PAIRS: ("set of pairs", "sets of pairs"),
    Kind.IGNORED: ("not read", "not read"),
}
