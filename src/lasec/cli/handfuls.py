"""Rows and answers for a model, some at a time: JSON lines as they arrive, or a table."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from typing import Any

from lasec.cli.options import Reading
from lasec.cli.output import warn_of_cells
from lasec.handover.forms import Form, answers
from lasec.tables import TableLearner, open_table
from lasec.tables.kinds import Kind
from lasec.tables.lines import whole
from lasec.tables.objects import DEEPEST, too_deep
from lasec.tables.source import format_of

MOST = 1_000  # rows or lines at a time
Row = dict[str, Any]
Handful = tuple[int, list[Row | str]]  # the number of the first, and objects or errors


def is_table(file: str, format: str | None) -> bool:  # noqa: A002
    """Whether a file is read as a table, and not as JSON lines.

    >>> is_table("-", None), is_table("-", "csv")
    (False, True)
    """
    return format_of(file, format) not in (None, "jsonl")


def of_table(
    file: str, reading: Reading, desk: TableLearner | None, name: str
) -> Iterator[Handful]:
    """The rows of a table, with the columns read as the model has them; ``name`` is the id's."""
    texts, times = reading.texts | {name}, reading.time
    if desk is not None:
        words = (c.name for c in desk.encoder.columns if c.kind in (Kind.CATEGORY, Kind.TEXT))
        name, times = desk.id or "", desk.time
        texts = frozenset([*words, desk.label, name])
    number = 1
    with open_table(
        file, format=reading.format, separator=reading.separator, texts=texts - {times}
    ) as table:
        for batch in table.batches(most=MOST):
            yield number, [_as_object(row, name) for row in batch.to_pylist()]
            number += batch.num_rows
    warn_of_cells(table)


def _as_object(row: Row, name: str) -> Row:
    """A row of a table as a JSON line has it; ids that are whole numbers are no text."""
    made = {key: _as_value(cell) for key, cell in row.items()}
    if name in made:
        number = whole(made[name])
        made[name] = made[name] if number is None else number
    return made


def _as_value(cell: Any) -> Any:
    """A cell as JSON has it.

    >>> _as_value(datetime.datetime(2026, 1, 1)), _as_value([(7, 0.5)]), _as_value("north")
    ('2026-01-01T00:00:00', {'7': 0.5}, 'north')
    """
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, list):  # pairs of an index and a number
        return {str(index): value for index, value in cell}
    return cell


def of_lines(file: str) -> Iterator[Handful]:
    """The JSON lines that have arrived, up to ``MOST`` at a time.

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


def of_answers(file: str, form: Form) -> Iterator[Handful]:
    """The answers of a whole file."""
    with open(sys.stdin.fileno() if file == "-" else file, "rb") as stream:
        lines = answers(stream.read(), form)
    for start in range(0, len(lines), MOST):
        yield start + 1, [parsed(text) for text in lines[start : start + MOST]]


def _filled(number: int, lines: list[bytes]) -> Iterator[Handful]:
    """The lines, cut where one is empty."""
    begin = 0
    for at, text in enumerate([*lines, b""]):
        if not text.strip():
            if begin < at:
                yield number + begin, [parsed(line) for line in lines[begin:at]]
            begin = at + 1


def parsed(text: bytes) -> Row | str:
    """A line as an object, or an error message.

    >>> parsed(b'{"price": 2}'), parsed(b"price: 2")
    ({'price': 2}, 'not a JSON object: price: 2')
    """
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
