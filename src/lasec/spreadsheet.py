"""Tables that a spreadsheet can open without running what a cell says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

# How a cell begins that a spreadsheet would run; the last four are as wide as CJK characters.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def line(cells: Iterable[Any]) -> str:
    r"""A line of a table. Breaks of any kind are quoted, so that no cell can begin another row.

    >>> line([7, "a\r=1", None])
    '7,"a\r=1",\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()[:-2] + "\n"


def cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell(-1.5), cell(["a"])
    ("'=1+1", -1.5, '["a"]')
    """
    if isinstance(value, (dict, list)):
        value = json.dumps(value)
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def read_cell(text: str) -> str:
    """What :func:`cell` was given.

    >>> read_cell("'=1+1"), read_cell("''=1+1"), read_cell("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text) else text


class Table:
    r"""Labels as a table that is written some lines at a time.

    ``names`` are the columns; the last one holds what people saw. If that is an object, each name
    that is in the first lines gets a column of its own; the last but those holds all else, as text
    or as JSON. Times, in columns that are named "at" or end in "_at", are written as dates.

    >>> table = Table(["ticket", "label", "at", "item"])
    >>> rows = [{"ticket": 3, "label": "spam", "at": 0.0, "item": {"text": "=1"}}]
    >>> print(table.lines(rows), end="")
    ticket,label,at,item,item.text
    3,spam,1970-01-01T00:00:00Z,,'=1
    >>> print(table.lines([{"ticket": 4, "label": "ham", "at": 9.5, "item": "lunch"}]), end="")
    4,ham,1970-01-01T00:00:09Z,lunch,
    """

    def __init__(self, names: Sequence[str]) -> None:
        *self._plain, self._item = names
        self._fields: list[str] | None = None

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> str:
        """The lines of some rows, behind that of the names at first."""
        given, made = list(rows), list[str]()
        if self._fields is None:
            items = [row[self._item] for row in given if isinstance(row[self._item], dict)]
            self._fields = list(dict.fromkeys(name for item in items for name in item))
            named = (cell(f"{self._item}.{name}") for name in self._fields)
            made.append(line([*self._plain, self._item, *named]))
        return "".join(made + [line(self._cells(row, self._fields)) for row in given])

    def _cells(self, row: Mapping[str, Any], fields: list[str]) -> list[Any]:
        plain = [
            _date(row[name]) if f"_{name}".endswith("_at") else cell(row[name])
            for name in self._plain
        ]
        item = row[self._item]
        if not isinstance(item, dict):
            return [*plain, cell(item), *[None] * len(fields)]
        rest = {name: value for name, value in item.items() if name not in fields}
        return [*plain, cell(rest) if rest else None, *(cell(item.get(name)) for name in fields)]


def _date(at: float | None) -> str | None:
    """A time as spreadsheets read it.

    >>> _date(1.8e9)
    '2027-01-15T08:00:00Z'
    """
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_formula(text: str) -> bool:
    return text.lstrip("'").startswith(FORMULA)
