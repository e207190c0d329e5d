"""Estimates, and the options of one: metric, method, rows and interval."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.sums import LOSS, Column
from lasec.parameters import REAL

Array = NDArray[np.float64]

USEFUL = 0.2  # an interval wider than this says too little
FEWEST, EVEN = 10, 97  # labels: the least that an interval needs; of even chances, a useful one


class Estimate(NamedTuple):
    """An estimated value with its confidence interval, for rows before the ticket ``until``.

    ``rows`` is the number of rows that it covers and ``labels`` the number of labels among them;
    rows from ``until`` on wait for answers. ``low`` and ``high`` are clipped to the possible range;
    ``value`` is not, because clipping would bias it.

    >>> estimate = Estimate(0.81, 0.78, 0.84, rows=10_000, labels=400, until=10_000)
    >>> round(estimate.width, 2), 0.8 in estimate
    (0.06, True)
    """

    value: float
    low: float
    high: float
    rows: int
    labels: int
    until: int

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low

    @property
    def missing(self) -> int:
        """About how many labels more it takes to an interval of 20 points; 0 if this one is.

        >>> Estimate(0.8, 0.65, 0.95, rows=1_000, labels=40, until=1_000).missing
        50
        >>> Estimate(0.81, 0.78, 0.84, rows=10_000, labels=400, until=10_000).missing
        0
        """
        if self.labels == 0:
            return EVEN
        wanted = self.labels * (self.width / USEFUL) ** 2 if self.width > USEFUL else 0.0
        return max(0, math.ceil(max(wanted, FEWEST) - self.labels - 1e-9))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, REAL) and bool(self.low <= value <= self.high)


class Costs(NamedTuple):
    """The cost of each cell of the confusion matrix; a gain is a negative cost.

    >>> Costs(false_positive=1.0, false_negative=20.0)
    Costs(true_positive=0.0, false_positive=1.0, false_negative=20.0, true_negative=0.0)
    """

    true_positive: float = 0.0
    false_positive: float = 0.0
    false_negative: float = 0.0
    true_negative: float = 0.0


class Metric(StrEnum):
    """The metrics that can be estimated.

    >>> Metric("f1").value, len(Metric)
    ('f1', 7)
    """

    ACCURACY = "accuracy"
    ERROR = "error"
    PRECISION = "precision"
    RECALL = "recall"
    F1 = "f1"
    LOG_LOSS = "log_loss"
    COST = "cost"


class Method(StrEnum):
    """How rows without a label are accounted for: see :mod:`lasec.metrics.totals`.

    >>> Method("aipw").name
    'AIPW'
    """

    AIPW = "aipw"
    SNIPW = "snipw"
    IPW = "ipw"


class Over(StrEnum):
    """Which rows an estimate covers.

    >>> list(Over)
    [<Over.ALL: 'all'>, <Over.WINDOW: 'window'>, <Over.DECAY: 'decay'>]
    """

    ALL = "all"
    WINDOW = "window"
    DECAY = "decay"


class Interval(StrEnum):
    """Valid for one look, or at all times at once (a confidence sequence).

    >>> Interval("anytime").name
    'ANYTIME'
    """

    NORMAL = "normal"
    ANYTIME = "anytime"


class Scope(NamedTuple):
    """The sums of the rows that an estimate covers.

    ``block`` are sums with the weights of the rows, ``square`` with the weights squared, and the
    sums of squares in it with their fourth power (all the same where all weights are one).
    ``start`` is the number, from 1, of the pane with which a window begins, and 0 if it begins with
    the first row of all.
    """

    block: Array
    square: Array
    start: int
    until: int

    @property
    def share(self) -> float:
        """The weighted share of the questions that was answered; NaN without any answer."""
        answered = float(self.block[LOSS, Column.W1])
        asked = answered + float(self.block[LOSS, Column.LOST])
        return answered / asked if answered > 0.0 else float("nan")
