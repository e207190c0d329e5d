"""The functions of a rule and of a query, which take handles and addresses.

``look``, ``learn``, ``note``, ``classes`` and ``admit`` of every rule have one signature each, and
so has ``decide`` of every query: loops over rows call them without knowing which they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lasec.kernel.calls import numbers, view
from lasec.kernel.dispatch import (
    chance,
    is_due,
    label_of,
    margin_at,
    margin_of,
    note_row,
    spend,
    strain,
    update_at,
    values_of,
)
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


def probabilities(rule: Any, state: Any, x: Vector, t: int, out: Vector) -> None:
    """``rule.probabilities(state, x, t, out)``, of a rule with more than two classes."""
    rule.probabilities(state, x, t, out)


def admitted(rule: Any, state: Any, x: Any) -> bool:
    """``rule.admit(state, x)``, of a rule for sparse rows."""
    return bool(rule.admit(state, x))


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
            seen = margin_at(rule, state, x, t)
            o[FINE] = 1.0 if strain(rule, state, x) <= LARGEST_STRAIN else 0.0
            o[LABEL], o[SHOWN] = label_of(seen), margin_of(seen)
            o[VARIANCE], o[LEAD], o[RAW] = seen.variance, seen.margin, seen.raw
        return 0

    def learn(handle: int, row: int, n: int, y: float, draw: float, t: int) -> int:
        rule, state = read(handle)
        update_at(rule, state, row_at(row, n), y, draw, t)
        return 1 if is_due(rule, state) else 0

    def note(handle: int, row: int, n: int) -> int:
        rule, state = read(handle)
        note_row(rule, state, row_at(row, n))
        return 0

    made: Functions = {"look": look, "learn": learn, "note": note}
    return made | _of_some(rule, read, row_at)


def _of_some(rule: Any, read: Reader, row_at: Any) -> Functions:
    """What only rules for many classes, and rules for sparse rows have."""

    def classes(handle: int, row: int, n: int, t: int, out: int) -> int:
        rule, state = read(handle)
        probabilities(rule, state, row_at(row, n), t, numbers(out, rule.classes))
        return 0

    def admit(handle: int, row: int, n: int) -> int:
        rule, state = read(handle)
        return 1 if admitted(rule, state, row_at(row, n)) else 0

    every: Functions = {"probabilities": classes, "admit": admit}
    names = {"probabilities": "classes", "admit": "admit"}
    return {names[has]: made for has, made in every.items() if hasattr(rule, has)}


def of_query(read: Reader = parts_at) -> Functions:
    """When a query asks."""

    def decide(handle: int, seen: int, drawn: float, ticket: int, time: float, waiting: int) -> int:
        query, memory = read(handle)
        o = numbers(seen, PLACES)
        margin, now = Margin(o[RAW], o[VARIANCE], o[LEAD]), Context(ticket + 1, time, waiting)
        p = chance(query, margin, memory, now)
        asked = p >= 1.0 or drawn < p
        spend(query, margin, memory, asked, now)
        o[CHANCE], o[ASKED] = p, 1.0 if asked else 0.0
        return 0

    return {"decide": decide}
