"""LASEC, and with no drift the second-order perceptron.

Moroshko and Crammer, *Selective Sampling with Drift*, AISTATS 2014. The paper keeps D and e and
inverts matrices in every row (its Figure 1)::

    S_t = (D_{k-1}^-1 + I/c)^-1 + x_t x_t'                       (2)
    p_t = x_t' S_t^-1 (I + D_{k-1}/c)^-1 e_{k-1}                 (5)
    on a queried mistake:
        e_k = (I + D_{k-1}/c)^-1 e_{k-1} + y_t x_t               (3)
        D_k = S_t

with D_0 = bc/(c - b) I and e_0 = 0. With w = D^-1 e and C = D^-1 + I/c, Sherman-Morrison gives the
same numbers without any inverse::

    start      w = 0,  C = I/b
    margin     m = x'w,  q = x'Cx,  p = m / (1 + q)
    update     g = Cx,  s = 1 + q
               w <- w + g (y - m)/s
               C <- C - g g'/s + I/c

In words: ``ridge`` is b and ``drift`` is 1/c, the variance by which the target moves between two
updates. ``drift=0`` (c = inf) is the second-order perceptron of Cesa-Bianchi, Conconi and Gentile
(SIAM J. Comput. 34, 2005). The paper asks for 0 < b < c, that is ``ridge * drift < 1``.

Cost: O(d) for the prediction, O(d^2) for variance and update, d^2 + d numbers of state.
"""

from __future__ import annotations

from typing import NamedTuple

from lasec.contract import rule
from lasec.parameters import NonNegative, Positive, checked
from lasec.rules.gaussian import Gaussian, Step, learn, look, shrunk
from lasec.types import Margin, Vector


@checked
@rule(symmetric=("cov",))
class SecondOrder(NamedTuple):
    """The rule of LASEC (``drift > 0``) and of the second-order perceptron (``drift = 0``).

    >>> import numpy as np
    >>> rule = SecondOrder(drift=0.1, ridge=1.0)
    >>> state = rule.init(dimension=2)
    >>> x = np.array([1.0, 0.0])
    >>> rule.update(state, x, y=-1.0, draw=0.0)
    >>> rule.margin(state, x).label
    -1
    >>> state.cov.tolist()
    [[0.6, 0.0], [0.0, 1.1]]
    """

    drift: NonNegative = 0.0
    ridge: Positive = 1.0

    def validate(self) -> str:
        """The paper's condition b < c."""
        if self.ridge * self.drift < 1.0:
            return ""
        return f"ridge * drift must be below 1 (the paper's b < c), got {self.ridge * self.drift:g}"

    def init(self, dimension: int) -> Gaussian:
        """w = 0, C = I/b."""
        return Gaussian.prior(dimension, 1.0 / self.ridge)

    def margin(self, state: Gaussian, x: Vector, t: int = 0) -> Margin:
        """p = m / (1 + q)."""
        return look(self, state, x)

    def update(self, state: Gaussian, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """One step of equations (2) and (3) in closed form."""
        learn(self, state, x, y)

    def judge(self, m: float, q: float) -> Margin:
        """p = m / (1 + q)."""
        return shrunk(m, q)

    def step(self, m: float, q: float, y: float) -> Step:
        """Along g: (y - m)/s for w, 1/s for C, and I/c on top."""
        s = 1.0 + q
        return Step((y - m) / s, 1.0 / s, self.drift)

    def conditioning(self, size: float, largest: float) -> float:
        """How much one label at an x with ``|x|^2 = size`` can shrink C, never below I/c."""
        free = size * largest
        return min(free, largest / self.drift) if self.drift > 0.0 else free
