"""The metrics' intervals that hold at all times at once: :mod:`lasec.metrics.sequence`, in use.

Accuracy, error, log-loss and precision are each one sum with one martingale. The error of a round
predicted +1 is 1 - v, that of the others v, so its martingale for the bet l is that of S+ for -l
times that of S- for l. Recall, f1 and cost need S+ and S- at once: each is given alpha/2, and as
all three are monotone in both, their extremes are at corners of the rectangle.
"""

from __future__ import annotations

import math

from lasec.metrics import sequence
from lasec.metrics.estimate import Costs, Metric, Scope
from lasec.metrics.sums import LOSS, MINUS, PLUS, SUMS, Column
from lasec.metrics.totals import linear, ratio

C = Column
Pair = tuple[float, float]


def bounds(scope: Scope, metric: Metric, costs: Costs, alpha: float) -> Pair:
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
    """The sum of v over the rounds of a channel."""
    row = scope.block[which]
    guess = float(row[C.GUESS])
    least, most = float(row[C.LOW]) - guess, float(row[C.HIGH]) - guess
    low, high = sequence.interval(row[SUMS:], least, max(least, most), alpha)
    return guess + low, guess + high


def errors(scope: Scope, alpha: float) -> Pair:
    """The number of wrong predictions."""
    plus, minus = scope.block[PLUS], scope.block[MINUS]
    guess = float(plus[C.ROUNDS] - plus[C.GUESS] + minus[C.GUESS])
    least = float(plus[C.ROUNDS] - plus[C.HIGH] + minus[C.LOW]) - guess
    most = float(plus[C.ROUNDS] - plus[C.LOW] + minus[C.HIGH]) - guess
    log_k = plus[SUMS:][::-1] + minus[SUMS:]
    low, high = sequence.interval(log_k, least, max(least, most), alpha)
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
