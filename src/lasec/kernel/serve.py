"""Rows of many models of any rule in stacked arrays: questions, and labels that come later.

Rows are grouped by model, in the order in which they came; a scratch table becomes that of a model
once for all of its rows. Models share nothing, so that shares of them can be served by several
threads at once, and the result does not depend on how many there are.

A rule may have work between two rows that is not compiled, such as letting its state grow. Then the
loop stops after the label that made it due, and says where to go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.calls import call_decide, call_look, call_note, point
from lasec.kernel.loops import AT, Flags, Model, Query, Rows, Scratch, entry, learned, place, write
from lasec.kernel.philox import draw
from lasec.kernel.places import ASKED, CHANCE, FAILED, FINE, LABEL, SHOWN, VARIANCE
from lasec.types import UNASKED, Counter, Vector


class Requests(NamedTuple):
    """What came in, a row each, and where the rows of each model are (``order``, ``begins``).

    ``y`` is 0 where a row asks. ``after`` is the row whose question a label answers, or negative;
    then ``tickets`` tells its ticket, or that nobody asked (``UNASKED``). ``times`` and ``draws``
    may be empty.
    """

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


class Counts(NamedTuple):
    """The seeds and counters of many models."""

    seeds: NDArray[np.uint64]
    rows: Counter
    asked: Counter
    told: Counter
    updates: Counter
    waiting: Counter


class Table(NamedTuple):
    """A scratch table, where it is, and what makes it the table of any model of a stack."""

    scratch: Counter
    here: int
    stack: int
    words: Counter
    strides: Counter


class Share(NamedTuple):
    """What :func:`serve_share` takes: goes on with ``models[at]`` and the row ``begin``.

    ``span`` is where to say the same of what comes next.
    """

    model: Model
    query: Query
    tables: tuple[Table, Table]
    counts: Counts
    models: Counter
    rows: Rows
    requests: Requests
    mistakes_only: bool
    out: Answers
    begin: Counter
    scratch: Scratch


def asked_in(share: Share, k: int, i: int) -> bool:
    """Ask about the row ``i``, the next one of model ``k``; False where a function failed."""
    model, query, (seen, here) = share.model, share.query, share.scratch
    counts, out, requests = share.counts, share.out, share.requests
    row, n = place(share.rows, i)
    ticket = counts.rows[k]
    if call_look(model.look, model.handle, row, n, ticket + 1, here) < 0:
        return False
    seen[CHANCE], fine = np.nan, seen[FINE] > 0.0
    if fine:
        drawn, time = entry(requests.draws, i, -1.0), entry(requests.times, i, ticket + 1.0)
        if drawn < 0.0:
            drawn = draw(counts.seeds[k], np.uint64(ticket))[0]
        waiting = counts.waiting[k]
        if call_decide(query.decide, query.handle, here, drawn, ticket, time, waiting) < 0:
            return False
        if call_note(model.note, model.handle, row, n) < 0:
            return False
    else:
        seen[SHOWN] = seen[VARIANCE] = np.nan
        seen[ASKED] = 0.0
    write(out, i, seen, False, False)
    out.ticket[i], out.refused[i] = ticket, not fine
    counts.rows[k] += 1
    counts.asked[k] += out.asked[i]
    counts.waiting[k] += out.asked[i]
    return True


def answered_in(share: Share, k: int, i: int) -> int:
    """Learn the label in row ``i``, of model ``k``, unless its row was not asked about after all.

    A label that nobody asked for is a step of its own. Gives 1 where the rule has something to do.
    """
    model, counts, out, (seen, here) = share.model, share.counts, share.out, share.scratch
    row, n = place(share.rows, i)
    y, after, given = share.requests.y[i], share.requests.after[i], share.requests.tickets[i]
    asked = out.asked[after] if after >= 0 else given != UNASKED
    out.ticket[i] = out.ticket[after] if after >= 0 else given
    if not asked:
        if given != UNASKED:
            return 0
        ticket = counts.rows[k]
        out.ticket[i] = ticket
        if call_look(model.look, model.handle, row, n, ticket + 1, here) < 0:
            return FAILED
        if seen[FINE] > 0.0 and call_note(model.note, model.handle, row, n) < 0:
            return FAILED
    seed, ticket = counts.seeds[k], out.ticket[i]
    done = learned(model, row, n, y, seed, ticket, share.mistakes_only, seen, here)
    if done < 0:
        return FAILED
    count_label(share, k, i, done & 1 > 0, done & 2 > 0, asked)
    return 1 if done & 4 else 0


def count_label(share: Share, k: int, i: int, wanted: bool, usable: bool, asked: bool) -> None:
    """Write down what came of a label, and count it."""
    counts, out, predicted = share.counts, share.out, share.scratch.seen[LABEL]
    learned = usable or not wanted
    out.label[i], out.mistake[i] = int(predicted), predicted != share.requests.y[i]
    out.updated[i] = wanted and usable
    out.learned[i], out.refused[i] = learned, not learned
    counts.told[k] += learned
    counts.updates[k] += wanted and usable
    if asked:
        counts.waiting[k] -= learned and counts.waiting[k] > 0
    else:
        counts.rows[k] += learned


def serve_share(share: Share) -> int:
    """Ask where y is 0, and learn the label where it is not, in the order of the rows.

    Where the rule has something to do first, gives the place of its model among ``models``, and
    writes its next row to ``begin``; else the number of models.
    """
    models, requests, (one, memory) = share.models, share.requests, share.tables
    first = share.begin[0]
    for m in range(first, models.size):
        k = models[m]
        point(one.scratch, one.here, one.stack, one.words, one.strides, k)
        point(memory.scratch, memory.here, memory.stack, memory.words, memory.strides, k)
        begin = max(share.begin[1], requests.begins[k]) if m == first else requests.begins[k]
        for at in range(begin, requests.begins[k + 1]):
            i = requests.order[at]
            share.scratch.seen[AT] = i
            if requests.y[i] == 0.0:
                if not asked_in(share, k, i):
                    return FAILED
                continue
            due = answered_in(share, k, i)
            if due != 0:
                share.begin[0], share.begin[1] = m, at + 1
                return m if due > 0 else FAILED
    share.begin[0] = models.size
    return models.size
