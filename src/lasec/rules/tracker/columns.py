"""The columns that a sparse model has seen: a hash table that grows with them.

A column that occurs in a row for the first time gets an *entry*, in which the rows that have it are
counted. With its first label it gets a *place* as well: weights and variances for each hypothesis,
which take ten times the room. A model's memory therefore follows the columns that occur, and
mostly those in labeled rows, not the dimension.

``table`` is a hash table with linear probing: the entry of a column stands at its hash or after it,
before the next free slot. It has at least twice as many slots as there are entries. Growth is rare
work between two rows (:func:`grown`); what a model says does not depend on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.rules.tracker.beliefs import first_flaw
from lasec.types import Counter

__all__ = ["admit", "has_room", "slot_of"]

# The numbers of an entry: its column, the rows that count, those since the last label, the number
# of labels before those, and the place (-1: none yet).
COLUMN, ROWS, FRESH, STAMP, PLACE = range(5)
FIELDS = 5
# What is used: entries, places; and the largest number of pairs of a row.
ENTRIES, PLACES, LONGEST = range(3)
FREE = -1
_PRIME, _SHIFT = 2_654_435_761, 16  # no product of it and a column of 31 bits overflows


class Columns(NamedTuple):
    """The table, its entries, and how many of them and of the places are used."""

    table: Counter
    entries: NDArray[np.int64]
    used: Counter

    def flaw(self, fixed: int, places: int) -> str:
        """Why these are no columns with so many fixed places of all, as a phrase; empty if not."""
        return first_flaw(
            (_no_table(self), "the table of the columns contradicts itself"),
            (_no_places(self, fixed, places), "the places of the columns contradict each other"),
        )


def first_columns(places: int, fixed: int) -> Columns:
    """No column, of so many places those that are fixed."""
    entries = np.zeros((places, FIELDS), np.int64)
    return Columns(np.full(2 * places, FREE, np.int64), entries, np.array([0, fixed, 0]))


def slot_of(table: Counter, entries: NDArray[np.int64], column: int) -> int:
    """Where a column stands in the table, or the free slot where it would."""
    last = table.size - 1
    slot = ((column * _PRIME) >> _SHIFT) & last
    while table[slot] >= 0 and entries[table[slot], COLUMN] != column:
        slot = (slot + 1) & last
    return slot


def has_room(columns: Any, places: int) -> bool:
    """Whether the longest row so far could consist of new columns only."""
    used, longest = columns.used, columns.used[LONGEST]
    entries = used[ENTRIES] + longest <= columns.entries.shape[0]
    return bool(entries and used[PLACES] + longest <= places)


def admit(columns: Any, places: int, row: Counter) -> bool:
    """Give the columns of a row their entries; False if :func:`grown` must make room first."""
    columns.used[LONGEST] = max(columns.used[LONGEST], row.size)
    if not has_room(columns, places):
        return False
    table, entries, used = columns.table, columns.entries, columns.used
    for column in row:
        slot = slot_of(table, entries, column)
        if table[slot] < 0:
            entry = used[ENTRIES]
            table[slot], used[ENTRIES] = entry, entry + 1
            entries[entry, COLUMN], entries[entry, PLACE] = column, -1
    return True


def grown(columns: Columns, places: int) -> tuple[Columns, int]:
    """The columns with room for another row, as long as the longest so far, and for its places."""
    used, longest = columns.used, int(columns.used[LONGEST])
    entries = _enough(len(columns.entries), int(used[ENTRIES]) + longest)
    if entries > len(columns.entries):
        table = table_of(columns.entries[: used[ENTRIES], COLUMN], 2 * entries)
        columns = columns._replace(table=table, entries=longer(columns.entries, entries))
    return columns, _enough(places, int(used[PLACES]) + longest)


def table_of(columns: Counter, slots: int) -> Counter:
    """The table of entries with these columns, all of them different, in their order.

    >>> columns = np.array([7, 3, 2**24])
    >>> table = table_of(columns, 8)
    >>> [int(table[slot_of(table, columns[:, None], column)]) for column in columns]
    [0, 1, 2]
    """
    table = np.full(slots, FREE, dtype=np.int64)
    waiting = np.arange(len(columns))
    slot = ((columns * _PRIME) >> _SHIFT) & (slots - 1)
    while waiting.size:  # of those that want one free slot, the first entry takes it
        free = table[slot] == FREE
        wanted, first = np.unique(slot[free], return_index=True)
        table[wanted] = waiting[free][first]
        left = table[slot] != waiting
        waiting, slot = waiting[left], (slot[left] + 1) & (slots - 1)
    return table


def is_table(table: Counter, columns: Counter) -> bool:
    """Whether every one of these columns, and nothing else, is found in the table.

    >>> is_table(table_of(np.array([7, 3]), 4), np.array([7, 3]))
    True
    """
    slots, taken = table.size, np.flatnonzero(table != FREE)
    held = np.sort(table[taken])
    if slots & (slots - 1) or 2 * held.size > slots or np.unique(columns).size != columns.size:
        return False
    if not np.array_equal(held, np.arange(columns.size)):
        return False
    free = np.flatnonzero(table == FREE)
    run = taken - np.append(free[-1] - slots, free)[np.searchsorted(free, taken)]
    home = ((columns[table[taken]] * _PRIME) >> _SHIFT) & (slots - 1)
    return bool((((taken - home) & (slots - 1)) < run).all())


def _enough(room: int, wanted: int) -> int:
    while room < wanted:
        room *= 2
    return room


def longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array with zeros after it.

    >>> longer(np.ones(2), 3).tolist()
    [1.0, 1.0, 0.0]
    """
    made = np.zeros((length, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def _no_table(columns: Columns) -> bool:
    table, entries, used = columns
    if not 0 <= used[ENTRIES] <= len(entries) or table.ndim != 1 or not table.size:
        return True
    known = entries[: used[ENTRIES], COLUMN]
    held = ((table >= FREE) & (table < max(1, known.size))).all()
    valid = ((known >= 0) & (known < 2**31)).all()
    return not (held and valid and table.size == 2 * len(entries)) or not is_table(table, known)


def _no_places(columns: Columns, fixed: int, places: int) -> bool:
    used = columns.used
    given = columns.entries[: used[ENTRIES], PLACE]
    taken = np.sort(given[given >= 0])
    known = np.array_equal(taken, np.arange(fixed, used[PLACES]))
    return not (
        known
        and fixed <= used[PLACES] <= places
        and used[LONGEST] >= 0
        and given.min(initial=0) >= -1
    )
