"""The session: a model, its open questions, its meter and its detectors, wired once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any, Self

from lasec.alarms import Alarm, Detector
from lasec.errors import TicketError
from lasec.files import write
from lasec.learner import GivenUp, Learner, filed
from lasec.metrics import Estimate, Meter
from lasec.parameters import Range, number, shown
from lasec.persistence.container import checking, read
from lasec.persistence.record import dump, load
from lasec.queries import TwoPrices
from lasec.queries.two_prices import ASIDE, PRICE
from lasec.session.models import AnyModel, Asked, OwnModel
from lasec.session.saved import (
    KeptNote,
    KeptRows,
    Note,
    SessionFile,
    learner_of,
    saved_detectors,
)
from lasec.sources import Buying, Money, Noise, Record, Source, Verdict
from lasec.types import Aggregate, Decision, Outcome, Query, Vector
from lasec.validation import ticket_or_id

BELIEVED = 0.25  # a model that takes every label for true learns those that are wrong less often

Reaction = Callable[["Session", Alarm], object]


class Session:
    """A model in use: it predicts, queries labels, learns from them, and knows how good it is.

    Everything that is asked, told, canceled or given up reaches the meter and the detectors.

    Parameters
    ----------
    model
        A learner of lasec, or any other model: :func:`~lasec.session.around` takes a scikit-learn
        or River classifier, :class:`~lasec.session.AnyModel` two functions.
    classes
        The names of a learner's classes; those not given are taken from the labels.
    positive
        This class against all others.
    meter
        Estimates accuracy from the queried labels; by default a new :class:`~lasec.Meter`.
    detectors
        Drift detectors (:mod:`lasec.alarms`).
    on_alarm
        Called with the session and each alarm; they are also kept in ``alarms``.
    remember
        Number of last rows with an id, not queried, whose label is taken all the same: a user
        report or a chargeback. It is learned, and no part of any estimate.
    sources
        A cheap judge and then the experts, whose word is the truth, where labels have two prices
        (:mod:`lasec.sources`). Only a part of the rows that the judge answers goes on to an expert,
        by a draw with a known probability.
    money
        What both may cost, in place of the model's own budget.

    Examples
    --------
    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=5, seed=1)
    >>> session = Session(lasec.Tracker(5, rate=0.2, seed=0), classes=["ham", "spam"])
    >>> for number, (x, sign) in enumerate(zip(X, y)):
    ...     decision = session.ask(x, id=f"mail-{number}")
    ...     if decision.asked:  # hours may pass
    ...         outcome = session.tell(f"mail-{number}", "spam" if sign > 0 else "ham")
    >>> session
    Session('Tracker', rows=2000, queried=431, open=0)
    >>> estimate = session.accuracy()
    >>> f"{estimate.value:.2f}, 95 % interval {estimate.low:.2f} to {estimate.high:.2f}"
    '0.95, 95 % interval 0.93 to 0.96'
    """

    def __init__(
        self,
        model: Learner | OwnModel | AnyModel,
        *,
        classes: Sequence[Hashable] = (),
        positive: Hashable | None = None,
        meter: Meter | None = None,
        detectors: Sequence[Detector] = (),
        on_alarm: Reaction | None = None,
        remember: int = 0,
        sources: Sequence[Source] = (),
        money: Money | None = None,
    ) -> None:
        self.model: OwnModel | AnyModel = (
            OwnModel(model, classes, positive) if isinstance(model, Learner) else model
        )
        self.meter = Meter() if meter is None else meter
        self.detectors, self.on_alarm = tuple(detectors), on_alarm
        self.alarms: list[Alarm] = []
        self.notes: dict[int, Note] = {}
        self._ids: dict[Hashable, int] = {}
        self.remember: int = number("remember", remember, int, Range(0, 2**31))
        self.rows: dict[Hashable, Any] = {}  # not queried, by their ids, the oldest first
        self._given_up: deque[GivenUp] = deque()
        self._listen()
        self.buying: Buying | None = None
        if sources or money is not None:
            self.buy(sources, money, classes)

    def buy(
        self, sources: Sequence[Source], money: Money | None, classes: Sequence[Hashable] = ()
    ) -> None:
        """Ask by two prices from now on, with a budget of its own.

        >>> import lasec
        >>> session = Session(lasec.Tracker(1, seed=0), classes=["ham", "spam"])
        >>> session.buy([lasec.Source("gpt"), lasec.Source("people", 50.0)], lasec.Money(1.0))
        >>> session.ask([1.0]).source
        'gpt'
        """
        if money is None or not sources:
            raise ValueError("sources, money: give both, or neither")
        names = classes
        if isinstance(self.model, OwnModel):
            names = self.classes
            if self.learner.aggregate is Aggregate.MAJORITY:
                raise ValueError("sources: one expert answers each question, not a majority")
        query = money.query(sources)
        self.buying = Buying.of(sources, names)
        self.model.use(query)

    def ask(
        self,
        row: Any,
        *,
        id: Hashable = None,  # noqa: A002
        time: float | None = None,
        cells: Any = None,
        price: float | None = None,
    ) -> Decision:
        """Predict the class of a row, and decide whether to query its label.

        Parameters
        ----------
        row
            What the model takes: numbers for a learner, a dict for a River model, and so on.
        id
            The caller's name for the row, by which its label can be told.
        time
            When the row came, for budgets by time.
        cells
            What detectors see of the row, if it is not ``row``: numbers before they were scaled,
            NaN where one is missing.
        price
            What the judge takes for this row, where that differs by row, as with tokens.

        Returns
        -------
        Decision
            The class (None before the first label), the margin, the propensity, whether the label
            is queried, and the ticket.

        Examples
        --------
        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> session.learn([1.0], "ham")
        >>> session.ask([1.0], id="mail-1").label
        'ham'
        """
        return self.decide(row, id=id, time=time, cells=cells, price=price).shown

    def attach(self, buying: Buying | None) -> None:
        """Take the sources of a file, if they are those of its learner."""
        selector = self.model.selector
        query: Query = selector.query
        if buying is not None and not (
            isinstance(query, TwoPrices)
            and query.price == buying.quoted(None)
            and selector.query_state[ASIDE] == buying.judging
            and all(self.model.is_open(ticket) for ticket in buying.asked)
            and set(self.classes) <= set(buying.classes)
        ):
            raise ValueError("the sources are not those of the model")
        self.buying = buying

    def call(self, judge: Callable[[Any], Any] | None) -> None:
        """Call this as the judge, with a row, from now on; a session that is loaded has no judge.

        >>> import lasec
        >>> sources = [lasec.Source("rules", 1.0), lasec.Source("people", 50.0)]
        >>> session = Session(lasec.Tracker(1, seed=0), classes=["ham", "spam"], sources=sources,
        ...                   money=lasec.Money(1.0))
        >>> session.call(lambda row: "spam" if row[0] > 0 else "ham")
        >>> session.ask([1.0]).source
        'people'
        """
        self._sold.call = judge

    def _quote(self, price: float | None) -> None:
        """Let the judge take so much for the next row, None for its usual price."""
        quoted = self._sold.quoted(price)
        if self.model.selector.query_state[PRICE] != quoted:
            with self._account() as (_, state):
                state[PRICE] = quoted

    def _routed(self, asked: Asked, row: Any, price: float | None) -> Asked:
        """A decision with whom to ask; a judge who can be called has answered by then."""
        buying, decision = self._sold, asked.decision
        buying.count(decision, asked.label)
        if not decision.asked:
            return asked
        buying.open(decision, asked.label, decision.propensity, price)
        if buying.call is None:
            return asked._replace(decision=decision._replace(source=buying.judge.name))
        return self.consult(asked, buying.call, row)

    def consult(self, asked: Asked, judge: Callable[[Any], Any], about: Any) -> Asked:
        """:meth:`judge` with what a function says; where it raises, the question is given up."""
        try:
            said = judge(about)
        except BaseException:
            self.model.cancel(asked.decision.ticket)
            self._hear_of_given_up()
            raise
        return self.judge(asked, *(said if isinstance(said, tuple) else (said, None)))

    def judge(self, asked: Asked, answer: Hashable, confidence: float | None = None) -> Asked:
        """The decision about a row once the judge has said something about it, or nothing.

        >>> import lasec
        >>> sources = [lasec.Source("rules", 1.0), lasec.Source("people", 50.0)]
        >>> session = Session(lasec.Tracker(1, seed=0), classes=["ham", "spam"], sources=sources,
        ...                   money=lasec.Money(1.0))
        >>> asked = session.decide([1.0])
        >>> asked.decision.source, session.judge(asked, "spam").decision.source
        ('rules', 'people')
        """
        decision = asked.decision
        verdict = self._judged(decision.ticket, self._meant(answer), confidence)
        source = self._sold.expert.name if verdict.escalated else None
        chance = decision.propensity * verdict.second
        after = decision._replace(propensity=chance, asked=verdict.escalated, source=source)
        return asked._replace(decision=after)

    def _need_one_source(self) -> None:
        if self.buying is not None:
            raise ValueError(
                "sources: a judge's answer goes between rows: ask about each by itself"
            )

    @property
    def _sold(self) -> Buying:
        if self.buying is None:
            raise TypeError("this session has one source of labels: give it sources and money")
        return self.buying

    @contextmanager
    def _account(self) -> Iterator[tuple[TwoPrices, Vector]]:
        """The query of two prices and what it remembers, to be written at the end."""
        selector = self.model.selector
        query: Query = selector.query
        state = selector.query_state.copy()
        assert isinstance(query, TwoPrices)
        yield query, state
        selector.query_state = state

    def _judged(self, ticket: int, answer: Hashable, confidence: float | None) -> Verdict:
        """The judge has said something about an open question, or nothing."""
        seed = self.model.selector.seed
        with self._account() as (query, state):
            verdict = self._sold.hear(ticket, answer, confidence, query, state, seed)
        self.meter.reply(
            ticket, probability=verdict.likely, second=verdict.second, escalated=verdict.escalated
        )
        if not verdict.escalated:
            self._learn_of_judge(ticket, verdict.noise)
        return verdict

    def _meant(self, answer: Hashable) -> Any:
        """The class that a judge says, None for anything else; with ``positive``, one of two."""
        if answer is not None and isinstance(self.model, OwnModel):
            answer = self.model.named(answer)
        return answer if answer in self._sold.classes else None

    def _learn_of_judge(self, ticket: int, noise: Noise | None) -> None:
        """Close a question with what the judge has said, as far as that can be learned."""
        if noise is None or (noise.wrong > BELIEVED and not self.model.hears_noise):
            self.model.cancel(ticket, lost=False)
        else:
            label = self._sold.classes[noise.label]
            self.model.tell(ticket, label, noise.wrong if self.model.hears_noise else 0.0)
        self._forget(ticket)

    def ask_many(
        self,
        rows: Any,
        *,
        ids: Sequence[Hashable] | None = None,
        times: Sequence[float] | None = None,
    ) -> list[Decision]:
        """:meth:`ask` for many rows of a learner, in compiled code: the same decisions.

        They are made for all rows or for none. Questions that expire on the way are heard of at the
        end.

        Parameters
        ----------
        rows
            As many as there are decisions.
        ids
            The caller's names for the rows; None is for a row that has none.
        times
            When each row came, for budgets by time.

        Examples
        --------
        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> session.learn([1.0], "ham")
        >>> [decision.label for decision in session.ask_many([[1.0], [-1.0]], ids=["a", "b"])]
        ['ham', 'spam']
        >>> session.tell("b", "spam").correct
        True
        """
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)  # sparse ones have no len
        self._need_one_source()
        names = [None] * count if ids is None else list(ids)
        given = [name for name in names if name is not None]
        taken = len(set(given)) < len(given) or any(name in self._ids for name in given)
        if taken or len(names) != count:
            raise ValueError("ids: one for each row, all different, and none of an open question")
        decided = self._own.ask_many(rows, times)
        for at, (asked, name) in enumerate(zip(decided, names, strict=True)):
            self._hear(asked, rows[at], name)
        self._hear_of_given_up()
        return [asked.shown for asked in decided]

    def decide(
        self,
        row: Any,
        *,
        id: Hashable = None,  # noqa: A002
        time: float | None = None,
        cells: Any = None,
        price: float | None = None,
    ) -> Asked:
        """:meth:`ask`, with the decision as the meter hears it, and whom to ask."""
        if id is not None and id in self._ids:
            raise ValueError(f"id: the question about {id!r} is still open")
        if self.buying is not None or price is not None:
            self._quote(price)
        asked = self.model.ask(row, time)
        self._hear(asked, row, id, cells)
        self._hear_of_given_up()
        return asked if self.buying is None else self._routed(asked, row, price)

    def _hear(self, asked: Asked, row: Any, id: Hashable, cells: Any = None) -> None:  # noqa: A002
        """Keep the name of a row, and let meter and detectors hear of the decision about it."""
        decision = asked.decision
        if id is not None and decision.asked:
            self._note(decision.ticket, id=id)
        elif id is not None and self.remember:
            self._remember(id, row)
        self.meter.ask(decision)
        for detector in self.detectors:
            self._raise(detector.ask(decision, row if cells is None else cells))

    def tell(
        self,
        question: Hashable = None,
        label: Hashable = None,
        *,
        id: Hashable = None,  # noqa: A002
        by: str | None = None,
        confidence: float | None = None,
    ) -> Outcome:
        """Learn the label of an open question, or of a row that the session remembers.

        Parameters
        ----------
        question
            Its ticket, a whole number. Text, or anything else that is no whole number, is an id.
        label
            The class.
        id
            The id of its row, in place of the ticket: a whole number here is never a ticket.
        by
            Who answered: where several annotators answer, each name counts once. Where there are
            two sources, the name of the judge, or of anybody else for an expert.
        confidence
            The judge's own probability that its answer is right, if it gives one.

        Returns
        -------
        Outcome
            Whether the prediction was correct (None where there was none), whether the question is
            settled, and more. An answer of the judge that is not settled goes on to ``source``.

        Raises
        ------
        TicketError
            If there is no such question, or it is not open any more.

        Examples
        --------
        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> decision = session.ask([1.0], id="mail-1")
        >>> print(session.tell("mail-1", "ham").correct)  # nothing was predicted yet
        None
        >>> decision = session.ask([1.0], id=7)
        >>> session.tell(id=7, label="ham").correct
        True
        """
        ticket, name = ticket_or_id(question, id)
        if label is None and not self.is_judge(by):
            raise ValueError("label: expected the class of the row")
        if ticket is None and name not in self._ids and name in self.rows:
            return self.model.learn(self.rows.pop(name), label)
        ticket = self._ticket(name) if ticket is None else ticket
        if self.buying is not None and self.buying.expect(ticket, by):
            return self._told_by_judge(ticket, label, confidence)
        note = self.notes.get(ticket, Note())
        if by is not None and by in note.answered_by:
            raise TicketError(f"ticket {ticket}: {by!r} has answered already")
        with _meant_as_ticket(ticket, name):
            outcome = self._scored(self.model.tell(ticket, label))
        if by is not None:
            self._note(ticket, answered_by=(*note.answered_by, by))
        if outcome.settled:
            self._settled(outcome)
        return outcome

    def _told_by_judge(self, ticket: int, label: Hashable, confidence: float | None) -> Outcome:
        """What the judge's answer did, which is not the truth, but may teach the model."""
        asked = self.model.question(ticket).shown
        label = self._meant(label)
        verdict = self._judged(ticket, label, confidence)
        source = self._sold.expert.name if verdict.escalated else None
        mistake = label is not None and label != asked.label
        taught = verdict.noise is not None and not verdict.escalated
        return Outcome(asked, label, mistake, taught, not verdict.escalated, source)

    def _scored(self, outcome: Outcome) -> Outcome:
        """An outcome that is neither right nor wrong where nothing was predicted."""
        decision = outcome.decision
        if self.meter.has_prediction(decision.ticket):
            return outcome
        return outcome._replace(decision=decision._replace(label=None))

    def learn(self, row: Any, label: Hashable, *, noise: float = 0.0) -> None:
        """Learn a label that nobody asked for; it is no part of any estimate.

        ``noise`` is the probability that it is wrong, as in :meth:`lasec.Learner.tell`: that of a
        user's report, for example. A label of a question has none, since estimates take it for the
        truth.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> session.learn([1.0], "ham")
        >>> session.ask([1.0]).label
        'ham'
        """
        self.model.learn(row, label, noise)

    def _remember(self, id: Hashable, row: Any) -> None:  # noqa: A002
        """Keep a row that was not queried, and forget the oldest."""
        self.rows.pop(id, None)
        self.rows[id] = copy(row)
        while len(self.rows) > self.remember:
            del self.rows[next(iter(self.rows))]

    def predict(self, rows: Any) -> list[Any]:
        """The classes of rows; nothing is counted, queried or learned.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> session.learn([1.0], "ham")
        >>> session.predict([[1.0], [-1.0]])
        ['ham', 'spam']
        """
        return self.model.predict(rows)

    def cancel(
        self,
        question: Hashable = None,
        *,
        id: Hashable = None,  # noqa: A002
    ) -> str | None:
        """Give up an open question, by its ticket or by the id of its row, as in :meth:`tell`.

        Where a judge was asked, it has no answer then, and an expert may be asked: gives its name.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1))
        >>> session.cancel(session.ask([1.0]).ticket)
        >>> session.questions, session.meter.lost
        ([], 1)
        """
        ticket, name = ticket_or_id(question, id)
        with _meant_as_ticket(ticket, name):
            known = self._ticket(name) if ticket is None else ticket
            if self.is_judge(self._waits_for(known)):
                after = self._judged(known, None, None)  # no answer is an answer
                return self._sold.expert.name if after.escalated else None
            self.model.cancel(known)
        self._hear_of_given_up()
        return None

    def holds(self, id: Hashable) -> bool:  # noqa: A002
        """Whether a label for the row of this id is taken: it is asked about, or remembered.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1))
        >>> decision = session.ask([1.0], id="mail-1")
        >>> session.holds("mail-1"), session.holds("mail-2")
        (True, False)
        """
        return id in self._ids or id in self.rows

    def keep(self, ticket: int, columns: Mapping[Any, Any]) -> None:
        """Keep some cells with an open question, for the people who answer it."""
        self._note(ticket, columns=dict(columns))

    @property
    def questions(self) -> list[tuple[Decision, Note]]:
        """The open questions, oldest first, with what was kept of each.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> session.learn([1.0], "spam")
        >>> decision = session.ask([1.0], id="mail-1")
        >>> [(asked.label, note.id) for asked, note in session.questions]
        [('spam', 'mail-1')]
        """
        found = []
        for one in self.model.questions:
            known = self.meter.has_prediction(one.ticket)
            shown = one.shown if known else one.shown._replace(label=None)
            shown = shown._replace(source=self._waits_for(one.ticket))
            found.append((shown, self.notes.get(one.ticket, Note())))
        return found

    def accuracy(self, **options: Any) -> Estimate:
        """An unbiased estimate of the accuracy over all rows, queried or not, with an interval.

        Rows before the first label have no prediction, and are no part of it
        (:attr:`lasec.Meter.unpredicted`). A few open questions count as lost, so that the oldest
        one does not hold the estimate back (:meth:`lasec.Meter.reaching`). ``options`` are those of
        :meth:`lasec.Meter.estimate`.
        """
        return self.meter.reaching().estimate(**options)

    def source(self, name: str) -> Record:
        """The record of the judge: how often it is right, over all rows and by class.

        >>> import lasec
        >>> X, y = lasec.streams.stationary(4_000, dimension=3, seed=1)
        >>> rng = iter(lasec.uniforms(seed=5, first=0, count=4_000)[:, 0])
        >>> truth = iter(y)  # a judge who is right in nine of ten rows
        >>> judge = lasec.Source("rules", 1.0)
        >>> session = lasec.Session(
        ...     lasec.Tracker(3, seed=0), classes=[-1, 1],
        ...     sources=[judge, lasec.Source("people", 20.0)], money=lasec.Money(1.0))
        >>> for x, label, draw in zip(X, y, rng):
        ...     decision = session.ask(x)
        ...     if decision.source == "rules":
        ...         said = label if draw < 0.9 else -label
        ...         step = session.tell(decision.ticket, said, by="rules")
        ...         if step.source == "people":
        ...             outcome = session.tell(decision.ticket, label, by="people")
        >>> f'{session.source("rules").accuracy().value:.1f}'
        '0.9'
        """
        if name != self._sold.judge.name:
            raise ValueError(f"source: {shown(name)} has no record, only the judge has one")
        return Record(self._sold)

    def is_judge(self, by: str | None) -> bool:
        """Whether answers by this name are those of a cheap judge."""
        return self.buying is not None and by == self.buying.judge.name

    def _waits_for(self, ticket: int) -> str | None:
        """Who is asked about an open question, where there are two sources."""
        return None if self.buying is None else self.buying.waits_for(ticket)

    @property
    def record(self) -> Record | None:
        """The record of the judge, where there is one."""
        return None if self.buying is None else Record(self.buying)

    @property
    def spent(self) -> dict[str, float]:
        """What each source has cost, in the unit of the prices; empty where there is one source."""
        return {} if self.buying is None else self.buying.spent

    @property
    def planned(self) -> float:
        """What the budget of money allows by now, in the unit of the prices."""
        selector = self.model.selector
        query: Any = selector.query
        return float(self._sold.expert.price * query.planned(selector.query_state))

    @property
    def learner(self) -> Learner:
        """The learner of lasec that this session carries."""
        return self._own.learner

    @property
    def classes(self) -> list[Any]:
        """The classes that are known, in the order in which they were given or told."""
        return self._own.classes

    @property
    def positive(self) -> Hashable | None:
        """The class that is separated from all others, if it is one."""
        return self._own.positive

    def named(self, label: Hashable) -> Any:
        """The class of a label: itself, or the one of all that are not ``positive``.

        >>> import lasec
        >>> Session(lasec.LASEC(dimension=1), positive="spam").named("eggs")
        'not spam'
        """
        return self._own.named(label)

    @property
    def _own(self) -> OwnModel:
        if not isinstance(self.model, OwnModel):
            raise TypeError("this session carries a model that is not lasec's")
        return self.model

    def frozen(self) -> Callable[[], SessionFile]:
        """What gives the record of the session as it is now, at any time and in any thread.

        To freeze is quick, however many questions are open; to make the record is not.
        """
        learner, meter, sources = copy(self.learner), deepcopy(self.meter), deepcopy(self.buying)
        notes, rows, remember = self.notes.copy(), self.rows.copy(), self.remember
        positive: Any = self.positive
        watching = saved_detectors(self.detectors)

        def record() -> SessionFile:
            kept = {t: KeptNote.of(note) for t, note in notes.items() if learner.is_open(t)}
            return SessionFile(
                filed(learner), meter, positive, kept, remember,
                KeptRows.of(rows, learner.dimension), watching, sources,
            )  # fmt: skip

        return record

    @classmethod
    def of(cls, file: SessionFile) -> Self:
        """The session of a record."""
        made = cls(
            learner_of(file.learner), positive=file.positive, meter=file.meter,
            detectors=file.watching(), remember=file.remember,
        )  # fmt: skip
        for ticket, kept in file.notes.items():
            if not made.model.is_open(ticket):
                raise ValueError("a note is not that of an open question")
            made._note(ticket, **kept.note._asdict())
        made.rows = file.rows.rows(made.learner.dimension)
        made.attach(file.sources)
        return made

    def to_bytes(self) -> bytes:
        """The session as bytes that :meth:`from_bytes` reads.

        A detector of another library (:class:`~lasec.alarms.Watch`) is not among them; give it to
        ``detectors`` of the session that is loaded.

        >>> import lasec
        >>> session = Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
        >>> ticket = session.ask([1.0], id="mail-1").ticket
        >>> again = Session.from_bytes(session.to_bytes())
        >>> again.tell("mail-1", "ham").settled, again
        (True, Session('LASEC', rows=1, queried=1, open=0))
        """
        return self.packing()()

    def packing(self) -> Callable[[], bytes]:
        """What gives :meth:`to_bytes` as it is now, at any time and in any thread."""
        frozen = self.frozen()
        return lambda: dump(frozen())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The session that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`."""
        file = load(SessionFile, data)
        with checking():
            return cls.of(file)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, all of it or nothing.

        >>> import lasec, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Session(lasec.Tracker(3)).save(f"{folder}/filter.lasec")
        ...     Session.load(f"{folder}/filter.lasec")
        Session('Tracker', rows=0, queried=0, open=0)
        """
        write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The session of a file, or a :class:`~lasec.errors.StateError` that says what is wrong."""
        return cls.from_bytes(read(path))

    def __repr__(self) -> str:
        name = self.model.learner.name if isinstance(self.model, OwnModel) else "any model"
        return (
            f"Session({name!r}, rows={self.meter.rows}, queried={self.meter.asked}, "
            f"open={len(self.model.questions)})"
        )

    def _ticket(self, name: Hashable) -> int:
        """The ticket of the open question about the row with this id."""
        if name not in self._ids:
            raise TicketError(
                f"there is no open question about {shown(name)}: its label was not asked for, has "
                "come already, or is not waited for any more"
            )
        return self._ids[name]

    def _note(self, ticket: int, **more: Any) -> None:
        self.notes[ticket] = self.notes.get(ticket, Note())._replace(**more)
        if self.notes[ticket].id is not None:
            self._ids[self.notes[ticket].id] = ticket

    def branch(self, *, learns: bool = True) -> Self:
        """This session with a copy of its model; meter, detectors and notes are shared.

        For callers that want all or nothing: let the copy decide and learn, put the branch in the
        place of the session, and let it :meth:`hear_asked` or :meth:`hear_told`. A branch that only
        asks shares the arrays that asking does not change.
        """
        self._need_one_source()
        twin, model = object.__new__(type(self)), self.model
        model = model.asking() if isinstance(model, OwnModel) and not learns else copy(model)
        vars(twin).update(vars(self), model=model, _given_up=deque())
        twin._listen()
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._listen()

    def _listen(self) -> None:
        """Hear of what the model gives up; of several sessions of one model, the last hears."""
        self.model.listen(self._given_up.append)

    def hear_asked(self, decisions: Iterable[Decision], row: Callable[[int], Any]) -> None:
        """Let meter and detectors hear of decisions; ``row`` gives the row at a place."""
        for at, decision in enumerate(decisions):
            self.meter.ask(decision)
            for detector in self.detectors:
                self._raise(detector.ask(decision, row(at)))
        self._hear_of_given_up()

    def hear_told(self, outcomes: Iterable[Outcome]) -> None:
        """Let meter and detectors hear of labels that have come."""
        for outcome in outcomes:
            self._settled(outcome)
        self._hear_of_given_up()

    def _settled(self, outcome: Outcome) -> None:
        ticket = outcome.decision.ticket
        if self.buying is not None:
            with self._account() as (query, state):
                self.buying.learn(outcome, outcome.y, query, state)
        self.meter.tell(outcome)
        for detector in self.detectors:
            self._raise(detector.tell(outcome))
        if not self.model.is_open(ticket):
            self._forget(ticket)

    def _hear_of_given_up(self) -> None:
        """The one path of every question that will not be answered."""
        while self._given_up:
            gone = self._given_up.popleft()
            if self.buying is not None:
                with self._account() as (query, state):
                    self.buying.give_up(gone.ticket, query, state)
            self.meter.cancel(gone.ticket)
            for detector in self.detectors:
                self._raise(detector.cancel(gone.ticket))
            self._forget(gone.ticket)

    def _forget(self, ticket: int) -> None:
        note = self.notes.pop(ticket, Note())
        self._ids.pop(note.id, None)

    def _raise(self, alarm: Alarm | None) -> None:
        if alarm is not None:
            self.alarms.append(alarm)
            if self.on_alarm is not None:
                self.on_alarm(self, alarm)


@contextmanager
def _meant_as_ticket(ticket: Any, name: Hashable) -> Iterator[None]:
    """Errors about a number that is no open ticket, which say how to give a number as an id."""
    try:
        yield
    except TicketError as error:
        if name is not None:
            raise
        raise TicketError(f"{error} (for the row with the id {ticket}, give id={ticket})") from None
