"""Sparse rows: a row is an array of (column, value) pairs, a chunk is such rows one after another.

Pairs are sorted by column, each column once and no value 0, however they came: as a row or a matrix
of :mod:`scipy.sparse`, or as a dense array. No sparse row is ever made dense. SciPy is not imported
here: who has a sparse matrix has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.contract import whole
from lasec.types import Counter, Rule

NUMBER = np.dtype(np.float64)
PAIR = np.dtype([("column", np.int64), ("value", np.float64)])
Pairs = NDArray[Any]


class Csr(NamedTuple):
    """A chunk as compiled code takes it: row i has the pairs from ``starts[i]`` on."""

    starts: Counter
    pairs: Pairs


class SparseRows:
    """A chunk of sparse rows, which can be cut and read like an array of rows.

    >>> chunk = sparse_rows("X", np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), 3)
    >>> len(chunk), chunk[1].tolist(), len(chunk[1:])
    (2, [(0, 1.0), (2, 3.0)], 1)
    >>> [row.tolist() for row in chunk[np.array([1, 0])]]
    [[(0, 1.0), (2, 3.0)], [(1, 2.0)]]
    """

    def __init__(self, starts: Counter, pairs: Pairs) -> None:
        self.arrays = Csr(starts, pairs)

    @classmethod
    def of(cls, pairs: Pairs) -> SparseRows:
        """A chunk of one row."""
        return cls(np.array([0, pairs.size]), pairs)

    @classmethod
    def joined(cls, rows: Sequence[Pairs]) -> SparseRows:
        """A chunk of these rows."""
        starts = np.concatenate([[0], np.cumsum([one.size for one in rows])]).astype(np.int64)
        return cls(starts, np.concatenate([np.empty(0, PAIR), *rows]))

    def __len__(self) -> int:
        return self.arrays.starts.size - 1

    @overload
    def __getitem__(self, at: int) -> Pairs: ...
    @overload
    def __getitem__(self, at: slice | Counter) -> SparseRows: ...
    def __getitem__(self, at: int | slice | Counter) -> Pairs | SparseRows:
        starts, pairs = self.arrays
        if isinstance(at, np.ndarray):
            lengths = np.diff(starts)[at]
            moved = np.concatenate([[0], np.cumsum(lengths)])
            return SparseRows(
                moved, pairs[np.repeat(starts[at] - moved[:-1], lengths) + np.arange(moved[-1])]
            )
        if isinstance(at, slice):
            begin, end, _ = at.indices(len(self))
            cut = starts[begin : max(begin, end) + 1]
            return SparseRows(cut - cut[0], pairs[cut[0] : cut[-1]])
        return pairs[starts[at] : starts[at + 1]]

    def __iter__(self) -> Iterator[Pairs]:
        return (self[i] for i in range(len(self)))


def is_sparse(given: object) -> bool:
    """Whether something is a row or a matrix of :mod:`scipy.sparse`.

    >>> from scipy.sparse import csr_array
    >>> is_sparse(csr_array(np.eye(2))), is_sparse(np.eye(2))
    (True, False)
    """
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(given))


def takes_pairs(rule: Rule[Any]) -> bool:
    """Whether a rule is one for sparse rows.

    >>> import lasec
    >>> takes_pairs(lasec.rules.SparseTracking()), takes_pairs(lasec.rules.Tracking())
    (True, False)
    """
    return whole(rule).facts.sparse


def row_kind(rule: Any) -> np.dtype[Any]:
    """The type of a row as a rule takes it: numbers, or the pairs of a sparse row.

    >>> import lasec
    >>> row_kind(lasec.rules.Perceptron())
    dtype('float64')
    """
    return PAIR if takes_pairs(rule) else NUMBER


def one_by_one(X: Any) -> list[Any]:
    """The rows of a matrix, which may be sparse.

    >>> from scipy.sparse import csr_array
    >>> [row.shape for row in one_by_one(csr_array(np.eye(2)))]
    [(1, 2), (1, 2)]
    """
    if not is_sparse(X):
        return list(X)
    rows = csr("X", X)
    return [rows[[i]] for i in range(rows.shape[0])]


def features(name: str, given: Any, axes: int) -> int:
    """How many columns a row (one axis) or a chunk (two axes) has.

    >>> features("x", [1.0, 2.0], axes=1)
    2
    """
    found = given.shape if is_sparse(given) else validation.real(name, given, axes).shape
    return int(found[-1])


def row(x: Any, dimension: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """One instance in the form that ``kind`` says: dense numbers, or pairs.

    >>> row([0.0, 2.0], 2, PAIR).tolist(), row([0.0, 2.0], 2, np.dtype(float)).tolist()
    ([(1, 2.0)], [0.0, 2.0])
    """
    if kind.names:
        one = _one_row(x) if is_sparse(x) else validation.row(x, dimension)[None]
        return sparse_rows("x", one, dimension).arrays.pairs
    _refuse("x", x)
    return validation.row(x, dimension, kind)


def rows(X: Any, dimension: int, kind: np.dtype[Any]) -> Any:
    """A chunk in the form that ``kind`` says; dense entries may still be of any size.

    >>> len(rows(np.eye(3), 3, PAIR))
    3
    """
    if kind.names:
        if type(X) is SparseRows:
            return X
        given = X if is_sparse(X) else validation.rows(X, dimension)
        return sparse_rows("X", given, dimension)
    _refuse("X", X)
    return validation.rows(X, dimension, kind)


def plain(X: Any) -> Any:
    """A chunk as compiled code takes it: an array, or the arrays of sparse rows."""
    return X.arrays if type(X) is SparseRows else X


def sparse_rows(name: str, X: Any, dimension: int) -> SparseRows:
    """The pairs of a matrix, sparse or dense, all of them finite.

    >>> from scipy.sparse import coo_array
    >>> doubled = coo_array(([1.0, 2.0, 0.0], ([0, 0, 0], [5, 5, 2])), shape=(1, 8))
    >>> sparse_rows("X", doubled, 8)[0].tolist()
    [(5, 3.0)]
    """
    starts, columns, values = _csr(name, X) if is_sparse(X) else _dense(X)
    if X.shape[1] != dimension:
        raise ValueError(f"{name}: expected {dimension} features, got {X.shape[1]}")
    pairs = np.empty(columns.size, PAIR)
    pairs["column"], pairs["value"] = columns, values
    validation.finite(name, pairs["value"])
    return SparseRows(starts, pairs)


def checked(name: str, X: Any) -> Any:
    """A row or a matrix of :mod:`scipy.sparse` itself, if each index is within its shape.

    >>> from scipy.sparse import coo_array
    >>> checked("x", coo_array(np.eye(2))).shape
    (2, 2)
    """
    if X.format in ("csr", "csc", "bsr"):
        starts, places, size = X.indptr, X.indices, _sizes(X)
        if not (_whole(starts) and _whole(places) and _spans(starts, places, X.data, size[0])):
            raise ValueError(f"{name}: indptr does not fit the values of this sparse matrix")
        indices = [(places[: starts[-1]], size[1])]
    else:
        if X.format == "lil" and list(map(len, X.rows)) != list(map(len, X.data)):
            raise ValueError(f"{name}: the rows and the data of this sparse matrix do not fit")
        X = X.tocoo()
        if any(not _whole(at) or at.shape != X.data.shape for at in X.coords):
            raise ValueError(f"{name}: the coordinates do not fit the values of this sparse matrix")
        indices = list(zip(X.coords, X.shape, strict=True))
    if any(at.size and not 0 <= at.min() <= at.max() < size for at, size in indices):
        raise ValueError(f"{name}: an index is outside the shape {X.shape} of this sparse matrix")
    return X


def csr(name: str, X: Any) -> Any:
    """A matrix of :mod:`scipy.sparse` in its form "csr", or a ValueError where it cannot be one.

    SciPy and compiled code read and write wherever the arrays of a matrix point, so these are
    checked before either sees them: a file, or another program, may have made them.

    >>> from scipy.sparse import csr_array
    >>> csr("X", csr_array(([1.0], [7], [0, 1]), shape=(1, 5)))
    Traceback (most recent call last):
    ValueError: X: an index is outside the shape (1, 5) of this sparse matrix
    """
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got dtype {X.dtype}")
    if X.ndim != 2:
        raise ValueError(f"{name}: expected 2 axes, got shape {X.shape}")
    with validation.foreign(name):
        return checked(name, X).tocsr()


def split(pairs: Sequence[Pairs]) -> dict[str, NDArray[Any]]:
    """Rows as plain arrays for a file: where each begins, columns, values.

    >>> {name: array.tolist() for name, array in split([row([0.0, 2.0], 2, PAIR)]).items()}
    {'starts': [0, 1], 'columns': [1], 'values': [2.0]}
    """
    starts, all_of_them = SparseRows.joined(pairs).arrays
    columns, values = all_of_them["column"].copy(), all_of_them["value"].copy()
    return {"starts": starts, "columns": columns, "values": values}


def joined(arrays: dict[str, NDArray[Any]], dimension: int) -> SparseRows:
    """The rows that :func:`split` wrote, or a ValueError where they cannot be rows."""
    starts, columns, values = (arrays[name] for name in ("starts", "columns", "values"))
    kinds = starts.dtype == columns.dtype == np.int64 and values.dtype == np.float64
    if not (kinds and starts.ndim == columns.ndim == 1 and columns.shape == values.shape):
        raise ValueError("x: sparse rows are not three arrays of numbers")
    ends = starts.size and starts[0] == 0 and starts[-1] == columns.size
    if not ends or (starts[1:] < starts[:-1]).any() or not _rising(starts, columns, dimension):
        raise ValueError("x: sparse rows contradict themselves")
    pairs = np.empty(columns.size, PAIR)
    pairs["column"], pairs["value"] = columns, validation.finite("x", values)
    return SparseRows(starts, pairs)


def matrix(arrays: dict[str, NDArray[Any]], dimension: int) -> Any:
    """The rows that :func:`split` wrote, as a matrix of :mod:`scipy.sparse`.

    >>> matrix(split([row([0.0, 2.0], 2, PAIR)]), 2).toarray().tolist()
    [[0.0, 2.0]]
    """
    starts, pairs = joined(arrays, dimension).arrays
    from scipy.sparse import csr_array  # noqa: PLC0415, importing lasec imports no SciPy

    shape = starts.size - 1, dimension
    return csr_array((pairs["value"].copy(), pairs["column"].copy(), starts), shape)


def _refuse(name: str, given: object) -> None:
    if is_sparse(given):
        raise TypeError(
            f"{name}: this learner has dense rows; a lasec.Tracker whose first row is sparse, and "
            "one with rule=lasec.rules.SparseTracking(), take sparse rows"
        )


def _one_row(x: Any) -> Any:
    """A sparse row, with one axis or two, as a matrix of one row."""
    if x.ndim == 1:
        return checked("x", x).reshape(1, -1)
    if x.shape[0] != 1:
        raise ValueError(f"x: expected one row, got {x.shape[0]}")
    return x


def _csr(name: str, X: Any) -> tuple[Counter, Counter, NDArray[Any]]:
    """The arrays of a sparse matrix: columns rise, and no value is 0."""
    given = csr(name, X)
    starts = given.indptr.astype(np.int64)
    columns, values = given.indices[: starts[-1]], given.data[: starts[-1]]
    if _rising(starts, columns, X.shape[1]) and values.all():
        return starts, columns, values
    # A new matrix: what this one says about its own order may be wrong.
    made = sys.modules["scipy.sparse"].csr_array((values, columns, starts), X.shape, copy=True)
    made.sum_duplicates()
    made.eliminate_zeros()
    return made.indptr.astype(np.int64), made.indices, made.data


def _sizes(X: Any) -> tuple[int, int]:
    """How many rows or columns ``indptr`` counts, and how many ``indices`` tell apart."""
    rows, columns = X.shape if X.ndim == 2 else (1, *X.shape)
    if X.format == "bsr":
        high, wide = X.data.shape[1:]
        return rows // max(high, 1), columns // max(wide, 1)
    return (rows, columns) if X.format == "csr" else (columns, rows)


def _spans(starts: Counter, places: Counter, data: NDArray[Any], count: int) -> bool:
    """Whether ``indptr`` rises from 0, once for each row, within the values."""
    ends = starts.shape == (count + 1,) and starts[0] == 0 and starts[-1] <= places.size
    return bool(ends and (starts[1:] >= starts[:-1]).all() and len(places) == len(data))


def _whole(numbers: Any) -> bool:
    return type(numbers) is np.ndarray and numbers.ndim == 1 and numbers.dtype.kind in "iu"


def _dense(X: NDArray[Any]) -> tuple[Counter, Counter, NDArray[Any]]:
    """The arrays of a dense matrix."""
    at, columns = np.nonzero(X)
    counts = np.bincount(at, minlength=len(X))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), columns, X[at, columns]


def _rising(starts: Counter, columns: NDArray[Any], dimension: int) -> bool:
    """Whether the columns of each row rise, within those that there are."""
    if not columns.size:
        return True
    rises = columns[1:] > columns[:-1]
    begins = starts[1:-1]
    rises[begins[(begins > 0) & (begins < columns.size)] - 1] = True
    return bool(rises.all() and columns.min() >= 0 and columns.max() < dimension)
