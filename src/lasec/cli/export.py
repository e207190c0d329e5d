"""``lasec labels export``: the labels that people and applications gave, as a table or as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lasec import files
from lasec.cli import served as o
from lasec.cli.helptext import Command, Group
from lasec.cli.inputs import model_file
from lasec.cli.options import option
from lasec.cli.output import honest, put_lines, say
from lasec.cli.served import served
from lasec.errors import TableError
from lasec.notebook import counted
from lasec.spreadsheet import Table

if TYPE_CHECKING:
    from lasec.client import Label

PAGE = 500  # labels that are written together
group = typer.Typer(cls=Group, no_args_is_help=True, help="Export the labels of a service.")


@group.callback()
def labels() -> None:
    """Export the labels of a service."""


class Form(StrEnum):
    """How labels are written."""

    CSV = "csv"
    LINES = "jsonl"


@group.command("export", cls=Command)
@honest
def export(
    model: o.Name,
    key: o.Key = "",
    url: o.Url = o.LOCAL,
    form: Annotated[
        Form | None,
        option("--format", None, "A CSV table, or JSON lines; by default as --out ends."),
    ] = None,
    out: Annotated[
        Path | None, option("--out", "FILE", "Write here, not to standard output.")
    ] = None,
    by: Annotated[str | None, option("--by", "NAME", "Only the labels of one person.")] = None,
) -> None:
    """Export the labels that were given to the questions of a model, the oldest first.

    Each has the row (ticket, id, what was shown), the label, who gave it and when, the query
    probability and the prediction; if the owner has corrected it, what was given and what the
    model has learned. Cells of the table that a spreadsheet would run get a quote in front.
    """
    _need_service(model)
    if not key:
        raise TableError("give the key of an app or the owner: set LASEC_KEY, or use --key")
    lines = out is not None and out.suffix != ".csv" if form is None else form is Form.LINES
    with served(url, key) as client:
        found = _Counted(client.model(model).labels(by=by))
        text = _json_lines(found) if lines else _table(found)
        if out is None:
            put_lines(text)
            return
        files.write(out, (part.encode() for part in text))
    say(f"lasec: wrote {counted(found.count, 'label')} to {out}")


def _need_service(model: str) -> None:
    """Refuse a model file, and say what it has."""
    path = Path(model)
    if path.suffix != ".lasec" and not path.is_dir():
        return
    from lasec.persistence.container import read  # noqa: PLC0415
    from lasec.tables import TableLearner  # noqa: PLC0415

    desk, _ = TableLearner.from_bytes(read(model_file(path)))
    meter = desk.session.meter
    raise TableError(
        f"{model} is a model file: it has learned {counted(meter.labels, 'label')} and has "
        f"{counted(meter.open, 'open question')} (lasec questions), but it does not keep labels or "
        "who gave them. Keep what you give to lasec tell; lasec serve keeps labels"
    )


class _Counted:
    """Labels that are counted on their way."""

    def __init__(self, labels: Iterable[Label]) -> None:
        self._labels, self.count = labels, 0

    def __iter__(self) -> Iterator[Label]:
        for label in self._labels:
            self.count += 1
            yield label


def _json_lines(labels: Iterable[Label]) -> Iterator[str]:
    for label in labels:
        yield json.dumps(label._asdict()) + "\n"


def _table(labels: Iterable[Label]) -> Iterator[str]:
    from lasec.client import Label  # noqa: PLC0415

    table, left = Table(Label._fields), iter(labels)
    while some := list(islice(left, PAGE)):
        yield table.lines(label._asdict() for label in some)
    yield table.lines([])
