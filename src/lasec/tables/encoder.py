"""A table's rows as the numbers that a learner takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasec import kernel
from lasec.errors import TableError
from lasec.parameters import Range, number
from lasec.persistence.container import Arrays
from lasec.tables.hashing import HashBuckets
from lasec.tables.kinds import Column, Kind, find_kinds
from lasec.types import Matrix

_FEW, _MANY = 64, 256  # hash buckets for categories, for texts
_BEYOND = 1e100  # what is larger is no number to learn from
_MOST = 1_024  # svmlight features that get a column each


class Encoder:
    """Numbers standardized, categories and tokens of texts hashed into ``hash_buckets`` columns.

    Each number is taken less the mean of its column over the rows so far, this one included, and
    divided by their standard deviation; a missing one becomes the mean. ``standardize=False``
    leaves numbers as they are. ``constant`` adds a column of ones, for learners without intercept.
    Rows are to be encoded once each, in the order of the stream: :meth:`encode` goes on learning
    the means.

    >>> rows = pa.RecordBatch.from_pydict({"price": [1.0, 3.0], "shop": ["north", "south"]})
    >>> encoder = Encoder.fit(rows, hash_buckets=4)
    >>> encoder
    Encoder(dimension=5, numbers=1, categories=1, texts=0, ignored=0)
    >>> encoder.encode(rows)[:, 0].tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        hash_buckets: int,
        pairs: int = 0,
        standardize: bool = True,
        constant: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.hash_buckets: int = number("hash_buckets", hash_buckets, int, Range(1, 1_000_000))
        self.pairs: int = number("pairs", pairs, int, Range(0, 1_000_000))
        self.standardize, self.constant = standardize, constant
        self.numbers = self._of(Kind.NUMBER)
        self._buckets = HashBuckets(self.hash_buckets)
        self._hashed = bool(self._of(Kind.CATEGORY) or self._of(Kind.TEXT))
        zeros = (np.zeros(len(self.numbers)) for _ in range(3))
        self.count, self.mean, self.spread = zeros
        if self.dimension - constant < 1:
            raise TableError("there is no column to learn from")

    @classmethod
    def fit(
        cls,
        head: pa.RecordBatch,
        *,
        kinds: Mapping[str, Kind] | None = None,
        left_out: frozenset[str] = frozenset(),
        hash_buckets: int | None = None,
        standardize: bool = True,
        constant: bool = False,
    ) -> Self:
        """An encoder for a table whose first rows are ``head``: how each column is read is found.

        ``kinds`` says it for some, and ``left_out`` are not read at all: the label, for example.
        ``hash_buckets`` is 64 for categories and 256 where there are texts, if it is not given.
        """
        columns = find_kinds(head, dict(kinds or {}), set(left_out))
        found = {column.kind for column in columns}
        usual = _MANY if found & {Kind.TEXT, Kind.PAIRS} else _FEW
        pairs = 0
        for column in columns:
            if column.kind is Kind.PAIRS:
                top = pc.max(head[column.name].keys).as_py() or 0
                pairs = top + 1 if top < _MOST and hash_buckets is None else (hash_buckets or usual)
        return cls(
            columns,
            hash_buckets=hash_buckets or usual,
            pairs=pairs,
            standardize=standardize,
            constant=constant,
        )

    @property
    def dimension(self) -> int:
        """How many numbers a row becomes."""
        hashed = self.hash_buckets if self._hashed else 0
        return len(self.numbers) + hashed + self.pairs + int(self.constant)

    def encode(self, batch: pa.RecordBatch) -> Matrix:
        """The rows of a batch, as the rows of a matrix."""
        rows = np.zeros((batch.num_rows, self.dimension))
        k, cells = len(self.numbers), dict(zip(batch.schema.names, batch.columns, strict=True))
        if k and batch.num_rows:
            rows[:, :k] = self._scaled(np.column_stack([_floats(cells[n]) for n in self.numbers]))
        hashed = rows[:, k : k + self.hash_buckets]
        for column in self.columns:
            if column.kind is Kind.CATEGORY and batch.num_rows:
                self._buckets.categories(column.name, cells[column.name], hashed)
            elif column.kind is Kind.PAIRS:
                self._pairs(
                    cells[column.name], rows[:, self.dimension - self.constant - self.pairs :]
                )
        if texts := self._of(Kind.TEXT):
            self._buckets.texts([cells[name] for name in texts], hashed)
        if self.constant:
            rows[:, -1] = 1.0
        return rows

    def _scaled(self, X: Matrix) -> Matrix:
        X = np.where(np.abs(X) < _BEYOND, X, np.nan)
        if not self.standardize:
            return np.nan_to_num(X, copy=False)
        return kernel.engine.scale(np.ascontiguousarray(X), (self.count, self.mean, self.spread))

    def _pairs(self, values: pa.Array, out: Matrix) -> None:
        """Add the features that are not zero; indices beyond the last column start again at 0."""
        offsets = values.offsets.to_numpy()
        keys = values.keys.to_numpy()[offsets[0] : offsets[-1]]
        items = values.items.to_numpy()[offsets[0] : offsets[-1]]
        row = np.repeat(np.arange(len(out)), np.diff(offsets))
        np.add.at(out, (row, keys % self.pairs), np.where(np.abs(items) < _BEYOND, items, 0.0))

    def _of(self, kind: Kind) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.kind is kind)

    def header(self) -> dict[str, Any]:
        """What is saved beside :meth:`arrays`, as JSON."""
        return {
            "columns": [[c.name, c.kind.value, c.why] for c in self.columns],
            "width": self.hash_buckets,
            "pairs": self.pairs,
            "standardise": self.standardize,
            "constant": self.constant,
        }

    def arrays(self) -> Arrays:
        """The sums behind means and deviations."""
        return {"count": self.count, "mean": self.mean, "spread": self.spread}

    @classmethod
    def restore(cls, header: Mapping[str, Any], arrays: Arrays) -> Self:
        """The encoder that :meth:`header` and :meth:`arrays` describe."""
        columns = [Column(str(name), Kind(kind), str(why)) for name, kind, why in header["columns"]]
        made = cls(
            columns, hash_buckets=header["width"], pairs=header["pairs"],
            standardize=bool(header["standardise"]), constant=bool(header["constant"]),
        )  # fmt: skip
        for name, blank in made.arrays().items():
            kept = arrays[name]
            if kept.shape != blank.shape or not np.isfinite(kept).all():
                raise ValueError(f"{name} is not that of {len(made.numbers)} columns of numbers")
            setattr(made, name, kept.astype(np.float64))
        return made

    def __repr__(self) -> str:
        counts = [len(self._of(k)) for k in (Kind.NUMBER, Kind.CATEGORY, Kind.TEXT, Kind.IGNORED)]
        numbers, categories, texts, ignored = counts
        return (
            f"Encoder(dimension={self.dimension}, numbers={numbers}, categories={categories}, "
            f"texts={texts}, ignored={ignored})"
        )


def _floats(values: pa.Array) -> Any:
    """A column of numbers, NaN where there is none."""
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)
