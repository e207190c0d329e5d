"""States: named tuples of arrays, and of such tuples, taken apart into arrays and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays of nested tuples, in order.

    >>> list(leaves((1, (2, 3), ())))
    [1, 2, 3]
    """
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def rebuilt(like: Any, given: Iterable[Any]) -> Any:
    """Nested tuples of the same types, of other leaves.

    >>> rebuilt((1, (2, 3)), "abc")
    ('a', ('b', 'c'))
    """
    rest = iter(given)

    def made(value: Any) -> Any:
        if not isinstance(value, tuple):
            return next(rest)
        parts = [made(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)

    return made(like)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Nested tuples of what a function makes of each leaf."""
    return rebuilt(value, map(function, leaves(value)))


def named(state: Any, prefix: str = "") -> dict[str, Any]:
    """The arrays of a state by name; the names of tuples within tuples are joined by dots.

    >>> import lasec
    >>> list(named(lasec.rules.SecondOrder().init(2)))
    ['weights', 'cov']
    """
    found: dict[str, Any] = {}
    for name, part in zip(state._fields, state, strict=True):
        inner = isinstance(part, tuple)
        found |= named(part, f"{prefix}{name}.") if inner else {f"{prefix}{name}": part}
    return found


def copied(state: Any) -> Any:
    """The same arrays, once more: nothing that happens to one state changes the other.

    >>> import lasec
    >>> state = lasec.rules.Perceptron().init(2)
    >>> copied(state).weights is state.weights
    False
    """
    return mapped(np.copy, state)


def entry_of(value: Any, k: int) -> Any:
    """Entry k of each array's first axis, as views; numbers as they are.

    >>> entry_of((0.5, np.eye(2)), 1)
    (0.5, array([0., 1.]))
    """
    return mapped(lambda leaf: leaf[k] if isinstance(leaf, np.ndarray) else leaf, value)
