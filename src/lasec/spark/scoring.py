"""Scoring alone: a saved model applied to a table, batch or stream, by any number of tasks.

Every row is judged as if it were the next one after the snapshot was taken, whatever stands beside
it: a table gives the same scores however it is split.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf

from lasec import Fleet, Learner, Records
from lasec.spark.labels import Labels
from lasec.spark.rows import LARGEST, joined, rows_of
from lasec.sparse import row_kind

SCORES = "label {0}, margin double, variance double, propensity double, version string"

Score = Callable[..., Column]
_udf: Any = arrow_udf  # its types know no struct of several columns


def scorer(model: Learner | str | os.PathLike[str] | bytes) -> Score:
    """A function of columns that applies a model: a learner, a ``.lasec`` file, or its bytes.

    Where the model is a file of its own, it scores any table::

        score = lasec.spark.scorer("model.lasec")
        table.withColumn("scored", score("features"))
        table.withColumn("scored", score("features", "id")).where("scored.asked")

    The features are an array, packed floats, or a struct of indices and values; for a model of
    sparse rows, they may be texts as well. The result is a
    struct of label, margin, variance, propensity, and the version of the snapshot, a fingerprint of
    its bytes; all but the version are null where the features cannot be used. With the column of an
    id there is also ``asked``: whether the row's label is wanted, by a random draw that depends on
    the model's seed and the id alone, the same that a :class:`Job` would make.

    Nothing is learned here: labels go to the one place that owns the model, with the propensity
    and the version of the question. A budget does not see what the scorers ask: it stays as it was
    in the snapshot.
    """
    data = _bytes(model)
    snapshot = Snapshot(data)  # what is wrong with the model is said here, not in the tasks
    columns = SCORES.format(snapshot.labels.kind)

    def score(features: str | Column, name: str | Column | None = None) -> Column:
        """The scores of a column of features; with the column of an id, whether to ask."""
        if name is None:
            return _plain(data, columns)(features)
        column = sql.col(name) if isinstance(name, str) else name
        return _asking(data, columns)(features, sql.xxhash64(column.cast("string")))

    score.__doc__ = f"Scores by the snapshot {snapshot.version}."
    return score


class Snapshot:
    """A model at rest, ready to judge rows that do not see each other.

    >>> import lasec
    >>> snapshot = Snapshot(lasec.LASEC_SS(dimension=2, aggressiveness=1.0).to_bytes())
    >>> snapshot.judge(np.array([[0.5, -1.0], [1.0, 0.0]]), None).variance.tolist()
    [1.25, 1.0]
    """

    def __init__(self, data: bytes) -> None:
        model = Learner.from_bytes(data)
        if model.selector.query.timed:
            raise ValueError("model: its budget is by time, and a scorer has no clock")
        self.version = blake2b(data, digest_size=6).hexdigest()
        self.dimension, self.kind = model.dimension, row_kind(model.rule)
        self._model, blank = model, Fleet.of(model, models=1, seeds=[model.seed])
        self.labels, self._draws = Labels(blank.classes), blank.draws

    def judge(self, X: NDArray[Any], numbers: NDArray[np.uint64] | None) -> Records:
        """What the model says about each row; ``numbers`` are hashes of the rows' ids."""
        ids = np.zeros(len(X), np.uint64) if numbers is None else numbers
        draws = self._draws(np.zeros(len(X), np.int64), ids)
        return self._model.preview(joined(X, []), draws=draws)

    def scores(self, features: pa.Array, numbers: pa.Array | None) -> pa.StructArray:
        """A column of scores."""
        n = len(features)
        X, usable = _matrix(features, self.dimension, self.kind)
        ids = None
        if numbers is not None:
            ids = numbers.to_numpy(zero_copy_only=False).view(np.uint64)[usable]
        seen = self.judge(X[usable], ids)
        judged = vars(seen) | {"label": self.labels.cells(seen.label)}
        kinds = {"label": pa.int32() if self.labels.are_signs else pa.string()} | dict.fromkeys(
            ("margin", "variance", "propensity"), pa.float64()
        )
        columns = {name: _spread(judged[name], usable, kind) for name, kind in kinds.items()}
        columns["version"] = pa.array([self.version] * n, pa.string())
        if numbers is not None:
            columns["asked"] = _spread(judged["asked"], usable, pa.bool_())
        return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _plain(data: bytes, columns: str) -> Score:
    """The scores of features."""

    def score(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        snapshot = Snapshot(data)
        for features in batches:
            yield snapshot.scores(features, None)

    made: Score = _udf(score, columns)
    return made


def _asking(data: bytes, columns: str) -> Score:
    """The scores of features, and whether to ask."""

    def score(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        snapshot = Snapshot(data)
        for features, numbers in batches:
            yield snapshot.scores(features, numbers)

    made: Score = _udf(score, f"{columns}, asked boolean")
    return made


def _matrix(
    column: pa.Array, dimension: int, kind: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Features as rows, and which of them can be used."""
    n, usable = len(column), np.ones(len(column), np.bool_)
    numbers = None if column.null_count or kind.names else _numbers(column, dimension)
    if numbers is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            X = np.ascontiguousarray(numbers.reshape(n, dimension), kind)
            usable &= np.abs(X).max(axis=1, initial=0.0) <= LARGEST
        return X, usable
    cells = np.empty(n, object)
    cells[:] = column.to_pylist()
    X, wrong = rows_of(cells, dimension, kind)
    usable[list(wrong)] = False
    return X, usable


def _numbers(column: pa.Array, dimension: int) -> NDArray[Any] | None:
    """All numbers of a column in a row, where every cell has as many as it should."""
    if pa.types.is_list(column.type):
        if (np.diff(column.offsets.to_numpy()) == dimension).all():
            flat: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
            return flat
    elif pa.types.is_binary(column.type) and len(column):
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, np.int32)[column.offset :][: len(column) + 1]
        lengths, width = np.diff(ends), int(ends[1] - ends[0])
        if width in (8 * dimension, 4 * dimension) and (lengths == width).all():
            form = np.dtype("<f8" if width == 8 * dimension else "<f4")
            return np.frombuffer(data, form, len(column) * dimension, int(ends[0]))
    return None


def _spread(values: NDArray[Any], usable: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Values in their rows; null elsewhere."""
    if usable.all():
        return pa.array(values, kind)
    whole = np.zeros(usable.size, values.dtype)
    whole[usable] = values
    return pa.array(whole, kind, mask=~usable)


def _bytes(model: Learner | str | os.PathLike[str] | bytes) -> bytes:
    """A model as the bytes of its file."""
    if isinstance(model, Learner):
        return model.to_bytes()
    return bytes(model) if isinstance(model, bytes) else Path(model).read_bytes()
