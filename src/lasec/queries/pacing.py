"""How a budget moves the odds of asking, so that the labels spent keep to its plan.

The probability is proportional to that of the query inside; a shift c holds its mean, and the
surplus s of the account pulls it back where chance spent too many or too few::

    wanted = o / (1 + o),   o = p r/(1 - r) exp(c + pull(s))   p: the inner chance, r: labels a row
    c      <- c + 0.1 g ((r - e)/(1 - e) - wanted)             both at s = 0, g = min(1, 0.02 / r)
    pull(s) = min(0.3, g) s, between -4 and 4                  by time, g = 10 / labels in a window
    P(ask) = e + (1 - e) wanted,   e = a min(r, 0.25) exp(pull(min(0, s + 6)))     a: the ``audit``

and e falls with the square of the last eight tokens; of an adaptive budget it has s + 18, so that
it does not follow what is repaid. c follows probabilities, not draws, so that it hardly moves while
the margins stay alike. The labels of a window vary by chance as they would if
each row were asked on its own; over all rows the count stays within a few labels of the plan.
"""

from __future__ import annotations

import math
from typing import Any

from lasec.queries.account import RESERVE, SHIFT, Purse
from lasec.types import Vector

__all__ = ["audited", "ease", "held_back", "pull", "room_for", "step", "wanted"]

CERTAIN = 1.0 - 1e-6
MANY, DAILY, MOST, FOLLOW, HARDEST = 0.02, 10.0, 0.3, 0.1, 4.0
FREE, ADAPTIVE = 6.0, 18.0  # labels that the audit lets be overspent, also of an adaptive budget
AUDITED, LEFT = 0.25, 0.2


def ease(share: float) -> float:
    """How much slower a budget moves with each row, where labels are many."""
    return float(min(1.0, MANY / max(share, 1e-9)))


def pull(query: Any, account: Purse, s: float) -> float:
    """How a budget pulls at a surplus of s labels; below zero where they are overspent."""
    gain = ease(account.share)
    if query.timed:
        gain = DAILY / max(account.pace * query.window, 1e-9)
    return float(min(max(min(gain, MOST) * s, -HARDEST), HARDEST))


def wanted(query: Any, p: float, state: Vector, account: Purse, s: float) -> float:
    """The probability that pacing gives a row with the inner chance p at a surplus of s labels."""
    r = min(account.share, CERTAIN)
    u = state[SHIFT] + pull(query, account, s)
    odds = p * r / (1.0 - r) * math.exp(u)
    return float(odds / (1.0 + odds))


def audited(query: Any, account: Purse, s: float, room: float) -> float:
    """The minimum query probability at a surplus of s labels, with so much room for questions."""
    free = FREE if query.adapt == 0.0 else ADAPTIVE
    overspent = pull(query, account, min(0.0, s + free))
    last = min(1.0, account.tokens / RESERVE) ** 2
    least = query.audit * min(account.share, AUDITED) * math.exp(overspent) * last
    return float(least * (LEFT + (1.0 - LEFT) * room))


def held_back(query: Any, account: Purse, waiting: int) -> tuple[float, float]:
    """What the last tokens leave of the probability, and what open questions leave of it."""
    last = min(1.0, max(0.0, account.tokens / min(RESERVE, account.burst / 4.0) - 1.0))
    return last, room_for(waiting, query.max_open)


def room_for(waiting: float, most: int) -> float:
    """What so many open questions leave of a probability, where there are to be at most ``most``.

    Where ``most`` is 0 there may be any number.
    """
    if most == 0:
        return 1.0
    return float(min(1.0, max(0.0, 2.0 - 2.0 * waiting / most)))


def step(query: Any, p: float, state: Vector, account: Purse) -> float:
    """By how much the shift moves in a row."""
    least = query.audit * min(account.share, AUDITED)
    aim = max(0.0, account.share - least) / (1.0 - least)
    follow = FOLLOW * ease(account.share)
    return float(follow * (aim - wanted(query, p, state, account, 0.0)))
