"""The functions of a rule and of a query, which take handles and addresses.

``look``, ``learn``, ``note``, ``classes`` and ``admit`` of every rule have one signature each, and
so has ``decide`` of every query: loops over rows call them without knowing which they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lasec import methods
from lasec.contract import whole
from lasec.kernel.calls import numbers, view
from lasec.kernel.handle import parts_at
from lasec.kernel.places import ASKED, CHANCE, FINE, LABEL, LEAD, PLACES, RAW, SHOWN, VARIANCE
from lasec.types import Context, Margin, Vector
from lasec.validation import LARGEST_ENTRY

LARGEST_STRAIN = 1e12  # the largest conditioning that double precision allows

Reader = Callable[[int], Any]
Functions = dict[str, Callable[..., int]]


def sound(x: Vector) -> bool:
    """Whether every entry of ``x`` is finite and of a usable size."""
    fine = True
    for value in values_of(x):
        fine = fine and abs(value) <= LARGEST_ENTRY
    return fine


def values_of(x: Any) -> Any:
    """The numbers of a row: of a sparse one, those of its pairs."""
    return x["value"] if x.dtype.names else x


def label_of(seen: Any) -> float:
    """The prediction: the sign of the raw margin, or the class where a rule names one."""
    return float(seen.label)


def margin_of(seen: Any) -> float:
    """The margin that is shown: the one that the query decides on, or P(label) - P(another)."""
    return float(seen.raw if "label" in seen._fields else seen.margin)


def of_rule(
    rule: Any, kind: np.dtype[Any], read: Reader = parts_at, row_at: Any = None
) -> Functions:
    """What a rule says of rows of a kind, and how it learns them.

    Without ``read`` and ``row_at``, which compiled code has of its own, they are interpreted.
    """
    if row_at is None:

        def row_at(row: int, n: int) -> Any:
            return view(kind, row, n)

    def look(handle: int, row: int, n: int, t: int, out: int) -> int:
        rule, state = read(handle)
        x, o = row_at(row, n), numbers(out, PLACES)
        o[FINE] = -1.0
        if sound(x):
            seen = methods.margin(rule, state, x, t)
            o[FINE] = 1.0 if methods.strain(rule, state, x) <= LARGEST_STRAIN else 0.0
            o[LABEL], o[SHOWN] = label_of(seen), margin_of(seen)
            o[VARIANCE], o[LEAD], o[RAW] = seen.variance, seen.margin, seen.raw
        return 0

    def learn(handle: int, row: int, n: int, y: float, draw: float, t: int) -> int:
        rule, state = read(handle)
        methods.update(rule, state, row_at(row, n), y, draw, t)
        return 1 if methods.is_due(rule, state) else 0

    def note(handle: int, row: int, n: int) -> int:
        rule, state = read(handle)
        methods.note(rule, state, row_at(row, n))
        return 0

    made: Functions = {"look": look, "learn": learn, "note": note}
    return made | _of_some(rule, read, row_at)


def _of_some(rule: Any, read: Reader, row_at: Any) -> Functions:
    """What only rules for many classes, and rules for sparse rows have."""

    def classes(handle: int, row: int, n: int, t: int, out: int) -> int:
        rule, state = read(handle)
        methods.probabilities(rule, state, row_at(row, n), t, numbers(out, rule.classes))
        return 0

    def admit(handle: int, row: int, n: int) -> int:
        rule, state = read(handle)
        return 1 if methods.admit(rule, state, row_at(row, n)) else 0

    facts, made = whole(rule).facts, Functions()
    if facts.many:
        made["classes"] = classes
    if facts.sparse:
        made["admit"] = admit
    return made


def of_query(read: Reader = parts_at) -> Functions:
    """When a query asks."""

    def decide(handle: int, seen: int, drawn: float, ticket: int, time: float, waiting: int) -> int:
        query, memory = read(handle)
        o = numbers(seen, PLACES)
        margin, now = Margin(o[RAW], o[VARIANCE], o[LEAD]), Context(ticket + 1, time, waiting)
        p = methods.chance(query, margin, memory, now)
        asked = p >= 1.0 or drawn < p
        methods.spend(query, margin, memory, asked, now)
        o[CHANCE], o[ASKED] = p, 1.0 if asked else 0.0
        return 0

    return {"decide": decide}
