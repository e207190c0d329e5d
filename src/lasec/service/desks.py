"""A model behind the service: its rows are so many numbers, or cells by the names of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.errors import TicketError
from lasec.persistence.container import kind_of
from lasec.service.operations import Answer, Ask, Learn, Rows
from lasec.session import Session
from lasec.session.saved import read_learner
from lasec.tables import TableLearner
from lasec.tables.lines import after, decided, line, predicted

Reply = dict[str, Any]
REFUSED = (TicketError, ValueError, OverflowError, TypeError)


class Desk:
    """A session, whose rows are numbers, or a learner of tables; what it refuses is an error.

    >>> import lasec, pyarrow
    >>> from lasec.service.operations import Ref
    >>> desk = Desk(Session(lasec.LASEC(dimension=2), classes=["ham", "spam"]))
    >>> rows = Rows.of_numbers(np.array([[1.0, 2.0]]))
    >>> desk.ask(Ask(0.0, rows))
    [{'ticket': 0, 'prediction': None, 'margin': 0.0, 'query_probability': 1.0, 'asked': True}]
    >>> desk.tell(Answer(Ref(ticket=0), "ham"))
    {'ticket': 0, 'label': 'ham', 'correct': None, 'learned': True, 'settled': True}
    >>> from lasec.tables import Encoder
    >>> encoder = Encoder.fit(pyarrow.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}]))
    >>> desk = Desk(TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"]))
    >>> asked = Ask(0.0, Rows(cells=[{"price": 2.0}]))
    >>> desk.ask(asked)[0]["asked"], desk.tell(Answer(Ref(ticket=0), "up"))["learned"]
    (True, True)
    """

    def __init__(self, model: Session | TableLearner) -> None:
        self._model = model
        self.table = model if isinstance(model, TableLearner) else None
        self.session: Session = model.session if isinstance(model, TableLearner) else model

    def ask(self, operation: Ask) -> list[Reply]:
        """A decision about each row."""
        rows, count = operation.rows, len(operation.rows)
        ids, given = operation.ids or [None] * count, operation.times or [None] * count
        times = [operation.at if time is None else time for time in given]
        if self.table is None:
            return self._ask_numbers(self._matrix(rows), ids, times)
        found = decided(self.table, list(map(self._filled, rows.cells, ids, times)))
        return [{"error": one} if isinstance(one, str) else line(*one, exact=True) for one in found]

    def _ask_numbers(
        self, X: NDArray[np.float64], ids: list[Any], given: list[float]
    ) -> list[Reply]:
        times = given if self.session.learner.selector.query.timed else None
        if len(X) > 1:
            with suppress(*REFUSED):  # one row is: then each by itself says why
                decisions = self.session.ask_many(X, ids=ids, times=times)
                return [line(decision, exact=True) for decision in decisions]
        when: Sequence[float | None] = times or [None] * len(X)
        return [_tried(self._asked, *one) for one in zip(X, ids, when, strict=True)]

    def _asked(self, x: NDArray[np.float64], name: Any, time: float | None) -> Reply:
        return line(self.session.ask(x, id=name, time=time), exact=True)

    def predict(self, rows: Rows) -> list[Reply]:
        """The class of each row; nothing is counted."""
        if self.table is not None:
            return predicted(self.table, [self._filled(row, None, 0.0) for row in rows.cells])
        X = self._matrix(rows)
        if len(X) > 1:
            with suppress(*REFUSED):  # one row is: then each by itself says why
                return self._predicted(X)
        return [_tried(lambda row: self._predicted(row)[0], x[None]) for x in X]

    def _predicted(self, X: NDArray[np.float64]) -> list[Reply]:
        found = zip(self.session.predict(X), self.session.learner.margins(X).tolist(), strict=True)
        return [{"prediction": label, "margin": margin} for label, margin in found]

    def tell(self, answer: Answer) -> Reply:
        """The outcome of an answer."""
        return _tried(_told, self._model, answer)

    def learn(self, operation: Learn) -> list[Reply]:
        """Learn rows that nobody asked about."""
        rows: Any = [self._filled(row, None, operation.at) for row in operation.rows.cells]
        if self.table is None:
            rows = self._matrix(operation.rows)
        both = zip(rows, operation.labels, strict=True)
        return [_tried(self._learned, *one) for one in both]

    def _learned(self, row: Any, label: Any) -> Reply:
        self._model.learn(row, label)
        return {"label": self._model.named(label), "learned": True}

    def _matrix(self, rows: Rows) -> NDArray[np.float64]:
        return rows.matrix(self.session.learner.dimension)

    def _filled(self, row: dict[str, Any], name: Any, time: float) -> dict[str, Any]:
        """A row of cells with id and time, where the table has columns for them."""
        assert self.table is not None
        cells = ((self.table.id, name), (self.table.time, time))
        return row | {column: cell for column, cell in cells if column and cell is not None}

    def packing(self) -> Callable[[], bytes]:
        """What gives the whole model as it is now, as a ``.lasec`` file has it, in any thread."""
        return self._model.packing()


def opened(data: bytes) -> Desk:
    """The desk of a file: a table's, a session's, or a plain learner's."""
    kind = kind_of(data)
    if kind == "table":
        return Desk(TableLearner.from_bytes(data)[0])
    return Desk(Session.from_bytes(data) if kind == "session" else Session(read_learner(data)))


def _tried(call: Callable[..., Reply], *given: Any) -> Reply:
    """A reply, or why it was refused."""
    try:
        return call(*given)
    except REFUSED as error:
        return {"error": str(error)}


def _told(model: Session | TableLearner, answer: Answer) -> Reply:
    """The outcome of an answer; a number as an id is never a ticket, nor a text the same id."""
    of = answer.of
    sure = answer.confidence
    outcome = model.tell(of.ticket, answer.label, id=of.id, by=answer.by, confidence=sure)
    return {
        "ticket": outcome.decision.ticket, "label": outcome.y, "correct": outcome.correct,
        "learned": outcome.updated, "settled": outcome.settled, **after(answer.label, outcome),
    }  # fmt: skip
