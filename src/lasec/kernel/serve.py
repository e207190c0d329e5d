"""Rows of many models of any rule, one after the other: questions, and labels that come later.

Models are stacked: each array of the rule's state has one more axis, and a model is cut out of the
stack once for all of its rows. As in :mod:`lasec.kernel.fleet`, rows are grouped by model first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.ahead import Ahead, look_ahead
from lasec.kernel.borrow import lent, member
from lasec.kernel.dispatch import compiled, margin_at, update_at
from lasec.kernel.philox import draw
from lasec.kernel.rows import ask_row, decide, tell_row
from lasec.types import Counter, Margin, Matrix, Query, Rule, Vector

_ask, _tell = compiled(ask_row), compiled(tell_row)

Flags = NDArray[np.bool_]


class Crew(NamedTuple):
    """Many models of one kind: an entry of the first axis of each array is one model."""

    state: Any
    memory: Matrix
    seeds: NDArray[np.uint64]
    rounds: Counter
    asked: Counter
    told: Counter
    updates: Counter
    waiting: Counter


class Post(NamedTuple):
    """What came in, a row each, and where the rows of each model are (``order``, ``begins``).

    ``y`` is 0 where a row asks. ``after`` is the row whose question a label answers, or negative;
    then ``tickets`` tells its ticket. ``times`` and ``coins`` may be empty.
    """

    X: NDArray[Any]
    y: Vector
    tickets: Counter
    after: Counter
    times: Vector
    coins: Vector
    order: Counter
    begins: Counter


class Answers(NamedTuple):
    """What came of each row."""

    label: NDArray[np.int8]
    margin: Vector
    variance: Vector
    propensity: Vector
    ticket: Counter
    asked: Flags
    mistake: Flags
    updated: Flags
    learned: Flags
    refused: Flags

    @classmethod
    def empty(cls, count: int) -> Answers:
        """Answers to ``count`` rows, as if nothing had been asked or learned."""
        margin, variance, propensity = np.full((3, count), np.nan)
        asked, mistake, updated, learned, refused = np.zeros((5, count), dtype=np.bool_)
        label, ticket = np.zeros(count, dtype=np.int8), np.empty(count, dtype=np.int64)
        return cls(
            label, margin, variance, propensity, ticket, asked, mistake, updated, learned, refused
        )


@compiled
def question(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, x: Vector, seed: np.uint64,
    ticket: int, coin: float, time: float, waiting: int,
) -> tuple[bool, float, float, float, float, bool]:  # fmt: skip
    """As :func:`ask_row`, but of a row that is too large it gives the raw margin, and no more."""
    fine, raw, margin, variance, p, wanted = _ask(
        rule, query, state, memory, x, seed, ticket, coin, time, waiting
    )
    if not fine:
        raw = margin_at(rule, state, x, ticket + 1).raw
        margin = variance = p = np.nan
    return fine, raw, margin, variance, p, wanted


@compiled
def foreseen(
    query: Query, ahead: Ahead, i: int, memory: Vector, seed: np.uint64, ticket: int, coin: float,
    time: float, waiting: int,
) -> tuple[bool, float, float, float, float, bool]:  # fmt: skip
    """As :func:`question`, for the i-th of the rows that were looked at together."""
    raw = ahead.raw[i]
    if not ahead.fine[i]:
        return False, raw, np.nan, np.nan, np.nan, False
    seen = Margin(raw, ahead.variance[i], ahead.margin[i])
    p, wanted = decide(query, seen, memory, seed, ticket, coin, time, waiting)
    return True, raw, seen.margin, seen.variance, p, wanted


@compiled
def entry(values: Vector, i: int, otherwise: float) -> float:
    """The i-th of the values, if there are any."""
    return values[i] if values.size else otherwise


def serve_share(
    rule: Rule[Any], query: Query, crew: Crew, models: Counter, post: Post, mistakes_only: bool,
    ahead: Ahead, out: Answers,
) -> None:  # fmt: skip
    """Ask where y is 0, and learn the label where it is not, in the order of the rows."""
    stack, memories, seeds, rounds, asked, told, updates, waiting = lent(crew)
    X, y, tickets, after, times, coins, order, begins = lent(post)
    models, ahead, out = lent(models), lent(ahead), lent(out)
    for k in models:
        state, memory, seed = member(stack, k), memories[k], seeds[k]
        first = last = begins[k]  # the rows from first to last - 1 were looked at together
        for at in range(begins[k], begins[k + 1]):
            i = order[at]
            if y[i] == 0.0:
                ticket = rounds[k]
                coin, time = entry(coins, i, -1.0), entry(times, i, ticket + 1.0)
                if at >= last:
                    first = at
                    last = at + look_ahead(rule, state, X, y, order, at, begins[k + 1], ahead)
                if at < last:
                    fine, raw, margin, variance, p, wanted = foreseen(
                        query, ahead, at - first, memory, seed, ticket, coin, time, waiting[k]
                    )
                else:
                    fine, raw, margin, variance, p, wanted = question(
                        rule, query, state, memory, X[i], seed, ticket, coin, time, waiting[k]
                    )
                out.margin[i], out.variance[i], out.propensity[i] = margin, variance, p
                out.label[i] = 1 if raw >= 0.0 else -1
                out.ticket[i], out.asked[i], out.refused[i] = ticket, wanted, not fine
                rounds[k] += 1
                asked[k] += wanted
                waiting[k] += wanted
                continue
            ticket = tickets[i] if after[i] < 0 else out.ticket[after[i]]
            out.ticket[i] = ticket
            if after[i] >= 0 and not out.asked[after[i]]:
                continue
            mistake, wanted, usable = _tell(rule, state, X[i], y[i], seed, ticket, mistakes_only)
            learned = usable or not wanted
            out.label[i] = 1 if mistake != (y[i] > 0.0) else -1
            out.mistake[i], out.updated[i] = mistake, wanted and usable
            out.learned[i], out.refused[i] = learned, not learned
            told[k] += learned
            updates[k] += wanted and usable
            waiting[k] -= learned and waiting[k] > 0


def run_models(
    rule: Rule[Any], query: Query, crew: Crew, models: Counter, post: Post, mistakes_only: bool,
    out: Answers,
) -> None:  # fmt: skip
    """Ask and, where asked, tell at once, for each row; all labels are known."""
    stack, memories, seeds, rounds, asked, told, updates, waiting = lent(crew)
    X, y, _, _, times, coins, order, begins = lent(post)
    models, out = lent(models), lent(out)
    for k in models:
        state, memory, seed = member(stack, k), memories[k], seeds[k]
        for at in range(begins[k], begins[k + 1]):
            i, ticket = order[at], rounds[k]
            coin, time = entry(coins, i, -1.0), entry(times, i, ticket + 1.0)
            fine, raw, out.margin[i], out.variance[i], out.propensity[i], wanted = question(
                rule, query, state, memory, X[i], seed, ticket, coin, time, waiting[k]
            )
            mistake = (raw >= 0.0) != (y[i] > 0.0)
            updated = wanted and (mistake or not mistakes_only)
            if updated:
                chosen = draw(seed, np.uint64(ticket))[1]
                update_at(rule, state, X[i], y[i], chosen, ticket + 1)
            out.label[i], out.ticket[i] = 1 if raw >= 0.0 else -1, ticket
            out.asked[i], out.mistake[i], out.updated[i] = wanted, mistake, updated
            out.refused[i] = not fine
            rounds[k] += 1
            asked[k] += wanted
            told[k] += wanted
            updates[k] += updated
