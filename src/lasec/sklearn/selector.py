"""Any scikit-learn classifier in front of people who label: which rows to send them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from lasec.learner import Learner
from lasec.queries import Budgeted
from lasec.sklearn.base import all_or_nothing
from lasec.sklearn.gate import decide, gate, lead
from lasec.types import Vector

F = TypeVar("F", bound=Callable[..., Any])


def offered(method: F) -> F:
    """A method that is there where the classifier inside has one of the same name."""
    name = method.__name__
    there = available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), name))
    return cast(F, there(method))


class Selector(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier with :meth:`should_ask`: a budget of labels, spent where in doubt.

    ``estimator`` is any classifier with ``predict_proba`` or ``decision_function``; a copy of it is
    trained and is in ``estimator_``. The doubt is how little the best class is ahead of the second
    best. ``rate``, ``horizon``, ``budget`` and ``seed`` are those of :class:`TrackerClassifier`.
    ``fit`` begins anew, budget and all; ``partial_fit``, or ``refit`` where a classifier has none,
    goes on.

    >>> import lasec
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = lasec.streams.stationary(2_000, dimension=10, seed=1)
    >>> model = Selector(SGDClassifier(random_state=0), rate=0.1)
    >>> for begin in range(0, 2_000, 100):
    ...     rows, truth = X[begin : begin + 100], y[begin : begin + 100]
    ...     asked, propensity = model.should_ask(rows)
    ...     model = model.partial_fit(rows[asked], truth[asked], classes=[-1, 1])
    >>> model.gate_.asked, round(model.score(X, y), 2)
    (239, 0.9)
    """

    gate_: Learner
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any,
        *,
        rate: float = 0.1,
        horizon: int = 10_000,
        budget: Budgeted | None = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.horizon = horizon
        self.budget = budget
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Train a new copy of the classifier, and begin the budget anew."""
        with all_or_nothing(self):
            self.gate_ = self._new_gate()
            self._adopt(clone(self.estimator).fit(X, y))
        return self

    def refit(self, X: Any, y: Any) -> Self:
        """Train a new copy of the classifier, on all labels known by now; the budget goes on."""
        with all_or_nothing(self):
            self._open()
            self._adopt(clone(self.estimator).fit(X, y))
        return self

    @offered
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Let the classifier learn more rows; the first call must name all ``classes``.

        Without rows nothing happens.
        """
        with all_or_nothing(self):
            self._open()
            if _num_samples(X) > 0:
                model = getattr(self, "estimator_", None) or clone(self.estimator)
                given = {} if classes is None else {"classes": classes}
                self._adopt(model.partial_fit(X, y, **given))
        return self

    def should_ask(
        self, X: Any, *, times: ArrayLike | None = None
    ) -> tuple[NDArray[np.bool_], Vector]:
        """Which of these rows to ask about, and with what probability each was going to be asked.

        It can be called before any label is known; ``times`` is for budgets by time.
        """
        with all_or_nothing(self):
            count = _num_samples(X)
            trained = hasattr(self, "estimator_") and count > 0
            ahead = self._ahead(X) if trained else np.zeros(count)
            self._open()
            return decide(self.gate_, ahead, times)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, as the classifier has it."""
        check_is_fitted(self, "estimator_")
        predicted: NDArray[Any] = self.estimator_.predict(X)
        return predicted

    @offered
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of each class, as the classifier has it."""
        check_is_fitted(self, "estimator_")
        chances: NDArray[Any] = self.estimator_.predict_proba(X)
        return chances

    @offered
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The margin of each row or class, as the classifier has it."""
        check_is_fitted(self, "estimator_")
        margins: NDArray[Any] = self.estimator_.decision_function(X)
        return margins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags

    def _new_gate(self) -> Learner:
        return gate(self.rate, self.horizon, self.budget, self.seed)

    def _open(self) -> None:
        """Begin the budget, if it has not begun."""
        if not hasattr(self, "gate_"):
            self.gate_ = self._new_gate()

    def _adopt(self, model: Any) -> None:
        """Take a trained classifier."""
        self.estimator_, self.classes_ = model, model.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _ahead(self, X: Any) -> Vector:
        """By how much the best class is ahead of the second best."""
        model = self.estimator_
        find = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
        found = np.asarray(find(X), dtype=np.float64)
        if found.ndim == 1:
            return found
        return lead(found) if found.shape[1] > 1 else np.zeros(len(found))
