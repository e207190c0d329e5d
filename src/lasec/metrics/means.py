"""Additive sums from which the mean of one value over any set of rows is estimated.

A meter keeps blocks for all metrics. Where only the accuracy matters - groups of rows, parts of a
run, shards of a job, the gain by labels, alarms - one row of sums will do. With w the value of a
row (1 where the prediction is wrong), a the model's guess of it, q the propensity, and Z whether
the label was queried, the estimate is "aipw" of :mod:`lasec.metrics.totals`::

    mean = (1/n) sum of a + Z (w - a)/q,     variance (1/n^2) sum of Z (1 - q) (w - a)^2/q^2

Sums of disjoint rows add, in any order; parts of a run are differences of what was summed up to two
moments. Where a share of the answers is lost at random or still out, q is q times the share
answered, which ANSWERED and QUERIED tell. A row of sums without them has lost no answer. Rows
without a prediction are counted, and no more.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import totals
from lasec.metrics.estimate import Estimate
from lasec.metrics.sums import likely

Array = NDArray[np.float64]


class Sum(IntEnum):
    """The columns of a row of sums; those from ANSWERS to SQUARED run over the answered rows.

    >>> Sum.ROUNDS.value, len(Sum)
    (0, 21)
    """

    ROUNDS = 0
    ASKED = 1
    MISTAKES = 2  # known only where all labels are
    GUESS = 3  # a
    EXPECTED = 4  # (1 - q)/q a (1 - a)
    BELOW = 5  # a, over the rows that could not be queried
    ABOVE = 6  # 1 - a, over the same
    ANSWERS = 7
    MISSED = 8  # (w - a)/q
    SQUARE = 9  # (1 - q) (w - a)^2/q^2
    FOURTH = 10  # the square of that
    SQUARED = 11  # (w - a)^2/q
    ANSWERED = 12  # 1/q, over the answered rows
    QUERIED = 13  # 1/q, over the queried rows
    LABELED = 14  # rows whose label is known, queried or not
    SILENT = 15  # rows without a prediction, which are part of no estimate
    SILENT_ASKED = 16  # questions among them
    SILENT_LABELED = 17  # labels among them
    WRONG = 18  # w/q, over the answered rows
    WEIGHTS = 19  # 1/q^2, over the same
    WRONG_WEIGHTS = 20  # w/q^2, over the same


def aipw(guess: float, value: float | None, q: float) -> float:
    """The estimate of one row's value: unbiased, whatever the guess; None is no label.

    >>> [round(aipw(0.1, value, q=0.5), 6) for value in (1.0, 0.0, None)]
    [1.9, -0.1, 0.1]
    """
    return guess if value is None else guess + (value - guess) / q


def doubt(label: NDArray[Any], margin: Array) -> Array:
    """The model's own probability that its prediction is wrong.

    >>> doubt(np.array([1, -1]), np.array([0.8, 0.5])).round(2).tolist()
    [0.1, 0.75]
    """
    p = likely(margin)
    return np.where(label > 0, 1.0 - p, p)


def of_rows(guess: Array, q: Array, asked: NDArray[np.bool_]) -> Array:
    """What each row adds before any answer, a column a row.

    >>> of_rows(np.array([0.1]), np.array([0.5]), np.array([True]))[:10, 0].round(2).tolist()
    [1.0, 1.0, 0.0, 0.1, 0.09, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    seen = q > 0.0
    some = np.where(seen, q, 1.0)
    rows = np.zeros((len(Sum), guess.size))
    rows[Sum.ROUNDS], rows[Sum.ASKED], rows[Sum.GUESS] = 1.0, asked, guess
    rows[Sum.EXPECTED] = np.where(seen, (1.0 - q) / some, 0.0) * guess * (1.0 - guess)
    rows[Sum.BELOW], rows[Sum.ABOVE] = guess * ~seen, (1.0 - guess) * ~seen
    rows[Sum.QUERIED] = asked / some
    return rows


def of_silent(asked: NDArray[np.bool_], labeled: NDArray[np.bool_] | None = None) -> Array:
    """What rows without a prediction add, a column a row.

    >>> of_silent(np.array([True]))[[Sum.ROUNDS, Sum.ASKED, Sum.SILENT], 0].tolist()
    [1.0, 1.0, 1.0]
    """
    rows = np.zeros((len(Sum), asked.size))
    rows[[Sum.ROUNDS, Sum.SILENT]] = 1.0
    rows[[Sum.ASKED, Sum.SILENT_ASKED]] = asked
    if labeled is not None:
        rows[[Sum.LABELED, Sum.SILENT_LABELED]] = labeled
    return rows


def of_answers(guess: Array, q: Array, value: NDArray[Any]) -> Array:
    """What each answer adds, a column an answer.

    >>> one = of_answers(np.array([0.1]), np.array([0.5]), np.array([1.0]))[:, 0]
    >>> one[Sum.ANSWERS : Sum.QUERIED].round(4).tolist()
    [1.0, 1.8, 1.62, 2.6244, 1.62, 2.0]
    """
    d = (value - guess) / q
    square = (1.0 - q) * d * d
    rows = np.zeros((len(Sum), d.size))
    rows[Sum.ANSWERS], rows[Sum.MISSED] = 1.0, d
    rows[Sum.SQUARE], rows[Sum.FOURTH] = square, square * square
    rows[Sum.SQUARED], rows[Sum.ANSWERED] = q * d * d, 1.0 / q
    rows[Sum.WRONG], rows[Sum.WEIGHTS] = value / q, 1.0 / q**2
    rows[Sum.WRONG_WEIGHTS] = value / q**2
    return rows


def mean(row: Array) -> totals.Value:
    """The estimated mean of the value; NaN without rows or without an answer."""
    s = np.zeros(len(Sum))
    s[: row.size] = row
    count = s[Sum.ROUNDS] - s[Sum.SILENT]
    if count <= 0.0 or round(s[Sum.ANSWERS]) <= 0:
        return totals.Value(math.nan, math.nan, math.inf)
    share = min(s[Sum.ANSWERED] / s[Sum.QUERIED], 1.0) if s[Sum.QUERIED] > 0.0 else 1.0
    square = max(s[Sum.SQUARE], 0.0)
    total = totals.Total(
        s[Sum.GUESS] + s[Sum.MISSED] / share,
        square / share**2 + s[Sum.SQUARED] * (1.0 / share**2 - 1.0 / share),
        max(s[Sum.EXPECTED], 0.0) / share,
        s[Sum.BELOW],
        s[Sum.ABOVE],
    )
    free = totals.degrees(square, s[Sum.FOURTH])
    seen = totals.seen_by(
        s[Sum.ANSWERS], (s[Sum.ANSWERED], s[Sum.WEIGHTS]), (s[Sum.WRONG], s[Sum.WRONG_WEIGHTS]),
        s[Sum.WEIGHTS] - share * s[Sum.ANSWERED],
    )  # fmt: skip
    return totals.over(total, count, free, round(s[Sum.ANSWERS]), seen)


def accuracy(row: Array, until: int = 0, level: float = 0.95) -> Estimate:
    """The estimated accuracy of the rows with these sums.

    >>> accuracy(np.zeros(len(Sum)))
    Estimate(value=nan, low=0.0, high=1.0, rows=0, labels=0, until=0)
    """
    found = mean(row).complement
    low, high = totals.within(found.interval(level), (0.0, 1.0))
    rounds = round(float(row[Sum.ROUNDS] - row[Sum.SILENT]))
    asked, labels = round(float(row[Sum.ASKED] - row[Sum.SILENT_ASKED])), round(row[Sum.ANSWERS])
    lost = max(float(row[Sum.QUERIED] - row[Sum.ANSWERED]), 0.0) / max(rounds, 1)
    below, above = min(lost, low), min(lost, 1.0 - high)
    return Estimate(found.value, low, high, rounds, labels, until, asked - labels, below, above)
