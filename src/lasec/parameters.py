"""Parameters with declared ranges: what a rule or query accepts is declared with its name.

A parameter is annotated with its range, and :func:`checked` turns the NamedTuple's constructor
into one that refuses what lies outside of it:

>>> from typing import NamedTuple
>>> @checked
... class Ridge(NamedTuple):
...     ridge: Positive = 1.0
>>> Ridge(2)
Ridge(ridge=2.0)
>>> Ridge(ridge=-1)
Traceback (most recent call last):
ValueError: ridge must be a number in [1e-30, 1e+30], got -1
"""

from __future__ import annotations

import heapq
import inspect
import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from lasec.types import Mercer, Query

T = TypeVar("T", bound=type)
E = TypeVar("E", bound=StrEnum)

WHOLE = (int, np.integer)
REAL = (*WHOLE, float, np.floating)

# Between these, no product that a rule forms from parameters and rows can overflow.
SMALLEST, LARGEST = 1e-30, 1e30
_LONG = 80  # characters of a name that are compared and shown
_NEAR = 1_000  # names that are compared
_PARTS: dict[Any, tuple[str, str]] = {
    Mercer: ("Mercer kernel", "product"),
    Query: ("query", "probability"),
}


class Range(NamedTuple):
    """A closed interval of numbers; ``also`` are further single values that are allowed."""

    low: float
    high: float
    also: tuple[float, ...] = ()

    def __contains__(self, value: object) -> bool:
        return isinstance(value, REAL) and bool(
            self.low <= value <= self.high or value in self.also
        )

    def __str__(self) -> str:
        low, high = (
            f"{end:.0f}" if float(end).is_integer() and abs(end) < 1e16 else f"{end:g}"
            for end in (self.low, self.high)
        )
        return f"[{low}, {high}]" + "".join(f" or {value:g}" for value in self.also)


Positive = Annotated[float, Range(SMALLEST, LARGEST)]
PositiveOrInfinite = Annotated[float, Range(SMALLEST, LARGEST, also=(math.inf,))]
NonNegative = Annotated[float, Range(SMALLEST, LARGEST, also=(0.0,))]
Share = Annotated[float, Range(SMALLEST, 1.0)]
Count = Annotated[int, Range(1, 1_000_000)]


def shown(value: object) -> str:
    """A value for a message: short, and without an error of its own.

    >>> shown("north"), shown(10**5_000)
    ("'north'", 'something of type int that cannot be shown')
    """
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:
        return f"something of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 200 else f"{text[:200]}..."


def unknown(name: str, known: Iterable[str], what: str) -> str:
    """The message about a name that is not there, with the nearest that is.

    >>> unknown("prise", ["price", "demand"], "column")
    "there is no column 'prise': did you mean 'price'? There are price, demand"
    """
    names = [other[:_LONG] for other in known]
    wanted, by_lower = name[:_LONG].lower(), {other.lower(): other for other in names}
    alike = heapq.nsmallest(
        _NEAR, by_lower, key=lambda o: (o[:1] != wanted[:1], abs(len(o) - len(wanted)))
    )
    close = get_close_matches(wanted, alike, n=1, cutoff=0.5)
    hint = f": did you mean {by_lower[close[0]]!r}?" if close else "."
    few = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"there is no {what} {name[:_LONG]!r}{hint} There are {few}"


def choice(kind: type[E], value: object) -> E:
    """One of the words of an enumeration, or a ValueError.

    >>> from lasec.types import Aggregate
    >>> choice(Aggregate, None)
    Traceback (most recent call last):
    ValueError: 'None' is not a valid Aggregate
    """
    return kind(value if isinstance(value, str) else shown(value))


def number(name: str, value: object, kind: type, allowed: Range | None) -> Any:
    """``value`` as a ``kind`` (bool, int or float), or an error that names the parameter.

    A rule, query or kernel inside another part is checked already, when it was made.
    """
    if kind not in (bool, int, float):
        what, method = _PARTS.get(kind, ("rule", "update"))
        if not (isinstance(value, tuple) and hasattr(value, method)):
            raise TypeError(f"{name} must be a {what}, got {shown(value)}")
        return value
    if kind is bool:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {shown(value)}")
        return bool(value)
    wanted, word = (WHOLE, "a whole number") if kind is int else (REAL, "a number")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, wanted):
        raise TypeError(f"{name} must be {word}{_within(allowed)}, got {shown(value)}")
    try:
        plain = kind(value)
    except Exception:  # a whole number that no float holds, or a subclass with ideas of its own
        plain = None
    if plain is None or (allowed is not None and plain not in allowed):
        raise ValueError(f"{name} must be {word}{_within(allowed)}, got {shown(value)}")
    return plain


def _within(allowed: Range | None) -> str:
    return "" if allowed is None else f" in {allowed}"


def _declared(cls: type) -> dict[str, tuple[type, Range | None]]:
    """Each field's kind and range, as its annotation says."""
    declared: dict[str, tuple[type, Range | None]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, allowed = get_args(hint)
            declared[name] = (kind, allowed)
        else:
            declared[name] = (hint, None)
    return declared


def checked(cls: T) -> T:
    """Class decorator: a NamedTuple of parameters whose constructor checks and converts them.

    A class that defines ``validate(self) -> str`` is also asked whether its parameters go together.
    """
    plain: Any = cls
    construct = plain.__new__
    signature = inspect.signature(construct)
    declared: dict[str, tuple[type, Range | None]] = {}

    def new(owner: type, *args: object, **kwargs: object) -> object:
        if not declared:
            declared.update(_declared(cls))
        bound = signature.bind(owner, *args, **kwargs)
        bound.apply_defaults()
        values = (number(f, bound.arguments[f], *declared[f]) for f in plain._fields)
        made = construct(owner, *values)
        conflict: str = made.validate() if hasattr(made, "validate") else ""
        if conflict:
            raise ValueError(conflict)
        return made

    new.__signature__ = signature  # type: ignore[attr-defined]
    plain.__new__ = new
    plain._make = classmethod(lambda owner, values: owner(*values))
    return cls


_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def seconds(name: str, duration: str) -> float:
    """A duration such as "1d", "12h", "30min", "10s" or "2w", in seconds.

    >>> seconds("window", "12h")
    43200.0
    >>> seconds("window", "soon")
    Traceback (most recent call last):
    ValueError: window must be a duration such as '1d', '12h' or '30min', got 'soon'
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", duration)
    if match is None or match[2] not in _UNITS or float(match[1]) == 0.0:
        raise ValueError(
            f"{name} must be a duration such as '1d', '12h' or '30min', got {duration!r}"
        )
    return float(match[1]) * _UNITS[match[2]]
