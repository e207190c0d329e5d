"""Parameters from the amount of drift, as the corollaries set them, and when those hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lasec.bounds.terms import Terms
from lasec.parameters import LARGEST, SMALLEST, Range, number

_POSITIVE = Range(SMALLEST, LARGEST)


class Advice(NamedTuple):
    """Parameters for LASEC: ``drift`` and ``ridge``, and whether the corollaries cover the case.

    >>> Advice(drift=0.01, ridge=1.0, covered=True).drift
    0.01
    """

    drift: float
    ridge: float
    covered: bool


def advise(
    rows: int,
    dimension: int,
    radius: float,
    variation: float,
    share: float = 0.01,
    ridge: float = 1.0,
) -> Advice:
    """The parameters that Corollaries 8 and 9 set when the amount of drift is known.

    ``radius`` bounds every ``|x_t|``; ``variation`` is V, the sum of squared moves of the target
    over the rows with an update, or a bound on it. c = (sqrt(2) T d X / V)^(2/3) and b =
    ``share`` times c. The corollaries cover V <= T sqrt(2) d X / mu^(3/2), where
    mu = max(9 X^2 / 8, (b + X^2)^2 / (8 X^2)).

    A target that stays has V = 0, and c is infinite: ``drift`` is 0, the second-order perceptron.
    Then b cannot be a share of c, the corollaries leave it free, and it is ``ridge``.

    >>> advice = advise(rows=10_000, dimension=50, radius=10.0, variation=1_900.0)
    >>> f"drift {advice.drift:.4f}, ridge {advice.ridge:.2f}", advice.covered
    ('drift 0.0042, ridge 2.40', True)
    >>> advise(rows=10_000, dimension=50, radius=10.0, variation=0.0)
    Advice(drift=0.0, ridge=1.0, covered=True)
    """
    T = number("rows", rows, int, Range(1, LARGEST))
    d = number("dimension", dimension, int, Range(1, LARGEST))
    X: float = number("radius", radius, float, _POSITIVE)
    V: float = number("variation", variation, float, Range(0.0, LARGEST))
    eps: float = number("share", share, float, Range(SMALLEST, 0.999))
    if V == 0.0:
        return Advice(0.0, number("ridge", ridge, float, _POSITIVE), covered=True)
    c = (math.sqrt(2) * T * d * X / V) ** (2 / 3)
    return Advice(drift=1.0 / c, ridge=eps * c, covered=c >= _mu(eps * c, X))


def foreseen(run: Terms) -> tuple[float, float]:
    """A and C as the corollaries have them, with the V that the run's c stands for."""
    T, dX, V = run.margins.size, run.dimension * run.radius, _stands_for(run)
    A = run.start + (math.sqrt(2) * dX * T) ** (2 / 3) * V ** (1 / 3) + run.fit
    C = (4 * dX) ** (2 / 3) * T ** (-1 / 3) * V ** (1 / 3)
    return A, C


def is_covered(runs: Sequence[Terms]) -> bool:
    """Whether c >= mu in each run, and V_m is on average at most what c was set from."""
    wide = all(run.drift * _mu(run.ridge, run.radius) <= 1.0 for run in runs)
    drift = float(np.mean([run.variation for run in runs]))
    return wide and drift <= float(np.mean([_stands_for(run) for run in runs])) * (1 + 1e-12)


def _stands_for(run: Terms) -> float:
    """The V from which the corollaries would have set this run's c."""
    return math.sqrt(2) * run.margins.size * run.dimension * run.radius * math.pow(run.drift, 1.5)


def _mu(b: float, X: float) -> float:
    return max(9 / 8 * X**2, (b + X**2) ** 2 / (8 * X**2)) if X > 0.0 else math.inf
