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

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.contract import rule
from lasec.nested import copied, leaves, mapped, named
from lasec.parameters import Positive, Range, Share, checked
from lasec.rules.tracker.beliefs import Classes, begin_classes, blank_classes
from lasec.rules.tracker.core import (
    Core,
    Counted,
    begin_core,
    blank_core,
    blank_counted,
    core_chances,
    core_says,
    flaw_of,
    teach_core,
)
from lasec.rules.tracker.costs import count_label
from lasec.rules.tracker.enlarging import more_classes, more_features, one_more
from lasec.rules.tracker.seen import LATEST, ROWS, count_row, notice
from lasec.rules.tracker.states import asked, chances, count_shares, look, teach
from lasec.rules.tracker.subspace import block_of, is_due, renew_basis
from lasec.types import ClassMargin, Counter, Matrix, Vector


class Beliefs(NamedTuple):
    """All that a Tracker of dense rows knows.

    >>> state = Tracking(slots=2).init(dimension=3)
    >>> state.core.dense.weights.shape, state.core.dense.covs.shape
    ((10, 1, 8), (10, 48))
    """

    core: Core
    counted: Counted
    classes: Classes

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The posterior of the hypotheses."""
        return self.core.mixture.posterior

    @property
    def born(self) -> Counter:
        """The row before each slot's first."""
        return self.core.mixture.born

    @property
    def costs(self) -> Matrix:
        """The class weights."""
        return self.classes.costs

    def validate(self) -> str:
        """Why these arrays are no state of a Tracker, as a phrase; empty if they are.

        >>> state = Tracking(slots=1).init(dimension=1)
        >>> state.posterior[0] = -1.0
        >>> state.validate()
        'posterior is no probability distribution'
        """
        return flaw_of(self.core, self.counted, self.classes)

    def says(self, rule: Any, x: Vector, t: int) -> ClassMargin:
        """What the mixture says about a row of two classes."""
        return core_says(rule, self.core, self.classes, x, t)

    def chances(self, rule: Any, x: Vector, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        core_chances(rule, self.core, self.classes, x, t, mean, square)

    def asked(self, rule: Any, x: Vector) -> None:
        """Count a row, labeled or not: for the features' scale, and shares."""
        t = self.core.mixture.clock[LATEST] + int(self.counted.tally[0]) + 1
        count_shares(self, self.classes, rule, x, t)
        count_row(self.core, self.counted, x)

    def teach(self, rule: Any, x: Vector, y: float, t: int) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have."""
        count_label(self.classes, y, self.core.mixture.clock[ROWS])
        teach_core(rule, self.core, self.classes, x, y, t)
        notice(self.core, self.counted, x)


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
        state: Beliefs = mapped(np.array, self.blank(dimension))
        begin_core(self, state.core)
        begin_classes(self, state.classes)
        return state

    def blank(self, dimension: int) -> Beliefs:
        """The shape of each array of the state."""
        k = block_of(self.block, dimension)
        core = blank_core(self, dimension, k, self.slots)
        return Beliefs(core, blank_counted(dimension, k), blank_classes(self))

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state.

        >>> [Tracking().shapes(d)["core.dense.covs"] for d in (50, 1_000)]
        [(30, 1456), (30, 2448)]
        """
        return {name: part.shape for name, part in named(self.blank(dimension)).items()}

    def kinds(self, dimension: int) -> dict[str, Any]:
        """The type of the numbers in each array: single precision where there is much of it.

        >>> [str(Tracking().kinds(d)["core.dense.weights"]) for d in (50, 1_000)]
        ['float64', 'float32']
        """
        return {name: part.dtype for name, part in named(self.blank(dimension)).items()}

    def label_cost(self, dimension: int) -> float:
        """About how many microseconds a label takes: one for 2,000 numbers, of one kind or another.

        >>> round(Tracking().label_cost(50)), round(Tracking(block=1_000).label_cost(1_000))
        (23, 7605)
        """
        numbers: int = sum(part.size for part in leaves(self.blank(dimension).core.dense))
        return numbers / 2_000.0

    def margin(self, state: Beliefs, x: Vector, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far the hypotheses disagree about that.

        With more classes, the lead of the best class over the second.
        """
        return look(self, state, state.classes, x, t)

    def probabilities(self, state: Beliefs, x: Vector, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        chances(state, self, x, t, out, np.empty_like(out))

    def note(self, state: Beliefs, x: Vector) -> None:
        """Count a row that is asked about, labeled or not."""
        asked(state, self, x)

    def update(self, state: Beliefs, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """Learn a label, -1 or +1; with more classes their numbers, from 1."""
        teach(state, self, x, y, t)

    def with_more_classes(self, state: Beliefs, dimension: int) -> tuple[Tracking, Beliefs]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = Tracking().with_more_classes(Tracking().init(3), dimension=3)
        >>> rule.classes, state.core.dense.weights.shape
        (3, (30, 3, 8))
        """
        larger = self._replace(classes=self.classes + 1)
        blank, classes = larger.init(dimension), one_more(larger, state.classes)
        core = more_classes(self, state.core, blank.core)
        return larger, Beliefs(core, copied(state.counted), classes)

    def widened(self, state: Beliefs, dimension: int, known: int) -> Beliefs:
        """The state for more features, which says the same about the rows it knew.

        >>> Tracking().widened(Tracking().init(2), dimension=3, known=2).core.means.size
        3
        """
        blank = self.init(dimension)
        counted = more_features(state.core, state.counted, blank.core, blank.counted, known)
        return Beliefs(blank.core, counted, copied(state.classes))

    def is_due(self, state: Beliefs) -> bool:
        """Whether it is time for :meth:`renewed`."""
        return is_due(state.counted)

    def renewed(self, state: Beliefs) -> Beliefs:
        """The state, in which the basis of wide rows has followed the rows that came."""
        renew_basis(state.core, state.counted)
        return state
