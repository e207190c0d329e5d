"""The paper's synthetic stream: a linear concept that is replaced from time to time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def switching(
    rounds: int = 10_000, *, dimension: int = 50, every: int = 500, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Gaussian rows labelled by a Gaussian target that is drawn anew every ``every`` rounds.

    x_t and u_t are standard normal, y_t = sign(x_t'u_t) with sign(0) = +1. The defaults are those
    of Moroshko and Crammer (AISTATS 2014, section 5). Gives the rows and their labels.

    >>> X, y = switching(1_000, dimension=3, every=100, seed=7)
    >>> X.shape, y.shape, sorted(set(y.tolist()))
    ((1000, 3), (1000,), [-1, 1])
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, dimension))
    targets = rng.standard_normal((-(-rounds // every), dimension))
    scores = np.einsum("td,td->t", X, targets[np.arange(rounds) // every])
    return X, np.where(scores >= 0.0, 1, -1).astype(np.int8)
