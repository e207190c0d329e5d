"""Answers that may be wrong: how often, known beforehand, travels in the fraction of the label.

An answer of *noise* e is another class than the label with probability e, any of them alike. Where
labels themselves are wrong with probability l (lapse), the answer is the class with ::

    1 - l' = (1 - l) (1 - e) + l e / (K - 1),    l' = l + e - l e K / (K - 1)

so that it is learned as a label is, with l' in the place of l: in the filter of each state, in what
each hypothesis had said, and in the weights of views. With e = (K - 1) / K it says nothing, and
with more, the contrary. The label of an answer is -1 or +1, or the number of a class.
"""

from __future__ import annotations

import math

__all__ = ["label_in", "lapse_with", "noise_in"]


def coded(label: float, noise: float) -> float:
    """A label that may be wrong, as one number.

    >>> coded(-1.0, 0.25), coded(3.0, 0.0)
    (-1.125, 3.0)
    """
    return math.copysign(abs(label) + 0.5 * noise, label)


def label_in(answer: float) -> float:
    """The label of an answer.

    >>> label_in(-1.125), label_in(3.5)
    (-1.0, 3.0)
    """
    return math.copysign(math.floor(abs(answer)), answer)


def noise_in(answer: float) -> float:
    """How often an answer like this is wrong.

    >>> noise_in(-1.125), noise_in(3.0)
    (0.25, 0.0)
    """
    return 2.0 * (abs(answer) - math.floor(abs(answer)))


def lapse_with(lapse: float, noise: float, classes: int) -> float:
    """How often an answer is not the class that the model speaks of.

    >>> lapse_with(0.1, 0.0, classes=3), lapse_with(0.1, 0.5, classes=2)
    (0.1, 0.5)
    """
    return lapse + noise - lapse * noise * classes / (classes - 1)
