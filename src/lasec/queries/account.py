"""The account of a label budget: a bucket of tokens, filled by rows or by time.

::

    tokens <- min(burst, tokens + rate * ticks)        a tick is a row, or a unit of event time
    tokens <- tokens - 1                               for each label that is asked

Nothing is asked without a token, so that in any n consecutive ticks at most rate n + burst labels
are asked, and in the first n at most rate n + burst/2, as the bucket is half full at the start:
that is the hard cap, and burst/2 = 16 + rate window/10 + warm-up (of a window within the horizon).
Unspent budget is carried over up to ``burst``; what comes beyond it lapses (where time runs the
bucket, it holds two windows, so that a night without rows loses nothing). A budget keeps the bucket
half full: its *surplus* is how many labels it is behind its plan, or, below zero, ahead of it.

*Warm-up.* ``warm_up`` labels are spent early and repaid evenly over the ``horizon`` (in ticks); at
most a tenth of its labels.

*Total.* With ``total``, the rate is at most what is left of it over what is left of the horizon, or
over a tenth of the horizon where less is left: the total is never exceeded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lasec.types import Context, Vector

__all__ = ["covered", "passed", "purse", "settled", "surplus"]  # what compiled code calls

RESERVE, LARGEST_SHIFT = 8.0, 18.0

# The state: rows, labels, the shift of the odds, tokens, the boost that is left and what is repaid
# of it in a tick, the times of the first and the last step, the rows of a window (by time: a
# count that decays over a window), blind rows, the usual size of a margin.
ROUNDS, LABELS, SHIFT, TOKENS, BOOST, REPAY, FIRST, LAST, CROWD, BLIND, USUAL = range(11)


class Purse(NamedTuple):
    """The account in one step: labels a tick and a row, tokens, boost, time, rows a window.

    ``burst`` is the size of the bucket.
    """

    pace: float
    share: float
    burst: float
    tokens: float
    boost: float
    time: float
    crowd: float


def settled(query: Any) -> tuple[float, float, float]:
    """The rate at the start, the warm-up, and the size of the bucket."""
    rate = min(query.rate, query.total / query.horizon) if query.total > 0.0 else query.rate
    labels = rate * min(query.window, query.horizon)
    early = min(query.warm_up, 0.1 * rate * query.horizon)
    burst = query.burst if query.burst > 0.0 else 2.0 * (2.0 * RESERVE + 0.1 * labels + early)
    if query.timed and query.burst == 0.0:
        burst = max(burst, 2.0 * labels)
    return rate, early, burst


def opened(query: Any, size: int) -> Vector:
    """A state of so many numbers, with nothing spent yet."""
    _, early, burst = settled(query)
    state = np.zeros(size)
    state[TOKENS], state[BOOST], state[REPAY] = burst / 2.0, early, early / query.horizon
    return state


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
        share = min(1.0, pace * query.window / crowd * covered(query, time - state[FIRST], seen))
    return Purse(pace, share, burst, tokens, boost, time, crowd)


def covered(query: Any, past: float, seen: float) -> float:
    """The part of a window that the count of its rows covers: all of it, but in the first ones."""
    if seen == 0.0 or past <= 0.0:
        return 1.0
    return 1.0 - math.exp(-past / query.window)


def surplus(account: Purse) -> float:
    """How many labels the budget is behind its plan, before the row is asked or not."""
    return float(account.tokens - account.burst / 2.0 + account.boost)


def passed(state: Vector, account: Purse, paid: float, taken: float, least: float) -> None:
    """Remember a row that was decided: what it cost, what it took from the bucket.

    It was blind where the bucket had less than ``least``.
    """
    if state[ROUNDS] == 0.0:
        state[FIRST] = account.time
    state[ROUNDS] += 1.0
    state[LABELS] += paid
    state[BLIND] += account.tokens < least
    state[TOKENS], state[BOOST] = account.tokens - taken, account.boost
    state[LAST], state[CROWD] = account.time, account.crowd
    if account.boost == 0.0:
        state[REPAY] = 0.0


def promised(query: Any, state: Vector) -> float:
    """The labels that a budget allows by now, without carry-over and boosts."""
    ticks = state[LAST] - state[FIRST] if query.timed else state[ROUNDS]
    if query.total > 0.0:
        return float(min(query.rate * ticks, query.total * min(1.0, ticks / query.horizon)))
    return float(query.rate * ticks)


def boosted(state: Vector, labels: float, ticks: float) -> None:
    """Spend ``labels`` earlier, to be saved again over the next ``ticks``."""
    state[BOOST] += labels
    state[REPAY] += labels / ticks


def most_asked(query: Any, ticks: float) -> float:
    """The most labels that a budget asks for in the first so many ticks."""
    most = query.rate * ticks + settled(query)[2] / 2.0
    return float(round(min(most, query.total) if query.total > 0.0 else most, 6))


def is_possible(state: Vector) -> bool:
    """Whether an account can be in this state."""
    return bool(
        abs(state[SHIFT]) <= LARGEST_SHIFT
        and min(state[BOOST], state[REPAY], state[CROWD]) >= 0.0
        and state[FIRST] <= state[LAST]
        and 0.0 <= state[BLIND] <= state[ROUNDS]
    )
