"""The sums of a meter and its open questions: rows come in, then their answers or losses.

Consecutive rows share a pane, whose sums are one block (:mod:`lasec.metrics.sums`). Blocks are
additive, so an answer is added to the pane of its row whenever it comes. Panes settle in order,
when no question in them or before them is open: a row that was queried and not answered yet would
otherwise count like one that was not queried. What is settled is merged into the total and kept
for the window; so the memory is a constant, plus the panes that wait.

A pane that happens to hold no question settles a little sooner than one that does, which favors
rows that were not queried by about the weight of one label. With answers that come at once there is
no such effect.

A row without a prediction (its label is 0) is counted and adds to no sum; nothing waits for the
answer to its question.

All arguments are arrays that were checked before: a :class:`~lasec.Meter` does that.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import sums
from lasec.metrics.estimate import Over
from lasec.metrics.means import Scope
from lasec.metrics.sums import ALL, SHAPE, WIDTH, Column
from lasec.parameters import Range
from lasec.persistence.record import Count, NotNegative, Shape

Array = NDArray[np.float64]

PANES, PLAIN = 32, 256
LAST = 2**53  # tickets are summed up among floats
Share = Annotated[float, Range(sums.SMALLEST, 1.0)]
Block = Annotated[Array, Shape(*SHAPE)]


class Question(NamedTuple):
    """An open question: its row (from 0), what was predicted, q, and the share answered then.

    Once a judge has answered, ``second`` is the probability with which the expert was asked after
    it, and ``then`` P(y = +1) with what it said; before, they are 0 and ``probability``.
    """

    round: Count
    label: Annotated[float, Range(1.0, 1.0, also=(-1.0,))]
    probability: Annotated[float, Range(*sums.SURE)]
    propensity: Share
    share: Share
    second: Annotated[float, Range(0.0, 1.0)]
    then: Annotated[float, Range(*sums.SURE)]

    @property
    def weight(self) -> float:
        """One over the probability with which the expert was asked, as far as it is known."""
        return 1.0 / (self.propensity * (self.second or 1.0))


@dataclass(slots=True)
class Pane:
    """The block of consecutive rows, the ticket after the last, and how many questions are open."""

    until: Count = 0
    block: Block = field(default_factory=lambda: np.zeros(SHAPE))
    open: int = field(default=0, init=False)

    def __copy__(self) -> Pane:
        twin = Pane(self.until, self.block.copy())
        twin.open = self.open
        return twin


@dataclass
class Accumulator:
    """Panes of sums, the open questions in the order of their rows, and counters.

    ``rows`` were added, ``blind`` of them with propensity 0; ``asked`` questions are the
    ``labels``, the ``lost``, and the open ones. ``ignored`` answers had no open question. ``last``
    is the last ticket. ``unpredicted`` rows have no prediction; ``silent`` are the open questions
    among them, with the numbers of their rows. ``answered`` and ``gone`` are the weights 1/q of all
    that was answered and lost, and ``share`` the share answered as of the chunk. ``judged``
    questions were settled by a judge alone.

    >>> made = Accumulator(window=1_000)
    >>> made.add(np.array([[1.0, 0.6, 0.5, 1.0, 7.0]]), p=np.array([0.8]))
    >>> made.answer([(7, False, 1)], patience=None)
    >>> made.labels, made.last, made.size, made.kept.maxlen
    (1, 7, 32, 32)
    """

    window: int | None
    rows: Count = 0
    blind: Count = 0
    asked: Count = 0
    labels: Count = 0
    lost: Count = 0
    ignored: Count = 0
    unpredicted: Count = 0
    judged: Count = 0
    last: Annotated[int, Range(-1, LAST)] = -1
    settled: Count = 0
    until: Count = 0
    answered: NotNegative = 0.0
    gone: NotNegative = 0.0
    share: Share = 1.0
    total: Block = field(default_factory=lambda: np.zeros(SHAPE))
    kept: deque[Block] = field(default_factory=deque)
    waiting: dict[Count, Pane] = field(default_factory=dict)
    questions: dict[Count, Question] = field(default_factory=dict)
    silent: dict[Count, Count] = field(default_factory=dict)

    def __post_init__(self) -> None:
        window = self.window
        self.size = math.ceil(window / PANES) if window else PLAIN
        self.kept = deque(self.kept, math.ceil(window / self.size) if window else 0)
        for question in self.questions.values():
            self.waiting[question.round // self.size].open += 1

    def __deepcopy__(self, memo: dict[int, Any]) -> Accumulator:
        """A copy in a time that hardly depends on how many questions are open."""
        twin = copy(self)
        twin.questions, twin.kept = self.questions.copy(), self.kept.copy()
        twin.silent = self.silent.copy()
        twin.waiting = {number: copy(pane) for number, pane in self.waiting.items()}
        twin.total = self.total.copy()
        return twin

    def begin_chunk(self) -> None:
        """Take the share of answers so far for that of the rows to come."""
        weights = self.answered + self.gone
        self.share = self.answered / weights if self.answered > 0.0 else 1.0

    def add(self, columns: Array, p: Array, y: Array | None = None) -> None:
        """Add rows (label, margin, propensity, asked, ticket); with ``y`` the asked are answered.

        ``p`` is P(y = +1) of each, as the model has it. Where ``y`` is NaN, the answer is lost.
        """
        label, _, q, asked, ticket = columns.T
        rounds = self.rows + np.arange(q.size)
        panes = rounds // self.size
        for end in np.flatnonzero(np.diff(panes, append=-1)):
            self.waiting.setdefault(int(panes[end]), Pane()).until = int(ticket[end]) + 1
        self._gather(panes, label, sums.of_rows(p, q, q * self.share))
        self.rows += q.size
        self.last = int(ticket[-1])
        self.blind += int((q == 0.0).sum())
        self.unpredicted += int((label == 0.0).sum())
        chosen = np.flatnonzero(asked)
        self.asked += chosen.size
        if y is not None:
            told, gone = chosen[~np.isnan(y[chosen])], chosen[np.isnan(y[chosen])]
            rows = sums.of_answers(p[told], q[told], y[told] > 0.0, q[told] * self.share)
            self._learn(rounds[told], label[told], rows, 1.0 / q[told])
            self._lose(rounds[gone], label[gone], 1.0 / q[gone])
            return
        mute = chosen[label[chosen] == 0.0]
        self.silent |= dict(
            zip(ticket[mute].astype(int).tolist(), rounds[mute].tolist(), strict=True)
        )
        chosen = chosen[label[chosen] != 0.0]
        columns_of = (a[chosen].tolist() for a in (ticket, rounds, label, p, q))
        for place, row, sign, guess, chance in zip(*columns_of, strict=True):
            question = Question(row, sign, guess, chance, self.share, 0.0, guess)
            self.questions[int(place)] = question
            self.waiting[question.round // self.size].open += 1

    def _taken(self, ticket: int) -> Question | None:
        """An open question, which is open no longer."""
        found = self.questions.pop(ticket, None)
        if found is not None:
            self.waiting[found.round // self.size].open -= 1
        return found

    def answer(self, answers: list[tuple[int, bool, int]], patience: int | None) -> None:
        """Add answers: ticket, whether the prediction was right, and how many rows had been."""
        found, labels, late = [], [], []
        for ticket, right, now in answers:
            question = self._taken(ticket)
            if question is None:
                known = self.silent.pop(ticket, None) is not None
                self.labels, self.ignored = self.labels + known, self.ignored + (not known)
            elif patience is not None and now - question.round - 1 > patience:
                self.ignored += 1
                late.append(question)
            else:
                found.append(question)
                labels.append(question.label if right else -question.label)
        self._hear(found, np.array(labels))
        self._forget(late)

    def _hear(self, found: list[Question], y: Array) -> None:
        """Add the labels of these questions: of the experts after a judge, and of those asked."""
        judged = np.array([question.second > 0.0 for question in found], dtype=np.bool_)
        for nested in (False, True):
            at = np.flatnonzero(judged == nested)
            if not at.size:
                continue
            rounds, label, p, q, share, second, then = np.array([found[i] for i in at]).T
            v, kept = y[at] > 0.0, q * share
            if nested:
                rows = sums.of_experts(p, q, second, then, v, kept)
            else:
                rows = sums.of_answers(p, q, v, kept)
            weights = 1.0 / (q * np.where(second > 0.0, second, 1.0))
            self._learn(rounds.astype(np.int64), label, rows, weights)

    def reply(self, replies: list[tuple[int, float, float, bool]]) -> None:
        """Judges have answered: ticket, P(y = +1) with it, q_2, and whether the expert is asked."""
        found = []
        for ticket, then, second, escalated in replies:
            question = self.questions.get(ticket) if escalated else self._taken(ticket)
            if question is not None:
                found.append(question._replace(second=second, then=then))
                if escalated:
                    self.questions[ticket] = found[-1]
            elif ticket not in self.silent:
                self.ignored += 1
                continue
            elif not escalated:
                del self.silent[ticket]
            self.judged += not escalated
        if found:
            rounds, label, p, q, share, second, then = np.array(found).T
            rows = sums.of_replies(p, q, second, then, q * share)
            self._gather(rounds.astype(np.int64) // self.size, label, rows)

    def expire(self, before: int) -> None:
        """Give up the questions of rows that are too long ago."""
        mute = [ticket for ticket, row in self.silent.items() if row < before]
        self.silent = {ticket: self.silent[ticket] for ticket in self.silent.keys() - mute}
        self.lost += len(mute)
        late = []
        for ticket, question in self.questions.items():
            if question.round >= before:
                break
            late.append(ticket)
        self._forget(gone for ticket in late if (gone := self._taken(ticket)) is not None)

    def cancel(self, ticket: int) -> None:
        """Give up a question; a ticket without an open one is ignored."""
        question = self._taken(ticket)
        if question is not None:
            self._forget([question])
        elif self.silent.pop(ticket, None) is not None:
            self.lost += 1
        else:
            self.ignored += 1

    def _learn(self, rounds: NDArray[np.int64], label: Array, rows: Array, weights: Array) -> None:
        """Add what the answers of these rows add to their panes."""
        self._gather(rounds // self.size, label, rows)
        self.labels += weights.size
        self.answered += float(weights.sum())

    def _forget(self, questions: Iterable[Question]) -> None:
        """Count questions as lost."""
        gone = list(questions)
        if gone:
            rounds, label, *_ = np.array(gone).T
            weights = np.array([question.weight for question in gone])
            self._lose(rounds.astype(np.int64), label, weights)

    def _lose(self, rounds: NDArray[np.int64], label: Array, weights: Array) -> None:
        """Add the losses of these rows to their panes."""
        self._gather(rounds // self.size, label, sums.of_losses(1.0 / weights, WIDTH))
        self.lost += weights.size
        self.gone += float(weights.sum())

    def _gather(self, panes: NDArray[np.int64], label: Array, rows: Array) -> None:
        """Add rows to the blocks of their panes."""
        for place, block in sums.gathered(panes, label, rows).items():
            self.waiting[place].block += block

    @property
    def _first_open(self) -> float:
        """The number of the first pane with an open question."""
        first = next(iter(self.questions.values()), None)
        return math.inf if first is None else first.round // self.size

    def settle(self) -> None:
        """Merge the panes that are full and have no open question, up to the first that has."""
        first = self._first_open
        while self.settled < first and (self.settled + 1) * self.size <= self.rows:
            pane = self.waiting.pop(self.settled)
            self.total += pane.block
            self.kept.append(pane.block)
            self.settled += 1
            self.until = pane.until

    def reach(self, tolerated: float) -> int:
        """The row before which at most a share of the questions that wait to settle is open."""
        found, answered, open_ = self.settled, 0.0, 0
        for index, pane in sorted(self.waiting.items()):
            answered += float(pane.block[ALL, Column.LABELS])
            open_ += pane.open
            if open_ <= tolerated * (answered + open_):
                found = index + 1
        return found * self.size

    def scope(self, over: Over) -> Scope:
        """The sums of all settled rows, or of the last ones."""
        fresh = Pane(self.until)
        if self.settled in self.waiting and self._first_open > self.settled:
            fresh = self.waiting[self.settled]
        if over is Over.WINDOW:
            block = sum(self.kept, fresh.block)
            return Scope(block, self.settled - len(self.kept) + 1, fresh.until)
        return Scope(self.total + fresh.block, 0, fresh.until)

    def _filled(self, pane: int) -> int:
        """How many rows a pane has so far."""
        return min(self.size, self.rows - pane * self.size)

    def validate(self) -> str:
        """Why the parts contradict each other; empty if they do not."""
        if not self._has_its_panes:
            return "the panes are not those of the rows"
        if not (self._asks_in_order and self._adds_up):
            return "the counters contradict each other"
        blocks = [self.total, *self.kept, *(pane.block for pane in self.waiting.values())]
        return "" if sums.sound(np.array(blocks)) else "the sums are not those of a meter"

    @property
    def _has_its_panes(self) -> bool:
        """Whether the panes that wait and those that are kept are all that there must be."""
        wanted = range(self.settled, -(-self.rows // self.size))
        if [*self.waiting] != [*wanted[: len(self.waiting) + 1]]:
            return False
        untils = [self.until, *(pane.until for pane in self.waiting.values())]
        filled = [self._filled(number) for number in wanted]
        return (
            len(self.kept) == min(self.settled, self.kept.maxlen or 0)
            and all(b >= a + n for (a, b), n in zip(pairwise(untils), filled, strict=True))
            and untils[-1] <= self.last + 1
        )

    @property
    def _asks_in_order(self) -> bool:
        """Whether the open questions are of rows that wait, in their order."""
        rounds = [question.round for question in self.questions.values()]
        order = [-1, *rounds], [-1, *self.questions]
        return (
            all(b > a for numbers in order for a, b in pairwise(numbers))
            and max([*rounds, *self.silent.values()], default=-1) < self.rows
            and not self.questions.keys() & self.silent.keys()
            and max(self.questions | self.silent, default=-1) <= self.last
        )

    @property
    def _adds_up(self) -> bool:
        """Whether the counters can be those of one meter."""
        open_ = len(self.questions) + len(self.silent)
        return (
            len(self.silent) <= self.unpredicted <= self.rows <= self.last + 1
            and self.asked + self.blind <= self.rows
            and self.asked == self.labels + self.lost + self.judged + open_
        )
