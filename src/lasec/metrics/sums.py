"""What is kept of a row: sums over rows and over labels, all of them additive.

A row of sums follows one value v, which is 0 or 1 and depends on the label, and a guess a of it:
the sums named in :class:`Column` and, for intervals that hold at any time, log K for each bet of
:mod:`lasec.metrics.confidence_sequence`. Sums of disjoint rows add up to that of their union, in
any order; parts of a run are differences of what was summed up to two moments. Nothing else is
needed of a row once its label has come. From these sums :mod:`lasec.metrics.means` estimates the
mean.

For groups of rows, parts of a run and shards of a job, v is whether the prediction is wrong. A
meter keeps a block of three, all of them with v = 1[y = +1] and a = P(y = +1). Where a cheap judge
stands before the experts, its answers correct the guess (:func:`of_replies`), and labels are those
of experts (:func:`of_experts`)::

    PLUS    rows predicted +1
    MINUS   rows predicted -1
    ALL     both
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import confidence_sequence

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PLUS, MINUS, ALL = 0, 1, 2
SURE = (0.001, 0.999)
# Between these, what is formed from the sums stays finite.
SMALLEST, LARGEST = 1e-30, 1e140


class Column(IntEnum):
    """The sums of v. d = v - a; those from LABELS on run over the answered rows.

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
# An answer of a judge can lower the others.
_CORRECTED = [Column.LOW, Column.HIGH, Column.D1, Column.DD1]
_CORRECTED += [Column.CHANCE, Column.GUESS, Column.EXPECTED]
_GROWING = [c for c in Column if c not in _CORRECTED]


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
    together = np.abs(blocks[..., ALL, :] - blocks[..., PLUS, :] - blocks[..., MINUS, :])
    return bool(
        (blocks[..., _GROWING] >= 0.0).all()
        and (counts.sum(axis=-1) <= rounds * _SLACK).all()
        and ((weights >= counts / _SLACK) & (weights <= counts / SMALLEST)).all()
        and (rounds <= 2.0**53).all()
        and (together[..., _SHARED] <= 1e-6 * blocks[..., ALL, _SHARED]).all()
    )


def likely(margin: Array) -> Array:
    """P(y = +1) of a model whose margin is P(y = +1) - P(y = -1), kept off 0 and 1.

    >>> likely(np.array([0.6, -1.0])).tolist()
    [0.8, 0.001]
    """
    return np.asarray((1.0 + margin) / 2.0).clip(*SURE)


def doubt(label: NDArray[Any], margin: Array) -> Array:
    """The model's own probability that its prediction is wrong.

    >>> doubt(np.array([1, -1]), np.array([0.8, 0.5])).round(2).tolist()
    [0.1, 0.75]
    """
    p = likely(margin)
    return np.where(label > 0, 1.0 - p, p)


def aipw(guess: float, value: float | None, q: float) -> float:
    """The estimate of one row's value: unbiased, whatever the guess; None is no label.

    >>> [round(aipw(0.1, value, q=0.5), 6) for value in (1.0, 0.0, None)]
    [1.9, -0.1, 0.1]
    """
    return guess if value is None else guess + (value - guess) / q


def of_rows(guess: Array, q: Array, chance: Array | None = None) -> Array:
    """What each row adds before any answer; with ``chance``, q times what is kept, also its bets.

    >>> of_rows(np.array([0.8]), np.array([0.1]))[0, : Column.LABELS].round(2).tolist()
    [1.0, 0.1, 0.8, 0.0, 1.0, 0.0, 0.0, 1.44, 0.0, 0.0]
    """
    seen = q > 0.0
    rows = np.zeros((guess.size, SUMS if chance is None else WIDTH))
    rows[:, Column.ROUNDS] = rows[:, Column.HIGH] = 1.0
    rows[:, Column.CHANCE] = q
    rows[:, Column.GUESS] = guess
    rows[:, Column.BELOW] = np.where(seen, 0.0, guess)
    rows[:, Column.ABOVE] = np.where(seen, 0.0, 1.0 - guess)
    spread = (1.0 - q) * (guess * (1.0 - guess))
    rows[:, Column.EXPECTED] = np.where(seen, spread / np.where(seen, q, 1.0), 0.0)
    if chance is not None:
        rows[:, SUMS:] = confidence_sequence.unasked(-guess, 1.0 - guess, chance)
    return rows


def of_answers(guess: Array, q: Array, value: NDArray[Any], chance: Array | None = None) -> Array:
    """What each answer adds: v is the value that it says.

    >>> p, q, v = np.array([0.75]), np.array([0.5]), np.array([1.0])
    >>> of_answers(p, q, v)[0, Column.LABELS :].tolist()
    [1.0, 2.0, 2.0, 0.5, 0.125, 4.0, 4.0, 0.25, 0.015625]
    """
    v = value.astype(np.float64)
    d = v - guess
    rows = np.zeros((v.size, SUMS if chance is None else WIDTH))
    rows[:, Column.LOW] = v
    rows[:, Column.HIGH] = v - 1.0
    rows[:, Column.LABELS] = 1.0
    powers = np.column_stack([np.ones_like(v), v, d, d * d])
    rows[:, Column.W1 : Column.W2] = powers / q[:, None]
    rows[:, Column.W2 : Column.U2] = powers[:, [0, 1, 3]] / (q * q)[:, None]
    rows[:, Column.U2] = ((1.0 - q) * (d / q) ** 2) ** 2
    if chance is not None:
        rows[:, SUMS:] = confidence_sequence.asked(-guess, 1.0 - guess, d, chance)
    return rows


def of_replies(guess: Array, q: Array, second: Array, then: Array, chance: Array) -> Array:
    """What the answer of a judge adds, who was asked with q: ``then`` is the guess with it.

    The expert is asked with ``second`` after that. Nested augmented inverse propensity weighting::

        a + Z_1/q [ (a_1 - a) + Z_2/q_2 (v - a_1) ]

    is unbiased whatever the judge says. Its first half belongs to the guess; ``chance`` is q times
    what is kept, for bets.

    >>> made = of_replies(*np.array([[0.5], [0.5], [0.5], [0.9], [0.5]]))
    >>> float(made[0, Column.GUESS]), made[0, SUMS:].size == WIDTH - SUMS
    (0.8, True)
    """
    rows = np.zeros((guess.size, WIDTH))
    rows[:, Column.CHANCE] = second - 1.0
    rows[:, Column.GUESS] = (then - guess) / q
    first = then * (1.0 - guess) ** 2 + (1.0 - then) * guess**2 - guess * (1.0 - guess)
    rows[:, Column.EXPECTED] = (1.0 - q) / q * first / q
    left = then * (1.0 - then)
    seen = second > 0.0
    over = np.where(seen, second, 1.0)
    rows[:, Column.EXPECTED] += np.where(seen, (1.0 - over) / over * left / q**2, 0.0)
    rows[:, Column.BELOW] = np.where(seen, 0.0, then / q)
    rows[:, Column.ABOVE] = np.where(seen, 0.0, (1.0 - then) / q)
    rows[:, SUMS:] = confidence_sequence.judged(-guess, 1.0 - guess, chance, then, second)
    return rows


def of_experts(
    guess: Array, q: Array, second: Array, then: Array, value: NDArray[Any], chance: Array
) -> Array:
    """What the answer of an expert adds after that of a judge; with ``chance`` for bets.

    The weight is 1/(q q_2). Each answer estimates the variance of both draws::

        [ (1 - q)/q (v - a)^2 + (1 - q_2)/(q q_2) (v - a_1)^2 ] / (q q_2)

    >>> a, q, v = np.array([0.75]), np.array([0.5]), np.array([1.0])
    >>> alone, both = of_answers(a, q, v, q), of_experts(a, q, np.ones(1), a, v, q)
    >>> bool(np.allclose(both + of_replies(a, q, np.ones(1), a, q), alone))
    True
    """
    v = value.astype(np.float64)
    whole = q * second
    rows = of_answers(then, whole, v)
    rows = np.pad(rows, [(0, 0), (0, WIDTH - SUMS)])
    before = (v - guess) ** 2 / whole
    rows[:, Column.DD1] += before - before / q + (v - then) ** 2 * (1.0 / q - 1.0) / whole
    rows[:, Column.U2] = (rows[:, Column.DD2] - rows[:, Column.DD1]) ** 2
    rows[:, SUMS:] = confidence_sequence.escalated(
        -guess, 1.0 - guess, v - guess, chance, then, second
    )
    return rows


def of_losses(q: Array, width: int = SUMS) -> Array:
    """What each question without an answer adds; an answer that comes after all takes it off.

    >>> of_losses(np.array([0.5]))[0, [Column.LOST, Column.GONE]].tolist()
    [2.0, 1.0]
    """
    rows = np.zeros((q.size, width))
    rows[:, Column.LOST], rows[:, Column.GONE] = 1.0 / q, 1.0
    return rows


def gathered(pane: Whole, label: Array, rows: Array) -> dict[int, Array]:
    """The rows of each pane summed into a block; ``label`` is the prediction, 0 for none.

    >>> blocks = gathered(np.array([4, 4, 5]), np.array([1.0, -1.0, 1.0]), np.ones((3, WIDTH)))
    >>> blocks[4][:, 0].tolist(), blocks[5][:, 0].tolist()
    ([1.0, 1.0, 2.0], [1.0, 0.0, 1.0])
    """
    numbers, places = np.unique(pane, return_inverse=True)
    blocks = np.zeros((numbers.size, *SHAPE))
    for which, chosen in ((PLUS, label > 0.0), (MINUS, label < 0.0), (ALL, label != 0.0)):
        order = np.flatnonzero(chosen)
        order = order[np.argsort(places[order], kind="stable")]
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        if starts.size:
            blocks[places[order[starts]], which] = np.add.reduceat(rows[order], starts, axis=0)
    return dict(zip(numbers.tolist(), blocks, strict=True))
