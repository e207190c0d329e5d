"""Cells that do not fit their column's type: read as missing, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

MOSTLY = 0.8  # the share of a column's cells, at least, that makes it a column of numbers
MISSING = (
    "", "?", "-", "--", "NA", "na", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "#NA", "<NA>",
    "NaN", "nan", "NAN", "-NaN", "-nan", "null", "Null", "NULL", "None", "none", "NONE",
)  # fmt: skip
_NUMBER = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))$"


class Bad(NamedTuple):
    """The bad cells of a column: how many, the first of them, and its row, counted from 1."""

    cells: int
    example: str
    row: int


class BadCells:
    """Reads columns cell by cell, and counts the cells that it cannot read.

    >>> bad = BadCells()
    >>> bad.read("price", pa.array(["1.5", "12 EUR", "n.a."]), pa.float64(), 0).to_pylist()
    [1.5, None, None]
    >>> bad.found
    {'price': Bad(cells=1, example='12 EUR', row=2)}
    """

    def __init__(self) -> None:
        self.found: dict[str, Bad] = {}

    def batch(self, batch: pa.RecordBatch, types: Mapping[str, Any], before: int) -> pa.RecordBatch:
        """The batch with the columns of ``types`` read; ``before`` rows came before it."""
        columns = [
            self.read(name, values, types[name], before) if name in types else values
            for name, values in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def read(self, name: str, values: pa.Array, kind: Any, before: int) -> pa.Array:
        """A column of text as ``kind``, with missing values for what is bad."""
        texts = _texts(values)
        read = as_numbers(texts) if pa.types.is_floating(kind) else _as_other(texts, kind)
        wrong = pc.and_(pc.is_valid(texts), pc.invert(pc.is_valid(read)))
        if count := pc.sum(wrong).as_py():
            at = pc.index(wrong, True).as_py()
            first = Bad(0, texts[at].as_py()[:40], before + at + 1)
            known = self.found.get(name, first)
            self.found[name] = known._replace(cells=known.cells + count)
        return read


def mostly_numbers(values: pa.Array) -> bool:
    """Whether at least 80 % of the cells of a column, of those not missing, are numbers.

    >>> mostly_numbers(pa.array(["1", "2", "n.a.", "3", "4 EUR", "5"]))
    True
    >>> mostly_numbers(pa.array(["1", "2", "B", "3", "C", "5"]))
    False
    """
    texts = _texts(values).drop_null()
    return bool(len(texts)) and pc.mean(pc.match_substring_regex(texts, _NUMBER)).as_py() >= MOSTLY


def as_numbers(texts: pa.Array) -> pa.Array:
    """Texts as numbers, true and false as 1 and 0; missing where they are none.

    >>> as_numbers(pa.array(["1.5", "1_0", "True"])).to_pylist()
    [1.5, None, 1.0]
    """
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        small = pc.utf8_lower(texts)
        told = pc.if_else(
            pc.equal(small, "true"), "1", pc.if_else(pc.equal(small, "false"), "0", texts)
        )
        good = pc.match_substring_regex(told, _NUMBER)
        return pc.if_else(good, told, pa.scalar(None, pa.string())).cast(pa.float64())


def _texts(values: pa.Array) -> pa.Array:
    """Cells as text without blanks around them; missing where they say so."""
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        cells = values.to_pylist()
        texts = pa.array([None if c is None else c.decode("utf-8", "replace") for c in cells])
    texts = pc.utf8_trim_whitespace(texts)
    blank = pc.is_in(texts, pa.array(MISSING, pa.string()))
    return pc.if_else(blank, pa.scalar(None, pa.string()), texts)


def _as_other(texts: pa.Array, kind: Any) -> pa.Array:
    """Texts as times, dates, or whatever a column holds."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return pa.concat_arrays([_one(texts.slice(i, 1), kind) for i in range(len(texts))])


def _one(text: pa.Array, kind: Any) -> pa.Array:
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return pa.nulls(1, kind)
