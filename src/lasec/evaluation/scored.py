"""The probabilities of a run against its labels, from which log-loss, calibration and others come.

Summing rows costs 2 microseconds a row where 1,600 are summed at once, and twenty times as much
where 50 are. So settled rows wait until there are 1,600 of them: always the same ones, however a
stream is cut into calls.

What a row predicts is the probability of the second of two classes, or of the class that was
predicted, of more. With two classes that is the probability of each of them; with more, only that
of the predicted class is known.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.evaluation.tally import Bin as Share
from lasec.evaluation.tally import Rows
from lasec.metrics import Estimate, Scores
from lasec.metrics.score_bins import Bin
from lasec.parameters import Range
from lasec.persistence.record import Shape

Array = NDArray[np.float64]

TOGETHER = 1_600
SCORES = ("average_precision", "log_loss", "brier", "calibration_error")
UNKNOWN, MANY = -1, -2


class Wait(IntEnum):
    """The columns of rows that wait to be summed.

    Labels are 1 for that class, 0 for another, and -1 for none. Before a model has a name for its
    second class, they are the number of the class and 2: which one it is shows in later rows.
    """

    PROBABILITY = 0
    PROPENSITY = 1
    HEARD = 2  # the queried label
    TRUE = 3  # the label, queried or not
    PLACE = 4  # the number of that class, if there are two: UNKNOWN or MANY where it has none


class Scored(NamedTuple):
    """Sums of settled rows from their queried labels (``heard``) and from all labels (``truth``).

    ``place`` is the number of the class whose probability it is, if there are two. The last rows,
    fewer than 1,600, ``wait``.

    >>> made = NOTHING.folded()
    >>> made.place, int(made.heard.bins.sum())
    (-1, 0)
    """

    heard: Scores
    truth: Scores
    place: Annotated[int, Range(MANY, 1)]
    wait: Annotated[Array, Shape(len(Wait), "rows")]

    def validate(self) -> str:
        """Why these are not the sums of a run; empty if they can be."""
        shares, labels = self.wait[: Wait.HEARD], self.wait[Wait.HEARD : Wait.PLACE]
        sound = (
            ((shares >= 0.0) & (shares <= 1.0)).all()
            and ((labels >= -1.0) & (labels == np.floor(labels))).all()
            and (self.wait[Wait.PROPENSITY, labels[0] >= 0.0] > 0.0).all()
            and np.isin(self.wait[Wait.PLACE], range(MANY, 2)).all()
            and len(self.heard.bins) == len(self.truth.bins) == 2
            and self.wait.shape[1] < TOGETHER
        )
        return "" if sound else "scored: impossible numbers"

    def add(self, rows: Rows, said: NDArray[np.int64], answered: NDArray[np.bool_]) -> Scored:
        """These and some more rows, with the classes that were said where they are answered."""
        made = self._replace(wait=np.concatenate([self.wait, waiting(rows, said, answered)], 1))
        while made.wait.shape[1] >= TOGETHER:
            rest = made.wait[:, TOGETHER:].copy()
            made = made._replace(wait=made.wait[:, :TOGETHER]).folded()._replace(wait=rest)
        return made

    def folded(self) -> Scored:
        """The same with all rows summed, for a look."""
        p, q, heard, true, places = self.wait
        place = _agreed({self.place, *np.unique(places).astype(int).tolist()})
        heard, true = (np.where(one < 2.0, one, one == 2.0 + place) for one in (heard, true))
        asked, known = heard >= 0.0, true >= 0.0
        ones = np.ones(int(known.sum()))
        return Scored(
            self.heard + Scores.of_rows(p, q) + Scores.of_labels(p[asked], heard[asked], q[asked]),
            self.truth + Scores.of_rows(p[known], ones)
            + Scores.of_labels(p[known], true[known], ones),
            place,
            self.wait[:, :0],
        )  # fmt: skip

    def looked_at(self, rest: Rows, classes: int) -> Scored:
        """All rows summed, also those that are not settled, of which the truth is known.

        Of two ``classes``, each is at its own place; of more, 1 is the predicted class and 0 any
        other.
        """
        none = np.zeros(rest.y.size, dtype=np.bool_)
        done = self.folded()
        late = NOTHING._replace(wait=waiting(rest, rest.true, none), place=done.place).folded()
        done = done._replace(truth=done.truth + late.truth)
        if classes > 2:
            return done._replace(place=MANY)
        if done.place != 0:
            return done
        heard, truth = (one._replace(bins=one.bins[::-1]) for one in (done.heard, done.truth))
        return done._replace(heard=heard, truth=truth)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that :meth:`rated` has: all where the probability of each class is known."""
        if not (self.rows or self.truth.bins.any()):
            return ()
        return SCORES if self.place in (0, 1) else SCORES[-1:]

    def rated(self, metric: str, place: int) -> tuple[Estimate, float]:
        """A metric from the queried labels, and from all."""
        if metric not in self.metrics:
            raise ValueError(f"metric: this run has no {metric}, see score_metrics")
        found, truth = (_estimated(one, metric, place) for one in (self.heard, self.truth))
        return found, truth.value

    @property
    def reliability(self) -> list[Share]:
        """Predicted probabilities against frequencies, in ten bins."""
        place = self.place if self.place in (0, 1) else 1
        heard, truth = (one.calibration(place).bins for one in (self.heard, self.truth))
        true = {one.low: one.observed.value for one in truth}
        return [
            Share(one.predicted, true.get(one.low, math.nan), found.rows, found.labels, found)
            for one in heard
            for found in [one.observed]
        ]

    @property
    def rows(self) -> int:
        """How many rows are in it."""
        summed = float(self.heard.bins[0, :, Bin.ROWS].sum())
        return round(summed) + int(self.wait.shape[1])


def waiting(rows: Rows, said: NDArray[np.int64], answered: NDArray[np.bool_]) -> Array:
    """The columns of some rows, as :class:`Wait` has them."""
    plus, named = rows.label > 0, rows.predicted >= 0
    made = np.empty((len(Wait), rows.y.size))
    made[Wait.PROBABILITY] = np.clip((1.0 + rows.margin) / 2.0, 0.0, 1.0)
    made[Wait.PROPENSITY] = rows.propensity
    truth = (Wait.TRUE, rows.true, rows.labeled)
    for column, label, known in ((Wait.HEARD, said, answered), truth):
        right = (label == rows.predicted) == plus
        made[column] = np.where(known, np.where(named, right, 2.0 + label), -1.0)
    place = np.where(plus, rows.predicted, 1 - rows.predicted)
    place[(place < 0) | (place > 1)] = MANY
    made[Wait.PLACE] = np.where(named, place, UNKNOWN)
    return made


def _estimated(scores: Scores, metric: str, place: int) -> Estimate:
    if metric == "average_precision":
        return scores.average_precision(place)
    if metric == "calibration_error":
        return scores.calibration().error
    return scores.log_loss() if metric == "log_loss" else scores.brier()


def _agreed(places: set[int]) -> int:
    """The one place that all rows speak of.

    >>> _agreed({UNKNOWN, 1}), _agreed({UNKNOWN}), _agreed({0, 1}), _agreed({MANY, 1})
    (1, -1, -2, -2)
    """
    known = places - {UNKNOWN}
    return known.pop() if len(known) == 1 else MANY if known else UNKNOWN


NOTHING = Scored(Scores.none(2), Scores.none(2), UNKNOWN, np.empty((len(Wait), 0)))
