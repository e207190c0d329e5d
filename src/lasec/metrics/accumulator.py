"""The sums of a meter and its open questions: rounds come in, then their answers or losses.

All arguments are arrays that were checked before: a :class:`~lasec.Meter` does that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import sums
from lasec.metrics.panes import Panes
from lasec.parameters import Range, number
from lasec.state import Arrays

Array = NDArray[np.float64]

LAST = 2**53  # tickets are summed up among floats
_COUNTERS = ("rounds", "blind", "asked", "labels", "lost", "ignored")
_COUNTS = Range(0, 2**62)


class Question(NamedTuple):
    """An open question: its round (from 0), what was predicted, q, and the share answered then."""

    round: int
    label: float
    probability: float
    propensity: float
    share: float


class Accumulator:
    """Panes of sums, the open questions, and counters.

    ``rounds`` were added, ``blind`` of them with propensity 0; ``asked`` questions are the
    ``labels``, the ``lost``, and the open ones. ``ignored`` answers had no open question. ``last``
    is the last ticket.

    >>> sums_ = Accumulator(window=100, decay=None)
    >>> sums_.add(np.array([[1.0, 0.6, 0.5, 1.0, 7.0]]), p=np.array([0.8]))
    >>> sums_.answer([(7, -1.0, 1)], patience=None)
    >>> sums_.labels, sums_.last
    (1, 7)
    """

    def __init__(self, window: int | None, decay: float | None) -> None:
        self.panes = Panes(window, decay)
        self.questions: dict[int, Question] = {}
        self.last = -1
        self.rounds = self.blind = self.asked = self.labels = self.lost = self.ignored = 0
        # The weights 1/q of all that was answered and lost, and the share answered as of the chunk.
        self._answered = self._gone = 0.0
        self._share = 1.0

    def begin_chunk(self) -> None:
        """Take the share of answers so far for that of the rounds to come."""
        weights = self._answered + self._gone
        self._share = self._answered / weights if self._answered > 0.0 else 1.0

    def add(self, columns: Array, p: Array, y: Array | None = None) -> None:
        """Add rounds (label, margin, propensity, asked, ticket); with ``y`` the asked are answered.

        ``p`` is P(y = +1) of each, as the model has it.
        """
        label, _, q, asked, ticket = columns.T
        rounds = self.rounds + np.arange(q.size)
        panes = rounds // self.panes.size
        ends = np.flatnonzero(np.diff(panes, append=-1))
        for end, count in zip(ends, np.diff(ends, prepend=-1), strict=True):
            self.panes.enter(int(panes[end]), int(count), int(ticket[end]) + 1)
        parts = [sums.of_rounds(p, q, q * self._share, loss=loss) for loss in (False, True)]
        self.panes.add(sums.gathered(panes, label, *parts))
        self.rounds += q.size
        self.last = int(ticket[-1])
        self.blind += int((q == 0.0).sum())
        chosen = np.flatnonzero(asked)
        self.asked += chosen.size
        if y is not None:
            self._learn(rounds[chosen], label[chosen], p[chosen], q[chosen], y[chosen], self._share)
            return
        columns_of = (a[chosen].tolist() for a in (ticket, rounds, label, p, q))
        for place, *rest in zip(*columns_of, [self._share] * chosen.size, strict=True):
            self.questions[int(place)] = Question(*rest)
            self.panes.wait(rest[0] // self.panes.size, 1)

    def answer(self, answers: list[tuple[int, float, int]], patience: int | None) -> None:
        """Add answers: ticket, label, and how many rounds had been when it came."""
        found, labels, late = [], [], []
        for ticket, y, now in answers:
            question = self.questions.pop(ticket, None)
            if question is None:
                self.ignored += 1
            elif patience is not None and now - question.round - 1 > patience:
                self.ignored += 1
                late.append(question)
            else:
                found.append(question)
                labels.append(y)
        if found:
            rounds, label, p, q, share = np.array(found).T
            self._learn(rounds.astype(np.int64), label, p, q, np.array(labels), share)
            for question in found:
                self.panes.wait(question.round // self.panes.size, -1)
        self._forget(late)

    def expire(self, before: int) -> None:
        """Give up the questions of rounds that are too long ago."""
        late = []
        for ticket, question in self.questions.items():
            if question.round >= before:
                break
            late.append(ticket)
        self._forget(self.questions.pop(ticket) for ticket in late)

    def cancel(self, ticket: int) -> None:
        """Give up a question; a ticket without an open one is ignored."""
        question = self.questions.pop(ticket, None)
        if question is None:
            self.ignored += 1
        else:
            self._forget([question])

    def _learn(
        self, rounds: NDArray[np.int64], label: Array, p: Array, q: Array, y: Array, share: Any
    ) -> None:
        """Add the answers of these rounds to their panes."""
        parts = [sums.of_answers(p, q, q * share, y, loss=loss) for loss in (False, True)]
        self.panes.add(sums.gathered(rounds // self.panes.size, label, *parts))
        self.labels += y.size
        self._answered += float((1.0 / q).sum())

    def _forget(self, questions: Iterable[Question]) -> None:
        """Count questions as lost."""
        gone = list(questions)
        if not gone:
            return
        rounds, label, _, q, _ = np.array(gone).T
        rows = sums.of_losses(q)
        panes = rounds.astype(np.int64) // self.panes.size
        self.panes.add(sums.gathered(panes, label, rows, rows))
        for pane in panes.tolist():
            self.panes.wait(pane, -1)
        self.lost += len(gone)
        self._gone += float((1.0 / q).sum())

    def header(self) -> dict[str, Any]:
        """What a saved file has in its header."""
        return {
            "counters": {name: getattr(self, name) for name in _COUNTERS},
            "last": self.last,
            "settled": [self.panes.settled, self.panes.until],
            "weights": [self._answered, self._gone, self._share],
            "panes": self.panes.counts(),
        }

    def arrays(self) -> Arrays:
        """What a saved file has for arrays."""
        questions = [list(question) for question in self.questions.values()]
        return {
            **self.panes.arrays(),
            "tickets": np.array(list(self.questions), dtype=np.int64),
            "questions": np.array(questions, dtype=np.float64).reshape(-1, len(Question._fields)),
        }

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take back what :meth:`header` and :meth:`arrays` gave."""
        for name in _COUNTERS:
            setattr(self, name, number(name, header["counters"][name], int, _COUNTS))
        self.last = number("last", header["last"], int, Range(-1, LAST))
        answered, gone, share = header["weights"]
        self._answered = number("weights", answered, float, Range(0.0, sums.LARGEST))
        self._gone = number("weights", gone, float, Range(0.0, sums.LARGEST))
        self._share = number("weights", share, float, Range(sums.SMALLEST, 1.0))
        self.questions = _questions(arrays["tickets"], arrays["questions"])
        self.panes.restore(arrays, header["settled"], header["panes"], self.rounds)
        self._check()

    def _check(self) -> None:
        """Raise an error where the parts contradict each other."""
        panes, rounds = self.panes, [question.round for question in self.questions.values()]
        opened = Counter(number // panes.size for number in rounds)
        if opened != {n: pane.open for n, pane in panes.waiting.items() if pane.open}:
            raise ValueError("the open questions are not those of the panes")
        if (
            (rounds and rounds[-1] >= self.rounds)
            or max(self.questions, default=-1) > self.last
            or panes.latest > self.last + 1
            or self.last + 1 < self.rounds
            or self.asked + self.blind > self.rounds
            or self.asked != self.labels + self.lost + len(rounds)
        ):
            raise ValueError("the counters contradict each other")


def _questions(tickets: NDArray[Any], table: NDArray[Any]) -> dict[int, Question]:
    """The open questions, as a meter would have written them: in the order of their rounds."""
    width = len(Question._fields)
    if tickets.dtype != np.int64 or table.dtype != np.float64 or tickets.ndim != 1:
        raise ValueError("the open questions are not numbers of the right kind")
    if table.shape != (tickets.size, width) or not np.isfinite(table).all():
        raise ValueError("the open questions have not the shape of a meter's, or hold NaN")
    rounds, label, probability, propensity, share = table.T
    if not (
        (np.diff(tickets, prepend=-1) > 0).all()
        and (np.diff(rounds, prepend=-1.0) > 0.0).all()
        and (rounds == np.floor(rounds)).all()
        and (np.abs(label) == 1.0).all()
        and ((probability >= sums.SURE[0]) & (probability <= sums.SURE[1])).all()
        and ((propensity >= sums.SMALLEST) & (propensity <= 1.0)).all()
        and ((share >= sums.SMALLEST) & (share <= 1.0)).all()
    ):
        raise ValueError("the open questions hold impossible numbers")
    rows = table.tolist()
    return {
        ticket: Question(int(row[0]), *row[1:])
        for ticket, row in zip(tickets.tolist(), rows, strict=True)
    }
