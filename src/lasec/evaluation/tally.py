"""Sums over rounds from which the accuracy of any part of a run is told, and how margins lie.

The estimate is that of a :class:`~lasec.Meter` ("aipw", see :mod:`lasec.metrics.totals`): with
w = 1 where a prediction was wrong, a the model's own guess of that, and q the propensity, ::

    error = (1/n) sum of a + Z (w - a)/q,     variance (1/n^2) sum of Z (1 - q) (w - a)^2/q^2

All sums are additive, so parts of a run are differences of what was summed up to two moments, and
what is kept is a row of eleven numbers for each part.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import Estimate, sums, totals

Array = NDArray[np.float64]
BINS = 40


class Sum(IntEnum):
    """The columns of a row of sums; those from ANSWERS on run over the answered rounds."""

    ROUNDS = 0
    ASKED = 1
    MISTAKES = 2  # in truth
    GUESS = 3  # a
    EXPECTED = 4  # (1 - q)/q a (1 - a)
    BELOW = 5  # a, over the rounds that could not be asked
    ABOVE = 6  # 1 - a, over the same
    ANSWERS = 7
    MISSED = 8  # (w - a)/q
    SQUARE = 9  # (1 - q) (w - a)^2/q^2
    FOURTH = 10  # the square of that


WIDTH = len(Sum)


class Columns(NamedTuple):
    """The columns of consecutive rounds: ``wrong`` is what the answers say, ``mistake`` the truth.

    ``chance`` is the propensity times the share of questions that are answered.
    """

    label: NDArray[np.int8]
    margin: Array
    chance: Array
    asked: NDArray[np.bool_]
    mistake: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    wrong: NDArray[np.bool_]

    def cut(self, begin: int, end: int) -> Columns:
        """Some of the rounds."""
        columns: list[Any] = [column[begin:end] for column in self]
        return Columns(*columns)


class Part(NamedTuple):
    """A part of a run: a stretch of time, or the rows of a group.

    ``accuracy`` is the true one, ``estimate`` what the asked labels say of it.

    >>> part = Part("DE", 200, 20, 0.95, Estimate(0.94, 0.9, 0.98, 200, 20, 200))
    >>> part.rate
    0.1
    """

    name: str
    rounds: int
    labels: int
    accuracy: float
    estimate: Estimate

    @property
    def rate(self) -> float:
        """The share of rows that were asked."""
        return self.labels / self.rounds if self.rounds else math.nan


class Margins(NamedTuple):
    """How margins lie: for each bin, how many rows, how many asked, how many mistakes in truth.

    ``propensity`` is the sum over the rows of a bin of the probability to ask. Margins of rules
    that do not give probabilities are unbounded: they are counted as m/(1 + |m|), and ``bounded``
    is False.

    >>> empty = Margins.none(bounded=True)
    >>> empty.edges[[0, 20, -1]].tolist(), int(empty.rows.sum())
    ([-1.0, 0.0, 1.0], 0)
    """

    rows: Array
    asked: Array
    mistakes: Array
    propensity: Array
    bounded: bool

    @classmethod
    def none(cls, *, bounded: bool) -> Margins:
        """No rows yet."""
        return cls.of(np.zeros((4, BINS)), bounded=bounded)

    @classmethod
    def of(cls, table: Array, *, bounded: bool) -> Margins:
        """The four columns of a table."""
        rows, asked, mistakes, propensity = table
        return cls(rows, asked, mistakes, propensity, bounded)

    @property
    def table(self) -> Array:
        """The four columns together."""
        return np.array(self[:4])

    @property
    def edges(self) -> Array:
        """The edges of the bins, from -1 to 1."""
        return np.linspace(-1.0, 1.0, BINS + 1)

    def add(self, columns: Columns) -> Margins:
        """These and the margins of some more rounds."""
        m = columns.margin if self.bounded else columns.margin / (1.0 + np.abs(columns.margin))
        bins = ((m + 1.0) * (BINS / 2.0)).astype(np.int64).clip(0, BINS - 1)
        more = [
            np.bincount(bins, weights, BINS)
            for weights in (None, columns.asked, columns.mistake, columns.chance)
        ]
        return Margins.of(self.table + more, bounded=self.bounded)


def rows_of(columns: Columns) -> Array:
    """What each round adds to the sums of its part."""
    label, margin, q, asked, mistake, answered, wrong = columns
    p = sums.likely(margin)
    a = np.where(label > 0, 1.0 - p, p)
    seen = q > 0.0
    odds = np.where(seen, (1.0 - q) / np.where(seen, q, 1.0), 0.0)
    rows = np.zeros((WIDTH, a.size))
    rows[Sum.ROUNDS] = 1.0
    rows[Sum.ASKED], rows[Sum.MISTAKES], rows[Sum.GUESS] = asked, mistake, a
    rows[Sum.EXPECTED] = odds * a * (1.0 - a)
    rows[Sum.BELOW], rows[Sum.ABOVE] = a * ~seen, (1.0 - a) * ~seen
    d = (wrong[answered] - a[answered]) / q[answered]
    square = (1.0 - q[answered]) * d * d
    rows[Sum.ANSWERS, answered], rows[Sum.MISSED, answered] = 1.0, d
    rows[Sum.SQUARE, answered], rows[Sum.FOURTH, answered] = square, square * square
    return rows


def part(name: str, row: Array, until: int) -> Part:
    """The part of a run that has these sums.

    >>> part("none", np.zeros(WIDTH), 0).estimate
    Estimate(value=nan, low=0.0, high=1.0, rounds=0, labels=0, until=0)
    """
    s = {column: float(row[column]) for column in Sum}
    n, labels = s[Sum.ROUNDS], round(s[Sum.ANSWERS])
    truth = 1.0 - s[Sum.MISTAKES] / n if n else math.nan
    value, low, high = math.nan, 0.0, 1.0
    if n and labels:
        free, square = totals.LEAST, max(s[Sum.SQUARE], 0.0)
        if s[Sum.FOURTH] > 0.0:
            free = max(square * square / s[Sum.FOURTH] - 1.0, totals.LEAST)
        few = free < totals.FEW or labels < totals.SMALL
        value = 1.0 - (s[Sum.GUESS] + s[Sum.MISSED]) / n
        least = math.sqrt(max(s[Sum.EXPECTED], 0.0)) / n if few else 0.0
        below, above = s[Sum.ABOVE] / n, s[Sum.BELOW] / n
        spread = totals.Value(value, math.sqrt(square) / n, free, least, below, above)
        low, high = (min(max(end, 0.0), 1.0) for end in spread.interval(0.95))
    estimate = Estimate(value, low, high, round(n), labels, until)
    return Part(name, round(n), round(s[Sum.ASKED]), truth, estimate)
