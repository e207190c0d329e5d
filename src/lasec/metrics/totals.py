"""Estimates of totals, and the metrics and normal intervals that are made of them.

Of each class c (rows predicted +1, and -1) the number of rows n_c is known and the number S_c
of positives among them is not. TP = S+, FP = n+ - S+, FN = S-, TN = n- - S-, and::

    error = (FP + FN)/T    precision = S+/n+    recall = S+/(S+ + S-)    f1 = 2 S+/(n+ + S+ + S-)

The target is always the metric over the rows that have come, queried or not; the only randomness is
in the query decisions Z, whose probabilities q are known. With v the value of the true label and a
the model's guess, a sum of v over rows is estimated by augmented inverse propensity weighting::

    sum of a + Z (v - a)/q

which is unbiased even if the model is miscalibrated; better calibration gives narrower intervals.

Its variance is estimated by the sum over labels of (1 - q) (v - a)^2/q^2. Ratios are taken to first
order (delta method). The interval uses
Student's t with as many degrees of freedom as labels that matter, (sum u)^2/(sum u^2) - 1 with
u = (1 - q)(v - a)^2/q^2: a few labels with large weights make a variance that is itself uncertain.
Fewer than three are not assumed: that would widen the intervals of short windows by half, and
hardly raise coverage. Where fewer than five matter, or there are fewer than 60 in all, it also
uses the model: the interval is not narrower than the normal one with the variance that the model
expects, (1 - q)/q p (1 - p) summed over the rows. A window in which no error happened to be queried
would look too certain otherwise.

Where few errors are among the labels, or few that are right, fewer than 20, a share's interval also
holds that of Clopper and Pearson (:mod:`lasec.metrics.proportion`), of which the variance is never
less than that of one such label: 240 labels without an error, of equal chances, leave an error rate
of up to 1.5 %.

Rows that could not be queried at all (q = 0, where a hard cap was reached) are filled in by the
model, and the interval is widened by all that they can be.

Where a share of the answers is lost, at random, every q above is q times the share answered.
If they are not lost at random, the rows that they stand for, 1/q each, can all have either value:
that is the worst case, by which ``below`` and ``above`` of an :class:`~lasec.metrics.Estimate` are
made.

**Anytime intervals.** Accuracy, error, log-loss and precision are each one sum with one martingale
of :mod:`lasec.metrics.confidence_sequence`. The error of a row predicted +1 is 1 - v, that of the
others v, so its martingale for the bet l is that of S+ for -l times that of S- for l. Recall, f1
and cost need S+ and S- at once: each is given alpha/2, and as all three are monotone in both, their
extremes are at corners of the rectangle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import confidence_sequence, proportion
from lasec.metrics.estimate import Costs, Estimate, Interval, Metric, Scope
from lasec.metrics.proportion import student
from lasec.metrics.sums import LOSS, MINUS, PLUS, SUMS, SURE, Column

Array = NDArray[np.float64]
Pair = tuple[float, float]
C = Column
LEAST, FEW, SMALL, RARE = 3.0, 5.0, 60.0, 20.0
ERRORS = Costs(false_positive=1.0, false_negative=1.0)
NOTHING = Costs()


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

    labels: float = 0.0
    rarer: float = math.inf
    relative: float = 0.0


NO_SHARE = Seen()


class Value(NamedTuple):
    """An estimated metric with its standard deviation and the degrees of freedom behind it.

    ``least`` is a deviation that a normal interval should have at least, ``below`` and ``above``
    what is added to its sides for the rows that could not be queried. ``seen`` is for a share.
    """

    value: float
    deviation: float
    freedom: float
    least: float = 0.0
    below: float = 0.0
    above: float = 0.0
    seen: Seen = NO_SHARE

    @property
    def complement(self) -> Value:
        """The accuracy where this is the error."""
        return self._replace(value=1.0 - self.value, below=self.above, above=self.below)

    def interval(self, level: float) -> tuple[float, float]:
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


def estimate_of(
    scope: Scope, metric: Metric = Metric.ACCURACY, interval: Interval = Interval.NORMAL,
    costs: Costs = NOTHING, level: float = 0.95,
) -> Estimate:  # fmt: skip
    """The estimate that these sums make, now or later.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> estimate_of(meter.scope()) == meter.accuracy
    True
    """
    found = value(scope, metric, costs)
    if interval is Interval.ANYTIME:
        ends = anytime(scope, metric, costs, 1.0 - level)
    else:
        ends = found.interval(level)
    counts = (Column.ROUNDS, Column.LABELS, Column.GONE)
    rounds, labels, lost = (round(float(scope.block[LOSS, c])) for c in counts)
    low, high = within(ends, _possible(metric, costs))
    worst = value(scope, metric, costs, worst=True)
    spread = ends[0] - (worst.below - found.below), ends[1] + (worst.above - found.above)
    lowest, highest = within(spread, _possible(metric, costs))
    return Estimate(
        found.value, low, high, rounds, labels, scope.until, lost, low - lowest, highest - high
    )


def mirrored(scope: Scope) -> Scope:
    """The scope with the classes exchanged: metrics of it are those of the class -1.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> abs(estimate_of(mirrored(meter.scope())).value - meter.accuracy.value) < 1e-12
    True
    """
    made = scope.block.copy()  # v, a and d of the class channels become 1 - v, 1 - a and -d
    for here, there in ((PLUS, MINUS), (MINUS, PLUS)):
        s, t = scope.block[there], made[here]
        t[:] = s
        t[C.GUESS], t[C.D1] = s[C.ROUNDS] - s[C.GUESS], -s[C.D1]
        t[C.LOW], t[C.HIGH] = s[C.ROUNDS] - s[C.HIGH], s[C.ROUNDS] - s[C.LOW]
        t[C.BELOW], t[C.ABOVE] = s[C.ABOVE], s[C.BELOW]
        t[C.V1], t[C.V2] = s[C.W1] - s[C.V1], s[C.W2] - s[C.V2]
        t[SUMS:] = s[SUMS:][::-1]  # the bets on less are those on more
    return scope._replace(block=made)


def total(
    scope: Scope, channel: int, b0: float = 0.0, b1: float = 1.0, *, worst: bool = False
) -> Total:
    """The sum of b0 + b1 v over the rows of a channel; at ``worst``, losses are not at random.

    >>> block = np.zeros((3, 64))
    >>> block[LOSS, [C.W1]] = block[PLUS, [C.W1]] = 50.0
    >>> block[PLUS, [C.ROUNDS, C.GUESS, C.D1]] = 60.0, 45.0, 2.0
    >>> total(Scope(block, 0, 60), PLUS).value
    47.0
    """
    s, rho = scope.block[channel], scope.share
    if s[C.ROUNDS] == 0.0:
        return Total(0.0, 0.0)
    value, variance = s[C.GUESS] + s[C.D1] / rho, s[C.DD2] / rho**2 - s[C.DD1] / rho
    made = (b0 * s[C.ROUNDS] + b1 * value, b1 * b1 * variance, b1 * b1 * s[C.EXPECTED] / rho)
    return Total(*map(float, (*made, *_sides(s, channel, b1, worst))))


def _sides(row: Array, channel: int, b1: float, worst: bool) -> Pair:
    """How far a sum can be off by rows that could not be queried, and by answers that are lost."""
    lost = float(row[C.LOST]) * (-math.log(SURE[0]) if channel == LOSS else 1.0) * worst
    less, more = b1 * (float(row[C.BELOW]) + lost), b1 * (float(row[C.ABOVE]) + lost)
    return (less, more) if b1 >= 0.0 else (-more, -less)


def value(scope: Scope, metric: Metric, costs: Costs | None, *, worst: bool = False) -> Value:
    """A metric over the rows of ``scope``; at ``worst``, answers are not lost at random."""
    nothing = Value(math.nan, math.nan, math.inf)
    if math.isnan(scope.share):
        return nothing
    if metric in (Metric.RECALL, Metric.F1):
        return _ratio(scope, metric, worst)
    count = scope.block[PLUS if metric is Metric.PRECISION else LOSS, C.ROUNDS]
    if count == 0.0:
        return nothing
    labels = float(scope.block[LOSS, C.LABELS])
    if metric in (Metric.PRECISION, Metric.LOG_LOSS):
        channel = PLUS if metric is Metric.PRECISION else LOSS
        found = total(scope, channel, worst=worst)
        seen = seen_of(scope, {PLUS: True}) if channel == PLUS else NO_SHARE
        return over(found, count, freedom(scope, {channel: 1.0}), labels, seen)
    cost = costs if metric is Metric.COST and costs is not None else ERRORS
    slopes = linear(cost)
    plus = total(scope, PLUS, *slopes[PLUS], worst=worst)
    minus = total(scope, MINUS, *slopes[MINUS], worst=worst)
    both = Total(*(a + b for a, b in zip(plus, minus, strict=True)))
    free = freedom(scope, {c: slope for c, (_, slope) in slopes.items()})
    seen = NO_SHARE if metric is Metric.COST else seen_of(scope, {PLUS: False, MINUS: True})
    made = over(both, count, free, labels, seen)
    return made.complement if metric is Metric.ACCURACY else made


def seen_of(scope: Scope, channels: dict[int, bool]) -> Seen:
    """What the labels of channels say of the share of v, or of 1 - v where that is False."""
    labels = weights = squares = spread = hits = hit_squares = 0.0
    for channel, value in channels.items():
        s = scope.block[channel]
        labels += float(s[C.LABELS])
        weights, squares = weights + float(s[C.W1]), squares + float(s[C.W2])
        spread += float(s[C.W2] - scope.share * s[C.W1])
        hits += float(s[C.V1] if value else s[C.W1] - s[C.V1])
        hit_squares += float(s[C.V2] if value else s[C.W2] - s[C.V2])
    return seen_by(labels, (weights, squares), (hits, hit_squares), spread)


def seen_by(labels: float, weights: Pair, hits: Pair, spread: float) -> Seen:
    """The same from the sums of weights and of their squares, of all labels and of the hits.

    >>> seen_by(4.0, (40.0, 400.0), (10.0, 100.0), spread=360.0)
    Seen(labels=4.0, rarer=1.0, relative=0.225)
    """
    kinds = (hits, (weights[0] - hits[0], weights[1] - hits[1]))
    rarer = min(once**2 / twice if twice > 1e-9 * weights[1] else 0.0 for once, twice in kinds)
    return Seen(labels, rarer, max(spread, 0.0) / weights[0] ** 2 if weights[0] > 0.0 else 1.0)


def linear(costs: Costs) -> dict[int, tuple[float, float]]:
    """The cost of a row of each class as b0 + b1 v.

    >>> linear(ERRORS)
    {0: (1.0, -1.0), 1: (0.0, 1.0)}
    """
    return {
        PLUS: (costs.false_positive, costs.true_positive - costs.false_positive),
        MINUS: (costs.true_negative, costs.false_negative - costs.true_negative),
    }


def freedom(scope: Scope, slopes: dict[int, float]) -> float:
    """How many labels matter to a sum of channels with these slopes, less one; at least three."""
    rows = scope.block
    whole = sum(b * b * (rows[c, C.DD2] - rows[c, C.DD1]) for c, b in slopes.items())
    parts = sum(b**4 * rows[c, C.U2] for c, b in slopes.items())
    return degrees(whole, parts)


def degrees(whole: float, parts: float) -> float:
    """Degrees of freedom from the sum of u and the sum of u^2, at least three.

    >>> degrees(10.0, 10.0), degrees(2.0, 4.0)
    (9.0, 3.0)
    """
    return max(float(whole * whole / parts) - 1.0, LEAST) if parts > 0.0 else LEAST


def few(free: float, labels: float) -> bool:
    """Whether there are too few labels to trust the variance that they show."""
    return free < FEW or labels < SMALL


def ratio(metric: Metric, count: float, plus: float, minus: float) -> float:
    """Recall or f1 from n+, S+ and S-; NaN for 0/0.

    >>> ratio(Metric.RECALL, 10.0, 6.0, 2.0), ratio(Metric.F1, 10.0, 6.0, 2.0)
    (0.75, 0.6666666666666666)
    """
    below = plus + minus + (count if metric is Metric.F1 else 0.0)
    above = 2.0 * plus if metric is Metric.F1 else plus
    return above / below if below > 0.0 else math.nan


def over(sum_: Total, count: float, free: float, labels: float, seen: Seen = NO_SHARE) -> Value:
    """The mean over so many rows of which the sum is estimated, from so many labels.

    >>> over(Total(3.0, 4.0), 10.0, math.inf, 100).interval(0.95)
    (-0.09..., 0.69...)
    """
    deviation = math.sqrt(max(sum_.variance, 0.0))
    least = math.sqrt(sum_.expected) if few(free, labels) else 0.0
    value, spread, least, below, above = (
        float(part / count) for part in (sum_.value, deviation, least, sum_.below, sum_.above)
    )
    return Value(value, spread, free, least, below, above, seen)


def _ratio(scope: Scope, metric: Metric, worst: bool) -> Value:
    """Recall and f1, with the totals kept to what is possible, by the delta method."""
    totals = [total(scope, channel, worst=worst) for channel in (PLUS, MINUS)]
    kept = scope.block[:, C.ROUNDS]
    plus, minus = (min(max(t.value, 0.0), float(kept[c])) for c, t in enumerate(totals))
    count = float(kept[PLUS]) if metric is Metric.F1 else 0.0
    made = ratio(metric, count, plus, minus)
    if math.isnan(made):
        return Value(math.nan, math.nan, math.inf)
    scale = (2.0 if metric is Metric.F1 else 1.0) / (count + plus + minus) ** 2
    up, down = scale * (count + minus), scale * plus
    variance = up * up * totals[PLUS].variance + down * down * totals[MINUS].variance
    free = freedom(scope, {PLUS: up, MINUS: down})
    expected = up * up * totals[PLUS].expected + down * down * totals[MINUS].expected
    labels = float(scope.block[LOSS, C.LABELS])
    least = math.sqrt(expected) if few(free, labels) else 0.0
    (_, _, _, less, more), (_, _, _, fewer, further) = totals
    least_of_it = ratio(metric, count, max(plus - less, 0.0), minus + further)
    most_of_it = ratio(metric, count, plus + more, max(minus - fewer, 0.0))
    below = made - (0.0 if math.isnan(least_of_it) else least_of_it)
    above = (1.0 if math.isnan(most_of_it) else most_of_it) - made
    return Value(made, math.sqrt(max(variance, 0.0)), free, least, below, above)


def anytime(scope: Scope, metric: Metric, costs: Costs, alpha: float) -> Pair:
    """The interval of a metric, NaN where the metric is not defined."""
    rounds, plus = float(scope.block[LOSS, C.ROUNDS]), float(scope.block[PLUS, C.ROUNDS])
    alpha = alpha / (scope.start * (scope.start + 1)) if scope.start else alpha
    if rounds == 0.0 or (metric is Metric.PRECISION and plus == 0.0):
        return math.nan, math.nan
    if metric in (Metric.ACCURACY, Metric.ERROR):
        low, high = (end / rounds for end in errors(scope, alpha))
        return (low, high) if metric is Metric.ERROR else (1.0 - high, 1.0 - low)
    if metric is Metric.LOG_LOSS:
        low, high = channel(scope, LOSS, alpha)
        return low / rounds, high / rounds
    if metric is Metric.PRECISION:
        low, high = channel(scope, PLUS, alpha)
        return low / plus, high / plus
    return _corners(scope, metric, costs, alpha)


def channel(scope: Scope, which: int, alpha: float) -> Pair:
    """The sum of v over the rows of a channel."""
    row = scope.block[which]
    guess = float(row[C.GUESS])
    least, most = float(row[C.LOW]) - guess, float(row[C.HIGH]) - guess
    low, high = confidence_sequence.interval(row[SUMS:], least, max(least, most), alpha)
    return guess + low, guess + high


def errors(scope: Scope, alpha: float) -> Pair:
    """The number of wrong predictions."""
    plus, minus = scope.block[PLUS], scope.block[MINUS]
    guess = float(plus[C.ROUNDS] - plus[C.GUESS] + minus[C.GUESS])
    least = float(plus[C.ROUNDS] - plus[C.HIGH] + minus[C.LOW]) - guess
    most = float(plus[C.ROUNDS] - plus[C.LOW] + minus[C.HIGH]) - guess
    log_k = plus[SUMS:][::-1] + minus[SUMS:]
    low, high = confidence_sequence.interval(log_k, least, max(least, most), alpha)
    return guess + low, guess + high


def _corners(scope: Scope, metric: Metric, costs: Costs, alpha: float) -> Pair:
    plus, minus = (channel(scope, which, alpha / 2.0) for which in (PLUS, MINUS))
    counts = scope.block[:, C.ROUNDS]
    if metric in (Metric.RECALL, Metric.F1):
        count = float(counts[PLUS])
        return ratio(metric, count, plus[0], minus[1]), ratio(metric, count, plus[1], minus[0])
    low = high = 0.0
    for which, ends in ((PLUS, plus), (MINUS, minus)):
        base, slope = linear(costs)[which]
        sides = sorted((slope * ends[0], slope * ends[1]))
        low += float(base * counts[which]) + sides[0]
        high += float(base * counts[which]) + sides[1]
    return low / float(counts[LOSS]), high / float(counts[LOSS])


def _possible(metric: Metric, costs: Costs) -> tuple[float, float]:
    if metric is Metric.COST:
        return min(costs), max(costs)
    return 0.0, math.inf if metric is Metric.LOG_LOSS else 1.0


def within(ends: Pair, possible: Pair) -> Pair:
    """The interval clipped to what is possible; all that is, where there is none.

    >>> within((0.9, 1.2), (0.0, 1.0)), within((math.nan, math.nan), (0.0, 1.0))
    ((0.9, 1.0), (0.0, 1.0))
    """
    least, most = possible
    low, high = (
        (least if math.isnan(ends[0]) else ends[0]),
        (most if math.isnan(ends[1]) else ends[1]),
    )
    return min(max(low, least), most), max(min(high, most), least)
