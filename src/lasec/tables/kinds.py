"""The kinds of a table's columns: numbers, categories, texts, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasec.errors import TableError
from lasec.parameters import unknown
from lasec.tables.typed import as_times

_TOKENS = 3.0  # more tokens than these on average: text
_ID_NAMES = re.compile(r"(?:^|.*_)(?:id|uuid|guid|index)$|unnamed: ?0", re.IGNORECASE)
_UNIQUE, _COUNTED, _TIME = "unique id", "row number", "date or time"
_MOSTLY = 0.5  # the share of distinct values that makes a column named "id" one
_ENOUGH = 50  # rows, to tell an id that never comes twice, and a number that counts rows


class Kind(StrEnum):
    """How a column is read.

    >>> Kind("text") is Kind.TEXT
    True
    """

    NUMBER = "number"
    CATEGORY = "category"
    TEXT = "text"
    PAIRS = "pairs"
    IGNORED = "ignored"


class Column(NamedTuple):
    """A column's name, how it is read, and the reason where it was not the obvious choice.

    >>> Column("price", Kind.NUMBER)
    Column(name='price', kind=<Kind.NUMBER: 'number'>, why='')
    """

    name: str
    kind: Kind
    why: str = ""


def nearest(name: str, known: Iterable[str], what: str) -> TableError:
    """The error about an unknown name, with the nearest known one.

    >>> print(nearest("prise", ["price", "demand"], "column"))
    there is no column 'prise': did you mean 'price'? There are price, demand
    """
    return TableError(unknown(name, known, what))


def find_kinds(batch: pa.RecordBatch, given: dict[str, Kind], left_out: set[str]) -> list[Column]:
    """The columns of a table's first rows, without those that are ``left_out``.

    ``given`` sets the kinds of some; those of the others are detected by type and values.

    >>> rows = pa.RecordBatch.from_pylist([{"price": 1.5, "shop": "north"}])
    >>> [column.kind.value for column in find_kinds(rows, {}, set())]
    ['number', 'category']
    """
    names = set(batch.schema.names)
    for name in [*given, *left_out]:
        if name not in names:
            raise nearest(name, batch.schema.names, "column")
    return [
        Column(name, given[name], "requested") if name in given else _judge(name, values)
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
        if name not in left_out
    ]


def _judge(name: str, values: pa.Array) -> Column:
    """How one column is read."""
    kind = values.type
    if pa.types.is_string(kind):
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, kind), values)
    if values.null_count == len(values):
        return Column(name, Kind.IGNORED, "empty")
    if pa.types.is_map(kind) and pa.types.is_integer(kind.key_type):
        return Column(name, Kind.PAIRS)
    if pa.types.is_string(kind):
        return _judge_text(name, values)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return _judge_number(name, values)
    known = {_TIME: pa.types.is_temporal, "text that is not UTF-8": pa.types.is_binary}
    why = next((text for text, fits in known.items() if fits(kind)), f"{kind}")
    return Column(name, Kind.IGNORED, why[:80])


def _judge_number(name: str, values: pa.Array) -> Column:
    """A number, unless it is an id or counts the rows."""
    if _ID_NAMES.match(name) and _distinct(values.drop_null()) == 1.0:
        return Column(name, Kind.IGNORED, _UNIQUE)
    if len(values) >= _ENOUGH and not values.null_count:
        steps = np.diff(values.to_numpy(zero_copy_only=False))
        if (steps == 1).all():
            return Column(name, Kind.IGNORED, _COUNTED)
    return Column(name, Kind.NUMBER)


def _judge_text(name: str, values: pa.Array) -> Column:
    """Text has several tokens; a category has values that come again."""
    tokens = pc.mean(
        pc.list_value_length(pc.utf8_split_whitespace(pc.fill_null(values, "")))
    ).as_py()
    if tokens is not None and tokens > _TOKENS:
        return Column(name, Kind.TEXT)
    if as_times(values) is not None:
        return Column(name, Kind.IGNORED, _TIME)
    named, distinct = _ID_NAMES.match(name), _distinct(values)
    if distinct == 1.0 and (named or len(values) >= _ENOUGH):
        return Column(name, Kind.IGNORED, _UNIQUE)
    if named and distinct > _MOSTLY and len(values) >= _ENOUGH:
        return Column(name, Kind.IGNORED, "mostly unique id")
    return Column(name, Kind.CATEGORY)


def _distinct(values: pa.Array) -> float:
    """The share of distinct values."""
    return float(pc.count_distinct(values, mode="all").as_py() / max(len(values), 1))
