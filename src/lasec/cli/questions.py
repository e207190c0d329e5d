"""``lasec ask`` and ``lasec tell``: rows in, JSON lines out, one model file between them.

Both can run at the same time: each takes the rows that have arrived, locks the model file, reads
it, does its part, writes it, and only then prints the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lasec.alarms import described
from lasec.cli import columns, output
from lasec.cli import options as o
from lasec.cli.handfuls import Handful, Row, is_table, of_answers, of_lines, of_table
from lasec.cli.inputs import REMEMBER, model_file
from lasec.cli.judge import called
from lasec.cli.lock import held
from lasec.cli.spread import Only, spread
from lasec.errors import TableError, TicketError
from lasec.handover.forms import Form, as_csv, as_tasks
from lasec.notebook import counted
from lasec.persistence.container import read
from lasec.session import Note
from lasec.tables import TableLearner
from lasec.tables.cells import as_label, head_of
from lasec.tables.lines import Decided, decided, line, predicted, told
from lasec.types import Decision

Answering = Callable[[TableLearner, list[Row]], Sequence[Row | None]]
Given = Annotated[
    str, typer.Argument(metavar="FILE", help="JSON lines file, or - for standard input.")
]
Rows = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON lines, or - for standard input; or a CSV, Parquet or svmlight file.",
    ),
]
FORMS = "|".join(Form)
ASKED = (
    "rate", "audit", "class_weight", "max_open", "annotators", "per_day", "warm_up", "seed",
    "max_age", "lead", "source", "money",
)  # fmt: skip
OURS = {"ticket", "prediction", "probability", "margin", "query_probability", "asked", "age",
        "source", "error", "line"}  # fmt: skip


@output.honest
@spread
def ask(
    file: Rows = "-",
    *,
    model: o.Model = Path("model.lasec"),
    keep: Annotated[
        list[str] | None,
        o.option("--keep", "COLUMN", "Repeat a column in the output, an id for example."),
    ] = None,
    questions: Annotated[
        bool, o.option("--questions", None, "Print only the rows whose label is queried.")
    ] = False,
    classes: Annotated[
        str | None,
        o.of_new(
            "--classes",
            "CLASS,CLASS,...",
            "Create the model, with these classes, such as ham,spam; others may follow.",
        ),
    ] = None,
    id: Annotated[  # noqa: A002
        str,
        o.of_new(
            "--id",
            "COLUMN",
            "Column that names a row: lasec tell takes its value in place of a ticket.",
        ),
    ] = "id",
    remember: Annotated[
        int,
        o.of_new(
            "--remember",
            "N",
            "Keep the last N rows with an id, for labels that nobody asked for.",
            min=0,
        ),
    ] = REMEMBER,
    label: Annotated[
        str, o.of_new("--label -l", "COLUMN", "Column to ignore because it holds labels.")
    ] = "label",
    algorithm: o.Algorithm = "tracker",
    reading: Annotated[
        o.Reading, Only("time", "category", "text", "ignore", "ngrams", "separator")
    ],
    asking: Annotated[o.Asking, Only(*ASKED)],
    alarms: o.Alarms = False,
    format: o.RowFormat = None,  # noqa: A002
) -> None:
    """Predict each row, and decide whether to query its label.

    Rows are JSON lines, or a table. The output is JSON lines with "ticket", "prediction" (null
    before the first label), "probability" of each class, "query_probability" and "asked". Give the
    true labels of asked rows to "lasec tell". If the model does not exist, --classes creates it,
    and the first rows decide how columns are read; options on budget, columns and algorithm apply
    to a new model only.
    """
    reading = reading._replace(label=label, format=format)

    def begin(rows: list[Row]) -> TableLearner:
        if classes is None:
            raise TableError(
                f"{model} does not exist: create it with --classes (such as ham,spam) or lasec run"
            )
        named = [name.strip() for name in classes.split(",")]
        return _new(rows, named, algorithm, reading, asking, alarms, id, remember)

    def answer(desk: TableLearner, rows: list[Row]) -> list[Row | None]:
        _check_kept(desk, keep or ())
        if judge is not None and not desk.session.is_judge(asking.sources[0].source.name):
            raise TableError(f"--source {asking.source[0]}: it is not the judge of {model}")
        said = zip(rows, map(_entry, decided(desk, rows, judge)), strict=True)
        return [
            entry | _kept(desk, entry, {name: row.get(name) for name in keep or ()})
            if entry.get("asked", True) or not questions
            else None
            for row, entry in said
        ]

    with called(asking.command) as judge:
        _serve(_rows(file, model, reading, id), model, begin, answer)


def _check_kept(desk: TableLearner, names: Iterable[str]) -> None:
    """Refuse columns that would be taken for what the output says of a row."""
    for name in names:
        if name in OURS or (name == "id" and desk.id not in (None, "id")):
            says = f"the id of a row is {desk.id!r}" if name == "id" else "the output has its own"
            raise TableError(f"--keep {name}: {says}: rename the column")


def _kept(desk: TableLearner, entry: Row, cells: Row) -> Row:
    """The cells to repeat, which are stored with a question for ``lasec questions``."""
    if cells and entry.get("asked"):
        desk.session.keep(entry["ticket"], cells)
    return cells


@output.honest
def predict(
    file: Rows = "-",
    model: o.Model = Path("model.lasec"),
    format: o.RowFormat = None,  # noqa: A002
    separator: o.Separator = None,
) -> None:
    """Predict each row without querying; the model file is not changed."""
    reading = o.Reading(format=format, separator=separator)
    _serve(_rows(file, model, reading, "id"), model, None, predicted, save=False)


@output.honest
def tell(
    file: Given = "-",
    model: o.Model = Path("model.lasec"),
    form: Annotated[
        Form,
        o.option("--format", FORMS, "JSON lines, a CSV table, or an export of Label Studio."),
    ] = Form.LINES,
) -> None:
    """Learn labels: JSON lines with "ticket" or "id", "label", and optionally "by" (who answered).

    Where there are two sources, "by" names the judge or an expert. A judge's line may have a
    "confidence", and no label; where "source" is in the answer, the question goes on to it.

    Labels that nobody asked for, such as a chargeback, come by "id" (of the last rows: see
    --remember) or with the columns of the row: they are learned, and no part of any estimate.
    """

    def answer(desk: TableLearner, rows: list[Row]) -> list[Row | None]:
        return [told(desk, row, as_text=form is Form.CSV) for row in rows]

    output.say_if_typed(file, "JSON lines" if form is Form.LINES else form.value)
    _serve(of_lines(file) if form is Form.LINES else of_answers(file, form), model, None, answer)


@output.honest
def questions(
    model: o.Model = Path("model.lasec"),
    form: Annotated[
        Form, o.option("--format", FORMS, "JSON lines, a CSV table, or tasks for Label Studio.")
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
    plain = [_joined({"ticket": decision.ticket}, _named(note)) for decision, note in asked]
    if form is Form.CSV:
        output.put_lines([as_csv(plain)])
    elif form is Form.LABEL_STUDIO:
        output.put_lines([as_tasks(plain) + "\n"])
    else:
        output.put_lines(
            output.as_line(_joined(_aged(decision, desk.learner.rows), _named(note)))
            for decision, note in asked
        )


@output.honest
def forget(
    tickets: Annotated[list[int], typer.Argument(help="Tickets of open questions.")],
    model: o.Model = Path("model.lasec"),
) -> None:
    """Drop questions that will not be answered; the accuracy estimate counts them as lost.

    What a judge does not answer may go on to people: then "source" says to whom.
    """
    refused, said = 0, list[Row]()
    model = model_file(model)
    with held(model):
        desk, parts = _load(model)
        for ticket in tickets:
            try:
                source = desk.session.cancel(ticket)
                after = {"forgotten": True} if source is None else {"source": source}
                said.append({"ticket": ticket, **after})
            except TicketError as error:
                said.append({"ticket": ticket, "error": str(error)})
                refused += 1
        desk.save(model, **parts)
    output.put_lines(map(output.as_line, said))
    if refused:
        raise typer.Exit(output.REFUSED)


def _entry(found: Decided | str) -> Row:
    """A decision as a line of the output, or an error."""
    return {"error": found} if isinstance(found, str) else found.line


def _named(note: Note) -> Row:
    """The id of a question, and the cells that were kept with it."""
    return _joined({} if note.id is None else {"id": note.id}, note.columns)


def _aged(decision: Decision, rows: int) -> Row:
    """An open question as a line of the output."""
    return line(decision) | {"age": rows - decision.ticket}


def _joined(ours: Row, cells: Mapping[str, Any]) -> Row:
    """What the output says, and the cells whose names it does not need itself.

    >>> _joined({"ticket": 7}, {"ticket": 8, "text": "hi"})
    {'ticket': 7, 'text': 'hi'}
    """
    return ours | {name: cell for name, cell in cells.items() if name not in ours}


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
    names = [as_label(each) or "" for each in classes]
    spec = asking.spec(
        algorithm, reading, names, alarms=alarms, remember=remember, id=name or None, apart=[name]
    )
    desk = spec.table(head)
    encoder = desk.encoder
    told = "; ".join(f"{name}: {text}" for name, text in columns.lines(encoder, numeric=True))
    output.say(f"lasec: new model with {counted(encoder.dimension, 'feature')}; {told}")
    return desk


def _rows(file: str, model: Path, reading: o.Reading, name: str) -> Iterable[Handful]:
    """The rows of a file; those of a table as the model reads columns, where there is one."""
    if not is_table(file, reading.format):
        output.say_if_typed(file, "JSON lines")
        return of_lines(file)
    output.say_if_typed(file, "a table")
    model = model_file(model)
    with held(model):
        desk = _load(model)[0] if model.exists() else None
    return of_table(file, reading, desk, name)


def _serve(
    handfuls: Iterable[Handful], model: Path,
    begin: Callable[[list[Row]], TableLearner] | None, answer: Answering, *, save: bool = True,
) -> None:  # fmt: skip
    """Process rows as they arrive; the model is locked, read and saved for each handful."""
    refused, model = 0, model_file(model)
    for number, parsed in handfuls:
        rows = [row for row in parsed if isinstance(row, dict)]
        with held(model):
            if begin is None and not model.exists():
                raise TableError(f"{model} does not exist: create it with lasec run or lasec ask")
            desk, parts = _load(model) if begin is None or model.exists() else (begin(rows), {})
            answers = iter(answer(desk, rows))
            said: list[Row | None] = [
                {"error": row} if isinstance(row, str) else next(answers) for row in parsed
            ]
            for at, entry in enumerate(said):
                if entry is not None and "error" in entry:
                    entry["line"], refused = number + at, refused + 1
            written = [output.as_line(entry) for entry in said if entry is not None]
            if save:
                desk.save(model, **parts)
        output.put_lines(written)
        for alarm in desk.session.alarms:
            output.say(f"lasec: alarm: {described(alarm)}")
    if refused:
        output.say(f'lasec: {counted(refused, "line")} refused: see "error" in the output')
        raise typer.Exit(output.REFUSED)


def _load(model: Path) -> tuple[TableLearner, dict[str, bytes]]:
    return TableLearner.from_bytes(read(model))
