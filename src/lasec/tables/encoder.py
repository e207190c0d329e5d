"""Turns the rows of a table into the features of a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec import kernel
from lasec.errors import TableError
from lasec.parameters import Range, number
from lasec.persistence.container import Arrays
from lasec.tables.hashing import HashBuckets
from lasec.tables.kinds import Column, Kind, find_kinds
from lasec.tables.one_hot import OneHot, few_categories
from lasec.tables.pairs import COLUMNS, MOST, flat, sparse_rows, top_index
from lasec.tables.vocabulary import Vocabulary
from lasec.text import HASH, TextHasher
from lasec.types import Matrix

_NEW, _FEW, _MANY = 16, 64, 256  # hash buckets for new categories, for all, for texts
_BEYOND = 1e100  # what is larger is no number to learn from
BETWEEN = "\x1f"  # a column's name and a category


class Encoder:
    """Turns the rows of a table into a matrix: numbers standardized, categories one-hot or hashed.

    From each number the mean of its column over the rows so far, this one included, is subtracted,
    and the result divided by their standard deviation; a missing value becomes the mean.
    ``standardize=False`` leaves numbers unchanged. The ``categories`` that are listed are one-hot;
    all others and the tokens of texts are hashed into ``hash_buckets`` places. ``constant`` adds a
    column of ones, for learners without intercept. Encode each row once, in the order of the
    stream: :meth:`encode` updates the means.

    With ``words``, rows are sparse: first numbers and the ``categories`` that are listed, which are
    :attr:`dense`, then so many columns that count words (:class:`~lasec.text.TextHasher`), with
    ``ngrams`` character n-grams of these lengths, and all other categories. Words and categories
    are remembered (:attr:`vocabulary`). Columns of pairs alone, with more than a few features,
    become sparse rows with a column for each index.

    >>> columns = {"price": [1.0, 3.0] * 20, "shop": ["north", "south"] * 20}
    >>> rows = pa.RecordBatch.from_pydict(columns)
    >>> encoder = Encoder.fit(rows)
    >>> encoder  # price; north, south; 16 hash buckets for new shops
    Encoder(dimension=19, numbers=1, categories=1, texts=0, ignored=0)
    >>> encoder.encode(rows)[:2, :3].tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> Encoder.fit(rows, hash_buckets=8)  # no shop is one-hot
    Encoder(dimension=9, numbers=1, categories=1, texts=0, ignored=0)
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        hash_buckets: int,
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
        self.hash_buckets: int = number("hash_buckets", hash_buckets, int, Range(1, 1_000_000))
        self.pairs: int = number("pairs", pairs, int, Range(0, 1_000_000))
        self.standardize, self.constant = standardize, constant
        self.numbers = self._of(Kind.NUMBER)
        self._buckets = HashBuckets(self.hash_buckets)
        names = self._of(Kind.CATEGORY)
        self.hashed = tuple(name for name in names if name not in self.one_hot.categories)
        self._texts = self._of(Kind.TEXT)
        self._hashes = bool(names or self._texts)
        self.words: int = number("words", words, int, Range(0, 2**31))
        self.vocabulary = Vocabulary(vocabulary or {})
        self._hasher = TextHasher(self.words or 2, ngrams=ngrams, heard=self.vocabulary.hear)
        self.ngrams = self._hasher.ngrams
        zeros = (np.zeros(len(self.numbers)) for _ in range(3))
        self.count, self.mean, self.spread = zeros
        if self.dimension - constant < 1:
            raise TableError("no column to learn from: all columns are ignored")

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
        words: int = 0,
        ngrams: tuple[int, int] | None = None,
    ) -> Self:
        """The encoder of a table whose first rows are ``head``.

        ``kinds`` sets how some columns are read; the kinds of the others are detected. Columns in
        ``left_out`` are not read: the label, for example. Columns with few categories are one-hot
        (:func:`~lasec.tables.one_hot.few_categories`), and their new categories are hashed into 16
        buckets. Columns with more are hashed into 64 buckets, or 256 where there are texts, new
        categories included. With ``hash_buckets``, all are hashed, into so many. Where there are
        texts, or nothing but pairs of many features, and no ``hash_buckets``, rows are sparse if
        ``words`` says so, and ``ngrams`` are counted beside words.

        >>> columns = {"text": ["win a free prize", "see you at lunch"], "hour": [3.0, 12.0]}
        >>> rows = pa.RecordBatch.from_pydict(columns)
        >>> encoder = Encoder.fit(rows, words=2**18)
        >>> encoder.encode(rows)[:, :1].toarray().tolist(), encoder.vocabulary.most(1)
        ([[0.0], [1.0]], ['win'])
        """
        columns = find_kinds(head, dict(kinds or {}), set(left_out))
        found = {column.kind for column in columns}
        top = max((top_index(head[name]) for name in _names(columns, Kind.PAIRS)), default=0)
        if words:
            words = 0 if hash_buckets is not None else _sparse_columns(found, top, words)
        names = _names(columns, Kind.CATEGORY)
        one_hot = few_categories(head, names) if hash_buckets is None else {}
        usual = _FEW if len(one_hot) < len(names) else _NEW
        usual = _MANY if found & {Kind.TEXT, Kind.PAIRS} else usual
        pairs = 0
        if Kind.PAIRS in found:
            pairs = top + 1 if top < MOST and hash_buckets is None else (hash_buckets or usual)
        return cls(
            columns,
            hash_buckets=hash_buckets or usual,
            pairs=pairs,
            standardize=standardize,
            constant=constant,
            categories=one_hot,
            words=words,
            ngrams=ngrams if words else None,
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
        hashed = self.hash_buckets if self._hashes else 0
        return len(self.numbers) + self.one_hot.width + hashed + self.pairs + int(self.constant)

    def encode(self, batch: pa.RecordBatch) -> Any:
        """The rows of a batch, as the rows of a matrix, which is sparse where there are words."""
        if self.words and not self._texts:
            found = [batch[name] for name in self._of(Kind.PAIRS)]
            return sparse_rows(found, batch.num_rows)
        cells = dict(zip(batch.schema.names, batch.columns, strict=True))
        rows = np.zeros((batch.num_rows, self.dense_dimension))
        others = self._dense(cells, rows)
        if self.words:
            return self._beside_words(rows, cells, others)
        k = len(self.numbers) + self.one_hot.width
        hashed = rows[:, k : k + self.hash_buckets]
        for name, at in others.items():
            self._buckets.categories(name, cells[name].take(pa.array(at)), hashed, at)
        for name in self._of(Kind.PAIRS):
            self._pairs(cells[name], rows[:, self.dimension - self.constant - self.pairs :])
        if self._texts:
            self._buckets.texts([cells[name] for name in self._texts], hashed)
        if self.constant:
            rows[:, -1] = 1.0
        return rows

    def _dense(self, cells: Mapping[str, pa.Array], out: Matrix) -> dict[str, NDArray[np.intp]]:
        """Write numbers and one-hot categories; the rows whose categories are to be hashed."""
        k = len(self.numbers)
        if k and len(out):
            out[:, :k] = self._scaled(np.column_stack([_floats(cells[n]) for n in self.numbers]))
        others = {name: np.arange(len(out)) for name in self.hashed} if len(out) else {}
        return others | self.one_hot.encode(cells, out[:, k : k + self.one_hot.width])

    def _beside_words(
        self, rows: Matrix, cells: Mapping[str, pa.Array], others: Mapping[str, NDArray[np.intp]]
    ) -> Any:
        """Sparse rows: what is dense, then words and the categories of these rows."""
        texts = (cells[name].to_pylist() for name in self._texts)
        words = self._hasher.rows(" ".join(filter(None, t)) for t in zip(*texts, strict=True))
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
        return kernel.engine.scale(np.ascontiguousarray(X), (self.count, self.mean, self.spread))

    def _pairs(self, values: pa.Array, out: Matrix) -> None:
        """Add the features that are not zero; indices beyond the last column start again at 0."""
        row, index, numbers = flat(values)
        np.add.at(out, (row, index % self.pairs), numbers)

    def _of(self, kind: Kind) -> tuple[str, ...]:
        return _names(self.columns, kind)

    def header(self) -> dict[str, Any]:
        """What is saved with :meth:`arrays`, as JSON."""
        return {
            "columns": [[c.name, c.kind.value, c.why] for c in self.columns],
            "width": self.hash_buckets,
            "pairs": self.pairs,
            "standardise": self.standardize,
            "constant": self.constant,
            "categories": {n: list(values) for n, values in self.one_hot.categories.items()},
            "words": self.words,
            "ngrams": self.ngrams,
            "hash": HASH if self.words else "",
            "vocabulary": dict(self.vocabulary),
        }

    def arrays(self) -> Arrays:
        """The sums behind means and deviations."""
        return {"count": self.count, "mean": self.mean, "spread": self.spread}

    @classmethod
    def restore(cls, header: Mapping[str, Any], arrays: Arrays) -> Self:
        """The encoder that :meth:`header` and :meth:`arrays` describe.

        Files of 0.1.0 have no ``categories``: all of theirs are hashed.
        """
        if header.get("words") and header.get("hash") != HASH:
            raise ValueError("its words are hashed in a way that this version does not know")
        columns = [Column(str(name), Kind(kind), str(why)) for name, kind, why in header["columns"]]
        made = cls(
            columns, hash_buckets=header["width"], pairs=header["pairs"],
            standardize=bool(header["standardise"]), constant=bool(header["constant"]),
            categories=_categories(header.get("categories", {}), columns),
            words=header.get("words", 0), ngrams=header.get("ngrams"),
            vocabulary=header.get("vocabulary"),
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


def _sparse_columns(found: set[Kind], top: int, words: int) -> int:
    """How many columns sparse rows of these kinds have; 0 where they are to be dense."""
    kinds = found - {Kind.IGNORED}
    if kinds == {Kind.PAIRS}:
        return COLUMNS if top >= MOST else 0
    return words if Kind.TEXT in kinds and Kind.PAIRS not in kinds else 0


def _categories(saved: Any, columns: Sequence[Column]) -> dict[str, list[str]]:
    """The categories of a file, if they are texts without repetition, of columns of categories."""
    there = set(_names(columns, Kind.CATEGORY))
    for name, values in dict(saved).items():
        sound = name in there and isinstance(values, list) and len(set(values)) == len(values)
        if not sound or not all(isinstance(value, str) for value in values):
            raise ValueError(f"the categories of {name[:80]!r} are not a list of distinct texts")
    return dict(saved)


def _floats(values: pa.Array) -> Any:
    """A column of numbers, NaN where there is none."""
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)
