"""What all classifiers of this face share: a table in, learners of lasec inside."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lasec import validation
from lasec.learner import Learner
from lasec.parameters import shown
from lasec.selector import bvsb_margin
from lasec.session import AskedRows, JudgedRows
from lasec.sklearn import learning
from lasec.sklearn.asking import AskingMixin, drafted, row_of
from lasec.types import Matrix, NotingRule, Outcome, Vector

_ROWS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What scikit-learn makes of rows, and of labels where there are any."""
    with validation.foreign("X"):
        return validate_data(estimator, X, *y, **_ROWS, **options)


def known_classes(given: ArrayLike) -> NDArray[Any]:
    """The classes in order, of which there must be two or more."""
    with validation.foreign("classes"):
        classes: NDArray[Any] = np.unique(np.asarray(given))
    if classes.size < 2:
        raise ValueError(f"y: expected labels of two classes or more, got {classes.size} class")
    return classes


class StreamClassifier(AskingMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns rows in their order, once, and can say which labels to ask.

    Two classes have one learner, more have one each (one against the rest). Refused calls leave the
    estimator as it was.
    """

    _kind: type[Learner] = Learner
    classes_: NDArray[Any]
    learners_: list[Learner]
    _intercept: bool
    _unlabeled: Learner | None = None  # has seen the rows that came before the first label

    @abstractmethod
    def _learner(self, dimension: int) -> Learner:
        """A new learner that learns from every label given to its ``run``."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn the rows of ``X`` in their order."""
        with drafted(self) as draft:
            X, y = _validated(draft, X, y)
            check_classification_targets(y)
            draft._open()
            draft._begin(known_classes(y))
            draft._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn more rows, in their order.

        The first call must name all ``classes``. A row that :meth:`should_ask` has asked about is
        learned as the answer to that question, however late; any other as a row that came now.
        """
        with drafted(self) as draft:
            told = draft._taught(X, y, classes)
        self._session.hear_told(told)
        return self

    def should_ask(
        self, X: Any, *, times: ArrayLike | None = None
    ) -> tuple[NDArray[np.bool_], Vector]:
        """Which of these rows to ask about, and with what probability each was going to be asked.

        Each row is a step of the stream. The budget is held over all calls, and how the stream is
        cut into calls changes nothing. It can be called before any label is known. ``times`` says
        when each row came, for budgets by time.
        """
        with drafted(self) as draft:
            new = not hasattr(draft, "_session")
            X = _validated(draft, X, reset=new, ensure_min_samples=0)
            if new:
                draft._open()
            decided = draft._ask(X, times)
        self._session.hear_asked(decided, row_of(X))
        return decided.asked, decided.propensity

    def decision_function(self, X: Any) -> Vector | Matrix:
        """The margin of each row: one number for two classes, else one for each class.

        For two classes it is positive (or zero) for ``classes_[1]``.
        """
        margins = self._margins(self._checked(X))
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        return self._best(self._margins(self._checked(X)))

    def _best(self, margins: Matrix) -> NDArray[Any]:
        best = margins[:, 0] >= 0.0 if margins.shape[1] == 1 else margins.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best.astype(np.intp)]
        return predicted

    @property
    def learner_(self) -> Learner:
        """The one learner of a classifier for two classes; with more, see ``learners_``."""
        check_is_fitted(self, "learners_")
        if len(self.learners_) > 1:
            raise AttributeError("there is a learner for each class: see learners_")
        return self.learners_[0]

    def __getstate__(self) -> dict[str, Any]:
        """For a pickle: learners as the bytes of their state files, which are checked when read."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "learners_" in state:
            state["learners_"] = [learner.to_bytes() for learner in self.learners_]
        if self._unlabeled is not None:
            state["_unlabeled"] = self._unlabeled.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "learners_" in state:
            self.learners_ = [self._kind.from_bytes(kept) for kept in state["learners_"]]
        if state.get("_unlabeled") is not None:
            self._unlabeled = self._kind.from_bytes(state["_unlabeled"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _trained(self) -> bool:
        return hasattr(self, "learners_")

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "learners_")
        return _validated(self, X, reset=False)

    def _open(self) -> None:
        """Begin a stream of which nothing is known."""
        self._session = self._new_session()
        self._unlabeled = None
        self._intercept = self._wants_intercept()

    def _wants_intercept(self) -> bool:
        """Whether rows are to get a column of ones; what was true at the start holds to the end."""
        return False

    def _agree(self, classes: ArrayLike | None) -> None:
        """Take the classes of a first call; compare those of a later one."""
        if classes is None:
            if not self._trained:
                raise ValueError("classes must be passed on the first call to partial_fit.")
        elif not self._trained:
            self._begin(known_classes(classes))
        elif not np.array_equal(known_classes(classes), self.classes_):
            raise ValueError(f"classes: {shown(classes)} are not those of the first call")

    def _begin(self, classes: NDArray[Any]) -> None:
        """A new learner for each class, or one for two."""
        self.classes_ = classes
        count = 1 if classes.size == 2 else classes.size
        begin = self.selector_.rows
        self.learners_ = [self._first().counted(rows=begin) for _ in range(count)]
        self._unlabeled = None

    def _first(self) -> Learner:
        """A learner without a label, which knows the rows that were asked about so far."""
        if self._unlabeled is not None:
            return copy.copy(self._unlabeled)
        return self._learner(self.n_features_in_ + self._intercept)

    def _taught(self, X: Any, y: Any, classes: ArrayLike | None) -> list[Outcome]:
        """Learn more rows, and settle the questions that their labels answer."""
        new = not hasattr(self, "_session")
        X, y = _validated(self, X, y, reset=new, ensure_min_samples=0)
        if new:
            self._open()
        self._agree(classes)
        if not len(y):
            return []
        check_classification_targets(y)
        return self._learn(X, y)

    def _learn(self, X: Any, y: NDArray[Any]) -> list[Outcome]:
        """Rows and labels, in order; with new learners, so that a refusal changes nothing."""
        strange = np.setdiff1d(y, self.classes_)
        if strange.size:
            raise ValueError(f"y: {strange[0]!r} is not one of the classes {self.classes_}")
        index = np.searchsorted(self.classes_, y)
        wanted = np.array([1]) if len(self.learners_) == 1 else np.arange(self.classes_.size)
        signs = np.where(index[:, None] == wanted, 1, -1).astype(np.int8)
        pupils, tickets = self.learners_, self._tickets(X)
        for at, rows in learning.blocks(X, self._intercept):
            pupils = learning.taught(pupils, rows, signs[at], tickets[at], at.start)
        self.learners_ = pupils
        told = self._answer(tickets, self.classes_[index])
        self.selector_.skip(pupils[0].rows - self.selector_.rows)
        return told

    def _margins(self, X: Any, first: int | None = None) -> Matrix:
        """The margin of each row under each learner; as of steps ``first``, ... where given."""
        learners = self.learners_ if self._trained else []
        found = np.empty((X.shape[0], len(learners)))
        for at, rows in learning.blocks(X, self._intercept):
            for k, learner in enumerate(learners):
                start = None if first is None else first + at.start
                found[at, k] = learner.margins(rows, first=start)
        return found

    def _ahead(self, margins: Matrix) -> Vector:
        """On what the selector decides: the margin, or half the lead of the best class's."""
        return margins[:, 0] if margins.shape[1] == 1 else bvsb_margin(margins) / 2.0

    def _sure(self, margins: Matrix) -> Vector:
        """P(the prediction is right) - P(it is wrong), for the meter."""
        sure: Vector = 2.0 * probabilities(np.tanh(margins)).max(axis=1) - 1.0
        return sure

    def _ask(self, X: Any, times: ArrayLike | None) -> AskedRows:
        """Decide, remember what was asked, and let the clock of every learner go on."""
        count, margins = X.shape[0], self._margins(X, self.selector_.rows)
        judged = JudgedRows(np.full(count, None), np.zeros(count), np.full(count, -1.0))
        if self._trained:
            judged = JudgedRows(self._best(margins), self._ahead(margins), self._sure(margins))
        decided = self._decide(X, judged, times)
        if self._trained:
            self.learners_ = learning.noted(self.learners_, X, self._intercept)
        elif isinstance((first := self._first()).rule, NotingRule):
            (self._unlabeled,) = learning.noted([first], X, self._intercept)
        return decided


def probabilities(margins: Matrix) -> Matrix:
    """P(class) from P(class) - P(not class) of one learner, or of one learner for each class.

    >>> probabilities(np.array([[0.5]])).tolist()
    [[0.25, 0.75]]
    """
    if margins.shape[1] == 1:
        return np.column_stack([(1.0 - margins[:, 0]) / 2.0, (1.0 + margins[:, 0]) / 2.0])
    chances = (1.0 + margins) / 2.0
    total = chances.sum(axis=1, keepdims=True)
    even = np.full_like(chances, 1.0 / margins.shape[1])
    shares: Matrix = np.divide(chances, total, out=even, where=total > 0.0)
    return shares
