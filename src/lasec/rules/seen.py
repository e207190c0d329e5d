"""A row as the Tracker sees it: free of scale, with an intercept, and with the last label known.

With the mean square s_j of feature j over the rows whose labels have come::

    u_j     = x_j / sqrt(d s_j)       1 or -1 over sqrt(d) where s_j is still 0
    u_{d+1} = 0.1                     the intercept
    u_{d+2} = 0.05 y_last 2^(-distance/64)

so that ``|u|`` is about 1 whatever the units are. Nothing is centered: zeros stay zeros. A row more
than twice as long as usual is shortened to that, in u and in what s learns of it, so that no single
row can dominate a posterior or spoil the scale; and if ten rows in a row are a hundred times
shorter than s says, then s was wrong (or the units have changed) and restarts. ``distance`` is how
many steps lie between the row and the last label: where labels run in streaks this feature finds
out, and elsewhere its weight stays near zero. s forgets what is more than ``MEMORY`` labels ago,
because inputs drift too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lasec.types import Vector

__all__ = ["EXTRA", "in_units", "length", "notice", "seen"]

EXTRA = 2
INTERCEPT, LAST, HALF_LIFE, REACH, MEMORY = 0.1, 0.05, 64.0, 2.0, 2_000
SHORT, STREAK_END, FAR = 0.01, 10, 1e100
# Places in the clock of a state.
LATEST, BIRTH, SINCE, ROWS, STREAK, LABEL = range(6)
CLOCKS = 6


def seen(state: Any, x: Vector, t: int) -> Vector:
    """u for the row x of step t."""
    d, clock = x.size, state.clock
    u = np.empty(d + EXTRA)
    scale = in_units(state, x, u[:d])
    for j in range(d):
        u[j] *= scale / math.sqrt(d)
    u[d] = INTERCEPT
    u[d + 1] = LAST * clock[LABEL] * 2.0 ** (-abs(t - clock[LATEST]) / HALF_LIFE)
    return u


def in_units(state: Any, x: Vector, out: Vector) -> float:
    """out <- each entry over the root of its mean square; gives how much the row is shortened."""
    for j in range(x.size):
        square = state.squares[j] if state.squares[j] > 0.0 else x[j] * x[j]
        unit = x[j] / math.sqrt(square) if square > 0.0 else 0.0
        out[j] = min(max(unit, -FAR), FAR)
    return min(1.0, REACH / max(length(out), 1e-300))


def length(row: Vector) -> float:
    """The root of the mean squared entry.

    >>> length(np.array([3.0, -3.0]))
    3.0
    """
    return math.sqrt(np.dot(row, row) / row.size)


def notice(state: Any, x: Vector) -> None:
    """Let s learn from a row whose label has come, shortened where it is too long."""
    clock, unit = state.clock, np.empty(x.size)
    scale = in_units(state, x, unit)
    short = 0.0 < length(unit) < SHORT
    clock[STREAK] = clock[STREAK] + 1 if short else 0
    if clock[STREAK] >= STREAK_END:
        clock[STREAK], clock[ROWS] = 0, 0
    share = 1.0 / (min(clock[ROWS], MEMORY) + 1.0)
    clock[ROWS] += 1
    for j in range(x.size):
        entry = scale * x[j]
        state.squares[j] += (entry * entry - state.squares[j]) * share
