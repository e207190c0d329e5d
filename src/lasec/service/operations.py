"""What a model is given: the operations of its journal, which are its whole history.

An operation holds everything that its outcome depends on, the reading of the clock included. So the
same operations on the same snapshot give the same model, on the machine that made them bit for bit.
"""

from __future__ import annotations

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

    @property
    def packed(self) -> list[bytes]:
        """The bytes of each row of numbers."""
        size = len(self.numbers) // max(self.count, 1)
        return [self.numbers[at * size : (at + 1) * size] for at in range(self.count)]

    def some(self, places: list[int]) -> Rows:
        """The rows at these places.

        >>> Rows.of_numbers(np.array([[1.0], [2.0]])).some([1]).matrix(1).tolist()
        [[2.0]]
        """
        if len(places) == len(self):
            return self
        if self.cells:
            return Rows(cells=[self.cells[at] for at in places])
        packed = self.packed
        return Rows(b"".join(packed[at] for at in places), len(places))

    def __len__(self) -> int:
        return self.count or len(self.cells)


class Ask(msgspec.Struct, array_like=True, tag="ask"):
    """Decide about rows; ids and times are those of the caller, or empty."""

    at: float
    rows: Rows
    ids: list[Id | None] = []
    times: list[float | None] = []


class Answer(msgspec.Struct, array_like=True):
    """A label for a question, by its ticket or the id of its row, and who gave it."""

    question: Id
    label: Any
    by: str | None = None


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
    questions: list[Id]


Operation = Ask | Tell | Learn | Cancel
_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Operation)


def packed(operation: Operation) -> bytes:
    """An operation as bytes of the journal.

    >>> unpacked(packed(Cancel(at=0.0, questions=[7])))
    Cancel(at=0.0, questions=[7])
    """
    return _encoder.encode(operation)


def unpacked(data: bytes) -> Operation:
    """The operation that was packed."""
    made: Operation = _decoder.decode(data)
    return made
