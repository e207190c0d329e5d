"""Rows and labels in bins of the predicted probability of a class.

The grid has 300 bins of equal width in log-odds, from -15 to 15, cut once more at every 0.05, so
that calibration has bins of round numbers. The odds of rows in one bin differ by at most 11 %, and
their order is not known. That changes an average precision by less than 0.01 where the class has at
least 100 rows.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TWENTY = 20
EDGES: Array = np.union1d(
    1.0 / (1.0 + np.exp(np.linspace(15.0, -15.0, 299))), np.arange(1, TWENTY) / TWENTY
)
SIZE = EDGES.size + 1


class Bin(IntEnum):
    """The sums of a bin; hits are the labels of the class.

    >>> Bin.ROWS.value, len(Bin)
    (0, 9)
    """

    ROWS = 0
    PREDICTED = 1  # the probability of the class, over the rows
    LABELS = 2
    HITS = 3
    WEIGHTS = 4  # 1/q, over the labels
    HIT_WEIGHTS = 5
    SPREAD = 6  # (1 - q)/q^2, over the labels
    HIT_SPREAD = 7
    EXPECTED = 8  # the spread of the hits as the model expects it: p (1 - q)/q, over the rows


def of_rows(p: Array, q: Array) -> Array:
    """The sums of rows with these probabilities (rows, classes) and q: classes, bins, sums.

    >>> made = of_rows(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0.5, 0.5]))
    >>> made.shape == (2, SIZE, len(Bin)), made[1].sum(axis=0)[:2].round(6).tolist()
    (True, [2.0, 0.3])
    """
    apart = np.where(q > 0.0, 1.0 / np.where(q > 0.0, q, 1.0) - 1.0, 0.0)
    columns = {Bin.ROWS: np.ones_like(p), Bin.PREDICTED: p, Bin.EXPECTED: p * apart[:, None]}
    return _summed(p, columns)


def of_labels(p: Array, true: NDArray[np.int64], q: Array) -> Array:
    """The sums of labels: the class of each, with the probabilities and the q of its row.

    >>> made = of_labels(np.array([[0.9, 0.1]]), np.array([0]), np.array([0.25]))
    >>> made.sum(axis=1)[:, Bin.LABELS : Bin.EXPECTED].tolist()
    [[1.0, 1.0, 4.0, 4.0, 12.0, 12.0], [1.0, 0.0, 4.0, 0.0, 12.0, 0.0]]
    """
    hit = true[:, None] == np.arange(p.shape[1])
    columns: dict[Bin, Array] = {}
    for place, of_row in ((Bin.LABELS, np.ones_like(q)), (Bin.WEIGHTS, 1.0 / q),
                          (Bin.SPREAD, (1.0 - q) / q**2)):  # fmt: skip
        every = np.broadcast_to(of_row[:, None], p.shape)
        columns |= {place: every, Bin(place + 1): every * hit}
    return _summed(p, columns)


def _summed(p: Array, columns: dict[Bin, Array]) -> Array:
    classes = p.shape[1]
    place = (np.searchsorted(EDGES, p, side="right") + SIZE * np.arange(classes)).ravel()
    made = np.zeros((classes, SIZE, len(Bin)))
    for column, values in columns.items():
        total = np.bincount(place, values.ravel(), classes * SIZE)
        made[:, :, column] = total.reshape(classes, SIZE)
    return made


def answered(cells: Array) -> tuple[Array, Array]:
    """The factor that makes the weights of labels those of all rows, and 1/q - 1 with losses in it.

    >>> cells = np.zeros(len(Bin))
    >>> cells[[Bin.ROWS, Bin.LABELS, Bin.WEIGHTS, Bin.SPREAD]] = 80.0, 10.0, 40.0, 120.0
    >>> [float(part) for part in answered(cells)]
    [2.0, 0.5]
    """
    total = cells[..., Bin.WEIGHTS]
    scale = np.where(total > 0.0, cells[..., Bin.ROWS] / np.where(total > 0.0, total, 1.0), 0.0)
    return scale, np.maximum(1.0 - 1.0 / np.maximum(scale, 1.0), 0.0)
