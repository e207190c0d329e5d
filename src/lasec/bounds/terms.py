"""What the bounds are made of, for one run: see :mod:`lasec.bounds` for the symbols."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lasec.records import Records
from lasec.rules.second_order import SecondOrder
from lasec.streams.stream import Stream

Array = NDArray[np.float64]


class Bound(NamedTuple):
    """A bound on the number of mistakes, with the gamma and the a that it is taken at.

    ``aggressiveness`` is a: infinite where every label is queried. ``covered`` is false where a
    corollary's condition is not met: then the value is what its formula gives, but it is no bound.

    >>> Bound(value=120.0, gamma=0.5).covered
    True
    """

    value: float
    gamma: float
    aggressiveness: float = math.inf
    covered: bool = True


class Terms(NamedTuple):
    """The quantities of the bounds for one run.

    ``margins`` are y_t u_t'x_t of all T rows and ``updated`` marks M; ``start`` is ``b |u_1|^2``,
    ``variation`` is V_m, ``fit`` the sum over M of (u_t'x_t)^2, ``B`` the sum over M of
    x_t' D_k^-1 x_t, and ``log_det`` is ``ln|D_m / b|``. ``ridge`` is b, ``drift`` is 1/c and
    ``radius`` is X.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC(dimension=5, drift=0.01, ridge=1.0)
    >>> run = terms(learner, stream, learner.run(*stream))
    >>> print(f"A = {run.A:.0f}, B = {run.B:.1f} <= B' + m C = {run.limit(run.updated.sum()):.1f}")
    A = 1122, B = 24.7 <= B' + m C = 252.0
    """

    margins: Array
    updated: NDArray[np.bool_]
    start: float
    variation: float
    fit: float
    B: float
    log_det: float
    ridge: float
    drift: float
    dimension: int
    radius: float

    @property
    def A(self) -> float:
        """``b |u_1|^2`` + c V_m + sum over M of (u_t'x_t)^2; infinite if c is and V_m is not 0."""
        if self.drift > 0.0:
            return self.start + self.variation / self.drift + self.fit
        return math.inf if self.variation > 0.0 else self.start + self.fit

    @property
    def C(self) -> float:
        """C = (d/c) max((3 X^2 + sqrt(X^4 + 4 X^2 c))/2, b + X^2), which is 0 for c = inf."""
        square, rate = self.radius**2, self.drift
        first = 3 * square * rate + math.sqrt((square * rate) ** 2 + 4 * square * rate)
        return self.dimension * max(first / 2, (self.ridge + square) * rate)

    def limit(self, updates: float) -> float:
        """What B is at most after so many updates, inequality (10): B' + ``updates`` C."""
        share = self.ridge * self.drift  # b/c, and tr(D_0)/c = d b/(c - b)
        return self.log_det + self.dimension * share / (1.0 - share) + updates * self.C


class _Learner(Protocol):
    """What is read of a learner."""

    @property
    def rule(self) -> Any:
        """Its rule."""

    @property
    def state(self) -> Any:
        """The arrays of its model."""


def terms(learner: _Learner, stream: Stream, records: Records) -> Terms:
    """The quantities of the bounds for a learner's whole run on a stream whose targets are known.

    ``learner`` is LASEC, LASEC-SS, SOP or SOP-SS after the run from its first row, ``records``
    what its ``run`` returned.

    >>> import lasec
    >>> stream = lasec.streams.switching(1_000, dimension=5, seed=1)
    >>> learner = lasec.LASEC_SS(dimension=5, drift=0.01, aggressiveness=0.1, seed=0)
    >>> round(terms(learner, stream, learner.run(*stream)).variation, 2)
    10.91
    """
    rule, M = learner.rule, records.updated
    if not isinstance(rule, SecondOrder):
        raise TypeError(f"learner: the bounds are LASEC's and SOP's, got {type(rule).__name__}")
    if records.first != 0 or len(records) != len(stream.y):
        raise ValueError("records: the bounds are about a whole run from its first round")
    if (M & ~records.mistake).any():
        raise ValueError(
            'learner: the bounds need updates on mistakes only (learn_from="mistakes")'
        )
    scores = np.einsum("td,td->t", stream.X, stream.target)
    used, q, d = stream.target[M], records.variance[M], stream.X.shape[1]
    D_inverse = np.asarray(learner.state.cov, dtype=np.float64) - rule.drift * np.eye(d)
    return Terms(
        margins=stream.y * scores,
        updated=M,
        start=rule.ridge * float((used[:1] ** 2).sum()),
        variation=float((np.diff(used, axis=0) ** 2).sum()),
        fit=float((scores[M] ** 2).sum()),
        B=float((q / (1.0 + q)).sum()),
        log_det=-float(np.linalg.slogdet(rule.ridge * D_inverse)[1]),
        ridge=rule.ridge,
        drift=rule.drift,
        dimension=d,
        radius=float(np.linalg.norm(stream.X, axis=1).max(initial=0.0)),
    )
