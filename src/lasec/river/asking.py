"""What can ask: a gate that holds the budget, the open questions, and how good predictions were."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple

from lasec import guards
from lasec.errors import TicketError
from lasec.gate import Gate
from lasec.metrics import Meter
from lasec.parameters import Range, number, shown
from lasec.tracker import steady
from lasec.types import Decision, Outcome, Query

Row = dict[Hashable, Any]
_COUNTS = Range(1, 2**31)


class ClassDecision(NamedTuple):
    """What ``ask_one`` answers: as :class:`lasec.Decision`, with a class for the label.

    ``label`` is what ``predict_one`` would say, None before any label is known. ``margin`` is how
    far it leads, see :func:`lasec.gate.lead`. ``propensity`` is the probability with which the
    label was going to be asked, ``asked`` how the coin fell, and ``ticket`` is what ``tell_one``
    wants back.

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


class _Boxed:
    """A query on its way through a clone: River cannot clone one that is an empty tuple."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def __repr__(self) -> str:
        return repr(self.query)


class Asking:
    """The half of a classifier that asks; the other half predicts (``_judged``) and learns.

    ``meter`` is a :class:`lasec.Meter` that is told everything: ``meter.accuracy`` is an honest
    estimate over all rows asked or not, for any number of classes. A round counts as +1 in it, and
    an answer as +1 or -1 for right or wrong, so that accuracy and log loss are what it can tell.
    It speaks of the rounds before the oldest question that is still open, so a label that will
    never come has to be given up: by ``lose_one``, or by itself after ``max_age`` rounds. Without a
    ``max_age`` a question stays open until more than ``max_pending`` are, and the meter waits for
    its answer for as many rounds.
    """

    def _open(
        self,
        rate: float,
        query: Query | None,
        seed: int | None,
        max_pending: int,
        max_age: int | None,
    ) -> None:
        """Nothing asked yet."""
        query = query.query if isinstance(query, _Boxed) else query
        if query is not None and rate != 0.1:
            raise ValueError("query: it has a rate of its own, so give one or the other")
        self.rate, self.query, self.seed = rate, query, seed
        self.max_pending: int = number("max_pending", max_pending, int, _COUNTS)
        self.max_age = None if max_age is None else number("max_age", max_age, int, _COUNTS)
        self.meter = Meter(patience=self.max_pending if max_age is None else None)
        self._gate = Gate(steady(rate) if query is None else query, seed=seed)
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
        decision, sure = self._judged(x, time)
        self.meter.ask(Decision(1, sure, *decision[2:]))
        if self.max_age is not None:
            while self._questions and decision.ticket - next(iter(self._questions)) > self.max_age:
                self.lose_one(next(iter(self._questions)))
        if decision.asked:
            self._questions[decision.ticket] = dict(x), decision
            if len(self._questions) > self.max_pending:
                self.lose_one(next(iter(self._questions)))
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
        x, decision = self._question(ticket)
        self._learn(x, named(y), ticket)
        del self._questions[ticket]
        right = bool(decision.label == y)
        seen = Decision(1, *decision[1:])
        self.meter.tell(Outcome(seen, 1 if right else -1, mistake=not right, updated=True))
        return right

    def lose_one(self, ticket: int) -> None:
        """Give up a question whose answer will not come; the meter waits for it no longer.

        >>> from lasec.river import TrackerClassifier
        >>> model = TrackerClassifier()
        >>> model.lose_one(model.ask_one({"size": 2.0}).ticket)
        >>> model.pending, model.meter.lost
        ((), 1)
        """
        self._question(ticket)
        del self._questions[ticket]
        self.meter.lose(ticket)

    def _question(self, ticket: int) -> tuple[Row, ClassDecision]:
        """What is remembered of an open ticket."""
        guards.ticket(ticket)
        if ticket not in self._questions:
            raise TicketError(
                f"ticket {ticket} is not open: it was not given out or not asked, has been told "
                "or given up already, is older than max_age, or was dropped because more than "
                f"{self.max_pending} were open"
            )
        return self._questions[ticket]

    def _get_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._get_params()  # type: ignore[misc]
        query: Any = self.query
        return params | {"query": _Boxed(query)} if query == () else params

    @abstractmethod
    def _judged(self, x: Row, time: float | None) -> tuple[ClassDecision, float]:
        """The decision about a row, and P(it is right) - P(it is wrong)."""

    @abstractmethod
    def _learn(self, x: Row, y: Any, ticket: int) -> None:
        """Learn the label of the row that had this ticket."""


def named(y: Any) -> Any:
    """The label itself, unless it is missing: None, NaN or the like.

    >>> named("spam")
    'spam'
    >>> named(float("nan"))
    Traceback (most recent call last):
    ValueError: y: nan is no label
    """
    try:
        hash(y)
        missing = y is None or bool(y != y)  # noqa: PLR0124
    except Exception:  # pandas.NA will not say; a list cannot be a class
        missing = True
    if missing:
        raise ValueError(f"y: {shown(y)} is no label")
    return y
