"""The one loop over a stream whose labels are known: they may come late, or never, or several."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.alarms import Alarm, Detector
from lasec.alarms.waiting import raised_by
from lasec.errors import TicketError
from lasec.evaluation.account import Account, Due
from lasec.evaluation.points import Arrival, Status
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Margins, Rows
from lasec.learner import Learner
from lasec.metrics import Confusion, Meter
from lasec.records import Records
from lasec.session import Session
from lasec.session.models import AnyModel, Asked, OwnModel
from lasec.sparse import csr, is_sparse, one_by_one
from lasec.tracker import Tracker
from lasec.types import Aggregate

Array = NDArray[np.float64]
Reaction = Callable[[Any, Alarm], object]


def evaluate(
    learner: Learner | Session,
    X: ArrayLike,
    y: ArrayLike,
    *,
    delay: ArrayLike = 0,
    answers: ArrayLike | None = None,
    times: ArrayLike | None = None,
    groups: Iterable[object] | None = None,
    meter: Meter | None = None,
    alarms: Sequence[Detector] = (),
    cells: ArrayLike | None = None,
    on_alarm: Reaction | None = None,
    every: int | None = None,
    into: RunSummary | None = None,
    judged: ArrayLike | Callable[[int], Any] | None = None,
) -> RunSummary:
    """Prequential evaluation: ask and tell along a stream, with labels that come late or never.

    Parameters
    ----------
    learner
        The learner, which is changed; or a session, whose detectors look and whose meter goes on.
        A session can carry a model of another library (:func:`lasec.session.around`).
    X, y
        Rows and their labels, of any kind; None and NaN are rows without a label, whose questions
        go unanswered.
    delay
        How long each answer takes, in rows or in the unit of ``times``: one number, one for each
        row, or one for each row and annotator; infinity means never. An answer is told when its
        time has come, after the row of that moment was asked about.
    answers
        What is answered, if it is not ``y``: for each row, or for each row and annotator.
    times
        When each row came.
    groups
        A name for each row (country, device, customer), to evaluate each group.
    meter
        By default a new :class:`~lasec.Meter` with a window of 1,000 rows.
    alarms
        Drift detectors.
    cells
        What they see of each row, if it is not ``X``: numbers before they were scaled, NaN where
        one is missing.
    on_alarm
        Called with the learner, or the model that the session carries, and each alarm.
    every
        Number of rows between two :class:`Point` of the summary.
    into
        The summary of the call before, to continue a long stream in constant memory; it can be
        saved between calls.
    judged
        What the judge says of each row, for a session with sources; None is no answer. Or a
        function that is called with the number of a row when the judge is asked, for an answer or
        a pair (answer, confidence). The labels of the summary are then those of experts, and its
        accuracy and the metrics of classes are the nested estimates.

    Returns
    -------
    RunSummary
        True and estimated accuracy, labels, points over time, groups and alarms.

    Notes
    -----
    A row that is refused ends the call; with no delay and no ``on_alarm``, summary and learner (not
    a model of another library) are as they were before it. Where answers get lost, give the learner
    a ``max_age`` or the meter a ``patience``: estimates cover the rows before the oldest open
    question.

    Examples
    --------
    >>> import lasec
    >>> X, y = lasec.streams.switching(3_000, dimension=5, every=1_000, seed=1)
    >>> lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
    RunSummary(rows=3000, accuracy=0.967, labels=626, answers=626, alarms=0)
    >>> lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y, delay=500)
    RunSummary(rows=3000, accuracy=0.793, labels=629, answers=508, alarms=0)
    """
    whom = _whom(learner, judged, alarms, meter, new=into is None)
    rows: Any = X
    rows = csr("X", X) if is_sparse(X) else validation.finite("X", validation.real("X", X, 2))
    n, raised = rows.shape[0], len(into.alarms) if into else 0
    made, now = _begun(into, n, every, whom.meter)
    labels = labels_of(y, n)
    true = now.places(labels, new=True)
    said, waits = _replies(now, true, np.asarray(delay, dtype=np.float64), answers)
    stream = _Stream(whom.model, rows, (labels, true), now.ids(groups, n), times, cells)
    _same(now, whom.model)
    alone = whom.model.aggregate is not Aggregate.MAJORITY  # one answer settles a question
    waiting = waits.any() or now.late or (whom.alarms and on_alarm)
    if answers is not None or not alone or waiting or whom.judged is not None:
        records = _Conversation(whom, stream, now, on_alarm).run(said, waits)
    else:
        records = _at_once(stream, now)
        stream.answers = _prompt(records, labels, now.rows) if made.keep else []
        seen = one_by_one(stream.cells) if whom.alarms else ()
        now.alarms = now.alarms + raised_by(whom.alarms, records, labels, seen)
    now.learner = _identity(whom.model)
    made.commit(now, records, stream.answers)
    if whom.session is not None:
        whom.session.meter = made.meter
        whom.session.alarms += made.alarms[raised:]
    return made


class _Whom(NamedTuple):
    """The model that is evaluated, the session it stands in, and what its judge says of rows."""

    model: Learner | AnyModel
    session: Session | None
    meter: Meter | None
    alarms: Sequence[Detector]
    judged: Callable[[int], Any] | None = None


def _whom(
    given: Learner | Session, judged: ArrayLike | Callable[[int], Any] | None,
    alarms: Sequence[Detector], meter: Meter | None, *, new: bool,
) -> _Whom:  # fmt: skip
    """Who is evaluated; the meter of a session goes on in a ``new`` summary."""
    if not isinstance(given, Session):
        if judged is not None:
            raise ValueError("judged: give a session with sources")
        return _Whom(given, None, meter, alarms)
    if alarms or meter is not None:
        raise ValueError("alarms, meter: the session has its own")
    if (given.buying is None) != (judged is None):
        raise ValueError("judged: give what the judge says to a session with sources")
    said = None if judged is None else _answers_of(judged)
    model = given.model.learner if isinstance(given.model, OwnModel) else given.model
    return _Whom(model, given, given.meter if new else None, given.detectors, said)


def _begun(
    into: RunSummary | None, count: int, every: int | None, meter: Meter | None
) -> tuple[RunSummary, Account]:
    """The summary of so many rows, and the account of what they bring."""
    if into is not None:
        if meter is not None or every is not None:
            raise ValueError("meter, every: the summary that is given has its own")
        return into, into.begin(count)
    if count == 0:
        raise ValueError("X: there are no rows to evaluate on")
    made = RunSummary(every=every or max(1, count // 200), meter=meter, keep=True)
    return made, made.begin(0)  # a new summary takes the meter that was given itself


def labels_of(y: ArrayLike, count: int) -> NDArray[Any]:
    """Labels as an array: numbers where all are -1 or +1, and else whatever they are.

    >>> labels_of(["ham", None], 2).tolist()
    ['ham', None]
    """
    signs = validation.signs(y, count)
    if signs is not None:
        return signs
    kinds, which = validation.classes(y, count)
    return np.array([*kinds, None], dtype=object)[which]


_KINDS = (np.int8, np.float64, np.float64, np.float64, np.bool_, np.int64)  # of a Decision


class _Stream:
    """The rows of a call, with their labels, their classes by number, groups and times."""

    def __init__(
        self, model: Learner | AnyModel, X: Any, labels: tuple[NDArray[Any], NDArray[np.int64]],
        group: NDArray[Any], times: ArrayLike | None, cells: ArrayLike | None,
    ) -> None:  # fmt: skip
        self.model, self.X, self.group = model, X, group
        self.y, self.true = labels
        self.times = None if times is None else validation.times(times, X.shape[0])
        rounds = model.selector.rows + 1.0 + np.arange(X.shape[0], dtype=np.float64)
        self.clock = rounds if self.times is None else self.times
        self.answers: list[Arrival] = []
        # What detectors see.
        self.cells: Any = X if cells is None else validation.real("cells", cells, 2)

    def when(self, cut: slice) -> Array | None:
        """The times of some rows, where there are any."""
        return None if self.times is None else self.times[cut]

    def time(self, t: int) -> float | None:
        """The time of a row, where there is one."""
        return None if self.times is None else float(self.times[t])

    def dated(self, status: Status, cut: slice) -> Status:
        """A status with the time of the last of some rows, where rows have times."""
        times = self.when(cut)
        return status if times is None or not times.size else status._replace(time=float(times[-1]))

    def rows(self, records: Records, cut: slice, now: Account) -> Rows:
        """What an account takes of some rows: signs, and numbers of classes."""
        sign, silent = records.sign.astype(np.float64), records.sign == 0
        right = np.where(records.mistake, -sign, sign) + 0.0  # which is never -0.0
        return Rows(
            records.sign, records.margin, records.propensity, records.asked,
            records.mistake & ~silent, records.ticket, np.where(records.labeled, right, np.nan),
            self.group[cut], self.clock[cut], np.where(silent, -1, now.places(records.label)),
            self.true[cut],
        )  # fmt: skip

    def records(
        self, made: list[Asked], cut: slice, updated: Mapping[int, bool], classes: list[Any]
    ) -> Records:
        """Decisions that were made row by row as columns; a margin speaks for the second class."""
        told = zip(*(one.decision[:6] for one in made), strict=True) if made else [()] * 6
        columns: list[NDArray[Any]] = list(map(np.array, told, _KINDS))
        sign, margin, variance, propensity, asked, ticket = columns
        if isinstance(self.model, AnyModel):  # whose margin speaks for what it predicts
            first = classes[:1] if len(classes) <= 2 else []
            sign = np.where([one.label in first for one in made], -sign, sign)
            margin = sign * margin
        label = labels_of([one.label for one in made], len(made))
        y, labeled = self.y[cut], self.true[cut] >= 0
        learned = np.array([updated.get(number, False) for number in ticket.tolist()])
        return Records(
            label, margin, variance, propensity, asked, labeled & (label != y), learned,
            first=int(ticket[0]) if made else self.model.selector.rows, sign=sign, labeled=labeled,
        )  # fmt: skip


def _pieces(now: Account, count: int) -> Iterable[slice]:
    """Rows from one multiple of ``every`` to the next; one empty piece where there are none."""
    begin = 0
    while begin < count or count == 0:
        end = min(count, begin + now.every - now.rows % now.every)
        yield slice(begin, end)
        if end == count:
            return
        begin = end


def _at_once(stream: _Stream, now: Account) -> Records:
    """Every answer comes with its row; a learner of lasec takes all rows or none."""
    model = stream.model
    if isinstance(model, AnyModel):
        return _summed(stream, now, lambda cut: _one_by_one(model, stream, cut, now.classes))
    try:
        with model.attempt(many=True):
            return _summed(
                stream, now,
                lambda cut: model.run(stream.X[cut], stream.y[cut], times=stream.when(cut)),
            )  # fmt: skip
    except ValueError as error:
        refused = error
    copy.copy(model).run(stream.X, stream.y, times=stream.times)  # which counts rows as X does
    raise refused


def _summed(stream: _Stream, now: Account, run: Callable[[slice], Records]) -> Records:
    """All rows, piece by piece."""
    parts = list[Records]()
    for cut in _pieces(now, stream.X.shape[0]):
        records = run(cut)
        _check(records, cut.start)
        status = _status(stream.model, now, stream.clock[cut])
        now.add(stream.rows(records, cut, now), stream.dated(status, cut))
        parts.append(records)
    return Records.join(parts)


def _one_by_one(model: AnyModel, stream: _Stream, cut: slice, classes: list[Any]) -> Records:
    """Ask a model of another library about rows, and tell it each label that is queried."""
    made, updated = list[Asked](), dict[int, bool]()
    for t in range(cut.start, cut.stop):
        asked = model.ask(stream.X[t], stream.time(t))
        made.append(asked)
        if asked.decision.asked and stream.true[t] < 0:
            model.cancel(asked.ticket, lost=False)
        elif asked.decision.asked:
            model.tell(asked.ticket, classes[stream.true[t]])
            updated[asked.ticket] = True
    return stream.records(made, cut, updated, classes)


def _prompt(records: Records, y: NDArray[Any], rounds: int) -> list[Arrival]:
    """The answers of rows that were answered at once; ``rows`` is where the run is after them."""
    first, before = records.first, rounds - len(records)
    at, said = np.flatnonzero(records.learned).tolist(), y[records.learned].tolist()
    return [Arrival(first + i, y, before + i + 1, y) for i, y in zip(at, said, strict=True)]


class _Conversation:
    """Every answer comes when its time has come: row by row, through a session."""

    def __init__(
        self, whom: _Whom, stream: _Stream, now: Account, on_alarm: Reaction | None
    ) -> None:
        self.stream, self.now, self.on_alarm, self.judged = stream, now, on_alarm, whom.judged
        now.listen()
        self.before = whom.model.listen(None)
        self.session = Session(
            whom.model, meter=now.meter, detectors=whom.alarms, on_alarm=self._react
        )
        if whom.session is not None:
            self.session.buying = whom.session.buying
        now.sold = self.session.buying is not None
        self.counted = self._sold()
        self.updated: dict[int, bool] = {}

    def run(self, said: NDArray[np.int64], waits: Array) -> Records:
        """Ask about every row, and tell each answer that is due by then."""
        decisions: list[Asked] = []
        now, model = self.now, self.stream.model
        try:
            for cut in _pieces(now, self.stream.X.shape[0]):
                made = [self._step(t, said[t], waits[t]) for t in range(cut.start, cut.stop)]
                decisions += made
                rows = self.stream.rows(self._records(made, cut), cut, now)
                status = _status(model, now, self.stream.clock[cut], rows)
                now.add(rows, self.stream.dated(status, cut))
            before, self.counted = self.counted, self._sold()
            now.heard += self.counted.without(before)
            now.alarms = now.alarms + self.session.alarms
            return self._records(decisions, slice(0, len(decisions)))
        finally:
            model.listen(self.before)  # a session of the caller's, if there is one

    def _sold(self) -> Confusion:
        """The nested confusion matrix of a session that buys labels, in the order of the run."""
        buying, count = self.session.buying, len(self.now.classes)
        if buying is None:
            return Confusion.none(count)
        names = np.array([*buying.classes, None], dtype=object)[:-1]
        return buying.predicted.ordered(self.now.places(names), count)

    def _step(self, t: int, said: NDArray[np.int64], waits: Array) -> Asked:
        """One row, and the answers that have come by then."""
        stream, due = self.stream, self.now.due
        asked = self.session.decide(stream.X[t], time=stream.time(t), cells=stream.cells[t])
        if asked.decision.source is not None and self.judged is not None:
            asked = self.session.consult(asked, self.judged, t)
        moment = float(stream.clock[t])
        if asked.decision.asked:
            for k in np.flatnonzero(np.isfinite(waits) & (said >= 0)).tolist():
                wait = Due(moment + float(waits[k]), asked.ticket, k, int(said[k]))
                heapq.heappush(due, wait)
            if (said < 0).all():  # there is no label, and nobody waits for one
                self.session.cancel(asked.ticket)
        while due and due[0].time <= moment:
            answer = heapq.heappop(due)
            self._hear(answer.ticket, answer.place, asked.ticket - self.now.first + 1)
        return asked

    def _hear(self, ticket: int, place: int, round_: int) -> None:
        """An answer has come."""
        y = self.now.classes[place]
        try:
            outcome = self.session.tell(ticket, y)
        except TicketError:
            self.now.refused += 1
            return
        self.now.answers += 1
        verdict = outcome.y if outcome.settled else None
        self.stream.answers.append(Arrival(ticket, y, round_, verdict))
        if outcome.settled:
            self.now.verdicts.setdefault(ticket, self.now.classes.index(verdict))
            self.updated[ticket] = outcome.updated or self.updated.get(ticket, False)
        elif len(self.now.classes) > 2 and all(due.ticket != ticket for due in self.now.due):
            self.session.cancel(ticket)  # everybody has said something else

    def _react(self, session: Session, alarm: Alarm) -> None:
        if self.on_alarm is not None:
            self.on_alarm(self.stream.model, alarm)

    def _records(self, made: list[Asked], cut: slice) -> Records:
        """The decisions as columns."""
        return self.stream.records(made, cut, self.updated, self.now.classes)


def _status(
    model: Learner | AnyModel, now: Account, clock: Array, rows: Rows | None = None
) -> Status:
    """What the model says of itself after these rows."""
    selector = model.selector
    planned = selector.query.planned(selector.query_state)
    waiting = model.pending if rows is not None else ()
    age = 0.0
    if waiting and rows is not None:
        known = np.concatenate([now.rest.time, rows.time])
        place = min(max(waiting[0] - now.first - now.settled, 0), known.size - 1)
        age = float(clock[-1] - known[place]) if clock.size else now.status.age
    drift = model.drift_estimate if isinstance(model, Tracker) else None
    return Status(selector.asked - now.before, planned - now.before, len(waiting), age, drift)


def _replies(
    now: Account, true: NDArray[np.int64], waits: Array, answers: ArrayLike | None
) -> tuple[NDArray[np.int64], Array]:
    """The class that each annotator answers about each row, and how long that takes."""
    n = len(true)
    waits = waits[:, None] if waits.ndim == 1 else waits
    try:
        said = true[:, None] if answers is None else _classes_of(now, answers)
        wide = np.broadcast_shapes(said.shape, waits.shape)
        if len(wide) != 2 or wide[0] != n or not (waits >= 0.0).all():
            raise ValueError
        return np.broadcast_to(said, wide), np.broadcast_to(waits, wide)
    except (ValueError, IndexError):
        raise ValueError(
            "delay, answers: expected numbers of at least 0 and labels, for each row, or for "
            "each row and annotator"
        ) from None


def _answers_of(judged: ArrayLike | Callable[[int], Any]) -> Callable[[int], Any]:
    """What a judge says of a row, by its number: of a column, as plain values."""
    if callable(judged):
        return judged
    given = judged.tolist() if isinstance(judged, np.ndarray) else list(judged)  # type: ignore[arg-type]
    column = np.empty(len(given), dtype=object)
    column[:] = given
    return column.__getitem__


def _classes_of(now: Account, answers: ArrayLike) -> NDArray[np.int64]:
    """The numbers of the classes of answers, with a column for each annotator."""
    table = np.asarray(answers, dtype=object)
    table = table[:, None] if table.ndim == 1 else table
    return now.places(table.ravel(), new=True).reshape(table.shape)


def _identity(model: Learner | AnyModel) -> tuple[str, int] | None:
    """What tells a learner from another that has seen as many rows."""
    return (model.name, model.dimension) if isinstance(model, Learner) else None


def _called(identity: tuple[str, int] | None) -> str:
    """What a model is called in a message."""
    return f"{identity[0]} ({identity[1]} features)" if identity else "a model of another library"


def _same(now: Account, model: Learner | AnyModel) -> None:
    """Refuse a model that is not the one of the calls before."""
    rows, here = model.selector.rows, _identity(model)
    if now.rows == 0:
        now.first, now.before = rows, model.selector.asked
        now.margins = Margins.none(bounded=model.has_probabilities)
    if rows != now.first + now.rows:
        raise ValueError(
            f"learner: this run has followed one up to row {now.first + now.rows}, "
            f"and this one is at row {rows}"
        )
    if now.rows and here != now.learner:
        then, found = map(_called, (now.learner, here))
        raise ValueError(f"learner: this run has followed {then}, and this one is {found}")


def _check(records: Records, begin: int) -> None:
    """Refuse margins that are no numbers; ``begin`` rows of the call came before these."""
    bad = np.flatnonzero(~np.isfinite(records.margin + records.propensity))
    if bad.size:
        raise ValueError(
            f"X: the margin of row {begin + int(bad[0])} is no number: that row or one before it "
            "is too large for this model, scale the input"
        )
