"""The paper's mistake bounds, computed on a run, and the parameters they advise.

Moroshko and Crammer, *Selective Sampling with Drift*, AISTATS 2014, section 4. All of them compare
a run with a sequence of reference vectors u_t, for which a synthetic stream has the true ones. With
M the rounds of the m updates, the quantities are::

    L = sum over t of max(0, gamma - y_t u_t'x_t)        the references' hinge loss
    A = b |u_1|^2 + c V_m + sum over M of (u_t'x_t)^2    V_m = sum over M of |u_k - u_{k-1}|^2
    B = sum over M of x_t' D_k^-1 x_t                    each term is q/(1 + q) of that round

    Theorem 1   m <= L/gamma + sqrt(A B)/gamma                           every label asked
    Theorem 2   E[mistakes] <= E[L_M]/gamma + a E[A]/(2 gamma^2) + E[B]/(2a)     coin with a

where L_M is the loss on the rounds of M alone. u_1 and V_m run over the updates. Any gamma > 0
gives a bound; here it is the one that makes the bound smallest, found exactly for Theorem 1.
Without drift (c = inf) the bounds hold for V_m = 0 only and are infinite otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.records import Records
from lasec.rules.second_order import SecondOrder
from lasec.streams.stream import Stream

Array = NDArray[np.float64]


class Bound(NamedTuple):
    """A bound on the number of mistakes, with the gamma at which it is taken.

    >>> Bound(value=120.0, gamma=0.5).value
    120.0
    """

    value: float
    gamma: float


class Terms(NamedTuple):
    """What the bounds are made of, for one run: see the head of this module.

    ``margins`` are y_t u_t'x_t of all rounds, ``updated`` marks M.
    """

    margins: Array
    updated: NDArray[np.bool_]
    A: float
    B: float


def terms(rule: SecondOrder, stream: Stream, records: Records) -> Terms:
    """The quantities of the bounds for a run of ``rule`` on a stream whose targets are known.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01)
    >>> round(terms(learner.rule, stream, learner.run(*stream)).B, 1)
    24.7
    """
    u, M = stream.target, records.updated
    scores = np.einsum("td,td->t", stream.X, u)
    used = u[M]
    moved = float((np.diff(used, axis=0) ** 2).sum())
    start = float((used[:1] ** 2).sum())
    drift_cost = 0.0 if moved == 0.0 else (moved / rule.drift if rule.drift > 0 else math.inf)
    A = rule.ridge * start + drift_cost + float((scores[M] ** 2).sum())
    q = records.variance[M]
    return Terms(stream.y * scores, M, A, float((q / (1.0 + q)).sum()))


def supervised(run: Terms) -> Bound:
    """Theorem 1: a bound on the mistakes of LASEC when every label is asked.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01)
    >>> records = learner.run(*stream)
    >>> bound = supervised(terms(learner.rule, stream, records))
    >>> int(records.mistake.sum()), round(bound.value)
    (64, 419)
    """
    return _over_gamma(run.margins, math.inf if math.isinf(run.A) else math.sqrt(run.A * run.B))


def selective(runs: Sequence[Terms], caution: float) -> Bound:
    """Theorem 2: a bound on the expected mistakes of LASEC-SS, expectations taken over ``runs``.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> runs, mistakes = [], []
    >>> for seed in range(5):
    ...     learner = lasec.LASEC_SS(dimension=5, drift=0.01, caution=0.1, seed=seed)
    ...     records = learner.run(*stream)
    ...     runs.append(terms(learner.rule, stream, records))
    ...     mistakes.append(records.mistake.sum())
    >>> float(np.mean(mistakes)), round(selective(runs, caution=0.1).value)
    (95.6, 158)
    """
    A = float(np.mean([run.A for run in runs]))
    B = float(np.mean([run.B for run in runs]))
    if math.isinf(A):
        return Bound(math.inf, math.inf)
    margins = np.sort(np.concatenate([run.margins[run.updated] for run in runs]))
    below = np.concatenate([[0.0], np.cumsum(margins)])

    def value(gamma: Array) -> Array:
        k = np.searchsorted(margins, gamma)
        loss = (k - below[k] / gamma) / len(runs)
        return np.asarray(loss + caution * A / (2 * gamma**2) + B / (2 * caution))

    grid = np.geomspace(1e-6, 1e6, 4001) * max(float(np.abs(margins).mean()), 1e-300)
    best = grid[np.argmin(value(grid))]
    fine = best * np.geomspace(0.99, 1.01, 2001)
    k = int(np.argmin(value(fine)))
    return Bound(float(value(fine)[k]), float(fine[k]))


def best_caution(runs: Sequence[Terms], gamma: float) -> float:
    """The ``caution`` that would have made Theorem 2 smallest: gamma sqrt(E[B] / E[A]).

    >>> run = Terms(np.ones(1), np.ones(1, dtype=bool), A=100.0, B=4.0)
    >>> best_caution([run], gamma=1.0)
    0.2
    """
    return gamma * math.sqrt(np.mean([run.B for run in runs]) / np.mean([run.A for run in runs]))


def solved(rule: SecondOrder, run: Terms, cov: Array, radius: float) -> Bound:
    """Theorem 1 solved for m (the paper's Lemma 2), where B is bounded by quantities of the data.

    ``cov`` is the learner's last covariance and ``radius`` bounds every ``|x_t|``. With
    X = radius, sum over M of x'D^-1x <= B' + m C, where::

        B' = ln|D_m / b| + tr(D_0)/c,    C = (d/c) max((3X^2 + sqrt(X^4 + 4 X^2 c))/2, b + X^2)
        m <= L/g + AC/(2 g^2) + sqrt(L A C/g + (AC)^2/(4 g^2) + A B')/g,   g = gamma

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01)
    >>> run = terms(learner.rule, stream, learner.run(*stream))
    >>> radius = float(np.linalg.norm(stream.X, axis=1).max())
    >>> solved(learner.rule, run, learner.state.cov, radius).value >= supervised(run).value
    True
    """
    if math.isinf(run.A):
        return Bound(math.inf, math.inf)
    B, C = _data_terms(rule, cov, radius)
    order = np.sort(run.margins)
    below = np.cumsum(order)
    gamma = order[order > 0.0]
    k = np.searchsorted(order, gamma, side="right")
    D = k * gamma - below[k - 1]
    AC = run.A * C
    root = np.sqrt(D * AC / gamma + AC**2 / (4 * gamma**2) + run.A * B)
    value = D / gamma + AC / (2 * gamma**2) + root / gamma
    best = int(np.argmin(value))
    return Bound(float(value[best]), float(gamma[best]))


class Advice(NamedTuple):
    """Parameters for LASEC: ``drift`` and ``ridge``, and whether the corollary covers the case."""

    drift: float
    ridge: float
    covered: bool


def advise(
    rounds: int, dimension: int, radius: float, variation: float, share: float = 0.01
) -> Advice:
    """The parameters that the paper's Corollary 1 sets when the amount of drift is known.

    ``radius`` bounds every ``|x_t|``; ``variation`` is V, the sum of squared moves of the target.
    c = (sqrt(2) T d X / V)^(2/3) and b = ``share`` times c. The corollary covers
    V <= T sqrt(2) d X / mu^(3/2), mu = max(9 X^2 / 8, (b + X^2)^2 / (8 X^2)).

    >>> advice = advise(rounds=10_000, dimension=50, radius=10.0, variation=1_900.0)
    >>> f"drift {advice.drift:.4f}, ridge {advice.ridge:.2f}", advice.covered
    ('drift 0.0042, ridge 2.40', True)
    """
    c = (math.sqrt(2) * rounds * dimension * radius / variation) ** (2 / 3)
    b = share * c
    mu = max(9 / 8 * radius**2, (b + radius**2) ** 2 / (8 * radius**2))
    covered = variation <= rounds * math.sqrt(2) * dimension * radius / mu**1.5
    return Advice(drift=1.0 / c, ridge=b, covered=covered)


def _over_gamma(margins: Array, K: float) -> Bound:
    """The smallest value of sum max(0, 1 - margin/gamma) + K/gamma over gamma > 0.

    Between two neighbouring margins the sum is n - (S - K)/gamma, with n and S the number and the
    sum of the margins below gamma: it falls while S < K and rises after, so the smallest value is
    taken at a margin, or at the ends: gamma -> inf gives the number of rounds.
    """
    order = np.sort(margins)
    below = np.cumsum(order)
    candidates = np.flatnonzero(order > 0.0)
    count = float(len(order))
    if math.isinf(K) or candidates.size == 0:
        return Bound(K if math.isinf(K) else count, math.inf)
    gamma = order[candidates]
    value = (candidates + 1) - (below[candidates] - K) / gamma
    best = int(np.argmin(value))
    if value[best] >= count:
        return Bound(count, math.inf)
    return Bound(float(value[best]), float(gamma[best]))


def _data_terms(rule: SecondOrder, cov: Array, radius: float) -> tuple[float, float]:
    """B' and C of :func:`solved`."""
    d, b, rate = len(cov), rule.ridge, rule.drift
    D_inverse = cov - rate * np.eye(d)
    B = -float(np.linalg.slogdet(b * D_inverse)[1])
    if rate == 0.0:
        return B, 0.0
    c, square = 1.0 / rate, radius**2
    largest = max((3 * square + math.sqrt(square**2 + 4 * square * c)) / 2, b + square)
    return B + d * b / (c - b), d / c * largest
