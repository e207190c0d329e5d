"""The Tracker's rule: a Bayesian mixture over when the concept began, its drift, and label noise.

Each state is a Gaussian posterior N(w, P) under a probit link (:mod:`lasec.rules.probit`), about
rows as :mod:`lasec.rules.tracker.seen` makes them, for one hypothesis of

- *when the present concept began*: one of ``slots`` rows at which a concept may have begun;
- *how fast it drifts meanwhile*: k = 0, 1, 5 or 20 times ``drift`` a row, in an Ornstein-Uhlenbeck
  walk whose stationary law is the prior N(0, S I), S = ``prior``; or it does not drift, and the
  prior is narrower (S = 0.03 ``prior``).

In addition, the posterior pi[h, l, i] (:mod:`lasec.rules.tracker.hypotheses`) is over *how often
concepts end* (hazard h on a grid from ``hazard`` down to ``hazard``/64 a row) and *how often labels
are wrong* (l on a grid from ``lapse`` down to ``lapse``/300). With g rows since the last label::

    f = (1 - k)^g,   m = sqrt(f) w'u,   v = f u'Pu + (1 - f) S |u|^2
    lean_i = (1 - 2 l_i) (2 Phi(m / sqrt(1 + v)) - 1),    l_i the expected lapse under state i
    margin = sum_i pi_i lean_i = P(y = +1) - P(y = -1)

On a label: drift (w <- sqrt(f) w, P <- f P + (1 - f) S I), one filtering step in every state, pi
weighed by the probability of the label, a ``share`` of the weight moved between the speeds. Where
the label was missed, at least ``patience`` labels after the last birth, a concept that begins with
the next row takes the place of the weakest, with weight 1 - (1 - h)^(steps since that birth).

A surprising label can widen P (see the filter), but never beyond the prior along its row.

Where classes are ``weighted``, the decision and the margin that a query sees follow their weights,
the probabilities do not (:mod:`lasec.rules.tracker.costs`).

With more than two ``classes``, each state has a weight vector for each and one P for all, and a
softmax takes the place of the probit (:mod:`lasec.rules.tracker.softmax`). Of wide rows, P is full
in ``block`` directions only (:mod:`lasec.rules.tracker.subspace`).

Approximations, besides those of the filter and of the finite number of slots: while asking, states
with a weight below ``negligible`` are left out, and the states of a slot with the same prior share
u'Pu of the heaviest among them. Labels are always learned without these two. Covariances are kept
in single precision. A label that comes late is learned as if its row had come with the newest label
known.

The model has no paper of its own. It joins run-length filtering (Adams and MacKay, *Bayesian Online
Changepoint Detection*, 2007), assumed-density filtering (Opper, 1998) and switching between experts
(Herbster and Warmuth, *Tracking the Best Expert*, Machine Learning 32, 1998).

Cost: O(slots d^2) for the margin, O(5 slots d^2) for a label, 2.5 slots (d + 2)^2 numbers of state;
of wide rows, k(d + slots k) and 5 slots (k^2 + d), with k directions.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec import triangle
from lasec.contract import rule
from lasec.parameters import Positive, Range, Share, checked
from lasec.rules.tracker.beliefs import Beliefs
from lasec.rules.tracker.costs import count_label, count_said, count_sign, first_costs, weigh_sign
from lasec.rules.tracker.dense import dense_of, glimpse, sight
from lasec.rules.tracker.enlarging import more_classes, more_features
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SPEEDS, marginals, prior_of
from lasec.rules.tracker.mixture import best_of, class_probabilities, follow, mixture_of, sign
from lasec.rules.tracker.seen import CLOCKS, INTERCEPT, LATEST, ROWS, count_row, extra, notice
from lasec.rules.tracker.softmax import slopes
from lasec.rules.tracker.subspace import KEPT, block_of, is_due, renew_basis
from lasec.types import ClassMargin, Vector

__all__ = ["Tracking", "count_classes", "view_classes", "view_sign"]

_SINGLE = ("covs", "spread", "basis", "sample")
_WHOLE = ("sampled", "told", "born", "clock")


@checked
@rule(probabilities=True, noise=True)
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
    classes: Annotated[int, Range(2, 10_000)] = 2
    block: Annotated[int, Range(-1, 2**31)] = -1
    weighted: bool = False
    balanced: bool = False
    tilt: Annotated[float, Range(0.0, 1.0)] = 0.25

    def validate(self) -> str:
        """Shares are only kept where classes have weights."""
        return "balanced: it needs weighted=True" if self.balanced and not self.weighted else ""

    def init(self, dimension: int) -> Beliefs:
        """One slot in use, w = 0, P = S I, all hypotheses alike."""
        shapes, kinds = self.shapes(dimension), self.kinds(dimension)
        state = Beliefs(**{name: np.zeros(shape, kinds[name]) for name, shape in shapes.items()})
        state.units[dimension] = INTERCEPT
        np.fill_diagonal(state.basis, 1.0)
        if state.slopes.size:
            state.slopes[:] = slopes(self.classes)
        if state.costs.size:
            state.costs[:] = first_costs(self.classes)
        for i in range(state.weight.size):
            triangle.set_diagonal(state.covs[i], prior_of(self, i))
            state.spread[i] = prior_of(self, i)
        first = state.posterior[:, :, : len(SPEEDS)]
        first[:] = 1.0 / first.size
        marginals(self, state.posterior, state.weight, state.lapse)
        return state

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state.

        >>> Tracking().shapes(50)["covs"], Tracking().shapes(1_000)["covs"]
        ((30, 1456), (30, 2448))
        """
        k, many = block_of(self.block, dimension), self.classes > 2
        n, states = triangle.padded(k + extra(self.classes)), self.slots * len(SPEEDS)
        rest, based = (dimension if k < dimension else 0), 0 < k < dimension
        return {
            "weights": (states, self.classes if many else 1, n + rest),
            "covs": (states, triangle.size(n)),
            "spread": (states, rest),
            "basis": (k if based else 0, rest),
            "energy": (k if based else 0,),
            "sample": (KEPT if based else 0, rest),
            "sampled": (2,),
            "posterior": (len(HAZARDS), len(LAPSES), states),
            "weight": (states,),
            "lapse": (states,),
            "means": (dimension,),
            "squares": (dimension,),
            "units": (dimension + 1,),
            "tally": (1 + 2 * dimension,),
            "told": (self.classes if many else 0,),
            "slopes": (1 + self.classes if many else 0,),
            "born": (self.slots,),
            "clock": (CLOCKS,),
            "costs": (3, self.classes) if self.weighted else (0, 0),
        }

    def kinds(self, dimension: int) -> dict[str, type]:
        """The type of the numbers in each array: single precision where there is much of it.

        >>> Tracking().kinds(50)["weights"], Tracking().kinds(1_000)["weights"]
        (<class 'numpy.float64'>, <class 'numpy.float32'>)
        """
        wide = block_of(self.block, dimension) < dimension
        made: dict[str, type] = dict.fromkeys(self.shapes(dimension), np.float64)
        made |= dict.fromkeys((*_SINGLE, *(("weights",) if wide else ())), np.float32)
        return made | dict.fromkeys(_WHOLE, np.int64)

    def label_cost(self, dimension: int) -> float:
        """About how many microseconds a label takes: one for 2,000 numbers, of one kind or another.

        >>> round(Tracking().label_cost(50)), round(Tracking(block=1_000).label_cost(1_000))
        (23, 7605)
        """
        large = ("weights", "covs", "spread")
        return sum(math.prod(self.shapes(dimension)[name]) for name in large) / 2_000.0

    def margin(self, state: Beliefs, x: Vector, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far the hypotheses disagree about that.

        With more classes, the lead of the best class over the second.
        """
        if state.told.size:
            mean, square = np.empty(state.told.size), np.empty(state.told.size)
            view_classes(self, state, x, t, mean, square)
            return best_of(self, state.costs, mean, square)
        seen = view_sign(self, state, x, t)
        return weigh_sign(self, state.costs, seen) if state.costs.size else seen

    def note(self, state: Beliefs, x: Vector) -> None:
        """Count a row that is asked about, labeled or not: for the features' scale, and shares."""
        if self.balanced and state.costs.size:
            count_classes(self, state, x)
        count_row(state, x)

    def probabilities(self, state: Beliefs, x: Vector, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        view_classes(self, state, x, t, out, np.empty_like(out))

    def update(self, state: Beliefs, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have.

        The label is -1 or +1; with more classes their numbers, from 1.
        """
        at = sight(state, x, t)
        count_label(state, y, state.clock[ROWS])
        follow(self, mixture_of(state), dense_of(state), at, y, t)
        notice(state, x)

    def with_more_classes(self, state: Beliefs, dimension: int) -> tuple[Tracking, Beliefs]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = Tracking().with_more_classes(Tracking().init(3), dimension=3)
        >>> rule.classes, state.weights.shape
        (3, (30, 3, 8))
        """
        larger = self._replace(classes=self.classes + 1)
        return larger, more_classes(self, state, larger.init(dimension))

    def widened(self, state: Beliefs, dimension: int, known: int) -> Beliefs:
        """The state for more features, which says the same about the rows it knew."""
        return more_features(self, state, dimension, known)

    def is_due(self, state: Beliefs) -> bool:
        """Whether it is time for :meth:`renewed`."""
        return is_due(state)

    def renewed(self, state: Beliefs) -> Beliefs:
        """The state, in which the basis of wide rows has followed the rows that came."""
        renew_basis(state)
        return state


def view_sign(rule: Any, state: Any, x: Vector, t: int) -> ClassMargin:
    """What a mixture over dense rows says about a row of two classes."""
    return sign(rule, mixture_of(state), dense_of(state), glimpse(state, x, t), t)


def view_classes(rule: Any, state: Any, x: Vector, t: int, mean: Vector, square: Vector) -> None:
    """mean <- the probability of each of many classes, square <- the mean of its square."""
    at, view = glimpse(state, x, t), dense_of(state)
    class_probabilities(rule, mixture_of(state), view, at, t, mean, square)


def count_classes(rule: Any, state: Any, x: Vector) -> None:
    """Add the probability of each class of a row that is asked about to those of the others."""
    t = state.clock[LATEST] + int(state.tally[0]) + 1
    if state.told.size:
        mean, square = np.empty(state.told.size), np.empty(state.told.size)
        view_classes(rule, state, x, t, mean, square)
        count_said(state.costs, mean)
    else:
        count_sign(state.costs, view_sign(rule, state, x, t).raw)
