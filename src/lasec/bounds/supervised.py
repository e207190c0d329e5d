"""Bounds for LASEC with every label: Theorem 2, Lemma 7, Corollary 8."""

from __future__ import annotations

import math

import numpy as np

from lasec.bounds.advice import foreseen, is_covered
from lasec.bounds.gamma import Loss, least
from lasec.bounds.terms import Array, Bound, Terms


def supervised(run: Terms, gamma: float | None = None) -> Bound:
    """Theorem 2: a bound on the mistakes of LASEC when every label is queried.

    Without ``gamma``, the smallest bound over all gamma.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01)
    >>> records = learner.run(*stream)
    >>> bound = supervised(lasec.bounds.terms(learner, stream, records))
    >>> int(records.mistake.sum()), round(bound.value)
    (64, 419)
    """
    root = math.inf if math.isinf(run.A) else math.sqrt(run.A * run.B)
    return Bound(*least(Loss(run.margins), root, 0.0, gamma))


def lemma_7(D: float, A: float, B: float, C: float, gamma: float) -> float:
    """Lemma 7: the largest m with m <= D/gamma + sqrt(A (B + m C))/gamma.

    >>> m = lemma_7(D=3.0, A=4.0, B=2.0, C=0.5, gamma=1.0)
    >>> round(m, 6), round(3.0 + math.sqrt(4.0 * (2.0 + 0.5 * m)), 6)
    (7.872983, 7.872983)
    """
    return float(_largest(np.array([D / gamma]), A, B, C, np.array([gamma]))[0])


def solved(run: Terms, gamma: float | None = None) -> Bound:
    """Lemma 7: Theorem 2 with B bounded by the data alone, B' + m C, and solved for m.

    Without ``gamma``, the smallest bound over all gamma, which is never above the number of rows.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01)
    >>> run = lasec.bounds.terms(learner, stream, learner.run(*stream))
    >>> round(solved(run).value), round(solved(run, gamma=1.0).value)
    (1000, 4737)
    """
    return _solved(run, run.A, run.limit(0), run.C, gamma)


def corollary_8(run: Terms, gamma: float | None = None) -> Bound:
    """Corollary 8: Lemma 7 for a c that was set from the amount of drift, and b = eps c.

    The corollary sets c = (sqrt(2) T d X / V_m)^(2/3). Nobody knows V_m before the run; but its
    proof needs no more than V_m <= V, where V is what c was set from. So V is read back from the
    learner's own c, V = sqrt(2) T d X / c^(3/2), and with it::

        A = b |u_1|^2 + (sqrt(2) d X)^(2/3) T^(2/3) V^(1/3) + sum over M of (u_t'x_t)^2
        B = ln|D_m / b| + d eps/(1 - eps),      C = (4 d X)^(2/3) T^(-1/3) V^(1/3)

    ``covered`` says whether V_m <= V and V <= T sqrt(2) d X / mu^(3/2) (which is c >= mu). The
    drift of all rows, V = sum over t of ``|u_t - u_{t-1}|^2``, need not bound V_m: a reference
    that moves steadily in one direction is seen to move further between two updates than in single
    steps, when squared. For c = inf, V is 0 and the bound is the second-order perceptron's.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> advice = lasec.bounds.advise(1_000, 5, radius=4.5, variation=15.0)
    >>> learner = lasec.LASEC(dimension=5, drift=advice.drift, ridge=advice.ridge)
    >>> bound = corollary_8(lasec.bounds.terms(learner, stream, learner.run(*stream)), gamma=1.0)
    >>> round(bound.value), bound.covered
    (12695, True)
    """
    A, C = foreseen(run)
    return _solved(run, A, run.limit(0), C, gamma, is_covered([run]))


def _solved(
    run: Terms, A: float, B: float, C: float, gamma: float | None, covered: bool = True
) -> Bound:
    """Lemma 7 at one gamma, or the smallest over all.

    A value m is reached at some gamma iff L/gamma + sqrt(A (B + m C))/gamma <= m there. The left
    side is smallest at a corner of L/gamma, so that the smallest m is taken at a corner as well.
    """
    if math.isinf(A):
        return Bound(math.inf, math.inf, covered=covered)
    loss = Loss(run.margins)
    at = loss.corners if gamma is None else np.array([gamma], dtype=np.float64)
    value = _largest(loss(at), A, B, C, at)
    best = int(np.argmin(value))
    return Bound(float(value[best]), float(at[best]), covered=covered)


def _largest(scaled: Array, A: float, B: float, C: float, gamma: Array) -> Array:
    """Lemma 7's right side, with ``scaled`` = D/gamma, which is finite at gamma = inf too."""
    with np.errstate(over="ignore"):
        AC = A * C
        root = np.sqrt(scaled * AC + (AC / gamma) ** 2 / 4 + A * B)
        return np.asarray(scaled + AC / (2 * gamma**2) + root / gamma)
