"""The accuracy of any part of a run, and the distribution of its margins.

A row of a few numbers is kept for each part: four counts, and the sums of :mod:`lasec.metrics.sums`
over the rows with a prediction, whose value is whether it is wrong. Parts of a run are differences
of what was summed up to two moments.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import Estimate, means, sums
from lasec.parameters import Range
from lasec.persistence.record import Shape

Array = NDArray[np.float64]
EACH = Shape("rows")
Places = Annotated[NDArray[np.int64], EACH, Range(-1, 2**53)]
BINS = 40
COUNTS = 4  # rows, queried rows, mistakes, labels of rows with a prediction
WIDTH = COUNTS + sums.SUMS
NO_MORE = np.zeros(COUNTS)
Column = Annotated[Array, Shape(BINS), Range(0.0, sums.LARGEST)]
Total = Annotated[Array, Shape(WIDTH)]


class Rows(NamedTuple):
    """Columns of consecutive rows of a run; ``group`` is -1 where there are none.

    ``label`` is the sign of :class:`lasec.Records`, and ``y`` is the same where the prediction was
    right, the other sign where it was wrong, and NaN without a label. Both are 0 where there is no
    prediction, and that is no mistake. ``predicted`` and ``true`` are numbers of classes, -1 for
    none.
    """

    label: Annotated[NDArray[np.int8], EACH, Range(-1, 1)]
    margin: Annotated[Array, EACH]
    propensity: Annotated[Array, EACH, Range(0.0, 1.0)]
    asked: Annotated[NDArray[np.bool_], EACH]
    mistake: Annotated[NDArray[np.bool_], EACH]
    ticket: Annotated[NDArray[np.int64], EACH]
    y: Annotated[Array, EACH, Range(-1.0, 1.0, also=(math.nan,))]
    group: Places
    time: Annotated[Array, EACH]
    predicted: Places
    true: Places

    def validate(self) -> str:
        """Why these are not rows of a run; empty if they can be some."""
        sound = (
            ((np.abs(self.y) == np.abs(self.label)) | np.isnan(self.y)).all()
            and np.array_equal(self.true < 0, np.isnan(self.y))
            and ((self.propensity > 0.0) | ~self.asked).all()
            and ((self.group == -1).all() or (self.group >= 0).all())
        )
        return "" if sound else "the rows that wait hold impossible numbers"

    def cut(self, begin: int, end: int | None = None) -> Rows:
        """Some of them."""
        return Rows._make(column[begin:end] for column in self)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Those that are chosen."""
        return Rows._make(column[chosen] for column in self)

    def __add__(self, more: Any) -> Rows:
        columns: tuple[NDArray[Any], ...] = self
        return Rows._make(np.concatenate(pair) for pair in zip(columns, more, strict=True))

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        known: NDArray[np.bool_] = ~np.isnan(self.y)
        return known

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Which rows have no prediction."""
        return np.asarray(self.label == 0)

    @property
    def counts(self) -> Array:
        """How many rows, queried rows, mistakes, and labels of predicted rows there are."""
        known = self.labeled & ~self.silent
        few = (self.asked.sum(), self.mistake.sum(), known.sum())
        return np.array([self.y.size, *few], dtype=np.float64)


_KINDS = (
    np.int8, np.float64, np.float64, np.bool_, np.bool_, np.int64, np.float64, np.int64, np.float64,
    np.int64, np.int64,
)  # fmt: skip
NO_ROWS = Rows._make(np.empty(0, dtype=kind) for kind in _KINDS)


class Part(NamedTuple):
    """A part of a run: a window of time, or the rows of a group.

    ``accuracy`` is the true accuracy (all labels), ``estimate`` that from the queried labels.

    >>> part = Part("DE", 200, 20, 0.95, Estimate(0.94, 0.9, 0.98, 200, 20, 200))
    >>> part.rate
    0.1
    """

    name: str
    rows: int
    labels: int
    accuracy: float
    estimate: Estimate

    @property
    def rate(self) -> float:
        """The share of rows whose label was queried."""
        return self.labels / self.rows if self.rows else math.nan


class Margins(NamedTuple):
    """The distribution of margins: for each bin, the rows, the queried ones, and the mistakes.

    ``propensity`` is the sum of the query probabilities of the rows of a bin. Margins of rules
    that do not give probabilities are unbounded: they are counted as m/(1 + |m|), and ``bounded``
    is False.

    >>> empty = Margins.none(bounded=True)
    >>> empty.edges[[0, 20, -1]].tolist(), int(empty.rows.sum())
    ([-1.0, 0.0, 1.0], 0)
    """

    rows: Column
    asked: Column
    mistakes: Column
    propensity: Column
    bounded: bool

    @classmethod
    def none(cls, *, bounded: bool) -> Margins:
        """No rows yet."""
        return cls._make([*np.zeros((4, BINS)), bounded])

    @property
    def edges(self) -> Array:
        """The edges of the bins, from -1 to 1."""
        return np.linspace(-1.0, 1.0, BINS + 1)

    def add(self, columns: Rows) -> Margins:
        """These and the margins of some more rows."""
        m = columns.margin if self.bounded else columns.margin / (1.0 + np.abs(columns.margin))
        bins = ((m + 1.0) * (BINS / 2.0)).astype(np.int64).clip(0, BINS - 1)
        more = [
            np.bincount(bins, weights, BINS)
            for weights in (None, columns.asked, columns.mistake, columns.propensity)
        ]
        return Margins._make([*np.add(self[:4], more), self.bounded])


class Bin(NamedTuple):
    """Rows with nearly the same predicted probability of a class.

    It is the second of two classes, or, of more classes, the one that was predicted.
    ``predicted`` is the mean of those probabilities, ``frequency`` the true share of that class
    (all labels), and ``estimate`` that share as estimated from the queried labels.

    >>> bin = Bin(0.95, 0.92, 100, 20, Estimate(0.9, 0.7, 0.98, 100, 20, 100))
    >>> bin.frequency in bin.estimate
    True
    """

    predicted: float
    frequency: float
    rows: int
    labels: int
    estimate: Estimate


def rows_of(columns: Rows, answered: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> Array:
    """What each row adds to its part; ``wrong`` is what its answer says."""
    spoken = ~columns.silent
    q, guess = columns.propensity, sums.doubt(columns.label, columns.margin)
    known = columns.labeled & spoken
    rows = np.zeros((columns.y.size, WIDTH))
    counts = (np.ones(columns.y.size), columns.asked, columns.mistake, known)
    rows[:, :COUNTS] = np.column_stack(counts)
    rows[spoken, COUNTS:] = sums.of_rows(guess[spoken], q[spoken])
    told, lost = spoken & answered, spoken & columns.asked & ~answered
    rows[told, COUNTS:] += sums.of_answers(guess[told], q[told], wrong[told])
    rows[lost, COUNTS:] += sums.of_losses(q[lost])
    return rows


def part(name: str, row: Array, until: int, more: Array = NO_MORE) -> Part:
    """The part of a run that has these sums; ``more`` counts rows that are not settled yet.

    >>> part("none", np.zeros(WIDTH), 0).estimate
    Estimate(value=nan, low=0.0, high=1.0, rows=0, labels=0, until=0)
    """
    rounds, asked, mistakes, known = (row[:COUNTS] + more).tolist()
    truth = 1.0 - mistakes / known if known else math.nan
    return Part(name, round(rounds), round(asked), truth, means.accuracy(row[COUNTS:], until))
