"""A learner at a table: rows with named columns go in, classes with names come out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.errors import StateError, TableError, TicketError
from lasec.files import write
from lasec.learner import Learner
from lasec.metrics import Meter
from lasec.state import Arrays, pack, read, restored
from lasec.tables.cells import as_label, batch_of, moment, moments
from lasec.tables.encoder import Encoder
from lasec.tracker import Tracker
from lasec.types import Decision, Outcome

KIND = "table"


class Note(NamedTuple):
    """What is kept with an open question: some of its cells, and who has answered so far."""

    columns: Mapping[str, Any] = MappingProxyType({})
    answered_by: tuple[str, ...] = ()


class Rows(NamedTuple):
    """Rows as a learner takes them: which rows of the batch have a label, and what they hold."""

    kept: NDArray[np.int64]
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    times: NDArray[np.float64] | None


class TableLearner:
    """A learner, the encoder of its rows, the names of its classes, and a meter of its accuracy.

    ``label`` names the column of labels, ``classes`` are the names of -1 and +1: those not given
    are taken from the labels as they come. With ``positive``, that class is +1 and all others
    together are -1. ``time`` names the column of times, for budgets by time.

    >>> import lasec
    >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
    >>> encoder = Encoder.fit(head)
    >>> desk = TableLearner(lasec.Tracker(1), encoder, classes=["down", "up"])
    >>> decision = desk.ask([{"price": 2.0}])[0]
    >>> desk.name(decision.label), desk.tell(decision.ticket, "down").correct
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
    ) -> None:
        self.learner, self.encoder, self.meter = learner, encoder, meter or Meter()
        self.label, self.time = label, time
        self.positive = None if positive is None else as_label(positive)
        self.classes = [as_label(name) or "" for name in classes]
        if self.positive is not None:
            self.classes = [f"not {self.positive}", self.positive]
        if len(set(self.classes)) != len(self.classes) or len(self.classes) > 2:
            raise TableError(f"expected two classes, got {', '.join(self.classes)}")
        self.origin = dict(origin or {})
        self._notes = dict(notes or {})

    def name(self, sign: int) -> str | None:
        """The class of a label -1 or +1; None while it has no name yet."""
        index = 0 if sign < 0 else 1
        return self.classes[index] if index < len(self.classes) else None

    def sign(self, name: object) -> int:
        """-1 or +1 for the name of a class; a name that is new becomes the second class."""
        text = as_label(name)
        if text is None:
            raise TableError(f"expected a label, got {name!r}")
        if self.positive is not None:
            return 1 if text == self.positive else -1
        if text not in self.classes:
            if len(self.classes) == 2:
                raise TableError(
                    f"{text!r} is a third class, beside {' and '.join(map(repr, self.classes))}: a "
                    "learner tells two apart; lasec run --positive takes one against all others"
                )
            self.classes.append(text)
        return 1 if self.classes.index(text) else -1

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
        """Rows without a label, encoded, and when each came, if that is known."""
        batch = batch_of(rows, self.encoder.columns)
        clock: Sequence[float | None] = [None] * len(rows)
        if self.time is not None:
            clock = [moment(row.get(self.time)) for row in rows]
        return self.encoder.encode(batch), clock

    def ask_read(self, x: NDArray[np.float64], time: float | None) -> Decision:
        """A decision for one row as :meth:`read` gives it."""
        decision = self.learner.ask(x, time=time)
        self.meter.ask(decision)
        self._give_up()
        return decision

    def tell(self, ticket: int, name: object, by: str | None = None) -> Outcome:
        """Learn the class of a row that was asked about.

        ``by`` names who answered: where several opinions are wanted, each name counts once.
        """
        note = self._notes.get(ticket, Note())
        if by is not None and by in note.answered_by:
            raise TicketError(f"ticket {ticket}: {by!r} has answered already")
        outcome = self.learner.tell(ticket, self.sign(name))
        if by is not None:
            self._notes[ticket] = note._replace(answered_by=(*note.answered_by, by))
        self.meter.tell(outcome)
        return outcome

    def cancel(self, ticket: int) -> None:
        """Give up an open question; the meter counts it as lost."""
        self.learner.cancel(ticket)
        self._give_up()

    def keep(self, ticket: int, columns: Mapping[str, Any]) -> None:
        """Keep some cells with an open question, for :attr:`questions`."""
        self._notes[ticket] = self._notes.get(ticket, Note())._replace(columns=dict(columns))

    @property
    def questions(self) -> list[tuple[Decision, dict[str, Any]]]:
        """The open questions, oldest first, with the cells that were kept.

        >>> import lasec
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
        >>> desk = TableLearner(lasec.Tracker(1), Encoder.fit(head), classes=["down", "up"])
        >>> desk.keep(desk.ask([{"price": 2.0}])[0].ticket, {"id": "mail-17"})
        >>> [(decision.ticket, columns) for decision, columns in desk.questions]
        [(0, {'id': 'mail-17'})]
        """
        return [
            (decision, dict(self._notes.get(decision.ticket, Note()).columns))
            for decision in self.learner.questions
        ]

    def _give_up(self) -> None:
        """Tell the meter of questions that the learner has given up."""
        for ticket in self.learner.given_up():
            self.meter.lose(ticket)

    def to_bytes(self, **parts: bytes) -> bytes:
        """All of it as bytes that :meth:`from_bytes` reads; ``parts`` are kept beside it."""
        own = {"learner": self.learner.to_bytes(), "meter": self.meter.to_bytes()}
        notes = {t: note for t, note in self._notes.items() if self.learner.is_open(t)}
        if notes:
            plain = [[t, dict(note.columns), note.answered_by] for t, note in notes.items()]
            own["notes"] = json.dumps(plain).encode()
        parts = own | parts
        header = {
            "kind": KIND,
            "encoder": self.encoder.header(),
            "label": self.label,
            "classes": self.classes,
            "positive": self.positive,
            "time": self.time,
            "origin": self.origin,
            "parts": {name: len(data) for name, data in parts.items()},
        }
        arrays: Arrays = {f"encoder.{name}": a for name, a in self.encoder.arrays().items()}
        for name, data in parts.items():
            padded = data + b"\0" * (-len(data) % 8)
            arrays[f"part.{name}"] = np.frombuffer(padded, "<i8")
        return pack(header, arrays)

    def save(self, path: str | os.PathLike[str], **parts: bytes) -> None:
        """Write it to a file, all of it or nothing."""
        write(path, self.to_bytes(**parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Self, dict[str, bytes]]:
        """What :meth:`to_bytes` wrote, and the parts that were kept beside it."""
        return restored(data, cls._restore)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: Arrays) -> tuple[Self, dict[str, bytes]]:
        """What :meth:`to_bytes` put into the file."""
        if header.get("kind") != KIND:
            raise StateError(
                "foreign: this model has no columns: it is a plain one, for lasec.Learner"
            )
        _check(header)
        parts = {
            name: _part(arrays[f"part.{name}"], size) for name, size in header["parts"].items()
        }
        sums = {n: arrays[f"encoder.{n}"] for n in ("count", "mean", "spread")}
        if any((sums[n] < 0.0).any() for n in ("count", "spread")):
            raise StateError("invalid: a count or a spread is negative")
        encoder = Encoder.restore(header["encoder"], sums)
        made = cls(
            read_learner(parts.pop("learner")), encoder, label=header["label"],
            classes=() if header["positive"] is not None else header["classes"],
            positive=header["positive"], time=header["time"],
            meter=Meter.from_bytes(parts.pop("meter")), origin=header["origin"],
            notes=_notes(parts.pop("notes", b"[]")),
        )  # fmt: skip
        names = {column.name for column in encoder.columns}
        if made.learner.dimension != encoder.dimension or len(names) < len(encoder.columns):
            raise StateError("invalid: the learner takes other rows than the encoder makes")
        return made, parts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The learner of a file.

        >>> import lasec, tempfile
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TableLearner(lasec.Tracker(1), Encoder.fit(head)).save(f"{folder}/m.lasec")
        ...     TableLearner.load(f"{folder}/m.lasec").learner
        Tracker('Tracker', dimension=1, rounds=0, asked=0, updates=0)
        """
        return cls.from_bytes(read(path))[0]


def _notes(data: bytes) -> dict[int, Note]:
    """The notes of a file."""
    notes: dict[int, Note] = {}
    for ticket, columns, names in json.loads(data.decode()):
        if not (type(ticket) is int and isinstance(columns, dict) and isinstance(names, list)):
            raise ValueError("a note is not that of a question")
        notes[ticket] = Note(columns, tuple(map(str, names)))
    return notes


def read_learner(data: bytes) -> Learner:
    """The learner of some bytes: a Tracker where it is one."""
    return restored(data, _class_of).from_bytes(data)


def _class_of(header: dict[str, Any], arrays: Arrays) -> type[Learner]:
    if header.get("kind") == KIND:
        raise StateError("foreign: this is a learner at a table; load it with tables.TableLearner")
    kinds = [header[part]["kind"] for part in ("rule", "query")]
    return Tracker if kinds == ["Tracking", "Budgeted"] else Learner


def _check(header: dict[str, Any]) -> None:
    """Raise an error where the header names columns or classes by anything but text."""
    names = [header["label"], *header["classes"]]
    names += [name for name in (header["positive"], header["time"]) if name is not None]
    if not all(isinstance(name, str) for name in names) or not isinstance(header["classes"], list):
        raise StateError("invalid: columns and classes must be named by text")
    if not isinstance(header["origin"], dict):
        raise StateError("invalid: the origin is not a JSON object")


def _part(padded: NDArray[np.int64], size: object) -> bytes:
    """The bytes that were kept, without what fills them up to whole numbers."""
    data = padded.astype("<i8").tobytes()
    if type(size) is not int or not 0 <= len(data) - size < 8 or padded.dtype != np.int64:
        raise StateError("invalid: a part is not as long as it says")
    return data[:size]
