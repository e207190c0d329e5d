"""A session as bytes: its learner, its meter, and what is kept with its open questions."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lasec.alarms import Detector, DropAlarm, InputAlarm, read
from lasec.errors import StateError
from lasec.learner import Learner
from lasec.parameters import Range, number
from lasec.persistence.container import Arrays, pack, restored
from lasec.sparse import PAIR, is_sparse, matrix, one_by_one, row, split
from lasec.tracker import Tracker, is_tracker


class Note(NamedTuple):
    """The id of a row, some of its cells, and who has answered so far.

    >>> Note(id="mail-7").answered_by
    ()
    """

    id: Hashable = None
    columns: Mapping[str, Any] = MappingProxyType({})
    answered_by: tuple[str, ...] = ()


Notes = Mapping[int, Note]


def write_notes(notes: Notes) -> bytes:
    """Notes as JSON.

    >>> write_notes({7: Note(id="mail-7")})
    b'[[7, {}, [], "mail-7"]]'
    """
    plain = []
    for ticket, note in notes.items():
        if not isinstance(note.id, str | int | None):
            raise TypeError(f"id: only text and whole numbers can be saved, got {note.id!r}")
        plain.append([ticket, dict(note.columns), note.answered_by, note.id])
    return json.dumps(plain).encode()


def read_notes(data: bytes) -> dict[int, Note]:
    """The notes of a file.

    >>> read_notes(b'[[7, {"subject": "hi"}, ["ann"], null]]')[7].answered_by
    ('ann',)
    """
    notes: dict[int, Note] = {}
    for ticket, columns, names, name in json.loads(data.decode()):
        sound = type(ticket) is int and isinstance(columns, dict) and isinstance(names, list)
        if not (sound and isinstance(name, str | int | None)):
            raise ValueError("a note is not that of a question")
        notes[ticket] = Note(name, columns, tuple(map(str, names)))
    return notes


def write_rows(rows: Mapping[Any, Any]) -> bytes:
    """Rows that were not asked about, by their ids.

    >>> read_rows(write_rows({"mail-7": [1.0, 2.0]}))["mail-7"].tolist()
    [1.0, 2.0]
    """
    kept = list(rows.values())
    if kept and is_sparse(kept[0]):
        width = int(kept[0].shape[-1])
        pairs = split([row(x, width, PAIR) for x in kept])
        return pack({"ids": list(rows), "columns": width}, pairs)
    return pack({"ids": list(rows)}, {"rows": np.array(kept, dtype=np.float64)})


def read_rows(data: bytes) -> dict[Any, Any]:
    """The rows that :func:`write_rows` wrote."""

    def listed(header: dict[str, Any], arrays: Arrays) -> dict[Any, Any]:
        ids, rows = header["ids"], arrays.get("rows", np.empty(0))
        if "columns" in header:
            rows = matrix(arrays, number("columns", header["columns"], int, Range(1, 2**31)))
        if not all(isinstance(name, str | int) for name in ids) or rows.ndim != 2:
            raise ValueError("rows: expected ids, and a row for each")
        return dict(zip(ids, one_by_one(rows), strict=True))

    return restored(data, listed)


def write_detectors(detectors: Sequence[Detector]) -> dict[str, bytes]:
    """The detectors that can be saved, each as a part of its own.

    >>> list(write_detectors([DropAlarm()]))
    ['detector.0']
    """
    kept = [one for one in detectors if isinstance(one, DropAlarm | InputAlarm)]
    return {f"detector.{place}": one.to_bytes() for place, one in enumerate(kept)}


def read_detectors(parts: dict[str, bytes]) -> list[Detector]:
    """The detectors among the parts of a file, which are taken out.

    >>> read_detectors({"detector.0": DropAlarm().to_bytes()})[0].raised
    False
    """
    names = sorted((n for n in parts if n.startswith("detector.")), key=lambda n: int(n[9:]))
    return [read(parts.pop(name)) for name in names]


def kind_of(data: bytes) -> str:
    """What a file holds: a "learner", a "session", or a "table" (a learner with its encoder).

    >>> import lasec
    >>> kind_of(lasec.LASEC(dimension=2).to_bytes())
    'learner'
    """
    return restored(data, lambda header, _: str(header["kind"]))


def read_learner(data: bytes) -> Learner:
    """The learner of some bytes: a Tracker where it is one.

    >>> import lasec
    >>> type(read_learner(lasec.Tracker(2, seed=0).to_bytes())).__name__
    'Tracker'
    """
    return restored(data, _class_of).from_bytes(data)


def _class_of(header: dict[str, Any], arrays: Arrays) -> type[Learner]:
    kind = header["kind"]
    if kind == "table":
        raise StateError("foreign: this is a learner at a table; load it with tables.TableLearner")
    if kind != "learner":
        raise StateError(f"foreign: this is a {kind}, not a learner")
    parts = (header["rule"], header["selector"]["query"])
    return Tracker if is_tracker(*(part["kind"] for part in parts)) else Learner
