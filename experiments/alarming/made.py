"""Streams without a change, of ten columns of several kinds: what an alarm must be silent about.

Each column is a function of a hidden normal variable: three are normal, one is lognormal, two are
0/1 with a share of 30 %, one of 2 %, two are Poisson counts with mean 3, and one is normal with 5 %
of its cells missing. A kind of stream says how the hidden variables behave: independent, with a
cycle, with a trend, a random walk, or autocorrelated; then also rare events and gaps come in
bursts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FIRST = 20_000  # seeds above it are measured on; none of them was used to choose a constant
COLUMNS = (
    "normal", "normal", "normal", "lognormal", "30 %", "30 %", "2 %", "count", "count", "missing",
)  # fmt: skip
RANDOM_WALK = 0.38 / np.sqrt(16_000)
TREND = 2.5 / 100_000
CUTS = {"30 %": 0.5244, "2 %": 2.0537, "missing": 1.6449}  # quantiles of the normal distribution
COUNTS = np.array([-1.6464, -0.8454, -0.1929, 0.3774, 0.8963, 1.3819, 1.8427, 2.2838, 2.7084])


def seeds(count: int) -> range:
    """The seeds of so many streams.

    >>> list(seeds(2))
    [20001, 20002]
    """
    return range(FIRST + 1, FIRST + count + 1)


def _cycle(period: int) -> Callable[[np.random.Generator, int], Array]:
    def made(rng: np.random.Generator, rows: int) -> Array:
        t = np.arange(rows)
        wave: Array = np.sqrt(2.0) * np.sin(2.0 * np.pi * (t / period + rng.random()))
        return wave

    return made


def _week(day: int) -> Callable[[np.random.Generator, int], Array]:
    """A cycle of a day whose size and level differ by the day of the week."""

    def made(rng: np.random.Generator, rows: int) -> Array:
        weekday = (np.arange(rows) // day) % 7
        size, level = rng.uniform(0.5, 1.5, 7)[weekday], 0.7 * rng.standard_normal(7)[weekday]
        return size * _cycle(day)(rng, rows) + level

    return made


def _trend(rng: np.random.Generator, rows: int) -> Array:
    slope = float(rng.choice([-1, 1])) * TREND
    return slope * np.arange(rows, dtype=np.float64)


def _walk(rng: np.random.Generator, rows: int) -> Array:
    steps: Array = RANDOM_WALK * rng.standard_normal(rows)
    return np.cumsum(steps)


def autoregressive(rng: np.random.Generator, rows: int, r: float) -> Array:
    """A stationary AR(1) process of variance 1."""
    from scipy.signal import lfilter  # noqa: PLC0415

    noise = np.sqrt(1.0 - r * r) * rng.standard_normal(rows)
    noise[0] = rng.standard_normal()
    made: Array = lfilter([1.0], [1.0, -r], noise)
    return made


KINDS: dict[str, Callable[[np.random.Generator, int], Array] | float | None] = {
    "independent rows": None,
    "cycle of 48 rows": _cycle(48),
    "cycle of 1,000 rows": _cycle(1_000),
    "cycle of 5,000 rows": _cycle(5_000),
    "week, 100 rows a day": _week(100),
    "week, 1,000 rows a day": _week(1_000),
    "trend, up to 2.5 sd in 100,000 rows": _trend,
    "random walk, 0.38 sd in 16,000 rows": _walk,
    "AR(1) 0.9": 0.9,
    "AR(1) 0.99": 0.99,
    "AR(1) 0.999": 0.999,
}


def hidden(kind: str, rng: np.random.Generator, rows: int) -> Array:
    """One hidden variable."""
    form = KINDS[kind]
    if isinstance(form, float):
        return autoregressive(rng, rows, form)
    noise: Array = rng.standard_normal(rows)
    return noise if form is None else noise + rng.uniform(0.0, 1.0) * form(rng, rows)


def stream(kind: str, rows: int, seed: int) -> Array:
    """Ten columns of a kind, NaN where a cell is missing.

    >>> X = stream("independent rows", 1_000, seed=1)
    >>> X.shape, bool(np.isnan(X[:, 9]).mean() < 0.1)
    ((1000, 10), True)
    """
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    made = np.empty((rows, len(COLUMNS)))
    for at, column in enumerate(COLUMNS):
        u = hidden(kind, rng, rows)
        if column == "lognormal":
            u = np.exp(0.8 * u)
        elif column == "count":
            u = np.searchsorted(COUNTS, u).astype(float)
        elif column == "missing":
            u[hidden(kind, rng, rows) > CUTS["missing"]] = np.nan
        elif column in CUTS:
            u = (u > CUTS[column]).astype(float)
        made[:, at] = u
    return made


CHANGES = ("mean +0.25 sd", "mean +0.5 sd", "mean +1 sd", "spread x 2", "share +0.2",
           "new category 5 %", "missing +0.1")  # fmt: skip


def changed(X: Array, change: str, at: int, seed: int) -> tuple[Array, int]:
    """A stream with one change of one column from a row on; and the column."""
    X, rng = X.copy(), np.random.default_rng([seed, 99])
    rows = len(X) - at
    column = {"share +0.2": 4, "new category 5 %": 6, "missing +0.1": 1}.get(change, 0)
    y = X[at:, column]
    if change.startswith("mean"):
        y += float(change[6:-3]) * X[:at, column].std()
    elif change == "spread x 2":
        y[:] = y.mean() + 2.0 * (y - y.mean())
    elif change == "share +0.2":
        y[:] = np.maximum(y, rng.random(rows) < 0.2 / 0.7)
    elif change == "new category 5 %":
        X[:, column] = 0.0
        y[:] = rng.random(rows) < 0.05
    else:
        y[rng.random(rows) < 0.1] = np.nan
    return X, column
