"""From dicts to rows: which feature has which place, and the one row that is filled anew."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.guards import LARGEST_ENTRY
from lasec.types import Vector

__all__ = ["Rows", "numbers"]

_MOST = LARGEST_ENTRY**2
# The features of no row: an object that is equal to nothing else.
_NOBODY = (float("nan"),)


def numbers(x: Mapping[Hashable, Any]) -> Vector:
    """The values of a dict of features, which must be numbers or bools.

    >>> numbers({"age": 3, "member": True}).tolist()
    [3.0, 1.0]
    >>> numbers({"colour": "red"})
    Traceback (most recent call last):
    TypeError: x: feature 'colour' is no number but 'red': use river.preprocessing.OneHotEncoder
    """
    try:
        return np.frombuffer(array("d", x.values()))
    except TypeError:
        for name, value in x.items():
            try:
                array("d", [value])
            except TypeError:
                raise TypeError(
                    f"x: feature {name!r} is no number but {value!r}: "
                    "use river.preprocessing.OneHotEncoder"
                ) from None
        raise


class Rows:
    """The places of the features, in the order in which they came, at most ``most`` of them.

    With an ``intercept``, the first place always holds 1.

    >>> rows = Rows(most=10, intercept=False)
    >>> rows.meet(["a", "b"])
    2
    >>> rows.widen(3)
    >>> rows.fill({"b": 2.0}).tolist()
    [0.0, 2.0, 0.0]
    """

    def __init__(self, most: int, intercept: bool) -> None:
        self.most, self.first = most, int(intercept)
        self.index: dict[Hashable, int] = {}
        self.row: Vector = np.zeros(0)
        self._names: tuple[Hashable, ...] = _NOBODY
        self._places: slice | NDArray[np.intp] = slice(0, 0)
        self._known: NDArray[np.bool_] | None = None

    @property
    def used(self) -> int:
        """How many places are in use."""
        return self.first + len(self.index)

    def has(self, names: tuple[Hashable, ...]) -> bool:
        """Whether these are the features of the last row, and all known."""
        return self._known is None and names == self._names

    def meet(self, names: Iterable[Hashable]) -> int:
        """Give a place to each new feature; gives how many places are in use."""
        new = [name for name in names if name not in self.index]
        if len(self.index) + len(new) > self.most:
            raise ValueError(
                f"x: with {new[0]!r} there are more than max_features={self.most} features: "
                "put a river.preprocessing.FeatureHasher before this classifier"
            )
        for name in new:
            self.index[name] = self.used
        if new:
            self._names = _NOBODY
        return self.used

    def widen(self, dimension: int) -> None:
        """From now on, rows have so many places."""
        self.row = np.zeros(dimension)
        self._names = _NOBODY

    def fill(self, x: Mapping[Hashable, Any]) -> Vector:
        """The row of a dict; it is good until the next one. Unknown features are left out."""
        self.arrange(tuple(x))
        return self.put(numbers(x))

    def arrange(self, names: tuple[Hashable, ...]) -> None:
        """Say which features the values have that are put in next."""
        if names == self._names:
            return
        known = np.array([name in self.index for name in names], dtype=bool)
        places = np.array([self.index[name] for name in names if name in self.index], dtype=np.intp)
        run = slice(self.first, self.first + places.size)
        in_order = np.array_equal(places, np.arange(run.start, run.stop))
        self._names, self._places = names, run if in_order else places
        self._known = None if known.all() else known
        self.row.fill(0.0)
        self.row[: self.first] = 1.0

    def put(self, values: Vector) -> Vector:
        """The row with these values; it is good until the next one."""
        if not np.dot(values, values) <= _MOST:
            if not np.isfinite(values).all():
                raise ValueError("x: contains NaN or infinity")
            raise ValueError(f"x: contains a value beyond {LARGEST_ENTRY:g} in size")
        self.row[self._places] = values if self._known is None else values[self._known]
        return self.row
