"""Single values: cells of JSON lines, labels, times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.errors import TableError
from lasec.tables.kinds import Column, Kind
from lasec.tables.svmlight import DIGITS, PAIRS
from lasec.tables.typed import as_times

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def as_text(value: object) -> str:
    """A name as text that can be written anywhere."""
    plain = str(value).lower() if isinstance(value, bool) else str(value)
    return plain.encode("utf-8", "replace").decode()


def as_label(value: object) -> str | None:
    """A label as text, the same from every file format; None if it is missing.

    >>> [as_label(value) for value in (True, "False", 1, 1.0, "1.0", "+1", " spam ", "", None)]
    ['true', 'false', '1', '1', '1', '1', 'spam', None, None]
    >>> as_label("1_0"), as_label("10")
    ('1_0', '10')
    """
    text = as_text(value).strip()
    if value is None or text in ("", "nan", "NaN"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower()
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else text


def folded(label: str) -> str:
    """The label without what spellings of one name differ in: case, hyphens, underscores, blanks.

    >>> folded("Not Spam") == folded("not_spam"), folded("-1") == folded("1")
    (True, False)
    """
    return re.sub(r"(?<=[^\W_])[\s_-]+(?=[^\W_])", " ", label.casefold())


def is_number(label: str) -> bool:
    """Whether a label is a number.

    >>> is_number("-1.5"), is_number("spam")
    (True, False)
    """
    return _NUMBER.fullmatch(label) is not None


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels in numerical order if all are numbers, else in alphabetical order.

    >>> in_order({"10", "9"}), in_order({"spam", "ham"}), in_order({"1", "-1"})
    (['9', '10'], ['ham', 'spam'], ['-1', '1'])
    """
    names = sorted(labels)
    return sorted(names, key=float) if all(map(is_number, names)) else names


def batch_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pa.RecordBatch:
    """The rows as a batch with these columns; cells that a row does not have are missing.

    >>> batch_of([{"price": "1.5"}, {}], [Column("price", Kind.NUMBER)]).to_pylist()
    [{'price': 1.5}, {'price': None}]
    """
    wanted = [column for column in columns if column.kind is not Kind.IGNORED]
    arrays = [pa.array([_cell(row.get(c.name), c) for row in rows], _TYPES[c.kind]) for c in wanted]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in wanted])


def check_row(row: Mapping[str, Any], columns: Sequence[Column]) -> None:
    """Raise an error about the first value that cannot be read, if there is one.

    >>> check_row({"price": "cheap"}, [Column("price", Kind.NUMBER)])
    Traceback (most recent call last):
    lasec.errors.TableError: price: expected a number, got 'cheap'
    """
    for column in columns:
        if column.kind in _WORDS:
            _cell(row.get(column.name), column)


def head_of(rows: Sequence[Mapping[str, Any]], texts: frozenset[str]) -> pa.RecordBatch:
    """The first rows of a table that comes in JSON lines: a column is what most of its values are.

    >>> head_of([{"price": 1}, {"price": "?"}, {"price": 2.5}], frozenset()).to_pylist()
    [{'price': 1.0}, {'price': None}, {'price': 2.5}]
    """
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        kind = Kind.TEXT if name in texts else _kind_of([c for c in cells if c is not None])
        column = Column(name, kind)
        columns[name] = pa.array([_cell_or_none(c, column) for c in cells], _TYPES[kind])
    return pa.RecordBatch.from_pydict(columns)


def _kind_of(cells: list[Any]) -> Kind:
    """What most of some values are."""
    if sum(isinstance(cell, (int, float)) for cell in cells) > len(cells) / 2:
        return Kind.NUMBER
    return Kind.PAIRS if cells and all(map(_is_pairs, cells)) else Kind.TEXT


def _is_pairs(value: Any) -> bool:
    """Whether a value of JSON is an object of whole numbers and numbers."""
    return isinstance(value, dict) and all(
        key.isascii() and key.isdigit() and isinstance(item, (int, float))
        for key, item in value.items()
    )


def _cell(value: Any, column: Column) -> Any:
    """A value of a JSON line, as its column wants it."""
    if value is None:
        return None
    try:
        if column.kind is Kind.NUMBER:
            return _number(value) if value != "" else None
        if column.kind is Kind.PAIRS:
            return [(_index(key), _number(item)) for key, item in dict(value).items()]
    except (TypeError, ValueError, OverflowError):
        raise TableError(
            f"{column.name}: expected {_WORDS[column.kind]}, got {repr(value)[:80]}"
        ) from None
    return as_text(value)


def _number(value: Any) -> float:
    """A number, as JSON or its text has it: Python's own ``float`` takes 1_0 for 10."""
    if isinstance(value, str) and "_" in value:
        raise ValueError
    return float(value)


def _index(key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) <= DIGITS):
        raise ValueError
    return int(key)


def _cell_or_none(value: Any, column: Column) -> Any:
    """The same, with nothing in place of what cannot be read."""
    try:
        return _cell(value, column)
    except TableError:
        return None


def moments(values: pa.Array) -> NDArray[np.float64]:
    """Times in seconds since 1970; numbers are left as they are.

    >>> moments(pa.array(["2026-01-01T00:00:01", "2026-01-01T00:00:03"])).tolist()
    [1767225601.0, 1767225603.0]
    """
    clock = times_of(values)
    if not np.isfinite(clock).all():
        missing = np.count_nonzero(~np.isfinite(clock))
        raise TableError(f"the time column is empty in {missing:,} rows: --time needs it in all")
    return clock


def times_of(values: pa.Array) -> NDArray[np.float64]:
    """The same, with NaN where there is no time.

    >>> times_of(pa.array([1.0, None])).tolist()
    [1.0, nan]
    """
    scale = 1.0
    try:
        if pa.types.is_string(values.type):
            times = as_times(values)
            values = values if times is None else times
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("s"))
        if pa.types.is_timestamp(values.type):
            values, scale = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), 1e6
        clock = values.cast(pa.float64()).to_numpy(zero_copy_only=False) / scale
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"the time column must hold times or numbers: {error}") from None
    return np.asarray(clock, dtype=np.float64)


def moment(value: Any) -> float:
    """One time, as it comes in a line of JSON.

    >>> moment("2026-01-01T00:00:01Z"), moment(12)
    (1767225601.0, 12.0)
    """
    try:
        if not isinstance(value, bool):
            return float(moments(pa.array([value]))[0])
    except (pa.ArrowException, OverflowError, UnicodeError):
        pass
    raise TableError(f"time column: expected a time or a number, got {repr(value)[:80]}")


_TYPES = {
    Kind.NUMBER: pa.float64(),
    Kind.CATEGORY: pa.string(),
    Kind.TEXT: pa.string(),
    Kind.PAIRS: PAIRS,
}
_WORDS = {Kind.NUMBER: "a number", Kind.PAIRS: "an object of indices and numbers"}
