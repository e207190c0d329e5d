"""What comes into a meter: decisions and answers, kept in small lists and added up in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards
from lasec.errors import TicketError
from lasec.metrics import sums
from lasec.metrics.ledger import CHUNK, LAST, Array, Ledger, Question
from lasec.parameters import number, shown
from lasec.types import Decision, Outcome

_PLAIN = ("label", "margin", "variance", "propensity")
_NAMES = ("label", "margin", "propensity", "asked", "ticket")


class Rounds(Protocol):
    """The columns of consecutive rounds, as :class:`lasec.Records` has them."""

    @property
    def label(self) -> NDArray[np.int8]:
        """The prediction of each round."""

    @property
    def margin(self) -> NDArray[np.float64]:
        """The margin of each round."""

    @property
    def propensity(self) -> NDArray[np.float64]:
        """The probability with which each round was asked."""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Whether it was."""

    @property
    def ticket(self) -> NDArray[np.int64]:
        """The ticket of each round."""


class Intake(Ledger):
    """The half of a :class:`~lasec.metrics.Meter` that listens."""

    def ask(self, decision: Decision) -> None:
        """Take note of a round, asked or not; tickets must rise.

        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=False, ticket=0))
        >>> meter.rounds
        1
        """
        if not isinstance(decision, tuple):
            raise TypeError(f"decision: expected what ask gives, got {shown(decision)}")
        label, margin, variance, q, asked, ticket = decision
        if not (
            type(ticket) is type(label) is int and type(asked) is bool
            and type(margin) is type(variance) is type(q) is float
        ):  # fmt: skip
            label, margin, variance, q, asked, ticket = decision = _plain(decision)
        if not (
            self._last < ticket <= LAST and 0.0 <= q <= 1.0
            and (label == 1 or label == -1)  # noqa: PLR1714
            and -math.inf < margin < math.inf and (q > 0.0 or not asked)
        ):  # fmt: skip
            raise _refusal(decision, self._last)
        if len(self._asks) >= self._room:
            self._begin()
        self._asks.append(decision)
        self._last = ticket

    def tell(self, outcome: Outcome) -> None:
        """Take note of an answer. Answers that come twice, too late, or unasked, are ``ignored``.

        One opinion of several, which settles nothing yet, is passed over.

        >>> import lasec
        >>> decision = lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=0)
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(decision)
        >>> for _ in range(2):
        ...     meter.tell(lasec.Outcome(decision, y=-1, mistake=True, updated=True))
        >>> meter.labels, meter.ignored
        (1, 1)
        """
        if not (isinstance(outcome, Outcome) and isinstance(outcome.decision, Decision)):
            raise TypeError(f"outcome: expected what tell gives, got {shown(outcome)}")
        ticket, y = outcome.decision.ticket, guards.label(outcome.y)
        if not outcome.settled:
            return
        if outcome.decision.propensity == 0.0:  # a label that came for free
            self._ignored += 1
            return
        self._answers.append((self._seen(ticket), y, self._admitted + len(self._asks)))
        if len(self._answers) > CHUNK:
            self._flush()

    def lose(self, ticket: int) -> None:
        """Give up a question: its answer will not come.

        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=0))
        >>> meter.lose(0)
        >>> meter.lost, meter.open
        (1, 0)
        """
        known = self._seen(ticket)
        self._flush()
        question = self._questions.pop(known, None)
        if question is None:
            self._ignored += 1
            return
        self._forget([question])
        self._panes.settle()

    def extend(self, records: Rounds, y: ArrayLike) -> None:
        """Take note of a whole chunk of rounds, of which all that were asked were answered.

        ``y`` has a label for each round, of which only those of the asked rounds count.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> meter.rounds, meter.labels
        (5000, 526)
        """
        columns, labels = self._columns(records, y)
        while len(columns):
            if len(self._asks) >= self._room:
                self._begin()
            self._flush()
            count = min(len(columns), self._room)
            self._admit(columns[:count], labels[:count])
            self._panes.settle()
            columns, labels = columns[count:], labels[count:]

    def _seen(self, ticket: object) -> int:
        """A ticket that has been asked about, answered by now or not."""
        number = guards.ticket(ticket)
        if number > self._last:
            raise TicketError(f"ticket {shown(ticket)} was never seen: the last is {self._last}")
        return number

    def _begin(self) -> None:
        """Begin a chunk: at fixed rounds, so that it does not matter when anyone looked."""
        self._flush()
        weights = self._answered + self._gone
        self._share = self._answered / weights if self._answered > 0.0 else 1.0
        self._room = CHUNK

    def _flush(self) -> None:
        """Add up what is in the lists."""
        if self._asks:
            table = np.fromiter(chain.from_iterable(self._asks), np.float64, 6 * len(self._asks))
            self._admit(table.reshape(-1, 6)[:, [0, 1, 3, 4, 5]])
            self._asks = []
        if self._answers:
            answers, self._answers = self._answers, []
            self._reply(answers)
        if self.patience is not None:
            self._expire(self._admitted - 1 - self.patience)
        self._panes.settle()

    def _admit(self, columns: Array, y: Array | None = None) -> None:
        """Add rounds (label, margin, propensity, asked, ticket); with ``y`` the asked are answered.

        They must not reach beyond the chunk.
        """
        label, margin, q, asked, ticket = columns.T
        p = self._likely(margin)
        chance = q * self._share
        rounds = self._admitted + np.arange(q.size)
        panes = rounds // self._panes.size
        ends = np.flatnonzero(np.diff(panes, append=-1))
        for end, count in zip(ends, np.diff(ends, prepend=-1), strict=True):
            self._panes.enter(int(panes[end]), int(count), int(ticket[end]) + 1)
        parts = [sums.of_rounds(p, q, chance, loss=loss) for loss in (False, True)]
        self._panes.add(sums.gathered(panes, label, *parts))
        self._admitted += q.size
        self._room -= q.size
        self._last = int(ticket[-1])
        self._blind += int((q == 0.0).sum())
        chosen = np.flatnonzero(asked)
        self._asked += chosen.size
        if y is not None:
            self._learn(rounds[chosen], label[chosen], p[chosen], q[chosen], y[chosen])
            return
        shares = [self._share] * chosen.size
        columns_of = (a[chosen].tolist() for a in (ticket, rounds, label, p, q))
        for place, *rest in zip(*columns_of, shares, strict=True):
            self._questions[int(place)] = Question(*rest)
            self._panes.wait(rest[0] // self._panes.size, 1)

    def _reply(self, answers: list[tuple[int, float, int]]) -> None:
        """Add answers: ticket, label, and how many rounds had been when it came."""
        found, labels, late = [], [], []
        for ticket, y, now in answers:
            question = self._questions.pop(ticket, None)
            if question is None:
                self._ignored += 1
            elif self.patience is not None and now - question.round - 1 > self.patience:
                self._ignored += 1
                late.append(question)
            else:
                found.append(question)
                labels.append(y)
        if found:
            rounds, label, p, q, share = np.array(found).T
            self._learn(rounds.astype(np.int64), label, p, q, np.array(labels), share)
            for question in found:
                self._panes.wait(question.round // self._panes.size, -1)
        self._forget(late)

    def _learn(
        self, rounds: Any, label: Array, p: Array, q: Array, y: Array, share: Any = None
    ) -> None:
        """Add the answers of these rounds to their panes."""
        chance = q * (self._share if share is None else share)
        parts = [sums.of_answers(p, q, chance, y, loss=loss) for loss in (False, True)]
        self._panes.add(sums.gathered(rounds // self._panes.size, label, *parts))
        self._labels += y.size
        self._answered += float((1.0 / q).sum())

    def _expire(self, before: int) -> None:
        """Give up the questions of rounds that are too long ago."""
        late = []
        for ticket, question in self._questions.items():
            if question.round >= before:
                break
            late.append(ticket)
        self._forget(self._questions.pop(ticket) for ticket in late)

    def _forget(self, questions: Iterable[Question]) -> None:
        """Count questions as lost."""
        gone = list(questions)
        if not gone:
            return
        rounds, label, _, q, _ = np.array(gone).T
        rows = sums.of_losses(q)
        panes = rounds.astype(np.int64) // self._panes.size
        self._panes.add(sums.gathered(panes, label, rows, rows))
        for pane in panes.tolist():
            self._panes.wait(pane, -1)
        self._lost += len(gone)
        self._gone += float((1.0 / q).sum())

    def _likely(self, margin: Array) -> Array:
        if self._probability is None:
            return sums.likely(margin)
        p = np.asarray(self._probability(margin), dtype=np.float64)
        if p.shape != margin.shape or np.isnan(p).any():
            raise ValueError("probability: expected a number in [0, 1] for each margin")
        return p.clip(*sums.SURE)

    def _columns(self, records: Rounds, y: ArrayLike) -> tuple[Array, Array]:
        """The columns of a chunk of rounds, checked."""
        if not all(hasattr(records, name) for name in _NAMES):
            raise TypeError(f"records: expected what run gives, got {shown(records)}")
        given = [guards.real(f"records: {name}", getattr(records, name), 1) for name in _NAMES]
        if len({column.size for column in given}) > 1:
            raise ValueError("records: the columns are not of one length")
        columns = np.column_stack(given)
        labels = guards.labels(y, len(columns))
        label, _, q, asked, ticket = columns.T
        if not np.isfinite(columns).all():
            raise ValueError("records: NaN among margins or propensities (from a lazy run?)")
        if not (
            (np.abs(label) == 1.0) & (q >= 0.0) & (q <= 1.0) & ((q > 0.0) | (asked == 0.0))
        ).all():
            raise ValueError("records: impossible labels or propensities")
        rising = (np.diff(ticket) > 0.0).all() and (ticket == np.floor(ticket)).all()
        if len(columns) and not (rising and self._last < ticket[0] and ticket[-1] <= LAST):
            raise ValueError(f"records: tickets must rise, and the last one was {self._last}")
        return columns, labels


def _plain(decision: Decision) -> Decision:
    """The decision in plain numbers, whatever it was made of."""
    label, margin, variance, q, asked, ticket = decision
    label, margin, variance, q = (
        number(f"decision: {name}", value, float, None)
        for name, value in zip(_PLAIN, (label, margin, variance, q), strict=True)
    )
    asked = number("decision: asked", asked, bool, None)
    return Decision(label, margin, variance, q, asked, guards.ticket(ticket))


def _refusal(decision: Decision, last: int) -> ValueError:
    if not last < decision.ticket <= LAST:
        return ValueError(
            f"decision: ticket {shown(decision.ticket)} came after {last}, but must rise"
        )
    return ValueError(f"decision: impossible label, margin or propensity in {shown(decision)}")
