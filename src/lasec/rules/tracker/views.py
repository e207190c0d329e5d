"""What a mixture needs of a view of the rows: five functions, which are methods of its type.

A view is a NamedTuple of arrays: a Gaussian posterior of every state about the rows as it sees
them. ``at`` is a row as a view sees it, with its squared length ``at.size``. A new view is one
file: a type with these methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.types import Vector

__all__: list[str] = []


def score(
    view: Any, rule: Any, weight: Vector, bar: float, at: Any, gap: int, m: NDArray[np.float64],
    v: Vector,
) -> None:  # fmt: skip
    """Add the mean of each class's score to m[i], and its variance to v[i], ``gap`` rows on.

    Of the states i of at least this ``weight``, which may share variances.
    """
    view.score(rule, weight, bar, at, gap, m, v)


def meet(view: Any, i: int, at: Any, fade: float, fresh: float, m: Vector) -> float:
    """Add the mean of each class's score to m, and give its variance, once state i has drifted."""
    return float(view.meet(i, at, fade, fresh, m))


def learn(view: Any, i: int, at: Any, fade: float, fresh: float, gain: Vector, shrink: float,
          v: float) -> None:  # fmt: skip
    """Let state i drift and take its step: w <- w + gain Pu, P <- P - shrink Pu (Pu)'; v is u'Pu.

    It follows :func:`meet` of the same state and row.
    """
    view.learn(i, at, fade, fresh, gain, shrink, v)


def settle(view: Any, rule: Any, at: Any) -> None:
    """What remains to be done once all states have learned a label."""
    view.settle(rule, at)


def restart(view: Any, rule: Any, slot: int) -> None:
    """The states of a slot know nothing."""
    view.restart(rule, slot)
