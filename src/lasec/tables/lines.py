"""Rows and answers as JSON objects: what the command line and the service say to each of them.

An object that cannot be taken gets an "error" in its place, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from lasec.errors import TableError, TicketError
from lasec.parameters import shown
from lasec.session import Note
from lasec.sparse import is_sparse
from lasec.tables.cells import check_row, moment
from lasec.tables.learner import TableLearner
from lasec.tables.source import rows_at_a_time
from lasec.types import Decision, Outcome

MOST = 1_000  # rows that are encoded together
Row = dict[str, Any]


def line(
    decision: Decision, probability: Mapping[str, float] | None = None, *, exact: bool = False
) -> Row:
    """A decision as a line of JSON has it, with the probability of each class if there is one.

    Numbers have six digits, or where they are ``exact`` all.
    """
    digits = float if exact else _short
    known = {"probability": shares(probability, digits)} if probability else {}
    return {
        "ticket": decision.ticket,
        "prediction": decision.label,
        **known,
        "margin": digits(decision.margin),
        "query_probability": digits(decision.propensity),
        "asked": decision.asked,
        **({} if decision.source is None else {"source": decision.source}),
    }


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def shares(
    probability: Mapping[str, float], digits: Callable[[float], float] = _short
) -> dict[str, float]:
    """The probabilities of classes, in six digits.

    >>> shares({"ham": 2 / 3, "spam": 1 / 3})
    {'ham': 0.666667, 'spam': 0.333333}
    """
    return {name: digits(share) for name, share in probability.items()}


class Decided(NamedTuple):
    """The decision about a row, and the probability of each class if there is one."""

    decision: Decision
    probability: dict[str, float] | None = None

    @property
    def line(self) -> Row:
        """It as a line of JSON has it."""
        return line(self.decision, self.probability)


def decided(
    desk: TableLearner, rows: Sequence[Row], judge: Callable[[Row], Any] | None = None
) -> list[Decided | str]:
    """The decision about each row, or why it cannot be taken.

    A ``judge`` is called with the rows that a session with sources asks it about.

    >>> import lasec, pyarrow
    >>> from lasec.tables import Encoder
    >>> encoder = Encoder.fit(pyarrow.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}]))
    >>> desk = TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"])
    >>> [found.line["asked"] for found in decided(desk, [{"price": 2.0}])]
    [True]
    >>> decided(desk, [{"price": "cheap"}])
    ["price: expected a number, got 'cheap'"]
    """
    most = rows_at_a_time(desk.encoder.dense_dimension, MOST)
    cuts = (rows[at : at + most] for at in range(0, len(rows), most))
    return [found for some in cuts for found in _at_once(desk, some, judge)]


def _at_once(
    desk: TableLearner, rows: Sequence[Row], judge: Callable[[Row], Any] | None
) -> list[Decided | str]:
    """The same for rows that are encoded together."""
    wrong = {i: text for i, row in enumerate(rows) if (text := _unreadable(desk, row))}
    sound = [row for i, row in enumerate(rows) if i not in wrong]
    read = desk.read(sound).one_by_one([desk.id_of(row) for row in sound])
    said: list[Decided | str] = []
    for i, row in enumerate(rows):
        try:
            if judge is not None:
                desk.session.call(partial(judged, desk, judge, row))
            said.append(wrong[i] if i in wrong else _asked(desk, next(read)))
        except (ValueError, OverflowError) as error:
            said.append(str(error))
    return said


def judged(
    desk: TableLearner, judge: Callable[[Row], Any], row: Row, x: Any = None
) -> tuple[Any, float | None]:
    """What a judge says of a row without its label, as the table names classes."""
    label, sure = judge({name: cell for name, cell in row.items() if name != desk.label})
    return desk.heard(label), sure


def _asked(desk: TableLearner, read: dict[str, Any]) -> Decided:
    """The decision about a row, with what else the session takes."""
    x = read["row"]
    likely = desk.probabilities(x if is_sparse(x) else x[None])
    return Decided(desk.session.ask(**read), likely[0] if likely else None)


def predicted(desk: TableLearner, rows: Sequence[Row]) -> list[Row]:
    """The class of each row with its margin, or an error.

    >>> import lasec, pyarrow
    >>> from lasec.tables import Encoder
    >>> encoder = Encoder.fit(pyarrow.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}]))
    >>> desk = TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["down", "up"])
    >>> predicted(desk, [{"price": 2.0}, {"price": 3.0}])
    [{'prediction': None, 'margin': 0.0}, {'prediction': None, 'margin': 0.0}]
    """
    wrong = [_unreadable(desk, row) for row in rows]
    X = desk.read([row for row, text in zip(rows, wrong, strict=True) if not text]).X
    likely = desk.probabilities(X) or [{} for _ in range(X.shape[0])]
    found = zip(desk.session.predict(X), likely, desk.learner.margins(X).tolist(), strict=True)
    return [{"error": text} if text else _shown(*next(found)) for text in wrong]


def _shown(name: str | None, probability: Mapping[str, float], margin: float) -> Row:
    """A prediction as a line of JSON has it."""
    known = {"probability": shares(probability)} if probability else {}
    return {"prediction": name, **known, "margin": margin}


def _unreadable(desk: TableLearner, row: Row) -> str:
    """Why a row cannot be read; empty if it can."""
    try:
        check_row(row, desk.encoder.columns)
        if desk.time is not None:
            moment(row.get(desk.time))
    except (ValueError, OverflowError) as error:
        return str(error)
    return ""


def told(desk: TableLearner, row: Row, *, as_text: bool = False) -> Row:
    """The outcome of one answer, or of a label that nobody asked for.

    ``as_text``: the row is of a CSV file, in which an id that is a number is text like any other.
    """
    label = row.get("label", row.get(desk.label))
    name = {key: row[key] for key in ("ticket", desk.id or "id") if row.get(key) is not None}
    try:
        by = None if row.get("by") is None else str(row["by"])
        if label is None and not desk.session.is_judge(by):
            raise TableError('expected "label"')
        ticket, id_ = _question(desk, row, as_text=as_text)
        if ticket is None and id_ is None:
            return name | _unasked(desk, row, label)
        outcome = desk.tell(ticket, label, id=id_, by=by, confidence=row.get("confidence"))
    except (TicketError, ValueError, OverflowError) as error:
        return name | {"error": str(error)}
    asked = {} if outcome.decision.propensity else {"asked": False}
    judged = {} if outcome.correct is None else {"correct": outcome.correct}
    return {
        **name, "ticket": outcome.decision.ticket, "label": outcome.y, **asked, **judged,
        "learned": outcome.updated, "settled": outcome.settled,
        **after(label, outcome),
    }  # fmt: skip


def after(said: object, outcome: Outcome) -> dict[str, str]:
    """Who is asked next, and why the answer of a judge counts as none, where that is so.

    >>> decision = Decision("ham", 0.5, 0.0, 0.1, True, 7)
    >>> after("maybe", Outcome(decision, None, mistake=False, updated=False, source="people"))
    {'source': 'people', 'warning': "no answer: 'maybe' is no class that is known"}
    """
    found = {} if outcome.source is None else {"source": outcome.source}
    if said is None or outcome.y is not None:
        return found
    return found | {"warning": f"no answer: {shown(said)} is no class that is known"}


def _question(
    desk: TableLearner, row: Row, *, as_text: bool
) -> tuple[int | None, str | int | None]:
    """The ticket or the id of the row that a line speaks of; neither where the line is a row."""
    ticket, found = row.get("ticket"), desk.id_of(row)
    if ticket is not None:
        if not isinstance(ticket, int) or isinstance(ticket, bool):
            raise TableError('"ticket": expected a whole number')
        kept = desk.session.notes.get(ticket, Note()).id
        if None not in (kept, found) and str(kept) != str(found):
            raise TicketError(f"ticket {ticket} is of the row {kept!r}, and not of {found!r}")
        return ticket, None
    for name in (found, whole(found) if as_text else None):
        if name is not None and desk.session.holds(name):
            return None, name
    if {column.name for column in desk.encoder.columns} & row.keys():
        return None, None
    if found is not None:
        raise TicketError(f"there is no open question about {found!r}")
    raise TableError('expected "ticket", "id", or the columns of a row')


def whole(name: str | int | None) -> int | None:
    """The whole number that a CSV file has as this text, and no other text.

    >>> whole("7"), whole("07"), whole("mail-7")
    (7, None, None)
    """
    if isinstance(name, str) and name.isdecimal() and len(name) < 20 and str(int(name)) == name:
        return int(name)
    return None


def _unasked(desk: TableLearner, row: Row, label: object) -> Row:
    """Learn a row that nobody asked about."""
    check_row(row, desk.encoder.columns)
    desk.learn(row, label)
    return {"label": desk.named(label), "asked": False, "learned": True}
