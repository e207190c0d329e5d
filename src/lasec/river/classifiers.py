"""The classifiers of the River face: one for each rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from lasec import rules
from lasec.learner import class_weights
from lasec.parameters import shown
from lasec.river.learning import NO_WEIGHTS, StreamClassifier
from lasec.tracker import AUDIT, AUDIT_WEIGHTED
from lasec.types import LearnFrom, Matrix, Query, Rule


class TrackerClassifier(StreamClassifier):
    """:class:`lasec.Tracker` for River: no drift, no scale and no aggressiveness to set.

    ``learn_one`` learns from every label. ``ask_one`` decides whether to ask for one, and holds a
    ``rate``; ``query`` is a query of :mod:`lasec.queries` to use instead. ``rule`` is another
    setting of the mixture. Features need no scaling; new ones may come at any time, up to
    ``max_features``, and missing ones are zero. ``dimension`` is the number of features, if it is
    known: with fewer in the first row, a Tracker that grows is not quite one that knew them all
    (:mod:`lasec.rules.growth`). ``labels`` are the classes that are known; others are added as they
    come. ``class_weight`` is None, "balanced" or what it costs to miss a row of each class, as in
    the Tracker: it changes predictions and queries. The probabilities mean what they say. Up to
    ``max_pending`` rows wait for their labels; then the oldest is given up, as is any after
    ``max_age`` rows.

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
        self._open(rate, query, seed, max_pending, max_age, AUDIT_WEIGHTED if weighted else AUDIT)
        self._begin(
            made, learn_from=LearnFrom.LABELS, intercept=False, most=max_features,
            dimension=dimension, labels=labels or (),
            weights=class_weights(class_weight) if named else NO_WEIGHTS, columns=columns,
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


class MarginClassifier(StreamClassifier):
    """A rule whose margin is no probability.

    ``predict_proba_one`` maps it by P = 1 / (1 + exp(-2 margin)), which rises with the margin and
    is a half at zero, and is not calibrated; with more than two classes, divided by their sum.
    """

    _learns_from = LearnFrom.MISTAKES

    def _ready(
        self, rule: Rule[Any], rate: float, query: Query | None,
        intercept: bool, max_features: int, seed: int | None, max_pending: int,
        max_age: int | None,
    ) -> None:  # fmt: skip
        self.intercept = intercept
        self.max_features = max_features
        self._open(rate, query, seed, max_pending, max_age)
        self._begin(
            rule, learn_from=self._learns_from, intercept=intercept, most=max_features,
            dimension=0,
        )  # fmt: skip

    def _likely(self, rows: Matrix) -> Matrix:
        chances = (1.0 + np.tanh(self._learner.class_margins(rows))) / 2.0
        total = chances.sum(axis=1, keepdims=True)
        even = np.full_like(chances, 1.0 / chances.shape[1])
        shares: Matrix = np.divide(chances, total, out=even, where=total > 0.0)
        return shares


class LASECClassifier(MarginClassifier):
    """LASEC for River: second order, made for drift; see :class:`lasec.rules.SecondOrder`.

    It learns from the labels that it would have missed. ``rate`` or ``query``, ``max_features``,
    ``seed``, ``max_pending`` and ``max_age`` are as in :class:`TrackerClassifier`; ``intercept``
    adds a feature that is always 1.

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
        self.drift = drift
        self.ridge = ridge
        self._ready(
            rules.SecondOrder(drift, ridge), rate, query, intercept, max_features, seed,
            max_pending, max_age,
        )  # fmt: skip


class SOPClassifier(MarginClassifier):
    """The second-order perceptron for River: LASEC without drift.

    ``rate`` or ``query``, ``max_features``, ``seed``, ``max_pending`` and ``max_age`` are as in
    :class:`TrackerClassifier`; ``intercept`` adds a feature that is always 1.

    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import SOPClassifier
    >>> model = SOPClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.47%
    """

    def __init__(
        self,
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
        self.ridge = ridge
        self._ready(
            rules.SecondOrder(0.0, ridge), rate, query, intercept, max_features, seed,
            max_pending, max_age,
        )  # fmt: skip


class PerceptronClassifier(MarginClassifier):
    """The perceptron for River; see :class:`lasec.rules.Perceptron`.

    ``rate`` or ``query``, ``max_features``, ``seed``, ``max_pending`` and ``max_age`` are as in
    :class:`TrackerClassifier`; ``intercept`` adds a feature that is always 1.

    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import PerceptronClassifier
    >>> model = PerceptronClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 82.95%
    """

    def __init__(
        self,
        *,
        rate: float = 0.1,
        query: Query | None = None,
        intercept: bool = True,
        max_features: int = 2_000,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        self._ready(
            rules.Perceptron(), rate, query, intercept, max_features, seed, max_pending, max_age
        )


class AROWClassifier(MarginClassifier):
    """AROW for River, which learns from every label; see :class:`lasec.rules.AROW`.

    ``rate`` or ``query``, ``max_features``, ``seed``, ``max_pending`` and ``max_age`` are as in
    :class:`TrackerClassifier`; ``intercept`` adds a feature that is always 1.

    >>> from river import datasets, evaluate, metrics
    >>> from lasec.river import AROWClassifier
    >>> model = AROWClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.67%
    """

    _learns_from = LearnFrom.LABELS

    def __init__(
        self,
        noise: float = 1.0,
        *,
        rate: float = 0.1,
        query: Query | None = None,
        intercept: bool = True,
        max_features: int = 2_000,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: int | None = None,
    ) -> None:
        self.noise = noise
        self._ready(
            rules.AROW(noise), rate, query, intercept, max_features, seed, max_pending, max_age
        )
