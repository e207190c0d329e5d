"""Rows of many models of any rule, one after the other: questions, and labels that come later.

A model is cut out of its stack once for all of its rows. As in :mod:`lasec.kernel.fleet`, rows are
grouped by model first.

Whatever is written is written by the functions that the loops call: numba would take an entry of an
unmanaged array that nothing in the same function reads for a dead one, where it inlines a call.

A rule may have work between two rows that is not compiled, such as letting its state grow. Then the
loops stop after the label that made it due, and say where to go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lasec.kernel.chunk import entry, row_of
from lasec.kernel.dispatch import compiled, is_due, margin_at, note_row
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
def note_question(stack: ModelStack, k: int, out: Answers, i: int, question: Asked) -> None:
    """Write down a question whose label comes later, if it is asked."""
    note(stack, k, out, i, (question, False, False))
    stack.waiting[k] += question.asked


@compiled
def note_step(
    stack: ModelStack, k: int, out: Answers, i: int, done: tuple[Asked, bool, bool], y: float
) -> None:
    """Write down a question and what came of its label, unless that is not known."""
    note(stack, k, out, i, done)
    out.learned[i] = done[0].asked and not np.isnan(y)
    stack.told[k] += out.learned[i]
    stack.updates[k] += done[2]


@compiled
def answer(
    rule: Rule[Any], state: Any, stack: ModelStack, k: int, requests: Requests, i: int,
    mistakes_only: bool, out: Answers,
) -> None:  # fmt: skip
    """Learn the label in row ``i``, of model ``k``, unless its row was not asked about after all.

    A label that nobody asked for is a step of its own.
    """
    x, y = row_of(requests.X, i), requests.y[i]
    after, given = requests.after[i], requests.tickets[i]
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
    mistakes_only: bool, ahead: Lookahead, out: Answers, place: int, begin: int,
) -> tuple[int, int]:  # fmt: skip
    """Ask where y is 0, and learn the label where it is not, in the order of the rows.

    Goes on with the model at ``place`` among ``models`` and the row ``begin``. Gives the place of
    the model that must be renewed first, and its next row; or the number of models.
    """
    stack, requests, models = unmanaged(stack), unmanaged(requests), unmanaged(models)
    ahead, out = unmanaged(ahead), unmanaged(out)
    X, y, order, begins = requests.X, requests.y, requests.order, requests.begins
    for m in range(place, models.size):
        k = models[m]
        state, memory = member(stack.state, k), stack.memory[k]
        first = last = max(begin, begins[k])  # rows from first to last - 1 were predicted together
        for at in range(first, begins[k + 1]):
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
                        learnable(rule, state, row_of(X, i)),
                        margin_at(rule, state, row_of(X, i), turn.ticket + 1),
                    )
                    question = ask(query, memory, fine, said, turn)
                if question.fine:
                    note_row(rule, state, row_of(X, i))
                note_question(stack, k, out, i, question)
                continue
            answer(rule, state, stack, k, requests, i, mistakes_only, out)
            if out.updated[i] and is_due(rule, state):
                return m, at + 1
    return models.size, 0


def run_models(
    rule: Rule[Any], query: Query, stack: ModelStack, models: Counter, requests: Requests,
    mistakes_only: bool, out: Answers, place: int, begin: int,
) -> tuple[int, int]:  # fmt: skip
    """Ask and, where asked, tell at once, for each row; a label that is NaN is not known.

    The last two arguments, and what is given back, are those of :func:`serve_share`.
    """
    stack, requests = unmanaged(stack), unmanaged(requests)
    models, out = unmanaged(models), unmanaged(out)
    for m in range(place, models.size):
        k = models[m]
        state, memory = member(stack.state, k), stack.memory[k]
        for at in range(max(begin, requests.begins[k]), requests.begins[k + 1]):
            i = requests.order[at]
            y, turn = requests.y[i], turn_of(stack, k, requests, i)
            x = row_of(requests.X, i)
            done = play(rule, query, state, memory, x, y, turn, mistakes_only)
            note_step(stack, k, out, i, done, y)
            if done[2] and is_due(rule, state):
                return m, at + 1
    return models.size, 0
