"""The command line: ``python -m benchmarks kernel --json FILE``."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import scipy
import typer
from rich.console import Console
from rich.table import Table

import lasec
from benchmarks import (
    command,
    figures,
    growth,
    kernel,
    peers,
    revisions,
    spark,
    startup,
    tracker,
    visitor,
)

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)

Json = Annotated[Path | None, typer.Option("--json", help="File to write the rows to.")]
Quick = Annotated[bool, typer.Option(help="Fewer runs, fewer rows: to try it out.")]
Measure = Callable[[bool], Iterator[dict[str, Any]]]

MEASURES: dict[str, Measure] = {
    "kernel": kernel.table,
    "peers": peers.table,
    "growth": growth.table,
    "startup": startup.table,
    "tracker": tracker.table,
    "cli": command.table,
    "spark": spark.table,
    "visitor": visitor.table,
}
HELP = {
    "kernel": "Run against the bare product X @ C and the paper's pseudocode.",
    "peers": "Against River, Vowpal Wabbit, scikit-activeml and CapyMOA, where installed.",
    "growth": "Time per round as d, T and the number of models grow.",
    "startup": "Import, first ask and first run of a new process.",
    "tracker": "The Tracker against LASEC-SS at the same share of labels.",
    "spark": "The job on Spark against the engine run bare, and its growth.",
    "cli": "lasec run on a long file, against pyarrow that only reads it: time and memory.",
    "visitor": "The README in a clean environment: install, first result, report.",
}


def measured(name: str, path: Path | None, quick: bool) -> None:
    """Measure, print a row as soon as it is there, write all of them."""
    console, rows, started = Console(), list[dict[str, Any]](), time.perf_counter()
    for row in MEASURES[name](quick):
        rows.append(row)
        console.print("  ".join(f"[dim]{key}[/] {_text(value)}" for key, value in row.items()))
        if path is not None:  # what is measured is kept, whatever comes later
            path.parent.mkdir(parents=True, exist_ok=True)
            about = _about(name, quick, time.perf_counter() - started)
            path.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    _print(console, name, rows)


def _about(name: str, quick: bool, seconds: float) -> dict[str, Any]:
    """What was measured, and with what."""
    return {
        "benchmark": name,
        "quick": quick,
        "seconds": round(seconds, 1),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "lasec": lasec.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def _command(name: str) -> Callable[[Path | None, bool], None]:
    def command(path: Json = None, quick: Quick = False) -> None:
        measured(name, path, quick)

    return command


for _name, _help in HELP.items():
    app.command(_name, help=_help)(_command(_name))


@app.command()
def draw(
    folder: Annotated[Path, typer.Argument(help="Where the JSON files are, and pictures go.")],
) -> None:
    """Draw the pictures and write the tables of the docs from the JSON files."""
    figures.draw(folder)


@app.command()
def compare(
    old: Annotated[str, typer.Argument(help="A revision, such as main or v0.1.0.")],
    new: Annotated[str, typer.Option(help="Another one; this checkout by default.")] = "",
    runs: Annotated[int, typer.Option(min=1, help="Processes for each revision.")] = 5,
    only: Annotated[str, typer.Option(help="Workloads whose name contains this.")] = "",
) -> None:
    """Compare the CPU time of two revisions; a ratio above 1 means that the new one is slower."""
    rows = list(revisions.compare(old, new, runs, revisions.chosen(only)))
    _print(Console(), f"{new or 'this checkout'} against {old}", rows)


def _print(console: Console, name: str, rows: list[dict[str, Any]]) -> None:
    """All rows as one table."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(*names, title=name)
    for row in rows:
        table.add_row(*(_text(row.get(key)) for key in names))
    console.print(table)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    app()
