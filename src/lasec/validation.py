"""What comes in at the door: each function gives clean arrays, or an error that names the argument.

Nothing here touches a model, so a refused call leaves it exactly as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.parameters import WHOLE, shown

# No product that a rule forms from rows up to this size can overflow.
LARGEST_ENTRY = 1e60


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """Whatever a stranger's ``__array__`` or ``__float__`` raises is an error about the argument.

    >>> with foreign("X"):
    ...     raise OverflowError("int too large to convert to float")
    Traceback (most recent call last):
    TypeError: X: not an array of numbers (int too large to convert to float)
    """
    try:
        yield
    except (TypeError, ValueError):
        raise
    except MemoryError as error:
        raise ValueError(f"{name}: does not fit into memory") from error
    except Exception as error:
        raise TypeError(f"{name}: not an array of numbers ({error})") from error


def array(name: str, values: object) -> NDArray[Any]:
    """``values`` as NumPy sees them, or an error that names the argument: the way in for arrays.

    >>> array("x", [[1.0], [1.0, 2.0]])
    Traceback (most recent call last):
    ValueError: x: not a rectangular array of numbers
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported, fill in or drop what is masked")
    try:
        with foreign(name):
            return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: not a rectangular array of numbers") from error


def contiguous(name: str, given: NDArray[Any], kind: Any) -> NDArray[Any]:
    """The same numbers as ``kind``, one after the other."""
    with np.errstate(over="ignore"), foreign(name):
        return np.require(given, dtype=kind, requirements=["C", "A"])


def real(
    name: str, values: ArrayLike, ndim: int, kinds: str = "fiub", kind: Any = np.float64
) -> NDArray[Any]:
    """``values`` as a contiguous array of ``ndim`` axes of real numbers, of any size."""
    given = array(name, values)
    if given.dtype.kind not in kinds:
        raise TypeError(f"{name}: expected real numbers, got dtype {given.dtype}")
    if given.ndim != ndim:
        raise ValueError(f"{name}: expected {ndim} axis/axes, got shape {given.shape}")
    return contiguous(name, given, kind)


def finite(name: str, numbers: NDArray[Any]) -> NDArray[Any]:
    """``numbers`` themselves, if all are of a usable size."""
    if numbers.size and not np.abs(numbers).max() <= LARGEST_ENTRY:
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name}: contains NaN or infinity")
        raise ValueError(f"{name}: contains a value beyond {LARGEST_ENTRY:g} in size")
    return numbers


def row(x: ArrayLike, dimension: int, kind: Any = np.float64) -> NDArray[Any]:
    """One instance.

    >>> row([1, 2, 3], dimension=2)
    Traceback (most recent call last):
    ValueError: x: expected 2 features, got 3
    """
    clean = finite("x", real("x", x, 1, kind=kind))
    if clean.size != dimension:
        raise ValueError(f"x: expected {dimension} features, got {clean.size}")
    return clean


def rows(X: ArrayLike, dimension: int, kind: Any = np.float64) -> NDArray[Any]:
    """A chunk of instances, one a row; it may have no rows. Its entries may still be of any size.

    >>> rows(np.zeros((0, 3)), dimension=3).shape
    (0, 3)
    """
    clean = real("X", X, 2, kind=kind)
    if clean.shape[1] != dimension:
        raise ValueError(f"X: expected {dimension} features, got {clean.shape[1]}")
    return clean


def column(name: str, values: ArrayLike, count: int, what: str) -> NDArray[np.float64]:
    """A finite number for each row."""
    clean = finite(name, real(name, values, 1))
    if clean.size != count:
        raise ValueError(
            f"{name}: expected {count} {what}, one for each row of X, got {clean.size}"
        )
    return clean


def signs(y: Any, count: int) -> NDArray[np.float64] | None:
    """So many labels, all -1 or +1, in an array of numbers; None if they are anything else.

    NaN is a row without a label.

    >>> signs(np.array([1, -1]), 2), signs(np.array([0, 1]), 2), signs(["ham"], 1)
    (array([ 1., -1.]), None, None)
    """
    if type(y) is not np.ndarray or y.shape != (count,) or y.dtype.kind not in "fi":
        return None
    clean = contiguous("y", y, np.float64)
    return clean if ((np.abs(clean) == 1.0) | np.isnan(clean)).all() else None


def classes(y: ArrayLike, count: int) -> tuple[list[Any], NDArray[np.intp]]:
    """The different labels of a chunk, of any kind, and which of them each row has.

    A row without a label (None or NaN) has -1.

    >>> classes(["ham", "spam", None, "ham"], count=4)
    (['ham', 'spam'], array([ 0,  1, -1,  0]))
    """
    listed: Any = y
    with foreign("y"):
        given: NDArray[Any] = listed if type(y) is np.ndarray else _objects(list(listed))
    if given.shape != (count,):
        raise ValueError(f"y: expected {count} labels, one for each row, got {given.shape}")
    if given.dtype == object:
        places: dict[Any, int] = {}
        which = [
            -1 if is_missing(label) else places.setdefault(class_label(label), len(places))
            for label in given
        ]
        return list(places), np.array(which, dtype=np.intp)
    kinds, found = np.unique(given, return_inverse=True)
    listed, found = kinds.tolist(), found.reshape(-1)
    if listed and is_missing(listed[-1]):  # NaN is sorted to the end
        found[found == len(listed) - 1] = -1
        listed.pop()
    return [class_label(kind) for kind in listed], found


def _objects(values: list[Any]) -> NDArray[Any]:
    """A list as an array of whatever is in it."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def is_missing(y: Any) -> bool:
    """Whether a label is missing: None, NaN, or the like of other libraries.

    >>> [is_missing(y) for y in (None, float("nan"), -1, "")]
    [True, True, False, False]
    """
    try:
        return y is None or bool(y != y)  # noqa: PLR0124
    except Exception:  # pandas.NA will not say
        return True


def class_label(y: Any) -> Any:
    """One label: text, a truth value or a finite number, which a file can keep.

    >>> class_label(np.str_("spam")), class_label(None)
    Traceback (most recent call last):
    ValueError: y: None is no label
    """
    label = y.item() if isinstance(y, np.generic) else y
    if label is None or (isinstance(label, float) and not math.isfinite(label)):
        raise ValueError(f"y: {shown(y)} is no label")
    if not isinstance(label, str | int | float):
        raise TypeError(f"y: a label must be text or a number, got {shown(y)}")
    if isinstance(label, int) and abs(label) >= 2**63:
        raise ValueError(f"y: a label must be below 2^63, got {shown(y)}")
    return label


def whole(name: str, values: ArrayLike, count: int | None = None) -> NDArray[np.int64]:
    """Whole numbers, one for each row.

    >>> whole("keys", [1, 2], count=3)
    Traceback (most recent call last):
    ValueError: keys: expected 3, one for each row, got shape (2,)
    """
    numbers = array(name, values)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise TypeError(f"{name}: expected whole numbers, got dtype {numbers.dtype}")
    if numbers.ndim != 1 or (count is not None and numbers.size != count):
        wanted = "a list of numbers" if count is None else f"{count}, one for each row"
        raise ValueError(f"{name}: expected {wanted}, got shape {numbers.shape}")
    if numbers.size and numbers.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name}: contains a number beyond 2^63")
    return contiguous(name, numbers, np.int64)


def counters(name: str, values: ArrayLike) -> NDArray[np.uint64]:
    """Whole numbers from 0 to 2^64 - 1.

    >>> counters("numbers", [1, -1])
    Traceback (most recent call last):
    ValueError: numbers: must lie in [0, 2^64 - 1]
    """
    numbers = array(name, values)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise TypeError(f"{name}: expected whole numbers, got dtype {numbers.dtype}")
    if numbers.ndim != 1:
        raise ValueError(f"{name}: expected a list of numbers, got shape {numbers.shape}")
    clean = contiguous(name, numbers, np.uint64)
    if numbers.dtype.kind == "i" and numbers.size and numbers.min() < 0:
        raise ValueError(f"{name}: must lie in [0, 2^64 - 1]")
    return clean


def ticket(value: object) -> int:
    """One ticket, given out or not.

    >>> ticket("7")
    Traceback (most recent call last):
    TypeError: ticket: expected a whole number, got '7'
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, WHOLE):
        raise TypeError(f"ticket: expected a whole number, got {shown(value)}")
    return int(value)


def ticket_or_id(question: object, id: object) -> tuple[Any, Any]:  # noqa: A002
    """How a question is named: by its ticket or by the id of its row, and None for the other.

    A whole number is a ticket, and everything else an id; as ``id``, a number is never a ticket.

    >>> ticket_or_id(7, None), ticket_or_id("mail-7", None), ticket_or_id(None, 7)
    ((7, None), (None, 'mail-7'), (None, 7))
    """
    if (question is None) == (id is None):
        raise TypeError("expected the ticket of a question, or the id of its row")
    if id is None and isinstance(question, WHOLE):
        return question, None
    return None, question if id is None else id


def given(draws: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """The draws that were passed for a chunk, or none.

    >>> given(None, count=2).size
    0
    """
    return np.empty(0) if draws is None else uniforms("draws", draws, count)


def uniforms(name: str, draws: ArrayLike, count: int) -> NDArray[np.float64]:
    """Uniform draws in [0, 1), one for each row.

    >>> uniforms("draws", [0.5, 1.0], count=2)
    Traceback (most recent call last):
    ValueError: draws: must lie in [0, 1), got 1
    """
    clean = column(name, draws, count, "draws")
    wrong = clean[(clean < 0.0) | (clean >= 1.0)]
    if wrong.size:
        raise ValueError(f"{name}: must lie in [0, 1), got {wrong[0]:g}")
    return clean


def times(values: ArrayLike, count: int) -> NDArray[np.float64]:
    """When rows came, one number for each row.

    >>> times([1.0, float("nan")], count=2)
    Traceback (most recent call last):
    ValueError: time: contains NaN or infinity
    """
    return column("time", values, count, "times")


def clock(timed: bool, values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """When each row came; empty where steps are counted, as a budget that is ``timed`` cannot."""
    if values is not None:
        return times(values, count)
    if timed:
        raise ValueError("time: this budget is by time, so every row must say when it came")
    return np.empty(0)
