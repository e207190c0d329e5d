"""Single values: as they come in JSON lines, in columns of labels, in columns of times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.errors import TableError
from lasec.tables.kinds import Column, Kind
from lasec.tables.svmlight import PAIRS
from lasec.tables.typed import as_times


def as_text(value: object) -> str:
    """A label as text, the same from JSON and from a file.

    >>> as_text(True), as_text(1), as_text(1.0), as_text("spam")
    ('true', '1', '1', 'spam')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def batch_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pa.RecordBatch:
    """The rows as a batch with these columns; what a row does not have is missing.

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
        known = [cell for cell in cells if cell is not None]
        numbers = [isinstance(cell, (int, float)) for cell in known]
        if name not in texts and sum(numbers) > len(known) / 2:
            values = [float(c) if isinstance(c, (int, float)) else None for c in cells]
            columns[name] = pa.array(values, pa.float64())
        elif any(isinstance(cell, dict) for cell in known):
            pairs = [list(c.items()) if isinstance(c, dict) else None for c in cells]
            columns[name] = pa.array(
                [p and [(int(k), float(v)) for k, v in p] for p in pairs], PAIRS
            )
        else:
            columns[name] = pa.array(
                [None if c is None else as_text(c) for c in cells], pa.string()
            )
    return pa.RecordBatch.from_pydict(columns)


def _cell(value: Any, column: Column) -> Any:
    """A value of a JSON line, as its column wants it."""
    if value is None:
        return None
    try:
        if column.kind is Kind.NUMBER:
            return float(value) if value != "" else None
        if column.kind is Kind.PAIRS:
            return [(int(key), float(item)) for key, item in dict(value).items()]
    except (TypeError, ValueError):
        raise TableError(f"{column.name}: expected {_WORDS[column.kind]}, got {value!r}") from None
    return as_text(value)


def moments(values: pa.Array) -> NDArray[np.float64]:
    """Times in seconds, or in whatever unit numbers have.

    >>> moments(pa.array(["2026-01-01T00:00:01", "2026-01-01T00:00:03"])).tolist()
    [1767225601.0, 1767225603.0]
    """
    try:
        if pa.types.is_string(values.type):
            times = as_times(values)
            values = values if times is None else times
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("s"))
        if pa.types.is_timestamp(values.type):
            ticks = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
            return np.asarray(ticks.to_numpy(zero_copy_only=False) / 1e6)
        clock = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"time: expected times or numbers: {error}") from None
    if not np.isfinite(clock).all():
        raise TableError("time: some rows do not say when they came")
    return clock


_TYPES = {
    Kind.NUMBER: pa.float64(),
    Kind.CATEGORY: pa.string(),
    Kind.TEXT: pa.string(),
    Kind.PAIRS: PAIRS,
}
_WORDS = {Kind.NUMBER: "a number", Kind.PAIRS: "an object of indices and numbers"}
