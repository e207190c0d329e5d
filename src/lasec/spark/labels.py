"""The classes of a job as cells of tables: -1 and +1 are numbers there, all others are text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.classes import ClassNames

MOST = 127  # classes of a job: a question keeps its prediction in one byte


class Labels:
    """The labels of a job, as they come, as a shard keeps them (codes), and as they are told.

    A cell of any type is a label if its text is that of a class, or its number that of a class.

    >>> labels = Labels(["ham", "spam", "eggs"])
    >>> labels.codes(["spam", "beans", None]).tolist(), labels.cell(2), labels.kind
    ([2, 0, 0], 'spam', 'string')
    >>> Labels([1, 2, 3]).codes(["1", "2.0", 3.0]).tolist(), Labels([-1, 1]).kind
    ([1, 2, 3], 'int')
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        if len(classes) > MOST:
            raise ValueError(f"classes: a job has at most {MOST}, got {len(classes)}")
        self.names = ClassNames(tuple(classes))
        coded = [(name, self.names.code(name)) for name in classes]
        self._texts = {_text(name): code for name, code in coded}
        self._numbers = {float(name): code for name, code in coded if not isinstance(name, str)}
        self.are_signs = self.names.are_signs

    @property
    def kind(self) -> str:
        """Spark's type of a column of labels."""
        return "int" if self.are_signs else "string"

    @property
    def wrong(self) -> str:
        """What is said of a cell that is no label."""
        return "y: expected -1 or +1" if self.are_signs else "y: none of the model's classes"

    def codes(self, cells: Iterable[Any]) -> NDArray[np.int8]:
        """The codes of cells, 0 where one is no label."""
        return np.array([self._code(cell) for cell in cells], dtype=np.int8)

    def _code(self, cell: Any) -> int:
        """The code of one cell."""
        code = self._texts.get(_text(cell))
        if code is None:
            with suppress(TypeError, ValueError, OverflowError):
                code = self._numbers.get(float(cell))
        return code or 0

    def cell(self, code: int) -> Any:
        """What is told of a code; of none, nothing."""
        return code if self.are_signs else _text(self._name(code))

    def cells(self, labels: NDArray[Any]) -> NDArray[Any]:
        """The same for the labels of a fleet."""
        if self.are_signs:
            return labels
        return np.array([_text(name) for name in labels.tolist()], dtype=object)

    def of_fleet(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes as the labels that a fleet takes; 0, which is none, as one that is missing."""
        if self.are_signs:
            return codes
        return np.array([self._name(code) for code in codes.tolist()], dtype=object)

    def _name(self, code: int) -> Any:
        return self.names.name(code) if code else None


def _text(label: Any) -> str | None:
    """A label as text, as Spark writes it."""
    if label is None:
        return None
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)
