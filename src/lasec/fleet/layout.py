"""How one model lies in a row of bytes: its arrays in order, of a covariance the lower triangle."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.types import SymmetricState

# Each array begins at a multiple of this many bytes.
_STEP = 8


class Place(NamedTuple):
    """Where an array of the state lies: from which byte on, how many numbers, of what type.

    ``lower`` says that these are symmetric matrices, of which only one triangle is kept.
    """

    name: str
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    numbers: int
    lower: bool

    @property
    def columns(self) -> tuple[int, int]:
        """The first number, and the one after the last, in a row of numbers of this type."""
        first = self.begin // self.kind.itemsize
        return first, first + self.numbers

    def spread(self, stacked: NDArray[Any]) -> NDArray[Any]:
        """The stacked array as compiled code wants it: a row a model, or its matrices."""
        d = self.shape[-1]
        return stacked.reshape((len(stacked), -1, d, d) if self.lower else (len(stacked), -1))


def places(state: Any) -> list[Place]:
    """Where the arrays of one model lie.

    >>> import lasec
    >>> [place.begin for place in places(lasec.rules.SecondOrder().init(3))]
    [0, 24]
    """
    symmetric = state.symmetric if isinstance(state, SymmetricState) else ()
    found, begin = [], 0
    for name, array in zip(state._fields, state, strict=True):
        count = array.size
        if name in symmetric:
            d = array.shape[-1]
            count = math.prod(array.shape[:-2]) * d * (d + 1) // 2
        found.append(Place(name, array.dtype, array.shape, begin, count, name in symmetric))
        begin += -(-count * array.itemsize // _STEP) * _STEP
    return found


def size(found: list[Place]) -> int:
    """How many bytes a model takes.

    >>> import lasec
    >>> size(places(lasec.rules.SecondOrder().init(64)))
    17152
    """
    last = found[-1]
    return last.begin + -(-last.numbers * last.kind.itemsize // _STEP) * _STEP
