"""Questions out to the people who answer, and their answers back: CSV, and Label Studio's JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from lasec.errors import TableError
from lasec.parameters import shown
from lasec.spreadsheet import cell, line, read_cell

Row = dict[str, Any]


class Form(StrEnum):
    """How questions and answers are written."""

    LINES = "jsonl"
    CSV = "csv"
    LABEL_STUDIO = "label-studio"


def as_csv(questions: Iterable[Row]) -> str:
    r"""Questions as a table, with an empty column for the label and one for who answered.

    >>> as_csv([{"ticket": 7, "id": "mail-7", "subject": "hi"}])
    'ticket,id,subject,label,by\n7,mail-7,hi,,\n'
    """
    rows = [{cell(name): cell(value) for name, value in row.items()} for row in questions]
    names = list(dict.fromkeys(["ticket", *(name for row in rows for name in row)]))
    names += [name for name in ("label", "by") if name not in names]
    return "".join(map(line, [names, *([row.get(name) for name in names] for row in rows)]))


def as_tasks(questions: Iterable[Row]) -> str:
    """Questions as tasks for Label Studio; the prediction is left out, so that it misleads nobody.

    >>> as_tasks([{"ticket": 7, "subject": "hi"}])
    '[{"data": {"ticket": 7, "subject": "hi"}}]'
    """
    return json.dumps([{"data": row} for row in questions])


def answers(data: bytes, form: Form) -> list[bytes]:
    r"""The answers in a file as lines of JSON; rows and tasks without an answer are left out.

    >>> answers(b"ticket,label\n7,spam\n8,\n", Form.CSV)
    [b'{"ticket": 7, "label": "spam"}']
    """
    try:
        text = data.decode("utf-8-sig")
        found = _of_table(text) if form is Form.CSV else _of_tasks(json.loads(text))
    except (ValueError, RecursionError, csv.Error) as error:
        raise TableError(f"the answers are not {form.value}: {error}") from None
    return [json.dumps(row).encode() for row in found]


def _of_table(text: str) -> list[Row]:
    """The rows of a table that have a label; empty cells are not there."""
    made = []
    for cells in csv.DictReader(io.StringIO(text)):
        row: Row = {name: read_cell(text) for name, text in cells.items() if name and text}
        if "ticket" in row and row["ticket"].strip().isdecimal():
            row["ticket"] = int(row["ticket"])
        if "label" in row:
            made.append(row)
    return made


def _of_tasks(tasks: Any) -> list[Row]:
    """The answers of a Label Studio export, one line for each annotation that was not skipped."""
    made = []
    for at, task in enumerate(_listed("the tasks", tasks)):
        try:
            made += _of_task(task)
        except TableError as error:
            raise TableError(f"task {at}: {error}") from None
    return made


def _of_task(task: Any) -> list[Row]:
    """The answers to one task."""
    made = []
    for one in annotations_of(task):
        label = choice(one)
        if label is None or one.get("was_cancelled"):
            continue
        data = _object("data", task.get("data"))
        name = {key: data[key] for key in ("ticket", "id") if data.get(key) is not None}
        if not name or not all(type(value) in (int, str) for value in name.values()):
            raise TableError('"data" needs a "ticket" or an "id": a whole number or text')
        by = person(one)
        made.append(name | {"label": label} | ({} if by is None else {"by": by}))
    return made


def annotations_of(task: Any) -> list[Row]:
    """What people have done with a task of Label Studio.

    >>> annotations_of({"annotations": None}), annotations_of({"annotations": [{"id": 1}]})
    ([], [{'id': 1}])
    """
    given = _object("the task", task).get("annotations")
    listed = [] if given is None else _listed("annotations", given)
    return [_object("an annotation", one) for one in listed]


def choice(annotation: Row) -> str | None:
    """What was chosen, of the parts of an annotation; None if nothing was.

    >>> choice({"result": [{"value": {"choices": ["spam"]}}]}), choice({"result": []})
    ('spam', None)
    >>> choice({"result": [{"value": None}]})
    Traceback (most recent call last):
    lasec.errors.TableError: "value" must be an object, got None
    """
    for part in _listed("result", annotation.get("result") or []):
        value = _object("value", _object("a result", part).get("value", {}))
        chosen = _listed("choices", value.get("choices") or [])
        if chosen and not isinstance(chosen[0], str | int | float):
            raise TableError(f"a choice must be text, got {shown(chosen[0])}")
        if chosen:
            return str(chosen[0])
    return None


def person(annotation: Row) -> str | None:
    """Who has made an annotation, if it says so.

    >>> person({"completed_by": 3}), person({"completed_by": {"id": 3, "email": "ann@b.c"}})
    ('3', 'ann@b.c')
    """
    by = annotation.get("completed_by")
    by = by.get("email", by.get("id")) if isinstance(by, dict) else by
    if not isinstance(by, str | int | None):
        raise TableError(f'"completed_by" must be a number or text, got {shown(by)}')
    return None if by is None else str(by)


def _object(name: str, given: Any) -> Row:
    if not isinstance(given, dict):
        raise TableError(f'"{name}" must be an object, got {shown(given)}')
    return given


def _listed(name: str, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TableError(f'"{name}" must be a list, got {shown(given)}')
    return given
