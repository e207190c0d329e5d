"""What a known stream is once it is open: named columns, the label among them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import Range, number
from lasec.streams.stream import Stream

Column = NDArray[Any] | list[str]

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Columns by name, in the order of the file; rows in the order of the stream.

    A column is an array of numbers or a list of strings. ``label`` is the column to predict, and
    ``positive`` its value that is +1 in the usual binary task (None where there is no such task).
    ``time`` is the column that says when a row came, if there is one: it is no feature.

    >>> mails = {"text": ["win cash now", "see you at noon"], "spam": np.array([1, 0])}
    >>> data = Dataset("mails", mails, label="spam")
    >>> data
    Dataset('mails', rows=2, features=1, label='spam')
    >>> data.hashed(width=8).X.shape
    (2, 8)
    """

    name: str
    columns: dict[str, Column]
    label: str
    positive: int | None = 1
    time: str | None = None

    @property
    def features(self) -> dict[str, Column]:
        """The columns that a model may see: all but the label and the time.

        >>> list(Dataset("mails", {"text": ["hello"], "spam": np.array([0])}, "spam").features)
        ['text']
        """
        return {k: v for k, v in self.columns.items() if k not in (self.label, self.time)}

    def stream(self) -> Stream:
        """Rows of numbers and labels -1 and +1, ready for a learner.

        >>> data = Dataset("two", {"a": np.array([3, 5]), "y": np.array([0, 1])}, "y")
        >>> X, y = data.stream()
        >>> X.tolist(), y.tolist()
        ([[3.0], [5.0]], [-1, 1])
        """
        words = [name for name, column in self.features.items() if isinstance(column, list)]
        if words:
            raise ValueError(
                f"{self.name}: {', '.join(words)} {'is' if len(words) == 1 else 'are'} no numbers: "
                "use one_hot() for a few names that recur, hashed() for text"
            )
        X = np.empty((len(self), len(self.features)))
        for j, column in enumerate(self.features.values()):
            X[:, j] = column
        return self._labeled(X)

    def one_hot(self) -> Dataset:
        """Each column of strings as columns of 0 and 1, one for each string in alphabetical order.

        >>> data = Dataset("net", {"flag": ["SF", "REJ", "SF"], "y": np.array([0, 1, 0])}, "y")
        >>> data.one_hot().columns["flag=SF"].tolist()
        [1.0, 0.0, 1.0]
        """
        made: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, list) and name in self.features:
                names, codes = np.unique(np.asarray(column), return_inverse=True)
                made |= {f"{name}={n}": (codes == k) * 1.0 for k, n in enumerate(names)}
            else:
                made[name] = column
        return replace(self, columns=made)

    def hashed(self, width: int = 256) -> Stream:
        """The words of all columns of strings, hashed to ``width`` numbers; each row of length 1.

        A word adds +1 or -1 to one of the columns, by its hash, so that words which share a column
        cancel as often as they add up (Weinberger and others, *Feature Hashing for Large Scale
        Multitask Learning*, ICML 2009). Columns of numbers are left out.

        >>> data = Dataset("mails", {"text": ["win cash", ""], "spam": np.array([1, 0])}, "spam")
        >>> np.abs(data.hashed(width=512).X).sum(axis=1).round(3).tolist()
        [1.414, 0.0]
        """
        width = int(number("width", width, int, Range(1, 2**24)))
        X = np.zeros((len(self), width))
        for column in self.features.values():
            if isinstance(column, list):
                for row, text in enumerate(column):
                    for word in _WORD.findall(text.lower()):
                        code = _code(word)
                        X[row, (code >> 1) % width] += 1.0 if code & 1 else -1.0
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return self._labeled(X / np.where(length > 0.0, length, 1.0))

    def _labeled(self, X: NDArray[np.float64]) -> Stream:
        if self.positive is None:
            raise ValueError(
                f"{self.name}: it has several classes and no usual binary task: "
                "use shifting_classes(), or choose the positive ones among columns"
                f"[{self.label!r}]"
            )
        y = np.where(np.asarray(self.columns[self.label]) == self.positive, 1, -1).astype(np.int8)
        return Stream(X, y, np.zeros(len(y), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.columns[self.label])

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, rows={len(self)}, features={len(self.features)}, "
            f"label={self.label!r})"
        )


@lru_cache(maxsize=2**18)
def _code(word: str) -> int:
    """63 bits that depend on the word alone, on every machine."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big") >> 1
