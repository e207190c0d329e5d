"""Rows of many models of any rule, one after the other: questions, and labels that come later.

A model is cut out of its stack once for all of its rows. As in :mod:`lasec.kernel.fleet`, rows are
grouped by model first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.kernel.chunk import entry
from lasec.kernel.dispatch import compiled, margin_at, note_row
from lasec.kernel.lookahead import Lookahead, foreseen, look_ahead
from lasec.kernel.rows import Asked, Turn, ask, learnable, play, tell_row, write
from lasec.kernel.stack import Answers, ModelStack, Requests
from lasec.kernel.unmanaged import member, unmanaged
from lasec.types import UNASKED, Counter, Query, Rule

_tell = compiled(tell_row)


@compiled
def turn_of(stack: ModelStack, k: int, requests: Requests, i: int) -> Turn:
    """The place of row ``i`` in the stream of model ``k``, if it is the next one to ask."""
    ticket = stack.rows[k]
    given, time = entry(requests.draws, i, -1.0), entry(requests.times, i, ticket + 1.0)
    return Turn(stack.seeds[k], ticket, given, time, stack.waiting[k])


@compiled
def note(stack: ModelStack, k: int, out: Answers, i: int, done: tuple[Asked, bool, bool]) -> None:
    """Write down the question in row ``i``, the next one of model ``k``, and count it."""
    write(out, i, done)
    out.ticket[i], out.refused[i] = stack.rows[k], not done[0].fine
    stack.rows[k] += 1
    stack.asked[k] += done[0].asked


@compiled
def answer(
    rule: Rule[Any], state: Any, stack: ModelStack, k: int, requests: Requests, i: int,
    mistakes_only: bool, out: Answers,
) -> None:  # fmt: skip
    """Learn the label in row ``i``, of model ``k``, unless its row was not asked about after all.

    A label that nobody asked for is a step of its own.
    """
    x, y, after, given = requests.X[i], requests.y[i], requests.after[i], requests.tickets[i]
    asked = out.asked[after] if after >= 0 else given != UNASKED
    out.ticket[i] = out.ticket[after] if after >= 0 else given
    if not asked:
        if given != UNASKED:
            return
        out.ticket[i] = stack.rows[k]
        if learnable(rule, state, x):
            note_row(rule, state, x)
    predicted, wanted, usable = _tell(
        rule, state, x, y, stack.seeds[k], out.ticket[i], mistakes_only
    )
    learned = usable or not wanted
    out.label[i], out.mistake[i] = predicted, predicted != y
    out.updated[i] = wanted and usable
    out.learned[i], out.refused[i] = learned, not learned
    stack.told[k] += learned
    stack.updates[k] += wanted and usable
    if asked:
        stack.waiting[k] -= learned and stack.waiting[k] > 0
    else:
        stack.rows[k] += learned


def serve_share(
    rule: Rule[Any], query: Query, stack: ModelStack, models: Counter, requests: Requests,
    mistakes_only: bool, ahead: Lookahead, out: Answers,
) -> None:  # fmt: skip
    """Ask where y is 0, and learn the label where it is not, in the order of the rows."""
    stack, requests, models = unmanaged(stack), unmanaged(requests), unmanaged(models)
    ahead, out = unmanaged(ahead), unmanaged(out)
    X, y, order, begins = requests.X, requests.y, requests.order, requests.begins
    for k in models:
        state, memory = member(stack.state, k), stack.memory[k]
        first = last = begins[k]  # the rows from first to last - 1 were predicted together
        for at in range(begins[k], begins[k + 1]):
            i = order[at]
            if y[i] == 0.0:
                turn = turn_of(stack, k, requests, i)
                if at >= last:
                    first = at
                    last = at + look_ahead(rule, state, requests, at, begins[k + 1], ahead)
                if at < last:
                    fine, seen = ahead.fine[at - first], foreseen(ahead, at - first)
                    question = ask(query, memory, fine, seen, turn)
                else:
                    fine, said = (
                        learnable(rule, state, X[i]),
                        margin_at(rule, state, X[i], turn.ticket + 1),
                    )
                    question = ask(query, memory, fine, said, turn)
                if question.fine:
                    note_row(rule, state, X[i])
                note(stack, k, out, i, (question, False, False))
                stack.waiting[k] += question.asked
                continue
            answer(rule, state, stack, k, requests, i, mistakes_only, out)


def run_models(
    rule: Rule[Any], query: Query, stack: ModelStack, models: Counter, requests: Requests,
    mistakes_only: bool, out: Answers,
) -> None:  # fmt: skip
    """Ask and, where asked, tell at once, for each row; a label that is NaN is not known."""
    stack, requests = unmanaged(stack), unmanaged(requests)
    models, out = unmanaged(models), unmanaged(out)
    for k in models:
        state, memory = member(stack.state, k), stack.memory[k]
        for at in range(requests.begins[k], requests.begins[k + 1]):
            i = requests.order[at]
            x, y, turn = requests.X[i], requests.y[i], turn_of(stack, k, requests, i)
            done = play(rule, query, state, memory, x, y, turn, mistakes_only)
            note(stack, k, out, i, done)
            out.learned[i] = done[0].asked and not np.isnan(y)
            stack.told[k] += out.learned[i]
            stack.updates[k] += done[2]
