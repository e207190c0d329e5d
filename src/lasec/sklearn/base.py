"""What all classifiers of this face share: a table in, learners of lasec inside."""

from __future__ import annotations

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

from lasec.learner import Learner
from lasec.sklearn import rounds
from lasec.sklearn.gate import Questions, decide, gate, lead
from lasec.types import Matrix, Vector

_ROWS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Whatever goes wrong in here, the estimator's attributes are what they were."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def known_classes(given: ArrayLike) -> NDArray[Any]:
    """The classes in order, of which there must be two or more."""
    classes: NDArray[Any] = np.unique(np.asarray(given))
    if classes.size < 2:
        raise ValueError(f"y: expected labels of two classes or more, got {classes.size} class")
    return classes


class StreamClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns rows in their order, once, and can say which labels to ask.

    Two classes have one learner, more have one each (one against the rest). Refused calls leave the
    estimator as it was.
    """

    _intercept = False
    _kind: type[Learner] = Learner
    rate: float
    horizon: int
    budget: Any
    seed: int
    classes_: NDArray[Any]
    learners_: list[Learner]
    gate_: Learner
    _questions: Questions

    @abstractmethod
    def _learner(self, dimension: int) -> Learner:
        """A new learner that learns from every label given to its ``run``."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn the rows of ``X`` in their order."""
        with all_or_nothing(self):
            X, y = validate_data(self, X, y, **_ROWS)
            check_classification_targets(y)
            self._open()
            self._begin(known_classes(y))
            self._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn more rows, in their order.

        The first call must name all ``classes``. A row that :meth:`should_ask` has asked about is
        learned as the answer to that question, however late; any other as a row that came now.
        """
        with all_or_nothing(self):
            new = not hasattr(self, "gate_")
            X, y = validate_data(self, X, y, reset=new, ensure_min_samples=0, **_ROWS)
            if new:
                self._open()
            self._agree(classes)
            if len(y):
                check_classification_targets(y)
                self._learn(X, y)
        return self

    def should_ask(
        self, X: Any, *, times: ArrayLike | None = None
    ) -> tuple[NDArray[np.bool_], Vector]:
        """Which of these rows to ask about, and with what probability each was going to be asked.

        Each row is a round of the stream. The budget is held over all calls, and how the stream is
        cut into calls changes nothing. It can be called before any label is known. ``times`` says
        when each row came, for budgets by time.
        """
        with all_or_nothing(self):
            new = not hasattr(self, "gate_")
            X = validate_data(self, X, reset=new, ensure_min_samples=0, **_ROWS)
            if new:
                self._open()
            first = self.gate_.rounds
            margins = self._margins(X, first)
            ahead = self._ahead(margins) if self._trained else np.zeros(len(margins))
            asked, propensity = decide(self.gate_, ahead, times)
            self._ask(X, asked, first)
        return asked, propensity

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
        if "gate_" in state:
            state["gate_"] = self.gate_.to_bytes()
        if "learners_" in state:
            state["learners_"] = [learner.to_bytes() for learner in self.learners_]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "gate_" in state:
            self.gate_ = Learner.from_bytes(state["gate_"])
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
        return validate_data(self, X, reset=False, **_ROWS)

    def _open(self) -> None:
        """Begin a stream of which nothing is known."""
        self.gate_ = gate(self.rate, self.horizon, self.budget, self.seed)
        self._questions = Questions()

    def _agree(self, classes: ArrayLike | None) -> None:
        """Take the classes of a first call; compare those of a later one."""
        if classes is None:
            if not self._trained:
                raise ValueError("classes must be passed on the first call to partial_fit.")
        elif not self._trained:
            self._begin(known_classes(classes))
        elif not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: {classes!r} are not those of the first call")

    def _begin(self, classes: NDArray[Any]) -> None:
        """A new learner for each class, or one for two."""
        self.classes_ = classes
        dimension = self.n_features_in_ + self._intercept
        count = 1 if classes.size == 2 else classes.size
        self.learners_ = [self._learner(dimension) for _ in range(count)]
        for learner in self.learners_:
            learner.rounds = self.gate_.rounds

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
        self.learners_, self.gate_.rounds = pupils, pupils[0].rounds
        self._questions.close(tickets)

    def _margins(self, X: Any, first: int | None = None) -> Matrix:
        """The margin of each row under each learner; as of rounds ``first``, ... where given."""
        learners = self.learners_ if self._trained else []
        found = np.empty((X.shape[0], len(learners)))
        for at, rows in rounds.blocks(X, self._intercept):
            for k, learner in enumerate(learners):
                found[at, k] = (
                    rounds.now(learner, rows)
                    if first is None
                    else rounds.coming(learner, rows, first + at.start)
                )
        return found

    def _ahead(self, margins: Matrix) -> Vector:
        """On what the gate decides: the margin, or the best class's less the second best's."""
        return margins[:, 0] if margins.shape[1] == 1 else lead(margins)

    def _ask(self, X: Any, asked: NDArray[np.bool_], first: int) -> None:
        """Remember what was asked, and let the clock of every learner go on."""
        for at, rows in rounds.blocks(X, self._intercept):
            chosen = np.flatnonzero(asked[at])
            self._questions.add(rows[chosen], (first + at.start + chosen).tolist())
        if self._trained:
            for learner in self.learners_:
                learner.rounds = self.gate_.rounds
