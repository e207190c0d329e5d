"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards
from lasec.kernel.philox import draw, uniforms
from lasec.kernel.rows import LARGEST_STRAIN, ask_row, run_rows, tell_row
from lasec.model import Model
from lasec.records import Records
from lasec.types import Decision, Outcome, Update, Vector


class Learner(Model):
    """An online classifier that asks for labels: :meth:`ask`, then :meth:`tell` what was asked.

    ``ask`` predicts and decides; it never changes the model. ``tell`` is the only writer. Labels
    may come late, out of order, or never: up to ``max_pending`` asked rows are remembered, and past
    that the oldest question is dropped. A round's coin depends only on ``seed`` and its ticket. A
    learner belongs to one thread at a time.

    ``rounds``, ``asked``, ``told``, ``updates`` and ``dropped`` count what has happened so far;
    ``state`` holds the model's arrays.

    >>> import lasec
    >>> rule, query = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Uniform(rate=0.2)
    >>> learner = Learner(rule, query, dimension=5)
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> for x, label in zip(X, y):
    ...     decision = learner.ask(x)
    ...     if decision.asked:
    ...         outcome = learner.tell(decision.ticket, label)
    >>> learner
    Learner('SecondOrder + Uniform', dimension=5, rounds=1000, asked=187, updates=23)
    """

    def ask(self, x: ArrayLike, *, coin: float | None = None) -> Decision:
        """Predict the label of ``x``, and decide whether to ask for the true one.

        ``coin`` is a uniform number in [0, 1) to use instead of the learner's own.

        >>> import lasec
        >>> learner = lasec.LASEC_SS(dimension=2, caution=1.0)
        >>> learner.ask([0.5, -1.0])
        Decision(label=1, margin=0.0, variance=1.25, propensity=1.0, asked=True, ticket=0)
        """
        row = guards.row(x, self.dimension)
        tossed = None if coin is None else float(guards.coins("coin", [coin], 1)[0])
        ticket = self.rounds
        label, margin, variance, propensity = self._look(row, ticket)
        if tossed is None:
            tossed = draw(np.uint64(self.seed), np.uint64(ticket))[0]
        decision = Decision(label, margin, variance, propensity, tossed < propensity, ticket)
        self.rounds += 1
        if decision.asked:
            self.asked += 1
            self.dropped += self._pending.add(decision, row)
        return decision

    def tell(self, ticket: int, y: int) -> Outcome:
        """Learn the label of an instance that was asked about.

        A ticket that is not open (never given out, not asked, told already, dropped) is refused
        with a :class:`~lasec.errors.TicketError`.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> decision = learner.ask([0.5, -1.0])
        >>> outcome = learner.tell(decision.ticket, -1)
        >>> outcome.correct, outcome.updated
        (False, True)
        """
        decision, x = self._pending.find(ticket, self.rounds)
        outcome = self._learn(decision, x, guards.label(y))
        self._pending.close(decision.ticket)
        return outcome

    def tell_row(self, x: ArrayLike, y: int) -> Outcome:
        """Learn a labelled instance that came for free, without having been asked about.

        It takes a ticket of its own; its decision has propensity 0, since no coin was thrown.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.tell_row([0.5, -1.0], -1).updated
        True
        """
        row, label = guards.row(x, self.dimension), guards.label(y)
        predicted, margin, variance, _ = self._look(row, self.rounds)
        decision = Decision(predicted, margin, variance, 0.0, asked=False, ticket=self.rounds)
        outcome = self._learn(decision, row, label)
        self.rounds += 1
        return outcome

    def run(self, X: ArrayLike, y: ArrayLike, *, coins: ArrayLike | None = None) -> Records:
        """Ask and, where asked, tell at once, for each row: a whole chunk in compiled code.

        The decisions are those of the loop over :meth:`ask` and :meth:`tell`, however the stream is
        cut into chunks. ``coins`` are uniform numbers to use instead of the learner's own.

        >>> import lasec
        >>> X, y = lasec.streams.switching(seed=1)
        >>> lasec.LASEC_SS(dimension=50, drift=0.01, ridge=0.5, caution=0.02).run(X, y)
        Records(rounds=10000, accuracy=0.700, labels=3496, rate=0.350)
        """
        rows = guards.rows(X, self.dimension)
        n = len(rows)
        signs = guards.labels(y, n)
        draws = uniforms(self.seed, self.rounds, n)
        if coins is not None:
            draws[:, 0] = guards.coins("coins", coins, n)
        numbers, flags = np.empty((n, 3)), np.empty((n, 4), dtype=np.bool_)
        before = [array.copy() for array in self.state]
        try:
            bad = run_rows(
                self.rule, self.query, self.state, rows, signs, draws,
                self.rounds, self.update == Update.MISTAKES, numbers, flags,
            )  # fmt: skip
            if bad >= 0:
                raise _too_large(f"X: row {bad}")
            records = _records(self.rounds, numbers, flags)
        except BaseException:
            for array, old in zip(self.state, before, strict=True):
                array[...] = old
            raise
        self.rounds += n
        self.asked += records.labels
        self.told += records.labels
        self.updates += int(records.updated.sum())
        return records

    def _look(self, x: Vector, ticket: int) -> tuple[int, float, float, float]:
        """Predicted label, margin, variance and probability of asking, or an error about ``x``."""
        raw, variance, margin, propensity, bearable = ask_row(
            self.rule, self.query, self.state, x, ticket + 1
        )
        if not bearable:
            raise _too_large("x")
        return 1 if raw >= 0.0 else -1, margin, variance, propensity

    def _learn(self, decision: Decision, x: Vector, y: float) -> Outcome:
        """Let the label in, under the model of this moment."""
        spare = draw(np.uint64(self.seed), np.uint64(decision.ticket))[1]
        mistakes_only = self.update == Update.MISTAKES
        mistake, wanted, usable = tell_row(self.rule, self.state, x, y, spare, mistakes_only)
        if wanted and not usable:
            raise _too_large(f"the row of ticket {decision.ticket}")
        self.told += 1
        self.updates += wanted
        return Outcome(decision, int(y), mistake, wanted)


def _records(first: int, numbers: NDArray[np.float64], flags: NDArray[np.bool_]) -> Records:
    """The columns that the compiled loop has filled, by name."""
    margin, variance, propensity = numbers.T.copy()
    positive, asked, mistake, updated = flags.T.copy()
    label = np.where(positive, 1, -1).astype(np.int8)
    return Records(first, label, margin, variance, propensity, asked, mistake, updated)


def _too_large(where: str) -> ValueError:
    return ValueError(
        f"{where}: too large for this model, a label there could shrink its covariance more than "
        f"{LARGEST_STRAIN:g} times: scale the input"
    )
