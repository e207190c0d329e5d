"""Turns the rows of a table into the features of a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.errors import TableError
from lasec.kernel import engine
from lasec.parameters import Range, number
from lasec.persistence.record import POSITIVE, Shape
from lasec.tables.kinds import Column, Kind, find_kinds
from lasec.tables.one_hot import OneHot, few_categories
from lasec.tables.pairs import COLUMNS, MOST, flat, sparse_rows, top_index
from lasec.tables.vocabulary import Vocabulary
from lasec.text import TextHasher
from lasec.types import Matrix, Vector

WORDS = 2**18  # columns of words and hashed categories, in sparse rows
_BEYOND = 1e100  # what is larger is no number to learn from
BETWEEN = "\x1f"  # a column's name and a category


class _Sums(NamedTuple):
    """What stands behind means and deviations of the columns of numbers."""

    rows: Annotated[Vector, Shape("numbers"), POSITIVE]
    mean: Annotated[Vector, Shape("numbers")]
    spread: Annotated[Vector, Shape("numbers"), POSITIVE]


class Encoder:
    """Turns the rows of a table into a matrix: numbers standardized, categories one-hot.

    From each number the mean of its column over the rows so far, this one included, is subtracted,
    and the result divided by their standard deviation; a missing value becomes the mean.
    ``standardize=False`` leaves numbers unchanged. The ``categories`` that are listed are one-hot;
    others have no column. ``constant`` adds a column of ones, for learners without intercept.
    Encode each row once, in the order of the stream: :meth:`encode` updates the means.

    Where columns need more (:attr:`sparse`), rows are sparse: first numbers and the ``categories``
    that are listed, which are :attr:`dense`, then ``words`` columns that count words
    (:class:`~lasec.text.TextHasher`), with ``ngrams`` character n-grams of these lengths, and all
    other categories. Words and categories are remembered (:attr:`vocabulary`). Columns of pairs
    alone, with more than a few features, become sparse rows with a column for each index.

    >>> columns = {"price": [1.0, 3.0] * 20, "shop": ["north", "south"] * 20}
    >>> rows = pa.RecordBatch.from_pydict(columns)
    >>> encoder = Encoder.fit(rows)
    >>> encoder  # price; north, south
    Encoder(dimension=3, numbers=1, categories=1, texts=0, ignored=0)
    >>> encoder.encode(rows)[:2].tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    KIND = "encoder"

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        pairs: int = 0,
        standardize: bool = True,
        constant: bool = False,
        categories: Mapping[str, Sequence[str]] | None = None,
        words: int = 0,
        ngrams: tuple[int, int] | None = None,
        vocabulary: Mapping[str, int] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.one_hot = OneHot(categories or {})
        self.pairs: int = number("pairs", pairs, int, Range(0, 1_000_000))
        self.standardize, self.constant = standardize, constant
        self.numbers = self._of(Kind.NUMBER)
        names = self._of(Kind.CATEGORY)
        self.hashed = tuple(name for name in names if name not in self.one_hot.categories)
        self.texts, self.paired = self._of(Kind.TEXT), self._of(Kind.PAIRS)
        self.words: int = number("words", words, int, Range(0, 2**31))
        self.vocabulary = Vocabulary(vocabulary or {})
        self._hasher = TextHasher(self.words or 2, ngrams=ngrams, heard=self.vocabulary.hear)
        self.ngrams = self._hasher.ngrams
        zeros = (np.zeros(len(self.numbers)) for _ in range(3))
        self.count, self.mean, self.spread = zeros
        if (self.texts or self.hashed) and not self.words:
            raise ValueError("words: expected columns for texts and hashed categories, got 0")
        if self.dimension - constant < 1:
            raise TableError("no column to learn from: all columns are ignored")

    @classmethod
    def fit(
        cls,
        head: pa.RecordBatch,
        *,
        kinds: Mapping[str, Kind] | None = None,
        left_out: frozenset[str] = frozenset(),
        standardize: bool = True,
        constant: bool = False,
        words: int = WORDS,
        ngrams: tuple[int, int] | None = None,
    ) -> Self:
        """The encoder of a table whose first rows are ``head``.

        ``kinds`` sets how some columns are read; the kinds of the others are detected. Columns in
        ``left_out`` are not read: the label, for example. Columns with few categories are one-hot
        (:func:`~lasec.tables.one_hot.few_categories`). Where there is a column with more, a text,
        or pairs of many features, rows are sparse, with ``words`` columns for those and for new
        categories; ``ngrams`` are counted beside words.

        >>> columns = {"text": ["win a free prize", "see you at lunch"], "hour": [3.0, 12.0]}
        >>> rows = pa.RecordBatch.from_pydict(columns)
        >>> encoder = Encoder.fit(rows)
        >>> encoder.encode(rows)[:, :1].toarray().tolist(), encoder.vocabulary.most(1)
        ([[0.0], [1.0]], ['win'])
        """
        columns = find_kinds(head, dict(kinds or {}), set(left_out))
        names, texts, pairs = (
            _names(columns, kind) for kind in (Kind.CATEGORY, Kind.TEXT, Kind.PAIRS)
        )
        one_hot = few_categories(head, names)
        top = max((top_index(head[name]) for name in pairs), default=-1)
        sparse = bool(texts) or len(one_hot) < len(names) or top >= MOST
        if sparse and {column.kind for column in columns} <= {Kind.PAIRS, Kind.IGNORED}:
            words = COLUMNS
        return cls(
            columns,
            pairs=0 if sparse else top + 1,
            standardize=standardize,
            constant=constant,
            categories=one_hot,
            words=words if sparse else 0,
            ngrams=ngrams if texts else None,
        )

    @property
    def dense(self) -> int:
        """The number of columns before those of the words, where rows are sparse."""
        return len(self.numbers) + self.one_hot.width if self.words else 0

    @property
    def dense_dimension(self) -> int:
        """The number of features that take memory in every row."""
        return self.dense if self.words else self.dimension

    @property
    def dimension(self) -> int:
        """The number of features: columns of the matrix."""
        if self.words:
            return self.dense + self.words
        return len(self.numbers) + self.one_hot.width + self.pairs + int(self.constant)

    @property
    def sparse(self) -> str:
        """The first column for which rows are sparse, and why; empty where they are dense.

        >>> rows = pa.RecordBatch.from_pydict({"text": ["win a free prize", "see you at lunch"]})
        >>> Encoder.fit(rows).sparse
        "column 'text' is text"
        """
        if not self.words:
            return ""
        for names, why in (
            (self.texts, "is text"),
            (self.hashed, "has many categories, or few rows for each"),
            (self.paired, "has many features"),
        ):
            if names:
                return f"column {names[0][:80]!r} {why}"
        return ""

    def encode(self, batch: pa.RecordBatch) -> Any:
        """The rows of a batch, as the rows of a matrix, which is sparse where there are words."""
        if self.words and not (self.numbers or self.texts or self._of(Kind.CATEGORY)):
            return sparse_rows([batch[name] for name in self.paired], batch.num_rows)
        cells = dict(zip(batch.schema.names, batch.columns, strict=True))
        rows = np.zeros((batch.num_rows, self.dense_dimension))
        others = self._dense(cells, rows)
        if self.words:
            return self._beside_words(rows, cells, others)
        for name in self.paired:
            self._add(cells[name], rows[:, self.dimension - self.constant - self.pairs :])
        if self.constant:
            rows[:, -1] = 1.0
        return rows

    def _dense(self, cells: Mapping[str, pa.Array], out: Matrix) -> dict[str, NDArray[np.intp]]:
        """Write numbers and one-hot categories; the rows whose categories are to be hashed."""
        k = len(self.numbers)
        if k and len(out):
            out[:, :k] = self._scaled(np.column_stack([floats(cells[n]) for n in self.numbers]))
        others = {name: np.arange(len(out)) for name in self.hashed} if len(out) else {}
        return others | self.one_hot.encode(cells, out[:, k : k + self.one_hot.width])

    def _beside_words(
        self, rows: Matrix, cells: Mapping[str, pa.Array], others: Mapping[str, NDArray[np.intp]]
    ) -> Any:
        """Sparse rows: what is dense, then words, pairs and the categories of these rows."""
        words = sparse_rows([cells[name] for name in self.paired], len(rows), self.words)
        if self.texts:
            texts = (cells[name].to_pylist() for name in self.texts)
            said = self._hasher.rows(" ".join(filter(None, t)) for t in zip(*texts, strict=True))
            words = words + said if self.paired else said
        for name, at in others.items():
            named = cells[name].take(pa.array(at)).fill_null("").to_pylist()
            keys = [key_of(name, value) for value in named]
            self.vocabulary.hear(keys)
            words = words + self._single(keys, at, len(rows))
        return words if not self.dense else beside(rows, words)

    def _single(self, keys: Sequence[str], at: NDArray[np.intp], rows: int) -> Any:
        """Sparse rows with one key in each of these, and none in the others."""
        from scipy.sparse import csr_array  # noqa: PLC0415, importing lasec imports no SciPy

        found = [self._hasher.column(key) for key in keys]
        columns, signs = [column for column, _ in found], [sign for _, sign in found]
        return csr_array((np.array(signs, float), (at, columns)), (rows, self.words))

    def rows_of(self, keys: Sequence[str]) -> Any:
        """A sparse row without words, then one for each word or hashed category; none is counted.

        Numbers have their means, and categories that are one-hot none of their values.
        """
        rows = 1 + len(keys)
        words = self._single(keys, np.arange(1, rows), rows)
        return beside(np.zeros((rows, self.dense)), words) if self.dense else words

    def _scaled(self, X: Matrix) -> Matrix:
        X = np.where(np.abs(X) < _BEYOND, X, np.nan)
        if not self.standardize:
            return np.nan_to_num(X, copy=False)
        return engine.scale(np.ascontiguousarray(X), (self.count, self.mean, self.spread))

    def _add(self, values: pa.Array, out: Matrix) -> None:
        """Add the features that are not zero; indices beyond the last column start again at 0."""
        row, index, numbers = flat(values)
        np.add.at(out, (row, index % self.pairs), numbers)

    def _of(self, kind: Kind) -> tuple[str, ...]:
        return _names(self.columns, kind)

    @property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """The categories that are one-hot, by column."""
        return self.one_hot.categories

    @property
    def _state(self) -> _Sums:
        return _Sums(self.count, self.mean, self.spread)

    @_state.setter
    def _state(self, sums: _Sums) -> None:
        self.count, self.mean, self.spread = sums

    def validate(self) -> str:
        """Why this is not the encoder of a table; empty if it can be."""
        names, listed = {column.name for column in self.columns}, self.categories
        sound = (
            len(names) == len(self.columns)
            and len(self.numbers) == len(self.mean)
            and listed.keys() <= set(self._of(Kind.CATEGORY))
            and all(len(set(values)) == len(values) for values in listed.values())
        )
        return "" if sound else "the columns and their categories contradict each other"

    def __repr__(self) -> str:
        counts = [len(self._of(k)) for k in (Kind.NUMBER, Kind.CATEGORY, Kind.TEXT, Kind.IGNORED)]
        numbers, categories, texts, ignored = counts
        return (
            f"Encoder(dimension={self.dimension}, numbers={numbers}, categories={categories}, "
            f"texts={texts}, ignored={ignored})"
        )


def key_of(column: str, category: str) -> str:
    r"""A hashed category of a column, as the vocabulary has it; no word has such a character.

    >>> key_of("shop", "north")
    'shop\x1fnorth'
    """
    return f"{column}{BETWEEN}{category}"


def beside(rows: Matrix, words: Any) -> Any:
    """Sparse rows of dense columns, and words after them.

    >>> from scipy.sparse import csr_array
    >>> beside(np.array([[0.5]]), csr_array([[0.0, 2.0]])).toarray().tolist()
    [[0.5, 0.0, 2.0]]
    """
    from scipy.sparse import csr_array, hstack  # noqa: PLC0415, importing lasec imports no SciPy

    return hstack([csr_array(rows), words], format="csr")


def _names(columns: Sequence[Column], kind: Kind) -> tuple[str, ...]:
    return tuple(column.name for column in columns if column.kind is kind)


def floats(values: pa.Array) -> NDArray[np.float64]:
    """A column of numbers, NaN where there is none.

    >>> floats(pa.array([1, None])).tolist()
    [1.0, nan]
    """
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
