"""The estimated mean of a value over rows, with its intervals, from sums.

What is estimated here is a share of errors, so an accuracy: of all rows, a window, a group, a part
of a run or the shards of a job. Metrics by class are those of :mod:`lasec.metrics.confusion`,
metrics of probabilities those of :mod:`lasec.metrics.scores`. Of each row of sums
(:mod:`lasec.metrics.sums`) the number n of rows is known and the sum S of v among them is not; v
says "wrong", or "right".

The target is always the share over the rows that have come, queried or not; the only randomness is
in the query decisions Z, whose probabilities q are known. With a the model's guess of v, S is
estimated by augmented inverse propensity weighting::

    sum of a + Z (v - a)/q

which is unbiased even if the model is miscalibrated; better calibration gives narrower intervals.

Its variance is estimated by the sum over labels of (1 - q) (v - a)^2/q^2. The interval uses
Student's t with as many degrees of freedom as labels that matter, (sum u)^2/(sum u^2) - 1 with
u = (1 - q)(v - a)^2/q^2: a few labels with large weights make a variance that is itself uncertain.
Fewer than three are not assumed: that would widen the intervals of short windows by half, and
hardly raise coverage. Where fewer than five matter, or there are fewer than 60 in all, it also
uses the model: the interval is not narrower than the normal one with the variance that the model
expects, (1 - q)/q p (1 - p) summed over the rows. A window in which no error happened to be queried
would look too certain otherwise.

Where few errors are among the labels, or few that are right, fewer than 20, the interval also
holds that of Clopper and Pearson (:mod:`lasec.metrics.proportion`), of which the variance is never
less than that of one such label: 240 labels without an error, of equal chances, leave an error rate
of up to 1.5 %.

Rows that could not be queried at all (q = 0, where a hard cap was reached) are filled in by the
model, and the interval is widened by all that they can be.

Where a share of the answers is lost or still out, at random, every q above is q times the share
answered. If they are not lost at random, the rows that they stand for, 1/q each, can all have
either value: that is the worst case, by which ``below`` and ``above`` of an
:class:`~lasec.metrics.Estimate` are made.

**Anytime intervals.** The number of errors is one sum with one martingale of
:mod:`lasec.metrics.confidence_sequence`. The error of a row predicted +1 is 1 - v, that of the
others v, so its martingale for the bet l is that of S+ for -l times that of S- for l.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import confidence_sequence, proportion, sums
from lasec.metrics.estimate import Estimate, Interval
from lasec.metrics.proportion import student
from lasec.metrics.sums import ALL, MINUS, PLUS, SUMS, Column
from lasec.persistence.record import Count, Shape

Array = NDArray[np.float64]
Pair = tuple[float, float]
Sides = Sequence[tuple[Array, bool]]  # rows of sums, each with whether its v says "wrong"
C = Column
LEAST, FEW, SMALL, RARE = 3.0, 5.0, 60.0, 20.0


class Scope(NamedTuple):
    """The block of sums of the rows that a meter's estimate covers.

    ``start`` is the number, from 1, of the pane with which a window begins, and 0 if it begins with
    the first row of all.
    """

    block: Annotated[Array, Shape(*sums.SHAPE)]
    start: Count
    until: Count

    def validate(self) -> str:
        """Why this is not a scope; empty if it is one."""
        return "" if sums.sound(self.block) else "the sums are not those of a meter"

    @property
    def sides(self) -> Sides:
        """The rows of each prediction: v is wrong where -1 was predicted, right where +1 was."""
        return [(self.block[PLUS], False), (self.block[MINUS], True)]

    @property
    def share(self) -> float:
        """The share of the questions that was answered; NaN without any answer."""
        return share_of(self.block[ALL])


class Total(NamedTuple):
    """An estimated sum, with its variance, and the one that the model expects.

    ``below`` and ``above`` are how far off it can be by the rows that could not be queried.
    """

    value: float
    variance: float
    expected: float = 0.0
    below: float = 0.0
    above: float = 0.0


class Seen(NamedTuple):
    """What labels say of a share: how many, of the rarer kind, and 1/n of as many equal ones."""

    labels: float
    rarer: float
    relative: float


class Value(NamedTuple):
    """An estimated share with its standard deviation and the degrees of freedom behind it.

    ``least`` is a deviation that a normal interval should have at least, ``below`` and ``above``
    what is added to its sides for the rows that could not be queried.
    """

    value: float
    deviation: float
    freedom: float
    least: float = 0.0
    below: float = 0.0
    above: float = 0.0
    seen: Seen = Seen(0.0, math.inf, 0.0)

    @property
    def complement(self) -> Value:
        """The accuracy where this is the error."""
        return self._replace(value=1.0 - self.value, below=self.above, above=self.below)

    def interval(self, level: float) -> Pair:
        """The t-interval, or a wider one of few labels; NaN where there is no value."""
        reach = student(level, self.freedom) * self.deviation
        reach = max(reach, student(level, math.inf) * self.least)
        low, high = self.value - reach, self.value + reach
        if self.seen.rarer < RARE:
            share, variance = min(max(self.value, 0.0), 1.0), self.deviation**2
            variance += proportion.lacking(share, variance, *self.seen)
            ends = proportion.interval(share, variance, self.seen.labels, level)
            low, high = min(low, ends[0]), max(high, ends[1])
        return low - self.below, high + self.above


def of_scope(scope: Scope, interval: Interval = Interval.NORMAL, level: float = 0.95) -> Estimate:
    """The accuracy that the sums of a meter make, now or later.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> of_scope(meter.scope()) == meter.accuracy
    True
    """
    ends = anytime(scope, 1.0 - level) if interval is Interval.ANYTIME else None
    return _accuracy(scope.sides, scope.share, scope.until, level, ends)


def accuracy(row: Array, until: int = 0, level: float = 0.95) -> Estimate:
    """The accuracy of rows with these sums, in which v says "wrong".

    >>> accuracy(np.zeros(SUMS))
    Estimate(value=nan, low=0.0, high=1.0, rows=0, labels=0, until=0)
    """
    return _accuracy([(row, True)], share_of(row), until, level)


def _accuracy(
    sides: Sides, share: float, until: int, level: float, ends: Pair | None = None
) -> Estimate:
    """The accuracy, with these ends of its interval where they are given."""
    found, worst = (error(sides, share, worst=worst).complement for worst in (False, True))
    ends = found.interval(level) if ends is None else ends
    rows, labels, lost = (
        round(sum(float(row[of]) for row, _ in sides)) for of in (C.ROUNDS, C.LABELS, C.GONE)
    )
    low, high = within(ends)
    lowest, highest = within(
        (ends[0] - (worst.below - found.below), ends[1] + (worst.above - found.above))
    )
    value = math.nan if math.isnan(found.value) else found.value  # NaN that equals itself
    below, above = low - lowest, highest - high
    return Estimate(value, low, high, rows, labels, until, lost, below, above)


def share_of(row: Array) -> float:
    """The share of the questions that was answered; NaN without any answer."""
    answered, lost = float(row[C.W1]), max(float(row[C.LOST]), 0.0)
    return answered / (answered + lost) if round(float(row[C.LABELS])) > 0 else math.nan


def error(sides: Sides, share: float, *, worst: bool = False) -> Value:
    """The share of wrong rows; at ``worst``, answers are not lost at random."""
    count, labels = (sum(float(row[of]) for row, _ in sides) for of in (C.ROUNDS, C.LABELS))
    if math.isnan(share) or count <= 0.0:
        return Value(math.nan, math.nan, math.inf)
    parts = [total(row, share, wrong=wrong, worst=worst) for row, wrong in sides]
    whole = Total(*(sum(part) for part in zip(*parts, strict=True)))
    free = degrees(
        sum(float(row[C.DD2] - row[C.DD1]) for row, _ in sides),
        sum(float(row[C.U2]) for row, _ in sides),
    )
    return over(whole, count, free, labels, _seen(sides, share))


def total(row: Array, share: float, *, wrong: bool = True, worst: bool = False) -> Total:
    """The number of wrong rows; at ``worst``, losses are not at random.

    >>> row = np.zeros(SUMS)
    >>> row[[C.ROUNDS, C.GUESS, C.D1]] = 60.0, 45.0, 2.0
    >>> total(row, share=1.0).value, total(row, share=1.0, wrong=False).value
    (47.0, 13.0)
    """
    if row[C.ROUNDS] == 0.0:
        return Total(0.0, 0.0)
    value, variance = row[C.GUESS] + row[C.D1] / share, row[C.DD2] / share**2 - row[C.DD1] / share
    lost = row[C.LOST] * worst
    sides = (row[C.BELOW] + lost, row[C.ABOVE] + lost)
    value, sides = (value, sides) if wrong else (row[C.ROUNDS] - value, sides[::-1])
    return Total(*map(float, (value, variance, row[C.EXPECTED] / share, *sides)))


def _seen(sides: Sides, share: float) -> Seen:
    """What the labels say of the share of wrong rows."""
    labels = weights = squares = spread = hits = hit_squares = 0.0
    for row, wrong in sides:
        labels += float(row[C.LABELS])
        weights, squares = weights + float(row[C.W1]), squares + float(row[C.W2])
        spread += float(row[C.W2] - share * row[C.W1])
        hits += float(row[C.V1] if wrong else row[C.W1] - row[C.V1])
        hit_squares += float(row[C.V2] if wrong else row[C.W2] - row[C.V2])
    return seen_by(labels, (weights, squares), (hits, hit_squares), spread)


def seen_by(labels: float, weights: Pair, hits: Pair, spread: float) -> Seen:
    """The same from the sums of weights and of their squares, of all labels and of the hits.

    >>> seen_by(4.0, (40.0, 400.0), (10.0, 100.0), spread=360.0)
    Seen(labels=4.0, rarer=1.0, relative=0.225)
    """
    kinds = (hits, (weights[0] - hits[0], weights[1] - hits[1]))
    rarer = min(once**2 / twice if twice > 1e-9 * weights[1] else 0.0 for once, twice in kinds)
    return Seen(labels, rarer, max(spread, 0.0) / weights[0] ** 2 if weights[0] > 0.0 else 1.0)


def degrees(whole: float, parts: float) -> float:
    """Degrees of freedom from the sum of u and the sum of u^2, at least three.

    >>> degrees(10.0, 10.0), degrees(2.0, 4.0)
    (9.0, 3.0)
    """
    return max(float(whole * whole / parts) - 1.0, LEAST) if parts > 0.0 else LEAST


def over(whole: Total, count: float, free: float, labels: float, seen: Seen) -> Value:
    """The mean over so many rows of which the sum is estimated, from so many labels.

    >>> seen = Seen(labels=100, rarer=30.0, relative=0.01)
    >>> over(Total(3.0, 4.0), 10.0, math.inf, 100, seen).interval(0.95)
    (-0.09..., 0.69...)
    """
    deviation = math.sqrt(max(whole.variance, 0.0))
    few = free < FEW or labels < SMALL  # too few to trust the variance that they show
    least = math.sqrt(max(whole.expected, 0.0)) if few else 0.0
    value, spread, least, below, above = (
        float(part / count) for part in (whole.value, deviation, least, whole.below, whole.above)
    )
    return Value(value, spread, free, least, below, above, seen)


def anytime(scope: Scope, alpha: float) -> Pair:
    """The interval of the accuracy that holds at any time; NaN without rows."""
    rounds = float(scope.block[ALL, C.ROUNDS])
    if rounds == 0.0:
        return math.nan, math.nan
    alpha = alpha / (scope.start * (scope.start + 1)) if scope.start else alpha
    low, high = (end / rounds for end in errors(scope, alpha))
    return 1.0 - high, 1.0 - low


def errors(scope: Scope, alpha: float) -> Pair:
    """The number of wrong predictions, at any time."""
    plus, minus = scope.block[PLUS], scope.block[MINUS]
    guess = float(plus[C.ROUNDS] - plus[C.GUESS] + minus[C.GUESS])
    least = float(plus[C.ROUNDS] - plus[C.HIGH] + minus[C.LOW]) - guess
    most = float(plus[C.ROUNDS] - plus[C.LOW] + minus[C.HIGH]) - guess
    log_k = plus[SUMS:][::-1] + minus[SUMS:]
    low, high = confidence_sequence.interval(log_k, least, max(least, most), alpha)
    return guess + low, guess + high


def within(ends: Pair) -> Pair:
    """The interval of a share clipped to what is possible; all that is, where there is none.

    >>> within((0.9, 1.2)), within((math.nan, math.nan))
    ((0.9, 1.0), (0.0, 1.0))
    """
    low, high = (0.0 if math.isnan(ends[0]) else ends[0]), (1.0 if math.isnan(ends[1]) else ends[1])
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)
