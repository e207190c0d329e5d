"""AROW for sparse rows: a variance for each weight, and no covariances.

Crammer, Kulesza and Dredze, *Adaptive Regularization of Weight Vectors*, NIPS 2009, minimize on a
label y whose margin y x'mu is below 1::

    KL(N(mu, Sigma) || N(mu_{t-1}, Sigma_{t-1})) + (max(0, 1 - y x'mu)^2 + x' Sigma x) / (2 r)

Over diagonal matrices Sigma with variances V_j (:mod:`lasec.rules.sparse_gaussian`) that is, from
mu = 0 and V = 1::

    m = sum_j x_j mu_j,   v = sum_j x_j^2 V_j
    mu_j <- mu_j + y max(0, 1 - y m) / (v + r) V_j x_j
    1 / V_j <- 1 / V_j + x_j^2 / r

``noise`` is r. As with :class:`~lasec.rules.AROW`, labels with a margin of 1 or more change
nothing, so it is meant to be run with ``learn_from="labels"``, and a query sees x'mu as it stands.
Cost: O(n) a row of n non-zeros, and memory for the columns that were in an update.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lasec.parameters import Positive, checked
from lasec.rules.arow import AROW_REFERENCE
from lasec.rules.sparse_gaussian import (
    SparseGaussian,
    admit_row,
    grown_alike,
    grown_shapes,
    is_full,
    learn_pairs,
    look_at_pairs,
)
from lasec.types import Margin


@checked
class DiagonalAROW(NamedTuple):
    """Adaptive regularization of weights, with a variance for each weight.

    >>> import lasec
    >>> texts = ["win a free prize", "lunch at noon?", "free prize inside", "see you at lunch"]
    >>> X = lasec.TextHasher().rows(texts * 10)
    >>> learner = lasec.Learner(DiagonalAROW(), dimension=X.shape[1], learn_from="labels")
    >>> learner.run(X, ["spam", "ham", "spam", "ham"] * 10)
    Records(rows=40, accuracy=0.950, labels=40, rate=1.000)
    """

    noise: Positive = 1.0

    def init(self, dimension: int) -> SparseGaussian:
        """No column known: mu = 0, V = 1."""
        return SparseGaussian.prior()

    def margin(self, state: SparseGaussian, x: Any) -> Margin:
        """x'mu and x' Sigma x."""
        m, v = look_at_pairs(state, x, 1.0, 0.0)
        return Margin(m, v, m)

    def update(self, state: SparseGaussian, x: Any, y: float, draw: float) -> None:
        """One step; nothing where the margin is 1 or more."""
        m, v = look_at_pairs(state, x, 1.0, 0.0)
        loss = 1.0 - y * m
        if loss > 0.0:
            learn_pairs(state, x, y * loss / (v + self.noise), 1.0 / self.noise, 1.0, 0.0)

    def admit(self, state: SparseGaussian, x: Any) -> bool:
        """Whether there is room for a row; False if the state must grow first."""
        return admit_row(state, x)

    def is_due(self, state: SparseGaussian) -> bool:
        """Whether the state must grow before the next row."""
        return is_full(state)

    def grown(self, state: SparseGaussian) -> SparseGaussian:
        """The same state with room for another row."""
        return grown_alike([state])[0]

    def grown_shapes(self, arrays: Any) -> dict[str, tuple[int, ...]]:
        """The shapes of a state that has grown to the size of these arrays."""
        return grown_shapes(arrays)

    @property
    def is_sparse(self) -> Literal[True]:
        """Rows are pairs of a column and a value."""
        return True

    @property
    def needs_double(self) -> Literal[True]:
        """Weights are kept in double precision."""
        return True

    @property
    def reference(self) -> str:
        """AROW's paper."""
        return AROW_REFERENCE
