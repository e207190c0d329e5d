"""The default learner: nothing to tune but the label budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.errors import StateError
from lasec.learner import Learner, Options, check_weights, class_weights
from lasec.learner.state import LearnerState
from lasec.parameters import number, shown
from lasec.queries import Budgeted, TwoPrices
from lasec.rules import Lenses, SparseTracking, Tracking
from lasec.rules.tracker.hypotheses import DRIFTS, HAZARDS, LAPSES, SPEEDS
from lasec.sparse import is_sparse

AnyTracking = Tracking | SparseTracking | Lenses

AUDIT, AUDIT_WEIGHTED = 0.5, 0.2  # python -m experiments rare --settings


class DriftEstimate(NamedTuple):
    """What a Tracker estimates about its stream: expectations over its hypotheses.

    ``since`` is the row after which the present concept began (the posterior median),
    ``certainty`` the probability of just that row among the few that are considered, and ``age``
    how many rows ago the last change is expected to have been.
    ``drift`` is the share of the concept that is replaced in a row, ``hazard`` the probability of
    a sudden change in a row, ``noise`` that of a wrong label.

    >>> import lasec
    >>> tracker = lasec.Tracker(rate=0.4, seed=0)
    >>> records = tracker.run(*lasec.streams.switching(2_750, every=1_000, noise=0.05, seed=1))
    >>> estimate = tracker.drift_estimate
    >>> estimate.since, round(estimate.certainty, 2), round(estimate.noise, 2)
    (2010, 0.82, 0.08)
    """

    since: int
    certainty: float
    age: float
    drift: float
    hazard: float
    noise: float

    @property
    def half_life(self) -> float:
        """The rows after which gradual drift has replaced half of the concept.

        >>> round(DriftEstimate(0, 1.0, 100.0, drift=0.0005, hazard=0.004, noise=0.05).half_life)
        1386
        """
        return math.log(2.0) / self.drift if self.drift > 0.0 else math.inf


class Tracker(Learner):
    """The default learner: it tracks a drifting concept, needs no tuning, and keeps a label budget.

    It is a Bayesian mixture over when the present concept began, how fast it drifts, and how often
    labels are wrong (:mod:`lasec.rules.tracker.tracking`). It queries uncertain rows, with a
    controller that holds the budget (:mod:`lasec.queries.budgeted`). Rows need no scaling and no
    intercept. The margin of a decision is P(y = +1) - P(y = -1). Rows of :mod:`scipy.sparse` are
    never made dense: the cost is that of their non-zeros, whatever the dimension
    (:mod:`lasec.rules.tracker.sparse_tracking`).

    Parameters
    ----------
    dimension
        Number of features; None takes it from the first row.
    rate
        The label budget: the share of rows whose label is queried.
    audit
        Share of the labels, roughly, that is spread evenly over all rows. A larger share narrows
        the intervals; a smaller one leaves more labels for uncertain rows. By default 0.5, and
        0.2 with class weights.
    horizon
        Number of rows over which the warm-up labels are repaid; for a shorter stream, its rows.
    class_weight
        What it costs to miss a row of each class: None for 1 each, "balanced" for one over the
        share of the class, which the model estimates, or weights by label (1 for others), which
        must be among ``classes`` if these are given. The class with the largest product of weight
        and probability is predicted, and labels go to rows where that decision is uncertain;
        margins and probabilities stay calibrated.
    budget
        Another budget instead of ``rate``: labels per day, a total, backpressure.
    lenses
        Whether to mix in non-linear views of the rows (:mod:`lasec.rules.tracker.lenses`), for
        concepts that are not linear; a row takes several times as long.
    rule
        Other settings of the mixture: a :class:`~lasec.rules.Tracking` for dense rows, or a
        :class:`~lasec.rules.SparseTracking` for sparse ones. By default the first row decides.
    **options
        ``classes``, ``seed``, ``max_pending`` and the other options of :class:`~lasec.Learner`.

    Examples
    --------
    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Tracker(rate=0.4, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.818, labels=3999, rate=0.400)

    Where one class is rare, balanced weights find more of it:

    >>> rare = np.where(X[:, 0] > 2.0, "fraud", "fine")
    >>> for weights in (None, "balanced"):
    ...     records = lasec.Tracker(rate=0.05, class_weight=weights, seed=0).run(X, rare)
    ...     print(np.mean(records.label[rare == "fraud"] == "fraud").round(2))
    0.26
    0.9
    """

    _chooses = False  # the rule by the form of the first row

    def __init__(
        self,
        dimension: int | None = None,
        *,
        rate: float = 0.1,
        audit: float | None = None,
        horizon: int = 10_000,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        budget: Budgeted | None = None,
        lenses: bool = False,
        rule: AnyTracking | None = None,
        **options: Unpack[Options],
    ) -> None:
        if budget is not None and (rate, audit, horizon) != (0.1, None, 10_000):
            raise ValueError(
                "budget: it has a rate, an audit and a horizon of its own, so give one or other"
            )
        if rule is not None and not isinstance(rule, AnyTracking):
            raise TypeError(f"rule: expected lasec.rules.Tracking(...), got {shown(rule)}")
        self._chooses = rule is None and not lenses
        weighted = class_weight is not None
        named = weighted and class_weight != "balanced"
        weights = class_weights(class_weight) if named else {}
        part = (AUDIT_WEIGHTED if weighted else AUDIT) if audit is None else audit
        query = budget or Budgeted(rate, audit=part, horizon=horizon)
        made: Any = _lensed(rule, lenses)
        if weighted:
            made = made._replace(weighted=True, balanced=not weights)
            options["classes"] = _with_labels(options.get("classes"), weights)
        super().__init__(
            made, query, dimension=dimension, learn_from="labels", name="Tracker", **options
        )
        if weights:
            self.weigh_classes(weights)

    @property
    def rate(self) -> float:
        """The share of labels that is aimed at, or the labels per unit of time."""
        return self._aim.rate

    @property
    def drift_estimate(self) -> DriftEstimate:
        """The last change, the drift rate and the noise, as estimated from the labels so far.

        >>> import lasec
        >>> tracker = lasec.Tracker(rate=1.0, seed=0)
        >>> records = tracker.run(*lasec.streams.stationary(seed=1))
        >>> estimate = tracker.drift_estimate
        >>> estimate.since, round(estimate.drift, 5), round(estimate.noise, 3)
        (0, 2e-05, 0.001)
        """
        marginal = self.posterior
        age = self.rows - self.state.born
        order = np.argsort(self.state.born, kind="stable")
        middle = int(np.searchsorted(np.cumsum(marginal["since"][order]), 0.5))
        slot = int(order[min(middle, order.size - 1)])
        rule: Any = self.rule
        return DriftEstimate(
            since=int(self.state.born[slot]),
            certainty=float(marginal["since"][slot]),
            age=float(marginal["since"] @ age),
            drift=float(marginal["drift"] @ np.multiply(rule.drift, DRIFTS)),
            hazard=float(marginal["hazard"] @ np.multiply(rule.hazard, HAZARDS)),
            noise=float(marginal["noise"] @ np.multiply(rule.lapse, LAPSES)),
        )

    @property
    def posterior(self) -> dict[str, NDArray[np.float64]]:
        """The probability of each hypothesis: of ``since``, ``drift``, ``hazard`` and ``noise``.

        ``since`` belongs to the rows in ``state.born``, the others to the grids of the rule.

        >>> import lasec
        >>> lasec.Tracker(dimension=2, seed=0).posterior["hazard"].tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        whole = self.state.posterior
        states = whole.sum(axis=(0, 1)).reshape(-1, len(SPEEDS))
        return {
            "since": states.sum(axis=1),
            "drift": np.array([states[:, np.equal(SPEEDS, drift)].sum() for drift in DRIFTS]),
            "hazard": whole.sum(axis=(1, 2)),
            "noise": whole.sum(axis=(0, 2)),
        }

    def _suited(self, given: ArrayLike) -> LearnerState:
        """The state before the first row, with the rule for dense rows or for sparse ones."""
        now = self._now
        if not self._chooses:
            return now
        rule = _rule_for(now.rule, is_sparse(given))
        model: Any = rule.init(1)
        model.costs[:] = now.model.costs
        return replace(now, rule=rule, model=model)

    @property
    def _aim(self) -> Budgeted | TwoPrices:
        query = self.query
        assert isinstance(query, Budgeted | TwoPrices)
        return query

    @classmethod
    def from_bytes(
        cls, data: bytes, *, rules: Iterable[type] = (), queries: Iterable[type] = ()
    ) -> Self:
        """The Tracker that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`."""
        made = super().from_bytes(data, rules=rules, queries=queries)
        if not is_tracker(*(type(part).__name__ for part in (made.rule, made.query))):
            raise StateError("foreign: this is no Tracker, load it with lasec.Learner")
        return made


def is_tracker(rule: str, query: str) -> bool:
    """Whether a rule and a query of these names make a Tracker: what a file holds is decided here.

    >>> is_tracker("SparseTracking", "Budgeted"), is_tracker("SparseTracking", "Always")
    (True, False)
    """
    budgets = {kind.__name__ for kind in (Budgeted, TwoPrices)}
    return rule in {kind.__name__ for kind in get_args(AnyTracking)} and query in budgets


def _rule_for(rule: Any, sparse: bool) -> Tracking | SparseTracking:
    """The rule for dense or for sparse rows, with the classes and weights of another."""
    kind = SparseTracking if sparse else Tracking
    return kind(classes=rule.classes, weighted=rule.weighted, balanced=rule.balanced)


def _lensed(rule: AnyTracking | None, lenses: bool) -> AnyTracking:
    """The rule, with lenses where they are wanted."""
    made = rule or Tracking()
    if not number("lenses", lenses, bool, None) or isinstance(made, Lenses):
        return made
    if isinstance(made, SparseTracking):
        raise ValueError("lenses: they are for dense rows")
    return Lenses(**made._asdict())


def _with_labels(
    classes: Sequence[Hashable] | None, weights: Mapping[Any, float]
) -> Sequence[Hashable] | None:
    """The classes, or those that have a weight if none are given; -1 comes before +1."""
    if classes:
        check_weights(weights, classes)
        return classes
    return ([-1, 1] if set(weights) == {-1, 1} else list(weights)) or None
