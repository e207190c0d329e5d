"""Columns of index and value pairs, as svmlight files have them, as sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

COLUMNS = 2**31  # of sparse rows: one for each index, which costs nothing before it occurs
MOST = 1_024  # features that get a column each in dense rows
_BEYOND = 1e100  # what is larger is no number to learn from


def top_index(values: pa.Array) -> int:
    """The largest index in a column of pairs.

    >>> top_index(pa.array([[(3, 1.0)], []], pa.map_(pa.int64(), pa.float64())))
    3
    """
    return int(pc.max(values.keys).as_py() or 0)


def flat(values: pa.Array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The row, the index and the value of each pair; the value is 0 if it is no usable number.

    >>> row, index, number = flat(pa.array([[], [(3, 1.5)]], pa.map_(pa.int64(), pa.float64())))
    >>> row.tolist(), index.tolist(), number.tolist()
    ([1], [3], [1.5])
    """
    offsets = values.offsets.to_numpy()
    part = slice(offsets[0], offsets[-1])
    items = values.items.to_numpy()[part]
    return (
        np.repeat(np.arange(len(values)), np.diff(offsets)),
        values.keys.to_numpy()[part],
        np.where(np.abs(items) < _BEYOND, items, 0.0),
    )


def sparse_rows(columns: Sequence[pa.Array], count: int, width: int = COLUMNS) -> Any:
    """The rows of such columns as a sparse matrix; the same index in several columns adds up.

    Indices beyond the last of ``width`` columns start again at 0.

    >>> pairs = pa.array([[(3, 1.5), (2**31 + 5, 1.0)], []], pa.map_(pa.int64(), pa.float64()))
    >>> sparse_rows([pairs], 2).indices.tolist()
    [3, 5]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415, tables of numbers need no SciPy

    if not columns:
        return csr_array((count, width))
    found = zip(*map(flat, columns), strict=True)
    row, index, number = (np.concatenate(parts) for parts in found)
    return csr_array((number, (row, index % width)), (count, width))
