"""The gain in accuracy by the last labels: the current model compared with an earlier copy.

A copy of the model is kept, and from then on both predict; the queried rows show which of them is
correct. With d = 1 where only the current model is correct, -1 where only the old one is, and 0
elsewhere, the mean of d over all rows since is estimated from d/q of the queried rows, which is
unbiased because each row was queried with the known probability q (:mod:`lasec.metrics.means`, with
0 for the guess). If 0 is in the confidence interval, the labels bought nothing measurable: lower
the budget. A large gain means that the concept moves, or that the model is still young.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lasec import kernel, sparse
from lasec.alarms import saved
from lasec.alarms.waiting import Waiting
from lasec.learner import Learner
from lasec.metrics import Estimate, means
from lasec.metrics.means import Sum
from lasec.metrics.sums import LARGEST
from lasec.metrics.totals import within
from lasec.parameters import Range, number
from lasec.persistence import codec
from lasec.persistence.container import Arrays
from lasec.types import Decision, Outcome, copied

_GUESS = np.zeros(1)


class LabelGain:
    """Estimates how much the last ``labels`` labels have raised the accuracy.

    Every ``labels`` answers the old model is replaced by the current one; ``gains`` keeps the last
    ``keep`` finished estimates, the newest last, and ``gain`` is the newest. Rows are judged in
    order, once no question before them is open; after ``patience`` rows a question is dropped.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(4_000, dimension=10, seed=1)
    >>> tracker = lasec.Tracker(rate=0.2, seed=0)
    >>> gain = LabelGain(tracker, labels=200)
    >>> for x, label in zip(X, y):
    ...     decision = tracker.ask(x)
    ...     gain.ask(decision, x)
    ...     if decision.asked:
    ...         gain.tell(tracker.tell(decision.ticket, int(label)))
    >>> [round(estimate.value, 3) for estimate in gain.gains]
    [0.462, 0.005, -0.002, -0.0]
    """

    KIND = "label-gain"
    PARAMETERS = ("labels", "keep", "patience")

    def __init__(
        self, learner: Learner, labels: int = 200, keep: int = 100, patience: int = 10_000
    ) -> None:
        self.labels: int = number("labels", labels, int, Range(1, 10**9))
        self.keep: int = number("keep", keep, int, Range(1, 10**6))
        self.patience: int = number("patience", patience, int, Range(1, 2**40))
        self.gains: deque[Estimate] = deque(maxlen=self.keep)
        self._learner = learner
        self._waiting = Waiting(self.patience)
        self._before: dict[int, int] = {}
        self._old: Any = None
        self._begin(learner.rows)

    @property
    def gain(self) -> Estimate | None:
        """The newest finished estimate of the gain in accuracy."""
        return self.gains[-1] if self.gains else None

    def ask(self, decision: Decision, x: ArrayLike) -> None:
        """Record the decision about a row; call it after the learner has made it."""
        if self._old is None:  # the learner has taken its dimension from this row
            self._begin(decision.ticket)
        self._waiting.ask(decision)
        if decision.asked:
            learner, now = self._learner, decision.ticket + 1
            kind = sparse.row_kind(learner.rule, learner.precision)
            row = sparse.row(x, learner.dimension, kind)
            chunk = sparse.SparseRows.of(row).arrays if kind.names else row[None]
            seen = kernel.engine.look(learner.rule, self._old, chunk, now)
            self._before[decision.ticket] = int(seen.label[0])
        self._advance()

    def tell(self, outcome: Outcome) -> None:
        """Record a label."""
        self._waiting.tell(outcome)
        self._advance()

    def cancel(self, ticket: int) -> None:
        """Record that a question will not be answered."""
        self._waiting.cancel(ticket)
        self._advance()

    def to_bytes(self) -> bytes:
        """All but the learner, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> tracker = lasec.Tracker(3, seed=0)
        >>> LabelGain.from_bytes(LabelGain(tracker, labels=50).to_bytes(), tracker).labels
        50
        """
        return saved.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes, learner: Learner) -> Self:
        """What :meth:`to_bytes` wrote, for the same learner, or a :class:`~lasec.StateError`."""
        return saved.from_bytes(data, cls.KIND, partial(cls, learner))

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        kept = {} if self._old is None else self._old._asdict()
        old = {f"old.{name}": array for name, array in kept.items()}
        before = np.array(list(self._before.items()), dtype=np.int64).reshape(-1, 2)
        arrays = {"waiting": self._waiting.table(), "before": before, "sums": self._sums}
        gains = np.array(self.gains, dtype=np.float64).reshape(-1, len(Estimate._fields))
        return {"since": self._since}, arrays | {"gains": gains} | old

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self._since = number("since", header["since"], int, Range(0, 2**53))
        self._waiting.restore(arrays["waiting"])
        before, self._sums, gains = (arrays[name] for name in ("before", "sums", "gains"))
        self._before = {int(ticket): int(sign) for ticket, sign in before}
        if self._sums.shape != (len(Sum),) or not (np.abs(self._sums) <= LARGEST).all():
            raise ValueError("sums: not those of a gain")
        if not np.isfinite(gains).all() or not set(self._before.values()) <= {-1, 1}:
            raise ValueError("gains: impossible numbers")
        for value, low, high, *counts in gains.tolist():
            self.gains.append(Estimate(value, low, high, *map(int, counts)))
        old = {name[4:]: array for name, array in arrays.items() if name.startswith("old.")}
        one, self._old = self._learner, None
        if old:
            self._old = codec.restore(one.rule, one.dimension, old, one.precision)

    def _advance(self) -> None:
        """Judge the rows before the oldest open question."""
        while (settled := self._waiting.next()) is not None:
            decision, wrong = settled
            then = self._before.pop(decision.ticket, 0)
            if decision.ticket < self._since:
                continue
            self._sums[Sum.ROUNDS] += 1.0
            if wrong is not None:
                old_wrong = wrong != (then != decision.label)
                d, q = np.array([old_wrong - float(wrong)]), np.array([decision.propensity])
                self._sums += means.of_answers(_GUESS, q, d)[:, 0]
            if self._sums[Sum.ANSWERS] >= self.labels:
                self._finish(decision.ticket + 1)

    def _finish(self, until: int) -> None:
        """Keep the estimate, and replace the old model by the current one."""
        found = means.mean(self._sums)
        low, high = within(found.interval(0.95), (-1.0, 1.0))
        rounds, labels = (round(float(self._sums[c])) for c in (Sum.ROUNDS, Sum.ANSWERS))
        self.gains.append(Estimate(found.value, low, high, rounds, labels, until))
        self._begin(self._learner.rows)

    def _begin(self, ticket: int) -> None:
        """Keep a copy of the model as it is before the row ``ticket``."""
        learner = self._learner
        self._old = None
        if learner.is_sized:
            self._old = copied(learner.state)
        self._since = ticket
        self._sums = np.zeros(len(Sum))
