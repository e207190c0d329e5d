"""The confusion matrix of all rows, and what is made of it, from the few labels that were queried.

Of the rows predicted k the number n_k is known, and how their true classes are shared is not. With
the weights 1/q of the queried labels, N_kj = n_k W_kj / W_k, where W_kj is the sum of the weights
of the labels j among them and W_k that of all labels among them (a ratio estimate, stratified by
the prediction). Labels that are lost, or still out, at random, only make it less precise.

Precision, recall, F1, their averages over classes and costs are functions of N. Queries are drawn
independently, so the variance of f(N) is, to first order (Sarndal, Swensson and Wretman, *Model
Assisted Survey Sampling*, 1992, sections 5.5 and 7.6)::

    sum over the labels of (1 - q)/q^2 (n_k / W_k)^2 (f_kj - mean of f_k. under N_k.)^2

where f_kj is the derivative of f: a sum over cells, so that a cell keeps three numbers. Intervals
(:mod:`lasec.metrics.proportion`) have Satterthwaite's degrees of freedom, and hold where a class is
rare.

Where a cheap judge stands before the experts, asked with q, and they with q_2 after its answer, the
weights of a row are its P(j | model, judge)/q, and those of an expert's label j' beside them
(1[j = j'] - P(j))/(q q_2): W_k is then the sum of 1/q over the rows that were judged. The variance
is that of both draws::

    sum over the labels of 1/(q q_2) times
    (1 - q)/q (f_kj - mean)^2 + (1 - q_2)/(q q_2) (f_kj - f_k. P)^2

which is no sum over cells; ``nested`` has, for each prediction, what makes it one of ``spread``.

Rows of a prediction without any label are taken to be as often right as all others, with the
variance of one label that speaks for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.metrics.estimate import Estimate
from lasec.metrics.means import degrees
from lasec.metrics.proportion import interval, lacking
from lasec.parameters import LARGEST, Range
from lasec.persistence.record import Shape

Array = NDArray[np.float64]
Whole = NDArray[Any]
Cells = Annotated[Array, Shape("classes", "classes"), Range(0.0, LARGEST)]
Nested = Annotated[Array, Shape("judged", "judged", "judged"), Range(-LARGEST, LARGEST)]

TINY, FEW = 1e-300, 10.0
NOTHING: Array = np.zeros((0, 0, 0))


class Confusion(NamedTuple):
    """Sums over rows and over labels, by predicted and true class: those of disjoint rows add up.

    ``rows`` are the rows of each predicted class, ``labels`` the labels by predicted (first axis)
    and true class, ``weights`` their 1/q, ``spread`` their (1 - q)/q^2; ``nested`` is empty as long
    as there is no judge. Classes are numbered from 0.

    >>> table = Confusion.of_rows(np.array([0, 0, 0, 1]), classes=2)
    >>> table += Confusion.of_labels([0, 0, 1], [0, 1, 1], [1.0, 0.5, 1.0], classes=2)
    >>> table.cells.tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    >>> table.estimate("recall", positive=1).value
    0.3333333333333333
    """

    rows: Annotated[Array, Shape("classes"), Range(0.0, LARGEST)]
    labels: Cells
    weights: Annotated[Array, Shape("classes", "classes"), Range(-LARGEST, LARGEST)]
    spread: Cells
    nested: Nested = NOTHING

    @classmethod
    def none(cls, classes: int) -> Confusion:
        """No rows yet."""
        return cls(np.zeros(classes), *np.zeros((3, classes, classes)))

    @classmethod
    def of_rows(cls, predicted: Whole, classes: int) -> Confusion:
        """Rows with these predictions, whose labels may come later.

        >>> Confusion.of_rows(np.array([0, 2, 2]), classes=3).rows.tolist()
        [1.0, 0.0, 2.0]
        """
        made = cls.none(classes)
        return made._replace(rows=np.bincount(predicted, minlength=classes).astype(np.float64))

    @classmethod
    def of_labels(
        cls, predicted: ArrayLike, true: ArrayLike, propensity: ArrayLike, classes: int
    ) -> Confusion:
        """Labels that have come, with the predictions and propensities of their rows.

        >>> Confusion.of_labels([0], [1], [0.25], classes=2).weights.tolist()
        [[0.0, 4.0], [0.0, 0.0]]
        """
        q = np.asarray(propensity, dtype=np.float64)
        cell = np.asarray(predicted) * classes + np.asarray(true)
        kept = (np.ones_like(q), 1.0 / q, (1.0 - q) / q**2)
        sums: list[Array] = [np.bincount(cell, w, classes**2).astype(np.float64) for w in kept]
        return cls(np.zeros(classes), *(total.reshape(classes, classes) for total in sums))

    @classmethod
    def of_judged(cls, predicted: int, after: Array, q: float) -> Confusion:
        """What a judge, asked with ``q``, said of a row: ``after`` are the probabilities then.

        >>> Confusion.of_judged(0, np.array([0.9, 0.1]), 0.5).weights.tolist()
        [[1.8, 0.2], [0.0, 0.0]]
        """
        made = cls.none(len(after))
        made.weights[predicted] = after / q
        return made

    @classmethod
    def of_expert(
        cls, predicted: int, true: int, after: Array, q: float, second: float
    ) -> Confusion:
        """The label of an expert, asked with ``second`` after the judge.

        >>> made = Confusion.of_judged(0, np.array([0.9, 0.1]), 0.5)
        >>> made += Confusion.of_expert(0, 1, np.array([0.9, 0.1]), 0.5, 1.0)
        >>> made.weights[0].tolist(), made.labels[0].tolist()
        ([0.0, 2.0], [0.0, 1.0])
        """
        made, whole = cls.none(len(after)), q * second
        off = -after
        off[true] += 1.0
        made.labels[predicted, true] = 1.0
        made.weights[predicted] = off / whole
        made.spread[predicted, true] = (1.0 - whole) / whole**2
        nested = np.zeros((len(after),) * 3)
        nested[predicted] = (1.0 - second) / whole**2 * np.outer(off, off)
        nested[predicted, true, true] += ((1.0 - q) / q - (1.0 - whole) / whole) / whole
        return made._replace(nested=nested)

    def __add__(self, other: Any) -> Confusion:
        few = max(len(self.rows), len(other.rows))
        mine, its = self.widened(few), other.widened(few)
        if mine.nested.size != its.nested.size:
            room = np.zeros((few, few, few))
            mine, its = (
                t._replace(nested=t.nested if t.nested.size else room) for t in (mine, its)
            )
        return Confusion(*(a + b for a, b in zip(mine, its, strict=True)))

    def widened(self, classes: int) -> Confusion:
        """The same with places for more classes.

        >>> Confusion.none(2).widened(3).labels.shape
        (3, 3)
        """
        more = classes - len(self.rows)
        if not more:
            return self
        wide = [(0, more)]
        made = Confusion(*(np.pad(sums, wide * sums.ndim) for sums in self[:-1]))
        return made._replace(nested=np.pad(self.nested, wide * 3)) if self.nested.size else made

    def without(self, other: Confusion) -> Confusion:
        """What has come since it was like the ``other``.

        >>> table = Confusion.of_rows(np.array([0, 0, 1]), classes=2)
        >>> table.without(Confusion.of_rows(np.array([0]), classes=2)).rows.tolist()
        [1.0, 1.0]
        """
        return self + Confusion(*(-sums for sums in other))

    def ordered(self, places: Whole, classes: int) -> Confusion:
        """The same with each class at another place; one whose place is below 0 is left out.

        >>> table = Confusion.of_rows(np.array([0, 0, 1, 2]), classes=3)
        >>> table.ordered(np.array([1, 0, -1]), classes=2).rows.tolist()
        [1.0, 2.0]
        """
        kept, made = np.flatnonzero(places >= 0), list[Array]()
        for sums in self:
            made.append(np.zeros((classes,) * sums.ndim if sums.size else (0,) * sums.ndim))
            if sums.size:
                to, of = ([at[kept]] * sums.ndim for at in (places, np.arange(len(places))))
                made[-1][np.ix_(*to)] = sums[np.ix_(*of)]
        return Confusion(*made)

    @property
    def cells(self) -> Array:
        """The estimated number of rows of each predicted (first axis) and true class."""
        return self.rows[:, None] * self._shares

    def estimate(
        self, metric: str, *, positive: int = 1, costs: Array | None = None, level: float = 0.95
    ) -> Estimate:
        """A metric with its interval; NaN where it is 0/0.

        ``metric`` is "precision", "recall" or "f1" of the class ``positive``; "macro_precision",
        "macro_recall" or "macro_f1", the means over all classes; "balanced_accuracy", which is the
        mean recall; or "cost", by the ``costs`` of each predicted (first axis) and true class.
        The accuracy is estimated by a :class:`~lasec.Meter`.

        >>> rng = np.random.default_rng(0)
        >>> true = rng.integers(0, 3, 3_000)
        >>> predicted = np.where(rng.random(3_000) < 0.2, 0, true)
        >>> asked = rng.random(3_000) < 0.1
        >>> table = Confusion.of_rows(predicted, classes=3)
        >>> table += Confusion.of_labels(predicted[asked], true[asked], [0.1] * asked.sum(), 3)
        >>> found = table.estimate("balanced_accuracy")
        >>> f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
        '0.87 (0.84 to 0.90)'
        """
        if metric not in (*METRICS, "cost"):
            raise ValueError(f"metric must be one of {', '.join(METRICS)} or cost, got {metric!r}")
        if metric == "cost":
            return self._cost(costs, level)
        found = METRICS[metric](self.cells, positive)
        return self._mean([part for part in found if not math.isnan(part.value)], level)

    def _cost(self, costs: Array | None, level: float) -> Estimate:
        """The mean cost of a row: a share of what lies between the least and the most."""
        if costs is None:
            raise ValueError('costs: "cost" needs the cost of each predicted and true class')
        least, most = float(np.min(costs)), float(np.max(costs))
        span = max(most - least, TINY)
        total = max(float(self.rows.sum()), TINY)
        slope = (np.asarray(costs) - least) / span / total
        every = np.ones(slope.shape, dtype=np.bool_)
        found = self._mean([Part(float((slope * self.cells).sum()), slope, every)], level)
        value, low, high = (least + span * end for end in found[:3])
        return found._replace(value=value, low=low, high=high)

    def _mean(self, parts: list[Part], level: float) -> Estimate:
        """The mean of some shares, with its interval."""
        labels, value, ends = round(float(self.labels.sum())), math.nan, (0.0, 1.0)
        if labels and parts:
            value = float(np.mean([part.value for part in parts]))
            variance = self._variance(np.mean([part.slope for part in parts], axis=0))
            variance += sum(map(self._unspoken, parts)) / len(parts) ** 2
            heard = float(self.labels[np.any([part.base for part in parts], axis=0)].sum())
            free = self._freedom(np.mean([part.slope for part in parts], axis=0))
            ends = interval(value, variance, heard, level, free)
        return Estimate(value, *ends, round(float(self.rows.sum())), labels, 0)

    @property
    def _shares(self) -> Array:
        """How the true classes are shared for each prediction; a guess where there is no label."""
        total = self.weights.sum(axis=1, keepdims=True)
        known = self.weights / np.where(total > 0.0, total, 1.0)
        if self.nested.size:  # where few experts have answered, a share can come out below 0
            known = np.maximum(known, 0.0)
            known /= np.maximum(known.sum(axis=1, keepdims=True), TINY)
        return np.where(total > 0.0, known, self._guess)

    @property
    def _spread(self) -> Array:
        """``spread``, with q times the share of the queries that was answered in the place of q."""
        answered = self.weights.sum(axis=1, keepdims=True) / np.maximum(self.rows, 1.0)[:, None]
        lost: Array = np.maximum(1.0 - answered, 0.0)
        return self.spread + lost * self.weights

    @property
    def _guess(self) -> Array:
        """For rows of a prediction without a label: as often right as all others."""
        count, total = len(self.rows), self.weights.sum()
        right = np.trace(self.weights) / total if total > 0.0 else 0.5
        return np.where(np.eye(count) > 0.0, right, (1.0 - right) / max(1, count - 1))

    def _variance(self, slope: Array) -> float:
        """The variance of a metric with these derivatives by the cells.

        Few labels of a prediction may agree by chance: beside them counts what one more label, of
        the guess, would say.
        """
        shares, spread = self._shares, self._spread
        heard, total = self.labels.sum(axis=1), self.weights.sum(axis=1)
        scale = self.rows / np.where(total > 0.0, total, 1.0)
        off = slope - (shares * slope).sum(axis=1, keepdims=True)
        seen = (spread * off**2).sum(axis=1)
        if self.nested.size:
            seen = np.maximum(seen + np.einsum("kij,ki,kj->k", self.nested, off, off), 0.0)
        seen *= scale**2 * heard / np.maximum(heard - 1.0, 1.0)
        mixed = (heard[:, None] * shares + self._guess) / (heard[:, None] + 1.0)
        off = slope - (mixed * slope).sum(axis=1, keepdims=True)
        relative = np.where(heard > 0.0, spread.sum(axis=1), 1.0)
        relative /= np.where(heard > 0.0, total, 1.0) ** 2
        guessed = (mixed * off**2).sum(axis=1) * self.rows**2 * relative
        trust = heard / (heard + FEW)
        return float((trust * seen + (1.0 - trust) * guessed).sum())

    def _freedom(self, slope: Array) -> float:
        """The degrees of freedom behind the variance: few where few labels make most of it."""
        total = self.weights.sum(axis=1, keepdims=True)
        off = slope - (self._shares * slope).sum(axis=1, keepdims=True)
        scale = self.rows[:, None] / np.where(total > 0.0, total, 1.0)
        terms = self._spread * (scale * off) ** 2
        return degrees(float(terms.sum()), float((terms**2 / np.maximum(self.labels, 1.0)).sum()))

    def _unspoken(self, part: Part) -> float:
        """What the variance of a share lacks where hardly a label spoke for it, or against it."""
        labels, total = self.labels[part.base], float(self.weights[part.base].sum())
        relative = float(self._spread[part.base].sum()) / total**2 if total > 0.0 else 1.0
        good = part.slope[part.base] > 0.0
        rarer = min(float(labels[good].sum()), float(labels[~good].sum()))
        variance = self._variance(part.slope)
        return lacking(part.value, variance, float(labels.sum()), rarer, relative)


class Part(NamedTuple):
    """A share with its derivatives by the cells, and the cells whose labels speak of it."""

    value: float
    slope: Array
    base: NDArray[np.bool_]


def _precision(cells: Array, positive: int) -> list[Part]:
    slope, base = np.zeros_like(cells), np.zeros(cells.shape, dtype=np.bool_)
    total = cells[positive].sum()
    slope[positive, positive] = 1.0 / max(total, TINY)
    base[positive] = True
    return [Part(_ratio(cells[positive, positive], total), slope, base)]


def _recall(cells: Array, positive: int) -> list[Part]:
    slope, base = np.zeros_like(cells), np.zeros(cells.shape, dtype=np.bool_)
    total = cells[:, positive].sum()
    value = _ratio(cells[positive, positive], total)
    slope[:, positive] = -value / max(total, TINY)
    slope[positive, positive] += 1.0 / max(total, TINY)
    base[:, positive] = True
    return [Part(value, slope, base)]


def _f1(cells: Array, positive: int) -> list[Part]:
    slope, base = np.zeros_like(cells), np.zeros(cells.shape, dtype=np.bool_)
    total = cells[positive].sum() + cells[:, positive].sum()
    value = _ratio(2.0 * cells[positive, positive], total)
    slope[:, positive] = -value / max(total, TINY)
    slope[positive, positive] += 2.0 / max(total, TINY)
    base[positive], base[:, positive] = True, True
    return [Part(value, slope, base)]


def _each(one: Callable[..., list[Part]]) -> Callable[..., list[Part]]:
    """The same for every class, of which the mean is taken where it is defined."""
    return lambda cells, positive: [part for k in range(len(cells)) for part in one(cells, k)]


def _ratio(part: float, total: float) -> float:
    return float(part / total) if total > 0.0 else math.nan


METRICS: dict[str, Callable[..., list[Part]]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "balanced_accuracy": _each(_recall),
    "macro_precision": _each(_precision),
    "macro_recall": _each(_recall),
    "macro_f1": _each(_f1),
}
