"""Synthetic streams: the paper's, and other ways in which a concept can move.

Where concepts are linear, the label is ``sign(x_t'u_t)``, with sign(0) = +1. A label is flipped
with probability ``noise``. The same seed gives the same stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.parameters import Range, number
from lasec.streams.stream import Stream, flipped

Array = NDArray[np.float64]


def switching(
    rows: int = 10_000,
    *,
    dimension: int = 50,
    every: int = 500,
    noise: float = 0.0,
    seed: int = 0,
) -> Stream:
    """The paper's stream: a Gaussian target that is redrawn every ``every`` rows.

    x_t and u_t are standard normal. The defaults are those of Moroshko and Crammer (AISTATS 2014,
    section 5).

    >>> X, y = switching(1_000, dimension=3, every=100, seed=7)
    >>> X.shape, y.shape, sorted(set(y.tolist()))
    ((1000, 3), (1000,), [-1, 1])
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, dimension))
    period = _period(rows, every)
    targets = rng.standard_normal((period[-1] + 1 if rows else 0, dimension))
    return _labeled(rng, X, period, targets, noise)


def stationary(
    rows: int = 10_000, *, dimension: int = 50, noise: float = 0.0, seed: int = 0
) -> Stream:
    """One concept that never changes: what drift-aware algorithms pay for their adaptivity.

    >>> stationary(100, dimension=3)
    Stream(rows=100, dimension=3, concepts=1)
    """
    return switching(rows, dimension=dimension, every=max(rows, 1), noise=noise, seed=seed)


def recurring(
    rows: int = 10_000,
    *,
    dimension: int = 50,
    every: int = 500,
    concepts: int = 4,
    noise: float = 0.0,
    seed: int = 0,
) -> Stream:
    """A few concepts that come back: each period has one of them, never the one before it.

    >>> recurring(1_000, dimension=3, every=100, concepts=2).concept[::100].tolist()
    [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, dimension))
    targets = rng.standard_normal((concepts, dimension))
    period = _period(rows, every)
    steps = rng.integers(1, max(concepts, 2), size=period[-1] + 1 if rows else 0)
    steps[:1] = 0
    order = np.cumsum(steps) % concepts
    return _labeled(rng, X, order[period], targets, noise)


def walking(
    rows: int = 10_000,
    *,
    dimension: int = 50,
    speed: float = 0.01,
    noise: float = 0.0,
    seed: int = 0,
) -> Stream:
    """Slow drift: the target walks at random on the unit sphere, by about ``speed`` a row.

    >>> stream = walking(1_000, dimension=3, speed=0.01)
    >>> steps = np.linalg.norm(np.diff(stream.target, axis=0), axis=1)
    >>> bool(0.005 < steps.mean() < 0.02)
    True
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, dimension))
    targets = rng.standard_normal((rows, dimension))
    targets[:1] /= np.linalg.norm(targets[:1])
    for t in range(1, rows):
        moved = targets[t - 1] + speed / np.sqrt(dimension) * targets[t]
        targets[t] = moved / np.linalg.norm(moved)
    return _labeled(rng, X, np.arange(rows), targets, noise)


def shifting_classes(
    X: ArrayLike,
    classes: ArrayLike,
    *,
    every: int = 500,
    shuffle: bool = True,
    noise: float = 0.0,
    seed: int = 0,
) -> Stream:
    """Some classes are positive, the others negative: redrawn every ``every`` rows.

    Each class is positive with probability 1/2; the draw is repeated while the positive classes are
    none or all; draws are independent of each other. With ``shuffle`` the rows first get a random
    order. A label is flipped with probability ``noise``.

    >>> X, digits = np.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2]
    >>> stream = shifting_classes(X, digits, every=3, seed=1)
    >>> stream, sorted(set(stream.y.tolist()))
    (Stream(rows=6, dimension=2, concepts=2), [-1, 1])
    """
    rng = np.random.default_rng(seed)
    rows = np.asarray(X, dtype=np.float64)
    names, codes = np.unique(np.asarray(classes), return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"classes: expected at least two classes, got {len(names)}")
    order = rng.permutation(len(rows)) if shuffle else np.arange(len(rows))
    concept = np.arange(len(rows)) // int(number("every", every, int, Range(1, 2**62)))
    positive = np.array([_subset(rng, len(names)) for _ in range(-(-len(rows) // every))])
    chosen = positive.reshape(-1, len(names))[concept, codes[order]]
    y = flipped(rng, np.where(chosen, 1, -1).astype(np.int8), noise)
    return Stream(rows[order], y, concept)


def _period(rows: int, every: int) -> NDArray[np.int64]:
    """The number of the period of each row."""
    return np.arange(rows) // int(number("every", every, int, Range(1, 2**62)))


def _labeled(
    rng: np.random.Generator, X: Array, concept: NDArray[np.int64], targets: Array, noise: float
) -> Stream:
    """The stream of these rows under these concepts."""
    score = np.einsum("td,td->t", X, targets[concept])
    y = np.where(score >= 0.0, 1, -1).astype(np.int8)
    return Stream(X, flipped(rng, y, noise), concept, targets)


def _subset(rng: np.random.Generator, size: int) -> list[bool]:
    """A random sign for each of ``size`` classes, redrawn while all of them agree."""
    while True:
        signs = rng.random(size) < 0.5
        if signs.any() and not signs.all():
            return [bool(sign) for sign in signs]
