"""Models of other libraries, as a session takes them: by the methods they have, nothing imported.

A River classifier has ``predict_proba_one``, ``predict_one`` and ``learn_one``; a scikit-learn
classifier has ``predict_proba`` and ``partial_fit``. Anything else: give two functions to
:class:`~lasec.session.AnyModel`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lasec.queries import Budgeted
from lasec.selector import Selector, bvsb_margin
from lasec.session.models import AnyModel, Judged
from lasec.tracker import AUDIT
from lasec.types import Query


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
        A River classifier or pipeline, or a scikit-learn classifier with ``partial_fit`` and
        ``predict_proba``.
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
    part: Any = _River(model) if one else _Sklearn(model, classes)
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

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def judge(self, x: Any) -> Judged:
        return judged_one(self.classifier, x)

    def learn(self, x: Any, y: Any, ticket: int) -> None:
        self.classifier.learn_one(x, y)


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
    """A classifier that takes a matrix of rows."""

    def __init__(self, classifier: Any, classes: Sequence[Hashable]) -> None:
        if not (hasattr(classifier, "predict_proba") and hasattr(classifier, "partial_fit")):
            raise TypeError(
                "model: expected a River classifier, or a scikit-learn classifier with "
                f"predict_proba and partial_fit, got {type(classifier).__name__}"
            )
        self.classifier, self.classes = classifier, classes

    def judge(self, x: Any) -> Judged:
        if not hasattr(self.classifier, "classes_"):
            return Judged(None, 0.0, -1.0)
        likely = np.asarray(self.classifier.predict_proba([x]), dtype=float)[0]
        best = int(np.argmax(likely))
        label = self.classifier.classes_[best]
        return Judged(
            label, _known(bvsb_margin(likely.tolist())), _known(2.0 * float(likely[best]) - 1.0)
        )

    def learn(self, x: Any, y: Any, ticket: int) -> None:
        first = {} if hasattr(self.classifier, "classes_") else {"classes": list(self.classes)}
        self.classifier.partial_fit([x], [y], **first)


def _known(value: float) -> float:
    """The value itself, or 0 for NaN: nothing is known."""
    return 0.0 if math.isnan(value) else value
