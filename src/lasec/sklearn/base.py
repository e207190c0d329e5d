"""What all classifiers of this face share: a table in, learners of lasec inside."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lasec import guards
from lasec.learner import Learner
from lasec.parameters import shown
from lasec.selector import Selector, bvsb_margin
from lasec.sklearn import rounds
from lasec.sklearn.questions import Questions, opened
from lasec.types import Matrix, Query, Vector

_ROWS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}


@contextmanager
def drafted(estimator: Any) -> Iterator[Any]:
    """A copy to work on, whose attributes become the estimator's if nothing goes wrong.

    It shares what it does not replace, so nothing that hangs on it may be changed in place. Who
    reads the estimator meanwhile, in another thread, sees it as it was.
    """
    draft = object.__new__(type(estimator))
    vars(draft).update(vars(estimator))
    yield draft
    gone = vars(estimator).keys() - vars(draft).keys()
    vars(estimator).update(vars(draft))  # one step, so that no signal can come in between
    for name in gone:
        vars(estimator).pop(name, None)


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What scikit-learn makes of rows, and of labels where there are any."""
    with guards.foreign("X"):
        return validate_data(estimator, X, *y, **_ROWS, **options)


def known_classes(given: ArrayLike) -> NDArray[Any]:
    """The classes in order, of which there must be two or more."""
    with guards.foreign("classes"):
        classes: NDArray[Any] = np.unique(np.asarray(given))
    if classes.size < 2:
        raise ValueError(f"y: expected labels of two classes or more, got {classes.size} class")
    return classes


class StreamClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns rows in their order, once, and can say which labels to ask.

    Two classes have one learner, more have one each (one against the rest). Refused calls leave the
    estimator as it was.
    """

    _kind: type[Learner] = Learner
    _queries: type | None = None
    rate: float
    query: Query | None
    seed: int | None
    classes_: NDArray[Any]
    learners_: list[Learner]
    gate_: Selector
    _questions: Questions
    _intercept: bool

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
            new = not hasattr(draft, "gate_")
            X, y = _validated(draft, X, y, reset=new, ensure_min_samples=0)
            if new:
                draft._open()
            draft._agree(classes)
            if len(y):
                check_classification_targets(y)
                draft._learn(X, y)
        return self

    def should_ask(
        self, X: Any, *, times: ArrayLike | None = None
    ) -> tuple[NDArray[np.bool_], Vector]:
        """Which of these rows to ask about, and with what probability each was going to be asked.

        Each row is a round of the stream. The budget is held over all calls, and how the stream is
        cut into calls changes nothing. It can be called before any label is known. ``times`` says
        when each row came, for budgets by time.
        """
        with drafted(self) as draft:
            new = not hasattr(draft, "gate_")
            X = _validated(draft, X, reset=new, ensure_min_samples=0)
            if new:
                draft._open()
            asked, propensity = draft._ask(X, times)
        return asked, propensity

    @property
    def open_questions_(self) -> int:
        """How many rows that :meth:`should_ask` has asked about wait for their labels."""
        return len(self._questions) if hasattr(self, "_questions") else 0

    def decision_function(self, X: Any) -> Vector | Matrix:
        """The margin of each row: one number for two classes, else one for each class.

        For two classes it is positive (or zero) for ``classes_[1]``.
        """
        margins = self._margins(self._checked(X))
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        margins = self._margins(self._checked(X))
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
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "learners_" in state:
            self.learners_ = [self._kind.from_bytes(kept) for kept in state["learners_"]]

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
        self.gate_ = opened(self.rate, self.query, self.seed, self._queries)
        self._questions = Questions()
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
        dimension = self.n_features_in_ + self._intercept
        count = 1 if classes.size == 2 else classes.size
        begin = self.gate_.rounds
        self.learners_ = [self._learner(dimension).counted(rounds=begin) for _ in range(count)]

    def _learn(self, X: Any, y: NDArray[Any]) -> None:
        """Rows and labels, in order; with new learners, so that a refusal changes nothing."""
        strange = np.setdiff1d(y, self.classes_)
        if strange.size:
            raise ValueError(f"y: {strange[0]!r} is not one of the classes {self.classes_}")
        index = np.searchsorted(self.classes_, y)
        wanted = np.array([1]) if len(self.learners_) == 1 else np.arange(self.classes_.size)
        signs = np.where(index[:, None] == wanted, 1, -1).astype(np.int8)
        pupils, tickets, taken = self.learners_, list[int](), Counter[bytes]()
        for at, rows in rounds.blocks(X, self._intercept):
            found = self._questions.find(rows, taken)
            pupils = rounds.taught(pupils, rows, signs[at], found, at.start)
            tickets += found
        self.learners_, self.gate_ = pupils, copy.copy(self.gate_)
        self.gate_.skip(pupils[0].rounds - self.gate_.rounds)
        self._questions = copy.copy(self._questions)
        self._questions.close(tickets)

    def _margins(self, X: Any, first: int | None = None) -> Matrix:
        """The margin of each row under each learner; as of rounds ``first``, ... where given."""
        learners = self.learners_ if self._trained else []
        found = np.empty((X.shape[0], len(learners)))
        for at, rows in rounds.blocks(X, self._intercept):
            for k, learner in enumerate(learners):
                start = None if first is None else first + at.start
                found[at, k] = learner.margins(rows, first=start)
        return found

    def _ahead(self, margins: Matrix) -> Vector:
        """On what the gate decides: the margin, or half the lead of the best class's."""
        return margins[:, 0] if margins.shape[1] == 1 else bvsb_margin(margins) / 2.0

    def _ask(self, X: Any, times: ArrayLike | None) -> tuple[NDArray[np.bool_], Vector]:
        """Decide, remember what was asked, and let the clock of every learner go on."""
        self.gate_, self._questions = copy.copy(self.gate_), copy.copy(self._questions)
        margins = self._margins(X, self.gate_.rounds)
        ahead = self._ahead(margins) if self._trained else np.zeros(len(margins))
        propensity, asked, tickets = self.gate_.decide_all(ahead, times)
        for at, rows in rounds.blocks(X, self._intercept):
            self._questions.add(rows[asked[at]], tickets[at][asked[at]].tolist())
        if self._trained:
            self.learners_ = [each.counted(rounds=self.gate_.rounds) for each in self.learners_]
        return asked, propensity
