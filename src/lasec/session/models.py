"""What a session can carry: a learner of lasec, or anybody's model behind a selector and a book."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.classes import against_others
from lasec.learner import Book, Learner, Listener, counted
from lasec.parameters import Range, number
from lasec.selector import Selector
from lasec.types import Aggregate, Decision, Outcome, Query, Vector

_COUNTS = Range(1, 2**31)


class Asked(NamedTuple):
    """A decision with the class that is predicted, and the margin that the query looked at.

    ``decision`` is what a meter takes: its label is -1 for the first of two classes, and +1 for the
    second, or for the predicted one of more; 0 where there is no prediction. A model that has
    learned nothing ``is_cold``: it shows no class.
    """

    label: Any
    margin: float
    decision: Decision
    is_cold: bool = False

    @property
    def ticket(self) -> int:
        """The number of the row."""
        return self.decision.ticket

    @property
    def shown(self) -> Decision:
        """The decision as a caller sees it, with the class for a label."""
        label = None if self.is_cold else self.label
        return self.decision._replace(label=label, margin=self.margin)


class OwnModel:
    """A learner of lasec, with names for its classes.

    Labels are any that the learner takes; with ``positive``, that class against all others. Before
    the first label there is no prediction: it is None.

    >>> import lasec
    >>> model = OwnModel(lasec.LASEC(dimension=1), classes=["ham", "spam"])
    >>> asked = model.ask([2.0], None)
    >>> outcome = model.tell(asked.ticket, "ham")
    >>> asked.shown.label, model.ask([2.0], None).label
    (None, 'ham')
    """

    def __init__(
        self, learner: Learner, classes: Sequence[Hashable] = (), positive: Hashable | None = None
    ) -> None:
        self.learner, self.positive = learner, positive
        names = classes if positive is None else against_others(positive)
        if names:
            learner.name_classes(names)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), learner=copy(self.learner))
        return twin

    def asking(self) -> Self:
        """A copy to ask, which shares the arrays of the learner where asking does not change them.

        >>> import lasec
        >>> model = OwnModel(lasec.LASEC(dimension=1))
        >>> twin = model.asking()
        >>> twin.learner.state is model.learner.state, twin.ask([1.0], None).ticket
        (True, 0)
        >>> model.learner.rows
        0
        """
        learner = self.learner
        if learner.rule.facts.notes:
            return copy(self)
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), learner=counted(learner))
        return twin

    @property
    def classes(self) -> list[Any]:
        """The names of the classes that are known."""
        return list(self.learner.known_classes)

    def ask(self, row: Any, time: float | None) -> Asked:
        """What the learner decides."""
        return self._heard(self.learner.ask(row, time=time))

    def ask_many(self, X: ArrayLike, times: ArrayLike | None) -> list[Asked]:
        """The same decisions for many rows, in compiled code, for all of them or none."""
        found = self.learner.ask_many(X, times=times)
        columns = (found.label, found.margin, found.variance, found.propensity, found.asked)
        fields = zip(*(column.tolist() for column in columns), found.ticket.tolist(), strict=True)
        return [self._heard(Decision(*one)) for one in fields]

    @property
    def selector(self) -> Selector:
        """What decides on queries, in the learner."""
        return self.learner.selector

    @property
    def hears_noise(self) -> bool:
        """Whether the rule learns from labels that may be wrong."""
        return bool(self.learner.rule.facts.noise)

    def use(self, query: Query) -> None:
        """Let the learner decide by another query."""
        self.learner.query = query

    def question(self, ticket: int) -> Asked:
        """What was decided about the row of an open question."""
        return self._heard(self.learner.question(ticket))

    def tell(self, ticket: int, label: Hashable, noise: float = 0.0) -> Outcome:
        """Learn the label of an open question."""
        return self.learner.tell(ticket, self.named(label), noise=noise)

    def learn(self, row: Any, label: Hashable, noise: float = 0.0) -> Outcome:
        """Learn a label that nobody asked for."""
        return self.learner.learn(row, self.named(label), noise=noise)

    def predict(self, rows: Any) -> list[Any]:
        """The classes of rows, without a step; None before the first label."""
        found: list[Any] = self.learner.predict(rows).tolist()
        return found if self.learner.told else [None] * len(found)

    def named(self, label: Hashable) -> Hashable:
        """The class of a label: its own, or that of all that are not positive.

        >>> import lasec
        >>> OwnModel(lasec.LASEC(dimension=1), positive="spam").named("eggs")
        'not spam'
        """
        if self.positive is None or label == self.positive:
            return label
        return against_others(self.positive)[0]

    def cancel(self, ticket: int, *, lost: bool = True) -> None:
        """Give up an open question."""
        self.learner.cancel(ticket, lost=lost)

    def listen(self, listener: Listener | None) -> Listener | None:
        """Let this one hear of what the learner gives up; gives who did before."""
        return self.learner.listen(listener)

    def is_open(self, ticket: int) -> bool:
        """Whether the learner would take a label."""
        return self.learner.is_open(ticket)

    @property
    def questions(self) -> tuple[Asked, ...]:
        """The open questions, oldest first."""
        return tuple(map(self._heard, self.learner.questions))

    def _heard(self, decision: Decision) -> Asked:
        """A decision with a sign for a label: -1 is the first of two classes."""
        classes, label = self.learner.classes, decision.label
        is_cold = not self.learner.told
        sign = -1 if len(classes) == 2 and label == classes[0] else 1
        heard = decision._replace(label=0 if is_cold or label is None else sign)
        return Asked(label, decision.margin, heard, is_cold=is_cold)


class Judged(NamedTuple):
    """What a model says of a row.

    ``margin`` is what the selector looks at: the lead of the best class over the second.
    ``certainty`` is P(label is right) - P(it is wrong), for the meter.

    >>> Judged("spam", margin=0.4, certainty=0.4).variance
    0.0
    """

    label: Any
    margin: float
    certainty: float
    variance: float = 0.0


class JudgedRows(NamedTuple):
    """What a model says of many rows, a column each; see :class:`Judged`."""

    label: NDArray[Any]
    margin: Vector
    certainty: Vector


class AnyModel:
    """Anybody's model: two functions, with a selector that holds the budget and a book.

    ``judge`` gives a :class:`Judged` for a row; ``learn`` takes a row, its label and its ticket.
    A question expires after ``max_age`` rows; past ``max_pending`` open ones the oldest is
    dropped. ``keep`` makes the copy of a row that waits for its label.

    >>> import lasec
    >>> seen = []
    >>> model = AnyModel(
    ...     lambda row: Judged("ham", margin=0.0, certainty=0.0),
    ...     lambda row, label, ticket: seen.append((row["words"], label)),
    ...     Selector(lasec.queries.Always()),
    ... )
    >>> asked = model.ask({"words": 12}, None)
    >>> asked.label, model.tell(asked.decision.ticket, "spam").correct, seen
    ('ham', False, [(12, 'spam')])
    """

    def __init__(
        self,
        judge: Callable[[Any], Judged],
        learn: Callable[[Any, Any, int], object],
        selector: Selector,
        *,
        max_pending: int = 10_000,
        max_age: int | None = None,
        keep: Callable[[Any], Any] = copy,
    ) -> None:
        self.judge, self._learn, self.selector, self._keep = judge, learn, selector, keep
        self.max_age = None if max_age is None else number("max_age", max_age, int, _COUNTS)
        self.book = Book(number("max_pending", max_pending, int, _COUNTS))

    def ask(self, row: Any, time: float | None) -> Asked:
        """Predict, and let the selector decide."""
        label, margin, certainty, variance = self.judge(row)
        chance, asked, ticket = self.selector.decide(
            margin, time=time, waiting=len(self.book), variance=variance
        )
        sign = int(label is not None)
        made = Asked(label, margin, Decision(sign, certainty, variance, chance, asked, ticket))
        self._expire(ticket)
        if asked:
            self.book.add(made, self._keep(row), float(ticket))
        self.book.report()
        return made

    def ask_many(self, judged: JudgedRows, times: ArrayLike | None = None) -> list[Decision]:
        """:meth:`ask` for many rows that were judged together: the same decisions, much faster.

        The book keeps none of the rows, and ``variance`` is 0.
        """
        chances, asked, tickets = self.selector.decide_all(
            judged.margin, times, waiting=len(self.book)
        )
        sign = (judged.label != None).astype(np.int64)  # noqa: E711, one by one
        columns = (sign, judged.certainty, np.zeros(len(sign)), chances, asked, tickets)
        made = [Decision(*one) for one in zip(*(c.tolist() for c in columns), strict=True)]
        for i in np.flatnonzero(asked).tolist():
            ticket = made[i].ticket
            self._expire(ticket)
            known = Asked(judged.label[i], float(judged.margin[i]), made[i])
            self.book.add(known, None, float(ticket))
        self._expire(self.selector.rows - 1)
        self.book.report()
        return made

    def _expire(self, ticket: int) -> None:
        """Give up the questions that are too old in the row of this ticket."""
        if self.max_age is not None:
            self.book.expire(before=float(ticket - self.max_age))

    hears_noise = False
    has_probabilities = True  # a certainty is one
    aggregate = Aggregate.FIRST

    def use(self, query: Query) -> None:
        """Decide by another query from now on."""
        self.selector.use(query)

    def question(self, ticket: int) -> Asked:
        """What was decided about the row of an open question."""
        found: Asked = self.book.find(ticket, self.selector.rows).decision
        return found

    def tell(self, ticket: int, label: Hashable, noise: float = 0.0) -> Outcome:
        """Let the model learn the label of an open question."""
        self._check(noise)
        question = self.book.find(ticket, self.selector.rows)
        self._learn(question.x, label, ticket)
        self.book.settle(ticket)
        asked: Asked = question.decision
        return Outcome(asked.shown, label, bool(asked.label != label), updated=True)

    def learn(self, row: Any, label: Hashable, noise: float = 0.0) -> Outcome:
        """Let the model learn a label that nobody asked for; it counts as a row."""
        self._check(noise)
        judged, ticket = self.judge(row), self.selector.rows
        self._learn(row, label, ticket)
        self.selector.skip(1)
        decision = Decision(judged.label, judged.margin, judged.variance, 0.0, False, ticket)
        return Outcome(decision, label, bool(judged.label != label), updated=True)

    @staticmethod
    def _check(noise: float) -> None:
        if noise:
            raise ValueError("noise: this model takes every label for true")

    def predict(self, rows: Any) -> list[Any]:
        """The classes of rows, without a step."""
        return [self.judge(row).label for row in rows]

    def cancel(self, ticket: int, *, lost: bool = True) -> None:
        """Give up an open question."""
        self.book.find(ticket, self.selector.rows)
        if lost:
            self.book.give_up(ticket)
            self.book.report()
        else:
            self.book.settle(ticket)

    def listen(self, listener: Listener | None) -> Listener | None:
        """Let this one hear of every question that is given up; gives who did before."""
        before, self.book.listener = self.book.listener, listener
        return before

    def is_open(self, ticket: int) -> bool:
        """Whether a question still waits for its label."""
        return ticket in self.book

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first."""
        return tuple(self.book)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), selector=copy(self.selector), book=copy(self.book))
        return twin

    @property
    def questions(self) -> tuple[Asked, ...]:
        """The open questions, oldest first."""
        return tuple(self.book.find(t, self.selector.rows).decision for t in self.pending)
