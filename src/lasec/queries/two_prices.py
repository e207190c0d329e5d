"""Spend one budget of money on labels of two prices: a cheap judge's, and a dear expert's.

The judge is asked first, with q; after its answer J an expert is asked, with q_2. A row that an
expert sees has the probability q q_2. Let A = p(1 - p) be the variance of the label as the model
sees it, B what is left of it once J is known, B' its mean over J, c the price of the judge in
experts' labels. The variance of the nested estimate (:func:`lasec.metrics.sums.of_experts`) is the
smallest for a given spending with (two-phase sampling: Neyman, *Contribution to the theory of
sampling human populations*, JASA 33, 1938)::

    q     = s max( sqrt(k (A - B')/c), sqrt(B') )
    q q_2 = s sqrt(B)

Here k is 1; a larger one, ``learn``, asks the judge more often, so that the model learns more. A
judge that knows nothing more than the model has B = A: then it is asked where an expert is, and
nowhere else. What share of A is left, B'/A and the mean of sqrt(B/A), is measured along the way.

Money is counted in experts' labels, in the account of a :class:`~lasec.queries.Budgeted`: rate,
total, time, warm-up and hard cap are the same. The scale s follows the spending that is expected of
each row, and the surplus of the account pulls it. When the judge is asked, the price of the expert
is set aside until its answer is there: so the cap holds whatever is answered, and no row lacks the
money for its expert. Until ten experts have answered after a judge, an expert follows every
answer of it.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

from lasec.contract import query
from lasec.parameters import NonNegative, Positive, Range, checked
from lasec.queries.account import (
    BOOST,
    LABELS,
    LARGEST_SHIFT,
    RESERVE,
    ROUNDS,
    SHIFT,
    TOKENS,
    USUAL,
    boosted,
    is_possible,
    most_asked,
    opened,
    passed,
    promised,
    purse,
    settled,
    surplus,
)
from lasec.queries.pacing import room_for
from lasec.types import Context, Margin, Vector

__all__ = ["TwoPrices", "capped", "doubt_of", "eager", "followed", "reach", "wanted_of"]

# What is remembered beside the account: how many questions an expert's price is set aside for, what
# a judge leaves of A and of its root, how many experts have answered after a judge, the tokens that
# the caps of judge and expert leave, and what a judge costs in the row that is next.
ASIDE = USUAL + 1
LEFT, ROOT, DOUBLES, CHEAP, DEAR, PRICE = range(ASIDE + 1, ASIDE + 7)
SIZE = PRICE + 1
FIRST_ROWS, FREE = 500.0, 6.0
QUICK, SLOW, GENTLE, HARDEST = 0.025, 0.01, 0.1, 4.0
LEAST_JUDGED, BOTH, MEMORY = 0.5, 10.0, 200.0
TINY, USUAL_ROOT = 1e-3, 0.35


def doubt_of(margin: Margin) -> float:
    """A = p(1 - p), where the margin is 2p - 1."""
    size = min(abs(margin.margin), 1.0)
    return max(0.25 * (1.0 - size * size), TINY)


def reach(state: Vector, labels: float) -> float:
    """How hard a surplus of so many labels pulls at the scale, with what will be given back."""
    s = labels + state[ASIDE] * (1.0 - followed(state))
    return float(min(max(GENTLE * s, -HARDEST), HARDEST))


def followed(state: Vector) -> float:
    """About the share of a judge's answers that an expert's follows."""
    return 1.0 if state[DOUBLES] < BOTH else min(1.0, float(state[ROOT]))


def eager(query: Any, state: Vector, doubt: float, scale: float) -> float:
    """q, before the floor and the hard cap."""
    if state[DOUBLES] < BOTH:
        return float(min(1.0, scale * math.sqrt(doubt)))
    left = doubt * state[LEFT]
    judge = math.sqrt(query.learn * max(doubt - left, 0.0) / state[PRICE])
    return float(min(1.0, scale * max(judge, math.sqrt(left))))


def wanted_of(query: Any, state: Vector, doubt: float, rate: float) -> float:
    """The money that a row of this doubt is expected to cost, without a pull."""
    scale = math.exp(state[SHIFT])
    q = max(eager(query, state, doubt, scale), min(1.0, LEAST_JUDGED * rate))
    after = q
    if state[DOUBLES] >= BOTH:
        after = min(q, max(scale * math.sqrt(doubt) * state[ROOT], query.audit * rate))
    return float(state[PRICE] * q + after)


def capped(query: Any, state: Vector, account: Any) -> tuple[float, float]:
    """The tokens that the caps of judge and expert leave in this row."""
    filled = max(0.0, account.tokens - state[TOKENS])
    return (
        min(query.judges * account.burst, state[CHEAP] + query.judges * filled),
        min(query.experts * account.burst, state[DEAR] + query.experts * filled),
    )


@checked
@query
class TwoPrices(NamedTuple):
    """Ask a judge of the price ``price``, and after its answer perhaps an expert of the price 1.

    ``rate`` is the money a row (or a unit of time), in experts' labels. ``learn`` is k: 1 is best
    to measure, more asks the judge more often, to learn. An expert sees each row with a probability
    of ``audit`` times the rate at least, however sure model and judge are. ``judges`` and
    ``experts`` are the largest shares of the money that each may get. Experts and judge are asked
    less where ``max_open`` and ``max_judging`` questions wait for them.

    >>> query = TwoPrices(rate=0.02, price=0.02)
    >>> state, now = query.init(), Context(round=1, time=1.0, open=0)
    >>> doubt = Margin(0.0, 0.0, 0.0)
    >>> q = query.chance(doubt, state, now)
    >>> query.after(0.25, q, state)  # the first ten judgments are all followed by an expert
    1.0
    >>> state[DOUBLES], state[LEFT], state[ROOT] = 10, 0.2, 0.4  # a judge that knows a lot
    >>> query.chance(doubt, state, now) > 3.0 * q, round(query.after(0.05, q, state), 2)
    (True, 0.45)
    """

    rate: Positive = 0.02
    price: Annotated[float, Range(1e-6, 1.0)] = 0.02
    learn: Annotated[float, Range(1.0, 100.0)] = 3.0
    audit: Annotated[float, Range(0.01, 0.5)] = 0.25
    window: Positive = 1000.0
    horizon: Positive = 10_000.0
    warm_up: NonNegative = 50.0
    burst: NonNegative = 0.0
    total: NonNegative = 0.0
    max_open: Annotated[int, Range(0, 2**31)] = 0
    max_judging: Annotated[int, Range(0, 2**31)] = 0
    timed: bool = False
    judges: Annotated[float, Range(1e-6, 1.0)] = 1.0
    experts: Annotated[float, Range(1e-6, 1.0)] = 1.0

    def init(self) -> Vector:
        """Nothing spent yet; of the judge nothing is known."""
        rate, _, burst = settled(self)
        state = opened(self, SIZE)
        state[SHIFT] = math.log(min(rate, 1.0) / USUAL_ROOT)
        state[LEFT] = state[ROOT] = 1.0
        state[PRICE] = self.price
        state[CHEAP], state[DEAR] = self.judges * burst / 2.0, self.experts * burst / 2.0
        return state

    def chance(self, margin: Margin, state: Vector, now: Context) -> float:
        """The probability of asking the judge in the row that follows what is remembered."""
        account = purse(self, state, now)
        cheap, dear = capped(self, state, account)
        price = state[PRICE]
        spare = min(account.tokens - price - 1.0, cheap - price, dear - 1.0)
        spent = state[LABELS] + state[ASIDE] + price + 1.0
        if spare < 0.0 or (self.total > 0.0 and spent > self.total):
            return 0.0
        pull = reach(state, surplus(account))
        last = min(1.0, (spare + 0.5) / min(RESERVE, account.burst / 4.0))
        room = room_for(state[ASIDE], self.max_judging)
        if state[DOUBLES] < BOTH:  # each answer goes on to an expert
            room *= room_for(now.open - state[ASIDE], self.max_open)
        q = eager(self, state, doubt_of(margin), math.exp(state[SHIFT] + pull)) * last * room
        least = LEAST_JUDGED * min(account.share, 0.5)
        least *= math.exp(min(0.0, pull + GENTLE * FREE)) * last * last * (0.2 + 0.8 * room)
        return float(min(1.0, max(q, least)))

    def after(self, doubt: float, q: float, state: Vector, waiting: int = 0) -> float:
        """The probability of asking an expert, once the judge has answered.

        ``doubt`` is B, ``q`` the probability with which the judge was asked, and so many questions
        wait for experts.
        """
        if state[DOUBLES] < BOTH:
            return 1.0
        rate, _, burst = settled(self)
        ahead = state[TOKENS] - burst / 2.0 + state[BOOST]
        scale = math.exp(state[SHIFT] + reach(state, ahead))
        room, least = room_for(waiting, self.max_open), self.audit * min(rate, 1.0)
        seen = max(scale * math.sqrt(max(doubt, TINY)) * room, least * (0.2 + 0.8 * room))
        return float(min(1.0, seen / q))

    def spend(self, margin: Margin, state: Vector, asked: bool, now: Context) -> None:
        """Remember a row; where the judge is asked, the price of an expert is set aside."""
        account = purse(self, state, now)
        cheap, dear = capped(self, state, account)
        price = state[PRICE]
        passed(state, account, price * asked, (1.0 + price) * asked, 1.0 + price)
        state[ASIDE] += asked
        state[CHEAP], state[DEAR] = cheap - price * asked, dear - asked
        rate = max(account.share, 1e-9)
        gain = QUICK if state[ROUNDS] <= FIRST_ROWS else SLOW
        ahead = 1.0 - wanted_of(self, state, doubt_of(margin), rate) / rate
        shift = state[SHIFT] + gain * min(max(ahead, -3.0), 1.0)
        state[SHIFT] = min(max(shift, -LARGEST_SHIFT), LARGEST_SHIFT)

    def follow(self, state: Vector, escalated: bool) -> None:
        """The judge has answered, or never will: what was set aside is spent, or given back."""
        burst = settled(self)[2]
        state[ASIDE] = max(0.0, state[ASIDE] - 1.0)
        if escalated:
            state[LABELS] += 1.0
            return
        state[TOKENS] = min(burst, state[TOKENS] + 1.0)
        state[DEAR] = min(self.experts * burst, state[DEAR] + 1.0)

    def weigh(self, state: Vector, before: float, after: float) -> None:
        """Measure what a judge's answer has left of the variance of a label."""
        left = min(max(after, TINY) / max(before, TINY), 1.0)
        state[LEFT] += (left - state[LEFT]) / MEMORY
        state[ROOT] += (math.sqrt(left) - state[ROOT]) / MEMORY

    def double(self, state: Vector) -> None:
        """An expert has answered after a judge."""
        state[DOUBLES] += 1.0

    def planned(self, state: Vector) -> float:
        """The money that the budget allows by now, in experts' labels."""
        return promised(self, state)

    def cap(self, ticks: float) -> float:
        """The most that is spent in the first so many rows (or units of time), in experts' labels.

        >>> TwoPrices(rate=0.02).cap(5_000)
        138.0
        """
        return most_asked(self, ticks)

    def boost(self, state: Vector, labels: float, ticks: float) -> None:
        """Spend ``labels`` earlier, to be saved again over the next ``ticks``."""
        boosted(state, labels, ticks)

    def validate_state(self, state: Vector) -> str:
        """Why an array is no state of this query, as a phrase; empty if it is."""
        burst = settled(self)[2]
        possible = (
            is_possible(state)
            and 0.0 <= state[LABELS] <= 2.0 * state[ROUNDS]
            and 0.0 < state[PRICE] <= 1.0
            and min(state[TOKENS], state[CHEAP], state[DEAR]) >= -1e-6
            and state[TOKENS] <= burst
            and 0.0 <= state[ASIDE] <= state[ROUNDS]
            and state[DOUBLES] >= 0.0
            and 0.0 < state[LEFT] <= 1.0
            and 0.0 < state[ROOT] <= 1.0
        )
        return "" if possible else "the query's state holds impossible numbers"

    def probability(self, margin: Margin, t: int) -> float:
        """The probability of asking the judge in a first row."""
        return self.chance(margin, self.init(), Context(1, 0.0, 0))

    def validate(self) -> str:
        """Why these parameters do not go together; empty if they do."""
        if not self.timed and self.rate > 1.0 + self.price:
            return f"rate must be at most what both answers of a row cost, got {self.rate:g}"
        if 0.0 < self.burst < 2.0 * RESERVE:
            return f"burst must be at least 16 labels, got {self.burst:g}"
        if 0.0 < self.total < 1.0 + self.price:
            return f"total must be at least what both answers of a row cost, got {self.total:g}"
        return ""

    @property
    def has_propensity(self) -> Literal[True]:
        """Every row has at least the minimum, unless the hard cap forbids to ask."""
        return True
