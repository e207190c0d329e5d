"""Hold a budget of labels, whatever query computes the chances.

A query's probability depends on margins, and which share of labels comes out of it depends on the
stream and changes with it. This one takes the probability of another query, ``inner``, and moves
its odds so that the labels spent keep to a plan. There is one account, a bucket of tokens::

    tokens <- min(burst, tokens + rate * ticks)        a tick is a row, or a unit of event time
    tokens <- tokens - 1                               for each label that is asked

Nothing is asked without a token, so that in any n consecutive ticks at most rate n + burst labels
are asked: that is the hard cap. Unspent budget is carried over up to ``burst``; what comes beyond
it lapses (where time runs the bucket, it holds two windows, so that a night without rows loses
nothing). The bucket is half full at the start, and the controller keeps it so. It moves the odds
by a proportional and an integral term::

    surplus = tokens - burst / 2 + boost
    u       = g surplus + i,     i <- i + (r / 4) min(g, 0.3)^2 surplus      r: labels a row
    P(ask)  = e + (1 - e) o exp(u) / (1 + o exp(u))     with o = p / (1 - p), p the inner chance
                                                        (at most 1 - 1e-6, so that it can be moved)

The pull is g = (100 / labels in a ``window``)^3, between 0.08 and 8: then the labels in a window
are within about a tenth of the plan. The integral's factor makes the loop critically damped.

*Audit.* e = ``audit_share`` r is the minimum query probability: no row is invisible. The last
eight tokens (of a small bucket, the last quarter) are left to it. Should it become empty all
the same, nothing is asked until a token is there: the propensity is 0, and the row is counted as
blind.

*Warm-up.* ``warm_up`` labels are spent early and repaid evenly over the ``horizon`` (in
ticks); at most a twentieth of its labels, and less where a window has fewer than 50, so that no
window after the first falls behind by more than a tenth. :meth:`Budgeted.boost` does the same
later, after an alarm for example, under the same hard cap.

*Total.* With ``total``, the rate is at most what is left of it over what is left of the horizon, or
over a tenth of the horizon where less is left: the total is never exceeded.

*Backpressure.* With ``max_open``, asking slows down when more than half as many questions are
open, and only the audit is left when all of them are.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from lasec.parameters import (
    LARGEST,
    SMALLEST,
    NonNegative,
    Positive,
    Range,
    Share,
    checked,
    number,
    seconds,
)
from lasec.queries.margin_sampling import MarginSampling
from lasec.types import Context, Margin, Query, Vector

__all__ = ["Budgeted", "inner_chance", "pull", "purse", "settled"]

LOOSE, FIRM, MILD, PULL = 0.08, 8.0, 0.3, 100.0
LARGEST_SHIFT, CERTAIN, RESERVE = 18.0, 1.0 - 1e-6, 8.0

# The state: rows, labels, the integral, tokens, the boost that is left and what is repaid of it
# in a tick, the times of the first and the last step, the rows of a window (by time: a
# count that decays over a window), blind rows.
ROUNDS, LABELS, INTEGRAL, TOKENS, BOOST, REPAY, FIRST, LAST, CROWD, BLIND = range(10)


class Purse(NamedTuple):
    """The account in one step: labels a tick and a step, tokens, boost, time, rows a window."""

    pace: float
    share: float
    tokens: float
    boost: float
    time: float
    crowd: float


def inner_chance(query: Any, margin: Margin, t: int) -> float:
    """``query.probability(margin, t)``: the chance before the budget is looked at."""
    return float(query.probability(margin, t))


def settled(query: Any) -> tuple[float, float, float]:
    """The rate at the start, the warm-up, and the size of the bucket."""
    rate = min(query.rate, query.total / query.horizon) if query.total > 0.0 else query.rate
    labels = rate * query.window
    early = min(query.warm_up, 0.05 * rate * query.horizon * min(1.0, labels / 50.0))
    burst = query.burst if query.burst > 0.0 else 2.0 * (2.0 * RESERVE + 0.1 * labels + early)
    if query.timed and query.burst == 0.0:
        burst = max(burst, 2.0 * labels)
    return rate, early, burst


def pull(query: Any, pace: float) -> float:
    """How hard the controller pulls: the harder, the fewer labels a window has."""
    return float(max(LOOSE, min(FIRM, (PULL / max(pace * query.window, 1e-9)) ** 3)))


def purse(query: Any, state: Vector, now: Context) -> Purse:
    """The account as of this row, before it is decided."""
    seen = state[ROUNDS]
    time = seen + 1.0
    if query.timed:
        time = now.time if seen == 0.0 else max(now.time, state[LAST])
    ticks = time - state[LAST] if seen > 0.0 else 0.0
    pace, _, burst = settled(query)
    if query.total > 0.0:
        ahead = max(query.horizon - (state[LAST] - state[FIRST]), 0.1 * query.horizon)
        pace = min(query.rate, (query.total - state[LABELS]) / ahead)
    tokens = min(burst, state[TOKENS] + pace * ticks)
    if query.total > 0.0 and state[LABELS] + 1.0 > query.total:
        tokens = 0.0
    boost = max(0.0, state[BOOST] - state[REPAY] * ticks)
    share, crowd = pace, 0.0
    if query.timed:
        crowd = 1.0 + state[CROWD] * math.exp(-ticks / query.window)
        share = min(1.0, pace * query.window / crowd)
    return Purse(pace, share, tokens, boost, time, crowd)


@checked
class Budgeted(NamedTuple):
    """Ask for ``rate`` labels a row (or a unit of time), where ``inner`` finds them most useful.

    What the query remembers is an array. The controller needs no knowledge of the stream:

    >>> query = Budgeted(rate=0.1)
    >>> state = query.init()
    >>> doubt, certain = Margin(0.0, 0.0, 0.0), Margin(0.9, 0.0, 0.9)
    >>> now = Context(round=1, time=1.0, open=0)
    >>> round(query.chance(doubt, state, now), 2), round(query.chance(certain, state, now), 2)
    (1.0, 1.0)
    >>> for _ in range(60):
    ...     query.spend(state, True, now)
    >>> round(query.chance(doubt, state, now), 2), round(query.chance(certain, state, now), 2)
    (1.0, 0.16)
    """

    rate: Positive = 0.1
    inner: Query = MarginSampling(0.5, power=1.5)
    audit_share: Share = 0.2
    window: Positive = 1000.0
    horizon: Positive = 10_000.0
    warm_up: NonNegative = 50.0
    burst: NonNegative = 0.0
    total: NonNegative = 0.0
    max_open: Annotated[int, Range(0, 2**31)] = 0
    timed: bool = False

    @classmethod
    def every(cls, window: str | float, labels: float, **options: Any) -> Budgeted:
        """So many labels a window of time: "1d", "12h", "30min", or a number in any unit.

        Rows then say when they came, in seconds or that unit: ``learner.ask(x, time=...)``. The
        horizon is ten windows, if none is given.

        >>> query = Budgeted.every("1d", labels=500)
        >>> round(query.rate * 86_400, 1), query.timed
        (500.0, True)
        """
        any_time = Range(SMALLEST, LARGEST)
        if isinstance(window, str):
            window = seconds("window", window)
        ticks: float = number("window", window, float, any_time)
        labels = number("labels", labels, float, any_time)
        settings = {"window": ticks, "horizon": 10.0 * ticks} | options
        return cls(rate=labels / ticks, timed=True, **settings)

    def init(self) -> Vector:
        """Nothing asked yet."""
        _, early, burst = settled(self)
        state = np.zeros(BLIND + 1)
        state[TOKENS], state[BOOST], state[REPAY] = burst / 2.0, early, early / self.horizon
        return state

    def chance(self, margin: Margin, state: Vector, now: Context) -> float:
        """The probability of asking in the row that follows what is remembered."""
        if self.rate >= 1.0 and not self.timed and self.total == 0.0 and self.max_open == 0:
            return 1.0
        pace, share, tokens, boost, _, _ = purse(self, state, now)
        if tokens < 1.0:
            return 0.0
        burst = settled(self)[2]
        surplus = tokens - burst / 2.0 + boost
        shift = pull(self, pace) * surplus + state[INTEGRAL]
        odds = math.exp(min(max(shift, -LARGEST_SHIFT), LARGEST_SHIFT))
        p = min(inner_chance(self.inner, margin, now.round), CERTAIN)
        wanted = p * odds / (1.0 - p + p * odds)
        allowed = min(1.0, max(0.0, tokens / min(RESERVE, burst / 4.0) - 1.0))
        if self.max_open > 0:
            allowed *= min(1.0, max(0.0, 2.0 - 2.0 * now.open / self.max_open))
        least = self.audit_share * share
        return float(least + (1.0 - least) * wanted * allowed)

    def spend(self, state: Vector, asked: bool, now: Context) -> None:
        """Remember a row."""
        account = purse(self, state, now)
        if state[ROUNDS] == 0.0:
            state[FIRST] = account.time
        state[ROUNDS] += 1.0
        state[LABELS] += asked
        state[BLIND] += account.tokens < 1.0
        state[TOKENS], state[BOOST] = account.tokens - asked, account.boost
        state[LAST], state[CROWD] = account.time, account.crowd
        if account.boost == 0.0:
            state[REPAY] = 0.0
        if self.max_open == 0 or 2 * now.open <= self.max_open:
            surplus = state[TOKENS] - settled(self)[2] / 2.0 + account.boost
            step = account.share * min(pull(self, account.pace), MILD) ** 2 / 4.0 * surplus
            state[INTEGRAL] = min(max(state[INTEGRAL] + step, -LARGEST_SHIFT), LARGEST_SHIFT)

    def planned(self, state: Vector) -> float:
        """The labels that the budget allows by now, without carry-over and boosts.

        >>> query = Budgeted(rate=0.1)
        >>> state = query.init()
        >>> query.spend(state, True, Context(round=1, time=1.0, open=0))
        >>> query.planned(state)
        0.1
        """
        ticks = state[LAST] - state[FIRST] if self.timed else state[ROUNDS]
        if self.total > 0.0:
            return float(min(self.rate * ticks, self.total * min(1.0, ticks / self.horizon)))
        return float(self.rate * ticks)

    def boost(self, state: Vector, labels: float, ticks: float) -> None:
        """Spend ``labels`` earlier, to be saved again over the next ``ticks``."""
        state[BOOST] += labels
        state[REPAY] += labels / ticks

    def validate_state(self, state: Vector) -> str:
        """Why an array is no state of this query, as a phrase; empty if it can."""
        possible = (
            0.0 <= state[LABELS] <= state[ROUNDS]
            and abs(state[INTEGRAL]) <= LARGEST_SHIFT
            and 0.0 <= state[TOKENS] <= settled(self)[2]
            and min(state[BOOST], state[REPAY], state[CROWD]) >= 0.0
            and state[FIRST] <= state[LAST]
            and 0.0 <= state[BLIND] <= state[ROUNDS]
        )
        return "" if possible else "the query's state holds impossible numbers"

    def probability(self, margin: Margin, t: int) -> float:
        """The probability of asking in a first row."""
        return self.chance(margin, self.init(), Context(1, 0.0, 0))

    def validate(self) -> str:
        """Why these parameters do not go together; empty if they do."""
        if hasattr(self.inner, "spend"):
            return f"inner: {type(self.inner).__name__} holds a budget itself"
        if not self.timed and self.rate > 1.0:
            return f"rate must be at most one label a round, got {self.rate:g}"
        if 0.0 < self.burst < 2.0 * RESERVE:
            return f"burst must be at least 16 labels, got {self.burst:g}"
        if 0.0 < self.total < 1.0:
            return f"total must be at least one label, got {self.total:g}"
        return ""

    @property
    def has_propensity(self) -> Literal[True]:
        """Every row has at least the minimum, unless the hard cap forbids to ask."""
        return True

    @property
    def rises_with_variance(self) -> bool:
        """The controller must see every row."""
        return False

    @property
    def reference(self) -> str:
        """That of the query inside."""
        return self.inner.reference
