"""What a cheap judge knows: P(y | the model, the judge), learned from rows that experts saw, too.

Naive Bayes with a table of P(answer | class) is sure of itself wherever model and judge err
together. So its log-likelihood is one input of a small logistic regression over the classes c::

    score_c = w_0 log p_c + w_1 log T[c, z] + w_2 1[c = z] logit(confidence)

with p the model's probabilities and z the judge's answer. Its three weights have a Gaussian
posterior that is followed with one Newton step an expert's answer (the filter of West, Harrison and
Migon, *Dynamic generalized linear models and Bayesian forecasting*, JASA 80, 1985), and a random
walk, so that it is calibrated, and stays so when the judge changes. A judge who lies is turned
round by the table. That rows are chosen by p and z does not bias the weights, since both are
inputs; the table is weighted by one over the probability of the expert, and forgets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics.sums import SURE
from lasec.parameters import Range
from lasec.persistence.record import Count, NotNegative, Shape

Array = NDArray[np.float64]

MEMORY, PRIOR, TRUSTED = 200.0, 4.0, 0.75
WALK, WEIGHTS, LEAST_KNOWN = 0.004, (1.0, 0.8, 0.0), 1e-3
HEAVIEST, USELESS = 5.0, 0.02


class Noise(NamedTuple):
    """The class to learn for an answer, and the probability that it is wrong.

    >>> Noise(label=1, wrong=0.1).wrong
    0.1
    """

    label: int
    wrong: float


@dataclass
class Judge:
    """What is known of a judge by now, for classes by their numbers.

    >>> judge = Judge.of(classes=2)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(300):  # a judge that is right in nine of ten rows
    ...     y = int(rng.integers(2))
    ...     judge.learn(np.array([0.5, 0.5]), y if rng.random() < 0.9 else 1 - y, y)
    >>> judge.posterior(np.array([0.5, 0.5]), 1).round(1).tolist()
    [0.1, 0.9]
    """

    table: Annotated[Array, Shape("classes", "classes"), Range(0.0, 1e6)]
    mean: Annotated[Array, Shape(3)] = field(default_factory=lambda: np.array(WEIGHTS))
    cov: Annotated[Array, Shape(3, 3)] = field(default_factory=lambda: np.diag([0.1, 0.1, 0.1]))
    usual: NotNegative = 0.0  # the mean weight of an answer
    doubles: Count = 0
    _rates: Array | None = field(default=None, init=False)  # as long as the table stays

    @classmethod
    def of(cls, classes: int) -> Judge:
        """A judge of whom nothing is known, for so many classes."""
        return cls(np.zeros((classes, classes)))

    def validate(self) -> str:
        """Why this cannot be a judge; empty if it can."""
        values = np.linalg.eigvalsh(self.cov)
        sound = np.array_equal(self.cov, self.cov.T) and 0.0 < values[0] <= values[-1] < 1e6
        return "" if sound and np.abs(self.mean).max() < 1e6 else "the weights cannot be a judge's"

    def widen(self, classes: int) -> None:
        """Make room for more classes."""
        more = classes - len(self.table)
        if more > 0:
            self.table, self._rates = np.pad(self.table, [(0, more), (0, more)]), None

    @property
    def rates(self) -> Array:
        """P(answer | class): a row for each class, with a few labels of a usual judge before."""
        if self._rates is None:
            self._rates = self._counted()
        return self._rates

    def _counted(self) -> Array:
        count = len(self.table)
        prior = np.full((count, count), PRIOR * (1.0 - TRUSTED) / max(1, count - 1))
        np.fill_diagonal(prior, PRIOR * TRUSTED)
        whole = self.table + prior
        return np.asarray(whole / whole.sum(axis=1, keepdims=True))

    def _inputs(self, p: Array, answer: int, confidence: float | None) -> Array:
        """The three inputs of each class."""
        made = np.zeros((len(p), len(WEIGHTS)))
        made[:, 0] = np.log(np.clip(p, LEAST_KNOWN, None))
        made[:, 1] = np.log(self.rates[:, answer])
        if confidence is not None:
            sure = min(max(confidence, SURE[0]), SURE[1])
            made[answer, 2] = math.log(sure / (1.0 - sure))
        return made

    def posterior(self, p: Array, answer: int | None, confidence: float | None = None) -> Array:
        """The probabilities of the classes with what the judge said; None is no answer."""
        if answer is None:
            return p
        return _shares(self._inputs(p, answer, confidence) @ self.mean)

    def alone(self, p: Array) -> Array:
        """The probabilities without a judge, as sure of themselves as the weights make them."""
        return _shares(self.mean[0] * np.log(np.clip(p, LEAST_KNOWN, None)))

    def learn(
        self, p: Array, answer: int, true: int, confidence: float | None = None,
        weight: float = 1.0,
    ) -> None:  # fmt: skip
        """An expert says which class is true, who was asked with one over ``weight``."""
        inputs = self._inputs(p, answer, confidence)
        said = _shares(inputs @ self.mean)
        middle = said @ inputs
        spread = (inputs - middle).T @ ((inputs - middle) * said[:, None])
        self.cov += WALK * np.eye(len(WEIGHTS))
        after = np.asarray(np.linalg.solve(np.eye(len(WEIGHTS)) + self.cov @ spread, self.cov))
        self.cov = np.add(after, after.T) / 2.0
        self.mean = self.mean + self.cov @ (inputs[true] - middle)
        self.doubles += 1
        self.usual += (weight - self.usual) / min(self.doubles, MEMORY)
        self.table *= 1.0 - 1.0 / MEMORY
        self.table[true, answer] += min(weight / self.usual, HEAVIEST)
        self._rates = None

    def noise(self, answer: int) -> Noise | None:
        """What to learn from an answer; None where it says nothing of the class.

        Of two classes, the answer of a judge who is mostly wrong is the other class.

        >>> Judge.of(classes=2).noise(1)
        Noise(label=1, wrong=0.25)
        """
        rates, count = self.rates, len(self.table)
        right = float(rates[answer, answer])
        others = float(rates[:, answer].sum()) - right
        wrong = others / (right + others)
        even = 1.0 - 1.0 / count
        if abs(wrong - even) < USELESS:
            return None
        if wrong < even:
            return Noise(answer, wrong)
        return Noise(1 - answer, 1.0 - wrong) if count == 2 else None


def _shares(score: Array) -> Array:
    """Probabilities of classes by their scores."""
    made = np.exp(score - score.max())
    return np.asarray(made / made.sum())
