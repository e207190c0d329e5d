"""What a stream is: rows, labels, and where it is known, the concept behind each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import Range, number


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Rows ``X`` and labels ``y``; it unpacks into the two, as in ``X, y = stream``.

    ``concept`` numbers the concept of each row. For linear concepts, ``targets`` holds the weight
    vector of each concept, and ``target`` that of each row.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=3, every=250, seed=1)
    >>> stream
    Stream(rows=1000, dimension=3, concepts=4)
    >>> lasec.LASEC(dimension=3).run(*stream)
    Records(rows=1000, accuracy=0.936, labels=1000, rate=1.000)
    """

    X: NDArray[np.float64]
    y: NDArray[np.int8]
    concept: NDArray[np.int64]
    targets: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.X
        yield self.y

    @property
    def target(self) -> NDArray[np.float64]:
        """The true weight vector of each step, a row a step.

        >>> import lasec
        >>> stream = lasec.streams.switching(1_000, dimension=3, seed=1)
        >>> bool((np.sign((stream.X * stream.target).sum(axis=1)) == stream.y).all())
        True
        """
        if self.targets is None:
            raise ValueError("this stream's concepts are not linear: it has no targets")
        return self.targets[self.concept]

    def __repr__(self) -> str:
        rows, dimension = self.X.shape
        concepts = np.unique(self.concept).size
        return f"Stream(rows={rows}, dimension={dimension}, concepts={concepts})"


def flipped(rng: np.random.Generator, y: NDArray[np.int8], noise: float) -> NDArray[np.int8]:
    """The labels, each flipped with probability ``noise``.

    >>> flipped(np.random.default_rng(0), np.array([1, -1], dtype=np.int8), noise=1.0).tolist()
    [-1, 1]
    """
    share = number("noise", noise, float, Range(0.0, 1.0))
    return np.where(rng.random(y.size) < share, -y, y) if share > 0.0 else y
