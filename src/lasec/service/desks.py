"""The two forms of a model behind the service: rows of numbers, and rows of cells by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lasec.errors import TicketError
from lasec.persistence.container import kind_of
from lasec.service.operations import Answer, Ask, Learn, Rows
from lasec.session import Session
from lasec.session.saved import read_learner
from lasec.tables import TableLearner
from lasec.tables.lines import Decided, decided, predicted
from lasec.types import Decision

Reply = dict[str, Any]
REFUSED = (TicketError, ValueError, OverflowError, TypeError)


class Desk(Protocol):
    """What the service needs of a model."""

    session: Session

    @property
    def table(self) -> TableLearner | None:
        """The columns of rows, unless they are numbers."""

    def ask(self, operation: Ask) -> list[Reply]:
        """A decision about each row, or an error."""

    def predict(self, rows: Rows) -> list[Reply]:
        """The class of each row, or an error; nothing is counted."""

    def tell(self, answer: Answer) -> Reply:
        """The outcome of an answer, or an error."""

    def learn(self, operation: Learn) -> list[Reply]:
        """Learn rows that nobody asked about."""

    def packing(self) -> Callable[[], bytes]:
        """What gives the whole model as it is now, as a ``.lasec`` file has it, in any thread."""


class NumberDesk:
    """A session whose rows are so many numbers.

    >>> import lasec
    >>> from lasec.service.operations import Ref
    >>> desk = NumberDesk(Session(lasec.LASEC(dimension=2), classes=["ham", "spam"]))
    >>> rows = Rows.of_numbers(np.array([[1.0, 2.0]]))
    >>> desk.ask(Ask(0.0, rows))
    [{'ticket': 0, 'prediction': None, 'margin': 0.0, 'query_probability': 1.0, 'asked': True}]
    >>> desk.tell(Answer(Ref(ticket=0), "ham"))
    {'ticket': 0, 'label': 'ham', 'correct': None, 'learned': True, 'settled': True}
    """

    def __init__(self, session: Session) -> None:
        self.session, self.table = session, None
        self.timed = session.learner.selector.query.timed

    def ask(self, operation: Ask) -> list[Reply]:
        """A decision about each row, or an error."""
        X = operation.rows.matrix(self.session.learner.dimension)
        ids, given = operation.ids or [None] * len(X), operation.times or [None] * len(X)
        times = [_when(time, operation.at) for time in given] if self.timed else None
        if len(X) > 1:
            with suppress(*REFUSED):  # one row is: then each by itself says why
                return list(map(_shown, self.session.ask_many(X, ids=ids, times=times)))
        return [self._decided(x, ids[at], times[at] if times else None) for at, x in enumerate(X)]

    def _decided(self, x: Any, name: Any, time: float | None) -> Reply:
        try:
            return _shown(self.session.ask(x, id=name, time=time))
        except REFUSED as error:
            return {"error": str(error)}

    def predict(self, rows: Rows) -> list[Reply]:
        """The class of each row; nothing is counted."""
        X = rows.matrix(self.session.learner.dimension)
        if len(X) > 1:
            with suppress(*REFUSED):  # one row is: then each by itself says why
                return self._predicted(X)
        return [self._one_predicted(x) for x in X]

    def _predicted(self, X: NDArray[np.float64]) -> list[Reply]:
        found = zip(self.session.predict(X), self.session.learner.margins(X).tolist(), strict=True)
        return [{"prediction": label, "margin": margin} for label, margin in found]

    def _one_predicted(self, x: NDArray[np.float64]) -> Reply:
        try:
            return self._predicted(x[None])[0]
        except REFUSED as error:
            return {"error": str(error)}

    def tell(self, answer: Answer) -> Reply:
        """The outcome of an answer, or an error."""
        try:
            return _told(self.session, answer)
        except REFUSED as error:
            return {"error": str(error)}

    def learn(self, operation: Learn) -> list[Reply]:
        """Learn rows that nobody asked about."""
        X = operation.rows.matrix(self.session.learner.dimension)
        return [self._learned(x, y) for x, y in zip(X, operation.labels, strict=True)]

    def _learned(self, x: Any, label: Any) -> Reply:
        try:
            self.session.learn(x, label)
        except REFUSED as error:
            return {"error": str(error)}
        return {"label": label, "learned": True}

    def packing(self) -> Callable[[], bytes]:
        """What gives the session's file."""
        return self.session.packing()


class TableDesk:
    """A learner of tables, whose rows are cells by the names of columns.

    >>> import lasec, pyarrow
    >>> from lasec.service.operations import Ref
    >>> from lasec.tables import Encoder
    >>> encoder = Encoder.fit(pyarrow.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}]))
    >>> desk = TableDesk(TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"]))
    >>> asked = Ask(0.0, Rows(cells=[{"price": 2.0}]))
    >>> desk.ask(asked)[0]["asked"], desk.tell(Answer(Ref(ticket=0), "up"))["learned"]
    (True, True)
    """

    def __init__(self, table: TableLearner) -> None:
        self.table, self.session = table, table.session

    def ask(self, operation: Ask) -> list[Reply]:
        """A decision about each row, or an error."""
        found = decided(self.table, self._filled(operation))
        return [
            {"error": one} if isinstance(one, str) else _shown(one.decision, one) for one in found
        ]

    def _filled(self, operation: Ask) -> list[dict[str, Any]]:
        """The cells, with the caller's id and the time where the table has columns for them."""
        cells = operation.rows.cells
        ids = operation.ids or [None] * len(cells)
        times = operation.times or [None] * len(cells)
        return [
            row | self._named(name, _when(time, operation.at))
            for row, name, time in zip(cells, ids, times, strict=True)
        ]

    def _named(self, name: Any, time: float) -> dict[str, Any]:
        found = {} if name is None or self.table.id is None else {self.table.id: name}
        return found if self.table.time is None else found | {self.table.time: time}

    def predict(self, rows: Rows) -> list[Reply]:
        """The class of each row; nothing is counted."""
        return predicted(self.table, [row | self._named(None, 0.0) for row in rows.cells])

    def tell(self, answer: Answer) -> Reply:
        """The outcome of an answer, or an error."""
        try:
            return _told(self.table, answer)
        except REFUSED as error:
            return {"error": str(error)}

    def learn(self, operation: Learn) -> list[Reply]:
        """Learn rows that nobody asked about."""
        said = []
        for row, label in zip(operation.rows.cells, operation.labels, strict=True):
            try:
                self.table.learn(row | self._named(None, operation.at), label)
                said.append({"label": self.table.named(label), "learned": True})
            except REFUSED as error:
                said.append({"error": str(error)})
        return said

    def packing(self) -> Callable[[], bytes]:
        """What gives the table's file."""
        return self.table.packing()


def opened(data: bytes) -> TableDesk | NumberDesk:
    """The desk of a file: a table's, a session's, or a plain learner's."""
    kind = kind_of(data)
    if kind == "table":
        return TableDesk(TableLearner.from_bytes(data)[0])
    session = Session.from_bytes(data) if kind == "session" else Session(read_learner(data))
    return NumberDesk(session)


def _shown(decision: Decision, more: Decided | None = None) -> Reply:
    """A decision as a reply has it: every digit, so that it is the library's."""
    known = {"probability": more.probability} if more is not None and more.probability else {}
    return {
        "ticket": decision.ticket, "prediction": decision.label, **known,
        "margin": decision.margin, "query_probability": decision.propensity,
        "asked": decision.asked,
        **({} if decision.source is None else {"source": decision.source}),
    }  # fmt: skip


def _told(model: Session | TableLearner, answer: Answer) -> Reply:
    """The outcome of an answer; a number as an id is never a ticket, nor a text the same id."""
    of = answer.of
    sure = answer.confidence
    outcome = model.tell(of.ticket, answer.label, id=of.id, by=answer.by, confidence=sure)
    return {
        "ticket": outcome.decision.ticket, "label": outcome.y, "correct": outcome.correct,
        "learned": outcome.updated, "settled": outcome.settled,
        **({} if outcome.source is None else {"source": outcome.source}),
    }  # fmt: skip


def _when(given: float | None, read: float) -> float:
    """The caller's time of a row, or what the clock read."""
    return read if given is None else given
