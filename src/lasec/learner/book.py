"""The book of open questions: what is remembered of a queried row until its label comes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec import sparse, validation
from lasec.errors import StateError, TicketError
from lasec.parameters import Range
from lasec.persistence.container import Arrays
from lasec.persistence.record import POSITIVE, RISING, Shape
from lasec.types import Aggregate, Decision

_MOST_VOTES = 999
Each = Annotated[NDArray[np.float64], Shape("open")]


class Why(StrEnum):
    """Why a question was given up: too old, too many open ones, or canceled by the caller.

    >>> Why("expired") is Why.EXPIRED
    True
    """

    EXPIRED = "expired"
    DROPPED = "dropped"
    CANCELED = "canceled"


class GivenUp(NamedTuple):
    """A question that was given up without an answer, and why.

    >>> GivenUp(7, Why.EXPIRED).why.value
    'expired'
    """

    ticket: int
    why: Why


Listener = Callable[[GivenUp], object]


class Question(NamedTuple):
    """One open question: what was decided about which row and when, and the answers so far.

    A row is kept in the form it came in: an array, the pairs of a sparse row, or a dict of
    features. ``answers`` are the codes of the labels that were told, and settle nothing yet.
    """

    decision: Any
    x: Any
    time: float
    answers: tuple[int, ...] = ()


class Pending(NamedTuple):
    """Open questions as a file holds them: an entry of each array for a question.

    ``votes`` are numbers of answers by class, and ``rows`` a matrix, or the parts of sparse rows.
    """

    limit: Annotated[int, Range(1, 2**31)]
    ticket: Annotated[NDArray[np.int64], Shape("open"), Range(0, 2**62), RISING]
    label: Each
    margin: Each
    variance: Annotated[Each, POSITIVE]
    propensity: Annotated[Each, Range(math.ulp(0.0), 1.0)]
    time: Annotated[Each, Range(-1e60, 1e60)]
    votes: Annotated[NDArray[np.int64], Shape("open", "classes"), Range(0, _MOST_VOTES)]
    rows: Arrays

    def validate(self) -> str:
        """Why these cannot be open questions; empty if they can."""
        return "" if (np.diff(self.time) >= 0.0).all() else "the open tickets are not in order"


class Book:
    """Open questions by ticket, in the order in which they were asked, at most ``limit`` of them.

    Where one more is added past the limit, the oldest is dropped: its label will be refused. What
    is given up is kept for the ``listener``, if there is one, until :meth:`report` hands it over.
    A copy has the same one, a pickle none. A clock that jumps back stands still.

    >>> book, heard = Book(limit=2), []
    >>> book.listener = heard.append
    >>> asked = Decision(1, 0.2, 1.0, 0.5, asked=True, ticket=0)
    >>> [book.add(asked._replace(ticket=t), np.zeros(2), float(t)) for t in (0, 4, 9)]
    [0, 0, 1]
    >>> list(book), book.expire(before=7.0), list(book)
    ([4, 9], 1, [9])
    >>> book.report()
    >>> [(gone.ticket, gone.why.value) for gone in heard]
    [(0, 'dropped'), (4, 'expired')]
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0  # of the rows of all questions, where they are arrays
        self.listener: Listener | None = None
        self._gone: deque[GivenUp] = deque()
        self._open: dict[int, Question] = {}
        self._latest = -math.inf

    def __copy__(self) -> Book:
        twin = Book(self.limit)
        twin._open, twin._gone = self._open.copy(), self._gone.copy()
        twin.bytes, twin._latest, twin.listener = self.bytes, self._latest, self.listener
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"listener": None}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[int]:
        return iter(self._open)

    def __contains__(self, ticket: object) -> bool:
        return ticket in self._open

    @property
    def oldest(self) -> float:
        """When the oldest open question was asked; infinite if none is."""
        return next(iter(self._open.values())).time if self._open else math.inf

    def add(self, decision: Any, x: Any, time: float) -> int:
        """Open a ticket, with a copy of its row; gives how many were dropped for it (0 or 1)."""
        latest = max(self._latest, time)
        question = Question(decision, x, latest)
        self._open[decision.ticket], self._latest = question, latest
        self.bytes += getattr(x, "nbytes", 0)
        if len(self._open) <= self.limit:
            return 0
        self.give_up(next(iter(self._open)), Why.DROPPED)
        return 1

    def expire(self, before: float) -> int:
        """Close the tickets that are older; gives how many they were."""
        count = 0
        while self.oldest < before:
            self.give_up(next(iter(self._open)), Why.EXPIRED)
            count += 1
        return count

    def give_up(self, ticket: int, why: Why = Why.CANCELED) -> None:
        """Close a ticket without waiting any longer."""
        self.settle(ticket)
        if self.listener is not None:
            self._gone.append(GivenUp(ticket, why))

    def report(self) -> None:
        """Let the listener hear of what was given up since the last report, oldest first."""
        while self._gone and self.listener is not None:
            self.listener(self._gone.popleft())

    def find(self, ticket: int, issued: int) -> Question:
        """What is remembered of an open ticket; ``issued`` is how many have been given out."""
        if type(ticket) is int and ticket in self._open:
            return self._open[ticket]
        validation.ticket(ticket)
        if not 0 <= ticket < issued:
            raise TicketError(f"ticket {ticket} was never given out: the next one is {issued}")
        if ticket not in self._open:
            raise TicketError(
                f"ticket {ticket} is not open: its label was not asked for, has come already, "
                f"has expired, or was dropped because more than {self.limit} were open"
            )
        return self._open[int(ticket)]

    def hear(self, question: Question, answers: tuple[int, ...]) -> None:
        """Take note of the answers to a question so far, which do not settle it."""
        self._open[question.decision.ticket] = question._replace(answers=answers)

    def settle(self, ticket: int) -> None:
        """Forget a ticket whose label has come."""
        self.bytes -= getattr(self._open.pop(ticket).x, "nbytes", 0)

    def restate(self, ticket: int, x: Any) -> None:
        """Keep another row with a question."""
        question = self._open[ticket]
        self.bytes += getattr(x, "nbytes", 0) - getattr(question.x, "nbytes", 0)
        self._open[ticket] = question._replace(x=x)

    def resize(self, dimension: int) -> None:
        """Let all rows have so many features: zeros are added, or the last ones are cut off.

        >>> book = Book(limit=2)
        >>> book.add(Decision(1, 0.2, 1.0, 0.5, asked=True, ticket=0), np.ones(2), 0.0)
        0
        >>> book.resize(3)
        >>> book.find(0, 1).x.tolist(), book.bytes
        ([1.0, 1.0, 0.0], 24)
        """
        for ticket, question in self._open.items():
            if not question.x.dtype.names:  # the pairs of a sparse row say their columns
                x = np.zeros(dimension)
                x[: question.x.size] = question.x[:dimension]
                self.restate(ticket, x)

    def recode(self, codes: dict[int, int]) -> None:
        """Put other codes in the place of those of the labels, where classes are renumbered."""
        for ticket, asked in self._open.items():
            self._open[ticket] = asked._replace(
                decision=asked.decision._replace(label=codes[asked.decision.label]),
                answers=tuple(codes[code] for code in asked.answers),
            )

    def saved(self, dimension: int, classes: int = 2) -> Pending:
        """All that is remembered, for a file; other threads go on while it is filled."""
        asked = list(self._open.values())
        votes = [[one.answers.count(code) for code in _codes(classes)] for one in asked]
        decided = [one.decision[:4] for one in asked]
        label, margin, variance, q = np.array(decided, dtype=np.float64).reshape(-1, 4).T
        return Pending(
            self.limit,
            np.array([one.decision.ticket for one in asked], dtype=np.int64),
            label,
            margin,
            variance,
            q,
            time=np.array([one.time for one in asked], dtype=np.float64),
            votes=np.array(votes, dtype=np.int64).reshape(len(asked), classes),
            rows=_written([one.x for one in asked], dimension),
        )

    @classmethod
    def restored(
        cls, given: Pending, dimension: int, issued: int, kind: Any, classes: int = 2
    ) -> Self:
        """The book that was saved, for a learner of so many classes whose rows are of a kind."""
        codes, x = _codes(classes), _read(given.rows, dimension, kind)
        if (
            not len(x) == len(given.ticket) <= given.limit
            or not given.ticket.max(initial=-1) < issued
            or not np.isin(given.label, codes).all()
            or given.votes.shape[1] != classes
        ):
            raise StateError("invalid: the open tickets do not fit the model")
        made = cls(given.limit)
        columns = (column.tolist() for column in given[1:7])
        for row, votes, ticket, label, margin, variance, q, when in zip(
            x, given.votes, *columns, strict=True
        ):
            asked = Decision(int(label), margin, variance, q, asked=True, ticket=ticket)
            told = np.repeat(codes, votes).tolist()
            question = made._open[ticket] = Question(asked, row.copy(), when, tuple(told))
            made.bytes += question.x.nbytes
            made._latest = when
        return made


def decided(answers: Sequence[int], aggregate: Aggregate, annotators: int) -> int:
    """The label that the answers agree on; 0 if none yet.

    >>> [decided([1, -1, -1][:n], Aggregate.MAJORITY, annotators=3) for n in (1, 2, 3)]
    [0, 0, -1]
    """
    enough = annotators // 2 + 1 if aggregate is Aggregate.MAJORITY else 1
    return next((code for code in answers if answers.count(code) >= enough), 0)


def _written(rows: list[Any], dimension: int) -> Arrays:
    """The rows of all questions: a matrix, or the arrays of sparse rows."""
    if rows and rows[0].dtype == sparse.PAIR:
        return sparse.split(rows)
    x = np.empty((len(rows), dimension))
    for at, row in enumerate(rows):
        x[at] = row
    return {"x": x}


def _read(arrays: Arrays, dimension: int, kind: Any) -> Any:
    """The rows that :func:`_written` wrote, for a learner whose rows are of this kind."""
    if not kind.names:
        return validation.finite("x", validation.rows(arrays["x"], dimension, kind))
    return sparse.joined(arrays, dimension) if "starts" in arrays else ()


def _codes(classes: int) -> tuple[int, ...]:
    """The codes of the classes, in the order of the votes in a file."""
    return (1, -1) if classes == 2 else tuple(range(1, classes + 1))
