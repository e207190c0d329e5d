"""A rule with its state, a query with its memory, the arguments of a loop: one table of words.

Compiled code takes the address of such a table and nothing else. Word 0 is a digest of the kinds of
what follows: numbers, and for each array its address and its shape. A handle holds what it points
at, and is made again where an array is replaced or grows.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from lasec.nested import entry_of, leaves

_living: WeakValueDictionary[int, Handle] = WeakValueDictionary()
_double, _word, _unsigned = struct.Struct("d"), struct.Struct("q"), struct.Struct("Q")
_character: Any = ctypes.c_char


class Kinds:
    """The types of all that a table holds: in words, as a digest, and the NamedTuples among them.

    There is one for all tables that are alike.
    """

    __slots__ = ("digest", "is_known", "text", "types")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.text, self.types = kinds_of(parts), tuple(types_in(parts))
        self.is_known = "?" not in self.text
        word = hashlib.sha256(self.text.encode()).digest()[:8]
        self.digest: int = _word.unpack(word)[0]


_kinds: dict[tuple[Any, ...], Kinds] = {}


class Handle:
    """A table of nested tuples of numbers and C-contiguous arrays.

    >>> handle = Handle(3, (0.5, np.zeros((2, 4))))
    >>> handle.kinds.text, len(handle.table)
    ('i,(f,float64:2)', 6)
    """

    __slots__ = ("__weakref__", "address", "kinds", "parts", "stack", "strides", "table")
    strides: NDArray[np.int64]

    def __init__(self, *parts: Any) -> None:
        self.parts = self.stack = parts
        words: list[int] = [0]
        key: list[Any] = []
        _flatten(parts, words, key)
        kinds = _kinds.get(tuple(key))
        if kinds is None:
            kinds = _kinds[tuple(key)] = Kinds(parts)
        self.kinds, words[0] = kinds, kinds.digest
        self.table = np.array(words, np.int64)
        self.address = address_of(self.table)
        _living[self.address] = self

    @classmethod
    def of_stack(cls, *parts: Any) -> Handle:
        """The first entry of each array's first axis, and by how much words move to the next.

        >>> Handle.of_stack(3, np.zeros((5, 2))).strides.tolist()
        [0, 0, 16, 0]
        """
        first = cls(*entry_of(parts, 0))
        first.stack, steps = parts, [0]
        for leaf in leaves(parts):
            stacked = isinstance(leaf, np.ndarray)
            steps += [leaf.strides[0], *[0] * (leaf.ndim - 1)] if stacked else [0]
        first.strides = np.array(steps, np.int64)
        return first


def _flatten(parts: tuple[Any, ...], words: list[int], key: list[Any]) -> None:
    """Add the words of nested tuples, and what tells their kinds apart."""
    for part in parts:
        kind = type(part)
        if kind is np.ndarray:
            flags = part.flags
            if not (flags.c_contiguous and flags.aligned):
                raise ValueError("arrays for compiled code must be C-contiguous and aligned")
            words.append(address_of(part))
            words += part.shape
            key += (part.dtype, part.ndim)
            continue
        key.append(kind)
        if kind is int or kind is bool:
            words.append(part)
        elif kind is float:
            words += _word.unpack(_double.pack(part))
        elif isinstance(part, tuple):
            _flatten(part, words, key)
            key.append(None)
        else:
            words.append(_number(part))


def _number(value: Any) -> int:
    """The word of another kind of number; 0 of what is none."""
    if isinstance(value, np.uint64):
        return int(_word.unpack(_unsigned.pack(int(value)))[0])
    if isinstance(value, float | np.floating):
        return int(_word.unpack(_double.pack(float(value)))[0])
    return int(value) if isinstance(value, int | np.integer | np.bool_) else 0


def living(address: int) -> Handle:
    """The handle at an address."""
    return _living[address]


def parts_at(address: int) -> Any:
    """What the handle at an address was made of."""
    return living(address).parts


def types_in(value: Any) -> Iterator[type]:
    """The NamedTuples that a value is made of.

    >>> from lasec.rules import Perceptron
    >>> list(types_in((Perceptron(), 1.0)))
    [<class 'lasec.rules.perceptron.Perceptron'>]
    """
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield type(value)
        for part in value:
            yield from types_in(part)


_NUMBERS = ((bool, "b"), (np.bool_, "b"), (np.uint64, "u"), (int, "i"), (np.integer, "i"),
            (float, "f"), (np.floating, "f"))  # fmt: skip


def kinds_of(parts: tuple[Any, ...]) -> str:
    """The types of all that a table holds, in words.

    >>> kinds_of((True, np.zeros(3, np.float32)))
    'b,float32:1'
    """
    return ",".join(map(_kind, parts))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = value.dtype
        return f"{kind.descr if kind.names else kind.name}:{value.ndim}"
    if isinstance(value, tuple):
        name = type(value)
        own = "" if name is tuple else f"{name.__module__}.{name.__qualname__}"
        return f"{own}({kinds_of(value)})"
    for number, kind in _NUMBERS:
        if isinstance(value, number):
            return kind
    return "?"  # which compiled code cannot take


def address_of(array: NDArray[Any]) -> int:
    """Where the numbers of an array begin."""
    try:
        return ctypes.addressof(_character.from_buffer(array))
    except (TypeError, ValueError):  # nothing may be written to it, or there is nothing in it
        address: int = array.__array_interface__["data"][0]
        return address
