"""Records: the annotations of a class say what a file of it holds, and what is possible there.

A record is a named tuple, a dataclass, or an object with a property ``_state``, whose fields are
that and the arguments of its constructor. :func:`dump` writes the fields; :func:`load` reads them,
checks types, shapes and ranges, and calls the class, so what follows from the fields is computed
again: those of a dataclass that are no arguments are not saved. A class with ``validate() -> str``
is asked last whether its fields go together.

============================  ======================================================================
type of a field               in the file
============================  ======================================================================
bool, int, float, str, dict   a value of the header; NaN and infinities as text
NDArray                       an array; truth values as bytes
Arrays                        any arrays, named ``field.name``, which the caller checks
another record, tuple[A, B]   an object of the header; its arrays are named ``field.inner``
list[T], deque[T]             a column of T: numbers are one array, records a column for each field
dict[K, V]                    the column of its pairs
T | None                      nothing, or T; in a column, also an array that says where there is one
============================  ======================================================================

``Annotated`` adds a :class:`~lasec.parameters.Range` (without one, numbers are finite), the
:class:`Shape` of an array, :data:`RISING`, or a function that checks a value of the header.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.parameters import Range, choice, number, shown
from lasec.persistence.container import Arrays, pack, restored

T = TypeVar("T")
Sizes = dict[str, int]

FINITE, POSITIVE = Range(-1e140, 1e140), Range(0.0, 1e140)
BITS, WHOLES = Range(0, 1), Range(-(2**62), 2**62)
Count = Annotated[int, Range(0, 2**53)]
NotNegative = Annotated[float, POSITIVE]
Free = Annotated[float, Range(-math.inf, math.inf, also=(math.nan,))]
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NUMBERS: dict[Any, Any] = {bool: np.int8, int: np.int64, float: np.float64}
_WORDED: dict[Any, str] = {str: "text", dict: "an object"}
_DEFAULTS: dict[str, Range] = {"b": BITS, "f": FINITE}
_COLUMNS: dict[Any, Any] = {list: list, deque: deque, Sequence: list, dict: dict, Mapping: dict}
_ROWS = "rows of the column"
RISING = "rising"


class Shape:
    """The sizes of an array. Those that have a name are the same wherever a record has the name.

    A field that is a whole number gives a size its name, too.

    >>> class Line(NamedTuple):
    ...     x: Annotated[NDArray[np.float64], Shape("points")]
    ...     y: Annotated[NDArray[np.float64], Shape("points"), Range(0.0, 1.0)]
    >>> Line.KIND = "line"
    >>> load(Line, dump(Line(np.zeros(2), np.ones(2)))).y.tolist()
    [1.0, 1.0]
    >>> load(Line, dump(Line(np.zeros(2), np.ones(3))))
    Traceback (most recent call last):
    lasec.errors.StateError: invalid: y has the shape (3,), expected (points = 2)
    """

    def __init__(self, *sizes: int | str) -> None:
        self.sizes = sizes

    def refused(self, shape: tuple[int, ...], known: Sizes) -> str:
        """What is wrong with a shape; names without a size get theirs."""
        fits = len(shape) == len(self.sizes) and all(
            n == (known.setdefault(size, n) if isinstance(size, str) else size)
            for n, size in zip(shape, self.sizes, strict=True)
        )
        named = (f"{s} = {known[s]}" if s in known else str(s) for s in map(str, self.sizes))
        return "" if fits else f"has the shape {shape}, expected ({', '.join(named)})"


class _Field(NamedTuple):
    """A type, and what its annotation adds to it."""

    kind: Any
    shape: Shape = Shape()
    allowed: Range | None = None
    rising: bool = False
    check: Callable[[Any], Any] | None = None


def dump(record: Any) -> bytes:
    """The bytes of a file that holds a record; its class has a ``KIND``."""
    return pack(*taken(record))


def taken(record: Any) -> tuple[dict[str, Any], Arrays]:
    """What :func:`~lasec.persistence.container.pack` takes of a record, as it is now."""
    arrays: Arrays = {}
    header = _written(type(record), record, "", arrays)
    return {"kind": record.KIND} | (header or {}), arrays


def load(kind: type[T], data: bytes) -> T:
    """The record that :func:`dump` wrote, or a :class:`~lasec.StateError`."""
    wanted: Any = kind

    def build(header: dict[str, Any], arrays: Arrays) -> Any:
        if header.get("kind") != wanted.KIND:
            kind = shown(header.get("kind"))
            raise StateError(f"foreign: this is not a {wanted.KIND}, its kind is {kind}")
        made = _record(wanted, header, "", arrays)
        if arrays:
            raise StateError(f"invalid: there is an array of no known use, {shown(min(arrays))}")
        return made

    made: T = restored(data, build)
    return made


@cache
def _field(hint: Any) -> _Field:
    if get_origin(hint) is not Annotated:
        return _Field(hint)
    kind, *notes = get_args(hint)
    made = _Field(kind)
    for note in notes:
        name = {Shape: "shape", Range: "allowed"}.get(type(note), "check")
        made = made._replace(**({"rising": True} if note is RISING else {name: note}))
    return made


@cache
def _optional(kind: Any) -> Any:
    """The T of ``T | None``; None for any other type."""
    if get_origin(kind) not in (Union, UnionType):
        return None
    return next(inner for inner in get_args(kind) if inner is not type(None))


@cache
def _parts(kind: Any) -> dict[str, Any]:
    """The fields of a record or of a tuple; of any other type, none."""
    if get_origin(kind) is tuple:
        return {str(place): inner for place, inner in enumerate(get_args(kind))}
    if _has_state(kind):
        given = get_type_hints(kind.__init__, include_extras=True)
        state = get_type_hints(kind._state.fget, include_extras=True)["return"]
        return {name: given[name] for name in given if name != "return"} | {"_state": state}
    if dataclasses.is_dataclass(kind):
        names: Iterable[str] = [field.name for field in dataclasses.fields(kind) if field.init]
    else:
        names = getattr(kind, "_fields", ())
    hints = get_type_hints(kind, include_extras=True) if names else {}
    return {name: hints[name] for name in names}


def _has_state(kind: Any) -> bool:
    return isinstance(getattr(kind, "_state", None), property)


def _inside(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _dtype(kind: Any) -> np.dtype[Any]:
    """The type of the numbers of ``NDArray[...]``."""
    made: np.dtype[Any] = np.dtype(get_args(get_args(kind)[1])[0])
    return made


def _values(record: Any, parts: Iterable[str]) -> list[Any]:
    return list(record) if isinstance(record, tuple) else [getattr(record, n) for n in parts]


# Writing -----------------------------------------------------------------------------------------


def _written(hint: Any, value: Any, name: str, arrays: Arrays) -> Any:
    """What the header has of a value; None if that is nothing."""
    kind = _field(hint).kind
    if value is None:
        return None
    if inner := _optional(kind):
        return _written(inner, value, name, arrays)
    if parts := _parts(kind):
        rows = zip(parts.items(), _values(value, parts), strict=True)
        return _filled({p: _written(h, v, _inside(name, p), arrays) for (p, h), v in rows})
    origin = get_origin(kind)
    if kind == Arrays:
        arrays |= {_inside(name, part): array for part, array in value.items()}
    elif origin is np.ndarray:
        stored = np.int8 if _dtype(kind).kind == "b" else _dtype(kind)
        arrays[name] = np.asarray(value).astype(stored, casting="unsafe")
    if kind == Arrays or origin is np.ndarray:
        return None
    if origin in _COLUMNS:
        values = value.items() if _COLUMNS[origin] is dict else value
        return _column_written(_entry(kind), list(values), name, arrays)
    plain = kind(value) if kind in _NUMBERS else value
    return plain if kind is not float or math.isfinite(plain) else str(plain)


def _column_written(hint: Any, values: list[Any], name: str, arrays: Arrays) -> Any:
    """What the header has of many values of one type; None if that is nothing."""
    field = _field(hint)
    if inner := _optional(field.kind):
        there = [value is not None for value in values]
        arrays[f"{name}?"] = np.array(there, dtype=np.int8)
        kept = [value for value in values if value is not None]
        return _column_written(inner, kept, name, arrays)
    if parts := _parts(field.kind):
        plain = values and isinstance(values[0], tuple)
        rows = values if plain else [_values(value, parts) for value in values]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(parts)
        made = zip(parts.items(), columns, strict=True)
        return _filled(
            {p: _column_written(h, [*c], _inside(name, p), arrays) for (p, h), c in made}
        )
    if get_origin(field.kind) is np.ndarray:
        sizes = [size if isinstance(size, int) else 0 for size in field.shape.sizes]
        arrays[name] = np.array(values or np.zeros((0, *sizes)), dtype=_dtype(field.kind))
        return None
    if field.kind in _NUMBERS:
        arrays[name] = np.array(values, dtype=_NUMBERS[field.kind])
        return None
    return values if field.kind is str else [_written(hint, one, name, arrays) for one in values]


def _filled(parts: dict[str, Any]) -> dict[str, Any] | None:
    return {name: part for name, part in parts.items() if part is not None} or None


def _entry(kind: Any) -> Any:
    """The type of the entries of a list or a dict."""
    pairs = _COLUMNS[get_origin(kind)] is dict
    return GenericAlias(tuple, get_args(kind)) if pairs else get_args(kind)[0]


# Reading -----------------------------------------------------------------------------------------


def _read(hint: Any, value: Any, name: str, arrays: Arrays, sizes: Sizes) -> Any:
    """The value that :func:`_written` wrote, checked."""
    field = _field(hint)
    kind, origin = field.kind, get_origin(field.kind)
    if inner := _optional(kind):
        some = value is not None or any(n == name or n.startswith(f"{name}.") for n in arrays)
        return _read(inner, value, name, arrays, sizes) if some else None
    if _parts(kind):
        return _record(kind, value, name, arrays)
    if origin is np.ndarray:
        return _array(field, _dtype(kind), name, arrays, sizes)
    if kind == Arrays:
        found = [part for part in arrays if part.startswith(f"{name}.")]
        return {part.removeprefix(f"{name}."): arrays.pop(part) for part in found}
    if origin in _COLUMNS:
        entries = _column(_entry(kind), value, name, arrays, {})
        made = _COLUMNS[origin](entries)
        if len(made) < len(entries):
            raise ValueError(f"{name} holds an entry twice")
        return made
    return _plain(field, value, name)


def _plain(field: _Field, value: Any, name: str) -> Any:
    """A value of the header."""
    kind = field.kind
    if kind in _NUMBERS:
        default = {int: WHOLES, float: FINITE}.get(kind)
        value = _WORDS.get(value, value) if isinstance(value, str) and kind is float else value
        return number(name, value, kind, field.allowed or default)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(kind, value)
    if kind in _WORDED and not isinstance(value, kind):
        raise TypeError(f"{name} must be {_WORDED[kind]}, got {shown(value)}")
    return value if field.check is None else field.check(value)


def _record(kind: Any, value: Any, name: str, arrays: Arrays) -> Any:
    """A record, from its part of the header."""
    sizes: Sizes = {}
    inner, found = _object(value, name), []
    for part, hint in _parts(kind).items():
        made = _read(hint, inner.get(part), _inside(name, part), arrays, sizes)
        found.append(made)
        if type(made) is int:
            sizes[part] = made
    return _maker(kind)(found)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        raise TypeError(f"{name} must be an object, got {shown(value)}")
    return value or {}


@cache
def _maker(kind: Any) -> Callable[[Iterable[Any]], Any]:
    """What makes a record of its values, if they go together."""
    if get_origin(kind) is tuple:
        return tuple
    if not (_has_state(kind) or hasattr(kind, "validate")):
        return lambda values: kind(*values)

    def made(values: Iterable[Any]) -> Any:
        fields = dict(zip(_parts(kind), values, strict=True))
        state = fields.pop("_state", None)
        record = kind(**fields)
        if state is not None:
            record._state = state
        defect: str = record.validate() if hasattr(kind, "validate") else ""
        if defect:
            raise ValueError(defect)
        return record

    return made


def _column(hint: Any, value: Any, name: str, arrays: Arrays, sizes: Sizes) -> list[Any]:
    """The values that :func:`_column_written` wrote; all columns of a record are as long."""
    field = _field(hint)
    if inner := _optional(field.kind):
        there = _array(_Field(bool, Shape(_ROWS)), np.dtype(bool), f"{name}?", arrays, sizes)
        found = iter(_column(inner, value, name, arrays, {_ROWS: int(there.sum())}))
        return [next(found) if one else None for one in there.tolist()]
    if parts := _parts(field.kind):
        at = _object(value, name)
        columns = (_column(h, at.get(p), _inside(name, p), arrays, sizes) for p, h in parts.items())
        return [*map(_maker(field.kind), zip(*columns, strict=True))]
    rows = field._replace(shape=Shape(_ROWS, *field.shape.sizes))
    if get_origin(field.kind) is np.ndarray:
        return [row.copy() for row in _array(rows, _dtype(field.kind), name, arrays, sizes)]
    if field.kind in _NUMBERS:
        kind = np.dtype(bool if field.kind is bool else _NUMBERS[field.kind])
        made = _array(rows, kind, name, arrays, sizes)
        gone = kind.kind == "f" and np.isnan(made).any()
        return [n if n == n else math.nan for n in made.tolist()] if gone else made.tolist()  # noqa: PLR0124
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list, got {shown(value)}")
    if defect := Shape(_ROWS).refused((len(value),), sizes):
        raise ValueError(f"{name} {defect}")
    known = field.kind is str and all(type(one) is str for one in value)  # there may be many
    return value if known else [_read(hint, one, name, arrays, {}) for one in value]


def _array(
    field: _Field, kind: np.dtype[Any], name: str, arrays: Arrays, sizes: Sizes
) -> NDArray[Any]:  # fmt: skip
    """An array, if it has the type, the shape and the range that were declared."""
    if name not in arrays:
        raise ValueError(f"there is no array {name!r}")
    found = arrays.pop(name)
    stored = np.dtype(np.int8) if kind.kind == "b" else kind
    if found.dtype != stored:
        raise TypeError(f"{name} must be of type {stored}, got {found.dtype}")
    if defect := field.shape.refused(found.shape, sizes):
        raise ValueError(f"{name} {defect}")
    allowed = field.allowed or _DEFAULTS.get(kind.kind)
    if allowed is not None and not _lies_in(found, allowed):
        raise ValueError(f"{name} contains NaN or a value that is not in {allowed}")
    if field.rising and not (np.diff(found) > 0).all():
        raise ValueError(f"{name} must rise")
    return found.astype(kind, copy=False)


def _lies_in(array: NDArray[Any], allowed: Range) -> bool:
    fine = (array >= allowed.low) & (array <= allowed.high)
    for value in allowed.also:
        fine |= np.isnan(array) if math.isnan(value) else array == value
    return bool(fine.all())
