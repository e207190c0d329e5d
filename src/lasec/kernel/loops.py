"""The loops over rows, which know neither rules nor queries.

They call functions of one signature each (:mod:`lasec.kernel.functions`), given by their addresses.
Each is compiled once, for an argument that is a NamedTuple of this module. A loop gives ``FAILED``
where a function did; then ``seen[AT]`` is the row.

One label shrinks the variance along x by up to the factor 1/(1 + c), where c, the conditioning, is
``|x|^2`` times the largest variance of any weight (less where drift keeps the variance up). Beyond
the conditioning limit the covariance could lose its positive definiteness: such a row is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.calls import call_decide, call_learn, call_look, call_note
from lasec.kernel.philox import draw
from lasec.kernel.places import ASKED, CHANCE, FAILED, FINE, LABEL, LEAD, PLACES, SHOWN, VARIANCE
from lasec.types import Counter, Matrix, Vector

Flags = NDArray[np.bool_]

AT = PLACES  # in which row a function failed
ROOM = PLACES + 1
NO_NUMBERS: Vector = np.empty(0)


class Rows(NamedTuple):
    """Where rows lie: so many bytes apart, each of ``width`` entries, or of pairs from ``starts``.

    ``kept`` holds the array or the pairs.
    """

    address: int
    stride: int
    width: int
    starts: Counter
    total: int


class Model(NamedTuple):
    """The addresses of a rule's functions, and of the handle of its parameters and state."""

    look: Any
    learn: Any
    note: Any
    handle: int


class Query(NamedTuple):
    """The address of a query's function, and of the handle of its parameters and memory."""

    decide: Any
    handle: int


class Turns(NamedTuple):
    """The places of rows in the stream of their model, of whose tickets ``first`` is the first.

    ``draws`` are the queries' random draws; where it is empty they come from the seed and the
    tickets. ``times`` are event times; where it is empty, rows are taken for them. ``waiting``
    counts the questions that were open before and stay so.
    """

    seed: np.uint64
    first: int
    draws: Vector
    times: Vector
    waiting: int


class Columns(NamedTuple):
    """What a chunk of rows leaves behind, an entry a row: the columns of ``Records``."""

    label: NDArray[np.int16]
    margin: Vector
    variance: Vector
    propensity: Vector
    asked: Flags
    mistake: Flags
    updated: Flags

    @classmethod
    def empty(cls, count: int) -> Columns:
        """Columns for ``count`` rows, not yet written."""
        margin, variance, propensity = np.empty((3, count))
        asked, mistake, updated = np.empty((3, count), dtype=np.bool_)
        label = np.empty(count, dtype=np.int16)
        return cls(label, margin, variance, propensity, asked, mistake, updated)


class Scratch(NamedTuple):
    """Room for what is seen of a row, and where that is."""

    seen: Vector
    address: int


class Play(NamedTuple):
    """What :func:`run_rows` and :func:`ask_rows` take."""

    model: Model
    query: Query
    rows: Rows
    turns: Turns
    y: Vector
    mistakes_only: bool
    begin: int
    out: Columns
    scratch: Scratch


class Sight(NamedTuple):
    """What :func:`look_rows` takes: row i is that of step ``t`` + i ``step``."""

    model: Model
    rows: Rows
    t: int
    step: int
    out: Matrix
    scratch: Scratch


class One(NamedTuple):
    """What :func:`ask_row` and :func:`tell_row` take: a row, and its place in the stream.

    ``drawn`` is the query's draw, or negative for the one of the seed and the ticket.
    """

    model: Model
    query: Query
    row: int
    n: int
    seed: np.uint64
    ticket: int
    drawn: float
    time: float
    waiting: int
    y: float
    mistakes_only: bool
    scratch: Scratch


def place(rows: Rows, i: int) -> tuple[int, int]:
    """Where row i begins, and how many entries it has."""
    if rows.starts.size:
        begin = rows.starts[i]
        return rows.address + begin * rows.stride, rows.starts[i + 1] - begin
    return rows.address + i * rows.stride, rows.width


def entry(values: Vector, i: int, otherwise: float) -> float:
    """The i-th of the values, if there are any."""
    return values[i] if values.size else otherwise


def decide(query: Query, turns: Turns, i: int, scratch: Scratch, waiting: int) -> int:
    """Decide about row i, of which the scratch tells."""
    ticket = turns.first + i
    drawn = entry(turns.draws, i, -1.0)
    if drawn < 0.0:
        drawn = draw(turns.seed, np.uint64(ticket))[0]
    time = entry(turns.times, i, ticket + 1.0)
    return call_decide(query.decide, query.handle, scratch.address, drawn, ticket, time, waiting)


def write(out: Any, i: int, seen: Vector, mistake: bool, updated: bool) -> None:
    """Put what was seen and decided into row i of some columns.

    A function of its own: numba takes writes to such an array, which nothing reads, for dead ones
    where it inlines a call beside them.
    """
    out.mistake[i], out.updated[i] = mistake, updated
    out.label[i] = int(seen[LABEL])
    out.margin[i], out.variance[i] = seen[SHOWN], seen[VARIANCE]
    out.propensity[i], out.asked[i] = seen[CHANCE], seen[ASKED] > 0.0


def run_rows(play: Play) -> int:
    """Ask and, where asked, tell at once, for the rows from ``begin`` on.

    A label that is NaN is not known: the question goes unanswered. Gives the row that comes next;
    if it is not the end, the rule has something to do before it. Where row i is refused: -1 - i.
    """
    model, turns, out, (seen, here) = play.model, play.turns, play.out, play.scratch
    for i in range(play.begin, play.rows.total):
        row, n = place(play.rows, i)
        t, y = turns.first + i + 1, play.y[i]
        seen[AT] = i
        if call_look(model.look, model.handle, row, n, t, here) < 0:
            return FAILED
        if not seen[FINE] > 0.0:
            return -1 - i
        if decide(play.query, turns, i, play.scratch, turns.waiting) < 0:
            return FAILED
        if call_note(model.note, model.handle, row, n) < 0:
            return FAILED
        known, asked = y == y, seen[ASKED] > 0.0  # noqa: PLR0124, NaN is not known
        mistake = known and seen[LABEL] != y
        updated = asked and known and (mistake or not play.mistakes_only)
        write(out, i, seen, mistake, updated)
        if updated:
            own = draw(turns.seed, np.uint64(t - 1))[1]
            due = call_learn(model.learn, model.handle, row, n, y, own, t)
            if due != 0:
                return i + 1 if due > 0 else FAILED
    return play.rows.total


def ask_rows(play: Play) -> int:
    """Ask about each row; where one is refused, nothing is written, and -1 - i is given."""
    model, turns, out, (seen, here) = play.model, play.turns, play.out, play.scratch
    for i in range(play.rows.total):
        row, n = place(play.rows, i)
        seen[AT] = i
        if call_look(model.look, model.handle, row, n, turns.first + i + 1, here) < 0:
            return FAILED
        if not seen[FINE] > 0.0:
            return -1 - i
    waiting = turns.waiting
    for i in range(play.rows.total):
        row, n = place(play.rows, i)
        seen[AT] = i
        if call_look(model.look, model.handle, row, n, turns.first + i + 1, here) < 0:
            return FAILED
        if decide(play.query, turns, i, play.scratch, waiting) < 0:
            return FAILED
        if call_note(model.note, model.handle, row, n) < 0:
            return FAILED
        write(out, i, seen, False, False)
        waiting += seen[ASKED] > 0.0
    return play.rows.total


def ask_row(one: One) -> int:
    """Ask about one row; of a row that is not fine, the prediction alone."""
    model, query, (seen, here) = one.model, one.query, one.scratch
    seen[AT] = 0
    seen[CHANCE], seen[ASKED] = np.nan, 0.0
    if call_look(model.look, model.handle, one.row, one.n, one.ticket + 1, here) < 0:
        return FAILED
    if not seen[FINE] > 0.0:
        seen[SHOWN] = seen[VARIANCE] = np.nan
        return 0
    drawn = one.drawn if one.drawn >= 0.0 else draw(one.seed, np.uint64(one.ticket))[0]
    said = call_decide(query.decide, query.handle, here, drawn, one.ticket, one.time, one.waiting)
    noted = call_note(model.note, model.handle, one.row, one.n)
    return FAILED if said < 0 or noted < 0 else 0


def tell_row(one: One) -> int:
    """Learn one label; 1 where it was to be used, plus 2 where it can be."""
    model, (seen, here) = one.model, one.scratch
    seen[AT] = 0
    return learned(
        model, one.row, one.n, one.y, one.seed, one.ticket, one.mistakes_only, seen, here
    )


def learned(
    model: Model, row: int, n: int, y: float, seed: np.uint64, ticket: int, mistakes_only: bool,
    seen: Vector, here: int,
) -> int:  # fmt: skip
    """What :func:`tell_row` does; plus 4 where the rule has something to do before the next row."""
    if call_look(model.look, model.handle, row, n, ticket + 1, here) < 0:
        return FAILED
    wanted, usable = seen[LABEL] != y or not mistakes_only, seen[FINE] > 0.0
    if not (wanted and usable):
        return (1 if wanted else 0) + (2 if usable else 0)
    own = draw(seed, np.uint64(ticket))[1]
    due = call_learn(model.learn, model.handle, row, n, y, own, ticket + 1)
    return FAILED if due < 0 else 3 + 4 * due


def look_rows(sight: Sight) -> int:
    """Whether rows are fine, labels, margins, variances and leads; nothing is written."""
    model, out, (seen, here) = sight.model, sight.out, sight.scratch
    for i in range(sight.rows.total):
        row, n = place(sight.rows, i)
        seen[AT] = i
        if call_look(model.look, model.handle, row, n, sight.t + i * sight.step, here) < 0:
            return FAILED
        for j in range(LEAD + 1):
            out[i, j] = seen[j]
    return sight.rows.total


def look_classes(sight: Sight) -> int:
    """The probability of each class for each row; ``model.look`` is the rule's ``classes``."""
    for i in range(sight.rows.total):
        row, n = place(sight.rows, i)
        there = sight.step + i * 8 * sight.out.shape[1]
        sight.scratch.seen[AT] = i
        if call_look(sight.model.look, sight.model.handle, row, n, sight.t, there) < 0:
            return FAILED
    return sight.rows.total


def admit_rows(sight: Sight) -> int:
    """Let a sparse rule make a place for the columns of rows from ``t`` on.

    ``model.note`` is the rule's ``admit``. Gives the row before which its state must grow, or the
    number of rows.
    """
    for i in range(sight.t, sight.rows.total):
        row, n = place(sight.rows, i)
        sight.scratch.seen[AT] = i
        admitted = call_note(sight.model.note, sight.model.handle, row, n)
        if admitted <= 0:
            return i if admitted == 0 else FAILED
    return sight.rows.total
