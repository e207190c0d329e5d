"""From dicts to rows: which feature has which place, and the one row that is refilled."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import shown
from lasec.sparse import one_by_one
from lasec.text import TextHasher
from lasec.types import Matrix, Vector
from lasec.validation import LARGEST_ENTRY, finite

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HashedRows", "Rows", "numbers", "table_of"]

_MOST = LARGEST_ENTRY**2
# The features of no row: an object that is equal to nothing else.
_NOBODY = (float("nan"),)


def numbers(x: Mapping[Hashable, Any]) -> Vector:
    """The values of a dict of features, which must be numbers or bools, of a usable size.

    >>> numbers({"age": 3, "member": True}).tolist()
    [3.0, 1.0]
    >>> numbers({"color": "red"})
    Traceback (most recent call last):
    TypeError: x: feature 'color' is no number but 'red': use river.preprocessing.OneHotEncoder
    >>> numbers({"age": None})
    Traceback (most recent call last):
    TypeError: x: feature 'age' is missing (None): leave it out, or use a StatImputer before
    """
    try:
        values = np.frombuffer(array("d", x.values()))
    except Exception:  # of a number that is none, or of a stranger's __float__
        raise _refusal(x) from None
    if not np.dot(values, values) <= _MOST:
        raise _refusal(x)
    return values


def _refusal(x: Any) -> Exception:
    """What is wrong with a dict of features."""
    if not isinstance(x, Mapping):
        return TypeError(f"x: expected a dict of features, got {shown(x)}")
    for name, value in x.items():
        which = f"x: feature {shown(name)}"
        if value is None:
            return TypeError(
                f"{which} is missing (None): leave it out, or use a StatImputer before"
            )
        try:
            (number,) = array("d", [value])
        except OverflowError:
            number = math.inf
        except Exception:
            return TypeError(
                f"{which} is no number but {shown(value)}: use river.preprocessing.OneHotEncoder"
            )
        if math.isnan(number):
            return ValueError(f"{which} is NaN: leave it out, or use a StatImputer before")
        if abs(number) > LARGEST_ENTRY:
            return ValueError(f"{which} is infinite or beyond {LARGEST_ENTRY:g} in size")
    return ValueError(f"x: its values together are beyond {LARGEST_ENTRY:g} in size")


def table_of(X: pd.DataFrame) -> Matrix:
    """The numbers of a table, or an error about a value; of a foreign column it names the feature.

    >>> import pandas as pd
    >>> table_of(pd.DataFrame({"age": [3, 4], "member": [True, False]})).tolist()
    [[3.0, 1.0], [4.0, 0.0]]
    """
    if not X.columns.is_unique:
        raise ValueError(f"X: two columns are named {X.columns[X.columns.duplicated()][0]!r}")
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "biuf":
            for value in X[name]:
                numbers({name: value})
    return finite("X", X.to_numpy(dtype=np.float64, na_value=np.nan))


def _order(name: Hashable) -> tuple[bool, int, str]:
    return (False, name, "") if isinstance(name, int) else (True, 0, str(name))


class Rows:
    """The places of the features, in the order in which they came, at most ``most`` of them.

    Features that come together are put in the order of their names (whole numbers by their size,
    before all others), so that the order in a dict changes nothing: in single precision it can be
    seen in which order numbers are added.
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

    def new(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Those of these features that have no place, or an error if there is no room for them."""
        new = [name for name in names if name not in self.index]
        if len(self.index) + len(new) > self.most:
            raise ValueError(
                f"x: with {new[0]!r} there are more than max_features={self.most} features: "
                "put a river.preprocessing.FeatureHasher before this classifier"
            )
        return new

    def meet(self, names: Iterable[Hashable]) -> int:
        """Give a place to each new feature; gives how many places are in use."""
        new = self.new(names)
        try:
            ordered = sorted(new, key=_order)
        except Exception as error:  # of a stranger's __str__
            raise TypeError("x: a feature has a name that cannot be written") from error
        for name in ordered:
            self.index[name] = self.used
        if new:
            self._names = _NOBODY
        return self.used

    def mark(self) -> tuple[int, int]:
        """How many features and places there are now, for :meth:`back`."""
        return len(self.index), self.row.size

    def back(self, features: int, dimension: int) -> None:
        """Forget all but the first features, and the places that were made for the others."""
        while len(self.index) > features:
            self.index.popitem()
        self.widen(dimension)

    def widen(self, dimension: int) -> None:
        """From now on, rows have so many places."""
        self.row = np.zeros(dimension)
        self._names = _NOBODY

    def chunk(self, x: Mapping[Hashable, Any]) -> Matrix:
        """The row of a dict as a chunk of one row; it is good until the next one."""
        return self.fill(x)[None]

    def fill(self, x: Mapping[Hashable, Any]) -> Vector:
        """The row of a dict; it is good until the next one. Unknown features are left out."""
        values = numbers(x)
        self.arrange(tuple(x))
        return self.put(values)

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
        self.row[self._places] = values if self._known is None else values[self._known]
        return self.row

    def each(self, X: pd.DataFrame) -> Iterator[Vector]:
        """The rows of a table, one after the other; each is good until the next one."""
        table = table_of(X)
        self.arrange(tuple(X.columns))
        return map(self.put, table)

    def table(self, X: pd.DataFrame) -> Matrix:
        """The rows of a table together."""
        made = np.empty((len(X), self.row.size))
        for row, values in zip(made, self.each(X), strict=True):
            row[:] = values
        return made

    def strange(self, values: Vector) -> float:
        """The length of what :meth:`put` leaves out of these values."""
        return 0.0 if self._known is None else float(np.linalg.norm(values[~self._known]))


class HashedRows:
    """Sparse rows, in which the name of a feature gives its column (:class:`lasec.TextHasher`).

    There is a column for every name, so none is ever new.

    >>> rows = HashedRows(2**18)
    >>> rows.fill({"free": 2, "prize": 1}).data.tolist()
    [2.0, 1.0]
    """

    def __init__(self, columns: int) -> None:
        self.hasher = TextHasher(columns)
        self.row = self.hasher.row({})
        self._names: tuple[Hashable, ...] = ()

    def has(self, names: tuple[Hashable, ...]) -> bool:
        """Whether these features have a place: all do."""
        return True

    def mark(self) -> tuple[int, int]:
        """Nothing has to be undone."""
        return 0, 0

    def back(self, features: int, dimension: int) -> None:
        """Nothing has to be undone."""

    def chunk(self, x: Mapping[Hashable, Any]) -> Any:
        """The row of a dict as a chunk of one row: a sparse row is that already."""
        return self.fill(x)

    def fill(self, x: Mapping[Hashable, Any]) -> Any:
        """The row of a dict."""
        values = numbers(x)
        self.arrange(tuple(x))
        return self.put(values)

    def arrange(self, names: tuple[Hashable, ...]) -> None:
        """Say which features the values have that are put in next."""
        self._names = names

    def put(self, values: Vector) -> Any:
        """The row with these values."""
        self.row = self.hasher.row(dict(zip(self._names, values.tolist(), strict=True)))
        return self.row

    def each(self, X: pd.DataFrame) -> Iterator[Any]:
        """The rows of a table, one after the other."""
        return iter(one_by_one(self.table(X)))

    def table(self, X: pd.DataFrame) -> Any:
        """The rows of a table together; one of sparse columns is never made dense."""
        from scipy.sparse import coo_array, csr_array  # noqa: PLC0415, a table alone needs it

        if len(X.columns) and all(hasattr(kind, "fill_value") for kind in X.dtypes):
            given = X.sparse.to_coo()
        else:
            given = coo_array(table_of(X))
        places = [self.hasher.column(str(name)) for name in X.columns]
        columns = np.array([column for column, _ in places], np.int64)[given.col]
        signs = np.array([sign for _, sign in places])[given.col]
        shape = len(X), self.hasher.columns
        return csr_array((signs * given.data, (given.row, columns)), shape)

    def strange(self, values: Vector) -> float:
        """The length of the values that have no place: none."""
        return 0.0
