"""Chunks of rows in compiled code: to ask about, or to ask about and learn at once."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import sparse, validation
from lasec.learner.reading import refusal
from lasec.learner.state import LearnerState
from lasec.learner.terms import ALWAYS
from lasec.records import Records
from lasec.selector import Selector
from lasec.sparse import SparseRows
from lasec.types import Decision, Vector


def ask(
    now: LearnerState, X: ArrayLike, times: ArrayLike | None, draws: ArrayLike | None
) -> tuple[LearnerState, Records]:
    """Decide about rows: the state after them, and a column for each field of the decisions."""
    rows = sparse.rows(X, now.dimension, now.kind)
    n = len(rows)
    given, when = validation.given(draws, n), now.selector.times(times, n)
    if now.kind.names:
        now.admit(rows)
    if _counts_closed(now, n, when):  # row by row: questions close in between
        now, cuts = now.copy(), [slice(i, i + 1) for i in range(n)]
    else:
        cuts = [slice(0, n)]
    return now, Records.join([_asked(now, rows[at], given[at], when[at]) for at in cuts])


def _counts_closed(now: LearnerState, n: int, when: Vector) -> bool:
    """Whether the query asks how many questions are open, and some may close among n rows."""
    if not now.selector.query.counts_open:
        return False
    age, old = now.terms.max_age, False
    if age is not None and n > 0:
        first = now.selector.rows + 1.0
        begin, end = (when.min(), when.max()) if when.size else (first, first + n - 1)
        old = min(now.book.oldest, begin) < end - age
    return bool(old or len(now.book) + n > now.book.limit)


def _asked(now: LearnerState, rows: Any, given: Vector, when: Vector) -> Records:
    """Decide about rows; where one is refused, nothing is changed."""
    selector = now.selector
    bad, columns, spent = selector.look_at_all(
        now.rule, now.model, rows, given, when, len(now.book)
    )
    if bad >= 0:
        raise refusal(rows[bad], f"X: row {bad}")
    sign = None if now.counts.told else np.zeros(len(rows), dtype=np.int8)
    records = Records.questions(columns, first=selector.rows, sign=sign)
    selector.note(spent, len(rows), records.labels, float(when.max()) if when.size else None)
    _open(now, rows, records, when)
    return replace(records, label=now.classes.named(records.label))


def _open(now: LearnerState, rows: Any, asked: Records, when: Vector) -> None:
    """Put the questions among some rows into the book, and close those that are too old."""
    given = np.maximum.accumulate(when) if when.size else asked.ticket + 1.0
    moments = now.selector.clock.aging(given.astype(np.float64, copy=False))
    at, age, dropped, expired = np.flatnonzero(asked.asked), now.terms.max_age, 0, 0
    columns = (asked.label, asked.margin, asked.variance, asked.propensity)
    for i, *fields in zip(at.tolist(), *(column[at].tolist() for column in columns), strict=True):
        label, margin, variance, propensity = fields
        ticket, moment = asked.first + i, float(moments[i])
        if age is not None:
            expired += now.book.expire(before=moment - age)
        decision = Decision(label, margin, variance, propensity, True, ticket)
        dropped += now.book.add(decision, rows[i].copy(), moment)
    if age is not None and len(rows):
        expired += now.book.expire(before=float(moments[-1]) - age)
    now.counts = now.counts.plus(dropped=dropped, expired=expired)


def run(
    now: LearnerState, X: ArrayLike, y: ArrayLike, times: ArrayLike | None,
    draws: ArrayLike | None, *, in_place: bool,
) -> tuple[LearnerState, Records]:  # fmt: skip
    """Ask about rows and learn what was queried: the state after them, and what came of each.

    The state that is given stays as it was, unless the model may be changed ``in_place``.
    """
    rows = sparse.rows(X, now.dimension, now.kind)
    n = len(rows)
    given, when = validation.given(draws, n), now.selector.times(times, n)
    signs = validation.signs(y, n) if now.classes.are_signs else None
    if signs is None:
        return _run_classes(now, rows, validation.classes(y, n), given, when, in_place=in_place)
    now, records = _chunk(now, rows, signs, given, when, in_place=in_place)
    now.classes = now.classes.known(np.unique(signs[records.learned]).astype(int).tolist())
    return now, records


def learn(now: LearnerState, X: ArrayLike, y: ArrayLike, *, in_place: bool) -> LearnerState:
    """The state after labeled rows that nobody asked for: no query sees them, and none expires."""
    asking, terms, dropped = copy(now.selector), now.terms, now.counts.dropped
    selector = Selector(ALWAYS, seed=asking.seed)
    selector.skip(asking.rows)
    free = replace(now, selector=selector, terms=terms._replace(max_age=None))
    after, records = run(free, X, y, None, None, in_place=in_place)
    if not records.labeled.all():
        raise ValueError(f"y: row {int(np.argmin(records.labeled))} has no label")
    asking.skip(len(records))
    counts = after.counts._replace(dropped=dropped)
    return replace(after, selector=asking, terms=terms, counts=counts)


def _chunk(
    now: LearnerState, rows: Any, codes: Vector, given: Vector, when: Vector, *, in_place: bool
) -> tuple[LearnerState, Records]:
    """Rows whose classes are all known."""
    selector = copy(now.selector)
    bad, columns, model, spent = selector.run(
        now.rule, now.model, rows, codes, given, when, len(now.book),
        mistakes_only=now.mistakes_only, in_place=in_place,
    )  # fmt: skip
    if bad >= 0:
        raise refusal(rows[bad], f"X: row {bad}")
    records = Records(*columns, first=selector.rows, labeled=~np.isnan(codes))
    if not now.counts.told:
        until = int(np.argmax(records.learned)) + 1 if records.learned.any() else len(rows)
        records.sign[:until] = 0
    selector.note(spent, len(rows), records.labels, float(when.max()) if when.size else None)
    told, updates = int(records.learned.sum()), int(records.updated.sum())
    counts = now.counts.plus(told=told, updates=updates, dropped=records.labels - told)
    after = replace(now, model=model, selector=selector, counts=counts)
    return after.aged(float(when[-1]) if when.size else float(selector.rows)), records


def _run_classes(
    now: LearnerState, rows: Any, labels: tuple[list[Any], NDArray[np.intp]], given: Vector,
    when: Vector, *, in_place: bool,
) -> tuple[LearnerState, Records]:  # fmt: skip
    """A chunk in pieces, between the rows of classes that are not known yet."""
    kinds, which = labels
    begin, n, parts, names = 0, len(rows), list[Records](), None
    now = now if all(now.classes.code(kind) for kind in kinds) else now.copy()
    while begin < n or not parts:
        if names is not now.classes:
            names = now.classes
            codes = np.append(names.codes(kinds), np.nan)[which]
            new = np.append(np.flatnonzero(codes == 0.0), n)
        end = int(new[np.searchsorted(new, begin)])
        at = slice(begin, end if end > begin or not n else begin + 1)
        if end > begin or not n:
            now, records = _chunk(now, rows[at], codes[at], given[at], when[at], in_place=in_place)
            told = np.unique(which[at][records.learned])
            now.classes = names.known(kinds[kind] for kind in told)
        else:
            now, records = _newcomer(now, rows[begin], kinds[which[begin]], given[at], when[at])
        parts.append(replace(records, label=names.named(records.label)))
        begin = at.stop
    return now, Records.join(parts)


def _newcomer(
    now: LearnerState, x: Vector, label: Hashable, given: Vector, when: Vector
) -> tuple[LearnerState, Records]:
    """A row of a class that is not known, unless it is asked: then it is met, and learned."""
    now, ticket = replace(now, selector=copy(now.selector)), now.selector.rows
    selector, cold = now.selector, not now.counts.told
    moment = float(when[0]) if when.size else selector.moment(None)
    draw = float(given[0]) if given.size else -1.0
    if now.kind.names:
        now.admit(SparseRows.of(x))
    seen, spent = selector.look(now.rule, now.model, x, draw, moment, len(now.book))
    fine, predicted, margin, variance, propensity, asked = seen
    if not fine:
        raise refusal(x)
    selector.note(spent, 1, asked, moment if when.size else None)
    if asked:
        now.meet(label)
        now.teach(x, now.classes.code(label), ticket)
    columns = ([predicted], [margin], [variance], [propensity], [asked], [True], [asked])
    kinds = (np.int16, float, float, float, bool, bool, bool)
    sign: Any = np.zeros(1, dtype=np.int8) if cold else None
    made = Records(*map(np.array, columns, kinds), first=ticket, sign=sign)
    return now.aged(moment), made
