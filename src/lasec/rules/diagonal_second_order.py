"""LASEC for sparse rows: a variance for each weight, and no covariances.

Moroshko and Crammer, *Selective Sampling with Drift*, AISTATS 2014, is for matrices
(:mod:`lasec.rules.second_order`). With their diagonals alone (:mod:`lasec.rules.sparse_gaussian`),
b = ``ridge`` and 1/c = ``drift``::

    start      w = 0,  V_j = 1/b
    margin     m = sum_j x_j w_j,  q = sum_j x_j^2 V_j,  p = m / (1 + q)
    update     w_j <- w_j + V_j x_j (y - m) / (1 + q)
               V_j <- V_j / (1 + x_j^2 V_j) + 1/c              of every column, in the row or not

Deviation: the paper has no diagonal form. Where each row has one column alone, both forms are the
same; else this one overrates what it knows of columns that come together. The margin is that of
equation (5), with S_t before its diagonal is taken. ``drift=0`` is a diagonal second-order
perceptron.

Cost: O(n) a row of n non-zeros, and memory for the columns that were in an update.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lasec.parameters import NonNegative, Positive, checked
from lasec.rules.gaussian import shrunk
from lasec.rules.second_order import LASEC_REFERENCE, SOP_REFERENCE
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
class DiagonalSecondOrder(NamedTuple):
    """The rule of diagonal LASEC (``drift > 0``) and second-order perceptron (``drift = 0``).

    >>> import lasec
    >>> from scipy.sparse import csr_array
    >>> X, y = csr_array([[1.0, 0.0], [0.0, 2.0]] * 20), [1, -1] * 20
    >>> learner = lasec.Learner(DiagonalSecondOrder(drift=0.1), dimension=2)
    >>> learner.run(X, y)
    Records(rows=40, accuracy=0.975, labels=40, rate=1.000)
    >>> learner.state.weights[:1].tolist()  # of the only column that was missed
    [-0.4]
    """

    drift: NonNegative = 0.0
    ridge: Positive = 1.0

    def validate(self) -> str:
        """The paper's condition b < c."""
        if self.ridge * self.drift < 1.0:
            return ""
        return f"ridge * drift must be below 1 (the paper's b < c), got {self.ridge * self.drift:g}"

    def init(self, dimension: int) -> SparseGaussian:
        """No column known: w = 0, V = 1/b."""
        return SparseGaussian.prior()

    def margin(self, state: SparseGaussian, x: Any) -> Margin:
        """p = m / (1 + q)."""
        m, q = look_at_pairs(state, x, 1.0 / self.ridge, self.drift)
        return shrunk(m, q)

    def update(self, state: SparseGaussian, x: Any, y: float, draw: float) -> None:
        """One step of equations (2) and (3), of which the diagonal is kept."""
        m, q = look_at_pairs(state, x, 1.0 / self.ridge, self.drift)
        learn_pairs(state, x, (y - m) / (1.0 + q), 1.0, 1.0 / self.ridge, self.drift)

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
        """Variances grow with every update, and are kept in double precision."""
        return True

    @property
    def reference(self) -> str:
        """LASEC's paper, or the second-order perceptron's where there is no drift."""
        return LASEC_REFERENCE if self.drift > 0.0 else SOP_REFERENCE
