"""What the diagonal second-order rules share: a Gaussian whose weights are independent.

A full second-order rule (:mod:`lasec.rules.gaussian`) has for the label of a row x the posterior
with the inverse covariance C^-1 + a x x'. Of all Gaussians Q with independent weights, the one with
the least KL(Q || posterior) has the same mean and the diagonal of that inverse. So with variances
V_j in place of a matrix::

    m = sum_j x_j w_j,   q = sum_j x_j^2 V_j
    w_j <- w_j + gain V_j x_j
    1 / V_j <- 1 / V_j + narrow x_j^2,   and then, of every column,   V_j <- V_j + drift

The last step is done late: a column knows how many updates there had been when it was last in one,
and the drift of those since then is added when it is next looked at. A column that was in no update
has w_j = 0 and the variance prior + updates drift.

Cost: O(n) a row of n non-zeros; 48 bytes for a column that was in an update, and none for others.
Up to twice that is reserved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.rules.columns import COLUMN, FREE, is_table, slot_of, table_of
from lasec.types import Counter, Vector

__all__ = ["SparseGaussian", "admit_row", "is_full", "learn_pairs", "look_at_pairs"]

LAST = 1  # of an entry, after its column: the updates until it was last in one
ENTRIES, LONGEST = range(2)  # how many columns are known, and the most that a row had
_FIRST = 64
_MOST_STEPS = 2**62


class SparseGaussian(NamedTuple):
    """Weights and variances of the columns that were in an update, in the order of their first.

    ``table`` finds the entry of a column (:mod:`lasec.rules.columns`), ``entries`` has the columns
    and the number of updates until each was last in one, ``steps`` the number of all updates.

    >>> state = SparseGaussian.prior()
    >>> state.weights.size, state.table.size
    (64, 128)
    """

    table: Counter
    entries: NDArray[np.int64]
    used: Counter
    weights: Vector
    variances: Vector
    steps: Counter

    @classmethod
    def prior(cls) -> SparseGaussian:
        """No column is known yet."""
        return cls(
            table=np.full(2 * _FIRST, FREE, dtype=np.int64),
            entries=np.zeros((_FIRST, 2), dtype=np.int64),
            used=np.zeros(2, dtype=np.int64),
            weights=np.zeros(_FIRST),
            variances=np.zeros(_FIRST),
            steps=np.zeros(1, dtype=np.int64),
        )

    def validate(self) -> str:
        """Why these arrays are no such Gaussian, as a phrase; empty if they are.

        >>> state = SparseGaussian.prior()
        >>> state.used[0] = 1
        >>> state.validate()
        'the table of the columns contradicts itself'
        """
        known, steps = int(self.used[ENTRIES]), self.steps[0]
        if not 0 <= steps <= _MOST_STEPS:
            return "steps are negative or too many"
        if not 0 <= known <= len(self.entries) or not 0 <= self.used[LONGEST] < 2**31:
            return "the table of the columns contradicts itself"
        columns, last = self.entries[:known, COLUMN], self.entries[:known, LAST]
        held = ((self.table >= FREE) & (self.table < max(1, known))).all()
        valid = ((columns >= 0) & (columns < 2**31)).all()
        if not (held and valid and is_table(self.table, columns)):
            return "the table of the columns contradicts itself"
        if ((last < 1) | (last > steps)).any():
            return "a column was in an update that has not been"
        return "" if (self.variances[:known] > 0.0).all() else "a variance is not positive"


def look_at_pairs(state: Any, x: Any, prior: float, drift: float) -> tuple[float, float]:
    """m and q of a row."""
    columns, values, table, entries = x["column"], x["value"], state.table, state.entries
    steps, m, q = state.steps[0], 0.0, 0.0
    unknown = prior + steps * drift
    for j in range(columns.size):
        entry, variance = table[slot_of(table, entries, columns[j])], unknown
        if entry >= 0:
            m += values[j] * state.weights[entry]
            variance = state.variances[entry] + (steps - entries[entry, LAST]) * drift
        q += values[j] * values[j] * variance
    return m, q


def learn_pairs(state: Any, x: Any, gain: float, narrow: float, prior: float, drift: float) -> None:
    """One update at a row that was admitted; other columns drift when they are next looked at."""
    columns, values, table, entries = x["column"], x["value"], state.table, state.entries
    steps, used = state.steps[0], state.used
    for j in range(columns.size):
        slot = slot_of(table, entries, columns[j])
        entry, variance = table[slot], prior + steps * drift
        if entry >= 0:
            variance = state.variances[entry] + (steps - entries[entry, LAST]) * drift
        else:
            entry = used[ENTRIES]
            table[slot], used[ENTRIES] = entry, entry + 1
            entries[entry, COLUMN], state.weights[entry] = columns[j], 0.0
        state.weights[entry] += gain * variance * values[j]
        shrunk = variance / (1.0 + variance * values[j] * values[j] * narrow)
        state.variances[entry], entries[entry, LAST] = shrunk + drift, steps + 1
    state.steps[0] = steps + 1


def admit_row(state: Any, x: Any) -> bool:
    """Whether there is room for the columns of a row, all of which may be new."""
    state.used[LONGEST] = max(state.used[LONGEST], x.size)
    return not is_full(state)


def is_full(state: Any) -> bool:
    """Whether the longest row so far may have no room."""
    return bool(state.used[ENTRIES] + state.used[LONGEST] > state.entries.shape[0])


def grown_alike(states: Sequence[SparseGaussian]) -> list[SparseGaussian]:
    """The same states with room for another row, and all with the same room.

    >>> state = SparseGaussian.prior()
    >>> state.used[LONGEST] = 100
    >>> [one.weights.size for one in grown_alike([state, SparseGaussian.prior()])]
    [128, 128]
    """
    wanted, room = max(int(one.used.sum()) for one in states), len(states[0].entries)
    while room < wanted:
        room *= 2
    return [_with_room(one, room) for one in states]


def grown_shapes(arrays: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of a state that has grown to the size of these arrays."""
    room = max(1, arrays["weights"].shape[-1])
    blank = {name: array.shape[1:] for name, array in SparseGaussian.prior()._asdict().items()}
    fixed: dict[str, tuple[int, ...]] = {"table": (2 * room,), "used": (2,), "steps": (1,)}
    return {name: fixed.get(name, (room, *rest)) for name, rest in blank.items()}


def _with_room(state: SparseGaussian, room: int) -> SparseGaussian:
    """The same state with room for so many columns."""
    known = int(state.used[ENTRIES])
    larger = {}
    for name in ("entries", "weights", "variances"):
        array = getattr(state, name)
        larger[name] = np.zeros((room, *array.shape[1:]), array.dtype)
        larger[name][:known] = array[:known]
    return state._replace(table=table_of(state.entries[:known, COLUMN], 2 * room), **larger)
