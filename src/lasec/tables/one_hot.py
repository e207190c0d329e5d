"""One-hot encoding: a column of the matrix for each category of the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lasec.types import Matrix

MOST = 32  # categories of a column
ALL = 128  # categories of all columns together: a Tracker's cost grows with the square
ENOUGH = 20  # rows for each category, on average: fewer, and more categories are likely to come


class OneHot:
    """The categories of some columns, and the place of each in a row.

    Rows with another category stay zero, and are counted in ``unseen``. A missing value is a
    category of its own if the first rows have one.

    >>> one_hot = OneHot({"shop": ["north", "south"]})
    >>> X = np.zeros((3, one_hot.width))
    >>> one_hot.encode({"shop": pa.array(["south", "north", "west"])}, X)
    {'shop': array([2])}
    >>> X.tolist(), one_hot.unseen["shop"]
    ([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], 1)
    """

    def __init__(self, categories: Mapping[str, Sequence[str]]) -> None:
        self.categories = {name: tuple(values) for name, values in categories.items()}
        self.unseen: Counter[str] = Counter()

    @property
    def width(self) -> int:
        """How many columns of the matrix they take."""
        return sum(map(len, self.categories.values()))

    def encode(self, cells: Mapping[str, pa.Array], out: Matrix) -> dict[str, NDArray[np.intp]]:
        """Write the ones of each row into a matrix of zeros; the rows with other categories."""
        others, begin = {}, 0
        for name, values in self.categories.items():
            found = pc.index_in(cells[name].fill_null(""), pa.array(values, pa.string()))
            at = found.fill_null(-1).to_numpy(zero_copy_only=False)
            rows = np.flatnonzero(at >= 0)
            out[rows, begin + at[rows]] = 1.0
            begin += len(values)
            if found.null_count:
                others[name] = np.flatnonzero(at < 0)
                self.unseen[name] += found.null_count
        return others


def few_categories(head: pa.RecordBatch, names: Iterable[str]) -> dict[str, list[str]]:
    """The columns of ``head`` that are to be one-hot, with their categories in order.

    These have at most 32 categories, with 20 rows for each on average, and all together at most
    128; the columns with the fewest come first.

    >>> head = pa.RecordBatch.from_pydict({"shop": ["north", "south"] * 20, "name": ["a"] * 40})
    >>> few_categories(head, ["shop", "name"])
    {'shop': ['north', 'south'], 'name': ['a']}
    >>> few_categories(head.slice(0, 30), ["shop"])
    {}
    """
    found = {name: sorted(pc.unique(head[name].fill_null("")).to_pylist()) for name in names}
    most = min(MOST, head.num_rows // ENOUGH)
    left, chosen = ALL, set[str]()
    for name in sorted(found, key=lambda name: len(found[name])):
        if len(found[name]) <= min(most, left):
            left -= len(found[name])
            chosen.add(name)
    return {name: values for name, values in found.items() if name in chosen}
