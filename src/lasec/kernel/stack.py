"""Many models of one kind in stacked arrays, the rows that come in for them, and what comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.types import Counter, Matrix, Vector

Flags = NDArray[np.bool_]


class ModelStack(NamedTuple):
    """Many models of one kind: an entry of the first axis of each array is one model."""

    state: Any
    memory: Matrix
    seeds: NDArray[np.uint64]
    rows: Counter
    asked: Counter
    told: Counter
    updates: Counter
    waiting: Counter


class Requests(NamedTuple):
    """What came in, a row each, and where the rows of each model are (``order``, ``begins``).

    ``X`` is dense or sparse. ``y`` is 0 where a row asks. ``after`` is the row whose question a
    label answers, or negative; then ``tickets`` tells its ticket, or that nobody asked
    (``UNASKED``). ``times`` and ``draws`` may be empty.
    """

    X: Any
    y: Vector
    tickets: Counter
    after: Counter
    times: Vector
    draws: Vector
    order: Counter
    begins: Counter


class Answers(NamedTuple):
    """What came of each row; the first seven are the columns of a chunk."""

    label: NDArray[np.int16]
    margin: Vector
    variance: Vector
    propensity: Vector
    asked: Flags
    mistake: Flags
    updated: Flags
    ticket: Counter
    learned: Flags
    refused: Flags

    @classmethod
    def empty(cls, count: int) -> Answers:
        """Answers to ``count`` rows, as if nothing had been asked or learned."""
        margin, variance, propensity = np.full((3, count), np.nan)
        asked, mistake, updated, learned, refused = np.zeros((5, count), dtype=np.bool_)
        label, ticket = np.zeros(count, dtype=np.int16), np.empty(count, dtype=np.int64)
        return cls(
            label, margin, variance, propensity, asked, mistake, updated, ticket, learned, refused
        )
