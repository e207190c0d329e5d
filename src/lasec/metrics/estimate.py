"""Estimates, and the options of one: rows and interval."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from lasec.parameters import REAL

USEFUL = 0.2  # an interval wider than this says too little
FEWEST, EVEN = 10, 97  # labels: the least that an interval needs; of even chances, a useful one


class Estimate(NamedTuple):
    """An estimated value with its confidence interval, for rows before the ticket ``until``.

    ``rows`` is the number of rows that it covers and ``labels`` the number of labels among them;
    rows from ``until`` on wait for answers. ``low`` and ``high`` are clipped to the possible range;
    ``value`` is not, because clipping would bias it.

    ``lost`` counts the questions among these rows that will not be answered; of
    :meth:`Meter.reaching`, those as well that count so while they are open. The interval takes
    them to be lost at random. If answers are withheld for a reason, only ``worst_low`` to
    ``worst_high`` holds, which are ``below`` and ``above`` further out: the interval if all rows
    for which the lost answers stand were wrong, or right.

    >>> estimate = Estimate(0.81, 0.78, 0.84, rows=10_000, labels=400, until=10_000)
    >>> round(estimate.width, 2), 0.8 in estimate
    (0.06, True)
    >>> estimate._replace(lost=9, below=0.02, above=0.02)
    Estimate(value=0.81, ..., until=10000; 9 answers lost: between 0.760 and 0.860 at worst)
    """

    value: float
    low: float
    high: float
    rows: int
    labels: int
    until: int
    lost: int = 0
    below: float = 0.0
    above: float = 0.0

    @property
    def worst_low(self) -> float:
        """The lower end of the interval if each row behind a lost answer was wrong."""
        return self.low - self.below

    @property
    def worst_high(self) -> float:
        """The upper end of the interval if each row behind a lost answer was right."""
        return self.high + self.above

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

    def __repr__(self) -> str:
        kept = ("value", "low", "high", "rows", "labels", "until")
        facts = ", ".join(f"{name}={getattr(self, name)!r}" for name in kept)
        return f"Estimate({facts}{self._loss})"

    @property
    def _loss(self) -> str:
        if not self.lost:
            return ""
        answers = "answer" if self.lost == 1 else "answers"
        ends = f"between {self.worst_low:.3f} and {self.worst_high:.3f}"
        return f"; {self.lost} {answers} lost: {ends} at worst"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, REAL) and bool(self.low <= value <= self.high)


class Over(StrEnum):
    """Which rows an estimate covers.

    >>> list(Over)
    [<Over.ALL: 'all'>, <Over.WINDOW: 'window'>]
    """

    ALL = "all"
    WINDOW = "window"


class Interval(StrEnum):
    """Valid for one look, or at all times at once (a confidence sequence).

    >>> Interval("anytime").name
    'ANYTIME'
    """

    NORMAL = "normal"
    ANYTIME = "anytime"
