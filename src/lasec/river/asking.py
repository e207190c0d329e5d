"""What can ask: a budget, its coins, the open questions, and how good the predictions were."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple

from lasec import snapshot
from lasec.draws import SEEDS, uniforms
from lasec.errors import TicketError
from lasec.kernel import dispatch
from lasec.metrics import Meter
from lasec.parameters import Range, number
from lasec.queries import Always, Uniform
from lasec.tracker import Tracker
from lasec.types import Decision, Margin, Moment, Outcome, Query

Row = dict[Hashable, Any]
_MANY = 128


class ClassDecision(NamedTuple):
    """What ``ask_one`` answers: as :class:`lasec.Decision`, with a class for the label.

    ``label`` is what ``predict_one`` would say, None before any label is known. ``margin`` is how
    far it leads: the size of the margin for two classes, half the lead over the second class for
    more. ``propensity`` is the probability with which the label was going to be asked, ``asked``
    how the coin fell, and ``ticket`` is what ``tell_one`` wants back.

    >>> decision = ClassDecision("spam", 0.2, 0.0, propensity=0.5, asked=True, ticket=7)
    >>> decision.ticket if decision.asked else None
    7
    """

    label: Any
    margin: float
    variance: float
    propensity: float
    asked: bool
    ticket: int


class Asking:
    """The half of a classifier that asks; the other half predicts (``_judged``) and learns.

    ``meter`` is a :class:`lasec.Meter` that is told everything: ``meter.accuracy`` is an honest
    estimate over all rows asked or not, for any number of classes. A round counts as +1 in it, and
    an answer as +1 or -1 for right or wrong, so that accuracy and log loss are what it can tell.
    """

    def _open(self, rate: float, query: Query | None, seed: int, max_pending: int) -> None:
        """Nothing asked yet."""
        if query is not None and rate != 0.1:
            raise ValueError("query: it has a rate of its own, so give one or the other")
        self.rate = rate
        # River cannot clone a parameter that is an empty tuple.
        self.query = Uniform(1.0) if isinstance(query, Always) else query
        self.seed: int = number("seed", seed, int, SEEDS)
        self.max_pending: int = number("max_pending", max_pending, int, Range(1, 2**31))
        self.meter = Meter()
        self._asks = self.query or Tracker(dimension=1, rate=rate).query
        self._memory = snapshot.memory(self._asks)
        self._rounds = self._drawn = 0
        self._coins: list[float] = []
        self._questions: dict[int, tuple[Row, ClassDecision]] = {}

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first."""
        return tuple(self._questions)

    def ask_one(self, x: Row, *, time: float | None = None) -> ClassDecision:
        """Predict the class of ``x``, and decide whether to ask for the true one.

        ``time`` is when ``x`` came, for budgets by time. The label is told with :meth:`tell_one`.

        >>> from lasec.river import TrackerClassifier
        >>> TrackerClassifier().ask_one({"size": 2.0, "member": True}).asked
        True
        """
        if time is None and getattr(self._asks, "timed", False):
            raise ValueError("time: this budget is by time, so every row must say when it came")
        ticket = self._rounds
        now = Moment(ticket + 1, ticket + 1.0 if time is None else time, len(self._questions))
        decision, sure = self._judged(x, now)
        self._rounds += 1
        self.meter.ask(Decision(1, sure, *decision[2:]))
        if decision.asked:
            self._questions[ticket] = dict(x), decision
            if len(self._questions) > self.max_pending:
                lost = next(iter(self._questions))
                del self._questions[lost]
                self.meter.lose(lost)
        return decision

    def tell_one(self, ticket: int, y: Hashable) -> bool:
        """Learn the label that was asked for; whether the prediction given out then was right.

        >>> from lasec.river import TrackerClassifier
        >>> model = TrackerClassifier()
        >>> decision = model.ask_one({"size": 2.0})
        >>> model.tell_one(decision.ticket, "spam")
        False
        >>> model.ask_one({"size": 2.0}).label, model.pending
        ('spam', (1,))
        """
        if ticket not in self._questions:
            raise TicketError(
                f"ticket {ticket} is not open: it was not given out or not asked, has been told "
                f"already, or was dropped because more than {self.max_pending} were open"
            )
        x, decision = self._questions[ticket]
        self._learn(x, y, ticket)
        del self._questions[ticket]
        right = bool(decision.label == y)
        seen = Decision(1, *decision[1:])
        self.meter.tell(Outcome(seen, 1 if right else -1, mistake=not right, updated=True))
        return right

    @abstractmethod
    def _judged(self, x: Row, now: Moment) -> tuple[ClassDecision, float]:
        """The decision about a row, and P(it is right) - P(it is wrong)."""

    @abstractmethod
    def _learn(self, x: Row, y: Any, ticket: int) -> None:
        """Learn the label of the row that had this ticket."""

    def _toss(self, margin: Margin, now: Moment) -> tuple[float, bool]:
        """The probability of asking, and how the coin falls; the round is counted."""
        chance = dispatch.chance(self._asks, margin, self._memory, now)
        place = now.round - 1 - self._drawn
        if not 0 <= place < len(self._coins):  # many at a time, which is cheaper
            self._drawn, place = now.round - 1, 0
            self._coins = uniforms(self.seed, self._drawn, _MANY)[:, 0].tolist()
        asked = self._coins[place] < chance
        dispatch.spend(self._asks, self._memory, asked, now)
        return chance, asked
