"""What comes with a batch of a fleet's rows, as arrays, or an error that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.parameters import number
from lasec.random import SEEDS, words
from lasec.types import UNASKED, Counter


def answered(
    after: ArrayLike | None, keys: NDArray[np.int64], y: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The rows of this call that labels answer, -1 where they answer none."""
    n = keys.size
    rows = np.full(n, -1, dtype=np.int64) if after is None else validation.whole("after", after, n)
    labels = np.flatnonzero(rows >= 0)
    asks = rows[labels]
    if (asks >= labels).any() or not (
        (y[labels] != 0.0) & (y[asks] == 0.0) & (keys[labels] == keys[asks])
    ).all():
        raise ValueError("after: only a label can come after a row above it that asks, of its key")
    if np.unique(asks).size < asks.size:
        raise ValueError("after: a row has two labels")
    return rows


def claimed(
    tickets: ArrayLike | None, keys: Counter, needed: NDArray[np.bool_], rows: Counter
) -> NDArray[np.int64]:
    """The tickets of labels whose rows came earlier; of other rows, anything."""
    if tickets is None:
        if needed.any():
            raise ValueError("tickets: a label must say which question it answers")
        return np.full(keys.size, -1, dtype=np.int64)
    numbers = validation.whole("tickets", tickets, keys.size)
    fits = (numbers >= 0) & (numbers < rows[keys])
    wrong = needed & ~fits & (numbers != UNASKED)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"tickets: ticket {numbers[i]} of key {keys[i]} was never given out: "
            f"the next one is {rows[keys[i]]}"
        )
    return numbers


def seeds(given: Any, seed: int, models: int) -> NDArray[np.uint64]:
    """A seed for each model: those that were given, or else drawn from the fleet's."""
    if given is None:
        return words(seed, 2**128, models)[:, 0].copy()
    if not isinstance(given, np.ndarray):
        with validation.foreign("seeds"):
            numbers = [number("seeds", one, int, SEEDS) for one in given]
        given = np.array(numbers, dtype=np.uint64)
    if given.shape != (models,):
        raise ValueError(f"seeds: expected {models}, one a model, got {given.shape}")
    if given.dtype.kind not in "iu" or (given.size and given.min() < 0):
        raise TypeError("seeds must be whole numbers from 0 to 2^64 - 1")
    return np.array(given, dtype=np.uint64)
