"""Addresses, and what lies there: interpreted here, and as intrinsics in :mod:`lasec.kernel.jit`.

In compiled code, functions are addresses as well. Interpreted, they are functions.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.kernel.handle import living
from lasec.nested import entry_of
from lasec.types import Counter, Vector


def numbers(address: int, count: int) -> Vector:
    """So many numbers from an address on."""
    return view(np.dtype(np.float64), address, count)


def view(kind: np.dtype[Any], address: int, count: int) -> NDArray[Any]:
    """So many entries of a kind from an address on."""
    if not count:
        return np.empty(0, kind)
    room: Any = (ctypes.c_char * (int(count) * kind.itemsize)).from_address(int(address))
    found: NDArray[Any] = np.frombuffer(room, kind)
    return found


def call_look(look: Any, model: int, row: int, n: int, t: int, out: int) -> int:
    """What a model says of a row."""
    return int(look(model, row, n, t, out))


def call_learn(learn: Any, model: int, row: int, n: int, y: float, draw: float, t: int) -> int:
    """Learn a label; 1 where the rule has something to do before the next row."""
    return int(learn(model, row, n, y, draw, t))


def call_note(note: Any, model: int, row: int, n: int) -> int:
    """Count a row that is asked about."""
    return int(note(model, row, n))


def call_decide(
    decide: Any, query: int, seen: int, drawn: float, ticket: int, time: float, waiting: int
) -> int:
    """Whether to ask about a row of which ``seen`` tells; the query takes note of it."""
    return int(decide(query, seen, drawn, ticket, time, waiting))


def point(
    scratch: Counter, here: int, stack: int, words: Counter, strides: Counter, k: int
) -> None:
    """Let the table at ``here``, which is ``scratch``, be that of entry k of a stack."""
    living(here).parts = entry_of(living(stack).stack, k)
