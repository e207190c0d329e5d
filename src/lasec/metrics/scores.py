"""The metrics of predicted probabilities, from the few labels that were queried.

Log-loss and Brier score are means over rows (:mod:`lasec.metrics.losses`); average precision
(:mod:`lasec.metrics.average_precision`) and calibration (:mod:`lasec.metrics.calibration`) of a
class are made of the rows and labels in bins of its probability
(:mod:`lasec.metrics.score_bins`). Labels count with 1/q: those of hard rows, which are queried more
often, would otherwise count for more than their share. Labels that are lost, or still out, at
random, only make the estimates less precise. Labels that were not queried must not be added.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.metrics import average_precision, calibration, losses, score_bins
from lasec.metrics.calibration import Calibration
from lasec.metrics.estimate import Estimate
from lasec.metrics.losses import BRIER, EPSILON, LOG, Labels, Loss
from lasec.metrics.score_bins import SIZE, Bin
from lasec.metrics.sums import LARGEST
from lasec.parameters import Range
from lasec.persistence.record import Shape

Array = NDArray[np.float64]


class Scores(NamedTuple):
    """Sums over rows and over labels for the metrics of probabilities: disjoint rows add up.

    ``bins`` has the sums of :class:`~lasec.metrics.score_bins.Bin` by class and bin, ``losses``
    those of :class:`~lasec.metrics.losses.Loss` for log-loss and Brier score. Classes are numbered
    from 0. Probabilities are (rows, classes); of one dimension, they are those of class 1 of two.
    Memory is 23 kB a class, however many rows there are.

    >>> p, q = np.array([0.9, 0.2, 0.4, 0.1]), np.full(4, 0.5)
    >>> scores = Scores.of_rows(p, q)
    >>> scores += Scores.of_labels(p[:2], [1, 0], q[:2])
    >>> round(scores.log_loss().value, 2), scores.average_precision(1).value
    (0.21, 1.0)
    """

    bins: Annotated[Array, Shape("classes", SIZE, len(Bin)), Range(0.0, LARGEST)]
    losses: Annotated[Array, Shape(2, len(Loss))]

    @classmethod
    def none(cls, classes: int) -> Scores:
        """No rows yet."""
        return cls(np.zeros((classes, SIZE, len(Bin))), np.zeros((2, len(Loss))))

    @classmethod
    def of_rows(cls, probabilities: ArrayLike, propensity: ArrayLike) -> Scores:
        """Rows with these probabilities and propensities, whose labels may come later.

        >>> Scores.of_rows([[0.2, 0.5, 0.3]], [0.1]).bins[:, :, Bin.ROWS].sum(axis=1)
        array([1., 1., 1.])
        """
        p, q = _checked(probabilities, propensity)
        return cls(score_bins.of_rows(p, q), losses.of_rows(p, q))

    @classmethod
    def of_labels(
        cls, probabilities: ArrayLike, true: ArrayLike, propensity: ArrayLike
    ) -> Scores:  # fmt: skip
        """Labels that have come, with the probabilities and propensities of their rows.

        >>> Scores.of_labels([[0.2, 0.5, 0.3]], [2], [0.1]).bins[:, :, Bin.HITS].sum(axis=1)
        array([0., 0., 1.])
        """
        p, q = _checked(probabilities, propensity)
        if np.any(q <= 0.0):
            raise ValueError("propensity must be above 0 where there is a label")
        y = np.asarray(true, dtype=np.int64)
        return cls(score_bins.of_labels(p, y, q), losses.of_labels(p, y, q))

    def __add__(self, other: Any) -> Scores:
        few = max(len(self.bins), len(other.bins))
        mine, its = self.widened(few), other.widened(few)
        return Scores(mine.bins + its.bins, mine.losses + its.losses)

    def widened(self, classes: int) -> Scores:
        """The same with places for more classes, which had the probability 0 so far.

        >>> Scores.of_rows([0.3], [0.1]).widened(3).bins[:, :, Bin.ROWS].sum(axis=1)
        array([1., 1., 1.])
        """
        more = np.zeros((classes - len(self.bins), SIZE, len(Bin)))
        every = [Bin.ROWS, Bin.LABELS, Bin.WEIGHTS, Bin.SPREAD]
        more[:, 0, every] = self.bins[0].sum(axis=0)[every]
        return self._replace(bins=np.concatenate([self.bins, more]))

    def log_loss(self, level: float = 0.95) -> Estimate:
        """The mean of -log P(true class), with its interval.

        >>> p = np.linspace(0.1, 0.9, 9)
        >>> scores = Scores.of_rows(p, np.ones(9)) + Scores.of_labels(p, p > 0.5, np.ones(9))
        >>> round(scores.log_loss().value, 3)
        0.343
        """
        return losses.estimate(self.losses[LOG], self._labels, -math.log(EPSILON), level)

    def brier(self, level: float = 0.95) -> Estimate:
        """The Brier score, with its interval.

        It is the mean of the squared distance between the probabilities and the true class; with
        two classes half of that, as in scikit-learn: (1 - P(true class))^2.

        >>> p = np.linspace(0.1, 0.9, 9)
        >>> scores = Scores.of_rows(p, np.ones(9)) + Scores.of_labels(p, p > 0.5, np.ones(9))
        >>> round(scores.brier().value, 3)
        0.094
        """
        found = losses.estimate(self.losses[BRIER], self._labels, 2.0, level)
        if len(self.bins) > 2:
            return found
        value, low, high = (end / 2.0 for end in found[:3])
        return found._replace(value=value, low=low, high=high)

    def average_precision(self, positive: int = 1, level: float = 0.95) -> Estimate:
        """The average precision of a class, with its interval; NaN without a label of it.

        Rows are ranked by bins of the probability. With all labels that is within 0.01 of the
        exact ranking where the class has at least 100 rows, and mostly within 0.001.

        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(20_000) < 0.05
        >>> p = 1.0 / (1.0 + np.exp(4.0 - rng.normal(2.5 * y, 1.0)))
        >>> asked = rng.random(20_000) < 0.2
        >>> scores = Scores.of_rows(p, np.full(20_000, 0.2))
        >>> scores += Scores.of_labels(p[asked], y[asked], np.full(asked.sum(), 0.2))
        >>> found = scores.average_precision()
        >>> f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
        '0.70 (0.64 to 0.75)'
        """
        return average_precision.estimate(self.bins[positive], level)

    def calibration(self, positive: int = 1, bins: int = 10, level: float = 0.95) -> Calibration:
        """Predicted against observed shares of a class in bins, and the expected error.

        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(20_000)
        >>> y, asked = rng.random(20_000) < p**2, rng.random(20_000) < 0.1
        >>> scores = Scores.of_rows(p, np.full(20_000, 0.1))
        >>> scores += Scores.of_labels(p[asked], y[asked], np.full(asked.sum(), 0.1))
        >>> made = scores.calibration(bins=5)
        >>> [(round(one.predicted, 1), round(one.observed.value, 2)) for one in made.bins]
        [(0.1, 0.01), (0.3, 0.08), (0.5, 0.24), (0.7, 0.47), (0.9, 0.84)]
        >>> round(made.error.value, 2), made.error.low > 0.1
        (0.17, True)
        """
        return calibration.estimate(self.bins[positive], bins, level)

    @property
    def _labels(self) -> Labels:
        total = self.bins[0].sum(axis=0)
        kept = (Bin.ROWS, Bin.LABELS, Bin.WEIGHTS, Bin.SPREAD)
        return Labels(*(float(total[of]) for of in kept))


def _checked(probabilities: ArrayLike, propensity: ArrayLike) -> tuple[Array, Array]:
    """Probabilities by row and class, and propensities."""
    p, q = (np.asarray(given, dtype=np.float64) for given in (probabilities, propensity))
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    for name, values in (("probabilities", p), ("propensity", q)):
        if not np.all((values >= 0.0) & (values <= 1.0)):
            raise ValueError(f"{name} must be between 0 and 1")
    if p.shape[:1] != q.shape:
        raise ValueError(f"propensity must have a value for each of the {len(p)} rows")
    return p, q
