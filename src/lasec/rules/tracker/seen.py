"""A row as the Tracker sees it: centered, scaled, with an intercept and the last known label.

With the mean m_j and the mean square s_j of feature j over the rows so far, labeled or not::

    v_j     = max(s_j - m_j^2, 0.0001 s_j)                     the variance, but not 0
    u_j     = (x_j - m_j) / sqrt(d v_j)                        1 or -1 over sqrt(d) where s_j is 0
    u_{d+1} = sqrt(0.1^2 + 0.5 (mean of m_j^2 / s_j - 1 / n))  the intercept, after n rows
    u_{d+2} = 0.05 y_last 2^(-distance/64)                     with K > 2 classes, one of K places

so that ``|u|`` is about 1 whatever the units are. Half of the share that the means have of the
features' squares goes to the intercept (1 / n of it is chance): features with an offset do not
share one direction. A row more than five times as long as usual is shortened to that, in u and in
what m and s learn of it, so that no single row can dominate a posterior or spoil the scale; and if
ten labeled rows, not centered, are a hundred times shorter than s says, then s was wrong (or the
units have changed) and restarts. ``distance`` is how many steps lie between the row and the last
label: where labels run in streaks this feature finds out, and elsewhere its weight stays near zero.

m and s forget what is more than ``MEMORY`` rows ago, because inputs drift too. Asking adds a row to
a ``tally``, which no prediction depends on; the next label adds the tally to m and s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lasec.rules.tracker.subspace import project, sample_row
from lasec.types import Counter, Vector

__all__ = [
    "count_row", "in_row_units", "in_units", "length", "mark_last", "notice", "renew", "seen",
]  # fmt: skip

INTERCEPT, LAST, HALF_LIFE, REACH, MEMORY = 0.1, 0.05, 64.0, 5.0, 20_000
OFFSET, FLAT = 0.5, 1e-4  # of the offset, to the intercept; of the mean square, the least variance
SHORT, STREAK_END, FAR = 0.01, 10, 1e100
# Places in the clock of a state.
LATEST, BIRTH, SINCE, ROWS, STREAK, LABEL = range(6)
CLOCKS = 6


def extra(classes: int) -> int:
    """How many places a row has beside its features: the intercept, and those of the last label.

    >>> extra(2), extra(3)
    (2, 4)
    """
    return 2 if classes == 2 else 1 + classes


def seen(core: Any, classes: Any, x: Vector, t: int) -> Vector:
    """u for the row x of step t: features, intercept, last label; zeros up to a multiple of four.

    Where a basis is in use, its coordinates take the place of the features, and what is left of
    them stands at the end.
    """
    d, rest = x.size, core.dense.spread.shape[1]
    n = core.dense.weights.shape[2] - rest
    u, k = np.zeros(n + rest), core.basis.shape[0] if rest > 0 else d
    in_row_units(core.means, core.units, x, u[n:] if rest > 0 else u[:d])
    if core.basis.size > 0:
        project(core.basis, u[n:], u[:k])
    u[k] = core.units[d]
    mark_last(core.mixture.clock, classes, t, u[k + 1 : n])
    return u


def in_row_units(means: Vector, units: Vector, x: Vector, out: Vector) -> None:
    """out <- each entry less its mean, over its standard deviation and the root of d."""
    scale = in_units(means, units, x, out) / math.sqrt(x.size)
    for j in range(x.size):
        out[j] *= scale


def mark_last(clock: Counter, classes: Any, t: int, places: Vector) -> None:
    """places <- the last label: its sign, or the place of its class."""
    label = clock[LABEL]
    strength = LAST * 2.0 ** (-abs(t - clock[LATEST]) / HALF_LIFE)
    if classes.told.size == 0:
        places[0] = strength * label
    elif label > 0:
        places[label - 1] = strength


def in_units(means: Vector, units: Vector, x: Vector, out: Vector) -> float:
    """out <- each entry less its mean, over its deviation; gives how far to shorten."""
    total = 0.0
    for j in range(x.size):
        unit = (x[j] - means[j]) * units[j]
        if units[j] == 0.0:
            unit = 1.0 if x[j] > 0.0 else -1.0 if x[j] < 0.0 else 0.0
        out[j] = min(max(unit, -FAR), FAR)
        total += out[j] * out[j]
    return min(1.0, REACH / math.sqrt(max(total / x.size, 1e-300)))


def length(squares: Vector, x: Vector) -> float:
    """How long a row is, not centered: the root of the mean of x_j^2 / s_j."""
    total = 0.0
    for j in range(x.size):
        if squares[j] > 0.0:
            unit = min(abs(x[j]) / math.sqrt(squares[j]), FAR)
            total += unit * unit
    return math.sqrt(total / x.size)


def count_row(core: Any, counted: Any, x: Vector) -> None:
    """Add a row, shortened where it is too long, to the tally: count, sums, sums of squares."""
    tally, unit = counted.tally, np.empty(x.size)
    scale = in_units(core.means, core.units, x, unit)
    for j in range(x.size):
        entry = core.means[j] + scale * (x[j] - core.means[j])
        tally[1 + j] += entry
        tally[1 + x.size + j] += entry * entry
        unit[j] *= scale / math.sqrt(x.size)
    sample_row(counted, unit, int(core.mixture.clock[ROWS] + tally[0]))
    tally[0] += 1.0


def notice(core: Any, counted: Any, x: Vector) -> None:
    """With a label, let m and s learn from the rows of the tally, or from its row alone."""
    clock, tally, d = core.mixture.clock, counted.tally, x.size
    if tally[0] == 0.0:
        count_row(core, counted, x)
    clock[STREAK] = clock[STREAK] + 1 if 0.0 < length(counted.squares, x) < SHORT else 0
    if clock[STREAK] >= STREAK_END:
        clock[STREAK], clock[ROWS] = 0, 0
    count = tally[0]
    share = 1.0 / (min(clock[ROWS], MEMORY) + count)
    clock[ROWS] += int(count)
    for j in range(d):
        core.means[j] += (tally[1 + j] - count * core.means[j]) * share
        counted.squares[j] += (tally[1 + d + j] - count * counted.squares[j]) * share
    tally[:] = 0.0
    renew(core, counted)


def renew(core: Any, counted: Any) -> None:
    """What m and s make of a row: the factor of each entry, and the intercept."""
    d, offset = core.means.size, 0.0
    for j in range(d):
        mean, square = core.means[j], counted.squares[j]
        core.units[j] = 0.0
        if square > 0.0:
            variance = max(square - mean * mean, FLAT * square)
            core.units[j] = 1.0 / math.sqrt(variance if variance > 0.0 else square)
            offset += min(1.0, (mean / math.sqrt(square)) ** 2)
    rows = min(core.mixture.clock[ROWS], MEMORY)
    chance = 1.0 / max(1.0, rows)  # what the mean of centered rows has
    core.units[d] = math.sqrt(INTERCEPT**2 + OFFSET * max(0.0, offset / d - chance))
