"""How many labels an interval of a wanted width costs, and how wide one is that a budget buys.

Of an accuracy with propensities q, and d the error less its guess, let A be the mean of d^2/q and B
that of d^2 over rows; the labels estimate both. If all propensities are multiplied by k, a row adds
A/k - B to the variance, so over N rows::

    width = 2 z sqrt((A/k - B)/N)      k = A/(B + N (width/(2 z))^2)      labels = k N (mean of q)

with z the normal quantile, 1.96 for 95 %. It is a forecast: it takes the coming rows to be like
those that were, and where k q is more than 1 it takes it at its word. Before the first label only
asking at random can be planned: d^2 is then at most accuracy (1 - accuracy) on average, for a model
that is calibrated, and q is the same for all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lasec.metrics.proportion import student
from lasec.parameters import Range, number, seconds

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)


class Plan(NamedTuple):
    """So many labels in a window of so many rows, and how wide the accuracy's interval then is.

    >>> Plan(labels=500, rate=0.05, width=0.068, window=10_000).labels
    500
    """

    labels: int
    rate: float
    width: float
    window: int


class Spread(NamedTuple):
    """A and B of this module, and the mean of q that they were seen with."""

    a: float
    b: float
    rate: float

    def of_width(self, width: float, window: int, level: float) -> Plan:
        """The labels that a width costs; all of them, if fewer do not suffice."""
        half = number("width", width, float, Range(1e-9, 1.0)) / (2.0 * _normal(level))
        k = self.a / (self.b + window * half * half)
        labels = math.ceil(k * self.rate * window)
        if labels >= window:
            return Plan(window, 1.0, 0.0, window)
        return Plan(labels, labels / window, float(width), window)

    def of_labels(self, labels: float, window: int, level: float) -> Plan:
        """The width that so many labels buy."""
        labels = number("labels", labels, float, Range(1, 2**53))
        if labels >= window:
            return Plan(window, 1.0, 0.0, window)
        k = labels / (window * self.rate)
        width = 2.0 * _normal(level) * math.sqrt(max(self.a / k - self.b, 0.0) / window)
        return Plan(round(labels), labels / window, min(width, 1.0), window)

    def plan(self, width: float | None, labels: float | None, window: int, level: float) -> Plan:
        """One of the two."""
        if (width is None) == (labels is None):
            raise ValueError("plan: expected either a width or a number of labels")
        if width is not None:
            return self.of_width(width, window, level)
        assert labels is not None
        return self.of_labels(labels, window, level)


def plan(
    *,
    width: float | None = None,
    labels: float | None = None,
    window: int | str,
    rows_per_day: float | None = None,
    accuracy: float = 0.8,
    level: float = 0.95,
) -> Plan:
    """The labels for a width, or the width for labels, before there is any: asking at random.

    ``window`` is a number of rows, or a time such as "1d", "12h" or "30min" together with
    ``rows_per_day``. ``accuracy`` is a guess of it; the nearer to 1/2, the more labels.

    >>> plan(width=0.05, window=10_000)
    Plan(labels=896, rate=0.0896, width=0.05, window=10000)
    >>> plan(labels=200, window="12h", rows_per_day=40_000).width
    0.11031...
    """
    rounds = rounds_in(window, rows_per_day)
    share = number("accuracy", accuracy, float, Range(0.0, 1.0))
    loss = share * (1.0 - share)
    return Spread(loss, loss, 1.0).plan(width, labels, rounds, level)


def rounds_in(window: int | str, rows_per_day: float | None = None) -> int:
    """A window as a number of rows.

    >>> rounds_in("30min", rows_per_day=48_000)
    1000
    """
    if not isinstance(window, str):
        return int(number("window", window, int, Range(1, 2**53)))
    share = seconds("window", window) / 86_400.0
    if rows_per_day is None:
        raise ValueError(f"window: {window!r} is a time, so rows_per_day is needed")
    rows = number("rows_per_day", rows_per_day, float, Range(1e-9, 2**53))
    return int(max(1, round(rows * share)))


def _normal(level: float) -> float:
    return student(number("level", level, float, Range(0.01, 0.999999)), math.inf)
