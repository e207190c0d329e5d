"""Questions out to the people who answer, and their answers back: CSV, and Label Studio's JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from lasec.errors import TableError

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
    rows = list(questions)
    names = list(dict.fromkeys(["ticket", *(name for row in rows for name in row)]))
    names += [name for name in ("label", "by") if name not in names]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


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
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error) as error:
        raise TableError(f"the answers are not {form.value}: {error}") from None
    return [json.dumps(row).encode() for row in found]


def _of_table(text: str) -> list[Row]:
    """The rows of a table that have a label; empty cells are not there."""
    made = []
    for cells in csv.DictReader(io.StringIO(text)):
        row: Row = {name: cell for name, cell in cells.items() if name and cell}
        if "ticket" in row and row["ticket"].strip().isdecimal():
            row["ticket"] = int(row["ticket"])
        if "label" in row:
            made.append(row)
    return made


def _of_tasks(tasks: Any) -> list[Row]:
    """The answers of a Label Studio export, one line for each annotation that was not skipped."""
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise TableError("the answers are not label-studio: expected a list of tasks")
    made = []
    for task in tasks:
        data = task.get("data")
        for one in task.get("annotations") or ():
            label = choice(one.get("result") or ())
            if label is None or one.get("was_cancelled") or not isinstance(data, dict):
                continue
            name = {key: data[key] for key in ("ticket", "id") if key in data}
            by = one.get("completed_by")
            by = by.get("email", by.get("id")) if isinstance(by, dict) else by
            made.append(name | {"label": label} | ({} if by is None else {"by": str(by)}))
    return made


def choice(results: Sequence[Any]) -> str | None:
    """What was chosen, of the parts of an annotation."""
    for part in results:
        value = part.get("value", {}) if isinstance(part, dict) else {}
        chosen = value.get("choices") or ()
        if chosen:
            return str(chosen[0])
    return None
