"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, kernel
from lasec.book import Question, decided
from lasec.model import Model
from lasec.parameters import Range, number
from lasec.records import Records
from lasec.types import Decision, Outcome, Policy, Update, Vector


class Learner(Model):
    """An online classifier that asks for labels: :meth:`ask`, then :meth:`tell` what was asked.

    ``ask`` predicts and decides; it never changes the model. ``tell`` is the only writer. Labels
    may come late, out of order, or never: up to ``max_pending`` asked rows are remembered, and past
    that the oldest question is dropped; with ``max_age``, a question that has been open for more
    rounds (or more seconds, where times are given) expires. Times are seconds since 1970: a row
    dated more than ``lead`` seconds ahead of the machine's clock is served, but moves no clock
    (``lead=None``: every time is taken as it is, in any unit). Several answers to one question are
    settled by ``policy``: "first", "last", or the "majority" of ``opinions``. A round's random draw
    depends only on ``seed`` and its ticket. Without a ``seed``, 64 random bits are drawn and saved
    with the model: whoever knows the seed knows which rows will be asked about. A learner belongs
    to one thread at a time.

    ``rounds``, ``asked``, ``told``, ``updates``, ``dropped``, ``expired`` and ``contradicted``
    count what has happened so far; ``state`` holds the model's arrays, ``memory`` what the query
    remembers, if it remembers.

    >>> import lasec
    >>> rule, query = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Uniform(rate=0.2)
    >>> learner = Learner(rule, query, dimension=5, seed=0)
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> for x, label in zip(X, y):
    ...     decision = learner.ask(x)
    ...     if decision.asked:
    ...         outcome = learner.tell(decision.ticket, label)
    >>> learner
    Learner('SecondOrder + Uniform', dimension=5, rounds=1000, asked=187, updates=23)
    """

    def ask(
        self, x: ArrayLike, *, time: float | None = None, coin: float | None = None
    ) -> Decision:
        """Predict the label of ``x``, and decide whether to ask for the true one.

        ``time`` is when ``x`` came, for budgets by time; without it, rounds are counted. ``coin``
        is a uniform number in [0, 1) to use instead of the learner's own.

        >>> import lasec
        >>> learner = lasec.LASEC_SS(dimension=2, caution=1.0, seed=0)
        >>> learner.ask([0.5, -1.0])
        Decision(label=1, margin=0.0, variance=1.25, propensity=1.0, asked=True, ticket=0)
        """
        with self._busy:
            row = self._row(x)
            tossed = -1.0 if coin is None else float(guards.coins("coin", [coin], 1)[0])
            now = self._moment(time)
            decision = self._look(row, tossed, self.memory, now)
            self.rounds += 1
            if time is not None:
                self.clock.latest = max(self.clock.latest, now)
            self._expire(now)
            if decision.asked:
                self.asked += 1
                self.dropped += self._book.add(decision, row.copy(), now)
            return decision

    def tell(self, ticket: int, y: int) -> Outcome:
        """Learn the label of an instance that was asked about.

        A ticket that is not open (never given out, not asked, told already, expired, dropped) is
        refused with a :class:`~lasec.errors.TicketError`. What a second answer to the same question
        does is a matter of the learner's ``policy``.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> decision = learner.ask([0.5, -1.0])
        >>> outcome = learner.tell(decision.ticket, -1)
        >>> outcome.correct, outcome.updated
        (False, True)
        >>> learner = lasec.LASEC(dimension=2, policy="majority", opinions=3)
        >>> decision = learner.ask([0.5, -1.0])
        >>> [learner.tell(decision.ticket, y).settled for y in (-1, 1, -1)]
        [False, False, True]
        """
        with self._busy:
            question = self._book.find(ticket, self.rounds)
            return self._hear(question, guards.label(y))

    def cancel(self, ticket: int) -> None:
        """Give up an open question: its answer will not come, and would be refused if it did.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.cancel(learner.ask([0.5, -1.0]).ticket)
        >>> learner.pending, learner.given_up()[0].why.value, learner.dropped
        ((), 'canceled', 1)
        """
        with self._busy:
            self._book.find(ticket, self.rounds)
            self.dropped += self._book.give_up(int(ticket))

    def tell_row(self, x: ArrayLike, y: int) -> Outcome:
        """Learn a labelled instance that came for free, without having been asked about.

        It takes a ticket of its own; its decision has propensity 0, since no coin was thrown.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.tell_row([0.5, -1.0], -1).updated
        True
        """
        with self._busy:
            row, label = self._row(x), guards.label(y)
            seen = self._look(row, 0.0, self.memory.copy(), float(self.rounds))
            decision = seen._replace(propensity=0.0, asked=False)
            outcome = self._learn(decision, row, label)
            self.told += 1
            self.rounds += 1
            return outcome

    def margins(self, X: ArrayLike) -> Vector:
        """The margin of each row, as of the next round; nothing is counted, queried or learned.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> outcome = learner.tell_row([1.0, 0.0], -1)
        >>> learner.margins([[1.0, 0.0], [-3.0, 0.0]]).round(3).tolist()
        [-0.331, 0.268]
        """
        with self._busy:
            rows = guards.finite("X", guards.rows(X, self.dimension, self._kind))
            found = np.empty(len(rows))
            kernel.engine.margins(self.rule, self.state, rows, self.rounds + 1, found)
        return found

    def predict(self, X: ArrayLike) -> NDArray[np.int8]:
        """The label of each row, -1 or +1, as of the next round; a margin of zero counts as +1.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> outcome = learner.tell_row([1.0, 0.0], -1)
        >>> learner.predict([[1.0, 0.0], [-3.0, 0.0]]).tolist(), learner.rounds
        ([-1, 1], 1)
        """
        return np.where(self.margins(X) >= 0.0, 1, -1).astype(np.int8)

    def hurry(self, labels: float, *, over: float) -> None:
        """Ask more for a while: spend ``labels`` of the budget now, and save them again later.

        They are saved evenly over the next ``over`` rounds (or so much time, where the budget is by
        time), and the budget's hard cap holds all the same. For use after an alarm.

        >>> import lasec
        >>> learner = lasec.Tracker(dimension=2, rate=0.1, seed=0)
        >>> learner.hurry(50, over=2_000)
        >>> lasec.LASEC(dimension=2).hurry(50, over=2_000)
        Traceback (most recent call last):
        TypeError: Always holds no budget: there is nothing to spend earlier
        """
        query: Any = self.query
        if not hasattr(query, "lend"):
            raise TypeError(
                f"{type(query).__name__} holds no budget: there is nothing to spend earlier"
            )
        lent = number("labels", labels, float, Range(0.0, 1e12))
        ticks = number("over", over, float, Range(1e-12, 1e12))
        with self._busy:
            query.lend(self.memory, lent, ticks)

    def run(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        times: ArrayLike | None = None,
        coins: ArrayLike | None = None,
        lazy: bool = False,
    ) -> Records:
        """Ask and, where asked, tell at once, for each row: a whole chunk in compiled code.

        The decisions are those of the loop over :meth:`ask` and :meth:`tell`, however the stream is
        cut into chunks (questions that were open before count as open to the end of the chunk, and
        one label settles a question, whatever the policy). ``times`` says when each row came, for
        budgets by time; ``coins`` are uniform numbers to use instead of the learner's own. With
        ``lazy`` the decisions are the same, but margin, variance and propensity of a row that was
        not asked are only computed where the decision needs them, and may be NaN elsewhere; that
        saves most of the time where rows are wide (from 64 features on) and few are asked.

        >>> import lasec
        >>> X, y = lasec.streams.switching(seed=1)
        >>> lasec.LASEC_SS(dimension=50, drift=0.01, ridge=0.5, caution=0.02, seed=0).run(X, y)
        Records(rounds=10000, accuracy=0.700, labels=3496, rate=0.350)
        """
        with self._busy:
            return self._run(X, y, times, coins, lazy)

    def _run(
        self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None, coins: ArrayLike | None,
        lazy: bool,
    ) -> Records:  # fmt: skip
        """All rows of a chunk, or none of them."""
        rows = guards.rows(X, self.dimension, self._kind)
        n = len(rows)
        signs = guards.labels(y, n)
        given, clock = guards.given(coins, n), self._clock(times, n)
        lazy = number("lazy", lazy, bool, None) and self._can_be_lazy()
        engine, memory = kernel.engine, self.memory.copy()
        seed, waiting = np.uint64(self.seed), self._book.waiting
        chunk = engine.Chunk(rows, signs, seed, self.rounds, given, clock, waiting)
        bad, columns, state, bound = engine.run(
            self.rule, self.query, self.state, memory, chunk, lazy=lazy,
            mistakes_only=self.update == Update.MISTAKES, bound=self._eigenvalue_bound,
        )  # fmt: skip
        if bad >= 0:
            guards.finite("X", rows[bad])
            raise self._too_large(f"X: row {bad}")
        records = Records(*columns, first=self.rounds)
        labels, updates = records.labels, int(records.updated.sum())
        vars(self).update(  # one step, so that no signal can come in between
            state=state,
            memory=memory,
            _eigenvalue_bound=bound,
            rounds=self.rounds + n,
            asked=self.asked + labels,
            told=self.told + labels,
            updates=self.updates + updates,
        )
        self.clock.advance(clock)
        if n:
            self._expire(float(clock[-1]) if clock.size else float(self.rounds))
        return records

    def _expire(self, now: float) -> None:
        """Give up questions that have been open for too long."""
        if self.max_age is not None:
            self.expired += self._book.expire(before=now - self.max_age)

    def _can_be_lazy(self) -> bool:
        """Whether it pays to decide rows without their variance, and the query allows it."""
        wide = self.dimension >= kernel.engine.LAZY_FROM
        return wide and bool(getattr(self.query, "rises_with_variance", False))

    def _row(self, x: ArrayLike) -> Vector:
        """One instance as the compiled code wants it; as it stands where it is that already."""
        if (
            type(x) is np.ndarray
            and x.dtype == self._kind
            and x.shape == (self.dimension,)
            and x.flags.carray
        ):
            return x
        return guards.row(x, self.dimension, self._kind)

    def _moment(self, time: float | None) -> float:
        """When a row came: the time that was given, or the number of its round."""
        if time is None:
            self._clock(None, 0)
            return self.rounds + 1.0
        return self.clock.one(float(guards.times([time], 1)[0]))

    def _clock(self, times: ArrayLike | None, count: int) -> Vector:
        """When each row of a chunk came; empty where rounds are counted."""
        return self.clock.trusted(guards.clock(self.query, times, count))

    def _look(self, x: Vector, coin: float, memory: Vector, time: float) -> Decision:
        """What the model says about ``x``, and whether to ask, or an error about ``x``."""
        if self._asker is None:
            self._asker = kernel.engine.asker(self.rule, self.query, self.state, memory, x)
        fine, raw, margin, variance, propensity, asked = self._asker(
            self.rule, self.query, self.state, memory, x, self.seed, self.rounds, coin, time,
            self._book.waiting,
        )  # fmt: skip
        if not fine:
            guards.finite("x", x)
            raise self._too_large("x")
        label = 1 if raw >= 0.0 else -1
        return Decision(label, margin, variance, propensity, asked, self.rounds)

    def _hear(self, question: Question, y: float) -> Outcome:
        """Let an answer in, and the label too, if the answers so far decide it."""
        plus, minus = question.plus, question.minus
        last = self.policy is Policy.LAST
        heard = Question(
            question.decision, question.x, question.time,
            plus=(0 if last else plus) + (y > 0.0), minus=(0 if last else minus) + (y < 0.0),
        )  # fmt: skip
        heard.answer = verdict = decided(heard, self.policy, self.opinions)
        decision = question.decision
        if verdict == question.answer:  # not decided yet, or nothing new
            outcome = Outcome(decision, int(y), decision.label != y, False, settled=verdict != 0)
        else:
            outcome = self._learn(decision, question.x, float(verdict))
            self.told += not question.answered
        self._book.hear(question, heard)
        self.contradicted += (minus if y > 0.0 else plus) > 0
        if verdict and not last:
            self._book.close(decision.ticket)
        return outcome

    def _learn(self, decision: Decision, x: Vector, y: float) -> Outcome:
        """Let the label in, under the model of this moment."""
        if self._teller is None:
            self._teller = kernel.engine.teller(self.rule, self.state, x)
        mistake, wanted, usable = self._teller(
            self.rule, self.state, x, y, self.seed, decision.ticket, self.update == Update.MISTAKES
        )
        if wanted and not usable:
            raise self._too_large(f"the row of ticket {decision.ticket}")
        self._eigenvalue_bound = None
        self.updates += wanted
        return Outcome(decision, int(y), mistake, wanted)

    def _too_large(self, where: str) -> ValueError:
        limit = kernel.engine.largest_strain(self.state)
        return ValueError(
            f"{where}: too large for this model, a label there could shrink its covariance more "
            f"than {limit:g} times: scale the input"
        )
