"""A session as a record: its learner, its meter, and what is kept with its open questions."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from lasec.alarms import Detector, DropAlarm, InputAlarm, read
from lasec.learner import Learner, LearnerFile, revived
from lasec.metrics import Meter
from lasec.parameters import Range
from lasec.persistence.container import Arrays, checking
from lasec.persistence.record import load
from lasec.sources import Buying
from lasec.sparse import PAIR, is_sparse, matrix, one_by_one, row, split
from lasec.tracker import Tracker, is_tracker
from lasec.validation import class_label

Ticket = Annotated[int, Range(0, 2**62)]


class Note(NamedTuple):
    """The id of a row, some of its cells, and who has answered so far.

    >>> Note(id="mail-7").answered_by
    ()
    """

    id: Hashable = None
    columns: Mapping[str, Any] = MappingProxyType({})
    answered_by: tuple[str, ...] = ()


def row_id(name: Any) -> str | int | None:
    """The id of a row, if a file can keep it."""
    if not isinstance(name, str | int | None):
        raise TypeError(f"id: only text and whole numbers can be saved, got {name!r}")
    return name


class KeptNote(NamedTuple):
    """A :class:`Note` as a file has it, with the cells as JSON.

    >>> KeptNote.of(Note("mail-7", {"subject": "hi"}, ("ann",))).note.columns
    {'subject': 'hi'}
    """

    id: Annotated[Any, row_id]
    columns: str
    answered_by: list[str]

    @classmethod
    def of(cls, note: Note) -> Self:
        """What is saved of a note."""
        return cls(row_id(note.id), json.dumps(dict(note.columns)), list(note.answered_by))

    @property
    def note(self) -> Note:
        """The note that was saved."""
        columns = json.loads(self.columns)
        if not isinstance(columns, dict):
            raise TypeError("a note has no cells by name")
        return Note(self.id, columns, tuple(self.answered_by))


class KeptRows(NamedTuple):
    """Rows by their ids: a matrix, or the arrays of sparse rows.

    >>> KeptRows.of({"mail-7": [1.0, 2.0]}, dimension=3).rows(dimension=3)["mail-7"].tolist()
    [1.0, 2.0, 0.0]
    """

    ids: list[Annotated[Any, row_id]]
    arrays: Arrays

    @classmethod
    def of(cls, rows: Mapping[Any, Any], dimension: int) -> Self:
        """What is saved of rows; those of before the model was widened have zeros at their end."""
        kept, names = list(rows.values()), list(map(row_id, rows))
        if kept and is_sparse(kept[0]):
            return cls(names, split([row(x, int(x.shape[-1]), PAIR) for x in kept]))
        wide = np.zeros((len(kept), dimension))
        for at, one in enumerate(kept):
            wide[at, : len(one)] = one
        return cls(names, {"rows": wide})

    def rows(self, dimension: int) -> dict[Any, Any]:
        """The rows that were saved, which have so many columns."""
        is_dense = "rows" in self.arrays
        rows = self.arrays["rows"] if is_dense else matrix(self.arrays, dimension)
        if self.ids and (rows.ndim != 2 or rows.shape[1] != dimension):
            raise ValueError("rows: those that are remembered do not fit the model")
        return dict(zip(self.ids, one_by_one(rows), strict=True))


@dataclass(frozen=True)
class SessionFile:
    """What a file holds of a session; each of the ``detectors`` is a file of its own."""

    KIND: ClassVar[str] = "session"

    learner: LearnerFile
    meter: Meter
    positive: Annotated[Any, class_label] | None
    notes: dict[Ticket, KeptNote]
    remember: Annotated[int, Range(0, 2**31)]
    rows: KeptRows
    detectors: Arrays
    sources: Buying | None

    def watching(self) -> list[Detector]:
        """The detectors that were saved."""
        return [read(data.tobytes()) for data in self.detectors.values()]


def saved_detectors(detectors: Sequence[Detector]) -> Arrays:
    """The files of the detectors that can be saved."""
    kept = [one.to_bytes() for one in detectors if isinstance(one, DropAlarm | InputAlarm)]
    return {str(place): np.frombuffer(data, np.uint8) for place, data in enumerate(kept)}


def read_learner(data: bytes) -> Learner:
    """The learner of some bytes: a Tracker where it is one.

    >>> import lasec
    >>> type(read_learner(lasec.Tracker(2, seed=0).to_bytes())).__name__
    'Tracker'
    """
    return learner_of(load(LearnerFile, data))


def learner_of(file: LearnerFile) -> Learner:
    """The learner of a record: a Tracker where it is one."""
    with checking():
        its = is_tracker(*(part["kind"] for part in (file.rule, file.selector.query)))
    return revived(Tracker if its else Learner, file)
