"""A sparse row as the Tracker sees it: words weighed by how rare they are, rows by their length.

With x_j the value of column j in a row (how often a word occurs), after n rows of which n_j have
the column::

    a_j = sign(x_j) ln(1 + |x_j|)
    v_j = a_j (ln((n + 2) / (n_j + 0.5)))^p                  p = ``rarity``
    u_j = v_j / |v| min(2, (|a| / r)^q)                      q = ``level``, r^2 the mean of |a|^2

Three more places stand in every row (with K > 2 classes, 2 + K); where the first columns are dense,
intercept and last label stand with these (:mod:`lasec.rules.tracker.joint`)::

    0.1                                                      an intercept s min(3, max(-3, (ln(1 +
    words) - mean) / sd))           how long the row is, s = ``length`` 0.05 y 2^(-distance/64)
    the last label, see rules/tracker/seen.py

p = 1 and q = 0 are the tf-idf rows of length 1 of information retrieval, which long mails want;
p = 0 and q = 1 leave words as they are and rows as long as they are, which short messages want.
The roots of both stand between them, and the length as a place of its own tells how long a text is
without giving long texts more say (``python -m experiments text --settings``). Values are counts or
any other numbers; rows need not be text.

Rows count whether they are labeled or not. Asking counts them as *fresh*, which no prediction
depends on; the next label makes them count.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from lasec.rules.tracker.columns import FRESH, PLACE, ROWS, STAMP, slot_of
from lasec.rules.tracker.seen import INTERCEPT, mark_last
from lasec.types import Counter, Vector

__all__ = ["count_words", "damped", "fixed_places", "mark_fixed", "raised", "settle_rows", "weigh"]

LONG, MEMORY, FAR, FEW, NARROW = 2.0, 20_000.0, 3.0, 10.0, 0.01
_LN_2 = math.log(2.0)
# Of the rows that count, and of those since the last label: how many, and sums.
COUNT, SIZES, LENGTHS, SQUARES = range(4)


class Rows(NamedTuple):
    """What is known of the rows' number and length, and what those since the last label add."""

    known: Vector
    tally: Vector


def fixed_places(classes: int) -> int:
    """How many places every row has: intercept, length, and those of the last label.

    >>> fixed_places(2), fixed_places(3)
    (3, 5)
    """
    return 3 if classes == 2 else 2 + classes


def damped(value: float) -> float:
    """sign(x) ln(1 + |x|).

    >>> damped(-1.0) == -damped(1.0) == -math.log(2.0)
    True
    """
    if abs(value) == 1.0:  # most words occur once
        return _LN_2 * value
    return math.copysign(math.log1p(abs(value)), value)


def raised(base: float, power: float) -> float:
    """base^power, where the root is what is mostly wanted.

    >>> raised(9.0, 0.5), raised(9.0, 1.0)
    (3.0, 9.0)
    """
    return math.sqrt(base) if power == 0.5 else float(base**power)


def weigh(rule: Any, texts: Any, x: Any, u: Vector, place: Counter) -> tuple[float, float]:
    """u <- v, place <- the place of each column; gives |v|^2 and |a|^2."""
    columns, values = x["column"], x["value"]
    table, entries, labels = texts.columns.table, texts.columns.entries, texts.words.labels[0]
    most, total, size = texts.rows.known[COUNT] + 2.0, 0.0, 0.0
    for j in range(columns.size):  # apart, so that memory is waited for once and not for each
        place[j] = table[slot_of(table, entries, columns[j])]
    for j in range(columns.size):
        entry, count = place[j], 0
        place[j] = -1
        if entry >= 0:
            place[j], count = entries[entry, PLACE], entries[entry, ROWS]
            if entries[entry, STAMP] != labels:
                count += entries[entry, FRESH]
        a = damped(values[j])
        v = a * raised(math.log(most / (count + 0.5)), rule.rarity)
        u[j] = v
        total += v * v
        size += a * a
    return total, size


def mark_fixed(rule: Any, texts: Any, words: int, t: int, u: Vector, place: Counter) -> None:
    """The places that every row has, after those of its columns."""
    for k in range(place.size):
        u[k], place[k] = 0.0, k
    known = texts.rows.known
    if known[COUNT] >= FEW:
        mean = known[LENGTHS]
        sd = math.sqrt(max(known[SQUARES] - mean * mean, 0.0))
        far = (math.log1p(words) - mean) / max(sd, NARROW)
        u[1] = rule.length * min(max(far, -FAR), FAR)
    if rule.dense > 0:  # which have the intercept and the last label
        return
    u[0] = INTERCEPT
    mark_last(texts.mixture.clock, texts.classes, t, u[2:])


def count_words(texts: Any, x: Any) -> None:
    """Count a row and its columns, to matter from the next label on."""
    columns, values, tally = x["column"], x["value"], texts.rows.tally
    table, entries, labels = texts.columns.table, texts.columns.entries, texts.words.labels[0]
    size, words = 0.0, math.log1p(x.size)
    for j in range(columns.size):
        size += damped(values[j]) ** 2
        entry = table[slot_of(table, entries, columns[j])]
        if entry >= 0:
            if entries[entry, STAMP] != labels:
                entries[entry, ROWS] += entries[entry, FRESH]
                entries[entry, FRESH], entries[entry, STAMP] = 0, labels
            entries[entry, FRESH] += 1
    tally[COUNT] += 1.0
    tally[SIZES] += size
    tally[LENGTHS] += words
    tally[SQUARES] += words * words


def settle_rows(texts: Any, x: Any) -> None:
    """With a label, the rows since the last one count: those that were asked about, or this one."""
    known, tally = texts.rows
    if tally[COUNT] == 0.0:
        count_words(texts, x)
    count = tally[COUNT]
    share = 1.0 / (min(known[COUNT], MEMORY) + count)
    for k in (SIZES, LENGTHS, SQUARES):
        known[k] += (tally[k] - count * known[k]) * share
    known[COUNT] += count
    tally[:] = 0.0
    texts.words.labels[0] += 1
