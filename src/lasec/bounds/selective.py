"""Bounds for LASEC-SS: Theorem 4, its explicit form, Corollary 9.

Each is E[L_M]/gamma + a A/(2 gamma^2) + B/(2a) with an A and a B of its own. For the a that makes
it smallest, a = gamma sqrt(B/A), it is E[L_M]/gamma + sqrt(A B)/gamma. A and B are measured on runs
that were made with some a, and would differ with another: only at the a of the runs is the value a
bound on their mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lasec.bounds.advice import foreseen, is_covered
from lasec.bounds.gamma import Loss, least
from lasec.bounds.terms import Bound, Terms


def selective(
    runs: Sequence[Terms], aggressiveness: float | None = None, gamma: float | None = None
) -> Bound:
    """Theorem 4: a bound on the expected mistakes of LASEC-SS, expectations taken over ``runs``.

    ``aggressiveness`` is the a of the runs; without ``gamma``, the bound is the smallest over all
    gamma. With ``gamma`` alone, it is taken at the a that would make it smallest, which is
    ``aggressiveness`` of the result. (Smallest in both at once says nothing: for gamma = a = inf
    the bound is E[m].)

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> runs, mistakes = [], []
    >>> for seed in range(5):
    ...     learner = lasec.LASEC_SS(dimension=5, drift=0.01, aggressiveness=0.1, seed=seed)
    ...     records = learner.run(*stream)
    ...     runs.append(lasec.bounds.terms(learner, stream, records))
    ...     mistakes.append(records.mistake.sum())
    >>> float(np.mean(mistakes)), round(selective(runs, aggressiveness=0.1).value)
    (95.6, 158)
    """
    A, B = _mean([run.A for run in runs]), _mean([run.B for run in runs])
    return _bound(runs, A, B, aggressiveness, gamma)


def explicit(
    runs: Sequence[Terms], aggressiveness: float | None = None, gamma: float | None = None
) -> Bound:
    """Theorem 4 with B bounded by the data alone: ``E ln|D_T / b| + tr(D_0)/c + T C``.

    ``aggressiveness`` and ``gamma`` as in :func:`selective`.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, drift=0.01, aggressiveness=0.1, seed=0)
    >>> run = lasec.bounds.terms(learner, stream, learner.run(*stream))
    >>> round(selective([run], 0.1).value), round(explicit([run], 0.1).value)
    (149, 18969)
    """
    B = [run.limit(run.margins.size) for run in runs]
    return _bound(runs, _mean([run.A for run in runs]), _mean(B), aggressiveness, gamma)


def corollary_9(
    runs: Sequence[Terms], aggressiveness: float | None = None, gamma: float | None = None
) -> Bound:
    """Corollary 9: the explicit bound for a c that was set from the amount of drift, and b = eps c.

    A and C are those of :func:`~lasec.bounds.corollary_8`, V is read back from c in the same way,
    and B is ``E ln|D_T / b| + d eps/(1 - eps) + T C``. ``covered`` says whether E[V_m] <= V and
    whether c >= mu in each run. ``aggressiveness`` and ``gamma`` as in :func:`selective`.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> advice = lasec.bounds.advise(1_000, 5, radius=4.5, variation=15.0)
    >>> advised = {"drift": advice.drift, "ridge": advice.ridge}
    >>> learner = lasec.LASEC_SS(5, **advised, aggressiveness=3.0, seed=0)
    >>> run = lasec.bounds.terms(learner, stream, learner.run(*stream))
    >>> bound = corollary_9([run], gamma=1.0)
    >>> round(bound.value), round(bound.aggressiveness, 2), bound.covered
    (3546, 1.41, True)
    """
    known = [foreseen(run) for run in runs]
    A = _mean([a for a, _ in known])
    B = [run.limit(0) + run.margins.size * c for run, (_, c) in zip(runs, known, strict=True)]
    return _bound(runs, A, _mean(B), aggressiveness, gamma)._replace(covered=is_covered(runs))


def best_aggressiveness(runs: Sequence[Terms], gamma: float) -> float:
    """The a that makes Theorem 4 smallest at a given gamma: gamma sqrt(E[B] / E[A]).

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, drift=0.01, aggressiveness=0.1, seed=0)
    >>> run = lasec.bounds.terms(learner, stream, learner.run(*stream))
    >>> round(best_aggressiveness([run], gamma=1.0), 2)
    0.13
    """
    return selective(runs, gamma=gamma).aggressiveness


def _bound(
    runs: Sequence[Terms], A: float, B: float, aggressiveness: float | None, gamma: float | None
) -> Bound:
    """E[L_M]/gamma + a A/(2 gamma^2) + B/(2a), at the best gamma or the best a if it is not given.

    The best a for a gamma is gamma sqrt(B/A), and the bound then E[L_M]/gamma + sqrt(A B)/gamma.
    """
    margins = np.concatenate([run.margins[run.updated] for run in runs])
    loss = Loss(margins, 1.0 / len(runs))
    if aggressiveness is not None:
        value, at = least(loss, 0.0, aggressiveness * A / 2.0, gamma)
        return Bound(value + B / (2.0 * aggressiveness), at, aggressiveness)
    if gamma is None:
        raise ValueError("aggressiveness, gamma: give one of them or both")
    root = math.inf if math.isinf(A) else math.sqrt(A * B)
    best = gamma * math.sqrt(B / A) if A > 0.0 else math.inf
    return Bound(*least(loss, root, 0.0, gamma), best)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
