"""What drift detectors see of a table: its cells before they are scaled, and their names.

Numbers are as the table has them, NaN where a cell is missing. A column whose categories are listed
(:mod:`lasec.tables.one_hot`) has a 0/1 column for each, and one for all other categories, in which
a missing cell is NaN. Of a column that is hashed, only missing cells are seen. Tables with texts,
or with pairs of many features, are not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasec.tables.encoder import Encoder, floats
from lasec.types import Matrix


def names(encoder: Encoder) -> tuple[str, ...]:
    """The names of the columns that :func:`cells` gives; none where there are texts.

    >>> shops = {"price": [1.0, None] * 20, "shop": ["north", "south"] * 20}
    >>> names(Encoder.fit(pa.RecordBatch.from_pydict(shops)))
    ('price', 'shop = north', 'shop = south', 'shop = another value')
    """
    if not _looks(encoder):
        return ()
    listed = encoder.one_hot.categories
    return (
        *encoder.numbers,
        *(f"{name} = {value or 'missing'}" for name, values in listed.items() for value in values),
        *(f"{name} = another value" for name in listed),
        *encoder.hashed,
        *(f"feature {index}" for index in range(encoder.pairs)),
    )


def cells(encoder: Encoder, batch: pa.RecordBatch, X: Any) -> Matrix | None:
    """The cells of a batch that was encoded as ``X``; None where there are texts.

    >>> shops = {"price": [1.0, None] * 20, "shop": ["north", "south"] * 20}
    >>> rows = pa.RecordBatch.from_pydict(shops)
    >>> encoder = Encoder.fit(rows)
    >>> cells(encoder, rows, encoder.encode(rows))[:2].tolist()
    [[1.0, 1.0, 0.0, 0.0], [nan, 0.0, 1.0, 0.0]]
    """
    if not _looks(encoder):
        return None
    if encoder.words:
        X = X[:, : encoder.dense].toarray()
    k, listed = len(encoder.numbers), encoder.one_hot
    numbers = [floats(batch[name]) for name in encoder.numbers]
    one_hot = X[:, k : k + listed.width]
    others, begin = [], 0
    for name, values in listed.categories.items():
        rest = 1.0 - one_hot[:, begin : begin + len(values)].sum(axis=1)
        others.append(np.where(_missing(batch[name]), np.nan, rest))
        begin += len(values)
    hashed = [np.where(_missing(batch[name]), np.nan, 0.0) for name in encoder.hashed]
    begin = k + listed.width
    parts = [*numbers, one_hot, *others, *hashed, X[:, begin : begin + encoder.pairs]]
    return np.column_stack(parts)


def _looks(encoder: Encoder) -> bool:
    """Whether detectors look at a table: sparse rows are looked at for their hashed categories."""
    return not encoder.words or not (encoder.texts or encoder.paired)


def _missing(values: pa.Array) -> Any:
    """Where a cell has no text."""
    return pc.equal(values.fill_null(""), "").to_numpy(zero_copy_only=False)
