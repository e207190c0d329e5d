"""The classifiers: the Tracker, LASEC, and any other rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lasec.alarms import Detector
from lasec.learner import Learner
from lasec.parameters import number, shown
from lasec.queries import Budgeted
from lasec.rules import SecondOrder, SparseTracking, Tracking
from lasec.sklearn.base import StreamClassifier
from lasec.tracker import AUDIT, AUDIT_WEIGHTED, Tracker
from lasec.types import Matrix, Query, Rule


class TrackerClassifier(StreamClassifier):
    """:class:`lasec.Tracker` for scikit-learn: nothing to tune, no scaling, no intercept needed.

    ``rate`` is the share of labels that :meth:`should_ask` asks for; other budgets are a ``query``,
    a :class:`lasec.queries.Budgeted`, instead of it. ``class_weight`` is None, "balanced" or what
    it costs to miss a row of each class, as in the Tracker: it changes predictions and queries, not
    probabilities; weights by label hold once the classes are known. The labels that ``fit`` and
    ``partial_fit`` are given are all learned. Up to ``max_pending`` rows wait for their labels;
    then the oldest is given up, as is any after ``max_age`` rows. ``accuracy()`` estimates the
    accuracy over all rows of ``should_ask``, ``cancel(X)`` gives up questions, and ``detectors``
    (of :mod:`lasec.alarms`) raise the alarms in ``alarms_``. ``learner_`` is the Tracker, with its
    estimates of drift and noise in ``learner_.drift_estimate``. Its state is 0.2 MB at 50 features
    and 1 MB at 1,000. Where the first ``X`` is of :mod:`scipy.sparse`, as a vectorizer of texts
    makes it, the Tracker is that of sparse rows: no row is made dense, and its state grows with the
    columns that occur (:mod:`lasec.rules.tracker.sparse_tracking`).

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=10, every=1_000, seed=1)
    >>> spam = np.where(y > 0, "spam", "ham")
    >>> model = TrackerClassifier(rate=0.1, seed=0).fit(X[:1_500], spam[:1_500])
    >>> round(model.score(X[1_500:], spam[1_500:]), 2), model.predict(X[:2]).tolist()
    (0.99, ['ham', 'spam'])
    >>> asked, propensity = model.should_ask(X[1_500:])
    >>> int(asked.sum())  # 10 %, and a warm-up of 50
    79
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["free prize", "lunch at noon"] * 20, ["spam", "ham"] * 20
    >>> filter = make_pipeline(HashingVectorizer(norm=None), TrackerClassifier(seed=0))
    >>> filter.fit(texts, labels).predict(["a free lunch prize"]).tolist()
    ['spam']
    """

    _queries = Budgeted

    def __init__(
        self,
        rate: float = 0.1,
        *,
        query: Budgeted | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
        detectors: Sequence[Detector] = (),
    ) -> None:
        self.rate = rate
        self.query = query
        self.class_weight = class_weight
        self.seed = seed
        self.max_pending = max_pending
        self.max_age = max_age
        self.detectors = detectors

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class for each row, as of the next step."""
        return self._said(Learner.predict_proba, self._checked(X))

    def predict_log_proba(self, X: Any) -> Matrix:
        """The logarithm of :meth:`predict_proba`."""
        logs: Matrix = np.log(self.predict_proba(X))
        return logs

    def _new_learner(self, dimension: int, sparse: bool) -> Learner:
        named = isinstance(self.class_weight, Mapping)  # of classes that are not known yet
        rule = (SparseTracking if sparse else Tracking)(weighted=named)
        weight: Any = None if named else self.class_weight
        budget: Any = self._query
        return Tracker(
            dimension, budget=budget, rule=rule, class_weight=weight, seed=self.seed,
            max_pending=self.max_pending, max_age=self.max_age,
        )  # fmt: skip

    def _begin(self, classes: NDArray[Any]) -> None:
        super()._begin(classes)
        if isinstance(self.class_weight, Mapping):
            strange = [label for label in self.class_weight if label not in classes.tolist()]
            if strange:
                raise ValueError(
                    f"class_weight: {shown(strange[0])} is not one of the classes {classes}"
                )
            self._learner.weigh_classes(self.class_weight)

    @property
    def _audit(self) -> float:
        return AUDIT if self.class_weight is None else AUDIT_WEIGHTED


class RuleClassifier(StreamClassifier):
    """Any rule of :mod:`lasec.rules`, or of your own, for scikit-learn.

    ``rule`` is by default a :class:`lasec.rules.SecondOrder`, the second-order perceptron.
    ``learn_from`` "mistakes" learns from the labels that it would have missed, "labels" from all,
    as :class:`lasec.rules.AROW` wants it. Rules know neither scale nor intercept: put a
    ``StandardScaler`` before it, and with ``fit_intercept`` rows get a column of ones. ``query`` is
    any of :mod:`lasec.queries` that looks at margins. The other parameters are those of
    :class:`TrackerClassifier`.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(2_000, dimension=10, noise=0.05, seed=1)
    >>> model = RuleClassifier(lasec.rules.AROW(), learn_from="labels").fit(X[:1_500], y[:1_500])
    >>> round(model.score(X[1_500:], y[1_500:]), 2)
    0.91
    """

    def __init__(
        self,
        rule: Rule[Any] | None = None,
        *,
        learn_from: str = "mistakes",
        fit_intercept: bool = True,
        rate: float = 0.1,
        query: Query | None = None,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
        detectors: Sequence[Detector] = (),
    ) -> None:
        self.rule = rule
        self.learn_from = learn_from
        self.fit_intercept = fit_intercept
        self.rate = rate
        self.query = query
        self.seed = seed
        self.max_pending = max_pending
        self.max_age = max_age
        self.detectors = detectors

    def _wants_intercept(self) -> bool:
        return bool(number("fit_intercept", self.fit_intercept, bool, None))

    def _new_learner(self, dimension: int, sparse: bool) -> Learner:
        return Learner(
            self._rule, self._query, dimension=dimension, learn_from=self.learn_from,
            seed=self.seed,
            max_pending=self.max_pending, max_age=self.max_age,
        )  # fmt: skip

    @property
    def _rule(self) -> Any:
        """The rule of these parameters."""
        return SecondOrder() if self.rule is None else self.rule


class LASECClassifier(RuleClassifier):
    """LASEC for scikit-learn: second order, made for drift, learns from its mistakes.

    ``drift`` is how much the concept moves from one update to the next, ``ridge`` how small weights
    are expected to be. The other parameters are those of :class:`RuleClassifier`.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=10, every=1_000, seed=1)
    >>> model = LASECClassifier(drift=0.01, ridge=0.5).fit(X[:1_500], y[:1_500])
    >>> round(model.score(X[1_500:], y[1_500:]), 2), model.learner_.updates
    (0.96, 124)
    """

    def __init__(
        self,
        drift: float = 0.01,
        ridge: float = 1.0,
        *,
        fit_intercept: bool = True,
        rate: float = 0.1,
        query: Query | None = None,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
        detectors: Sequence[Detector] = (),
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept, rate=rate, query=query, seed=seed,
            max_pending=max_pending, max_age=max_age, detectors=detectors,
        )  # fmt: skip
        self.drift = drift
        self.ridge = ridge

    @property
    def _rule(self) -> Any:
        return SecondOrder(self.drift, self.ridge)
