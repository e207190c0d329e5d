"""The classifiers of the River face: the Tracker, LASEC, and any other rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from lasec import rules
from lasec.learner import class_margins, class_weights
from lasec.parameters import choice, shown
from lasec.river.asking import unboxed
from lasec.river.learning import NO_WEIGHTS, StreamClassifier
from lasec.tracker import AUDIT, AUDIT_WEIGHTED
from lasec.types import LearnFrom, Matrix, Query, Rule


class TrackerClassifier(StreamClassifier):
    """:class:`lasec.Tracker` for River: no drift, no scale and no aggressiveness to set.

    ``learn_one`` learns from every label. ``ask_one`` decides whether to ask for one, and holds a
    ``rate``; ``query`` is a query of :mod:`lasec.queries` to use instead. ``rule`` is another
    setting of the mixture. Features need no scaling; new ones may come at any time, up to
    ``max_features``, and missing ones are zero. ``dimension`` is the number of features, if it is
    known: with fewer in the first row, a Tracker that grows is not quite one that knew them all.
    ``labels`` are the classes that are known; others are added as they come. ``class_weight`` is
    None, "balanced" or what it costs to miss a row of each class, as in the Tracker: it changes
    predictions and queries. The probabilities mean what they say. Up to ``max_pending`` rows wait
    for their labels; then the oldest is given up, as is any after ``max_age`` rows.

    With ``columns``, such as 2**18, features are words: any number of them, whose names are hashed
    into so many columns by the rule of :class:`lasec.TextHasher`. Rows are never made dense, and
    the Tracker is that of sparse rows, whose ``rule`` is a :class:`lasec.rules.SparseTracking`.

    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import TrackerClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), TrackerClassifier(), metrics.Accuracy())
    Accuracy: 89.27%
    >>> from river.feature_extraction import BagOfWords
    >>> model = BagOfWords() | TrackerClassifier(columns=2**18, seed=0)
    >>> for text, y in [("win a free prize", "spam"), ("lunch at noon", "ham")] * 10:
    ...     model.learn_one(text, y)
    >>> model.predict_one("free lunch prize")
    'spam'
    """

    def __init__(
        self,
        rate: float = 0.1,
        *,
        query: Query | None = None,
        rule: rules.Tracking | rules.SparseTracking | None = None,
        columns: int | None = None,
        dimension: int = 0,
        labels: Sequence[Hashable] | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        max_features: int = 2_000,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        self.rule = rule
        self.columns = columns
        self.dimension = dimension
        self.labels = labels
        self.class_weight = class_weight
        self.max_features = max_features
        weighted, made = class_weight is not None, _tracking(rule, columns, dimension)
        named = weighted and class_weight != "balanced"
        if weighted:
            made = made._replace(weighted=True, balanced=not named)
        self._open(rate, query, seed, max_pending, max_age)
        self._begin(
            made, learn_from=LearnFrom.LABELS, intercept=False, most=max_features,
            dimension=dimension, labels=labels or (),
            weights=class_weights(class_weight) if named else NO_WEIGHTS, columns=columns,
            audit=AUDIT_WEIGHTED if weighted else AUDIT,
        )  # fmt: skip

    def _likely(self, rows: Matrix) -> Matrix:
        return self._learner.predict_proba(rows)


def _tracking(rule: Any, columns: int | None, dimension: int) -> Any:
    """The rule of a Tracker, for dense rows or for hashed ones."""
    kind = rules.Tracking if columns is None else rules.SparseTracking
    if columns is not None and dimension:
        raise ValueError("dimension: hashed rows have as many features as columns")
    if rule is not None and not isinstance(rule, kind):
        raise TypeError(f"rule: expected lasec.rules.{kind.__name__}(...), got {shown(rule)}")
    return rule or kind()


class RuleClassifier(StreamClassifier):
    """Any rule of :mod:`lasec.rules`, or of your own, for River.

    ``rule`` is by default a :class:`lasec.rules.SecondOrder`, the second-order perceptron.
    ``learn_from`` "mistakes" learns the labels that it would have missed, "labels" all of them, as
    :class:`lasec.rules.AROW` wants it. ``intercept`` adds a feature that is always 1. ``rate`` or
    ``query``, ``max_features``, ``seed``, ``max_pending`` and ``max_age`` are as in
    :class:`TrackerClassifier`.

    ``predict_proba_one`` gives probabilities where the margins of the rule are some. Others it maps
    by P = 1 / (1 + exp(-2 margin)), which rises with the margin and is a half at zero, and is not
    calibrated; with more than two classes, divided by their sum.

    >>> import lasec
    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import RuleClassifier
    >>> for rule, learn_from in (
    ...     (lasec.rules.Perceptron(), "mistakes"), (lasec.rules.AROW(), "labels")
    ... ):
    ...     model = RuleClassifier(rule, learn_from=learn_from)
    ...     evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 82.95%
    Accuracy: 89.67%
    """

    def __init__(
        self,
        rule: Rule[Any] | None = None,
        *,
        learn_from: LearnFrom | str = LearnFrom.MISTAKES,
        rate: float = 0.1,
        query: Query | None = None,
        intercept: bool = True,
        max_features: int = 2_000,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        self.rule = rule = unboxed(rule)
        self.learn_from = learn_from
        self.intercept = intercept
        self.max_features = max_features
        self._open(rate, query, seed, max_pending, max_age)
        self._begin(
            rules.SecondOrder() if rule is None else rule,
            learn_from=choice(LearnFrom, learn_from), intercept=intercept, most=max_features,
            dimension=0,
        )  # fmt: skip

    def _likely(self, rows: Matrix) -> Matrix:
        if self._learner.has_probabilities:
            return self._learner.predict_proba(rows)
        chances = (1.0 + np.tanh(class_margins(self._learner, rows))) / 2.0
        total = chances.sum(axis=1, keepdims=True)
        even = np.full_like(chances, 1.0 / chances.shape[1])
        shares: Matrix = np.divide(chances, total, out=even, where=total > 0.0)
        return shares


class LASECClassifier(RuleClassifier):
    """LASEC for River: second order, made for drift; see :class:`lasec.rules.SecondOrder`.

    It is a :class:`RuleClassifier` that learns from mistakes. ``drift`` is how much the concept
    moves from one update to the next, ``ridge`` how small weights are expected to be.

    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import LASECClassifier
    >>> model = LASECClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 82.71%
    """

    def __init__(
        self,
        drift: float = 0.01,
        ridge: float = 1.0,
        *,
        rate: float = 0.1,
        query: Query | None = None,
        intercept: bool = True,
        max_features: int = 2_000,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        super().__init__(
            rules.SecondOrder(drift, ridge), rate=rate, query=query, intercept=intercept,
            max_features=max_features, seed=seed, max_pending=max_pending, max_age=max_age,
        )  # fmt: skip
        self.drift = drift
        self.ridge = ridge
