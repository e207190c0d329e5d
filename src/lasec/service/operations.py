"""What a model is given: the operations of its journal, which are its whole history.

An operation holds everything that its outcome depends on, the reading of the clock included. So the
same operations on the same snapshot give the same model, on the machine that made them bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Id = str | int


class Rows(msgspec.Struct, array_like=True):
    """Rows as they came: numbers packed in eight bytes each, or cells by the names of columns.

    >>> rows = Rows.of_numbers(np.array([[1.0, 2.0]]))
    >>> rows.matrix(2).tolist(), len(Rows(cells=[{"text": "win"}]))
    ([[1.0, 2.0]], 1)
    """

    numbers: bytes = b""
    count: int = 0
    cells: list[dict[str, Any]] = []

    @classmethod
    def of_numbers(cls, X: NDArray[np.float64]) -> Rows:
        """The rows of a matrix."""
        return cls(X.astype("<f8", copy=False).tobytes(), len(X))

    def matrix(self, dimension: int) -> NDArray[np.float64]:
        """The numbers as a matrix."""
        return np.frombuffer(self.numbers, "<f8").reshape(self.count, dimension)

    def packed(self, place: int) -> bytes:
        """The bytes of a row of numbers."""
        size = len(self.numbers) // max(self.count, 1)
        return self.numbers[place * size : (place + 1) * size]

    def some(self, places: Sequence[int]) -> Rows:
        """The rows at these places.

        >>> Rows.of_numbers(np.array([[1.0], [2.0]])).some([1]).matrix(1).tolist()
        [[2.0]]
        """
        if len(places) == len(self):
            return self
        if self.cells:
            return Rows(cells=[self.cells[at] for at in places])
        return Rows(b"".join(map(self.packed, places)), len(places))

    def __len__(self) -> int:
        return self.count or len(self.cells)


class Ask(msgspec.Struct, array_like=True, tag="ask"):
    """Decide about rows; ids and times are those of the caller, or empty."""

    at: float
    rows: Rows
    ids: list[Id | None] = []
    times: list[float | None] = []


class Ref(msgspec.Struct, array_like=True, frozen=True):
    """Which question: its ticket, or the id of its row. An id is never a ticket, and both are 7.

    >>> str(Ref(ticket=7)), str(Ref(id=7)), str(Ref(id="7"))
    ('ticket 7', 'id 7', "id '7'")
    """

    ticket: int | None = None
    id: Id | None = None

    def __str__(self) -> str:
        return f"id {self.id!r}" if self.ticket is None else f"ticket {self.ticket}"


class Answer(msgspec.Struct, array_like=True):
    """A label for a question, who gave it, and how sure a judge is."""

    of: Ref
    label: Any
    by: str | None = None
    confidence: float | None = None


class Tell(msgspec.Struct, array_like=True, tag="tell"):
    """Learn the labels of questions."""

    at: float
    answers: list[Answer]


class Learn(msgspec.Struct, array_like=True, tag="learn"):
    """Learn labels that nobody asked for."""

    at: float
    rows: Rows
    labels: list[Any]


class Cancel(msgspec.Struct, array_like=True, tag="cancel"):
    """Give up questions."""

    at: float
    questions: list[Ref]


Operation = Ask | Tell | Learn | Cancel
_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Operation)


def packed(operation: Operation) -> bytes:
    """An operation as bytes of the journal.

    >>> unpacked(packed(Cancel(at=0.0, questions=[Ref(ticket=7)])))
    Cancel(at=0.0, questions=[Ref(ticket=7, id=None)])
    """
    return _encoder.encode(operation)


def unpacked(data: bytes) -> Operation:
    """The operation that was packed."""
    made: Operation = _decoder.decode(data)
    return made
