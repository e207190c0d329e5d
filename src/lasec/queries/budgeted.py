"""Hold a budget of labels, whatever query computes the chances.

A query's probability depends on margins, and which share of labels comes out of it depends on the
stream and changes with it. This one takes the probability of another query, ``inner``, and moves it
so that the labels spent keep to a plan. What may be spent is kept in an account
(:mod:`lasec.queries.account`: hard cap, carry-over, warm-up, total); how the probability moves is
said in :mod:`lasec.queries.pacing`.

*Audit.* A part of the labels, about ``audit`` of them, is spread evenly: the minimum query
probability is ``audit`` times the rate (of at most 0.25), so that no row is invisible. It
falls when more than six labels are overspent (18 of an adaptive budget). Should the bucket become
empty all the same, nothing is asked until a token is there: the propensity is 0, and the row is
counted as blind.

*Usual margins.* What is a large margin differs between models. Where the mean size of the margins
of about 500 rows is less than 0.4, they are stretched so that it is; the inner query then sees
margins of the same size whatever the model.

*Boost.* :meth:`Budgeted.boost` spends labels earlier, after an alarm for example, under the same
hard cap.

*Adaptive.* With ``adapt``, a Tracker spends up to that share of the horizon's labels earlier, where
its posterior says that they are worth more now (:mod:`lasec.learner.adaptive`), and repays them.

*Backpressure.* With ``max_open``, asking slows down when more than half as many questions are
open, and only a fifth of the audit is left when all of them are.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

from lasec import methods
from lasec.contract import query, whole_query
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
from lasec.queries.pacing import audited, held_back, step, wanted
from lasec.queries.uncertainty_sampling import UncertaintySampling
from lasec.types import Context, Margin, Query, Vector

__all__ = ["Budgeted", "stretched"]

LARGE, MEMORY, FAR = 0.4, 500.0, 1e100
MOST_ADAPTIVE, SHORTEST = 0.1, 5_000.0  # where a budget is adaptive


def stretched(margin: Margin, state: Vector) -> Margin:
    """A margin as large as it would be if the usual one were not small."""
    factor = 1.0
    if 0.0 < state[USUAL] < LARGE:
        factor = LARGE / state[USUAL]
    return Margin(margin.raw, margin.variance, margin.margin * factor)


def flaw_of_boosts(query: Any) -> str:
    """Why a budget cannot be adaptive; empty if it can."""
    if query.timed or query.total > 0.0:
        return "adapt: not for a budget by time or with a total"
    if query.rate > MOST_ADAPTIVE or query.horizon < SHORTEST:
        return (
            f"adapt needs a rate of {MOST_ADAPTIVE:g} or less and a horizon of {SHORTEST:g} or more"
        )
    return ""


@checked
@query
class Budgeted(NamedTuple):
    """Ask for ``rate`` labels a row (or a unit of time), where ``inner`` finds them most useful.

    What the query remembers is an array. The controller needs no knowledge of the stream:

    >>> query = Budgeted(rate=0.1)
    >>> state = query.init()
    >>> doubt, certain = Margin(0.0, 0.0, 0.0), Margin(0.9, 0.0, 0.9)
    >>> now = Context(round=1, time=1.0, open=0)
    >>> round(query.chance(doubt, state, now), 2), round(query.chance(certain, state, now), 2)
    (0.87, 0.1)
    >>> for _ in range(60):
    ...     query.spend(doubt, state, True, now)
    >>> round(query.chance(doubt, state, now), 2), round(query.chance(certain, state, now), 2)
    (0.09, 0.05)
    """

    rate: Positive = 0.1
    inner: Query = UncertaintySampling()
    audit: Share = 0.5
    window: Positive = 1000.0
    horizon: Positive = 10_000.0
    warm_up: NonNegative = 50.0
    burst: NonNegative = 0.0
    total: NonNegative = 0.0
    max_open: Annotated[int, Range(0, 2**31)] = 0
    timed: bool = False
    adapt: Annotated[float, Range(0.0, 0.5)] = 0.0

    @classmethod
    def adaptive(cls, rate: float, share: float = 0.25, **options: Any) -> Budgeted:
        """A budget of which a Tracker spends up to a ``share`` of the horizon's labels earlier.

        It does so where a concept is new and seems to stay, and repays them within the horizon. The
        hard cap rises by that share of the labels.

        >>> Budgeted.adaptive(rate=0.02).cap(50_000), Budgeted(rate=0.02).cap(50_000)
        (1088.0, 1038.0)
        """
        plain = cls(rate, **options)
        more = plain.rate * plain.horizon * number("share", share, float, Range(0.0, 0.5))
        return plain._replace(adapt=share, burst=settled(plain)[2] + 2.0 * more)

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
        return opened(self, USUAL + 1)

    def chance(self, margin: Margin, state: Vector, now: Context) -> float:
        """The probability of asking in the row that follows what is remembered."""
        if self.rate >= 1.0 and not self.timed and self.total == 0.0 and self.max_open == 0:
            return 1.0
        account = purse(self, state, now)
        if account.tokens < 1.0:
            return 0.0
        s = surplus(account)
        last, room = held_back(self, account, now.open)
        p = methods.probability(self.inner, stretched(margin, state), now.round)
        least = audited(self, account, s, room)
        return float(least + (1.0 - least) * wanted(self, p, state, account, s) * (last * room))

    def spend(self, margin: Margin, state: Vector, asked: bool, now: Context) -> None:
        """Remember a row."""
        account = purse(self, state, now)
        passed(state, account, asked, asked, 1.0)
        p = methods.probability(self.inner, stretched(margin, state), now.round)
        shift = state[SHIFT] + step(self, p, state, account)
        state[SHIFT] = min(max(shift, -LARGEST_SHIFT), LARGEST_SHIFT)
        size = min(abs(margin.margin), FAR)
        state[USUAL] += (size - state[USUAL]) / min(state[ROUNDS], MEMORY)

    def planned(self, state: Vector) -> float:
        """The labels that the budget allows by now, without carry-over and boosts.

        >>> query = Budgeted(rate=0.1)
        >>> state = query.init()
        >>> query.spend(Margin(0.0, 0.0, 0.0), state, True, Context(round=1, time=1.0, open=0))
        >>> query.planned(state)
        0.1
        """
        return promised(self, state)

    def cap(self, ticks: float) -> float:
        """The most labels that it asks for in the first so many rows (or units of time).

        That is ``rate`` times the rows, 16 labels, a tenth of the labels of a window, and the
        warm-up, which is at most a tenth of the labels of the horizon. It holds for any rows, with
        boosts too.

        >>> Budgeted(rate=0.1).cap(5_000), Budgeted(rate=0.1, warm_up=0).cap(5_000)
        (576.0, 526.0)
        >>> Budgeted(rate=0.02, horizon=1_500).cap(1_500)
        51.0
        """
        most = most_asked(self, ticks)
        if self.rate >= 1.0 and not self.timed:
            most = min(self.total or math.inf, ticks)
        return float(most if self.timed else min(most, ticks))

    @property
    def slack(self) -> float:
        """How many labels the hard cap is above the rate: half a bucket.

        >>> Budgeted(rate=0.1).slack, Budgeted(rate=0.1, warm_up=0).slack
        (76.0, 26.0)
        """
        return float(settled(self)[2] / 2.0)

    def owed(self, state: Vector) -> float:
        """The labels of warm-up and boosts that are still to be repaid.

        >>> query = Budgeted(rate=0.1)
        >>> query.owed(query.init()), Budgeted(warm_up=0).owed(query.init() * 0.0)
        (50.0, 0.0)
        """
        return float(state[BOOST])

    def boost(self, state: Vector, labels: float, ticks: float) -> None:
        """Spend ``labels`` earlier, to be saved again over the next ``ticks``."""
        boosted(state, labels, ticks)

    def validate_state(self, state: Vector) -> str:
        """Why an array is no state of this query, as a phrase; empty if it is."""
        possible = (
            is_possible(state)
            and 0.0 <= state[LABELS] <= state[ROUNDS]
            and 0.0 <= state[TOKENS] <= settled(self)[2]
            and state[USUAL] >= 0.0
        )
        return "" if possible else "the query's state holds impossible numbers"

    def probability(self, margin: Margin, t: int) -> float:
        """The probability of asking in a first row."""
        return self.chance(margin, self.init(), Context(1, 0.0, 0))

    def validate(self) -> str:
        """Why these parameters do not go together; empty if they do."""
        if whole_query(self.inner).init().size:
            return f"inner: {type(self.inner).__name__} holds a budget itself"
        if not self.timed and self.rate > 1.0:
            return f"rate must be at most one label a row, got {self.rate:g}"
        if 0.0 < self.burst < 2.0 * RESERVE:
            return f"burst must be at least 16 labels, got {self.burst:g}"
        if 0.0 < self.total < 1.0:
            return f"total must be at least one label, got {self.total:g}"
        return flaw_of_boosts(self) if self.adapt > 0.0 else ""

    @property
    def has_propensity(self) -> Literal[True]:
        """Every row has at least the minimum, unless the hard cap forbids to ask."""
        return True
