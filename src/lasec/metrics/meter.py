"""How good the model is right now, from the few labels that were queried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lasec import validation
from lasec.errors import TicketError
from lasec.metrics import planner, sums
from lasec.metrics.accumulator import Accumulator, Array
from lasec.metrics.checks import checked, columns_of
from lasec.metrics.estimate import Estimate, Interval, Over
from lasec.metrics.means import Scope, of_scope
from lasec.metrics.planner import RATES, Plan, Spread
from lasec.metrics.sums import MINUS, PLUS, Column
from lasec.parameters import Range, choice, number, shown
from lasec.persistence import record
from lasec.types import Decision, Outcome

CHUNK = 1024


class Meter:
    """Estimates the accuracy over all rows, from the labels that were queried.

    Queried rows are harder than average, so raw accuracy on them is biased low. A meter reweights
    by query probability: its estimates are unbiased, with a confidence interval (see
    :mod:`lasec.metrics.means`). Tell it every decision, in order, and every outcome, whenever it
    comes. Estimates cover the rows before the oldest question that is still open. Metrics by class
    are those of a :class:`Confusion`, metrics of probabilities those of :class:`Scores`.

    Parameters
    ----------
    window
        Number of last rows for ``over="window"`` (up to a 16th more are taken).
    patience
        A question not answered within so many rows counts as lost. Losses are taken to be at
        random; what they can hide if they are not is in each :class:`Estimate`.

    Notes
    -----
    Rows with propensity 0 could not be queried: the model's probability is used for them, and the
    interval is widened by all that they can be.

    Examples
    --------
    >>> import lasec
    >>> X, y = lasec.streams.walking(5_000, speed=0.01, seed=1)
    >>> tracker, meter = lasec.Tracker(rate=0.2, seed=0), lasec.metrics.Meter()
    >>> for x, label in zip(X, y):
    ...     decision = tracker.ask(x)
    ...     meter.ask(decision)
    ...     if decision.asked:
    ...         meter.tell(tracker.tell(decision.ticket, label))
    >>> meter
    Meter(window=1000, rows=5000, asked=1026, labels=1026)
    >>> value, low, high, *_ = meter.estimate(over="window")
    >>> print(f"estimated accuracy {value:.1%} (95 % CI {low:.1%} to {high:.1%})")
    estimated accuracy 91.6% (95 % CI 89.1% to 94.0%)
    """

    KIND = "meter"

    def __init__(self, window: int | None = 1_000, patience: int | None = None) -> None:
        length = Range(1, 2**53)
        self.window = None if window is None else number("window", window, int, length)
        self.patience = None if patience is None else number("patience", patience, int, length)
        self._sums = Accumulator(self.window)
        # What has come since the last look: summed up in chunks that begin at fixed rows.
        self._asks: list[Any] = []
        self._answers: list[tuple[int, bool, int]] = []
        self._replies: list[tuple[int, float, float, bool]] = []
        self._last = self._last_silent = -1
        self._room = 0

    def ask(self, decision: Decision) -> None:
        """Record the decision about a row, queried or not; tickets must rise.

        A row whose label is 0 has no prediction: it is counted, and part of no estimate. A learner
        says +1 before its first label: give ``decision._replace(label=0)`` while ``told`` is 0.

        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=False, ticket=0))
        >>> meter.rows
        1
        """
        decision = checked(decision, self._last)
        if len(self._asks) >= self._room:
            self._begin()
        self._asks.append(decision)
        self._last = decision[5]
        if not decision[0]:
            self._last_silent = self._last

    def tell(self, outcome: Outcome) -> None:
        """Record an answer. Answers that come twice, too late, or unasked are ``ignored``.

        One of several answers that does not settle the question yet is passed over.

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
        if not number("settled", outcome.settled, bool, None):
            return
        if outcome.decision.propensity == 0.0:  # a label that came for free
            self._sums.ignored += 1
            return
        right = outcome.correct is True
        self._answers.append((self._seen(outcome.decision.ticket), right, self.rows))
        if len(self._answers) > CHUNK:
            self._flush()

    def reply(self, ticket: int, *, probability: float, second: float, escalated: bool) -> None:
        """Record what a cheap judge said of a question, and whether an expert is asked after it.

        The propensity of the decision is then that of the judge. What it says is not a label: it
        corrects the model's guess, and only experts tell what is true. The estimate is unbiased
        whatever the judge says, and the narrower the more it knows.

        Parameters
        ----------
        ticket
            That of the decision.
        probability
            P(y = +1) with what the judge said.
        second
            The probability with which the expert was going to be asked then.
        escalated
            Whether it is asked. If not, the question is settled.

        Examples
        --------
        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> for ticket in (0, 1):
        ...     meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=ticket))
        ...     meter.reply(ticket, probability=0.9, second=0.2, escalated=ticket == 0)
        >>> meter.open, meter.judged
        (1, 1)
        """
        known = self._seen(ticket)
        low, high = sums.SURE
        guess = number("probability", probability, float, Range(0.0, 1.0))
        chance = number("second", second, float, Range(0.0, 1.0))
        if escalated and not chance >= sums.SMALLEST:
            raise ValueError("second: an expert who is asked is asked with some probability")
        self._replies.append((known, min(max(guess, low), high), chance, bool(escalated)))
        if len(self._replies) > CHUNK:
            self._flush()

    def cancel(self, ticket: int) -> None:
        """Record that a question will not be answered.

        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=0))
        >>> meter.cancel(0)
        >>> meter.lost, meter.open
        (1, 0)
        """
        known = self._seen(ticket)
        self._flush().cancel(known)
        self._sums.settle()

    def extend(self, records: Any, y: ArrayLike) -> None:
        """Record a :class:`lasec.Records` in which labels came at once.

        ``y`` has a label for each row, of which only those of the queried rows count; where it is
        None or NaN, the question went unanswered.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> meter.rows, meter.labels
        (5000, 525)
        """
        columns, labels = columns_of(records, y, self._last)
        while len(columns):
            if len(self._asks) >= self._room:
                self._begin()
            self._flush()
            count = min(len(columns), self._room)
            self._add(columns[:count], labels[:count])
            self._sums.settle()
            columns, labels = columns[count:], labels[count:]
            self._last = self._sums.last

    def estimate(
        self,
        *,
        over: Over | str = Over.ALL,
        interval: Interval | str = Interval.NORMAL,
        level: float = 0.95,
    ) -> Estimate:
        """Estimate the accuracy over all settled rows, or the window.

        Parameters
        ----------
        over
            "all" rows, or the last ones ("window").
        interval
            "normal" is for one look at a time. "anytime" (a confidence sequence) holds at all
            times at once and is wider; where answers are lost it is approximate.
        level
            The confidence level.

        Returns
        -------
        Estimate
            Value and interval, with the numbers of rows and labels behind them. Without labels the
            value is NaN and the interval is all that is possible. ``lost``, ``worst_low`` and
            ``worst_high`` say what answers that never came can hide.

        Examples
        --------
        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> round(meter.estimate(over="window").value, 2)
        0.63
        >>> meter.estimate(interval="anytime").width > meter.accuracy.width
        True
        """
        scope = self.scope(choice(Over, over))
        share = number("level", level, float, Range(0.01, 0.999999))
        return of_scope(scope, choice(Interval, interval), share)

    @property
    def accuracy(self) -> Estimate:
        """The estimated accuracy over all settled rows."""
        return self.estimate()

    def plan(
        self,
        *,
        width: float | None = None,
        labels: float | None = None,
        window: int | str = 10_000,
        rows_per_day: float | None = None,
        level: float = 0.95,
    ) -> Plan:
        """The labels that a confidence interval of a width needs, or the width for labels.

        See :mod:`lasec.metrics.planner`; before the first label it plans uniform random queries.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> meter.plan(width=0.04, window="1d", rows_per_day=50_000).labels
        2243
        """
        rounds = planner.rounds_in(window, rows_per_day)
        return self._spread().plan(width, labels, rounds, level)

    def curve(
        self, window: int | str = 10_000, rates: Sequence[float] = RATES,
        *, rows_per_day: float | None = None, level: float = 0.95,
    ) -> list[Plan]:  # fmt: skip
        """The interval widths of a range of label budgets.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> [round(plan.width, 3) for plan in meter.curve(rates=(0.05, 0.1, 0.2))]
        [0.085, 0.058, 0.039]
        """
        rounds, spread = planner.rounds_in(window, rows_per_day), self._spread()
        shares = validation.finite("rates", validation.real("rates", rates, 1)).tolist()
        return [spread.of_labels(max(1.0, rate * rounds), rounds, level) for rate in shares]

    @property
    def rows(self) -> int:
        """How many rows were recorded, settled or not."""
        return self._sums.rows + len(self._asks)

    @property
    def asked(self) -> int:
        """How many labels were queried."""
        return self._flush().asked

    @property
    def labels(self) -> int:
        """How many answers came in time."""
        return self._flush().labels

    @property
    def open(self) -> int:
        """How many questions wait for an answer."""
        made = self._flush()
        return len(made.questions) + len(made.silent)

    @property
    def oldest(self) -> int | None:
        """The ticket of the oldest open question that estimates wait for, if there is one."""
        return min(self._flush().questions, default=None)

    @property
    def lost(self) -> int:
        """How many questions were canceled or expired."""
        return self._flush().lost

    @property
    def ignored(self) -> int:
        """How many answers came twice, too late, or without a question."""
        return self._flush().ignored

    @property
    def judged(self) -> int:
        """How many questions were settled by what a judge said, without an expert."""
        return self._flush().judged

    @property
    def blind(self) -> int:
        """How many rows could not be queried, having propensity 0."""
        return self._flush().blind

    @property
    def unpredicted(self) -> int:
        """How many rows have no prediction, as all before the first label: no estimate has them.

        >>> import lasec
        >>> meter = lasec.Meter()
        >>> meter.ask(lasec.Decision(0, 0.0, 1.0, 0.5, asked=True, ticket=0))
        >>> meter.rows, meter.unpredicted, meter.accuracy.rows
        (1, 1, 0)
        """
        return self._flush().unpredicted

    def has_prediction(self, ticket: int) -> bool:
        """Whether there was a prediction for the row of an open question.

        >>> import lasec
        >>> meter = lasec.Meter()
        >>> for label in (0, 1):
        ...     meter.ask(lasec.Decision(label, 0.0, 1.0, 0.5, asked=True, ticket=label))
        >>> meter.has_prediction(0), meter.has_prediction(1)
        (False, True)
        """
        return ticket > self._last_silent or ticket not in self._flush().silent

    def reaching(self, tolerated: float = 0.05) -> Meter:
        """A copy whose estimates cover more rows, where only a few open questions hold them back.

        Estimates end before the oldest open question. In the copy questions count as lost, at
        random, up to the last row at which they are at most the share ``tolerated`` of all that
        wait to be settled. What comes after that row stays open, and this meter does not change.

        >>> import lasec
        >>> meter = lasec.Meter()
        >>> X, y = lasec.streams.stationary(2_000, dimension=5, seed=1)
        >>> tracker = lasec.Tracker(rate=0.2, seed=0)
        >>> for x, label in zip(X, y):
        ...     decision = tracker.ask(x)
        ...     meter.ask(decision)
        ...     if decision.asked and decision.ticket > 10:
        ...         meter.tell(tracker.tell(decision.ticket, label))
        >>> meter.accuracy.rows, meter.reaching().accuracy.rows, meter.reaching().lost
        (0, 2000, 11)
        """
        share: float = number("tolerated", tolerated, float, Range(0.0, 1.0))
        self._flush()
        twin = deepcopy(self)
        end, questions = twin._sums.reach(share), twin._sums.questions
        for ticket in [t for t, question in questions.items() if question.round < end]:
            twin.cancel(ticket)
        return twin

    def scope(self, over: Over = Over.ALL) -> Scope:
        """The sums that an estimate is made of: see :func:`lasec.metrics.means.of_scope`.

        >>> import lasec
        >>> lasec.Meter().scope().block.shape[0]
        3
        """
        if over is Over.WINDOW and self.window is None:
            raise ValueError('over="window" needs a meter with a window')
        return self._flush().scope(over)

    def to_bytes(self) -> bytes:
        """The whole meter, open questions included, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> meter = lasec.Meter(window=500)
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=0))
        >>> lasec.Meter.from_bytes(meter.to_bytes())
        Meter(window=500, rows=1, asked=1, labels=0)
        """
        return record.dump(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The meter that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`.

        >>> import lasec
        >>> lasec.Meter.from_bytes(lasec.LASEC(dimension=2).to_bytes())
        Traceback (most recent call last):
        lasec.errors.StateError: foreign: this is not a meter, its kind is 'learner'
        """
        return record.load(cls, data)

    @property
    def _state(self) -> Accumulator:
        return self._flush()

    @_state.setter
    def _state(self, found: Accumulator) -> None:
        self._sums, self._last, self._room = found, found.last, -found.rows % CHUNK
        self._last_silent = max(found.silent, default=-1)

    def validate(self) -> str:
        """Why this is not a meter; empty if it can be one."""
        return "" if self._sums.window == self.window else "the sums are of another window"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(window={self.window}, rows={self.rows}, "
            f"asked={self.asked}, labels={self.labels})"
        )

    def _seen(self, ticket: object) -> int:
        """A ticket that was recorded, answered by now or not."""
        number = validation.ticket(ticket)
        if number > self._last:
            raise TicketError(f"ticket {shown(ticket)} was never seen: the last is {self._last}")
        return number

    def _begin(self) -> None:
        """Begin a chunk: at fixed rows, so that it does not matter when anyone looked."""
        self._flush().begin_chunk()
        self._room = CHUNK

    def _flush(self) -> Accumulator:
        """Sum up what has come."""
        made = self._sums
        if self._asks:
            plain = (decision[:6] for decision in self._asks)
            table = np.fromiter(chain.from_iterable(plain), np.float64, 6 * len(self._asks))
            self._add(table.reshape(-1, 6)[:, [0, 1, 3, 4, 5]])
            self._asks = []
        if self._replies:  # an expert answers after the judge
            replies, self._replies = self._replies, []
            made.reply(replies)
        if self._answers:
            answers, self._answers = self._answers, []
            made.answer(answers, self.patience)
        if self.patience is not None:
            made.expire(made.rows - 1 - self.patience)
        made.settle()
        return made

    def _add(self, columns: Array, y: Array | None = None) -> None:
        """Sum up rows that do not reach beyond the chunk."""
        self._sums.add(columns, sums.likely(columns[:, 1]), y)
        self._room -= len(columns)

    def _spread(self) -> Spread:
        scope = self.scope()
        rows, share = scope.block[[PLUS, MINUS]].sum(axis=0), scope.share
        if math.isnan(share):
            return Spread(0.25, 0.25, 1.0)
        rounds = float(rows[Column.ROUNDS])
        a, b = rows[Column.DD2] / share**2, rows[Column.DD1] / share
        return Spread(float(a) / rounds, float(b) / rounds, float(rows[Column.CHANCE]) / rounds)
