"""A binary stream with shifts from rows in several classes, as the paper makes from USPS."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lasec.parameters import Range, number
from lasec.streams.stream import Stream, flipped


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


def _subset(rng: np.random.Generator, size: int) -> list[bool]:
    """A random sign for each of ``size`` classes, redrawn while all of them agree."""
    while True:
        signs = rng.random(size) < 0.5
        if signs.any() and not signs.all():
            return [bool(sign) for sign in signs]
