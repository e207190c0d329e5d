"""The rows of a batch as arrays: events and labels told apart, what cannot be used set aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lasec import TextHasher
from lasec.spark.labels import Labels
from lasec.sparse import PAIR, Pairs, SparseRows, sparse_rows

EVENT, LABEL = 0, 1
KEY_BYTES, ID_BYTES = 256, 1_024  # of UTF-8, in a key and in an id
FAULTS = (
    "", "y", "features", "time is beyond all use", "time is missing",
    f"id: longer than {ID_BYTES} bytes", "id: not text", "id is missing",
    f"key: longer than {KEY_BYTES} bytes", "key: not text", "key is missing",
    "the row could not be read",
)  # fmt: skip
(
    FINE, NO_LABEL, NO_ROW, FAR, NO_TIME, LONG_ID, ODD_ID, NO_ID, LONG_KEY, ODD_KEY, NO_KEY,
    UNREADABLE,
) = range(len(FAULTS))  # fmt: skip
LARGEST = 1e18  # of an entry of a row that a model can use, within lasec's own guards
BEYOND = "features: NaN, infinite or beyond all use"
SHOWN = 200  # characters of an error about features
LONGEST = 1e15  # seconds from zero; sums of times stay exact to a second, and far from infinity

Objects = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Columns:
    """Events or labels: who, which, when, and a 64-bit hash of the id."""

    key: Objects
    id: Objects
    number: NDArray[np.uint64]
    time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.key)

    def take(self, order: NDArray[np.int64]) -> Columns:
        """The same rows in another order."""
        return Columns(self.key[order], self.id[order], self.number[order], self.time[order])


@dataclass(frozen=True, eq=False)
class Batch:
    """What came in: events with their rows ``X``, labels with their codes ``y``, and dead letters.

    Sparse rows are arrays of pairs, of any length, in an array of objects. ``brought`` are the rows
    of labels that came with one, by their place among the labels.
    """

    events: Columns
    X: NDArray[Any]
    labels: Columns
    y: NDArray[np.int8]
    dead: dict[str, Objects]
    brought: dict[int, NDArray[Any]]

    def refuse(self, which: NDArray[np.bool_], reason: str) -> Batch:
        """The same, with some of the events as dead letters."""
        gone = self.events.take(np.flatnonzero(which))
        blank = np.full(len(gone), None, object)
        more = {"key": gone.key, "id": gone.id, "time": gone.time, "detail": blank}
        more["outcome"] = np.full(len(gone), reason, object)
        dead = {name: np.concatenate([cells, more[name]]) for name, cells in self.dead.items()}
        return replace(self.take(np.flatnonzero(~which)), dead=dead)

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """The same, with some of the events."""
        return replace(self, events=self.events.take(rows), X=self.X[rows])


def read(
    frame: pd.DataFrame, dimension: int, kind: np.dtype[Any], classes: Labels | None = None
) -> Batch:
    """The batch in a frame of both inputs, united.

    Where a label comes with features, these are a row that may be learned though nobody asked.

    >>> frame = pd.DataFrame({"kind": [0, 0, 1], "key": ["a", "a", None], "id": ["1", "2", "1"],
    ...     "number": [5, 6, 5], "time": [1.0, 2.0, 3.0], "y": [np.nan, np.nan, 1.0],
    ...     "features": [[1.0, 2.0], [1.0], None], "raw": None})
    >>> batch = read(frame, dimension=2, kind=np.dtype(float))
    >>> batch.X.tolist(), batch.dead["outcome"].tolist()
    ([[1.0, 2.0]], ['features: expected 2 numbers, got 1', 'key is missing'])
    """
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    fault = _faults(frame)
    event = columns["kind"] == EVENT
    known, y = classes or Labels((-1, 1)), np.zeros(len(event), np.int8)
    y[~event] = known.codes(columns["y"][~event])
    fault[~event & (fault == FINE) & (y == 0)] = NO_LABEL
    brings = event | frame["features"].notna().to_numpy()
    some = np.flatnonzero(brings & (fault == FINE))
    X, words = rows_of(columns["features"][some], dimension, kind)
    place = {int(some[i]): text for i, text in words.items()}
    if words:
        fault[some[list(words)]] = NO_ROW
        X, some = (np.delete(part, list(words), axis=0) for part in (X, some))
    good = fault == FINE
    why = [known.wrong if code == NO_LABEL else FAULTS[code] for code in fault[~good].tolist()]
    outcome = [
        place.get(i, text) for i, text in zip(np.flatnonzero(~good).tolist(), why, strict=True)
    ]
    dead = {name: _shown(columns[name][~good], ID_BYTES) for name in ("key", "id")}
    dead |= {"time": columns["time"][~good], "detail": _shown(columns["raw"][~good])}
    dead["outcome"] = _shown(np.array(outcome, object))
    events, labels = _columns(columns, event & good), _columns(columns, ~event & good)
    y, own = y[~event & good], event[some]
    first, then = settled(events, X[own]), settled(labels, y[:, None])
    at = (np.cumsum(~event & good) - 1)[some[~own]]  # among the labels as they came
    where = dict(zip(then.tolist(), range(then.size), strict=True))
    brought = {where[place]: x for place, x in zip(at.tolist(), X[~own], strict=True)}
    return Batch(events.take(first), X[own][first], labels.take(then), y[then], dead, brought)


def settled(columns: Columns, values: NDArray[Any]) -> NDArray[np.int64]:
    """An order that does not depend on how rows came: time, hash of the id, key, id, values.

    Spark's shuffle keeps no order; a batch that is served again after a failure comes in another.

    >>> columns = Columns(np.array(["b", "a"], object), np.array(["7", "7"], object),
    ...     np.array([5, 5], np.uint64), np.array([1.0, 1.0]))
    >>> settled(columns, np.zeros((2, 1))).tolist()
    [1, 0]
    """
    number, time = columns.number, columns.time
    order = np.lexsort((number, time))
    tied = np.zeros(order.size + 1, np.bool_)
    a, b = order[:-1], order[1:]
    tied[1:-1] = (number[a] == number[b]) & (time[a] == time[b])
    places = np.flatnonzero(tied[:-1] | tied[1:])
    some = order[places]
    data = [row.tobytes() for row in values[some]]
    names = zip(time[some].tolist(), number[some].tolist(), columns.key[some], columns.id[some],
                data, some.tolist(), strict=True)  # fmt: skip
    order[places] = [name[-1] for name in sorted(names)]
    return order


def rows_of(
    cells: Objects, dimension: int, kind: np.dtype[Any]
) -> tuple[NDArray[Any], dict[int, str]]:
    """Features as rows, and what is wrong with some of them.

    A cell is a list of numbers, packed little-endian doubles or singles, or a sparse row: a mapping
    (or row) with ``indices`` and ``values``. Where the model takes sparse rows (``kind`` is that of
    pairs), it may also be a text, whose words are hashed.

    >>> cells = np.array([np.array([1.0, 2.0]).tobytes(), b"12", None], dtype=object)
    >>> X, wrong = rows_of(cells, 2, np.dtype(float))
    >>> X[0].tolist(), wrong
    ([1.0, 2.0], {1: 'features: expected 16 or 8 bytes, got 2', 2: 'features are missing'})
    """
    if kind.names:
        return _sparse_rows(cells, dimension)
    n = len(cells)
    X, wrong = np.zeros((n, dimension), kind), dict[int, str]()
    with np.errstate(invalid="ignore", over="ignore"):
        if n and not _all_packed(cells, X):
            for i, cell in enumerate(cells):
                with _reported(wrong, i, cell):
                    X[i] = _row(cell, dimension)
        size = np.abs(X).max(axis=1, initial=0.0)
    for i in np.flatnonzero(~(size <= LARGEST)).tolist():
        wrong[i] = BEYOND
    return X, wrong


def _sparse_rows(cells: Objects, dimension: int) -> tuple[Objects, dict[int, str]]:
    """Features as arrays of pairs, and what is wrong with some of them."""
    X, wrong = np.empty(len(cells), object), dict[int, str]()
    texts = [i for i, cell in enumerate(cells) if isinstance(cell, str)]
    if texts:
        hashed = TextHasher(dimension).rows(cells[texts])
        X[texts] = _objects(list(sparse_rows("X", hashed, dimension)))
    for i in sorted({*range(len(cells))} - {*texts}):
        X[i] = np.empty(0, PAIR)
        with _reported(wrong, i, cells[i]):
            X[i] = _pairs(_mapping(cells[i]), dimension)
            if not np.abs(X[i]["value"]).max(initial=0.0) <= LARGEST:
                wrong[i] = BEYOND
    return X, wrong


@contextmanager
def _reported(wrong: dict[int, str], i: int, cell: Any) -> Iterator[None]:
    """Say what is wrong with a row: whatever it is, it is this row's alone."""
    try:
        yield
    except Exception as error:
        wrong[i] = f"features: {error}"[:SHOWN] if cell is not None else "features are missing"


def joined(X: NDArray[Any], more: list[NDArray[Any]]) -> Any:
    """Rows and more rows, as a fleet takes them.

    >>> joined(np.zeros((1, 2)), [np.ones(2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if X.dtype == object:
        return SparseRows.joined([*X, *more])
    return np.concatenate([X, *(x[None] for x in more)])


def fits(x: NDArray[Any], dimension: int) -> bool:
    """Whether a row is one of a model with so many features."""
    if x.dtype.names:
        return bool((x["column"] < dimension).all())
    return x.size == dimension


def _objects(rows: list[Any]) -> Objects:
    """Arrays of any length as the cells of an array."""
    cells = np.empty(len(rows), object)
    cells[:] = rows
    return cells


def _all_packed(cells: Objects, X: NDArray[Any]) -> bool:
    """Fill ``X`` at once if every cell has the same plain form; whether that was so."""
    n, dimension = X.shape
    first = type(cells[0])
    if first is bytes:
        with suppress(TypeError):  # not all of them are bytes
            data, lengths = b"".join(cells), set(map(len, cells))
            if lengths in ({8 * dimension}, {4 * dimension}):
                X[:] = np.frombuffer(data, _kind(lengths.pop(), dimension)).reshape(n, dimension)
                return True
    elif first is np.ndarray and all(
        type(cell) is np.ndarray and cell.shape == (dimension,) and cell.dtype.kind == "f"
        for cell in cells
    ):
        np.concatenate(cells, out=X.reshape(-1), casting="same_kind")
        return True
    return False


def _row(cell: Any, dimension: int) -> Any:
    """One row, whatever its form, or an error that says what is wrong with it."""
    if isinstance(cell, (bytes, bytearray, memoryview)):
        data = bytes(cell)
        if len(data) not in {8 * dimension, 4 * dimension}:
            raise ValueError(f"expected {8 * dimension} or {4 * dimension} bytes, got {len(data)}")
        return np.frombuffer(data, _kind(len(data), dimension))
    found = _mapping(cell)
    if isinstance(found, dict):
        row = np.zeros(dimension)
        np.add.at(row, *_entries(found, dimension))
        return row
    row = np.asarray(cell, dtype=np.float64)
    if row.shape != (dimension,):
        raise ValueError(f"expected {dimension} numbers, got {row.size}")
    return row


def _mapping(cell: Any) -> Any:
    """A row of Spark as a dict; anything else as it is."""
    return cell.asDict() if hasattr(cell, "asDict") else cell


def _pairs(cell: Any, dimension: int) -> Pairs:
    """The pairs of a row of any form; an index that comes twice adds up."""
    if isinstance(cell, dict):
        at, entries = _entries(cell, dimension)
    else:
        entries = np.asarray(_row(cell, dimension), dtype=np.float64)
        at = np.arange(entries.size)
    columns, which = np.unique(at, return_inverse=True)
    pairs = np.empty(columns.size, PAIR)
    pairs["column"], pairs["value"] = columns, np.bincount(which, entries, columns.size)
    found: Pairs = pairs[pairs["value"] != 0.0]
    return found


def _entries(cell: dict[str, Any], dimension: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The indices and values of a sparse row, as they came."""
    given, entries = (np.asarray(cell[name], dtype=np.float64) for name in ("indices", "values"))
    if given.shape != entries.shape:
        raise ValueError(f"{given.size} indices for {entries.size} values")
    if given.size and not (given.min() >= 0 and given.max() < dimension):
        raise ValueError(f"an index is outside 0 to {dimension - 1}")
    at = given.astype(np.int64)
    if (at != given).any():
        raise ValueError("an index is not a whole number")
    return at, entries


def _kind(length: int, dimension: int) -> str:
    return "<f8" if length == 8 * dimension else "<f4"


def _faults(frame: pd.DataFrame) -> NDArray[np.int8]:
    """What is wrong with each row, apart from its features and label; the last that holds."""
    fault = np.zeros(len(frame), np.int8)
    time = frame["time"].to_numpy(np.float64)
    fault[np.abs(time) > LONGEST] = FAR
    fault[np.isnan(time)] = NO_TIME
    for name, most, (long, odd, none) in (
        ("id", ID_BYTES, (LONG_ID, ODD_ID, NO_ID)),
        ("key", KEY_BYTES, (LONG_KEY, ODD_KEY, NO_KEY)),
    ):
        sizes = np.fromiter(map(_size, frame[name]), np.int64, len(frame))
        fault[sizes > most] = long
        fault[sizes < 0] = odd
        fault[frame[name].isna().to_numpy()] = none
    fault[frame["raw"].notna().to_numpy()] = UNREADABLE
    return fault


def _size(text: Any) -> int:
    """How many bytes a text has as UTF-8, or -1 if it is none."""
    if not isinstance(text, str):
        return -1
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1


def _shown(cells: Objects, most: int | None = None) -> Objects:
    """Texts as any reader can take them, cut where they are too long; nothing for other cells."""
    out = np.full(len(cells), None, object)
    for i, cell in enumerate(cells):
        if isinstance(cell, str):
            out[i] = cell[:most].encode(errors="replace").decode()
    return out


def _columns(columns: dict[str, Objects], chosen: NDArray[np.bool_]) -> Columns:
    key, name, number, time = (columns[c][chosen] for c in ("key", "id", "number", "time"))
    seconds = time.astype(np.float64) + 0.0  # -0.0 is 0.0, also where times are compared as bytes
    return Columns(key, name, number.astype(np.int64).view(np.uint64), seconds)
