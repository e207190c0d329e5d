"""What an estimate is, and the words with which one is asked for."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.sums import LOSS, Column
from lasec.parameters import REAL

Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value and an interval around it, for a stretch of rounds that ends before ``until``.

    ``rounds`` is how many rounds it speaks of, ``labels`` how many of them have a label, and
    ``until`` the ticket after the last of them: rounds from there on wait for answers.
    ``low`` and ``high`` are kept to what is possible; ``value`` of a sum is not, because it is
    right on average only as it is.

    >>> estimate = Estimate(0.81, 0.78, 0.84, rounds=10_000, labels=400, until=10_000)
    >>> round(estimate.width, 2), 0.8 in estimate
    (0.06, True)
    """

    value: float
    low: float
    high: float
    rounds: int
    labels: int
    until: int

    @property
    def width(self) -> float:
        """From ``low`` to ``high``."""
        return self.high - self.low

    def __contains__(self, value: object) -> bool:
        return isinstance(value, REAL) and bool(self.low <= value <= self.high)


class Costs(NamedTuple):
    """What each kind of round costs; a gain is a negative cost.

    >>> Costs(false_positive=1.0, false_negative=20.0)
    Costs(true_positive=0.0, false_positive=1.0, false_negative=20.0, true_negative=0.0)
    """

    true_positive: float = 0.0
    false_positive: float = 0.0
    false_negative: float = 0.0
    true_negative: float = 0.0


class Metric(StrEnum):
    """What can be estimated.

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
    """How the rounds without a label are filled in: see :mod:`lasec.metrics.totals`.

    >>> Method("assisted").name
    'ASSISTED'
    """

    ASSISTED = "assisted"
    NORMALISED = "normalised"
    WEIGHTED = "weighted"


class Over(StrEnum):
    """Which rounds an estimate is about.

    >>> list(Over)
    [<Over.ALL: 'all'>, <Over.WINDOW: 'window'>, <Over.FADING: 'fading'>]
    """

    ALL = "all"
    WINDOW = "window"
    FADING = "fading"


class Interval(StrEnum):
    """For one look, or for as many looks as one likes.

    >>> Interval("sequence").name
    'SEQUENCE'
    """

    NORMAL = "normal"
    SEQUENCE = "sequence"


class Scope(NamedTuple):
    """The block of the rounds that an estimate is about.

    ``block`` are sums with the weights of the rounds, ``square`` with the weights squared, and the
    sums of squares in it with their fourth power (all the same where all weights are one).
    ``start`` is the number, from 1, of the pane with which a window begins, and 0 if it begins with
    the first round of all.
    """

    block: Array
    square: Array
    start: int
    until: int

    @property
    def share(self) -> float:
        """The share of the questions that was answered, weighted; NaN without any answer."""
        answered = float(self.block[LOSS, Column.W1])
        asked = answered + float(self.block[LOSS, Column.LOST])
        return answered / asked if answered > 0.0 else float("nan")
