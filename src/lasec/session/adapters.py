"""Models of other libraries, as a session takes them: by the methods they have, nothing imported.

A River classifier has ``predict_proba_one``, ``predict_one`` and ``learn_one``; a scikit-learn
classifier has ``partial_fit``, and ``predict_proba`` or ``decision_function``; a scikit-learn
pipeline has ``steps``. Anything else: give two functions to :class:`~lasec.session.AnyModel`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lasec.queries import Budgeted
from lasec.selector import Selector, bvsb_margin
from lasec.session.models import AnyModel, Judged, JudgedRows
from lasec.tracker import AUDIT
from lasec.types import Matrix, Query, Vector


def around(
    model: Any,
    *,
    classes: Sequence[Hashable] = (),
    rate: float = 0.1,
    query: Query | None = None,
    seed: int | None = None,
    max_pending: int = 10_000,
    max_age: int | None = None,
) -> AnyModel:
    """Put a label budget around a River or scikit-learn classifier, for use in a session.

    The smaller the lead of the best class over the second, the more likely the label is queried.

    Parameters
    ----------
    model
        A River classifier or pipeline: rows are dicts, or numbers, whose places are the names. Or a
        scikit-learn classifier with ``partial_fit``, alone or at the end of a ``Pipeline`` whose
        other steps have ``partial_fit`` or are fitted. Without ``predict_proba``, its
        ``decision_function`` says how certain it is.
    classes
        All classes, for a scikit-learn classifier that was not fitted; until its first label
        every row counts as fully uncertain.
    rate
        The label budget: the share of rows whose label is queried.
    query
        Any query of :mod:`lasec.queries`, instead of ``rate``.
    seed
        Random seed.
    max_pending
        Number of open questions; past it the oldest is dropped.
    max_age
        A question expires after so many rows.

    Examples
    --------
    >>> import lasec
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
    >>> model = SGDClassifier(loss="log_loss", random_state=0)
    >>> session = lasec.Session(around(model, classes=[-1, 1], rate=0.2, seed=0))
    >>> for x, label in zip(X, y):
    ...     decision = session.ask(x)
    ...     if decision.asked:
    ...         outcome = session.tell(decision.ticket, label)
    >>> session
    Session('any model', rows=1000, queried=213, open=0)
    """
    selector = Selector(budget(rate, query), seed=seed)
    one = hasattr(model, "predict_proba_one")
    part: Any = (_River if one else _Sklearn)(model, classes)
    limits: Any = {"max_pending": max_pending, "max_age": max_age}
    return AnyModel(part.judge, part.learn, selector, **limits)


def budget(rate: float, query: Query | None, audit: float = AUDIT) -> Query:
    """The query of a Tracker of this rate and audit, or a query of one's own.

    >>> budget(0.2, None).rate
    0.2
    """
    if query is None:
        return Budgeted(rate, audit=audit)
    if rate != 0.1:
        raise ValueError("query: it has a rate of its own, so give one or the other")
    return query


class _River:
    """A classifier or pipeline that takes one dict at a time."""

    def __init__(self, classifier: Any, classes: Sequence[Hashable]) -> None:
        self.classifier = classifier
        for label in classes:
            self._check(label)

    def judge(self, x: Any) -> Judged:
        return judged_one(self.classifier, _as_dict(x))

    def learn(self, x: Any, y: Any, ticket: int) -> None:
        self._check(y)
        self.classifier.learn_one(_as_dict(x), y)

    def _check(self, label: Any) -> None:
        """Refuse a label that a binary classifier of River fails at, or takes for another one."""
        if label not in (0, 1) and not getattr(self.classifier, "_multiclass", True):
            name = type(getattr(self.classifier, "_last_step", self.classifier)).__name__
            raise TypeError(
                f"label {label!r}: River's {name} takes only 0 and 1, or False and True: put it "
                "into river.multiclass.OneVsRestClassifier"
            )


def _as_dict(x: Any) -> Any:
    """A row as River takes it: numbers by their places, and anything else as it is.

    >>> _as_dict(np.array([0.5, 2.0])), _as_dict("a text")
    ({0: 0.5, 1: 2.0}, 'a text')
    """
    return dict(enumerate(np.asarray(x).tolist())) if isinstance(x, np.ndarray | list) else x


def judged_one(classifier: Any, x: Any) -> Judged:
    """What a River classifier says of a row.

    Its margin is 0 while fewer than two classes are known, and for a classifier that gives no
    probabilities: then all rows count as fully uncertain.
    """
    try:
        likely = classifier.predict_proba_one(x)
    except NotImplementedError:
        likely = {}
    label = classifier.predict_one(x)
    margin = _known(bvsb_margin([float(p) for p in likely.values()]))
    sure = -1.0 if label is None else _known(2.0 * float(likely.get(label, 0.5)) - 1.0)
    return Judged(label, margin, sure)


class _Sklearn:
    """A classifier that takes a matrix of rows, alone or at the end of a pipeline."""

    def __init__(self, model: Any, classes: Sequence[Hashable]) -> None:
        *before, self.classifier = [step for _, step in getattr(model, "steps", [("", model)])]
        self.steps = [step for step in before if hasattr(step, "transform")]  # no "passthrough"
        self.model, self.classes = model, classes
        self._check()

    def _check(self) -> None:
        """Refuse what cannot learn a row, or does not say how certain it is."""
        name, other = type(self.classifier).__name__, "give two functions to lasec.session.AnyModel"
        if not hasattr(self.classifier, "partial_fit"):
            raise TypeError(
                "model: expected a River classifier, or a scikit-learn classifier with "
                f"partial_fit, got {name}: use SGDClassifier, for example, or {other}"
            )
        if not any(hasattr(self.model, way) for way in ("predict_proba", "decision_function")):
            raise TypeError(
                f"model: {name} has neither predict_proba nor decision_function, which say how "
                f"certain it is: use a classifier that has one of them, or {other}"
            )
        for step in self.steps:
            if not (hasattr(step, "partial_fit") or _is_fitted(step)):
                raise TypeError(
                    f"model: the step {type(step).__name__} has no partial_fit: fit it on some "
                    "rows first"
                )

    def judge(self, x: Any) -> Judged:
        if not hasattr(self.model, "classes_"):
            return Judged(None, 0.0, -1.0)
        likely = hasattr(self.model, "predict_proba")
        score = self.model.predict_proba if likely else self.model.decision_function
        found = judged_rows(self.model.classes_, np.asarray(score([x]), float), likely=likely)
        margin, certainty = float(found.margin[0]), float(found.certainty[0])
        return Judged(found.label.tolist()[0], _known(margin), _known(certainty))

    def learn(self, x: Any, y: Any, ticket: int) -> None:
        first = {} if hasattr(self.classifier, "classes_") else {"classes": list(self.classes)}
        rows: Any = [x]
        for step in self.steps:
            if hasattr(step, "partial_fit"):
                step.partial_fit(rows)
            rows = step.transform(rows)
        self.classifier.partial_fit(rows, [y], **first)


def _is_fitted(step: Any) -> bool:
    """Whether a step of scikit-learn can transform rows as it is."""
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return True


def judged_rows(classes: Any, scores: Matrix | Vector, *, likely: bool) -> JudgedRows:
    """What the scores of a scikit-learn classifier say: probabilities where ``likely``, or margins.

    Margins are one for each class, or a single one for two classes.

    >>> judged_rows(np.array(["ham", "spam"]), np.array([[0.2, 0.8]]), likely=True).label.tolist()
    ['spam']
    >>> judged_rows(np.array(["ham", "spam"]), np.array([-0.5, 0.5]), likely=False).label.tolist()
    ['ham', 'spam']
    """
    if scores.ndim == 1:
        best, ahead = (scores > 0.0).astype(np.intp), scores
    else:
        best, lead = scores.argmax(axis=1), bvsb_margin(scores)
        ahead = lead if likely else lead / 2.0
    likely = likely and scores.ndim > 1
    sure = 2.0 * scores.max(axis=1) - 1.0 if likely else np.tanh(np.abs(ahead))
    return JudgedRows(classes[best], ahead, sure)


def _known(value: float) -> float:
    """The value itself, or 0 for NaN: nothing is known."""
    return 0.0 if math.isnan(value) else value
