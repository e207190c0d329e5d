"""What the last labels were worth: the model as it is against the one before them.

A copy of the model is set aside, and from then on both predict; on the rows that are asked one sees
which of them is right. With d = 1 where only the present model is right, -1 where only the old one
is, and 0 elsewhere, the gain in accuracy over the n rounds since is estimated by::

    gain = (1/n) sum Z d / q,     variance (1/n^2) sum Z (1 - q) d^2 / q^2

which is unbiased because each row was asked with the known probability q. Where the gain is zero
within its interval, the labels bought nothing: ask less. Where it is large, the concept moves (or
the model is still young) and labels are worth their price.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lasec import guards, kernel
from lasec.alarms.waiting import Waiting
from lasec.learner import Learner
from lasec.metrics import Estimate
from lasec.parameters import Range, number
from lasec.types import Decision, Outcome


class Worth:
    """Watches what the last ``labels`` labels have gained.

    Every ``labels`` answers the old model is replaced by the present one; ``gains`` keeps the last
    finished estimates, the newest last, and ``gain`` is the newest. Rounds are judged in order,
    once no question before them is open; after ``patience`` rounds a question is given up.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(4_000, dimension=10, seed=1)
    >>> tracker = lasec.Tracker(rate=0.2, seed=0)
    >>> worth = Worth(tracker, labels=200)
    >>> for x, label in zip(X, y):
    ...     decision = tracker.ask(x)
    ...     worth.ask(decision, x)
    ...     if decision.asked:
    ...         worth.tell(tracker.tell(decision.ticket, int(label)))
    >>> [round(gain.value, 3) for gain in worth.gains]
    [0.459, -0.008, -0.002, 0.003]
    """

    def __init__(
        self, learner: Learner, labels: int = 200, keep: int = 100, patience: int = 10_000
    ) -> None:
        self.labels: int = number("labels", labels, int, Range(1, 10**9))
        self.gains: deque[Estimate] = deque(maxlen=number("keep", keep, int, Range(1, 10**6)))
        self._learner = learner
        self._waiting = Waiting(number("patience", patience, int, Range(1, 2**40)))
        self._before: dict[int, int] = {}
        self._begin(learner.rounds)

    @property
    def gain(self) -> Estimate | None:
        """The newest finished estimate: by how much the labels raised the accuracy."""
        return self.gains[-1] if self.gains else None

    def ask(self, decision: Decision, x: ArrayLike) -> None:
        """Take note of a round; call it with every decision, after the learner has made it."""
        if self._old is None:  # the learner has taken its dimension from this row
            self._begin(decision.ticket)
        self._waiting.ask(decision)
        if decision.asked:
            row = guards.row(x, self._learner.dimension, self._learner.precision.kind)
            out, now = np.empty(1), decision.ticket + 1
            kernel.engine.margins(self._learner.rule, self._old, row[None], now, out)
            self._before[decision.ticket] = 1 if out[0] >= 0.0 else -1
        self._advance()

    def tell(self, outcome: Outcome) -> None:
        """Take note of a label."""
        self._waiting.tell(outcome)
        self._advance()

    def _advance(self) -> None:
        """Judge the rounds before the oldest open question."""
        while (settled := self._waiting.next()) is not None:
            decision, wrong = settled
            then = self._before.pop(decision.ticket, 0)
            if decision.ticket < self._since:
                continue
            self._rounds += 1
            if wrong is not None:
                old_wrong = wrong != (then != decision.label)
                d, q = float(old_wrong) - float(wrong), decision.propensity
                self._told += 1
                self._sum += d / q
                self._square += (1.0 - q) * d * d / (q * q)
            if self._told >= self.labels:
                self._finish(decision.ticket + 1)

    def _finish(self, until: int) -> None:
        """Keep the estimate, and set the present model aside."""
        n = self._rounds
        value, half = self._sum / n, 1.96 * self._square**0.5 / n
        low, high = max(-1.0, value - half), min(1.0, value + half)
        self.gains.append(Estimate(value, low, high, n, self._told, until))
        self._begin(self._learner.rounds)

    def _begin(self, ticket: int) -> None:
        """Set the model aside as it is before the round ``ticket``."""
        learner = self._learner
        self._old: Any = None
        if learner.is_sized:
            self._old = type(learner.state)(*(array.copy() for array in learner.state))
        self._since = ticket
        self._rounds, self._told, self._sum, self._square = 0, 0, 0.0, 0.0
