"""``lasec ask`` and ``lasec tell``: lines of JSON in, lines of JSON out, one model between them.

Both can run at the same time, in one pipe or on two days: each takes the lines that have come,
locks the model's file, reads it, does its part, writes it, and only then says what it did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from filelock import FileLock

from lasec.cli import options as o
from lasec.cli.lines import line
from lasec.cli.opening import learner
from lasec.cli.output import REFUSED, honest, put, say
from lasec.errors import TableError, TicketError
from lasec.tables import Encoder, TableLearner, recipe
from lasec.tables.cells import check_row, head_of, moments

MOST = 1_000  # lines that are taken at a time
Given = Annotated[str, typer.Argument(help="A file of JSON lines; - is standard input.")]


@honest
def ask(
    file: Given = "-",
    model: o.Model = Path("model.lasec"),
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="A column to repeat in the output.")
    ] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Write only the rows that are asked about.")
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option("--classes", help="Begin a new model: its classes, as in ham,spam."),
    ] = None,
    algorithm: o.Algorithm = "tracker",
    rate: o.Rate = 0.1,
    max_open: Annotated[
        int,
        typer.Option("--max-open", min=0, help="Ask less, the nearer to so many open questions."),
    ] = 0,
    labels_per_day: o.PerDay = None,
    time: o.Time = None,
    category: o.Category = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    width: o.Width = None,
    seed: o.Seed = 0,
) -> None:
    """Predict each line, and decide whether to ask for its label.

    A model that does not exist yet is begun with --classes; the other options are for that.
    """
    reading = o.Reading(
        time=time, category=tuple(category or ()), text=tuple(text or ()),
        ignore=tuple(ignore or ()), width=width,
    )  # fmt: skip
    asking = o.Asking(rate, labels_per_day, seed, max_open=max_open)

    def begin(rows: list[dict[str, Any]]) -> TableLearner:
        if classes is None:
            raise TableError(f"{model} does not exist: make it with lasec run, or give --classes")
        return _new(rows, [name.strip() for name in classes.split(",")], algorithm, reading, asking)

    def answer(desk: TableLearner, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        said = (
            entry | _kept(row, keep) for row, entry in zip(rows, _decided(desk, rows), strict=True)
        )
        return [entry for entry in said if entry.get("asked", True) or not questions]

    _serve(file, model, begin, answer)


@honest
def tell(file: Given = "-", model: o.Model = Path("model.lasec")) -> None:
    """Learn the answers: lines with a "ticket" and a "label"."""

    def begin(rows: list[dict[str, Any]]) -> TableLearner:
        raise TableError(f"{model} does not exist: nothing was asked yet")

    def answer(desk: TableLearner, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [_told(desk, row) for row in rows]

    _serve(file, model, begin, answer)


def _decided(desk: TableLearner, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A decision for each row, or what is wrong with it."""
    wrong = {i: text for i, row in enumerate(rows) if (text := _unreadable(desk, row))}
    X, clock = desk.read([row for i, row in enumerate(rows) if i not in wrong])
    read = iter(zip(X, clock, strict=True))
    said: list[dict[str, Any]] = []
    for i in range(len(rows)):
        try:
            said.append(
                {"error": wrong[i]} if i in wrong else line(desk.ask_read(*next(read)), desk)
            )
        except ValueError as error:
            said.append({"error": str(error)})
    return said


def _unreadable(desk: TableLearner, row: dict[str, Any]) -> str:
    """Why a row cannot be read; empty if it can."""
    try:
        check_row(row, desk.encoder.columns)
        if desk.time is not None:
            moments(pa.array([row.get(desk.time)]))
    except TableError as error:
        return str(error)
    return ""


def _told(desk: TableLearner, row: dict[str, Any]) -> dict[str, Any]:
    """What an answer did."""
    ticket, label = row.get("ticket"), row.get("label")
    try:
        if not isinstance(ticket, int) or isinstance(ticket, bool) or label is None:
            raise TableError('expected a whole number as "ticket", and a "label"')
        outcome = desk.tell(ticket, label)
    except (TableError, TicketError) as error:
        return {"ticket": ticket, "error": str(error)}
    return {
        "ticket": ticket, "label": desk.name(outcome.y), "correct": outcome.correct,
        "learned": outcome.updated, "settled": outcome.settled,
    }  # fmt: skip


def _kept(row: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    return {name: row.get(name) for name in names or ()}


def _new(
    rows: list[dict[str, Any]], classes: list[str], algorithm: str, reading: o.Reading,
    asking: o.Asking,
) -> TableLearner:  # fmt: skip
    """A new model, for rows such as these."""
    if len(classes) != 2:
        raise TableError(f"--classes: expected two, as in ham,spam, got {', '.join(classes)}")
    if not rows:
        raise TableError("the first lines hold no row: a model cannot be begun with them")
    head = head_of(rows, frozenset(reading.kinds))
    beside = frozenset(filter(None, [reading.time]))
    encoder = Encoder.fit(
        head, kinds=reading.kinds, left_out=beside, width=reading.width,
        constant=not recipe(algorithm).intercept,
    )  # fmt: skip
    made = learner(algorithm, encoder.dimension, reading, asking)
    return TableLearner(made, encoder, classes=classes, time=reading.time)


Answering = Callable[[TableLearner, list[dict[str, Any]]], list[dict[str, Any]]]


def _serve(
    file: str, model: Path, begin: Callable[[list[dict[str, Any]]], TableLearner], answer: Answering
) -> None:
    """Take lines as they come; the model is locked, read and written for each handful."""
    refused = 0
    for lines in _handfuls(file):
        rows, bad = _parsed(lines)
        with FileLock(f"{model}.lock"):
            desk = TableLearner.load(model) if model.exists() else begin(rows)
            said = answer(desk, rows)
            desk.save(model)
        for entry in [*said, *bad]:
            refused += "error" in entry
            put(entry)
    if refused:
        say(f"lasec: {refused} lines were refused")
        raise typer.Exit(REFUSED)


def _parsed(lines: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The lines as objects, and an error for each that is none."""
    rows: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    for text in lines:
        try:
            row = json.loads(text)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            bad.append({"error": f"not a JSON object: {text[:80].decode('utf-8', 'replace')}"})
    return rows, bad


def _handfuls(file: str) -> Iterator[list[bytes]]:
    """The lines that are there, up to ``MOST`` at a time: a slow pipe is answered line by line."""
    with open(sys.stdin.fileno() if file == "-" else file, "rb", buffering=0) as stream:
        rest = b""
        while piece := stream.read(1 << 20):
            *lines, rest = (rest + piece).split(b"\n")
            lines = [text for text in lines if text.strip()]
            for start in range(0, len(lines), MOST):
                yield lines[start : start + MOST]
    if rest.strip():
        yield [rest]
