"""Confirm a suspicion with labels that came after it: no selection, so an interval that holds.

The evidence of :class:`~lasec.alarms.DropAlarm` passes its threshold at the worst moment of a
stream, so the error in the rows that raised it is too high. But the labels *after* it are drawn
like any others. Of these the error is estimated after 32, 64, 128 and 192 labels, with the model's
own probability of a mistake a for all rows, and the labels weighted by 1/q (Hajek's form)::

    e = mean(a) + sum((err - a) / q) / sum(1 / q),        n = (sum(1 / q))^2 / sum(1 / q^2)

and the variance is that of n labels or that of earlier blocks of 32 labels, whichever is larger: a
difficulty that comes and goes is part of it. The alarm is raised if e, drawn towards the past error
by 8 labels, is ``drop`` and 3 standard errors above it. The suspicion is dropped if that has not
come about after 192 labels, or if e is not half of ``drop`` above the past after 64.

The interval is Wilson's for n labels, widened to the larger variance. Its center counts two errors
and two correct labels more, so it is never 0 or 100 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.persistence.record import Shape

Array = NDArray[np.float64]

LOOKS = (32, 64, 128, 192)  # labels
PRIOR = 8.0  # labels that say that nothing has changed
SURE = 3.0  # standard errors
LEVEL = 2.24  # of the interval: 95 %, a look at four times allowed for
MEMORY = 32  # blocks of 32 labels


class Confirmed(NamedTuple):
    """The error since a suspicion, its interval, and the labels behind it."""

    after: float
    low: float
    high: float
    labels: int


@dataclass
class Labels:
    """Sums over rows with their labels.

    >>> labels = Labels()
    >>> for wrong in (True, False, False, None):
    ...     labels.add(guess=0.25, wrong=wrong, q=0.5)
    >>> labels.count, round(labels.error, 3), labels.effective
    (3, 0.333, 3.0)
    """

    # rows, guesses, labels, 1/q, 1/q^2, (err - guess)/q
    sums: Annotated[Array, Shape(6)] = field(default_factory=lambda: np.zeros(6))

    def add(self, guess: float, wrong: bool | None, q: float) -> None:
        """Add a row, with None where there is no label."""
        self.sums[:2] += 1.0, guess
        if wrong is not None:
            self.sums[2:] += 1.0, 1.0 / q, 1.0 / q**2, (wrong - guess) / q

    @property
    def count(self) -> int:
        """The number of labels."""
        return int(self.sums[2])

    @property
    def effective(self) -> float:
        """The number of labels of equal weight that say as much."""
        return float(self.sums[3] ** 2 / self.sums[4])

    @property
    def error(self) -> float:
        """The estimated error of the rows."""
        rows, guesses, _, weights, _, residuals = self.sums.tolist()
        return float(min(max(guesses / rows + residuals / weights, 0.0), 1.0))


@dataclass
class Past:
    """How much the error of 32 labels varied: mean, variance and correlation of such blocks.

    >>> past, rng = Past(), np.random.default_rng(1)
    >>> for wrong in (rng.random(3_200) < 0.2).tolist():
    ...     past.add(0.2, wrong, 1.0)
    >>> past.variance(32) < 2 * 0.2 * 0.8 / 32
    True
    """

    now: Labels = field(default_factory=Labels)
    # weight, mean, squares, products with the one before, the last
    sums: Annotated[Array, Shape(5)] = field(default_factory=lambda: np.zeros(5))

    def add(self, guess: float, wrong: bool | None, q: float) -> None:
        """Add a row."""
        self.now.add(guess, wrong, q)
        if self.now.count < LOOKS[0]:
            return
        keep = 1.0 - 1.0 / MEMORY
        weight, mean, squares, products, last = self.sums.tolist()
        away = self.now.error - mean if weight else 0.0
        fair = away * math.sqrt(weight / (weight + 1.0))
        weight = keep * weight + 1.0
        squares, products = keep * squares + fair**2, keep * products + fair * last
        mean = mean + away / weight if weight > 1.0 else self.now.error
        self.sums[:] = weight, mean, squares, products, fair
        self.now = Labels()

    def variance(self, labels: int) -> float:
        """The variance of the mean of so many labels, by these blocks; 0 where there are few."""
        weight, _, squares, products, _ = self.sums.tolist()
        if weight < 4.0 or squares <= 0.0:
            return 0.0
        r = min(max(products / squares - 1.0 / math.sqrt(weight), 0.0), 0.9)
        return float(squares / (weight - 1.0) * LOOKS[0] / labels * (1.0 + r) / (1.0 - r))


def look(labels: Labels, past: Past, before: float, drop: float) -> Confirmed | bool | None:
    """What fresh labels say: the alarm, False if the suspicion is refuted, None to go on.

    >>> labels = Labels()
    >>> for number in range(32):
    ...     labels.add(0.2, number % 2 == 0, 0.5)
    >>> found = look(labels, Past(), before=0.1, drop=0.05)
    >>> f"{found.after:.2f} ({found.low:.2f} to {found.high:.2f}), {found.labels} labels"
    '0.50 (0.32 to 0.68), 32 labels'
    """
    count, n, error = labels.count, labels.effective, labels.error
    if count not in LOOKS:
        return None
    after = (n * error + PRIOR * before) / (n + PRIOR)
    slow = past.variance(count)
    spread = max(after * (1.0 - after) / (n + PRIOR), slow)
    if after - SURE * math.sqrt(spread) > before and after - before >= drop:
        return _interval(error, n, slow, count)
    refuted = count == LOOKS[-1] or (count >= LOOKS[1] and error < before + drop / 2.0)
    return False if refuted else None


def _interval(error: float, n: float, slow: float, labels: int) -> Confirmed:
    """Wilson's interval, widened where blocks of labels varied more."""
    n = min(n, max(error * (1.0 - error), 0.05) / slow) if slow > 0.0 else n
    square = LEVEL**2
    center = (n * error + square / 2.0) / (n + square)
    half = LEVEL * math.sqrt(n * error * (1.0 - error) + square / 4.0) / (n + square)
    after = (n * error + 2.0) / (n + 4.0)
    return Confirmed(after, max(center - half, 0.0), min(center + half, 1.0), labels)
