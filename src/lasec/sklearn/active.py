"""Any scikit-learn classifier in front of people who label: which rows to send them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, assert_all_finite, check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from lasec.alarms import Detector
from lasec.selector import Selector
from lasec.session import AnyModel, JudgedRows
from lasec.session.adapters import judged_rows
from lasec.sklearn.asking import AskingMixin, drafted
from lasec.sklearn.unlabeled import filled, missing
from lasec.types import Decision, Matrix, Outcome, Query, Vector

F = TypeVar("F", bound=Callable[..., Any])


def offered(method: F) -> F:
    """A method that is there where the classifier inside has one of the same name."""
    name = method.__name__

    def there(self: Any) -> bool:
        model = getattr(self, "estimator_", self.estimator)
        if not hasattr(model, name):
            remedy = ": call refit with all labels" if name == "partial_fit" else ""
            raise AttributeError(f"{type(model).__name__} has no {name}{remedy}")
        return True

    return cast(F, available_if(there)(method))


class ActiveClassifier(AskingMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier with :meth:`should_ask`: a budget of labels, spent where in doubt.

    ``estimator`` is any classifier with ``predict_proba`` or ``decision_function``; a copy of it is
    trained and is in ``estimator_``. The doubt is how little the best class is ahead of the second
    best: see :func:`lasec.selector.bvsb_margin`. The other parameters, ``accuracy()``,
    ``cancel(X)`` and ``alarms_`` are those of :class:`TrackerClassifier`. ``fit`` starts over, with
    a new budget; ``partial_fit``, or ``refit`` where a classifier has none, continues. A row that
    :meth:`should_ask` asked about is taken as the answer to that question. Rows whose label is None
    or NaN are passed over; what -1 means is the classifier's matter.

    >>> import lasec
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = lasec.streams.stationary(2_000, dimension=10, seed=1)
    >>> model = ActiveClassifier(SGDClassifier(random_state=0), rate=0.1, seed=0)
    >>> for begin in range(0, 2_000, 100):
    ...     rows, truth = X[begin : begin + 100], y[begin : begin + 100]
    ...     asked, propensity = model.should_ask(rows)
    ...     model = model.partial_fit(rows[asked], truth[asked], classes=[-1, 1])
    >>> model.selector_.asked, round(model.score(X, y), 2)
    (232, 0.9)
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any,
        *,
        rate: float = 0.1,
        query: Query | None = None,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
        detectors: Sequence[Detector] = (),
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.query = query
        self.seed = seed
        self.max_pending = max_pending
        self.max_age = max_age
        self.detectors = detectors

    def fit(self, X: Any, y: Any) -> Self:
        """Train a new copy of the classifier, with a new budget."""
        with drafted(self) as draft:
            draft._begin()
            draft._adopt(clone(self.estimator).fit(*_labeled(X, y)))
        return self

    def refit(self, X: Any, y: Any) -> Self:
        """Train a new copy of the classifier, on all labels known by now; the budget goes on."""
        with drafted(self) as draft:
            draft._open()
            X, y = _labeled(X, y)
            draft._adopt(clone(self.estimator).fit(X, y))
            told = draft._answer(draft._tickets(X), np.ravel(y))
        self._session.hear_told(told)
        return self

    @offered
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Let the classifier learn more rows; the first call must name all ``classes``.

        Without rows nothing happens. What a refused call leaves behind in a classifier that has
        learned before, is that classifier's matter.
        """
        told = []
        with drafted(self) as draft:
            draft._open()
            X, y = _labeled(X, y)
            if _num_samples(X) > 0:
                model = getattr(self, "estimator_", None)
                model = clone(self.estimator) if model is None else model
                given = {} if classes is None else {"classes": classes}
                draft._adopt(model.partial_fit(X, y, **given))
                told = draft._answer(draft._tickets(X), np.ravel(y))
        self._session.hear_told(told)
        return self

    def should_ask(
        self, X: Any, *, times: ArrayLike | None = None
    ) -> tuple[NDArray[np.bool_], Vector]:
        """Which of these rows to ask about, and with what probability each was going to be asked.

        It can be called before any label is known; ``times`` is for budgets by time.
        """
        with drafted(self) as draft:
            judged = draft._judged(X) if hasattr(self, "estimator_") else draft._unknown(X)
            draft._open()
            decided = draft._decide(X, judged, times)
        return self._heard(X, decided)

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

    def _open(self) -> None:
        """Begin the budget, if it has not begun."""
        if not hasattr(self, "_session"):
            self._begin()

    def _begin(self) -> None:
        """Begin a budget."""
        limits: Any = {"max_pending": self.max_pending, "max_age": self.max_age}
        self._stand(AnyModel(_judge, _learn, Selector(self._query, seed=self.seed), **limits))

    @property
    def _model(self) -> AnyModel:
        model: Any = self._session.model
        return model  # type: ignore[no-any-return]

    def _decide(self, X: Any, judged: JudgedRows, times: ArrayLike | None) -> list[Decision]:
        """Decide which of these rows to ask about, on a branch of the session."""
        self._session = self._session.branch()
        return self._model.ask_many(judged, times)

    def _answer(self, tickets: list[int], labels: Iterable[Any]) -> list[Outcome]:
        """Settle the questions of these tickets (-1 is none), on a branch of the session."""
        self._session = self._session.branch()
        told = zip(tickets, labels, strict=True)
        return [self._model.tell(ticket, label) for ticket, label in told if ticket >= 0]

    def _adopt(self, model: Any) -> None:
        """Take a trained classifier."""
        self.estimator_, self.classes_ = model, model.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _unknown(self, X: Any) -> JudgedRows:
        """What is said of rows before there is a classifier, which could not check them itself."""
        seen = hasattr(self, "n_features_in_")
        validate_data(self, X, reset=not seen, skip_check_array=True)
        sparse = issparse(X)
        values = X.data if sparse else np.asarray(X)
        if values.dtype.kind == "f":
            assert_all_finite(values, allow_nan=_takes_nan(self.estimator), input_name="X")
        count = _num_samples(X)
        return JudgedRows(np.full(count, None), np.zeros(count), np.full(count, -1.0))

    def _judged(self, X: Any) -> JudgedRows:
        """The best class, by how much it is ahead of the second best, and how sure that is."""
        if _num_samples(X) == 0:
            return JudgedRows(self.classes_[:0], np.zeros(0), np.zeros(0))
        scores, likely = self._scores(X)
        return judged_rows(self.classes_, scores, likely=likely)

    def _scores(self, X: Any) -> tuple[Matrix | Vector, bool]:
        """A score for each class, or one margin for two, and whether they are probabilities."""
        model, wanted = self.estimator_, (_num_samples(X), len(self.classes_))
        likely = hasattr(model, "predict_proba")
        found = np.asarray((model.predict_proba if likely else model.decision_function)(X), float)
        if found.shape != wanted[:1] and (
            found.shape != wanted or not (likely or _by_class(model))
        ):
            got = f"shape {found.shape}" if found.shape != wanted else "one for each pair of them"
            raise ValueError(
                f"estimator: expected a score for each of {wanted[1]} classes, got {got}"
            )
        return found, likely


def _labeled(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and labels as they came, if they are not several for each row; those with a label."""
    shape = np.asarray(y).shape
    if len(shape) > 1 and shape[1:] != (1,):
        raise ValueError(f"y: expected one label for each row, got shape {shape}")
    gone = missing(y)
    if gone is None:
        return X, y
    check_consistent_length(X, y)
    return _safe_indexing(X, np.flatnonzero(~gone)), filled(y, gone)[~gone]


def _parts(model: Any) -> list[Any]:
    """A classifier, and what it is made of: its parameters, and theirs."""
    return [model, *model.get_params(deep=True).values()]


def _takes_nan(model: Any) -> bool:
    """Whether NaN may mean something to a classifier, or to a step before it."""
    parts = (part for part in _parts(model) if hasattr(part, "__sklearn_tags__"))
    return any(get_tags(part).input_tags.allow_nan for part in parts if not isinstance(part, type))


def _judge(row: Any) -> Any:
    raise NotImplementedError("an estimator judges its rows together")


def _learn(row: Any, label: Any, ticket: int) -> None:
    """The estimator has learned it already."""


def _by_class(model: Any) -> bool:
    """Whether the columns of a decision function are classes, and not pairs of them."""
    return not any(getattr(part, "decision_function_shape", "") == "ovo" for part in _parts(model))
