"""``lasec ask`` and ``lasec tell``: JSON lines in, JSON lines out, one model file between them.

Both can run at the same time: each takes the lines that have arrived, locks the model file, reads
it, does its part, writes it, and only then prints the results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lasec.cli import columns
from lasec.cli import options as o
from lasec.cli.inputs import REMEMBER, check_ngrams, learner, model_file
from lasec.cli.lock import held
from lasec.cli.output import (
    REFUSED,
    as_line,
    counted,
    described,
    honest,
    put_lines,
    say,
    say_if_typed,
)
from lasec.cli.progress import compiling
from lasec.clock import LEAD
from lasec.errors import TableError, TicketError
from lasec.handover.forms import Form, answers, as_csv, as_tasks
from lasec.persistence.container import read
from lasec.registry import find
from lasec.session import Note
from lasec.tables import Encoder, TableLearner
from lasec.tables.cells import as_label, head_of
from lasec.tables.lines import Decided, decided, line, predicted, told
from lasec.tables.objects import DEEPEST, too_deep
from lasec.tables.usual import WORDS, detectors

MOST = 1_000  # lines at a time
Row = dict[str, Any]
Answering = Callable[[TableLearner, list[Row]], Sequence[Row | None]]
Given = Annotated[
    str, typer.Argument(metavar="FILE", help="JSON lines file, or - for standard input.")
]
NEW = "Options for a new model"


@honest
def ask(
    file: Given = "-",
    model: o.Model = Path("model.lasec"),
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COLUMN", help="Repeat a column in the output, an id for example."
        ),
    ] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Print only the rows whose label is queried.")
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="CLASS,CLASS,...",
            help="Create the model, with these classes, such as ham,spam; others may follow.",
            rich_help_panel=NEW,
        ),
    ] = None,
    id: Annotated[  # noqa: A002
        str,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column that names a row: lasec tell takes its value in place of a ticket.",
            rich_help_panel=NEW,
        ),
    ] = "id",
    remember: Annotated[
        int,
        typer.Option(
            "--remember",
            metavar="N",
            min=0,
            help="Keep the last N rows with an id, for labels that nobody asked for.",
            rich_help_panel=NEW,
        ),
    ] = REMEMBER,
    label: Annotated[
        str,
        typer.Option(
            "--label",
            "-l",
            metavar="COLUMN",
            help="Column to ignore because it holds labels.",
            rich_help_panel=NEW,
        ),
    ] = "label",
    algorithm: o.Algorithm = "tracker",
    rate: o.Rate = 0.1,
    audit: o.Audit = None,
    class_weight: o.ClassWeight = None,
    max_open: Annotated[
        int,
        typer.Option(
            "--max-open",
            metavar="N",
            min=0,
            help="Query less as the number of open questions nears this; 0 is no limit.",
            rich_help_panel=o.BUDGET,
        ),
    ] = 0,
    annotators: Annotated[
        int,
        typer.Option(
            "--annotators",
            metavar="N",
            min=1,
            help="Wait for so many answers to a question, and learn their majority.",
            rich_help_panel=NEW,
        ),
    ] = 1,
    alarms: o.Alarms = False,
    labels_per_day: o.PerDay = None,
    time: o.Time = None,
    category: o.Category = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    hash_buckets: o.HashBuckets = None,
    ngrams: o.NGrams = None,
    seed: o.Seed = None,
    max_age: o.MaxAge = None,
    lead: o.Lead = LEAD,
) -> None:
    """Predict each row, and decide whether to query its label.

    Rows are JSON lines; so is the output, with "ticket", "prediction" (null before the first
    label), "probability" of each class, "query_probability" and "asked". Give the true labels of
    asked rows to "lasec tell". If the model does not exist, --classes creates it, and the first
    rows decide how columns are read; options on budget, columns and algorithm apply to a new model
    only.
    """
    reading = o.Reading(
        label=label, time=time, category=tuple(category or ()), text=tuple(text or ()),
        ignore=tuple(ignore or ()), hash_buckets=hash_buckets, ngrams=ngrams,
    )  # fmt: skip
    asking = o.Asking(
        rate, labels_per_day, seed, max_open=max_open, max_age=max_age, lead=lead,
        annotators=annotators, audit=audit, class_weight=class_weight,
    )  # fmt: skip

    def begin(rows: list[Row]) -> TableLearner:
        if classes is None:
            raise TableError(
                f"{model} does not exist: create it with --classes (such as ham,spam) or lasec run"
            )
        named = [name.strip() for name in classes.split(",")]
        return _new(rows, named, algorithm, reading, asking, alarms, id, remember)

    def answer(desk: TableLearner, rows: list[Row]) -> list[Row | None]:
        said = zip(rows, map(_entry, decided(desk, rows)), strict=True)
        return [
            entry | _kept(desk, entry, {name: row.get(name) for name in keep or ()})
            if entry.get("asked", True) or not questions
            else None
            for row, entry in said
        ]

    _serve(file, model, begin, answer)


def _kept(desk: TableLearner, entry: Row, cells: Row) -> Row:
    """The cells to repeat, which are stored with a question for ``lasec questions``."""
    if cells and entry.get("asked"):
        desk.keep(entry["ticket"], cells)
    return cells


@honest
def predict(file: Given = "-", model: o.Model = Path("model.lasec")) -> None:
    """Predict each row without querying; the model file is not changed."""

    def begin(rows: list[Row]) -> TableLearner:
        raise TableError(f"{model} does not exist: create it with lasec run or lasec ask")

    _serve(file, model, begin, predicted, save=False)


@honest
def tell(
    file: Given = "-",
    model: o.Model = Path("model.lasec"),
    form: Annotated[
        Form,
        typer.Option("--format", help="JSON lines, a CSV table, or an export of Label Studio."),
    ] = Form.LINES,
) -> None:
    """Learn labels: JSON lines with "ticket" or "id", "label", and optionally "by" (who answered).

    Labels that nobody asked for, such as a chargeback, come by "id" (of the last rows: see
    --remember) or with the columns of the row: they are learned, and no part of any estimate.
    """

    def begin(rows: list[Row]) -> TableLearner:
        raise TableError(f"{model} does not exist: create it with lasec run or lasec ask")

    def answer(desk: TableLearner, rows: list[Row]) -> list[Row | None]:
        return [told(desk, row) for row in rows]

    _serve(file, model, begin, answer, form=form)


@honest
def questions(
    model: o.Model = Path("model.lasec"),
    form: Annotated[
        Form,
        typer.Option("--format", help="JSON lines, a CSV table, or tasks for Label Studio."),
    ] = Form.LINES,
) -> None:
    """List the open questions, oldest first, with the columns of --keep.

    The model file is not changed. Use it after a broken pipe, or to fill an annotation queue.
    A table or a file of tasks goes to the people who answer: "lasec tell --format" takes it back.
    """
    model = model_file(model)
    with held(model):
        desk, _ = _load(model)
    asked = desk.session.questions
    plain = [{"ticket": decision.ticket} | _named(note) for decision, note in asked]
    if form is Form.CSV:
        put_lines([as_csv(plain)])
    elif form is Form.LABEL_STUDIO:
        put_lines([as_tasks(plain) + "\n"])
    else:
        put_lines(
            as_line(line(decision) | {"age": desk.learner.rows - decision.ticket} | _named(note))
            for decision, note in asked
        )


@honest
def forget(
    tickets: Annotated[list[int], typer.Argument(help="Tickets of open questions.")],
    model: o.Model = Path("model.lasec"),
) -> None:
    """Drop questions that will not be answered; the accuracy estimate counts them as lost."""
    refused, said = 0, list[Row]()
    model = model_file(model)
    with held(model):
        desk, parts = _load(model)
        for ticket in tickets:
            try:
                desk.cancel(ticket)
                said.append({"ticket": ticket, "forgotten": True})
            except TicketError as error:
                said.append({"ticket": ticket, "error": str(error)})
                refused += 1
        desk.save(model, **parts)
    put_lines(map(as_line, said))
    if refused:
        raise typer.Exit(REFUSED)


def _entry(found: Decided | str) -> Row:
    """A decision as a line of the output, or an error."""
    return {"error": found} if isinstance(found, str) else found.line


def _named(note: Note) -> Row:
    """The id of a question, and the cells that were kept with it."""
    return ({} if note.id is None else {"id": note.id}) | dict(note.columns)


def _new(
    rows: list[Row], classes: list[str], algorithm: str, reading: o.Reading, asking: o.Asking,
    alarms: bool, name: str, remember: int,
) -> TableLearner:  # fmt: skip
    """A new model for rows like these."""
    if len(classes) < 2 or "" in classes:
        raise TableError(f"--classes: expected some, such as ham,spam, got {', '.join(classes)}")
    if not rows:
        raise TableError("cannot create a model: none of the first lines is a JSON object")
    head = head_of(rows, frozenset(reading.kinds))
    left_out = {reading.label, reading.time, name} & set(head.schema.names)
    chosen = find(algorithm)
    encoder = Encoder.fit(
        head, kinds=reading.kinds, left_out=frozenset(map(str, left_out)),
        hash_buckets=reading.hash_buckets, constant=not chosen.has_intercept,
        words=WORDS if chosen.takes_sparse else 0, ngrams=reading.lengths,
    )  # fmt: skip
    check_ngrams(reading, encoder)
    names, sparse = [as_label(each) or "" for each in classes], encoder.words > 0
    made = learner(
        algorithm, encoder.dimension, reading, asking, names, sparse=sparse, dense=encoder.dense
    )
    desk = TableLearner(
        made, encoder, label=str(reading.label), time=reading.time, id=name or None,
        detectors=detectors(alarms, sparse=sparse), remember=remember,
    )  # fmt: skip
    told = "; ".join(f"{name}: {text}" for name, text in columns.lines(encoder, numeric=True))
    say(f"lasec: new model with {counted(encoder.dimension, 'feature')}; {told}")
    return desk


def _serve(
    file: str, model: Path, begin: Callable[[list[Row]], TableLearner], answer: Answering, *,
    save: bool = True, form: Form = Form.LINES,
) -> None:  # fmt: skip
    """Process lines as they arrive; the model is locked, read and saved for each handful."""
    refused, model = 0, model_file(model)
    say_if_typed(file, "JSON lines" if form is Form.LINES else form.value)
    handfuls = _handfuls(file) if form is Form.LINES else _all(file, form)
    for number, lines in handfuls:
        parsed = [_parsed(text) for text in lines]
        rows = [row for row in parsed if isinstance(row, dict)]
        with held(model), compiling():
            desk, parts = _load(model) if model.exists() else (begin(rows), {})
            answers = iter(answer(desk, rows))
            said: list[Row | None] = [
                {"error": row} if isinstance(row, str) else next(answers) for row in parsed
            ]
            for at, entry in enumerate(said):
                if entry is not None and "error" in entry:
                    entry["line"], refused = number + at, refused + 1
            written = [as_line(entry) for entry in said if entry is not None]
            if save:
                desk.save(model, **parts)
        put_lines(written)
        for alarm in desk.session.alarms:
            say(f"lasec: alarm: {described(alarm)}")
    if refused:
        say(f'lasec: {counted(refused, "line")} refused: see "error" in the output')
        raise typer.Exit(REFUSED)


def _load(model: Path) -> tuple[TableLearner, dict[str, bytes]]:
    return TableLearner.from_bytes(read(model))


def _parsed(text: bytes) -> Row | str:
    """A line as an object, or an error message."""
    if too_deep(text):
        return f"nested deeper than {DEEPEST}"
    try:
        row = json.loads(text)
        "".join(row).encode()
    except UnicodeEncodeError:
        return "a name is not Unicode"
    except (TypeError, ValueError):
        row = None
    if isinstance(row, dict):
        return row
    return f"not a JSON object: {text[:80].decode('utf-8', 'replace')}"


def _handfuls(file: str) -> Iterator[tuple[int, list[bytes]]]:
    """The lines that have arrived, up to ``MOST`` at a time, and the number of the first of them.

    So lines of a slow pipe are answered one by one, and those of a fast one in bulk.
    """
    number, pieces = 1, list[bytes]()
    with open(sys.stdin.fileno() if file == "-" else file, "rb", buffering=0) as stream:
        while piece := stream.read(1 << 20):
            if b"\n" not in piece:
                pieces.append(piece)
                continue
            *lines, rest = (b"".join(pieces) + piece).split(b"\n")
            pieces = [rest]
            for start in range(0, len(lines), MOST):
                some = lines[start : start + MOST]
                yield from _filled(number, some)
                number += len(some)
    yield from _filled(number, [b"".join(pieces)])


def _all(file: str, form: Form) -> Iterator[tuple[int, list[bytes]]]:
    """The answers of a whole file, as handfuls of lines."""
    with open(sys.stdin.fileno() if file == "-" else file, "rb") as stream:
        lines = answers(stream.read(), form)
    for start in range(0, len(lines), MOST):
        yield start + 1, lines[start : start + MOST]


def _filled(number: int, lines: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The lines, cut where one is empty."""
    begin = 0
    for at, text in enumerate([*lines, b""]):
        if not text.strip():
            if begin < at:
                yield number + begin, lines[begin:at]
            begin = at + 1
