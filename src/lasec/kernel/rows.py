"""One step of one row, written once; every compiled loop over rows is made of it.

A row predicts, decides whether to query (:func:`ask`) and, where the label is to be used, learns
(:func:`learn`). :func:`play` is all of it, for labels that are known at once.

One label shrinks the variance along x by up to the factor 1/(1 + c), where c, the conditioning, is
``|x|^2`` times the largest variance of any weight (less where drift keeps the variance up). Beyond
the conditioning limit the covariance could lose its positive definiteness: such a row is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lasec.kernel.chunk import LARGEST_STRAIN, Chunk, Columns, count, entry, row_of
from lasec.kernel.dispatch import (
    admit_row,
    chance,
    compiled,
    conditioning,
    is_due,
    margin_at,
    note_row,
    probabilities,
    spend,
    squared_norm,
    update_at,
    values_of,
)
from lasec.kernel.lean import overload
from lasec.kernel.philox import draw
from lasec.kernel.unmanaged import unmanaged
from lasec.rules.gaussian import largest_of_all, largest_variance
from lasec.types import Context, Margin, Matrix, Query, Rule, Vector
from lasec.validation import LARGEST_ENTRY


class Turn(NamedTuple):
    """A row's place in the stream of its model.

    ``draw`` is the query's draw, or negative for the one of the seed and the ticket; ``time`` is
    the event time, and ``waiting`` the number of open questions.
    """

    seed: np.uint64
    ticket: int
    draw: float
    time: float
    waiting: int


class Look(NamedTuple):
    """What a model says of rows, a column each; ``lead`` is what a query decides on.

    ``margin`` is the one that is shown. Of a row that is not ``fine``, no label can be learned.
    """

    fine: Vector
    label: Vector
    margin: Vector
    variance: Vector
    lead: Vector


class Asked(NamedTuple):
    """The prediction of a row and the decision; of a row that is not ``fine``, the prediction."""

    fine: bool
    label: float
    margin: float
    variance: float
    propensity: float
    asked: bool


def largest(state: Any) -> float:
    """The largest variance of any weight; zero where a state has no covariance."""
    if not hasattr(state, "cov"):
        return 0.0
    return largest_variance(state.cov) if state.cov.ndim == 2 else largest_of_all(state.cov)


@overload(largest)
def _largest(state: Any) -> Any:
    if "cov" not in state.fields:
        return lambda state: 0.0
    if state.types[state.fields.index("cov")].ndim == 2:
        return lambda state: largest_variance(state.cov)
    return lambda state: largest_of_all(state.cov)


def label_of(seen: Any) -> float:
    """The prediction: the sign of the raw margin, or the class where a rule names one."""
    return float(seen.label)


@overload(label_of)
def _label_of(seen: Any) -> Any:
    if "label" in seen.fields:
        return lambda seen: seen.label
    return lambda seen: 1.0 if seen.raw >= 0.0 else -1.0


def margin_of(seen: Any) -> float:
    """The margin that is shown: the one that the query decides on, or P(label) - P(another)."""
    return float(seen.raw if "label" in seen._fields else seen.margin)


@overload(margin_of)
def _margin_of(seen: Any) -> Any:
    if "label" in seen.fields:
        return lambda seen: np.float64(seen.raw)
    return lambda seen: np.float64(seen.margin)


@compiled
def learnable(rule: Rule[Any], state: Any, x: Vector) -> bool:
    """Whether a label at ``x`` stays within the conditioning limit."""
    return conditioning(rule, squared_norm(rule, x), largest(state)) <= LARGEST_STRAIN


@compiled
def sound(x: Vector) -> bool:
    """Whether every entry of ``x`` is finite and of a usable size."""
    fine = True
    for value in values_of(x):
        fine = fine and abs(value) <= LARGEST_ENTRY
    return fine


@compiled
def decide(query: Query, memory: Vector, seen: Margin, turn: Turn) -> tuple[float, bool]:
    """The probability of asking about a row, and whether to ask; the query takes note of it."""
    now = Context(turn.ticket + 1, turn.time, turn.waiting)
    p = chance(query, seen, memory, now)
    asked = p >= 1.0
    if not asked:
        asked = (turn.draw if turn.draw >= 0.0 else draw(turn.seed, np.uint64(turn.ticket))[0]) < p
    spend(query, seen, memory, asked, now)
    return p, asked


@compiled
def ask(query: Query, memory: Vector, fine: bool, seen: Margin, turn: Turn) -> Asked:
    """Decide about a row, unless it is beyond the conditioning limit and must not be learned."""
    margin, variance, p, asked = np.nan, np.nan, np.nan, False
    if fine:
        p, asked = decide(query, memory, seen, turn)
        margin, variance = margin_of(seen), np.float64(seen.variance)
    return Asked(fine, label_of(seen), margin, variance, p, asked)


@compiled
def learn(rule: Rule[Any], state: Any, x: Vector, y: float, seed: np.uint64, ticket: int) -> None:
    """Learn a label, with the rule's own draw of the row."""
    update_at(rule, state, x, y, draw(seed, np.uint64(ticket))[1], ticket + 1)


@compiled
def play(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, x: Vector, y: float, turn: Turn,
    mistakes_only: bool,
) -> tuple[Asked, bool, bool]:  # fmt: skip
    """Ask about a row and, where asked, tell its label at once: mistake and update.

    A label that is NaN is not known: the question goes unanswered.
    """
    seen = margin_at(rule, state, x, turn.ticket + 1)
    question = ask(query, memory, learnable(rule, state, x), seen, turn)
    if question.fine:
        note_row(rule, state, x)
    known = y == y  # noqa: PLR0124, NaN is not
    mistake = known and question.label != y
    updated = question.asked and known and (mistake or not mistakes_only)
    if updated:
        learn(rule, state, x, y, turn.seed, turn.ticket)
    return question, mistake, updated


@compiled
def write(out: Any, i: int, done: tuple[Asked, bool, bool]) -> None:
    """Put a question, whether it was a mistake, and used, into row ``i`` of some columns."""
    question, mistake, updated = done
    out.label[i] = question.label
    out.margin[i], out.variance[i] = question.margin, question.variance
    out.propensity[i] = question.propensity
    out.asked[i], out.mistake[i], out.updated[i] = question.asked, mistake, updated


def ask_row(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, x: Vector, seed: np.uint64,
    ticket: int, drawn: float, time: float, waiting: int,
) -> tuple[bool, float, float, float, float, bool]:  # fmt: skip
    """Whether the row is fine, label, margin, variance, probability of asking, whether to ask.

    The last five arguments are those of :class:`Turn`. ``memory``, which is the query's, is
    written; of the state, only what the rule notes of a row.
    """
    if not sound(x):
        return False, 0.0, 0.0, 0.0, 0.0, False
    seen = margin_at(rule, state, x, ticket + 1)
    turn = Turn(seed, ticket, drawn, time, waiting)
    fine, label, margin, variance, p, asked = ask(
        query, memory, learnable(rule, state, x), seen, turn
    )
    if fine:
        note_row(rule, state, x)
    return fine, label, margin, variance, p, asked


def ask_rows(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, chunk: Chunk, out: Columns
) -> int:
    """:func:`ask_row` for each row of a chunk; the first row to refuse, or -1.

    Where one is refused, nothing is written.
    """
    state, memory, out = unmanaged(state), unmanaged(memory), unmanaged(out)
    X, _, seed, first, draws, times, waiting = unmanaged(chunk)
    for i in range(count(X)):
        x = row_of(X, i)
        if not (sound(x) and learnable(rule, state, x)):
            return i
    for i in range(count(X)):
        ticket = first + i
        turn = Turn(seed, ticket, entry(draws, i, -1.0), entry(times, i, ticket + 1.0), waiting)
        seen = margin_at(rule, state, row_of(X, i), ticket + 1)
        question = ask(query, memory, True, seen, turn)
        write(out, i, (question, False, False))
        note_row(rule, state, row_of(X, i))
        waiting += question.asked
    return -1


def note_rows(rule: Rule[Any], state: Any, X: Any) -> None:
    """Let the rule count rows that are asked about, as :func:`ask_row` does."""
    for i in range(count(X)):
        note_row(rule, state, row_of(X, i))


def admit_rows(rule: Any, state: Any, X: Any, begin: int) -> int:
    """Let a sparse rule make a place for the columns of rows from ``begin`` on.

    Gives the row before which its state must grow, or the number of rows.
    """
    for i in range(begin, count(X)):
        if not admit_row(rule, state, row_of(X, i)):
            return i
    return count(X)


def tell_row(
    rule: Rule[Any], state: Any, x: Vector, y: float, seed: np.uint64, ticket: int,
    mistakes_only: bool,
) -> tuple[float, bool, bool]:  # fmt: skip
    """Learn one label; gives the prediction, whether it was to be used, and could be used."""
    predicted = label_of(margin_at(rule, state, x, ticket + 1))
    wanted = predicted != y or not mistakes_only
    usable = learnable(rule, state, x)
    if wanted and usable:
        learn(rule, state, x, y, seed, ticket)
    return predicted, wanted, usable


def run_rows(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, chunk: Chunk, mistakes_only: bool,
    out: Columns, begin: int,
) -> tuple[int, bool]:  # fmt: skip
    """Ask and, where asked, tell at once, for the rows of a chunk from ``begin`` on.

    Gives the row that comes next, and whether it must be refused; if not, and if it is not the end,
    the rule's ``renew`` must be called before it.
    """
    state, memory, out = unmanaged(state), unmanaged(memory), unmanaged(out)
    X, y, seed, first, draws, times, waiting = unmanaged(chunk)
    for i in range(begin, count(X)):
        if not sound(row_of(X, i)):
            return i, True
        ticket = first + i
        turn = Turn(seed, ticket, entry(draws, i, -1.0), entry(times, i, ticket + 1.0), waiting)
        done = play(rule, query, state, memory, row_of(X, i), y[i], turn, mistakes_only)
        if not done[0].fine:
            return i, True
        write(out, i, done)
        if done[2] and is_due(rule, state):
            return i + 1, False
    return count(X), False


def look_rows(rule: Rule[Any], state: Any, X: Any, t: int, step: int, out: Matrix) -> None:
    """What is said of each row, in the columns of :class:`Look`; nothing is written.

    Row i is that of step ``t`` + i ``step``.
    """
    for i in range(count(X)):
        seen = margin_at(rule, state, row_of(X, i), t + i * step)
        out[i, 0] = 1.0 if learnable(rule, state, row_of(X, i)) else 0.0
        out[i, 1], out[i, 2] = label_of(seen), margin_of(seen)
        out[i, 3], out[i, 4] = seen.variance, seen.margin


def look_classes(rule: Rule[Any], state: Any, X: Any, t: int, out: Matrix) -> None:
    """The probability of each class for each row in step t."""
    for i in range(count(X)):
        probabilities(rule, state, row_of(X, i), t, out[i])
