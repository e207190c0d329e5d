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
from collections import Counter, deque
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import sums
from lasec.metrics.estimate import Over
from lasec.metrics.means import Scope
from lasec.metrics.sums import ALL, SHAPE, WIDTH, Column
from lasec.parameters import Range, number
from lasec.persistence.container import Arrays

Array = NDArray[np.float64]

PANES, PLAIN = 32, 256
LAST = 2**53  # tickets are summed up among floats
_COUNTERS = ("blind", "asked", "labels", "lost", "ignored", "unpredicted")
_COUNTS = Range(0, 2**62)


class Question(NamedTuple):
    """An open question: its row (from 0), what was predicted, q, and the share answered then."""

    round: int
    label: float
    probability: float
    propensity: float
    share: float


class Pane:
    """The block of consecutive rows, the ticket after the last, and how many questions are open."""

    __slots__ = ("block", "open", "until")

    def __init__(self, until: int = 0) -> None:
        self.until, self.open = until, 0
        self.block: Array = np.zeros(SHAPE)

    def __copy__(self) -> Pane:
        twin = Pane(self.until)
        twin.open, twin.block = self.open, self.block.copy()
        return twin


class Accumulator:
    """Panes of sums, the open questions in the order of their rows, and counters.

    ``rows`` were added, ``blind`` of them with propensity 0; ``asked`` questions are the
    ``labels``, the ``lost``, and the open ones. ``ignored`` answers had no open question. ``last``
    is the last ticket. ``unpredicted`` rows have no prediction; ``silent`` are the open questions
    among them, with the numbers of their rows.

    >>> made = Accumulator(window=1_000)
    >>> made.add(np.array([[1.0, 0.6, 0.5, 1.0, 7.0]]), p=np.array([0.8]))
    >>> made.answer([(7, False, 1)], patience=None)
    >>> made.labels, made.last, made.size, made.kept.maxlen
    (1, 7, 32, 32)
    """

    def __init__(self, window: int | None) -> None:
        self.size = math.ceil(window / PANES) if window else PLAIN
        self.waiting: dict[int, Pane] = {}
        self.kept: deque[Array] = deque(maxlen=math.ceil(window / self.size) if window else 0)
        self.total: Array = np.zeros(SHAPE)
        self.settled = self.until = 0
        self.questions: dict[int, Question] = {}
        self.silent: dict[int, int] = {}
        self.last = -1
        self.rows = self.blind = self.asked = self.labels = self.lost = self.ignored = 0
        self.unpredicted = 0
        # The weights 1/q of all that was answered and lost, and the share answered as of the chunk.
        self._answered = self._gone = 0.0
        self._share = 1.0

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
        weights = self._answered + self._gone
        self._share = self._answered / weights if self._answered > 0.0 else 1.0

    def add(self, columns: Array, p: Array, y: Array | None = None) -> None:
        """Add rows (label, margin, propensity, asked, ticket); with ``y`` the asked are answered.

        ``p`` is P(y = +1) of each, as the model has it. Where ``y`` is NaN, the answer is lost.
        """
        label, _, q, asked, ticket = columns.T
        rounds = self.rows + np.arange(q.size)
        panes = rounds // self.size
        for end in np.flatnonzero(np.diff(panes, append=-1)):
            self.waiting.setdefault(int(panes[end]), Pane()).until = int(ticket[end]) + 1
        self._gather(panes, label, sums.of_rows(p, q, q * self._share))
        self.rows += q.size
        self.last = int(ticket[-1])
        self.blind += int((q == 0.0).sum())
        self.unpredicted += int((label == 0.0).sum())
        chosen = np.flatnonzero(asked)
        self.asked += chosen.size
        if y is not None:
            told, gone = chosen[~np.isnan(y[chosen])], chosen[np.isnan(y[chosen])]
            self._learn(rounds[told], label[told], p[told], q[told], y[told], self._share)
            self._lose(rounds[gone], label[gone], q[gone])
            return
        mute = chosen[label[chosen] == 0.0]
        self.silent |= dict(
            zip(ticket[mute].astype(int).tolist(), rounds[mute].tolist(), strict=True)
        )
        chosen = chosen[label[chosen] != 0.0]
        columns_of = (a[chosen].tolist() for a in (ticket, rounds, label, p, q))
        for place, *rest in zip(*columns_of, [self._share] * chosen.size, strict=True):
            question = self.questions[int(place)] = Question(*rest)
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
        if found:
            rounds, label, p, q, share = np.array(found).T
            self._learn(rounds.astype(np.int64), label, p, q, np.array(labels), share)
        self._forget(late)

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

    def _learn(
        self, rounds: NDArray[np.int64], label: Array, p: Array, q: Array, y: Array, share: Any
    ) -> None:
        """Add the answers of these rows to their panes."""
        self._gather(rounds // self.size, label, sums.of_answers(p, q, y > 0.0, q * share))
        self.labels += y.size
        self._answered += float((1.0 / q).sum())

    def _forget(self, questions: Iterable[Question]) -> None:
        """Count questions as lost."""
        gone = list(questions)
        if gone:
            rounds, label, _, q, _ = np.array(gone).T
            self._lose(rounds.astype(np.int64), label, q)

    def _lose(self, rounds: NDArray[np.int64], label: Array, q: Array) -> None:
        """Add the losses of these rows to their panes."""
        self._gather(rounds // self.size, label, sums.of_losses(q, WIDTH))
        self.lost += q.size
        self._gone += float((1.0 / q).sum())

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

    def header(self) -> dict[str, Any]:
        """What a saved file has in its header."""
        open_in = Counter(question.round // self.size for question in self.questions.values())
        return {
            "counters": {"rows": self.rows} | {n: getattr(self, n) for n in _COUNTERS},
            "last": self.last,
            "settled": [self.settled, self.until],
            "weights": [self._answered, self._gone, self._share],
            "panes": [
                [n, self._filled(n), open_in[n], pane.until] for n, pane in self.waiting.items()
            ],
        }

    def arrays(self) -> Arrays:
        """What a saved file has for arrays."""
        questions = [list(question) for question in self.questions.values()]
        blocks = [pane.block for pane in self.waiting.values()]
        return {
            "total": self.total,
            "kept": np.array(list(self.kept)).reshape(-1, *SHAPE),
            "waiting": np.array(blocks).reshape(-1, *SHAPE),
            "silent": np.array(list(self.silent.items()), dtype=np.int64).reshape(-1, 2),
            "tickets": np.array(list(self.questions), dtype=np.int64),
            "questions": np.array(questions, dtype=np.float64).reshape(-1, len(Question._fields)),
        }

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take back what :meth:`header` and :meth:`arrays` gave."""
        self.rows = number("rows", header["counters"]["rows"], int, _COUNTS)
        for name in _COUNTERS:
            setattr(self, name, number(name, header["counters"][name], int, _COUNTS))
        self.last = number("last", header["last"], int, Range(-1, LAST))
        answered, gone, share = header["weights"]
        self._answered = number("weights", answered, float, Range(0.0, sums.LARGEST))
        self._gone = number("weights", gone, float, Range(0.0, sums.LARGEST))
        self._share = number("weights", share, float, Range(sums.SMALLEST, 1.0))
        self.questions = _questions(arrays["tickets"], arrays["questions"])
        self.silent = _silent(arrays["silent"])
        self.settled, self.until = (
            number("settled", n, int, Range(0, LAST)) for n in header["settled"]
        )
        self._restore_panes(header["panes"], arrays)
        self._check(header["panes"])

    def _restore_panes(self, counts: Any, arrays: Arrays) -> None:
        waiting = range(self.settled, -(-self.rows // self.size))
        kept = min(self.settled, self.kept.maxlen or 0)
        shapes = {"total": (), "kept": (kept,), "waiting": (len(waiting),)}
        for name, shape in shapes.items():
            if arrays[name].shape != (*shape, *SHAPE) or not sums.sound(arrays[name]):
                raise ValueError(f"{name} has not the shape of a meter's, or holds bad numbers")
        self.total = arrays["total"].copy()
        self.kept.extend(block.copy() for block in arrays["kept"])
        before = self.until
        for n, (_, _, _, until), block in zip(waiting, counts, arrays["waiting"], strict=True):
            pane = self.waiting[n] = Pane(number("panes", until, int, Range(0, LAST)))
            if pane.until < before + self._filled(n):
                raise ValueError("the panes are not those of the rows")
            pane.block, before = block.copy(), pane.until
        for question in self.questions.values():
            if question.round // self.size not in self.waiting:
                raise ValueError("the open questions are not of rows that wait")
            self.waiting[question.round // self.size].open += 1

    def _check(self, counts: Any) -> None:
        """Raise an error where the parts contradict each other."""
        if counts != self.header()["panes"]:
            raise ValueError("the open questions are not those of the panes")
        rounds = [question.round for question in self.questions.values()]
        latest = max((pane.until for pane in self.waiting.values()), default=self.until)
        if (
            (rounds and rounds[-1] >= self.rows)
            or (rounds and rounds[0] < self.settled * self.size)
            or max(self.questions | self.silent, default=-1) > self.last
            or self.questions.keys() & self.silent.keys()
            or max(self.silent.values(), default=-1) >= self.rows
            or not len(self.silent) <= self.unpredicted <= self.rows
            or latest > self.last + 1
            or self.last + 1 < self.rows
            or self.asked + self.blind > self.rows
            or self.asked != self.labels + self.lost + len(rounds) + len(self.silent)
        ):
            raise ValueError("the counters contradict each other")


def _silent(table: NDArray[Any]) -> dict[int, int]:
    """The open questions of rows without a prediction, as a meter would have written them."""
    if table.dtype != np.int64 or table.ndim != 2 or table.shape[1] != 2 or (table < 0).any():
        raise ValueError("the questions without a prediction are not numbers of the right kind")
    return dict(table.tolist())


def _questions(tickets: NDArray[Any], table: NDArray[Any]) -> dict[int, Question]:
    """The open questions, as a meter would have written them: in the order of their rows."""
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
