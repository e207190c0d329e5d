"""Rows of many models of any rule in stacked arrays: questions, and labels that come later.

Rows are grouped by model, in the order in which they came, and a model is cut out of its stack once
for all of its rows. Models share nothing, so that shares of them can be served by several threads
at once, and the result does not depend on how many there are.

Whatever is written is written by the functions that the loop calls: numba would take an entry of an
unmanaged array that nothing in the same function reads for a dead one, where it inlines a call.

A rule may have work between two rows that is not compiled, such as letting its state grow. Then the
loop stops after the label that made it due, and says where to go on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.chunk import entry, row_of
from lasec.kernel.dispatch import compiled, is_due, margin_at, note_row
from lasec.kernel.rows import Asked, Turn, ask, learnable, sound, tell_row, write
from lasec.kernel.unmanaged import member, unmanaged
from lasec.types import UNASKED, Counter, Matrix, Query, Rule, Vector

Flags = NDArray[np.bool_]


class ModelStack(NamedTuple):
    """Many models of one kind: an entry of the first axis of each array is one model."""

    state: Any
    memory: Matrix
    seeds: NDArray[np.uint64]
    rows: Counter
    asked: Counter
    told: Counter
    updates: Counter
    waiting: Counter


class Requests(NamedTuple):
    """What came in, a row each, and where the rows of each model are (``order``, ``begins``).

    ``X`` is dense or sparse. ``y`` is 0 where a row asks. ``after`` is the row whose question a
    label answers, or negative; then ``tickets`` tells its ticket, or that nobody asked
    (``UNASKED``). ``times`` and ``draws`` may be empty.
    """

    X: Any
    y: Vector
    tickets: Counter
    after: Counter
    times: Vector
    draws: Vector
    order: Counter
    begins: Counter


class Answers(NamedTuple):
    """What came of each row; the first seven are the columns of a chunk."""

    label: NDArray[np.int16]
    margin: Vector
    variance: Vector
    propensity: Vector
    asked: Flags
    mistake: Flags
    updated: Flags
    ticket: Counter
    learned: Flags
    refused: Flags

    @classmethod
    def empty(cls, count: int) -> Answers:
        """Answers to ``count`` rows, as if nothing had been asked or learned."""
        margin, variance, propensity = np.full((3, count), np.nan)
        asked, mistake, updated, learned, refused = np.zeros((5, count), dtype=np.bool_)
        label, ticket = np.zeros(count, dtype=np.int16), np.empty(count, dtype=np.int64)
        return cls(
            label, margin, variance, propensity, asked, mistake, updated, ticket, learned, refused
        )


def sort_rows(keys: Counter, order: Counter, begins: Counter) -> None:
    """Sort rows by key, equal keys in the order in which they came.

    ``order[begins[k] : begins[k + 1]]`` are the rows of key k.
    """
    models = begins.size - 1
    begins[:] = 0
    for i in range(keys.size):
        begins[keys[i] + 1] += 1
    for k in range(models):
        begins[k + 1] += begins[k]
    for i in range(keys.size):
        order[begins[keys[i]]] = i
        begins[keys[i]] += 1
    for k in range(models, 0, -1):
        begins[k] = begins[k - 1]
    begins[0] = 0


def first_unsound(X: Matrix) -> int:
    """The first row with an entry that cannot be used, or -1."""
    X = unmanaged(X)
    for i in range(X.shape[0]):
        if not sound(X[i]):
            return i
    return -1


_tell = compiled(tell_row)


@compiled
def turn_of(stack: ModelStack, k: int, requests: Requests, i: int) -> Turn:
    """The place of row ``i`` in the stream of model ``k``, if it is the next one to ask."""
    ticket = stack.rows[k]
    given, time = entry(requests.draws, i, -1.0), entry(requests.times, i, ticket + 1.0)
    return Turn(stack.seeds[k], ticket, given, time, stack.waiting[k])


@compiled
def note(stack: ModelStack, k: int, out: Answers, i: int, question: Asked) -> None:
    """Write down the question in row ``i``, the next one of model ``k``, and count it."""
    write(out, i, (question, False, False))
    out.ticket[i], out.refused[i] = stack.rows[k], not question.fine
    stack.rows[k] += 1
    stack.asked[k] += question.asked
    stack.waiting[k] += question.asked


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
    mistakes_only: bool, out: Answers, place: int, begin: int,
) -> tuple[int, int]:  # fmt: skip
    """Ask where y is 0, and learn the label where it is not, in the order of the rows.

    Goes on with the model at ``place`` among ``models`` and the row ``begin``. Gives the place of
    the model that must be renewed first, and its next row; or the number of models.
    """
    stack, requests = unmanaged(stack), unmanaged(requests)
    models, out = unmanaged(models), unmanaged(out)
    for m in range(place, models.size):
        k = models[m]
        state, memory = member(stack.state, k), stack.memory[k]
        for at in range(max(begin, requests.begins[k]), requests.begins[k + 1]):
            i = requests.order[at]
            if requests.y[i] == 0.0:
                x, turn = row_of(requests.X, i), turn_of(stack, k, requests, i)
                said = margin_at(rule, state, x, turn.ticket + 1)
                question = ask(query, memory, learnable(rule, state, x), said, turn)
                if question.fine:
                    note_row(rule, state, x)
                note(stack, k, out, i, question)
                continue
            answer(rule, state, stack, k, requests, i, mistakes_only, out)
            if out.updated[i] and is_due(rule, state):
                return m, at + 1
    return models.size, 0
