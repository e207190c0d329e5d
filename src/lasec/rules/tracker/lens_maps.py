"""The maps of the lenses: what each adds to a standardized row, and how it is drawn.

With the standardized row z (each entry within +-4) a lens sees (z, map(z)), with D entries more::

    Gaussian   sqrt(2) cos(W z + b)      rows of W orthogonal in groups of d, as long as normal
                                         vectors, over the median distance of two rows
    Laplace    sqrt(2) cos(W z + b)      entries of W Cauchy, at most 30, over the median sum of
                                         absolute differences
    products   (a'z)(c'z), within +-9    a and c have an entry of 1 and one of +1 or -1
    steps      tanh(3 (z_j - q))         q are quantiles of column j, spread evenly

The first two are random Fourier features (Rahimi and Recht, *Random Features for Large-Scale Kernel
Machines*, 2007; orthogonal ones: Yu and others, *Orthogonal Random Features*, 2016). Distances and
quantiles are those of the first rows that came, labeled or not; all else is drawn from a seed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.linalg import put
from lasec.rules.tracker.beliefs import blank
from lasec.rules.tracker.seen import INTERCEPT, in_units
from lasec.types import Counter, Matrix, Vector

__all__ = ["column_of", "lens_row", "standardized"]

GAUSSIAN, LAPLACE, PRODUCTS, STEPS = range(4)
LENSES = 4
REACH, HEAVY, HIGH, STEEP, PRODUCT_UNIT = 4.0, 30.0, 9.0, 3.0, 0.5
PAIRS = 2_000
_ROOT_TWO = math.sqrt(2.0)
_STEEP = np.float32(STEEP)  # in single precision, as what it is multiplied with

Single = NDArray[np.float32]


def standardized(means: Vector, units: Vector, x: Vector) -> Single:
    """Z: the row in units of the standard deviation, each entry within +-4."""
    unit, z = np.empty(x.size), np.empty(x.size, np.float32)
    in_units(means, units, x, unit)
    for j in range(x.size):
        z[j] = min(max(unit[j], -REACH), REACH)
    return z


def column_of(step: int, features: int, dimension: int) -> int:
    """The column of a step: all columns in turn, or as many as there are steps, evenly spread.

    >>> [column_of(s, 3, 2) for s in range(3)], [column_of(s, 3, 9) for s in range(3)]
    ([0, 1, 0], [0, 3, 6])
    """
    return step % dimension if dimension <= features else step * dimension // features


class Maps(NamedTuple):
    """The maps, as arrays."""

    directions: Single
    phases: Single
    pairs: Counter
    cuts: Single


def blank_maps(d: int, features: int) -> Maps:
    """The shapes of maps of so many columns."""
    single = np.float32
    directions, phases = blank(2, features, d, kind=single), blank(2, features, kind=single)
    pairs = blank(features, 4, kind=np.int64)
    return Maps(directions, phases, pairs, blank(features, kind=single))


def lens_row(maps: Any, e: int, z: Single) -> Vector:
    """(z, map(z)) for lens ``e``."""
    d, features, pairs = z.size, maps.cuts.size, maps.pairs
    out = np.empty(d + features)
    put(out, z)
    if e <= LAPLACE:
        turned = np.dot(maps.directions[e], z)
        for i in range(features):
            out[d + i] = _ROOT_TWO * math.cos(turned[i] + maps.phases[e, i])
    elif e == PRODUCTS:
        for i in range(features):
            b, f = pairs[i, 1], pairs[i, 3]
            one = z[pairs[i, 0] - 1] + (z[b - 1] if b > 0 else -z[-b - 1])
            two = z[pairs[i, 2] - 1] + (z[f - 1] if f > 0 else -z[-f - 1])
            out[d + i] = min(max(one * two, -HIGH), HIGH)
    else:
        for i in range(features):
            above = z[column_of(i, features, d)] - maps.cuts[i]
            out[d + i] = math.tanh(_STEEP * above)
    return out


def make_maps(rule: Any, state: Any) -> None:
    """Draw the maps, and what the cores need to know of their rows, from the first rows."""
    rng, Z, maps = np.random.default_rng(rule.map_seed), _all_standardized(state), state.maps
    one, two = rng.integers(len(Z), size=(2, PAIRS))
    apart = np.abs(Z[one] - Z[two])
    features, d = maps.cuts.size, Z.shape[1]
    distance = _median(np.linalg.norm(apart, axis=1))
    maps.directions[GAUSSIAN] = _orthogonal(rng, features, d) / distance
    cauchy = np.clip(rng.standard_cauchy((features, d)), -HEAVY, HEAVY)
    maps.directions[LAPLACE] = cauchy / _median(apart.sum(axis=1))
    maps.phases[:] = rng.uniform(0.0, 2.0 * math.pi, maps.phases.shape)
    maps.pairs[:] = _pairs(rng, features, d)
    maps.cuts[:] = _cuts(Z, features)
    for e in range(LENSES):
        _fit(state.cores, e, lens_rows(maps, e, Z), d)


def lens_rows(maps: Any, e: int, Z: Matrix) -> Matrix:
    """What :func:`lens_row` gives for each row, all at once."""
    if e <= LAPLACE:
        turned = Z @ maps.directions[e].T.astype(np.float64) + maps.phases[e]
        return np.hstack([Z, _ROOT_TWO * np.cos(turned)])
    if e == PRODUCTS:
        a, b, c, f = maps.pairs.T
        one = Z[:, a - 1] + np.sign(b) * Z[:, np.abs(b) - 1]
        two = Z[:, c - 1] + np.sign(f) * Z[:, np.abs(f) - 1]
        return np.hstack([Z, np.clip(one * two, -HIGH, HIGH)])
    columns = _columns(maps.cuts.size, Z.shape[1])
    return np.hstack([Z, np.tanh(STEEP * (Z[:, columns] - maps.cuts))])


def _all_standardized(state: Any) -> Matrix:
    """What :func:`standardized` gives for each of the first rows, all at once."""
    X, units = state.early, state.raw.core.units[:-1]
    Z = np.where(units > 0.0, (X - state.raw.core.means) * units, np.sign(X))
    made: Matrix = np.clip(Z, -REACH, REACH)
    return made


def _columns(features: int, d: int) -> Counter:
    """The column of each step."""
    return np.array([column_of(i, features, d) for i in range(features)])


def _median(values: Vector) -> float:
    """The median, or 1 where all rows are the same."""
    middle = float(np.median(values))
    return middle if middle > 0.0 else 1.0


def _orthogonal(rng: np.random.Generator, count: int, d: int) -> Matrix:
    """Directions that are orthogonal in groups of d, as long as normal vectors."""
    groups = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(-(-count // d))]
    lengths = np.linalg.norm(rng.standard_normal((count, d)), axis=1)
    made: Matrix = np.vstack(groups)[:count] * lengths[:, None]
    return made


def _pairs(rng: np.random.Generator, count: int, d: int) -> NDArray[np.int64]:
    """The columns of a and c, from 1, different ones if there are; with the sign of the second."""
    made = np.empty((count, 4), np.int64)
    for row in made:
        for half in (0, 2):
            row[half : half + 2] = 1 + rng.choice(d, 2, replace=d < 2)
    made[:, 1::2] *= rng.choice([-1, 1], (count, 2))
    return made


def _cuts(Z: Matrix, features: int) -> Vector:
    """For each step a quantile of its column, those of a column spread evenly."""
    columns, made = _columns(features, Z.shape[1]), np.empty(features)
    for j in np.unique(columns):
        mine = np.flatnonzero(columns == j)
        made[mine] = np.quantile(Z[:, j], np.arange(1, len(mine) + 1) / (len(mine) + 1))
    return made


def _fit(cores: Any, e: int, F: Matrix, d: int) -> None:
    """Where the rows of a lens are, and their leading directions.

    The scale is known: an entry is about 1 in size, a product about 2. The scale of the first rows
    would be no better, and too small where a column that seldom changes did not change in them.
    """
    width = F.shape[1]
    means, units = F.mean(axis=0), np.ones(width)
    means[:d], units[d:] = 0.0, PRODUCT_UNIT if e == PRODUCTS else 1.0
    cores.means[e], cores.units[e] = means, np.append(units, INTERCEPT)
    U = (F - means) * units / math.sqrt(width)
    k = cores.basis.shape[1]
    cores.basis[e] = np.linalg.eigh(U.T @ U)[1][:, : -k - 1 : -1].T
