"""What is printed for people, and what for scripts."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ParamSpec

import typer
from rich.table import Table
from rich.text import Text

from lasec.cli.terminal import Terminal, clean, one_line
from lasec.errors import StateError, TableError, TicketError
from lasec.evaluation import RunSummary
from lasec.metrics import Estimate
from lasec.metrics.agreement import by_chance, is_better
from lasec.notebook import counted
from lasec.tables import Table as Source

REFUSED, WRONG, STOPPED = 1, 2, 130
NARROW = 0.002  # an interval that needs another digit
CLEARLY = 0.02  # the least difference in accuracy that is worth a warning
RARE = 3  # rare classes in a terminal
Facts = Iterator[tuple[str, str]]
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


def put(data: Any) -> None:
    """Print a value as one line of JSON."""
    put_lines([as_line(data)])


def as_line(data: Any) -> str:
    """A value as one line of JSON in ASCII, which any terminal and file can hold."""
    return json.dumps(plain(data)).replace("\x7f", "\\u007f") + "\n"


def as_text(data: Any) -> bytes:
    """A value as the contents of a JSON file."""
    return (json.dumps(plain(data), indent=1) + "\n").encode()


def put_lines(lines: Iterable[str]) -> None:
    """Print lines for scripts."""
    sys.stdout.writelines(map(clean, lines))
    sys.stdout.flush()


def plain(value: Any) -> Any:
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


def percent(value: float) -> str:
    """A share as a percentage.

    >>> percent(0.8768), percent(math.nan)
    ('87.7 %', '-')
    """
    return "-" if math.isnan(value) else f"{max(100 * value, 0.0):.1f} %"


def few(names: Sequence[str], most: int = 12) -> str:
    """The first of some names.

    >>> few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(name[:80] for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def interval(estimate: Estimate) -> str:
    """An estimate with its 95 % confidence interval, for a table with a column of labels.

    >>> interval(Estimate(0.9, 0.88, 0.92, rows=1_000, labels=100, until=1_000))
    '90.0 % (88.0 to 92.0)'
    >>> interval(Estimate(0.9, 0.6, 1.0, rows=1_000, labels=20, until=1_000))
    'needs about 60 more labels'
    """
    if estimate.missing:
        return f"needs about {counted(estimate.missing, 'more label')}"
    return f"{percent(estimate.value)} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def estimated(estimate: Estimate, *, share: bool = True) -> str:
    """An estimate with its 95 % confidence interval and the number of labels behind it.

    >>> estimated(Estimate(0.9, 0.88, 0.92, rows=1_000, labels=100, until=1_000))
    '90.0 % (95 % CI 88.0-92.0 %, 100 labels)'
    >>> estimated(Estimate(0.9982, 0.9978, 0.9986, rows=100_000, labels=50_000, until=100_000))
    '99.82 % (95 % CI 99.78-99.86 %, 50,000 labels)'
    >>> estimated(Estimate(0.9, 0.3, 1.0, rows=10, labels=3, until=10))
    'not known yet (3 labels; about 34 more for an interval of 20 points)'
    >>> estimated(Estimate(0.243, 0.221, 0.267, rows=1_000, labels=100, until=0), share=False)
    '0.243 (95 % CI 0.221-0.267, 100 labels)'
    """
    labels = counted(estimate.labels, "label")
    if estimate.missing:
        width = "20 points" if share else "0.2"
        return (
            f"not known yet ({labels}; about {estimate.missing:,} more for an interval of {width})"
        )
    digits = (1 if estimate.width > NARROW else 2) if share else 3
    scale, unit = (100, " %") if share else (1, "")
    value, low, high = (
        f"{scale * end:.{digits}f}" for end in (max(estimate.value, 0.0), *estimate[1:3])
    )
    return f"{value}{unit} (95 % CI {low}-{high}{unit}, {labels})"


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


def worst(estimate: Estimate) -> str:
    """What answers that never came can hide; nothing where all have come.

    >>> worst(Estimate(0.9, 0.88, 0.92, 1_000, 90, 1_000, lost=10, below=0.1, above=0.08))
    '78.0-100.0 % (10 labels queried and never came: all wrong, or all right)'
    """
    if not estimate.lost or math.isnan(estimate.value):
        return ""
    low, high = 100 * estimate.worst_low, 100 * estimate.worst_high
    gone = f"{counted(estimate.lost, 'label')} queried and never came"
    return f"{low:.1f}-{high:.1f} % ({gone}: all wrong, or all right)"


def available(run: RunSummary) -> str:
    """For how many rows there is a label, queried or not.

    >>> import lasec
    >>> available(lasec.evaluate(lasec.LASEC(1), [[1.0]] * 4, ["ham", None, None, None]))
    '1 label (25.0 % of rows)'
    """
    return f"{counted(run.known, 'label')} ({percent(run.known / max(run.rows, 1))} of rows)"


def rare_classes(run: RunSummary, *, known: bool) -> Facts:
    """Average precision, recall and precision of the rare classes: what is known, or the rest."""
    ranked = [metric for metric in run.score_metrics if metric == "average_precision"]
    for name in run.rare[:RARE]:
        place = run.classes.index(name)
        for metric in (*ranked, "recall", "precision"):
            words, rated = f"{metric.replace('_', ' ')} of {name}", run.rated(metric, place)
            if known == (rated[0].missing == 0 and not math.isnan(rated[0].value)):
                yield words[:40], _said(*rated)


def probabilities(run: RunSummary) -> Facts:
    """How good the predicted probabilities are, where there are any."""
    for metric, words in (("log_loss", "log-loss"), ("calibration_error", "calibration error")):
        if metric in run.score_metrics:
            yield words, _said(*run.rated(metric), share=metric != "log_loss")


def several_classes(run: RunSummary) -> Facts:
    """Metrics in which every class counts the same, where there are more than two."""
    if len(run.classes) > 2:
        for metric, words in (("balanced_accuracy", "balanced accuracy"), ("macro_f1", "macro F1")):
            yield words, _said(*run.rated(metric))


def _said(found: Estimate, truth: float, *, share: bool = True) -> str:
    """An estimate, or that it is none, and the truth."""
    said = "not defined yet" if math.isnan(found.value) else estimated(found, share=share)
    return f"{said}, true {percent(truth) if share or math.isnan(truth) else f'{truth:.3f}'}"


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
