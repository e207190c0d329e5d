"""A learner for tables: rows with named columns in, names of classes out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.alarms import Detector
from lasec.classes import Classes
from lasec.errors import ClassError, StateError, TableError
from lasec.files import write
from lasec.learner import Learner
from lasec.metrics import Meter
from lasec.persistence.container import Arrays, bundle, pack, read, restored, unbundle
from lasec.session import Note, OwnModel, Session
from lasec.session.saved import read_detectors, read_learner, read_notes
from lasec.tables.cells import as_label, batch_of, folded, moment, moments
from lasec.tables.encoder import Encoder
from lasec.types import Decision, Outcome

KIND = "table"


class Rows(NamedTuple):
    """The rows of a batch that have a label (``kept``), as features, labels and times."""

    kept: NDArray[np.int64]
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    times: NDArray[np.float64] | None


class TableLearner:
    """Predicts, asks and learns rows of a table, with class names in place of -1 and +1.

    It holds a learner, the encoder of its rows, and a meter of its accuracy. ``label`` is the label
    column, ``classes`` are the names of -1 and +1; those not given are taken from the labels as
    they come. With ``positive``, that class is +1 and all others together are -1. ``time`` is the
    column with the time of a row, for budgets by time.

    >>> import lasec
    >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
    >>> encoder = Encoder.fit(head)
    >>> desk = TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"])
    >>> decision = desk.ask([{"price": 2.0}])[0]
    >>> decision.label, desk.tell(decision.ticket, "down").correct
    ('up', False)
    """

    def __init__(
        self,
        learner: Learner,
        encoder: Encoder,
        *,
        label: str = "label",
        classes: Sequence[str] = (),
        positive: str | None = None,
        time: str | None = None,
        meter: Meter | None = None,
        origin: Mapping[str, Any] | None = None,
        notes: Mapping[int, Note] | None = None,
        detectors: Sequence[Detector] = (),
    ) -> None:
        self.encoder, self.label, self.time = encoder, label, time
        try:
            self.names = Classes([as_label(name) or "" for name in classes], as_label(positive))
        except ValueError as error:
            raise TableError(str(error)) from error
        self.session = Session(
            OwnModel(learner, self.names), meter=meter, notes=notes, detectors=detectors
        )
        self.learner, self.meter = learner, self.session.meter
        self.origin = dict(origin or {})

    @property
    def classes(self) -> list[str]:
        """The names of -1 and +1, those that are known."""
        return self.names.names

    @property
    def positive(self) -> str | None:
        """The class that is +1, where all others together are -1."""
        return self.names.positive  # type: ignore[return-value]

    def name(self, sign: int) -> str | None:
        """The class of a label -1 or +1; None while it has no name yet."""
        found: str | None = self.names.name(sign)
        return found

    def sign(self, name: object) -> int:
        """-1 or +1 for the name of a class; a name that is new becomes the second class."""
        with _third_class_explained(name, self.classes):
            return self.names.sign(_text(name))

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows that have a label, encoded; the encoder learns from them."""
        coded = batch[self.label].dictionary_encode()
        names = [as_label(name) for name in coded.dictionary.to_pylist()]
        signs = np.array([0 if n is None else self.sign(n) for n in names] + [0], dtype=np.float64)
        y = signs[coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)]
        kept = np.flatnonzero(y)
        if kept.size < batch.num_rows:
            batch, y = batch.take(pa.array(kept)), y[kept]
        times = None if self.time is None else moments(batch[self.time])
        return Rows(kept, self.encoder.encode(batch), y, times)

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> list[Decision]:
        """A decision for each row; if one cannot be read, none is asked."""
        X, clock = self.read(rows)
        return [self.ask_read(x, time) for x, time in zip(X, clock, strict=True)]

    def read(
        self, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[NDArray[np.float64], Sequence[float | None]]:
        """Rows without a label, encoded, and the time of each, or None."""
        batch = batch_of(rows, self.encoder.columns)
        clock: Sequence[float | None] = [None] * len(rows)
        if self.time is not None:
            clock = [moment(row.get(self.time)) for row in rows]
        return self.encoder.encode(batch), clock

    def ask_read(self, x: NDArray[np.float64], time: float | None) -> Decision:
        """A decision for one row as :meth:`read` gives it; its label is the name of a class."""
        return self.session.ask(x, time=time)

    def tell(self, ticket: int, name: object, by: str | None = None) -> Outcome:
        """Learn the class of a row that was asked about.

        ``by`` names who answered: with several annotators, each name counts once.
        """
        with _third_class_explained(name, self.classes):
            return self.session.tell(ticket, _text(name), by=by)

    def cancel(self, ticket: int) -> None:
        """Give up an open question; the meter counts it as lost."""
        self.session.cancel(ticket)

    def keep(self, ticket: int, columns: Mapping[str, Any]) -> None:
        """Keep some cells with an open question, for :attr:`questions`."""
        self.session.keep(ticket, columns)

    @property
    def questions(self) -> list[tuple[Decision, dict[str, Any]]]:
        """The open questions, oldest first, with the cells that were kept.

        >>> import lasec
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
        >>> desk = TableLearner(lasec.Tracker(1, seed=0), Encoder.fit(head), classes=["down", "up"])
        >>> desk.keep(desk.ask([{"price": 2.0}])[0].ticket, {"id": "mail-17"})
        >>> [(decision.ticket, columns) for decision, columns in desk.questions]
        [(0, {'id': 'mail-17'})]
        """
        return [(decision, dict(note.columns)) for decision, note in self.session.questions]

    def to_bytes(self, **parts: bytes) -> bytes:
        """The state as bytes for :meth:`from_bytes`, together with ``parts`` of the caller."""
        sizes, arrays = bundle(self.session.parts() | parts)
        header = {
            "kind": KIND,
            "encoder": self.encoder.header(),
            "label": self.label,
            "classes": self.classes,
            "positive": self.positive,
            "time": self.time,
            "origin": self.origin,
            "parts": sizes,
        }
        coded = {f"encoder.{name}": a for name, a in self.encoder.arrays().items()}
        return pack(header, coded | arrays)

    def save(self, path: str | os.PathLike[str], **parts: bytes) -> None:
        """Write it to a file, atomically."""
        write(path, self.to_bytes(**parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Self, dict[str, bytes]]:
        """Restore what :meth:`to_bytes` wrote; returns it and the caller's parts."""
        return restored(data, cls._restore)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: Arrays) -> tuple[Self, dict[str, bytes]]:
        """What :meth:`to_bytes` put into the file."""
        if header.get("kind") != KIND:
            raise StateError(
                "foreign: this model has no columns: it is a plain one, for lasec.Learner"
            )
        _check(header)
        parts = unbundle(header["parts"], arrays)
        sums = {n: arrays[f"encoder.{n}"] for n in ("count", "mean", "spread")}
        if any((sums[n] < 0.0).any() for n in ("count", "spread")):
            raise StateError("invalid: a count or a spread is negative")
        encoder = Encoder.restore(header["encoder"], sums)
        made = cls(
            read_learner(parts.pop("learner")), encoder, label=header["label"],
            classes=() if header["positive"] is not None else header["classes"],
            positive=header["positive"], time=header["time"],
            meter=Meter.from_bytes(parts.pop("meter")), origin=header["origin"],
            notes=read_notes(parts.pop("notes", b"[]")), detectors=read_detectors(parts),
        )  # fmt: skip
        names = {column.name for column in encoder.columns}
        if made.learner.dimension != encoder.dimension or len(names) < len(encoder.columns):
            raise StateError("invalid: the learner takes other rows than the encoder makes")
        return made, parts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read it from a file.

        >>> import lasec, tempfile
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TableLearner(lasec.Tracker(1, seed=0), Encoder.fit(head)).save(f"{folder}/m.lasec")
        ...     TableLearner.load(f"{folder}/m.lasec").learner
        Tracker('Tracker', dimension=1, rows=0, asked=0, updates=0)
        """
        return cls.from_bytes(read(path))[0]


@contextmanager
def _third_class_explained(name: object, classes: list[str]) -> Iterator[None]:
    """A class that cannot be taken, with what can be done about it."""
    try:
        yield
    except ClassError as error:
        alike = [known for known in classes if folded(known) == folded(str(name))]
        advice = "use lasec run --positive CLASS for one class against the others"
        if alike:
            advice = f"it differs from {alike[0]!r} only in spelling: use one spelling"
        raise TableError(f"{error}; {advice}") from error


def _text(name: object) -> str:
    """A label as text, or an error where it is missing."""
    text = as_label(name)
    if text is None:
        raise TableError(f"expected a label, got {name!r}")
    return text


def _check(header: dict[str, Any]) -> None:
    """Raise an error where the header names columns or classes by anything but text."""
    names = [header["label"], *header["classes"]]
    names += [name for name in (header["positive"], header["time"]) if name is not None]
    if not all(isinstance(name, str) for name in names) or not isinstance(header["classes"], list):
        raise StateError("invalid: columns and classes must be named by text")
    if not isinstance(header["origin"], dict):
        raise StateError("invalid: the origin is not a JSON object")
