"""A learner for tables: rows with named columns in, names of classes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.errors import StateError, TableError
from lasec.files import write
from lasec.learner import Learner
from lasec.persistence import record
from lasec.persistence.container import Arrays, checking, read
from lasec.session import Session
from lasec.session.saved import SessionFile
from lasec.sparse import one_by_one
from lasec.tables.cells import as_label, batch_of, folded, moment, moments
from lasec.tables.encoder import Encoder
from lasec.tables.watched import cells
from lasec.types import Decision, Matrix, Outcome


class Rows(NamedTuple):
    """The rows of a batch as features, labels (None where the cell is empty) and times.

    ``cells`` is what detectors see: numbers before they are scaled (:mod:`lasec.tables.watched`).
    """

    X: Any
    y: NDArray[Any]
    times: NDArray[np.float64] | None
    cells: Matrix | None


class Read(NamedTuple):
    """Rows without labels as features, the time of each or None, and what detectors see."""

    X: Any
    clock: Sequence[float | None]
    cells: Matrix | None

    def one_by_one(self, ids: Sequence[str | int | None]) -> Iterator[dict[str, Any]]:
        """Each row with what else :meth:`~lasec.Session.ask` takes, as its arguments."""
        cells = [None] * len(ids) if self.cells is None else list(self.cells)
        columns = zip(one_by_one(self.X), self.clock, ids, cells, strict=True)
        return (dict(zip(("row", "time", "id", "cells"), one, strict=True)) for one in columns)


@dataclass(frozen=True)
class TableFile:
    """What a file holds of a learner for tables; ``parts`` are files of the caller."""

    KIND: ClassVar[str] = "table"

    session: SessionFile
    encoder: Encoder
    label: str
    time: str | None
    id: str | None
    origin: dict  # type: ignore[type-arg]
    parts: Arrays


class TableLearner:
    """Predicts, asks and learns rows of a table, whose classes have names.

    It holds a learner, or a session of one, and the encoder of its rows. ``label`` is the label
    column, ``classes`` are the names of a learner's classes; those not given are taken from the
    labels as they come. With ``positive``, it is that class against all others together. ``time``
    is the column with the time of a row, for budgets by time, ``id`` the one with its name.

    >>> import lasec
    >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
    >>> encoder = Encoder.fit(head)
    >>> desk = TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"])
    >>> desk.learn({"price": 2.5}, "up")
    >>> decision = desk.ask([{"price": 2.0}])[0]
    >>> decision.label, desk.tell(decision.ticket, "down").correct
    ('up', False)
    """

    def __init__(
        self,
        learner: Learner | Session,
        encoder: Encoder,
        *,
        label: str = "label",
        classes: Sequence[str] = (),
        positive: str | None = None,
        time: str | None = None,
        id: str | None = None,  # noqa: A002
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self.encoder, self.label, self.time, self.id = encoder, label, time, id
        if isinstance(learner, Learner):
            names = [as_label(name) or "" for name in classes]
            learner = Session(learner, classes=names, positive=as_label(positive))
        self.session, self.learner = learner, learner.learner
        self.origin = dict(origin or {})

    @property
    def classes(self) -> list[str]:
        """The names of the classes that are known."""
        return self.session.classes

    def named(self, label: object) -> Any:
        """The class of a label as a cell has it; None where it is empty.

        >>> import lasec
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}])
        >>> desk = TableLearner(lasec.Tracker(1), Encoder.fit(head), positive="up")
        >>> desk.named("up"), desk.named("down"), desk.named("")
        ('up', 'not up', None)
        """
        name = as_label(label)
        if name is None:
            return None
        name = self.session.named(name)
        self._check_spelling(name)
        return name

    def heard(self, label: object) -> Any:
        """The class that a judge says; None where that is none, or is misspelled.

        >>> import lasec
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}])
        >>> desk = TableLearner(lasec.Tracker(1), Encoder.fit(head), classes=["spam", "ham"])
        >>> desk.heard("spam"), desk.heard("Spam")
        ('spam', None)
        """
        try:
            return self.named(label)
        except TableError:
            return None

    def _check_spelling(self, name: str) -> None:
        """Refuse a new class that differs from one that is known only in spelling."""
        known = self.classes
        if name not in known:
            for other in known:
                if folded(other) == folded(name):
                    raise TableError(
                        f"{name!r} differs from {other!r} only in spelling: use one spelling"
                    )

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch, encoded; the encoder learns from them."""
        coded = batch[self.label].dictionary_encode()
        names = [self.named(name) for name in coded.dictionary.to_pylist()] + [None]
        at = coded.indices.fill_null(len(names) - 1).to_numpy(zero_copy_only=False)
        y = np.array(names, dtype=object)[at]
        times = None if self.time is None else moments(batch[self.time])
        X = self.encoder.encode(batch)
        return Rows(X, y, times, self._cells(batch, X))

    def _cells(self, batch: pa.RecordBatch, X: Any) -> Matrix | None:
        """What detectors see of a batch, if there is one that looks."""
        return cells(self.encoder, batch, X) if self.session.detectors else None

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> list[Decision]:
        """A decision for each row; if one cannot be read, none is asked."""
        read = self.read(rows)
        ids = [self.id_of(row) for row in rows]
        return [self.session.ask(**one) for one in read.one_by_one(ids)]

    def read(self, rows: Sequence[Mapping[str, Any]]) -> Read:
        """Rows without a label, encoded, the time of each, and what detectors see of them."""
        batch = batch_of(rows, self.encoder.columns)
        clock: Sequence[float | None] = [None] * len(rows)
        if self.time is not None:
            clock = [moment(row.get(self.time)) for row in rows]
        X = self.encoder.encode(batch)
        return Read(X, clock, self._cells(batch, X))

    def probabilities(self, X: Any) -> list[dict[str, float]]:
        """The probability of each class for rows as :meth:`read` gives them.

        Empty where the learner has none, or has learned nothing yet.

        >>> import lasec
        >>> head = pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}])
        >>> desk = TableLearner(lasec.Tracker(1, seed=0), Encoder.fit(head), classes=["down", "up"])
        >>> desk.learn({"price": 2.5}, "up")
        >>> list(desk.probabilities(desk.read([{"price": 2.0}])[0])[0])
        ['down', 'up']
        """
        learner = self.learner
        if not learner.has_probabilities or not learner.told or None in learner.classes:
            return []
        likely = learner.predict_proba(X).tolist()
        return [dict(zip(learner.classes, row, strict=True)) for row in likely]

    def id_of(self, row: Mapping[str, Any]) -> str | int | None:
        """The caller's name for a row: text or a whole number in the column ``id``."""
        found = None if self.id is None else row.get(self.id)
        if isinstance(found, bool) or not isinstance(found, str | int):
            return None if found is None else str(found)
        return found

    def tell(
        self,
        question: str | int | None = None,
        label: object = None,
        *,
        id: str | int | None = None,  # noqa: A002
        by: str | None = None,
        confidence: float | None = None,
    ) -> Outcome:
        """Learn the class of a row that was asked about, by its ticket or its id.

        A whole number is a ticket, unless it is given as ``id``. ``by`` names who answered: with
        several annotators, each name counts once. A judge may have no answer, and a ``confidence``.
        """
        name = self.heard(label) if self.session.is_judge(by) else self._class(label)
        return self.session.tell(question, name, id=id, by=by, confidence=confidence)

    def learn(self, row: Mapping[str, Any], label: object) -> None:
        """Learn a row that nobody asked for; it is no part of any estimate."""
        (x,) = one_by_one(self.read([row])[0])
        self.session.learn(x, self._class(label))

    def _class(self, label: object) -> str:
        name: str | None = self.named(label)
        if name is None:
            raise TableError(f"expected a label, got {label!r}")
        return name

    def to_bytes(self, **parts: bytes) -> bytes:
        """The state as bytes for :meth:`from_bytes`, together with ``parts`` of the caller."""
        return self.packing(**parts)()

    def packing(self, **parts: bytes) -> Callable[[], bytes]:
        """What gives :meth:`to_bytes` as it is now, at any time and in any thread."""
        frozen, encoder, origin = self.session.frozen(), deepcopy(self.encoder), dict(self.origin)
        label, time, name = self.label, self.time, self.id
        files = {part: np.frombuffer(data, np.uint8) for part, data in parts.items()}
        return lambda: record.dump(TableFile(frozen(), encoder, label, time, name, origin, files))

    def save(self, path: str | os.PathLike[str], **parts: bytes) -> None:
        """Write it to a file, atomically."""
        write(path, self.to_bytes(**parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Self, dict[str, bytes]]:
        """Restore what :meth:`to_bytes` wrote; returns it and the caller's parts."""
        file = record.load(TableFile, data)
        with checking():
            made = cls(
                Session.of(file.session), file.encoder, label=file.label, time=file.time,
                id=file.id, origin=file.origin,
            )  # fmt: skip
        if made.learner.dimension != file.encoder.dimension:
            raise StateError("invalid: the learner takes other rows than the encoder makes")
        if not all(isinstance(name, str) for name in made.classes):
            raise StateError("invalid: the names of classes of a table are text")
        return made, {name: array.tobytes() for name, array in file.parts.items()}

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
