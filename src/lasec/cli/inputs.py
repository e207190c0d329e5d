"""From a file, or the name of a known stream, to a table and a learner for it."""

from __future__ import annotations

import hashlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lasec.alarms import Detector, DropAlarm, InputAlarm
from lasec.cli.known import is_known, open_known
from lasec.cli.options import Asking, Reading
from lasec.cli.output import say
from lasec.errors import TableError
from lasec.learner import Learner
from lasec.registry import find, make
from lasec.tables import Encoder, Table, TableLearner, open_table, table_of
from lasec.tables.cells import as_label, in_order
from lasec.tables.kinds import nearest


class Opened(NamedTuple):
    """A table, how it is read now that it is known, and its classes."""

    table: Table
    reading: Reading
    classes: list[str]
    title: str

    @property
    def label(self) -> str:
        """The column of labels."""
        assert self.reading.label is not None
        return self.reading.label


def open_file(file: str, reading: Reading) -> Opened:
    """Open a file or a known stream, and see to it that the columns named are there."""
    table, reading = _find(file, reading)
    try:
        if reading.label is None:
            raise TableError(f"which column holds the labels? Say --label; there are {_few(table)}")
        for name in (reading.label, reading.time):
            if name is not None and name not in table.names:
                raise nearest(name, table.names, "column")
        return Opened(table, reading, _classes(table, reading), Path(file).name)
    except TableError:
        table.__exit__()
        raise


def _find(file: str, reading: Reading) -> tuple[Table, Reading]:
    """The table of a file, or of a known stream with its own label."""
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
    several = len(np.unique(data.columns[data.label])) > 2
    if several and data.positive is not None and (reading.label, reading.positive) == (
        data.label, None,
    ):  # fmt: skip
        reading = reading._replace(positive=as_label(data.positive))
    return table_of(data.columns, reading.texts), reading


def _few(table: Table) -> str:
    names = [name[:80] for name in table.names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _classes(table: Table, reading: Reading) -> list[str]:
    """The two classes of the first rows, in order; those that are not there yet come later."""
    labels = table.head[reading.label].drop_null().unique().to_pylist()
    found = in_order({name for label in labels if (name := as_label(label)) is not None})
    if reading.positive is not None:
        _look_for(as_label(reading.positive), found)
        return []
    if len(found) > 2:
        shown = ", ".join(name[:80] for name in found[:8]) + (" ..." if len(found) > 8 else "")
        raise TableError(
            f"{reading.label} has {len(found)} values ({shown}): "
            "which one is looked for? Say --positive"
        )
    return found if len(found) == 2 else []


def _look_for(positive: str | None, found: list[str]) -> None:
    """A positive class that is not there yet may come; one that is misspelt will not."""
    if positive is None:
        raise TableError("--positive: which class?")
    if positive not in found:
        few = [name[:80] for name in found[:1_000]]
        if get_close_matches(positive[:80], few, cutoff=0.6):
            raise nearest(positive, few, "class")
        say(
            f"lasec: warning: no row of the class {positive[:80]!r} so far: "
            f"there are {', '.join(few[:8])}"
        )


def encoder(opened: Opened, constant: bool) -> Encoder:
    """The encoder of a table; its label and its times are not features."""
    reading = opened.reading
    beside = frozenset(name for name in (reading.label, reading.time) if name is not None)
    return Encoder.fit(
        opened.table.head, kinds=reading.kinds, left_out=beside, hash_buckets=reading.hash_buckets,
        standardize=reading.standardize, constant=constant,
    )  # fmt: skip


def learner(algorithm: str, dimension: int, reading: Reading, asking: Asking) -> Learner:
    """The learner of an algorithm, with its budget."""
    several = asking.annotators > 1
    return make(
        algorithm, dimension, rate=asking.rate, budget=asking.budget(reading.time),
        settings=asking.parameters(), seed=asking.seed, max_age=asking.oldest(reading.time),
        lead=asking.lead, aggregate="majority" if several else "first",
        annotators=asking.annotators if several else 3,
    )  # fmt: skip


def detectors(wanted: bool) -> list[Detector]:
    """What --alarms watches with."""
    return [DropAlarm(), InputAlarm()] if wanted else []


def build(
    opened: Opened, algorithm: str, asking: Asking, *, alarms: bool = False, **origin: Any
) -> TableLearner:
    """A new learner for a table."""
    made = encoder(opened, constant=not find(algorithm).has_intercept)
    return TableLearner(
        learner(algorithm, made.dimension, opened.reading, asking), made,
        label=opened.label, classes=opened.classes, positive=opened.reading.positive,
        time=opened.reading.time, origin=origin, detectors=detectors(alarms),
    )  # fmt: skip


def fingerprint(head: pa.RecordBatch) -> str:
    """A few characters that tell one table's beginning from another's."""
    rows = repr(head.slice(0, 100).to_pylist()).encode("utf-8", "replace")
    return hashlib.blake2b(rows, digest_size=8).hexdigest()
