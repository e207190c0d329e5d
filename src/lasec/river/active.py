"""Any River classifier, made selective."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from lasec.river.asking import Asking, Row, named
from lasec.selector import Selector
from lasec.session import AnyModel, Judged
from lasec.session.adapters import budget, judged_one
from lasec.types import Query


class ActiveClassifier(Asking, base.Wrapper, base.Classifier):  # type: ignore[type-arg]
    """Asks for a share ``rate`` of the labels of any River classifier or pipeline.

    Its margin is the largest probability less the second, and rows with a small one are asked more
    often. It is 0 while fewer than two classes are known, and for a classifier that gives no
    probabilities: then all rows are alike, and asked as if in full doubt. Every row has a known
    probability of being asked, so that ``meter.accuracy`` is an unbiased estimate over all rows.
    The same ``seed`` asks for the same rows. ``query`` is any query of :mod:`lasec.queries` to use
    instead of a ``rate``. Up to ``max_pending`` rows wait for their labels; then the oldest is
    given up, as is any after ``max_age`` rows.

    ``predict_one`` and ``predict_proba_one`` are those of the classifier, and ``learn_one`` lets it
    learn a label that came for free. Put it around the whole pipeline: then whatever comes before
    the classifier learns from the rows that were told.

    >>> from river import datasets, linear_model, preprocessing
    >>> from lasec.river import ActiveClassifier
    >>> pipeline = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = ActiveClassifier(pipeline, rate=0.2)
    >>> for x, y in datasets.Phishing():
    ...     decision = model.ask_one(x)
    ...     if decision.asked:
    ...         right = model.tell_one(decision.ticket, y)
    >>> model.meter
    Meter(window=1000, rows=1250, asked=..., labels=...)
    """

    def __init__(
        self,
        classifier: base.Classifier,
        rate: float = 0.1,
        *,
        query: Query | None = None,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        self.classifier = classifier
        self._open(rate, query, seed, max_pending, max_age)
        self._selector = Selector(budget(rate, self.query), seed=seed)
        model = AnyModel(
            self._judged, self._learn, self._selector, max_pending=max_pending, max_age=max_age,
            keep=dict,
        )  # fmt: skip
        self._stand(model)

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    @property
    def _multiclass(self) -> bool:
        return bool(self.classifier._multiclass)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, tree  # noqa: PLC0415

        yield {"classifier": linear_model.LogisticRegression()}
        yield {"classifier": tree.HoeffdingTreeClassifier(), "rate": 0.5}

    def learn_one(self, x: Row, y: Any, **kwargs: Any) -> None:
        """Learn a label that came for free; every one of them counts as a row."""
        self.classifier.learn_one(x, named(y), **kwargs)
        self._selector.skip(1)

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """The probabilities of the classifier."""
        return self.classifier.predict_proba_one(x, **kwargs)

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The prediction of the classifier: a plain label."""
        return self.classifier.predict_one(x, **kwargs)

    def _judged(self, x: Row) -> Judged:
        return judged_one(self.classifier, x)

    def _learn(self, x: Row, y: Any, ticket: int) -> None:
        self.classifier.learn_one(x, y)
