"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, Generic, Self, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import notebook, sparse, validation
from lasec.busy import Busy
from lasec.classes import ClassNames, class_names
from lasec.clock import LEAD
from lasec.files import write
from lasec.learner import adaptive, reading, running
from lasec.learner.book import GivenUp, Listener, Question, decided
from lasec.learner.saved import LearnerFile
from lasec.learner.state import LearnerState
from lasec.learner.terms import (
    ALWAYS,
    DIMENSIONS,
    Terms,
    check_weights,
    class_weights,
)
from lasec.nested import leaves, rebuilt
from lasec.parameters import Range, number
from lasec.persistence import codec, record
from lasec.persistence.container import checking, read
from lasec.records import Records
from lasec.rules.tracker.costs import GIVEN
from lasec.selector import Selector
from lasec.sparse import SparseRows
from lasec.types import (
    Aggregate,
    Decision,
    LearnFrom,
    Outcome,
    Query,
    Rule,
    Vector,
)

T = TypeVar("T")
L = TypeVar("L", bound="Learner")
_STEPS = Range(0, 2**62)


class Options(TypedDict, total=False):
    """What every learner can be given, whatever its rule and query."""

    seed: int | None
    max_pending: int
    max_age: float | None
    lead: float | None
    aggregate: Aggregate | str
    annotators: int
    classes: Sequence[Hashable] | None
    max_classes: int


class Fact:
    """A part of the state of a learner, readable as an attribute of the learner.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> decision = learner.ask([0.5, -1.0])
    >>> learner.rows, learner.asked, learner.told
    (1, 1, 0)
    """

    def __init__(self, place: str) -> None:
        self._read = attrgetter(f"_now.{place}")

    @overload
    def __get__(self, learner: None, owner: type) -> Fact: ...
    @overload
    def __get__(self, learner: object, owner: type) -> Any: ...
    def __get__(self, learner: object, owner: type) -> Any:
        return self if learner is None else self._read(learner)

    def __set__(self, learner: object, value: object) -> None:
        raise AttributeError("a counter is changed by what happens to the learner alone")


class Term(Generic[T]):
    """One of the terms of a learner, readable and settable as an attribute; it is checked.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> learner.annotators = 5
    >>> learner.annotators
    5
    >>> learner.annotators = 4
    Traceback (most recent call last):
    ValueError: annotators must be an odd number, got 4
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, learner: None, owner: type) -> Term[T]: ...
    @overload
    def __get__(self, learner: Learner, owner: type) -> T: ...
    def __get__(self, learner: Learner | None, owner: type) -> Any:
        return self if learner is None else getattr(learner._now.terms, self._name)

    def __set__(self, learner: Learner, value: object) -> None:
        given: dict[str, Any] = learner._now.terms._asdict() | {self._name: value}
        learner._now = replace(learner._now, terms=Terms.of(**given))


class Learner:
    """An online classifier on a label budget: :meth:`ask` about a row, :meth:`tell` its label.

    ``ask`` predicts and decides whether to query the label; it never changes what the model
    predicts. Only labels do. They may come late, out of order, or never. A learner belongs to one
    thread at a time.

    Parameters
    ----------
    rule
        How the model predicts and learns: one of :mod:`lasec.rules`, or your own.
    query
        How a margin becomes the probability of querying: one of :mod:`lasec.queries`.
    dimension
        Number of features; None takes it from the first row.
    learn_from
        "mistakes" updates the model where its prediction was wrong, "labels" on every label.
    seed
        Random seed. A draw depends only on ``seed`` and the ticket. By default 64 random bits are
        drawn and saved with the model: anyone who knows the seed knows which rows are queried.
    max_pending
        Number of open questions; past it the oldest is dropped.
    max_age
        A question that is open for more rows (seconds, where times are given) expires.
    lead
        A row dated more seconds ahead of the machine's clock is served, but moves no clock. Times
        are seconds since 1970; with None, every time is accepted, in any unit.
    aggregate
        Which of several answers to a question counts: the "first", or that of the "majority".
    annotators
        Number of answers that a majority is taken of; odd.
    classes
        The classes, if they are known: any labels, any number. Others are added as they are told;
        with a third one, a rule for two classes becomes a :class:`~lasec.rules.OneVsRest`.
    max_classes
        How many classes labels can add up to: a label that would be one more is refused, since
        each takes time and memory. ``classes`` that are named may be more.
    name
        What it is called in reports.

    Notes
    -----
    ``rows``, ``asked``, ``told``, ``updates``, ``dropped``, ``expired`` and ``contradicted`` count
    what has happened so far; ``state`` holds the model's arrays, ``selector`` the query's.

    Examples
    --------
    >>> import lasec
    >>> rule, query = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Uniform(rate=0.2)
    >>> learner = Learner(rule, query, dimension=5, seed=0)
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> for x, label in zip(X, y):
    ...     decision = learner.ask(x)
    ...     if decision.asked:
    ...         outcome = learner.tell(decision.ticket, label)
    >>> learner
    Learner('SecondOrder + Uniform', dimension=5, rows=1000, asked=187, updates=23)
    """

    def __init__(
        self,
        rule: Rule[Any],
        query: Query = ALWAYS,
        *,
        dimension: int | None,
        learn_from: LearnFrom | str = LearnFrom.MISTAKES,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: float | None = None,
        lead: float | None = LEAD,
        aggregate: Aggregate | str = Aggregate.FIRST,
        annotators: int = 3,
        classes: Sequence[Hashable] | None = None,
        max_classes: int = 100,
        name: str = "",
    ) -> None:
        terms = Terms.of(learn_from, max_age, aggregate, annotators, max_classes)
        now = LearnerState.first(
            rule, query, dimension, terms, classes=classes, seed=seed, lead=lead,
            max_pending=max_pending,
        )  # fmt: skip
        self._begin(name or now.title, now)

    def _begin(self, name: str, now: LearnerState) -> Self:
        self.name, self._now, self._busy, self._in_place = name, now, Busy("learner"), False
        return self

    def ask(
        self, x: ArrayLike, *, time: float | None = None, draw: float | None = None
    ) -> Decision:
        """Predict the label of a row, and decide whether to query the true one.

        Parameters
        ----------
        x
            The row: ``dimension`` finite numbers; of some rules, a row of :mod:`scipy.sparse`.
        time
            When it came, for budgets by time; without it, rows are counted.
        draw
            A uniform number in [0, 1) to use instead of the learner's own.

        Returns
        -------
        Decision
            Label, margin, its variance, propensity, whether the label is queried, and the ticket.

        Examples
        --------
        >>> import lasec
        >>> learner = lasec.LASEC_SS(dimension=2, aggressiveness=1.0, seed=0)
        >>> learner.ask([0.5, -1.0])
        Decision(label=1, margin=0.0, variance=1.25, propensity=1.0, asked=True, ticket=0)
        """
        with self._busy:
            now = adaptive.boosted(self._sized("x", x, 1))
            row = reading.one_row(now, x)
            given = -1.0 if draw is None else float(validation.uniforms("draw", [draw], 1)[0])
            selector, book, age = now.selector, now.book, now.terms.max_age
            when = selector.moment(time)
            if now.kind.names:
                now.admit(SparseRows.of(row))
            seen, spent = selector.look(now.rule, now.model, row, given, when, len(book))
            fine, label, margin, variance, propensity, asked = seen
            if not fine:
                raise reading.refusal(row)
            decision = Decision(int(label), margin, variance, propensity, asked, selector.rows)
            # From here on nothing is refused. A signal can cost a question that nobody has seen.
            selector.note(spent, 1, asked, None if time is None else when)
            self._now = now
            moment = selector.clock.aging(when)
            if age is not None and (expired := book.expire(before=moment - age)):
                now.counts = now.counts.plus(expired=expired)
            if asked and book.add(decision, row.copy(), moment):
                now.counts = now.counts.plus(dropped=1)
            book.report()
            return now.named(decision)

    def ask_many(
        self, X: ArrayLike, *, times: ArrayLike | None = None, draws: ArrayLike | None = None
    ) -> Records:
        """:meth:`ask` for many rows, in compiled code: the same decisions, for all rows or none.

        Parameters
        ----------
        X
            The rows.
        times
            When each came, for budgets by time.
        draws
            Uniform numbers in [0, 1) to use instead of the learner's own.

        Returns
        -------
        Records
            A column for each field of a decision. Nothing is learned before the labels are told.

        Examples
        --------
        >>> import lasec
        >>> X, y = lasec.streams.switching(1_000, dimension=5, seed=1)
        >>> tracker = lasec.Tracker(rate=0.1, seed=0)
        >>> decided = tracker.ask_many(X[:100])
        >>> for ticket in decided.ticket[decided.asked].tolist():
        ...     outcome = tracker.tell(ticket, y[ticket])
        >>> decided, tracker.told
        (Records(rows=100, asked=58, learned=0, refused=0), 58)
        """
        with self._busy:
            now = self._sized("X", X, 2)
            self._now, records = adaptive.in_turns(now, running.ask, X, times, draws)
            self._now.book.report()
            return records

    def tell(self, ticket: int, y: Hashable, *, noise: float = 0.0) -> Outcome:
        """Learn the label of a row that was queried.

        Parameters
        ----------
        ticket
            The ticket of the decision.
        y
            The label, of any kind. Whether a second answer to the same question is taken depends on
            the learner's ``aggregate``.
        noise
            The probability that the label is wrong, any of the other classes: that of a user's
            report, a rule of thumb or a language model. Of the Tracker alone.

        Returns
        -------
        Outcome
            The decision, the label, whether the prediction was wrong, whether the model changed.

        Raises
        ------
        TicketError
            If the ticket is not open: never given out, not queried, told already, expired or
            dropped.

        Examples
        --------
        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> decision = learner.ask([0.5, -1.0])
        >>> outcome = learner.tell(decision.ticket, -1)
        >>> outcome.correct, outcome.updated
        (False, True)
        >>> learner = lasec.LASEC(dimension=2, aggregate="majority", annotators=3)
        >>> decision = learner.ask([0.5, -1.0])
        >>> [learner.tell(decision.ticket, y).settled for y in (-1, 1, -1)]
        [False, False, True]
        """
        with self._busy:
            now, label = self._now, validation.class_label(y)
            now.book.find(ticket, now.selector.rows)
            wrong = now.check_noise(noise)
            now = now.meeting(label)
            question = now.book.find(ticket, now.selector.rows)
            outcome = _heard(now, question, now.classes.code(label), wrong)
            self._now = now
            return outcome

    def cancel(self, ticket: int, *, lost: bool = True) -> None:
        """Give up an open question: its answer will not come, and would be refused if it did.

        One that is not ``lost`` is settled: its answer came from elsewhere. Nobody hears of it,
        and nothing is counted.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.cancel(learner.ask([0.5, -1.0]).ticket)
        >>> learner.pending, learner.dropped
        ((), 1)
        """
        with self._busy:
            now = self._now
            now.book.find(ticket, now.selector.rows)
            if lost:
                now.book.give_up(int(ticket))
                now.counts = now.counts.plus(dropped=1)
                now.book.report()
            else:
                now.book.settle(int(ticket))

    def learn(self, x: ArrayLike, y: Hashable, *, noise: float = 0.0) -> Outcome:
        """Learn a labeled row that nobody asked for.

        It takes a ticket of its own; its decision has propensity 0, since nothing was drawn.
        ``noise`` is the probability that the label is wrong, as in :meth:`tell`.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.learn([0.5, -1.0], -1).updated
        True
        """
        with self._busy:
            now = self._sized("x", x, 1)
            row, label = reading.one_row(now, x), validation.class_label(y)
            wrong = now.check_noise(noise)
            now.check_label(label)
            selector = now.selector
            if now.kind.names:
                now.admit(SparseRows.of(row))
            (fine, predicted, margin, variance, _, _), _ = selector.look(
                now.rule, now.model, row, 0.0, float(selector.rows), 0
            )
            if not fine:
                raise reading.refusal(row)
            decision = Decision(
                int(predicted), margin, variance, 0.0, asked=False, ticket=selector.rows
            )
            few, now = len(now.classes.names), now.meeting(label)
            if few == 2 < len(now.classes.names):
                decision = decision._replace(label=1 if decision.label < 0 else 2)
            outcome = _learned(now, decision, row, now.classes.code(label), wrong)
            now.selector.skip(1)
            self._now = now
            return outcome

    def learn_many(self, X: ArrayLike, y: ArrayLike) -> None:
        """:meth:`learn` for many rows, in compiled code: all of them or none.

        >>> import lasec
        >>> X, y = lasec.streams.switching(1_000, dimension=5, seed=1)
        >>> learner = lasec.Tracker(5, seed=0)
        >>> learner.learn_many(X, y)
        >>> learner
        Tracker('Tracker', dimension=5, rows=1000, asked=0, updates=1000)
        """
        with self._busy:
            self._now = running.learn(self._sized("X", X, 2), X, y, in_place=self._in_place)

    def margins(self, X: ArrayLike, *, first: int | None = None) -> Vector:
        """The margin of each row, as of the next step; nothing is counted, queried or learned.

        With ``first``, the rows are those of the steps ``first``, ``first`` + 1, and so on,
        counted from 0: a model that follows the time is the less certain, the later a row comes.
        Several threads may read at once, as long as none writes.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> outcome = learner.learn([1.0, 0.0], -1)
        >>> learner.margins([[1.0, 0.0], [-3.0, 0.0]]).round(3).tolist()
        [-0.331, 0.268]
        """
        margin: Vector = reading.look(*self._readable(X), first).margin.copy()
        return margin

    def preview(self, X: ArrayLike, *, draws: ArrayLike | None = None) -> Records:
        """What :meth:`ask` would decide about each row if it were the next; nothing is counted.

        So rows do not see each other, and a label budget does not see them. ``draws`` are uniform
        numbers in [0, 1) to decide by, instead of the learner's own, which is that of the next row.
        A row that is too large for the model is marked in ``records.refused``. A budget by time
        has no preview.

        >>> import lasec
        >>> tracker = lasec.Tracker(dimension=2, rate=0.1, seed=0)
        >>> seen = tracker.preview([[1.0, 0.0], [1.0, 0.0]])
        >>> seen.propensity.round(2).tolist(), tracker.rows
        ([0.87, 0.87], 0)
        """
        return reading.preview(*self._readable(X), draws)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of each row, as of the next step; a margin of zero counts as +1.

        Where classes have weights, the one with the largest product of weight and probability.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> outcome = learner.learn([1.0, 0.0], -1)
        >>> learner.predict([[1.0, 0.0], [-3.0, 0.0]]).tolist(), learner.rows
        ([-1, 1], 1)
        """
        now, rows = self._readable(X)
        return now.labels(reading.look(now, rows).label)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class for each row, as of the next step; nothing is asked.

        Columns are as in :attr:`classes`. Only for rules whose margins are P(+1) - P(-1): see
        :attr:`has_probabilities`.

        >>> import lasec
        >>> X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
        >>> tracker = lasec.Tracker(rate=0.2, seed=0)
        >>> records = tracker.run(X, y)
        >>> tracker.predict_proba(X[:2]).round(3).tolist()
        [[0.995, 0.005], [0.989, 0.011]]
        """
        if not self.has_probabilities:
            raise TypeError(f"{type(self.rule).__name__} has margins, but no probabilities")
        return reading.likely(*self._readable(X))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order in which they were given or told.

        >>> import lasec
        >>> tracker = lasec.Tracker(dimension=1, classes=["ham", "spam"], seed=0)
        >>> tracker.learn([1.0], "eggs").correct, tracker.classes, lasec.LASEC(dimension=1).classes
        (False, ('ham', 'spam', 'eggs'), (-1, 1))
        """
        names = self._now.classes
        return (-1, 1) if names.are_signs else names.names

    def name_classes(self, classes: Sequence[Hashable]) -> None:
        """Give names to the classes -1 and +1, in this order; those that follow are new classes.

        Where classes have names already, those that are not among them are new ones. What the rule
        has noted of rows without labels is kept.

        >>> import lasec
        >>> tracker = lasec.Tracker(dimension=1, seed=0)
        >>> outcome = tracker.learn([1.0], -1)
        >>> tracker.name_classes(["ham", "spam"])
        >>> tracker.predict([[1.0]]).tolist(), tracker.classes
        (['ham'], ('ham', 'spam'))
        """
        with validation.foreign("classes"):
            labels = [validation.class_label(name) for name in classes]
        fresh = class_names(labels)
        with self._busy:
            now = self._now.copy()
            if now.classes.are_signs:
                now.classes = ClassNames(fresh.names[:2])
            for label in labels:
                now.meet(label, named=True)
            self._now = now

    def weigh_classes(self, weights: Mapping[Any, float]) -> None:
        """Say what it costs to miss a row of each class, from now on; others stay as they are.

        For a rule that has class weights: see ``class_weight`` of :class:`~lasec.Tracker`. As long
        as no class is known, these labels are classes; later, others are refused.

        >>> import lasec
        >>> tracker = lasec.Tracker(dimension=1, class_weight={"fraud": 20.0}, seed=0)
        >>> tracker.weigh_classes({"fraud": 5.0})
        >>> tracker.state.costs[0].tolist(), tracker.known_classes
        ([5.0, 1.0], ('fraud',))
        """
        if not getattr(self.rule, "weighted", False):
            raise TypeError("class weights are for a Tracker that was made with a class_weight")
        given = class_weights(weights)
        with self._busy:
            now = self._now.copy()
            if self.known_classes:
                check_weights(given, [label for label in given if now.classes.code(label)])
            for label in given:
                now.meet(label, named=True)
            for label, weight in given.items():
                now.model.costs[GIVEN, now.classes.names.index(label)] = weight
            self._now = now

    @property
    def known_classes(self) -> tuple[Any, ...]:
        """The classes that were given or told so far, in the order of :attr:`classes`."""
        return tuple(name for name in self._now.classes.names if name is not None)

    def widen(self, dimension: int, *, known: int | None = None) -> None:
        """Let rows have more features from now on; those before had zeros there.

        So had the rows of open questions. The first ``known`` of the features so far were in use,
        by default all of them. With one that was not, the last, a learner of the papers is what it
        had been with all features from the start. A Tracker says the same about rows it knew.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> outcome = learner.learn([1.0, 0.0], -1)
        >>> learner.widen(3, known=1)
        >>> learner.margins([[1.0, 0.0, 0.0]]).round(3).tolist()
        [-0.331]
        """
        with self._busy:
            now = self._now
            least = now.dimension if now.sized else 1
            size = number("dimension", dimension, int, Range(least, DIMENSIONS.high))
            used = number("known", least if known is None else known, int, Range(0, least))
            model = now.blank(size)
            if now.sized:
                wide = zip(
                    *map(leaves, (now.rule.widened(now.model, size, used), model)), strict=True
                )
                model = rebuilt(model, (array.astype(blank.dtype) for array, blank in wide))
            self._now = now.resized(size, model)

    def restart(self) -> None:
        """Let the next row say how many features there are, where no label was learned before.

        What the rule has noted of the rows so far is forgotten. The rows of open questions are cut:
        give them again by :meth:`restate`.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.restart()
        >>> learner.ask([1.0, 2.0, 3.0]).asked, learner.dimension
        (True, 3)
        """
        with self._busy:
            if self._now.counts.told:
                raise ValueError("restart: this learner has learned a label")
            now = replace(self._now, sized=False)
            self._now = replace(now.resized(1, now.blank(1)), sized=False)

    def restate(self, ticket: int, x: ArrayLike) -> None:
        """Let an open question be about this row: it has features that were not known before.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=1)
        >>> ticket = learner.ask([1.0]).ticket
        >>> learner.widen(2)
        >>> learner.restate(ticket, [1.0, 5.0])
        >>> learner.tell(ticket, -1).updated, learner.state.weights.round(3).tolist()
        (True, [-0.037, -0.185])
        """
        with self._busy:
            now = self._now
            now.book.find(ticket, now.selector.rows)
            row, book = reading.one_row(now, x).copy(), copy(now.book)
            book.restate(int(ticket), row)
            self._now = replace(now, book=book)

    @contextmanager
    def attempt(self, *, many: bool = False) -> Iterator[None]:
        """Several calls of which all succeed or none counts, even if one raises.

        It is for what prepares one label: :meth:`widen`, :meth:`name_classes` and others, and then
        a ``tell`` or ``learn``. For ``many`` labels the model is copied first, once: no :meth:`run`
        within copies it again, and a listener hears what was given up when all is done.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=1)
        >>> try:
        ...     with learner.attempt():
        ...         learner.widen(2)
        ...         learner.learn([float("nan"), 1.0], -1)
        ... except ValueError:
        ...     print(learner.dimension)
        1
        """
        before, held = self._now, list[GivenUp]()
        if many:
            self._now, self._in_place = before.copy(), True
            self._now.book.listener = held.append if before.book.listener else None
        try:
            yield
        except BaseException:
            self._now = before
            raise
        finally:
            self._in_place = False
        self._now.book.listener = listener = before.book.listener
        if listener is not None:
            for gone in held:
                listener(gone)

    @property
    def has_probabilities(self) -> bool:
        """Whether margins are P(+1) - P(-1), so that :meth:`predict_proba` can be called."""
        return reading.probable(self._now)

    def boost(self, labels: float, *, over: float) -> None:
        """Ask more for a while: spend ``labels`` of the budget now, and save them again later.

        They are saved evenly over the next ``over`` rows (or so much time, where the budget is by
        time), and the budget's hard cap holds all the same. For use after an alarm.

        >>> import lasec
        >>> learner = lasec.Tracker(dimension=2, rate=0.1, seed=0)
        >>> learner.boost(50, over=2_000)
        >>> lasec.LASEC(dimension=2).boost(50, over=2_000)
        Traceback (most recent call last):
        TypeError: Always holds no budget: there is nothing to spend earlier
        """
        extra = number("labels", labels, float, Range(0.0, 1e12))
        ticks = number("over", over, float, Range(1e-12, 1e12))
        with self._busy:
            selector = self._now.selector
            state = selector.query_state.copy()
            selector.query.boost(state, extra, ticks)
            selector.query_state = state

    def run(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        times: ArrayLike | None = None,
        draws: ArrayLike | None = None,
    ) -> Records:
        """Ask about each row and tell its label at once if queried: a chunk in compiled code.

        The decisions are those of the loop over :meth:`ask` and :meth:`tell`, however the stream is
        cut into chunks (questions that were open before count as open to the end of the chunk, and
        one label settles a question in any case).

        Parameters
        ----------
        X, y
            Rows and their labels, of any kind; None and NaN are rows without a label, whose
            questions go unanswered.
        times
            When each row came, for budgets by time.
        draws
            Uniform numbers in [0, 1) to use instead of the learner's own.

        Returns
        -------
        Records
            A column for each field of a decision.

        Examples
        --------
        >>> import lasec
        >>> X, y = lasec.streams.switching(seed=1)
        >>> lasec.LASEC_SS(50, drift=0.01, ridge=0.5, aggressiveness=0.02, seed=0).run(X, y)
        Records(rows=10000, accuracy=0.700, labels=3496, rate=0.350)
        """
        with self._busy:
            now = self._sized("X", X, 2)
            self._now, records = adaptive.in_turns(
                now, running.run, X, y, times, draws, in_place=self._in_place
            )
            self._now.book.report()
            return records

    rows, asked = Fact("selector.rows"), Fact("selector.asked")
    told, updates, contradicted = (
        Fact("counts.told"), Fact("counts.updates"), Fact("counts.contradicted"),
    )  # fmt: skip
    dropped, expired = Fact("counts.dropped"), Fact("counts.expired")

    @property
    def rule(self) -> Any:
        """How the model predicts and learns, for the classes that are known."""
        return self._now.rule

    learn_from = Term[LearnFrom]("learn_from")
    max_age = Term[float | None]("max_age")
    aggregate = Term[Aggregate]("aggregate")
    annotators, max_classes = Term[int]("annotators"), Term[int]("max_classes")

    @property
    def state(self) -> Any:
        """The arrays of the model: the state of its rule."""
        return self._now.model

    @state.setter
    def state(self, model: Any) -> None:
        self._now = replace(self._now, model=model)

    @property
    def dimension(self) -> int:
        """The number of features of a row; 1 as long as it is not known."""
        return self._now.dimension

    @property
    def query(self) -> Query:
        """When to ask for a label. A query that is set later begins with a state of its own."""
        return self._now.selector.query

    @query.setter
    def query(self, query: Query) -> None:
        selector = copy(self._now.selector)
        selector.use(query)
        self._now.selector = selector

    @property
    def selector(self) -> Selector:
        """What decides on queries: the state of the query, the random draws and the clock."""
        return self._now.selector

    @property
    def seed(self) -> int:
        """The seed of the random draws."""
        return self._now.selector.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._now.selector.seed = seed

    @property
    def open_bytes(self) -> int:
        """The bytes of the rows that wait for their labels."""
        return self._now.book.bytes

    @property
    def max_pending(self) -> int:
        """How many questions may be open at a time."""
        return self._now.book.limit

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first."""
        return tuple(self._now.book)

    @property
    def questions(self) -> tuple[Decision, ...]:
        """What was decided about the rows whose labels are still wanted, oldest first."""
        book = self._now.book
        return tuple(self._now.named(book.find(t, self.rows).decision) for t in book)

    def question(self, ticket: int) -> Decision:
        """What was decided about the row of an open ticket.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.question(learner.ask([0.5, -1.0]).ticket).propensity
        1.0
        """
        now = self._now
        return now.named(now.book.find(ticket, now.selector.rows).decision)

    def is_open(self, ticket: int) -> bool:
        """Whether a ticket can still be told: it was asked, and is not settled, expired or dropped.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, max_age=1)
        >>> tickets = [learner.ask([1.0, t]).ticket for t in range(3)]
        >>> [learner.is_open(ticket) for ticket in tickets]
        [False, True, True]
        """
        return ticket in self._now.book

    def listen(self, listener: Listener | None) -> Listener | None:
        """Let somebody hear of every question that is given up from now on; gives who did before.

        Questions expire, are dropped because too many are open, or are canceled. A
        :class:`~lasec.Session` listens and lets its meter know. The listener is called when the
        learner has changed, before the call returns, and must not call the learner. Copies and
        files have none.

        >>> import lasec
        >>> learner, heard = lasec.LASEC(dimension=2, max_age=1), []
        >>> before = learner.listen(heard.append)
        >>> tickets = [learner.ask([1.0, t]).ticket for t in range(4)]
        >>> [(gone.ticket, gone.why.value) for gone in heard]
        [(0, 'expired'), (1, 'expired')]
        """
        book = self._now.book
        before, book.listener = book.listener, listener
        return before

    def to_bytes(self) -> bytes:
        """The whole learner, open questions included, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=3)
        >>> lasec.Learner.from_bytes(learner.to_bytes())
        Learner('LASEC', dimension=3, rows=0, asked=0, updates=0)
        """
        return record.dump(filed(self))

    @classmethod
    def from_bytes(
        cls, data: bytes, *, rules: Iterable[type] = (), queries: Iterable[type] = ()
    ) -> Self:
        """The learner that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`.

        A file names its rule and query. Those of your own are found among ``rules`` and
        ``queries``.

        >>> import lasec
        >>> lasec.Learner.from_bytes(lasec.SOP(dimension=3).to_bytes()).rule
        SecondOrder(drift=0.0, ridge=1.0)
        """
        return revived(cls, record.load(LearnerFile, data), rules=rules, queries=queries)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, all of it or nothing.

        A new file is readable by its owner alone, because a model may hold rows; one that exists
        keeps its mode. Through a symbolic link, the file that it points to is written.

        >>> import lasec, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lasec.LASEC(dimension=3).save(f"{folder}/model.lasec")
        ...     lasec.Learner.load(f"{folder}/model.lasec")
        Learner('LASEC', dimension=3, rows=0, asked=0, updates=0)
        """
        write(path, self.to_bytes())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        rules: Iterable[type] = (),
        queries: Iterable[type] = (),
    ) -> Self:
        """The learner of a file, or a :class:`~lasec.errors.StateError` that says what is wrong.

        ``rules`` and ``queries`` are those of your own, as in :meth:`from_bytes`.

        >>> import lasec, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     lasec.Learner.load(file.name)
        Traceback (most recent call last):
        lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
        """
        return cls.from_bytes(read(path), rules=rules, queries=queries)

    def __getstate__(self) -> dict[str, Any]:
        own: dict[str, Any] = {"_busy": Busy("learner"), "_in_place": False}  # nobody uses a copy
        now = self._now.copy()
        now.book.listener = None
        return vars(self) | own | {"_now": now}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._now = self._now.copy()  # joblib gives arrays that nobody can write to

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(self.__getstate__())
        return twin

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, dimension={self.dimension}, "
            f"rows={self.rows}, asked={self.asked}, updates={self.updates})"
        )

    def _repr_html_(self) -> str:
        """A card in a notebook."""
        spent = f"{self.asked:,} of {self.rows:,}"
        facts = {
            "rule": repr(self.rule),
            "asks": repr(self.query),
            "learns from": f"asked {self.learn_from.value}",
            "features": f"{self.dimension:,}" if self._now.sized else "as in the first row",
            "labels asked": f"{spent} ({notebook.percent(self.asked / max(self.rows, 1))})",
            "open questions": f"{len(self._now.book):,}",
        }
        return notebook.card(self.name, facts)

    def _sized(self, name: str, given: ArrayLike, axes: int) -> LearnerState:
        """The state, or a first one for rows such as these or this one."""
        now = self._now
        if now.sized:
            return now
        return self._suited(given).fitting(sparse.features(name, given, axes))

    def _suited(self, given: ArrayLike) -> LearnerState:
        """The state before the first row, with the rule for rows such as these."""
        return self._now

    def _readable(self, X: ArrayLike) -> tuple[LearnerState, Any]:
        """The state and rows for it, of which nothing is to be written."""
        now = self._sized("X", X, 2)
        rows = reading.usable(now, X)
        if not self._now.sized:
            self._now = now
        return now, rows


def _heard(now: LearnerState, question: Question, y: int, noise: float) -> Outcome:
    """Let an answer in, and the label too, if the answers so far decide it."""
    decision, terms = question.decision, now.terms
    answers = (*question.answers, y)
    verdict = decided(answers, terms.aggregate, terms.annotators)
    if verdict:
        outcome = _learned(now, decision, question.x, verdict, noise)
        now.book.settle(decision.ticket)
    else:
        label = now.classes.name(y)
        outcome = Outcome(now.named(decision), label, decision.label != y, updated=False)
        outcome = outcome._replace(settled=False)
        now.book.hear(question, answers)
    if any(code != y for code in question.answers):
        now.counts = now.counts.plus(contradicted=1)
    return outcome


def _learned(now: LearnerState, decision: Decision, x: Vector, y: int, noise: float) -> Outcome:
    """Let a label in, under the model of this moment."""
    predicted, wanted = now.teach(x, y, decision.ticket, noise)
    return Outcome(now.named(decision), now.classes.name(y), predicted != y, wanted)


def filed(learner: Learner) -> LearnerFile:
    """The record of a learner, as a file of it, or of what it is a part of, holds it.

    >>> import lasec
    >>> revived(lasec.Learner, filed(lasec.LASEC(dimension=3)))
    Learner('LASEC', dimension=3, rows=0, asked=0, updates=0)
    """
    with learner._busy:
        if not learner._now.sized:
            raise ValueError("dimension: this learner has seen no row yet, so it has no state")
        return LearnerFile.of(learner.name, learner._now)


def revived(
    kind: type[L], file: LearnerFile, *, rules: Iterable[type] = (), queries: Iterable[type] = ()
) -> L:
    """The learner of a record, or a :class:`~lasec.errors.StateError`."""
    known = codec.known(codec.RULES, rules), codec.known(codec.QUERIES, queries)
    with checking():
        return kind.__new__(kind)._begin(file.name, file.restored(*known))


def standing(name: str, now: LearnerState) -> Learner:
    """The learner whose state this is.

    >>> import lasec
    >>> standing("Pegasos", LearnerState.first(lasec.rules.Perceptron(), ALWAYS, 3))
    Learner('Pegasos', dimension=3, rows=0, asked=0, updates=0)
    """
    return Learner.__new__(Learner)._begin(name, now)


def counted(learner: L, **counters: int) -> L:
    """The same learner with other counters, by name; what it has learned is shared, not copied.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> counted(learner, rows=7).rows, learner.rows
    (7, 0)
    """
    given = {name: number(name, count, int, _STEPS) for name, count in counters.items()}
    now = learner._now
    selector, book = copy(now.selector), copy(now.book)
    selector.rows = given.pop("rows", selector.rows)
    selector.asked = given.pop("asked", selector.asked)
    book.listener = None
    twin = object.__new__(type(learner))
    vars(twin).update(vars(learner))
    counts = now.counts._replace(**given)
    return twin._begin(learner.name, replace(now, selector=selector, book=book, counts=counts))


def leads(learner: Learner, X: ArrayLike) -> Vector:
    """How far the best class of each row leads the second, as of the next step.

    It is what a query decides on: the size of the margin where there are two classes.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2, classes=["ham", "spam"])
    >>> outcome = learner.learn([1.0, 0.0], "ham")
    >>> leads(learner, [[1.0, 0.0], [-3.0, 0.0]]).round(3).tolist()
    [0.331, 0.268]
    """
    return np.asarray(np.abs(reading.look(*learner._readable(X)).lead))


def class_margins(learner: Learner, X: ArrayLike) -> NDArray[np.float64]:
    """The margin of each class for each row, as of the next step: the largest is predicted.

    Columns are as in ``learner.classes``. Where there are probabilities, it is P(class) - P(any
    other class); else the margin of the class against the rest.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2, classes=["ham", "spam", "eggs"])
    >>> outcome = learner.learn([1.0, 0.0], "ham")
    >>> class_margins(learner, [[1.0, 0.0]]).round(3).tolist()
    [[0.0, -0.331, -0.331]]
    """
    return reading.class_margins(*learner._readable(X))
