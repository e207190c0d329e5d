"""The label column: which one it may be, and whether its values are classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lasec.cli.options import Reading
from lasec.cli.output import few, say
from lasec.errors import TableError
from lasec.tables import Table
from lasec.tables.cells import as_label, folded, in_order, is_number
from lasec.tables.kinds import nearest

USUAL = ("label", "labels", "class", "target", "y", "outcome")  # names that label columns have
MANY, OFTEN = 20, 20  # more distinct numbers, with fewer rows for each: a regression target
MOST, SELDOM = 100, 2  # more distinct values, with fewer rows for each: names of rows
SEARCHED = 1_000  # columns, among which candidates are looked for


def no_label(table: Table) -> TableError:
    """The error about a label column that was not given, with those that it may be.

    >>> from lasec.tables import table_of
    >>> print(no_label(table_of({"price": [1.5, 2.0, 7.0], "sold": ["no", "yes", "no"]})))
    no label column given: use --label, such as --label sold. Columns with two values: ...
    """
    found = _candidates(table)
    named = [name for name in table.names if name.lower() in USUAL]
    likely = named or list(found)
    example = f", such as --label {likely[0][:80]}" if len(likely) == 1 else ""
    shown = [f"{name[:80]} ({', '.join(found[name])})" for name in list(found)[:5]]
    two = f" Columns with two values: {', '.join(shown)}." if shown else ""
    return TableError(
        f"no label column given: use --label{example}.{two} All columns: {few(table.names)}"
    )


def _candidates(table: Table) -> dict[str, list[str]]:
    """The columns with two values in the first rows, and these values."""
    found = {}
    for name, values in zip(table.names[:SEARCHED], table.head.columns, strict=False):
        if pa.types.is_string(values.type) or pa.types.is_floating(values.type):
            several = pc.unique(values.slice(0, 1_000))
            if len(several) <= 3 and len(labels := set(_labels(pc.unique(values)))) == 2:
                found[name] = [label[:20] for label in in_order(labels)]
    return found


def no_column(name: str, table: Table, title: str) -> TableError:
    """The error about a column that is not there."""
    numbers = [other for other in table.names if is_number(other)]
    if 2 * len(numbers) > len(table.names):
        return TableError(
            f"no column {name[:80]!r}: {title} seems to have no header; its first row is "
            f"{few(table.names, 5)}"
        )
    return nearest(name, table.names, "column")


def classes(table: Table, reading: Reading) -> list[str]:
    """The classes of the first rows, in order; empty while fewer than two are known."""
    counts: Counter[str] = Counter()
    for entry in pc.value_counts(table.head[reading.label]).to_pylist():
        if (name := as_label(entry["values"])) is not None:
            counts[name] += entry["counts"]
    found = in_order(counts)
    if reading.positive is not None:
        _check_positive(as_label(reading.positive), found)
        return []
    _check_spelling(found)
    _check_number(str(reading.label), counts)
    return found if len(found) > 1 else []


def _check_number(label: str, counts: Counter[str]) -> None:
    """Refuse a label column whose values are no classes: nearly every row has its own."""
    rows = counts.total()
    seen = f"{len(counts):,} different values in the first {rows:,} rows"
    if len(counts) > max(MANY, rows / OFTEN) and all(map(is_number, counts)):
        low, *_, high = in_order(counts)
        raise TableError(
            f"column {label[:80]!r} looks like a regression target ({seen}, numbers from {low} to "
            f"{high}); lasec classifies: add a column with classes, such as {label[:80]} > "
            f"{_median(counts)}, and give that as --label"
        )
    if len(counts) > max(MOST, rows / SELDOM):
        raise TableError(
            f"column {label[:80]!r} has {seen}: these are no classes; give another --label, or "
            "--positive CLASS for one of them against the others"
        )


def _median(counts: Counter[str]) -> str:
    """The number with half of the rows on each side."""
    every = sorted(counts.elements(), key=float)
    return every[len(every) // 2]


def _check_spelling(found: Sequence[str]) -> None:
    """Refuse labels that are one name in several spellings."""
    alike: dict[str, list[str]] = {}
    for name in found:
        alike.setdefault(folded(name), []).append(name)
    for spellings in alike.values():
        if len(spellings) > 1:
            shown = ", ".join(repr(name[:80]) for name in spellings[:5])
            raise TableError(
                f"labels {shown} differ only in spelling: use one spelling in the file, or "
                f"--positive {spellings[0][:80]} to take only that one as positive"
            )


def _check_positive(positive: str | None, found: list[str]) -> None:
    """A positive class that is not there yet may come; one that is misspelled will not."""
    if positive is None:
        raise TableError("--positive is empty: give a class, such as --positive spam")
    others = [name for name in found if name != positive and folded(name) == folded(positive)]
    if others:
        shown = ", ".join(repr(name[:80]) for name in others)
        say(f"lasec: warning: {shown} counts as negative: it is not spelled {positive[:80]!r}")
    if positive not in found:
        near = [name[:80] for name in found[:1_000]]
        if get_close_matches(positive[:80], near, cutoff=0.6):
            raise nearest(positive, near, "class")
        say(
            f"lasec: warning: the first rows have no label {positive[:80]!r} (--positive); they "
            f"have {few(found, 8)}"
        )


def _labels(values: Any) -> list[str]:
    return [name for value in values.to_pylist() if (name := as_label(value)) is not None]
