"""The Tracker's rule: a Bayesian mixture over when the concept began, its drift, and label noise.

Each state is a Gaussian posterior N(w, P) under a probit link (:mod:`lasec.rules.probit`), about
rows as :mod:`lasec.rules.seen` makes them, for one hypothesis of

- *when the present concept began*: one of ``slots`` rows at which a concept may have begun;
- *how fast it drifts meanwhile*: k = 0, 1, 5 or 20 times ``drift`` a row, in an Ornstein-Uhlenbeck
  walk whose stationary law is the prior N(0, S I), S = ``prior``; or it does not drift, and the
  prior is narrower (S = 0.03 ``prior``).

In addition, the posterior pi[h, l, i] (:mod:`lasec.rules.hypotheses`) is over *how often concepts
end* (hazard h on a grid from ``hazard`` down to ``hazard``/64 a row) and *how often labels are
wrong* (l on a grid from ``lapse`` down to ``lapse``/300). With g rows since the last label::

    f = (1 - k)^g,   m = sqrt(f) w'u,   v = f u'Pu + (1 - f) S |u|^2
    lean_i = (1 - 2 l_i) (2 Phi(m / sqrt(1 + v)) - 1),    l_i the expected lapse under state i
    margin = sum_i pi_i lean_i = P(y = +1) - P(y = -1)

On a label: drift (w <- sqrt(f) w, P <- f P + (1 - f) S I), one filtering step in every state, pi
weighed by the probability of the label, a ``share`` of the weight moved between the speeds. Where
the label was missed, at least ``patience`` labels after the last birth, a concept that begins with
the next row takes the place of the weakest, with weight 1 - (1 - h)^(steps since that birth).

A surprising label can widen P (see the filter), but never beyond the prior along its row.

Approximations, besides those of the filter and of the finite number of slots: while asking, states
with a weight below ``negligible`` are left out, and the states of a slot with the same prior share
u'Pu of the heaviest among them. Labels are always learned without these two. Covariances are kept
in single precision. A label that comes late is learned as if its row had come with the newest label
known.

The model has no paper of its own. It joins run-length filtering (Adams and MacKay, *Bayesian Online
Changepoint Detection*, 2007), assumed-density filtering (Opper, 1998) and switching between experts
(Herbster and Warmuth, *Tracking the Best Expert*, Machine Learning 32, 1998).

Cost: O(slots d^2) for the margin, O(5 slots d^2) for a label, 2.5 slots (d + 2)^2 numbers of state.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import triangle
from lasec.papers import ADAMS_2007
from lasec.parameters import Positive, Range, Share, checked
from lasec.rules.gaussian import Gaussian
from lasec.rules.hypotheses import (
    GROUPS,
    HAZARDS,
    LAPSES,
    SCALES,
    SPEEDS,
    group_of,
    heaviest,
    marginals,
    mix_speeds,
    normalize,
    prior_of,
    reborn,
    reweigh,
    speed_of,
    weakest,
)
from lasec.rules.probit import chance, filtered
from lasec.rules.seen import (
    BIRTH,
    CLOCKS,
    EXTRA,
    INTERCEPT,
    LABEL,
    LATEST,
    SINCE,
    count_row,
    notice,
    seen,
)
from lasec.types import Counter, Margin, Matrix, Vector

__all__ = ["Beliefs", "Tracking", "born", "filter_state", "sight"]

TRACKING_REFERENCE = ADAMS_2007.text
_ROOT_HALF = math.sqrt(0.5)
_LAST_ROUND = 2**61
_KINDS: dict[str, type] = {"covs": np.float32, "born": np.int64, "clock": np.int64}


class Beliefs(NamedTuple):
    """All that the Tracker knows: a Gaussian for each state, and the weight of each.

    ``covs`` are the covariances in strips (:mod:`lasec.triangle`), in single precision; ``weight``
    and ``lapse`` are what ``posterior`` says of each state. ``means`` and ``squares`` are those of
    the features, ``units`` what they make of a row, and ``tally`` the rows that are not in them yet
    (:mod:`lasec.rules.seen`). ``born`` is the row before each slot's first. ``clock`` holds the row
    of the newest label, the row of the last birth, the labels since then, the rows behind
    ``squares``, how many of the last were too short, and the newest label.

    >>> state = Tracking(slots=2).init(dimension=3)
    >>> state.weights.shape, state.covs.shape
    ((10, 8), (10, 48))
    """

    weights: Matrix
    covs: NDArray[np.float32]
    posterior: NDArray[np.float64]
    weight: Vector
    lapse: Vector
    means: Vector
    squares: Vector
    units: Vector
    tally: Vector
    born: Counter
    clock: Counter

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker, as a phrase; empty if they are.

        >>> state = Tracking(slots=1).init(dimension=1)
        >>> state.posterior[0] = -1.0
        >>> state.validate()
        'posterior is no probability distribution'
        """
        if (self.posterior < 0.0).any() or abs(self.posterior.sum() - 1.0) > 1e-9:
            return "posterior is no probability distribution"
        counts = (self.squares, self.born, self.clock[:5], self.tally[:1])
        if any((array < 0).any() for array in counts):
            return "a count or a mean square is negative"
        late = self.born.max() > self.clock[BIRTH] or self.clock.max() > _LAST_ROUND
        if late or self.clock[BIRTH] > self.clock[LATEST] or abs(self.clock[LABEL]) > 1:
            return "the clock contradicts itself"
        for weights, cov in zip(self.weights, self.covs, strict=True):
            defect = Gaussian(weights, triangle.whole(cov, weights.size)).validate()
            if defect:
                return defect
        return ""


class Sight(NamedTuple):
    """A row in double and in single precision, its squared length, and room for P u."""

    u: Vector
    row: NDArray[np.float32]
    size: float
    g: NDArray[np.float32]


def sight(state: Beliefs, x: Vector, t: int) -> Sight:
    """The row x of step t as the states see it."""
    u = seen(state, x, t)
    row = u.astype(state.covs.dtype)
    return Sight(u, row, triangle.product(u, u), np.empty_like(row))


def filter_state(
    w: Vector, P: NDArray[np.float32], at: Sight, y: float, fade: float, prior: float, lapse: float
) -> float:
    """Drift and one filtering step of one state, in place; gives Phi(z) of the label."""
    single: Any = P.dtype.type
    fresh, root = (1.0 - fade) * prior, math.sqrt(fade)
    v = max(0.0, triangle.along(P, at.row, single(fade), single(fresh), at.g))
    m = root * triangle.product(w, at.u)
    gain, shrink = filtered(m, v, y, lapse)
    if shrink < 0.0:
        shrink = max(shrink, min(0.0, v - prior * at.size) / (v * v))
    for j in range(w.size):
        w[j] = root * w[j] + gain * at.g[j]
    triangle.fade_and_downdate(P, at.g, single(fade), single(shrink))
    triangle.add_diagonal(P, single(fresh))
    return chance(y * m / math.sqrt(1.0 + v))


def born(weights: Matrix, covs: NDArray[np.float32], slot: int, prior: float) -> None:
    """The states of a slot restart."""
    for i in range(slot * len(SPEEDS), (slot + 1) * len(SPEEDS)):
        weights[i] = 0.0
        triangle.set_diagonal(covs[i], prior * SCALES[i % len(SPEEDS)])


@checked
class Tracking(NamedTuple):
    """A mixture over changes, drift and label noise: one setting for every stream.

    >>> import numpy as np
    >>> rule = Tracking()
    >>> state = rule.init(dimension=2)
    >>> for t in range(1, 21):
    ...     rule.update(state, np.array([1.0, -1.0]) * (-1) ** t, y=(-1.0) ** t, draw=0.0, t=t)
    >>> round(float(rule.margin(state, np.array([1.0, -1.0]), t=21).margin), 2)
    0.96
    """

    slots: Annotated[int, Range(1, 1_000)] = 6
    patience: Annotated[int, Range(1, 1_000_000)] = 6
    hazard: Annotated[float, Range(1e-12, 0.5)] = 2.0**-8
    drift: Annotated[float, Range(1e-12, 0.04)] = 0.0005
    prior: Positive = 1_000.0
    lapse: Annotated[float, Range(1e-9, 0.49)] = 0.3
    share: Share = 0.002
    negligible: Share = 0.03

    def init(self, dimension: int) -> Beliefs:
        """One slot in use, w = 0, P = S I, all hypotheses alike."""
        state = Beliefs(
            **{n: np.zeros(s, _KINDS.get(n, np.float64)) for n, s in self.shapes(dimension).items()}
        )
        state.units[dimension] = INTERCEPT
        for slot in range(self.slots):
            born(state.weights, state.covs, slot, self.prior)
        first = state.posterior[:, :, : len(SPEEDS)]
        first[:] = 1.0 / first.size
        marginals(self, state.posterior, state.weight, state.lapse)
        return state

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state.

        >>> Tracking().shapes(50)["covs"]
        (30, 1456)
        """
        e, states = triangle.padded(dimension + EXTRA), self.slots * len(SPEEDS)
        return {
            "weights": (states, e),
            "covs": (states, triangle.size(e)),
            "posterior": (len(HAZARDS), len(LAPSES), states),
            "weight": (states,),
            "lapse": (states,),
            "means": (dimension,),
            "squares": (dimension,),
            "units": (dimension + 1,),
            "tally": (1 + 2 * dimension,),
            "born": (self.slots,),
            "clock": (CLOCKS,),
        }

    def margin(self, state: Beliefs, x: Vector, t: int = 0) -> Margin:
        """P(y = +1) - P(y = -1); its variance is how far the hypotheses disagree about that."""
        at, gap = sight(state, x, t), max(0, t - state.clock[LATEST])
        weight, lapse = state.weight, state.lapse
        bar = min(self.negligible, weight.max())
        total, first, second = 0.0, 0.0, 0.0
        for group in range(self.slots * len(GROUPS)):
            begin, end = group_of(group)
            heavy, prior = heaviest(weight, begin, end), prior_of(self, begin)
            if weight[heavy] < bar:
                continue
            q = triangle.quadratic(state.covs[heavy], at.row)
            for i in range(begin, end):
                if weight[i] < bar:
                    continue
                f = (1.0 - speed_of(self, i)) ** gap
                m = math.sqrt(f) * triangle.product(state.weights[i], at.u)
                v = max(0.0, f * q) + (1.0 - f) * prior * at.size
                lean = (1.0 - 2.0 * lapse[i]) * math.erf(m / math.sqrt(1.0 + v) * _ROOT_HALF)
                total += weight[i]
                first += weight[i] * lean
                second += weight[i] * lean * lean
        p = first / total
        return Margin(p, max(0.0, second / total - p * p), p)

    def note(self, state: Beliefs, x: Vector) -> None:
        """Count a row that is asked about, labeled or not, for the scale of the features."""
        count_row(state, x)

    def update(self, state: Beliefs, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have."""
        weights, covs, posterior = state.weights, state.covs, state.posterior
        begun, clock, at = state.born, state.clock, sight(state, x, t)
        weight, lapse = state.weight, state.lapse
        now = max(t, clock[LATEST])
        gap, said = now - clock[LATEST], 0.0
        for i in range(weight.size):
            if weight[i] > 0.0:
                fade = (1.0 - speed_of(self, i)) ** gap
                right = filter_state(weights[i], covs[i], at, y, fade, prior_of(self, i), lapse[i])
                said += weight[i] * (1.0 - 2.0 * lapse[i]) * (right - 0.5)
                reweigh(self, posterior, i, right)
        normalize(posterior)
        mix_speeds(posterior, self.share)
        notice(state, x)
        clock[LATEST], clock[SINCE] = now, clock[SINCE] + 1
        clock[LABEL] = 1 if y > 0.0 else -1
        missed = said < 0.0 if y > 0.0 else said <= 0.0
        if missed and clock[SINCE] >= self.patience and self.slots > 1:
            slot = weakest(posterior)
            reborn(self, posterior, slot, now - clock[BIRTH])
            born(weights, covs, slot, self.prior)
            clock[BIRTH], clock[SINCE], begun[slot] = now, 0, now
        marginals(self, posterior, weight, lapse)

    @property
    def depends_on_time(self) -> Literal[True]:
        """Concepts drift from row to row, with and without labels."""
        return True

    @property
    def has_probabilities(self) -> Literal[True]:
        """The margin is a difference of probabilities."""
        return True

    @property
    def needs_double(self) -> bool:
        """Weights, and what is known of the rows, are kept in double precision."""
        return True

    @property
    def reference(self) -> str:
        """Where run-length filtering comes from."""
        return TRACKING_REFERENCE
