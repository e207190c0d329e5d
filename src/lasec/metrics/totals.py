"""Estimates of totals, and the metrics and normal intervals that are made of them.

Of each class c (rows predicted +1, and -1) the number of rows n_c is known and the number S_c
of positives among them is not. TP = S+, FP = n+ - S+, FN = S-, TN = n- - S-, and::

    error = (FP + FN)/T    precision = S+/n+    recall = S+/(S+ + S-)    f1 = 2 S+/(n+ + S+ + S-)

The target is always the metric over the rows that have come, queried or not; the only randomness is
in the query decisions Z, whose probabilities q are known. With v the value of the true label and a
the model's guess, a sum of v over rows is estimated by::

    aipw     sum of a + Z (v - a)/q             unbiased, whatever the model
    ipw      sum of Z v/q                       unbiased; Horvitz and Thompson, 1952
    snipw    n (sum of Z v/q)/(sum of Z/q)      nearly unbiased; Hajek, 1971

"aipw" (augmented inverse propensity weighting) is unbiased even if the model is miscalibrated;
better calibration gives narrower intervals. "ipw" weights the errors (and each kind of cost), so
that accuracy is 1 - (sum of Z error/q)/T: weighting the correct rows instead would be unbiased too,
but with a far larger variance. "snipw" is self-normalized.

The variance of each is estimated by the sum over labels of (1 - q) r^2/q^2, where r is v - a, v, or
v less its weighted mean. Ratios are taken to first order (delta method). The interval uses
Student's t with as many degrees of freedom as labels that matter, (sum u)^2/(sum u^2) - 1 with
u = (1 - q)(v - a)^2/q^2: a few labels with large weights make a variance that is itself uncertain.
Fewer than three are not assumed: that would widen the intervals of short windows by half, and
hardly raise coverage. Where fewer than five matter, or there are fewer than 60 in all, "aipw" also
uses the model: the interval is not narrower than the normal one with the variance that the model
expects, (1 - q)/q p (1 - p) summed over the rows. A window in which no error happened to be queried
would look too certain otherwise.

Rows that could not be queried at all (q = 0, where a hard cap was reached) are filled in by the
model in "aipw", and the interval is widened by all that they can be; the others leave them out.

Where a share of the answers is lost, at random, every q above is q times the share answered.

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

from lasec.metrics import confidence_sequence
from lasec.metrics.estimate import Costs, Estimate, Interval, Method, Metric, Scope
from lasec.metrics.sums import LOSS, MINUS, PLUS, SUMS, Column

Array = NDArray[np.float64]
Pair = tuple[float, float]
C = Column
LEAST, FEW, SMALL, MANY = 3.0, 5.0, 60.0, 1e9
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


class Value(NamedTuple):
    """An estimated metric with its standard deviation and the degrees of freedom behind it.

    ``least`` is a deviation that a normal interval should have at least, ``below`` and ``above``
    what is added to its sides for the rows that could not be queried.
    """

    value: float
    deviation: float
    freedom: float
    least: float = 0.0
    below: float = 0.0
    above: float = 0.0

    @property
    def complement(self) -> Value:
        """The accuracy where this is the error."""
        return self._replace(value=1.0 - self.value, below=self.above, above=self.below)

    def interval(self, level: float) -> tuple[float, float]:
        """The t-interval; NaN where there is no value."""
        reach = student(level, self.freedom) * self.deviation
        reach = max(reach, student(level, math.inf) * self.least)
        return self.value - reach - self.below, self.value + reach + self.above


def student(level: float, freedom: float) -> float:
    """How many standard deviations to either side hold a share ``level``.

    >>> round(student(0.95, math.inf), 3), round(student(0.95, 3), 3)
    (1.96, 3.182)
    """
    from scipy.special import stdtrit  # noqa: PLC0415, a fifth of a second that few need

    return float(stdtrit(min(freedom, MANY), 0.5 + level / 2.0))


def estimate_of(
    scope: Scope, metric: Metric = Metric.ACCURACY, method: Method = Method.AIPW,
    interval: Interval = Interval.NORMAL, costs: Costs = NOTHING, level: float = 0.95,
) -> Estimate:  # fmt: skip
    """The estimate that these sums make, now or later.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> estimate_of(meter.scope()) == meter.accuracy
    True
    """
    found = value(scope, metric, method, costs)
    if interval is Interval.ANYTIME:
        ends = anytime(scope, metric, costs, 1.0 - level)
    else:
        ends = found.interval(level)
    known = Column.ROUNDS if method is Method.AIPW else Column.SEEN
    rounds, labels = (round(float(scope.block[LOSS, c])) for c in (known, Column.LABELS))
    low, high = within(ends, _possible(metric, costs))
    return Estimate(found.value, low, high, rounds, labels, scope.until)


def mirrored(scope: Scope) -> Scope:
    """The scope with the classes exchanged: metrics of it are those of the class -1.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> abs(estimate_of(mirrored(meter.scope())).value - meter.accuracy.value) < 1e-12
    True
    """
    return scope._replace(block=_mirrored(scope.block), square=_mirrored(scope.square))


def _mirrored(block: Array) -> Array:
    """Sums in which v, a and d of the class channels are 1 - v, 1 - a and -d."""
    made = block.copy()
    for here, there in ((PLUS, MINUS), (MINUS, PLUS)):
        s, t = block[there], made[here]
        t[:] = s
        t[C.GUESS], t[C.D1] = s[C.ROUNDS] - s[C.GUESS], -s[C.D1]
        t[C.LOW], t[C.HIGH] = s[C.ROUNDS] - s[C.HIGH], s[C.ROUNDS] - s[C.LOW]
        t[C.BELOW], t[C.ABOVE] = s[C.ABOVE], s[C.BELOW]
        for w, v, vv in ((C.W1, C.V1, C.VV1), (C.W2, C.V2, C.VV2)):
            t[v], t[vv] = s[w] - s[v], s[w] - 2.0 * s[v] + s[vv]
        t[SUMS:] = s[SUMS:][::-1]  # the bets on less are those on more
    return made


def total(scope: Scope, channel: int, method: Method, b0: float = 0.0, b1: float = 1.0) -> Total:
    """The sum of b0 + b1 v over the rows of a channel.

    >>> block = np.zeros((3, 64))
    >>> block[LOSS, [C.W1]] = block[PLUS, [C.W1]] = 50.0
    >>> block[PLUS, [C.ROUNDS, C.SEEN, C.GUESS, C.V1, C.D1]] = 60.0, 60.0, 45.0, 40.0, 2.0
    >>> scope = Scope(block, block, 0, 60)
    >>> [total(scope, PLUS, method).value for method in Method]
    [47.0, 48.0, 40.0]
    """
    s, rho = scope.block[channel], scope.share
    if s[C.SEEN if method is not Method.AIPW else C.ROUNDS] == 0.0:
        return Total(0.0, 0.0)
    rest = _rest(scope.square[channel], rho)
    if method is Method.AIPW:
        value = s[C.GUESS] + s[C.D1] / rho
        expected = b1 * b1 * scope.square[channel, C.EXPECTED] / rho
        sides = (b1 * s[C.BELOW], b1 * s[C.ABOVE])
        below, above = sides if b1 >= 0.0 else (-sides[1], -sides[0])
        made = (b0 * s[C.ROUNDS] + b1 * value, b1 * b1 * rest[3], expected, below, above)
        return Total(*map(float, made))
    if method is Method.IPW:
        variance = b0 * b0 * rest[0] + 2.0 * b0 * b1 * rest[1] + b1 * b1 * rest[2]
        return Total(float((b0 * s[C.W1] + b1 * s[C.V1]) / rho), float(variance))
    if s[C.W1] == 0.0:
        return Total(math.nan, math.nan)
    mean, scale = s[C.V1] / s[C.W1], b1 * rho * s[C.SEEN] / s[C.W1]
    variance = rest[2] - 2.0 * mean * rest[1] + mean * mean * rest[0]
    return Total(float(s[C.SEEN] * (b0 + b1 * mean)), float(scale * scale * max(variance, 0.0)))


def value(scope: Scope, metric: Metric, method: Method, costs: Costs | None) -> Value:
    """A metric over the rows of ``scope``."""
    nothing = Value(math.nan, math.nan, math.inf)
    if math.isnan(scope.share):
        return nothing
    if metric in (Metric.RECALL, Metric.F1):
        return _ratio(scope, metric, method)
    known = C.ROUNDS if method is Method.AIPW else C.SEEN
    count = scope.block[PLUS if metric is Metric.PRECISION else LOSS, known]
    if count == 0.0:
        return nothing
    labels = float(scope.block[LOSS, C.LABELS])
    if metric in (Metric.PRECISION, Metric.LOG_LOSS):
        channel = PLUS if metric is Metric.PRECISION else LOSS
        return over(total(scope, channel, method), count, freedom(scope, {channel: 1.0}), labels)
    cost = costs if metric is Metric.COST and costs is not None else ERRORS
    slopes = linear(cost)
    plus = total(scope, PLUS, method, *slopes[PLUS])
    minus = total(scope, MINUS, method, *slopes[MINUS])
    both = Total(*(a + b for a, b in zip(plus, minus, strict=True)))
    free = freedom(scope, {c: slope for c, (_, slope) in slopes.items()})
    made = over(both, count, free, labels)
    return made.complement if metric is Metric.ACCURACY else made


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
    rows = scope.square
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


def over(sum_: Total, count: float, free: float, labels: float) -> Value:
    """The mean over so many rows of which the sum is estimated, from so many labels.

    >>> over(Total(3.0, 4.0), 10.0, math.inf, 100).interval(0.95)
    (-0.09..., 0.69...)
    """
    deviation = math.sqrt(max(sum_.variance, 0.0)) if sum_.variance == sum_.variance else math.nan
    least = math.sqrt(sum_.expected) if few(free, labels) else 0.0
    value, spread, least, below, above = (
        float(part / count) for part in (sum_.value, deviation, least, sum_.below, sum_.above)
    )
    return Value(value, spread, free, least, below, above)


def _rest(row: Array, rho: float) -> Array:
    """The sums over labels of (1 - q)/q^2 times 1, v, v^2 and d^2."""
    once = row[[C.W1, C.V1, C.VV1, C.DD1]]
    return np.asarray(row[C.W2 : C.U2] / rho**2 - once / rho)


def _ratio(scope: Scope, metric: Metric, method: Method) -> Value:
    """Recall and f1, with the totals kept to what is possible, by the delta method."""
    known = C.ROUNDS if method is Method.AIPW else C.SEEN
    totals = [total(scope, channel, method) for channel in (PLUS, MINUS)]
    kept = scope.block[:, known]
    plus, minus = (min(max(t.value, 0.0), float(kept[c])) for c, t in enumerate(totals))
    count = float(kept[PLUS]) if metric is Metric.F1 else 0.0
    made = ratio(metric, count, plus, minus)
    if math.isnan(made) or any(math.isnan(t.value) for t in totals):
        return Value(math.nan, math.nan, math.inf)
    scale = (2.0 if metric is Metric.F1 else 1.0) / (count + plus + minus) ** 2
    up, down = scale * (count + minus), scale * plus
    variance = up * up * totals[PLUS].variance + down * down * totals[MINUS].variance
    free = freedom(scope, {PLUS: up, MINUS: down})
    expected = up * up * totals[PLUS].expected + down * down * totals[MINUS].expected
    labels = float(scope.block[LOSS, C.LABELS])
    least = math.sqrt(expected) if few(free, labels) else 0.0
    (_, _, _, less, more), (_, _, _, fewer, further) = totals
    worst = ratio(metric, count, max(plus - less, 0.0), minus + further)
    best = ratio(metric, count, plus + more, max(minus - fewer, 0.0))
    below = made - (0.0 if math.isnan(worst) else worst)
    above = (1.0 if math.isnan(best) else best) - made
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
