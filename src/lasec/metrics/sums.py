"""What is kept of a row: sums over rows and over labels, all of them additive.

Three channels are followed, each with a value v that depends on the label and a guess a of it::

    PLUS    rows predicted +1      v = 1[y = +1], a = p      the sum of v is TP
    MINUS   rows predicted -1      v = 1[y = +1], a = p      the sum of v is FN
    LOSS    all rows               v = -log p_y,  a = its expectation under p

where p is what the model gives for P(y = +1). A block holds, for each channel, the sums named in
:class:`Column` and log K for each bet of :mod:`lasec.metrics.confidence_sequence`.
Blocks of disjoint rows add up to that of their union; nothing else is needed of a row once its
label has come.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import confidence_sequence

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PLUS, MINUS, LOSS = 0, 1, 2
SURE = (0.001, 0.999)
# Between these, what is formed from the sums stays finite.
SMALLEST, LARGEST = 1e-30, 1e140


class Column(IntEnum):
    """The sums of a channel. d = v - a; those from LABELS on run over the answered rows.

    ``LOW`` and ``HIGH`` are what the sum of v is at least and at most, given the answers.

    >>> Column.ROUNDS.value, len(Column)
    (0, 19)
    """

    ROUNDS = 0  # rows
    CHANCE = 1  # q
    GUESS = 2  # a
    LOW = 3
    HIGH = 4
    BELOW = 5  # a less the least v, over the rows that could not be queried
    ABOVE = 6  # the most v less a, over the same
    EXPECTED = 7  # (1 - q)/q times the variance of v under p, over the others
    LOST = 8  # 1/q of questions that will not be answered
    GONE = 9  # questions that will not be answered
    LABELS = 10  # answers
    W1 = 11  # 1/q
    V1 = 12  # v/q
    D1 = 13  # d/q
    DD1 = 14  # d^2/q
    W2 = 15  # 1/q^2
    V2 = 16  # v/q^2
    DD2 = 17  # d^2/q^2
    U2 = 18  # the square of (1 - q) d^2/q^2, the term of the variance


SUMS = len(Column)
WIDTH = SUMS + confidence_sequence.BETS.size
SHAPE = (3, WIDTH)


# What only grows with every row or answer.
_SLACK = 1.0 + 1e-9
_SHARED = [Column.ROUNDS, Column.LOST, Column.GONE, Column.LABELS, Column.W1]
_COUNTED, _WEIGHED = [Column.LABELS, Column.GONE], [Column.W1, Column.LOST]
_GROWING = [c for c in Column if c not in (Column.LOW, Column.HIGH, Column.D1)]


def sound(blocks: NDArray[Any]) -> bool:
    """Whether these numbers can be blocks: finite, and such that estimates can be formed.

    >>> blocks = np.zeros((2, *SHAPE))
    >>> sound(blocks), sound(blocks - 1.0)
    (True, False)
    """
    if blocks.dtype != np.float64 or blocks.shape[-2:] != SHAPE:
        return False
    if not np.abs(blocks).max(initial=0.0) <= LARGEST:
        return False
    rounds = blocks[..., Column.ROUNDS]
    counts, weights = blocks[..., _COUNTED], blocks[..., _WEIGHED]
    together = np.abs(blocks[..., LOSS, :] - blocks[..., PLUS, :] - blocks[..., MINUS, :])
    return bool(
        (blocks[..., _GROWING] >= 0.0).all()
        and (counts.sum(axis=-1) <= rounds * _SLACK).all()
        and ((weights >= counts / _SLACK) & (weights <= counts / SMALLEST)).all()
        and (rounds <= 2.0**53).all()
        and (together[..., _SHARED] <= 1e-6 * blocks[..., LOSS, _SHARED]).all()
    )


class Values:
    """The two values of v and the guess a, for the class channels or for the log-loss.

    >>> values = Values(np.array([0.8]), loss=True)
    >>> values.v0.round(3).tolist(), values.v1.round(3).tolist(), values.guess.round(3).tolist()
    ([1.609], [0.223], [0.5])
    """

    def __init__(self, p: Array, *, loss: bool) -> None:
        if loss:
            self.v0, self.v1 = -np.log1p(-p), -np.log(p)
            self.guess = p * self.v1 + (1.0 - p) * self.v0
        else:
            self.v0, self.v1, self.guess = np.zeros_like(p), np.ones_like(p), p
        self.low = np.minimum(self.v0, self.v1)
        self.high = np.maximum(self.v0, self.v1)
        self.d0, self.d1 = self.v0 - self.guess, self.v1 - self.guess


def likely(margin: Array) -> Array:
    """P(y = +1) of a model whose margin is P(y = +1) - P(y = -1), kept off 0 and 1.

    >>> likely(np.array([0.6, -1.0])).tolist()
    [0.8, 0.001]
    """
    return np.asarray((1.0 + margin) / 2.0).clip(*SURE)


def of_rounds(p: Array, q: Array, chance: Array, *, loss: bool) -> Array:
    """What each row adds to its channel before any answer; ``chance`` is q times what is kept.

    >>> one = of_rounds(np.array([0.8]), np.array([0.1]), np.array([0.1]), loss=False)[0]
    >>> one[: Column.LABELS].round(2).tolist()
    [1.0, 0.1, 0.8, 0.0, 1.0, 0.0, 0.0, 1.44, 0.0, 0.0]
    """
    values = Values(p, loss=loss)
    rows = np.zeros((p.size, WIDTH))
    rows[:, Column.ROUNDS] = 1.0
    rows[:, Column.CHANCE] = q
    rows[:, Column.GUESS] = values.guess
    rows[:, Column.LOW] = values.low
    rows[:, Column.HIGH] = values.high
    rows[:, Column.BELOW] = np.where(q > 0.0, 0.0, values.guess - values.low)
    rows[:, Column.ABOVE] = np.where(q > 0.0, 0.0, values.high - values.guess)
    spread = p * (1.0 - p) * (values.v1 - values.v0) ** 2
    rows[:, Column.EXPECTED] = np.where(
        q > 0.0, (1.0 - q) * spread / np.where(q > 0.0, q, 1.0), 0.0
    )
    rows[:, SUMS:] = confidence_sequence.unasked(values.d0, values.d1, chance)
    return rows


def of_answers(p: Array, q: Array, chance: Array, y: Array, *, loss: bool) -> Array:
    """What each answer adds to its channel.

    >>> p, q, y = np.array([0.75]), np.array([0.5]), np.array([1.0])
    >>> one = of_answers(p, q, q, y, loss=False)[0]
    >>> one[Column.LABELS : SUMS].tolist()
    [1.0, 2.0, 2.0, 0.5, 0.125, 4.0, 4.0, 0.25, 0.015625]
    """
    values = Values(p, loss=loss)
    v = np.where(y > 0.0, values.v1, values.v0)
    d = v - values.guess
    rows = np.zeros((p.size, WIDTH))
    rows[:, Column.LOW] = v - values.low
    rows[:, Column.HIGH] = v - values.high
    rows[:, Column.LABELS] = 1.0
    powers = np.column_stack([np.ones_like(v), v, d, d * d])
    rows[:, Column.W1 : Column.W2] = powers / q[:, None]
    rows[:, Column.W2 : Column.U2] = powers[:, [0, 1, 3]] / (q * q)[:, None]
    rows[:, Column.U2] = ((1.0 - q) * (d / q) ** 2) ** 2
    rows[:, SUMS:] = confidence_sequence.asked(values.d0, values.d1, d, chance)
    return rows


def of_losses(q: Array) -> Array:
    """What each lost question adds to its channel.

    >>> of_losses(np.array([0.5]))[0, [Column.LOST, Column.GONE]].tolist()
    [2.0, 1.0]
    """
    rows = np.zeros((q.size, WIDTH))
    rows[:, Column.LOST], rows[:, Column.GONE] = 1.0 / q, 1.0
    return rows


def gathered(pane: Whole, label: Array, classes: Array, losses: Array) -> dict[int, Array]:
    """The rows of each pane summed into a block: ``classes`` by prediction, ``losses`` together.

    >>> rows = np.ones((3, WIDTH))
    >>> blocks = gathered(np.array([4, 4, 5]), np.array([1.0, -1.0, 1.0]), rows, 2.0 * rows)
    >>> blocks[4][:, 0].tolist(), blocks[5][:, 0].tolist()
    ([1.0, 1.0, 4.0], [1.0, 0.0, 2.0])
    """
    numbers, places = np.unique(pane, return_inverse=True)
    blocks = np.zeros((numbers.size, *SHAPE))
    for channel, chosen, rows in (
        (PLUS, label > 0.0, classes), (MINUS, label < 0.0, classes), (LOSS, label != 0.0, losses)
    ):  # fmt: skip
        order = np.flatnonzero(chosen)
        order = order[np.argsort(places[order], kind="stable")]
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        if starts.size:
            blocks[places[order[starts]], channel] = np.add.reduceat(rows[order], starts, axis=0)
    return dict(zip(numbers.tolist(), blocks, strict=True))
