"""The input of a command: a file or known stream as a table, and a learner for it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lasec.classes import against_others
from lasec.cli.known import is_known, open_known
from lasec.cli.labels import classes, no_column, no_label
from lasec.cli.options import Asking, Reading
from lasec.cli.runner import MODEL
from lasec.errors import TableError
from lasec.learner import Learner
from lasec.registry import find, make
from lasec.tables import Encoder, Table, TableLearner, open_table, table_of
from lasec.tables.cells import as_label
from lasec.tables.kinds import nearest
from lasec.tables.usual import check_algorithm, detectors

REMEMBER = 1_000  # last rows with an id, for labels that nobody asked for


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


def encoder(opened: Opened, constant: bool) -> Encoder:
    """The encoder of a table, in which label and time are not features."""
    reading = opened.reading
    left_out = frozenset(name for name in (reading.label, reading.time) if name is not None)
    made = Encoder.fit(
        opened.table.head, kinds=reading.kinds, left_out=left_out, constant=constant,
        standardize=reading.standardize, ngrams=reading.lengths,
    )  # fmt: skip
    check_ngrams(reading, made)
    return made


def check_ngrams(reading: Reading, made: Encoder) -> None:
    """Refuse n-grams where an encoder counts no words."""
    if reading.ngrams is not None and made.ngrams is None:
        raise TableError("--ngrams is for tables with texts")


def learner(
    algorithm: str, dimension: int, reading: Reading, asking: Asking, classes: Sequence[str] = (),
    *, sparse: bool = False, dense: int = 0,
) -> Learner:  # fmt: skip
    """A learner with its label budget; of sparse rows, the first ``dense`` columns are no words."""
    weights = asking.weights()
    for name in weights if isinstance(weights, dict) and classes else ():
        if name not in classes:
            raise nearest(name, list(classes), "class")
    several = asking.annotators > 1
    return make(
        algorithm, dimension, rate=asking.rate, budget=asking.budget(reading.time),
        settings=asking.parameters(), seed=asking.seed, max_age=asking.oldest(reading.time),
        lead=asking.lead, aggregate="majority" if several else "first",
        annotators=asking.annotators if several else 3, classes=classes or None,
        class_weight=weights, sparse=sparse, dense=dense,
    )  # fmt: skip


def build(
    opened: Opened, algorithm: str, asking: Asking, *, alarms: bool = False, **origin: Any
) -> TableLearner:
    """A new learner for a table."""
    made, reading = encoder(opened, not find(algorithm).has_intercept), opened.reading
    check_algorithm(made, algorithm)
    of_rows = learner(
        algorithm, made.dimension, reading, asking, opened.classes, sparse=made.words > 0,
        dense=made.dense,
    )  # fmt: skip
    return TableLearner(
        of_rows, made, label=opened.label, positive=reading.positive, time=reading.time, id="id",
        origin=origin, detectors=detectors(alarms, made), remember=REMEMBER,
    )  # fmt: skip


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
