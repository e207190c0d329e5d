"""One round, and a chunk of rounds, row by row, in compiled code.

One label shrinks the variance along x by up to the factor 1/(1 + strain), where the strain is
``|x|^2`` times the largest variance of any weight (less where drift keeps the variance up). Above a
limit that is more than the precision can carry beside the other directions, and the covariance
could lose its positive definiteness: such a row is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from lasec.kernel.dispatch import (
    chance,
    compiled,
    margin_at,
    spend,
    squared_norm,
    strain,
    update_at,
)
from lasec.kernel.philox import draw
from lasec.kernel.rounds import Coins, Columns, largest_entry, limit, toss
from lasec.rules.gaussian import largest_variance
from lasec.types import Context, Margin, Query, Rule, Vector


def largest(state: Any) -> float:
    """The largest variance of any weight; zero where a state has no covariance."""
    return largest_variance(state.cov) if hasattr(state, "cov") else 0.0


@overload(largest, strict=False)
def _largest(state: Any) -> Any:
    if "cov" in state.fields:
        return lambda state: largest_variance(state.cov)
    return lambda state: 0.0


@compiled
def bearable(rule: Rule[Any], state: Any, x: Vector) -> bool:
    """Whether a label at ``x`` is one that the precision can carry."""
    return strain(rule, squared_norm(rule, x), largest(state)) <= limit(x)


@compiled
def sound(x: Vector) -> bool:
    """Whether every entry of ``x`` is finite and of a usable size."""
    most, fine = largest_entry(x), True
    for value in x:
        fine = fine and abs(value) <= most
    return fine


@compiled
def decide(
    query: Query, seen: Margin, memory: Vector, seed: np.uint64, ticket: int, coin: float,
    time: float, waiting: int,
) -> tuple[float, bool]:  # fmt: skip
    """The probability of asking about a row, and whether to ask; the query takes note of it."""
    now = Context(ticket + 1, time, waiting)
    p = chance(query, seen, memory, now)
    tossed = coin if coin >= 0.0 else draw(seed, np.uint64(ticket))[0]
    spend(query, memory, tossed < p, now)
    return p, tossed < p


def ask_row(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, x: Vector, seed: np.uint64,
    ticket: int, coin: float, time: float, waiting: int,
) -> tuple[bool, float, float, float, float, bool]:  # fmt: skip
    """Whether the row is fine, raw margin, margin, variance, probability of asking, whether to ask.

    ``time`` is the event time, ``waiting`` the number of open questions. ``coin`` is used if it is
    not negative; else the one of the seed and the ticket. Of the arrays only ``memory``, which is
    the query's, is written.
    """
    if not sound(x) or not bearable(rule, state, x):
        return False, 0.0, 0.0, 0.0, 0.0, False
    seen = margin_at(rule, state, x, ticket + 1)
    p, asked = decide(query, seen, memory, seed, ticket, coin, time, waiting)
    return True, seen.raw, seen.margin, seen.variance, p, asked


def tell_row(
    rule: Rule[Any], state: Any, x: Vector, y: float, seed: np.uint64, ticket: int,
    mistakes_only: bool,
) -> tuple[bool, bool, bool]:  # fmt: skip
    """Learn one label; gives whether it was a mistake, was to be used, and could be used."""
    mistake = (margin_at(rule, state, x, ticket + 1).raw >= 0.0) != (y > 0.0)
    wanted = mistake or not mistakes_only
    usable = bearable(rule, state, x)
    if wanted and usable:
        update_at(rule, state, x, y, draw(seed, np.uint64(ticket))[1], ticket + 1)
    return mistake, wanted, usable


def run_rows(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, X: NDArray[Any], y: NDArray[Any],
    coins: Coins, times: Vector, waiting: int, mistakes_only: bool, out: Columns,
) -> int:  # fmt: skip
    """Ask and, where asked, tell at once, for each row of ``X``; a row to refuse, or -1.

    ``times`` are the event times of the rows; where it is empty, the rounds are taken for them.
    ``waiting`` is the number of questions that were open before and stay so.
    """
    given, seed, first = coins
    for i in range(X.shape[0]):
        if not sound(X[i]) or not bearable(rule, state, X[i]):
            return i
        t = first + i + 1
        seen = margin_at(rule, state, X[i], t)
        now = Context(t, times[i] if times.size else float(t), waiting)
        p = chance(query, seen, memory, now)
        positive, asked = seen.raw >= 0.0, p >= 1.0 or toss(given, seed, first, i) < p
        spend(query, memory, asked, now)
        mistake = positive != (y[i] > 0.0)
        updated = asked and (mistake or not mistakes_only)
        if updated:
            update_at(rule, state, X[i], y[i], draw(seed, np.uint64(first + i))[1], t)
        out.label[i] = 1 if positive else -1
        out.margin[i], out.variance[i], out.propensity[i] = seen.margin, seen.variance, p
        out.asked[i], out.mistake[i], out.updated[i] = asked, mistake, updated
    return -1


def look_rows(rule: Rule[Any], state: Any, X: NDArray[Any], t: int, out: Vector) -> None:
    """What the model says about each row in round t."""
    for i in range(X.shape[0]):
        out[i] = margin_at(rule, state, X[i], t).margin
