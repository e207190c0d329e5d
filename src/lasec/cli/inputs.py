"""The input of a command: a file or known stream as a table, its label, and a learner for it."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lasec.classes import against_others
from lasec.cli.options import Asking, Reading
from lasec.cli.output import few, say
from lasec.cli.runner import MODEL
from lasec.cli.streams import is_known, open_known
from lasec.errors import TableError
from lasec.tables import Table, TableLearner, open_table, table_of
from lasec.tables.cells import as_label, folded, in_order, is_number
from lasec.tables.kinds import nearest

REMEMBER = 1_000  # last rows with an id, for labels that nobody asked for
USUAL = ("label", "labels", "class", "target", "y", "outcome")  # names that label columns have
MANY, OFTEN = 20, 20  # more distinct numbers, with fewer rows for each: a regression target
MOST, SELDOM = 100, 2  # more distinct values, with fewer rows for each: names of rows
SEARCHED = 1_000  # columns, among which candidates are looked for


class Opened(NamedTuple):
    """A table, how it is read, and its classes."""

    table: Table
    reading: Reading
    classes: list[str]
    title: str

    @property
    def separated(self) -> list[str]:
        """The classes that a learner tells apart, as far as they are known."""
        positive = as_label(self.reading.positive)
        return self.classes if positive is None else list(map(str, against_others(positive)))

    def length(self, limit: int | None) -> int | None:
        """How many rows there are up to a limit, as far as the size of the file tells."""
        known = [rows for rows in (self.table.expected, limit) if rows is not None]
        rows = min((each for each in known if math.isfinite(each)), default=math.inf)
        return round(rows) if math.isfinite(rows) else None

    @property
    def label(self) -> str:
        """The label column."""
        assert self.reading.label is not None
        return self.reading.label


def open_file(file: str, reading: Reading) -> Opened:
    """Open a file or a known stream, and check that its label is there and has classes."""
    table, reading = _find(file, reading)
    title = "standard input" if file == "-" else Path(file).name
    try:
        if reading.label is None:
            raise no_label(table)
        for name in (reading.label, reading.time):
            if name is not None and name not in table.names:
                raise no_column(name, table, title)
        return Opened(table, reading, classes(table, reading), title)
    except TableError:
        table.__exit__()
        raise


def _find(file: str, reading: Reading) -> tuple[Table, Reading]:
    """The table of a file, or of a known stream, whose label is known."""
    if not Path(file).exists() and is_known(file):
        return _known(file, reading)
    table = open_table(
        file, format=reading.format, separator=reading.separator, texts=reading.texts
    )
    if reading.label is None and table.names == ["label", "features"]:  # svmlight
        reading = reading._replace(label="label")
    return table, reading


def _known(name: str, reading: Reading) -> tuple[Table, Reading]:
    data = open_known(name, reading.data)
    reading = reading._replace(label=reading.label or data.label)
    return table_of(data.columns, reading.texts), reading


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


def build(
    opened: Opened, algorithm: str, asking: Asking, *, alarms: bool = False, **origin: Any
) -> TableLearner:
    """A new learner for a table."""
    judges = [one.column for one in asking.sources if one.column is not None]
    spec = asking.spec(
        algorithm, opened.reading, opened.classes, alarms=alarms, remember=REMEMBER, apart=judges
    )
    return spec.table(opened.table.head, **origin)


def model_file(path: Path) -> Path:
    """A model file, or that in the directory of a run."""
    if not path.is_dir():
        return path
    if (path / MODEL).is_file():
        return path / MODEL
    raise TableError(f"{path} is a directory without a {MODEL}: give a model file")


def fingerprint(head: pa.RecordBatch) -> str:
    """A digest of a table's first rows."""
    rows = repr(head.slice(0, 100).to_pylist()).encode("utf-8", "replace")
    return hashlib.blake2b(rows, digest_size=8).hexdigest()
