"""What all classifiers of this face share: a table in, a session with a learner inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lasec import validation
from lasec.learner import Learner, class_margins
from lasec.parameters import shown
from lasec.session import OwnModel, Session
from lasec.sklearn.asking import AskingMixin, drafted
from lasec.sklearn.unlabeled import filled, marked, missing
from lasec.sparse import checked, is_sparse, takes_pairs
from lasec.types import Decision, Matrix, Outcome, Vector

_ROWS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
# For a rule of dense rows, sparse ones become dense in blocks of at most so many numbers (16 MB).
_BLOCK = 2**21


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What scikit-learn makes of rows, and of labels where there are any."""
    with validation.foreign("X"):
        X = checked("X", X) if is_sparse(X) else X
        return validate_data(estimator, X, *y, **_ROWS, **options)


def _labeled(
    estimator: Any, X: Any, y: Any, classes: NDArray[Any] | None, **options: Any
) -> tuple[Any, NDArray[Any]]:
    """The rows that have a label, and their labels; see :mod:`lasec.sklearn.unlabeled`."""
    gone = missing(y)
    X, y = _validated(estimator, X, y if gone is None else filled(y, gone), **options)
    keep = ~marked(y, classes) if gone is None else ~gone
    if gone is not None and keep.any():
        keep[keep] = ~marked(y[keep], classes)
    return (X, y) if keep.all() else (X[np.flatnonzero(keep)], y[keep])


def known_classes(given: ArrayLike) -> NDArray[Any]:
    """The classes in order, of which there must be two or more."""
    with validation.foreign("classes"):
        classes: NDArray[Any] = np.unique(np.asarray(given))
    if classes.size < 2:
        raise ValueError(f"y: expected labels of two classes or more, got {classes.size} class")
    return classes


class StreamClassifier(AskingMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns rows in their order, once, and can say which labels to ask.

    It holds one learner of lasec, which knows the classes. Refused calls leave the estimator as it
    was. Rows without a label are passed over: None and NaN in ``y``, and -1 where it cannot be a
    class (:mod:`lasec.sklearn.unlabeled`).
    """

    classes_: NDArray[Any]
    _intercept: bool

    @abstractmethod
    def _new_learner(self, dimension: int, sparse: bool) -> Learner:
        """A new learner with the query of these parameters, for rows that may be sparse."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn the rows of ``X`` in their order.

        A row whose label is None or NaN is passed over. So is one with the label -1, scikit-learn's
        mark of an unlabeled row, where the other labels are two or more whole numbers from 0 on.
        """
        with drafted(self) as draft:
            X, y = _labeled(draft, X, y, None)
            check_classification_targets(y)
            draft._open(X)
            draft._begin(known_classes(y))
            draft._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn more rows, in their order.

        The first call must name all ``classes``. A row that :meth:`should_ask` has asked about is
        learned as the answer to that question, however late; any other as a row that came now. A
        row whose label is None or NaN, or -1 where that is none of the classes, is passed over: if
        it was asked about, its question stays open.
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
                draft._open(X)
            decided = draft._asked(X, times)
        return self._heard(X, decided)

    def decision_function(self, X: Any) -> Vector | Matrix:
        """The margin of each row: one number for two classes, else one for each class.

        For two classes it is positive (or zero) for ``classes_[1]``.
        """
        X = self._checked(X)
        return self._said(Learner.margins if self.classes_.size == 2 else class_margins, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        labels = self._said(Learner.predict, self._checked(X))
        return labels.astype(self.classes_.dtype, copy=False)

    @property
    def learner_(self) -> Learner:
        """The learner of lasec, which knows the classes by their names."""
        check_is_fitted(self, "classes_")
        return self._learner

    @property
    def _learner(self) -> Learner:
        return self._session.learner

    def __getstate__(self) -> dict[str, Any]:
        """For a pickle: the learner as the bytes of its state file, which are checked when read."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "_session" in state:
            state["_session"] = session = self._session.branch()
            session.model = cast("Any", _Filed.of(self._learner))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_session" in state:
            filed: Any = self._session.model
            self._session.model = OwnModel(filed.learner())
            self._session = self._session.branch()  # which hears what is given up

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _trained(self) -> bool:
        return hasattr(self, "classes_")

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return _validated(self, X, reset=False)

    def _said(self, of: Callable[[Learner, Any], NDArray[Any]], X: Any) -> NDArray[Any]:
        """What the learner says of each row."""
        learner = self._learner
        found = blocks(learner, X, self._intercept)
        return np.concatenate([of(learner, rows) for _, rows in found])

    def _open(self, X: Any) -> None:
        """Begin a stream of which nothing is known but its first rows."""
        self._intercept = self._wants_intercept()
        self._stand(self._new_learner(self.n_features_in_ + self._intercept, is_sparse(X)))

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
        """Let the learner know the classes."""
        self._session = self._session.branch()
        self._learner.name_classes(classes.tolist())
        self.classes_ = classes

    def _taught(self, X: Any, y: Any, classes: ArrayLike | None) -> list[Outcome]:
        """Learn more rows, and settle the questions that their labels answer."""
        new = not hasattr(self, "_session")
        named = self.classes_ if self._trained else None
        if classes is not None:
            named = known_classes(classes)
        X, y = _labeled(self, X, y, named, reset=new, ensure_min_samples=0)
        if new:
            self._open(X)
        self._agree(classes)
        if not len(y):
            return []
        check_classification_targets(y)
        return self._learn(X, y)

    def _learn(self, X: Any, y: NDArray[Any]) -> list[Outcome]:
        """Rows and labels, in order; with a new learner, so that a refusal changes nothing."""
        strange = np.setdiff1d(y, self.classes_)
        if strange.size:
            raise ValueError(f"y: {shown(strange[0])} is not one of the classes {self.classes_}")
        self._session = self._session.branch()
        return taught(self._session, X, y, self._tickets(X), self._intercept)

    def _asked(self, X: Any, times: ArrayLike | None) -> list[Decision]:
        """Decide about rows, on a branch of the session."""
        when = None if times is None else validation.times(times, X.shape[0])
        self._session = self._session.branch(learns=False)
        model: Any = self._session.model
        found: list[Decision] = []
        for at, rows in blocks(self._learner, X, self._intercept):
            with _counted_from(at.start):
                said = model.ask_many(rows, None if when is None else when[at])
            found += [asked.decision for asked in said]
        return found


class _Filed(NamedTuple):
    """A learner in a pickle: its type, its state file, and the types of parts of one's own."""

    kind: type[Learner]
    data: bytes
    rules: tuple[type, ...]
    queries: tuple[type, ...]

    @classmethod
    def of(cls, learner: Learner) -> Self:
        """What a learner is in a pickle."""
        parts = learner.rule, learner.query
        inner = (getattr(part, "inner", part) for part in parts)
        rules, queries = ((type(a), type(b)) for a, b in zip(parts, inner, strict=True))
        return cls(type(learner), learner.to_bytes(), rules, queries)

    def learner(self) -> Learner:
        """The learner, or a :class:`~lasec.errors.StateError`."""
        return self.kind.from_bytes(self.data, rules=self.rules, queries=self.queries)

    def listen(self, listener: object) -> None:
        """Nothing is given up in a pickle."""


def blocks(learner: Learner, X: Any, intercept: bool) -> Iterator[tuple[slice, Any]]:
    """The rows of X as a learner takes them, with a column of ones where wanted.

    Where its rule is one for sparse rows, they are X as it is; else they are dense: whole, or by
    blocks if X is sparse.

    >>> import lasec
    >>> from scipy.sparse import csr_array
    >>> learner, X = lasec.LASEC(dimension=3), csr_array([[0.0, 2.0]])
    >>> [rows.tolist() for _, rows in blocks(learner, X, intercept=True)]
    [[[0.0, 2.0, 1.0]]]
    """
    count, d = X.shape
    if takes_pairs(learner.rule):
        yield from [(slice(0, count), X)] if count else []
        return
    sparse = not isinstance(X, np.ndarray)
    step = max(1, _BLOCK // max(1, d)) if sparse else max(1, count)
    for begin in range(0, count, step):
        part = X[begin : begin + step]
        rows = part.toarray() if sparse else part
        if intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        dense = validation.finite("X", np.ascontiguousarray(rows, dtype=np.float64))
        yield slice(begin, begin + len(dense)), dense


def taught(
    session: Session, X: Any, y: NDArray[Any], tickets: list[int], intercept: bool
) -> list[Outcome]:
    """Let the learner of a session learn rows, each as the answer to its ticket, or as a new row.

    A ticket of -1 is a row that was not asked about.

    >>> import lasec
    >>> session = Session(lasec.LASEC(dimension=2))
    >>> taught(session, np.ones((3, 2)), np.array([-1, -1, 1]), [-1, -1, -1], False)
    []
    >>> session.learner.rows, session.learner.updates
    (3, 2)
    """
    learner, told = session.learner, list[Outcome]()
    for at, rows in blocks(learner, X, intercept):
        end = 0
        for asked, group in groupby(ticket >= 0 for ticket in tickets[at]):
            begin, end = end, end + len([*group])
            part = slice(at.start + begin, at.start + end)
            if asked:
                answers = zip(tickets[part], y[part].tolist(), strict=True)
                told += [session.model.tell(ticket, label) for ticket, label in answers]
            else:
                with _counted_from(part.start):
                    learner.learn_many(rows[begin:end], y[part])
    return told


@contextmanager
def _counted_from(before: int) -> Iterator[None]:
    """An error about rows says where they begin, since they are counted from there."""
    try:
        yield
    except ValueError as error:
        if before == 0:
            raise
        raise ValueError(f"counted from row {before} on, {error}") from error
