"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import notebook, sparse, validation
from lasec.book import Book, Listener, Question, decided
from lasec.busy import Busy
from lasec.classes import ClassNames, class_names
from lasec.clock import LEAD, Clock
from lasec.files import write
from lasec.kernel import engine
from lasec.learner_state import (
    DIMENSIONS,
    MOST_CLASSES,
    Counter,
    LearnerState,
    packed,
    unpacked,
)
from lasec.nested import entry_of, leaves, rebuilt
from lasec.parameters import Range, choice, number, shown
from lasec.persistence import codec
from lasec.persistence.container import read, restored
from lasec.queries import Always
from lasec.records import Records
from lasec.rules import OneVsRest
from lasec.rules.costs import GIVEN
from lasec.rules.growth import widened
from lasec.rules.one_vs_rest import has_probabilities
from lasec.selector import Selector
from lasec.sparse import SparseRows, plain
from lasec.types import (
    Aggregate,
    BudgetQuery,
    ClassRule,
    Decision,
    LearnFrom,
    Outcome,
    Query,
    Rule,
    StatefulQuery,
    Vector,
    Views,
)

ALWAYS = Always()
_AGES = Range(0.0, 1e30)
_ROUNDS = Range(0, 2**62)
_WEIGHTS = Range(1e-9, 1e9)


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


def with_classes(
    rule: Any, given: Sequence[Hashable] | None, *, every_label: bool
) -> tuple[Rule[Any], ClassNames]:
    """The rule for the classes that are known, and their names.

    A rule for two classes learns from ``every_label`` of more, or from mistakes.

    >>> import lasec
    >>> rule, names = with_classes(lasec.rules.SecondOrder(), "abc", every_label=False)
    >>> type(rule).__name__, names.names
    ('OneVsRest', ('a', 'b', 'c'))
    """
    many = isinstance(rule, ClassRule)
    labels = [validation.class_label(name) for name in given or ()]
    names = class_names(labels, least=rule.classes if many else 2)
    count = len(names.names)
    if many:
        return rule._replace(classes=count), names
    return rule if count == 2 else OneVsRest(rule, count, every_label), names


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
    what has happened so far; ``state`` holds the model's arrays, ``query_state`` the query's.

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
        sized = dimension is not None
        size: int = number("dimension", dimension, int, DIMENSIONS) if sized else 1
        self.learn_from = choice(LearnFrom, learn_from)
        self.rule, names = with_classes(rule, classes, every_label=not self._from_mistakes)
        self.name = name or f"{type(rule).__name__} + {type(query).__name__}"
        self._kind = sparse.row_kind(self.rule)
        model = codec.begin(self.rule, size)
        selector = Selector(query, seed=seed, lead=lead)
        self.max_age: float | None = (
            None if max_age is None else number("max_age", max_age, float, _AGES)
        )
        self.aggregate = choice(Aggregate, aggregate)
        self.annotators: int = number("annotators", annotators, int, Range(1, 999))
        if self.annotators % 2 == 0:
            raise ValueError(f"annotators must be an odd number, got {annotators}")
        book = Book(number("max_pending", max_pending, int, DIMENSIONS))
        most: int = number("max_classes", max_classes, int, MOST_CLASSES)
        self._now = LearnerState(
            model, size, selector, book, sized=sized, classes=names, max_classes=most
        )
        self._table: tuple[Any, NDArray[Any]] | None = None
        self._busy, self._is_draft = Busy("learner"), False

    @property
    def _from_mistakes(self) -> bool:
        return self.learn_from == LearnFrom.MISTAKES

    @property
    def _mistakes_only(self) -> bool:
        """Whether a row whose class was predicted is not learned; each of many classes decides."""
        return self._from_mistakes and not isinstance(self.rule, OneVsRest)

    def _meet(self, now: LearnerState, label: Hashable) -> None:
        """Make a place for a label, if it is of a new class."""
        self.rule = now.meet(self.rule, label, every_label=not self._from_mistakes)

    @contextmanager
    def _meeting(self, now: LearnerState, label: Hashable) -> Iterator[LearnerState]:
        """The state with a place for a label; where the label is refused, nothing has changed."""
        before = self.rule, self._now
        try:
            if label not in now.classes.names:
                now = now.copy()
                self._meet(now, label)
            self._now = now
            yield now
        except BaseException:
            self.rule, self._now = before
            raise

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
            now = self._now if self._now.sized else self._begun("x", x, 1)
            row = self._row(x, now.dimension)
            given = -1.0 if draw is None else float(validation.uniforms("draw", [draw], 1)[0])
            selector, book = now.selector, now.book
            when = selector.moment(time)
            if self._kind.names:
                self._admit(now, SparseRows.of(row))
            seen, spent = selector.look(self.rule, now.model, row, given, when, len(book))
            fine, label, margin, variance, propensity, asked = seen
            if not fine:
                raise self._refusal(row)
            decision = Decision(int(label), margin, variance, propensity, asked, selector.rows)
            # From here on nothing is refused. A signal can cost a question that nobody has seen.
            selector.note(spent, 1, asked, None if time is None else when)
            self._now = now
            moment = selector.clock.aging(when)
            if self.max_age is not None:
                now.expired += book.expire(before=moment - self.max_age)
            if asked:
                now.dropped += book.add(decision, row.copy(), moment)
            book.report()
            return self._named(decision)

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
            now = self._now if self._now.sized else self._begun("X", X, 2)
            rows = sparse.rows(X, now.dimension, self._kind)
            n = len(rows)
            given, when = validation.given(draws, n), now.selector.times(times, n)
            if self._kind.names:
                self._admit(now, rows)
            if self._counts_closed(now, n, when):  # row by row: questions close in between
                now, cuts = now.copy(), [slice(i, i + 1) for i in range(n)]
            else:
                cuts = [slice(0, n)]
            parts = [self._ask_chunk(now, rows[at], given[at], when[at]) for at in cuts]
            self._now = now
            now.book.report()
            return Records.join(parts)

    def _counts_closed(self, now: LearnerState, n: int, when: Vector) -> bool:
        """Whether the query asks how many questions are open, and some may close among n rows."""
        if not isinstance(self.query, StatefulQuery) or getattr(self.query, "max_open", 1) == 0:
            return False
        old = False
        if self.max_age is not None and n > 0:
            first = now.selector.rows + 1.0
            begin, end = (when.min(), when.max()) if when.size else (first, first + n - 1)
            old = min(now.book.oldest, begin) < end - self.max_age
        return bool(old or len(now.book) + n > now.book.limit)

    def _ask_chunk(self, now: LearnerState, rows: Any, given: Vector, when: Vector) -> Records:
        """Decide about rows; where one is refused, nothing is changed."""
        selector = now.selector
        bad, columns, spent = selector.look_at_all(
            self.rule, now.model, rows, given, when, len(now.book)
        )
        if bad >= 0:
            validation.finite("X", rows[bad])
            raise self._too_large(f"X: row {bad}")
        sign = None if now.told else np.zeros(len(rows), dtype=np.int8)
        records = Records.questions(columns, first=selector.rows, sign=sign)
        selector.note(spent, len(rows), records.labels, float(when.max()) if when.size else None)
        self._open(now, rows, records, when)
        return replace(records, label=now.classes.named(records.label))

    def _open(self, now: LearnerState, rows: Any, asked: Records, when: Vector) -> None:
        """Put the questions among some rows into the book, and close those that are too old."""
        given = np.maximum.accumulate(when) if when.size else asked.ticket + 1.0
        moments = now.selector.clock.aging(given.astype(np.float64, copy=False))
        at = np.flatnonzero(asked.asked)
        columns = (asked.label, asked.margin, asked.variance, asked.propensity)
        for i, *fields in zip(
            at.tolist(), *(column[at].tolist() for column in columns), strict=True
        ):
            label, margin, variance, propensity = fields
            ticket, moment = asked.first + i, float(moments[i])
            if self.max_age is not None:
                now.expired += now.book.expire(before=moment - self.max_age)
            decision = Decision(label, margin, variance, propensity, True, ticket)
            now.dropped += now.book.add(decision, rows[i].copy(), moment)
        if self.max_age is not None and len(rows):
            now.expired += now.book.expire(before=float(moments[-1]) - self.max_age)

    def tell(self, ticket: int, y: Hashable) -> Outcome:
        """Learn the label of a row that was queried.

        Parameters
        ----------
        ticket
            The ticket of the decision.
        y
            The label, of any kind. Whether a second answer to the same question is taken depends on
            the learner's ``aggregate``.

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
            with self._meeting(now, label) as now:
                question = now.book.find(ticket, now.selector.rows)
                return self._hear(question, now.classes.code(label))

    def cancel(self, ticket: int) -> None:
        """Give up an open question: its answer will not come, and would be refused if it did.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.cancel(learner.ask([0.5, -1.0]).ticket)
        >>> learner.pending, learner.dropped
        ((), 1)
        """
        with self._busy:
            now = self._now
            now.book.find(ticket, now.selector.rows)
            now.book.give_up(int(ticket))
            now.dropped += 1
            now.book.report()

    def note(self, X: ArrayLike) -> None:
        """Count rows that were asked about elsewhere, by the margins of this learner.

        Each is a step, as if :meth:`ask` had seen it. A rule may scale its rows by what it has seen
        of rows without labels (the Tracker's does), so it has to see them all. No margin changes
        before the next label.

        >>> import lasec
        >>> tracker = lasec.Tracker(dimension=2)
        >>> tracker.note([[1.0, 2.0], [3.0, 4.0]])
        >>> tracker.rows, tracker.asked, tracker.state.tally.tolist()
        (2, 0, [2.0, 4.0, 6.0, 10.0, 20.0])
        """
        with self._busy:
            now = self._now if self._now.sized else self._begun("X", X, 2)
            rows = self._rows(X, now.dimension)
            if self._kind.names:
                self._admit(now, rows)
            if hasattr(self.rule, "note"):
                now.selector.machine.note(self.rule, now.model, plain(rows))
            now.selector.skip(len(rows))
            self._now = now

    def answer(self, X: ArrayLike, y: ArrayLike, tickets: Iterable[int]) -> int:
        """Learn the labels of rows that were asked about elsewhere; gives how many were used.

        It is :meth:`tell` for rows of earlier steps that this learner does not keep; see
        :meth:`note`. All are learned in their order, or none.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.note([[1.0, 0.0], [0.0, 1.0]])
        >>> learner.answer([[0.0, 1.0]], [-1], tickets=[1]), learner.rows, learner.told
        (1, 2, 1)
        """
        with self._busy:
            now = self._now if self._now.sized else self._begun("X", X, 2)
            rows = self._rows(X, now.dimension)
            labels, known = self._labels(y, len(rows)), Range(0, now.selector.rows - 1)
            with validation.foreign("tickets"):
                steps = [number("ticket", ticket, int, known) for ticket in tickets]
            answers, updates = [*zip(rows, labels, steps, strict=True)], now.updates
            if len(answers) > 1:  # a single one is refused before anything is written
                now = now.copy()
            before = self.rule, self._now
            try:
                for x, label, ticket in answers:
                    with self._meeting(now, label) as now:
                        self._teach(now, x, now.classes.code(label), ticket)
                        now.told += 1
            except BaseException:
                self.rule, self._now = before
                raise
            return now.updates - updates

    def learn(self, x: ArrayLike, y: Hashable) -> Outcome:
        """Learn a labeled row that nobody asked for.

        It takes a ticket of its own; its decision has propensity 0, since nothing was drawn.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.learn([0.5, -1.0], -1).updated
        True
        """
        with self._busy:
            now = self._now if self._now.sized else self._begun("x", x, 1)
            row, label = self._row(x, now.dimension), validation.class_label(y)
            now.check_label(label)
            selector = now.selector
            if self._kind.names:
                self._admit(now, SparseRows.of(row))
            (fine, predicted, margin, variance, _, _), _ = selector.look(
                self.rule, now.model, row, 0.0, float(selector.rows), 0
            )
            if not fine:
                raise self._refusal(row)
            decision = Decision(
                int(predicted), margin, variance, 0.0, asked=False, ticket=selector.rows
            )
            few = len(now.classes.names)
            with self._meeting(now, label) as now:
                if few == 2 < len(now.classes.names):
                    decision = decision._replace(label=1 if decision.label < 0 else 2)
                outcome = self._learn(now, decision, row, now.classes.code(label))
                now.told += 1
                now.selector.skip(1)
                return outcome

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
        now, rows = self._readable(X)
        margin: Vector = self._look(self.rule, now.model, rows, first).margin.copy()
        return margin

    def views(self, X: ArrayLike, *, first: int | None = None) -> Views:
        """What :meth:`ask` would say about rows, a column each; nothing is counted or queried.

        For rows whose questions are kept elsewhere: see :meth:`note`. ``first`` is as in
        :meth:`margins`. A row that :meth:`ask` would refuse is refused.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, classes=["ham", "spam"])
        >>> outcome = learner.learn([1.0, 0.0], "ham")
        >>> views = learner.views([[1.0, 0.0], [-3.0, 0.0]])
        >>> views.label.tolist(), views.margin.round(3).tolist(), views.certainty.round(3).tolist()
        (['ham', 'spam'], [-0.331, 0.268], [0.32, 0.262])
        """
        now, rows = self._readable(X)
        seen = self._look(self.rule, now.model, rows, first)
        refused = np.flatnonzero(seen.fine == 0.0)
        if refused.size:
            raise self._too_large(f"X: row {refused[0]}" if len(rows) > 1 else "x")
        label = self._labeled(now, seen.label)
        many = len(now.classes.names) > 2
        sure = seen.margin if many else np.abs(seen.margin)
        if not self.has_probabilities:
            sure = np.tanh(np.abs(seen.lead))
        return Views(label, seen.lead.copy(), sure.copy(), seen.variance.copy())

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
        now, rows = self._readable(X)
        n, seen = len(rows), self._look(self.rule, now.model, rows, None)
        fine, given = seen.fine > 0.0, validation.given(draws, len(rows))
        propensity, asked = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
        propensity[fine], asked[fine] = now.selector.preview(
            seen.lead[fine], seen.variance[fine], waiting=len(now.book),
            draws=given[fine] if given.size else given,
        )  # fmt: skip
        margin, variance = (np.where(fine, one, np.nan) for one in (seen.margin, seen.variance))
        none, label = np.zeros(n, dtype=np.bool_), self._labeled(now, seen.label)
        return Records(
            label, margin, variance, propensity, asked, none, none, learned=none, labeled=none,
            ticket=np.full(n, self.rows), refused=~fine, all_labels=False,
            sign=np.where(seen.label < 0.0, -1, 1).astype(np.int8),
        )  # fmt: skip

    def class_margins(self, X: ArrayLike) -> NDArray[np.float64]:
        """The margin of each class for each row, as of the next step: the largest is predicted.

        Columns are as in :attr:`classes`. Where there are probabilities, it is P(class) - P(any
        other class); else the margin of the class against the rest.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, classes=["ham", "spam", "eggs"])
        >>> outcome = learner.learn([1.0, 0.0], "ham")
        >>> learner.class_margins([[1.0, 0.0]]).round(3).tolist()
        [[0.0, -0.331, -0.331]]
        """
        now, rows = self._readable(X)
        rule: Any = self.rule
        if len(now.classes.names) == 2:
            margin = self._look(rule, now.model, rows, None).margin
            return np.column_stack([-margin, margin])
        if self.has_probabilities or not isinstance(rule, OneVsRest):
            return 2.0 * self._likely(now, rows) - 1.0
        states = (entry_of(now.model, k) for k in range(rule.classes))
        return np.column_stack([self._look(rule.inner, one, rows, None).margin for one in states])

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
        return self._labeled(now, self._look(self.rule, now.model, rows, None).label)

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
        if len(self._now.classes.names) > 2:
            return self._likely(*self._readable(X))
        margin = self.margins(X)
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])

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
            now, rule = self._now.copy(), self.rule
            if now.classes.are_signs:
                now.classes = ClassNames(fresh.names[:2])
            for label in labels:
                rule = now.meet(rule, label, every_label=not self._from_mistakes, named=True)
            self.rule, self._now = rule, now

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
            now, rule = self._now.copy(), self.rule
            if self.known_classes:
                check_weights(given, [label for label in given if now.classes.code(label)])
            for label in given:
                rule = now.meet(rule, label, every_label=not self._from_mistakes, named=True)
            costs = now.model.costs.copy()
            for label, weight in given.items():
                costs[GIVEN, now.classes.names.index(label)] = weight
            now.model = now.model._replace(costs=costs)
            self.rule, self._now = rule, now

    @property
    def known_classes(self) -> tuple[Any, ...]:
        """The classes that were given or told so far, in the order of :attr:`classes`."""
        return tuple(name for name in self._now.classes.names if name is not None)

    def widen(self, dimension: int, *, known: int | None = None) -> None:
        """Let rows have more features from now on; those before had zeros there.

        The first ``known`` of the features so far were in use, by default all of them. With one
        that was not, the last, a learner of the papers is what it had been with all features from
        the start; see :mod:`lasec.rules.growth`, also for the Tracker.

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
            if len(now.book):
                raise ValueError(f"dimension: {len(now.book)} open questions have fewer features")
            model = self._blank(size)
            if now.sized:
                wide = zip(
                    *map(leaves, (widened(self.rule, now.model, size, used), model)), strict=True
                )
                model = rebuilt(model, (array.astype(blank.dtype) for array, blank in wide))
            selector = deepcopy(now.selector)
            self._now = replace(now, model=model, dimension=size, sized=True, selector=selector)

    @property
    def has_probabilities(self) -> bool:
        """Whether margins are P(+1) - P(-1), so that :meth:`predict_proba` can be called."""
        return has_probabilities(self.rule.inner if isinstance(self.rule, OneVsRest) else self.rule)

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
        query = self.query
        if not isinstance(query, BudgetQuery):
            raise TypeError(
                f"{type(query).__name__} holds no budget: there is nothing to spend earlier"
            )
        extra = number("labels", labels, float, Range(0.0, 1e12))
        ticks = number("over", over, float, Range(1e-12, 1e12))
        with self._busy:
            state = self.query_state.copy()
            query.boost(state, extra, ticks)
            self._now.selector.query_state = state

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
            records = self._run(X, y, times, draws)
            self._now.book.report()
            return records

    def _run(
        self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None, draws: ArrayLike | None
    ) -> Records:
        """All rows of a chunk, or none of them."""
        now = self._now if self._now.sized else self._begun("X", X, 2)
        rows = sparse.rows(X, now.dimension, self._kind)
        n = len(rows)
        given, when = validation.given(draws, n), now.selector.times(times, n)
        signs = validation.signs(y, n) if now.classes.are_signs else None
        if signs is None:
            return self._run_classes(now, rows, validation.classes(y, n), given, when)
        now, records = self._chunk(now, rows, signs, given, when)
        now.classes = now.classes.known(np.unique(signs[records.learned]).astype(int).tolist())
        self._now = now
        return records

    def _chunk(
        self, now: LearnerState, rows: Any, codes: Vector, given: Vector, when: Vector
    ) -> tuple[LearnerState, Records]:
        """Rows whose classes are all known; the state is as it was, unless it is a draft's."""
        selector = copy(now.selector)
        bad, columns, model, spent = selector.run(
            self.rule, now.model, rows, codes, given, when, len(now.book),
            mistakes_only=self._mistakes_only, in_place=self._is_draft,
        )  # fmt: skip
        if bad >= 0:
            validation.finite("X", rows[bad])
            raise self._too_large(f"X: row {bad}")
        records = Records(*columns, first=selector.rows, labeled=~np.isnan(codes))
        if not now.told:
            until = int(np.argmax(records.learned)) + 1 if records.learned.any() else len(rows)
            records.sign[:until] = 0
        selector.note(spent, len(rows), records.labels, float(when.max()) if when.size else None)
        told = int(records.learned.sum())
        after = replace(
            now, model=model, selector=selector, told=now.told + told,
            updates=now.updates + int(records.updated.sum()),
            dropped=now.dropped + records.labels - told,
        )  # fmt: skip
        return self._aged(after, float(when[-1]) if when.size else float(selector.rows)), records

    def _run_classes(
        self, now: LearnerState, rows: Any, labels: tuple[list[Any], NDArray[np.intp]],
        given: Vector, when: Vector,
    ) -> Records:  # fmt: skip
        """A chunk in pieces, between the rows of classes that are not known yet."""
        kinds, which = labels
        begin, n, parts, rule, names = 0, len(rows), list[Records](), self.rule, None
        now = now if all(now.classes.code(kind) for kind in kinds) else now.copy()
        try:
            while begin < n or not parts:
                if names is not now.classes:
                    names = now.classes
                    codes = np.append(names.codes(kinds), np.nan)[which]
                    new = np.append(np.flatnonzero(codes == 0.0), n)
                end = int(new[np.searchsorted(new, begin)])
                at = slice(begin, end if end > begin or not n else begin + 1)
                if end > begin or not n:
                    now, records = self._chunk(now, rows[at], codes[at], given[at], when[at])
                    told = np.unique(which[at][records.learned])
                    now.classes = names.known(kinds[kind] for kind in told)
                else:
                    now, records = self._newcomer(
                        now, rows[begin], kinds[which[begin]], given[at], when[at]
                    )
                parts.append(replace(records, label=names.named(records.label)))
                begin = at.stop
        except BaseException:
            self.rule = rule
            raise
        self._now = now
        return Records.join(parts)

    def _newcomer(
        self, now: LearnerState, x: Vector, label: Hashable, given: Vector, when: Vector
    ) -> tuple[LearnerState, Records]:  # fmt: skip
        """A row of a class that is not known, unless it is asked: then it is met, and learned."""
        selector, ticket = copy(now.selector), now.selector.rows
        moment = float(when[0]) if when.size else selector.moment(None)
        draw = float(given[0]) if given.size else -1.0
        if self._kind.names:
            now = replace(now)
            self._admit(now, SparseRows.of(x))
        seen, spent = selector.look(self.rule, now.model, x, draw, moment, len(now.book))
        fine, predicted, margin, variance, propensity, asked = seen
        if not fine:
            raise self._refusal(x)
        selector.note(spent, 1, asked, moment if when.size else None)
        sign: Any = None if now.told else np.zeros(1, dtype=np.int8)
        now = replace(now, selector=selector)
        if asked:
            self._meet(now, label)
            self._teach(now, x, now.classes.code(label), ticket)
            now.told += 1
        columns = ([predicted], [margin], [variance], [propensity], [asked], [True], [asked])
        kinds = (np.int16, float, float, float, bool, bool, bool)
        made = Records(*map(np.array, columns, kinds), first=ticket, sign=sign)
        return self._aged(now, moment), made

    def counted(self, **counters: int) -> Self:
        """The same learner with other counters, by name; what it has learned is shared, not copied.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.counted(rows=7).rows, learner.rows
        (7, 0)
        """
        given = {name: number(name, count, int, _ROUNDS) for name, count in counters.items()}
        selector = copy(self._now.selector)
        selector.rows = given.pop("rows", selector.rows)
        selector.asked = given.pop("asked", selector.asked)
        twin, book = object.__new__(type(self)), copy(self._now.book)
        book.listener = None
        state = replace(self._now, selector=selector, book=book, **given)
        twin.__dict__.update(vars(self), _now=state, _busy=Busy("learner"))
        return twin

    def draft(self) -> Self:
        """A copy for calls of which all succeed or none counts: its :meth:`run` is not undone.

        A chunk of rows then needs no copy of the model, which of many columns takes longer than
        the rows. Throw the draft away where a call raises, and :meth:`adopt` it where none did.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> draft = learner.draft()
        >>> records = [draft.run([[1.0, t], [t, 1.0]], [-1, 1]) for t in (2.0, 3.0)]
        >>> learner.adopt(draft)
        >>> learner.rows
        4
        """
        twin = copy(self)
        twin._is_draft = True
        return twin

    def adopt(self, other: Learner) -> None:
        """Take the state of a copy that went on from here: both share it from now on.

        >>> import copy, lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> other = copy.copy(learner)
        >>> records = other.run([[1.0, 2.0]], [-1])
        >>> before = learner.rows
        >>> learner.adopt(other)
        >>> before, learner.rows
        (0, 1)
        """
        other._now.book.listener = self._now.book.listener
        self.rule, self._now, self._kind = other.rule, other._now, other._kind

    rows, asked = Counter("selector.rows"), Counter("selector.asked")
    told, updates, contradicted = Counter("told"), Counter("updates"), Counter("contradicted")
    dropped, expired = Counter("dropped"), Counter("expired")

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
    def is_sized(self) -> bool:
        """Whether the number of features is known: given, or that of a row."""
        return self._now.sized

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
    def query_state(self) -> Vector:
        """The state of the query, if it has one: what a budget has spent, for example."""
        return self._now.selector.query_state

    @property
    def seed(self) -> int:
        """The seed of the random draws."""
        return self._now.selector.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._now.selector.seed = seed

    @property
    def clock(self) -> Clock:
        """The latest time that is known, where rows come with times."""
        return self._now.selector.clock

    @property
    def open_bytes(self) -> int:
        """The bytes of the rows that wait for their labels."""
        return self._now.book.bytes

    @property
    def max_pending(self) -> int:
        """How many questions may be open at a time."""
        return self._now.book.limit

    @property
    def max_classes(self) -> int:
        """How many classes labels can add up to."""
        return self._now.max_classes

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first."""
        return tuple(self._now.book)

    @property
    def questions(self) -> tuple[Decision, ...]:
        """What was decided about the rows whose labels are still wanted, oldest first."""
        book = self._now.book
        return tuple(self._named(book.find(t, self.rows).decision) for t in book)

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
        with self._busy:
            if not self._now.sized:
                raise ValueError("dimension: this learner has seen no row yet, so it has no state")
            header = {
                "name": self.name,
                "rule": codec.describe(self.rule),
                "query": codec.describe(self.query),
                "dimension": self.dimension,
                "learn_from": LearnFrom(self.learn_from).value,
                "seed": self.seed,
                "max_pending": self.max_pending,
                "max_age": self.max_age,
                "clock": self.clock.header(),
                "aggregate": self.aggregate.value,
                "annotators": self.annotators,
                "max_classes": self.max_classes,
            }
            header["classes"] = list(self._now.classes.names)
            return packed(header, self.rule, self._now)

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
        known = codec.known(codec.RULES, rules), codec.known(codec.QUERIES, queries)
        return restored(data, lambda header, arrays: cls._restore(header, arrays, *known))

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

    @classmethod
    def _restore(
        cls, header: dict[str, Any], arrays: dict[str, Any], rules: Any, queries: Any
    ) -> Self:
        """A learner from what :meth:`to_bytes` put into the file."""
        settings, state = unpacked(header, arrays, rules, queries)
        learner = cls._assemble(**settings)
        learner._now = state
        return learner

    @classmethod
    def _assemble(cls, **settings: Any) -> Self:
        """A learner of this class from its parts."""
        return cls(**settings)

    def __getstate__(self) -> dict[str, Any]:
        own: dict[str, Any] = {"_busy": Busy("learner"), "_is_draft": False}  # nobody uses a copy
        now = self._now.copy()
        now.book.listener = None
        return vars(self) | own | {"_now": now}

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

    def _begun(self, name: str, given: ArrayLike, axes: int) -> LearnerState:
        """A first state, for rows of as many features as this one or these have."""
        features = sparse.features(name, given, axes)
        if features < 1:
            raise ValueError("x: expected at least one feature, got none")
        return replace(self._now, model=self._blank(features), dimension=features, sized=True)

    def _blank(self, dimension: int) -> Any:
        """A first state of the rule, with the class weights that were given."""
        model = codec.begin(self.rule, dimension)
        if hasattr(model, "costs") and not self._now.sized:
            model.costs[:] = self._now.model.costs
        return model

    def _aged(self, now: LearnerState, moment: float) -> LearnerState:
        """The state without the questions that have been open for too long."""
        if self.max_age is None:
            return now
        book = copy(now.book)
        expired = book.expire(before=now.selector.clock.aging(moment) - self.max_age)
        return replace(now, book=book, expired=now.expired + expired)

    def _readable(self, X: ArrayLike) -> tuple[LearnerState, Any]:
        """The state and rows for it, of which nothing is to be written."""
        now = self._now if self._now.sized else self._begun("X", X, 2)
        rows = self._rows(X, now.dimension)
        if not self._now.sized:
            self._now = now
        return now, rows

    def _look(self, rule: Any, model: Any, rows: Any, first: int | None) -> Any:
        """What a model says of rows: all as of the next step, or from the step ``first`` on."""
        step = 0 if first is None else 1
        begin = self.rows if first is None else number("first", first, int, _ROUNDS)
        machine = self._now.selector.machine
        return machine.look(rule, model, plain(rows), begin + 1, step)

    def _row(self, x: ArrayLike, dimension: int) -> Vector:
        """One instance as the compiled code wants it; as it stands where it is that already."""
        if (
            type(x) is np.ndarray
            and x.dtype == self._kind
            and x.shape == (dimension,)
            and x.flags.carray
            and not self._kind.names  # pairs may say any column
        ):
            return x
        return sparse.row(x, dimension, self._kind)

    def _rows(self, X: Any, dimension: int) -> Any:
        """Rows of a usable size; as they stand where they are what the compiled code wants."""
        plain = type(X) is np.ndarray and X.dtype == self._kind and X.flags.carray
        if self._kind.names or not (plain and X.ndim == 2 and X.shape[1] == dimension):
            X = sparse.rows(X, dimension, self._kind)
        return X if self._kind.names else validation.finite("X", X)

    def _admit(self, now: LearnerState, rows: SparseRows) -> None:
        """Make a place for the columns of sparse rows; what the model says stays the same."""
        now.model = now.selector.machine.admitted(self.rule, now.model, rows.arrays)

    def _refusal(self, x: Vector) -> ValueError:
        """What is wrong with a row that cannot be used."""
        validation.finite("x", x)
        return self._too_large("x")

    def _hear(self, question: Question, y: int) -> Outcome:
        """Let an answer in, and the label too, if the answers so far decide it."""
        now, decision = self._now, question.decision
        answers = (*question.answers, y)
        verdict = decided(answers, self.aggregate, self.annotators)
        if verdict:
            outcome = self._learn(now, decision, question.x, verdict)
            now.told += 1
            now.book.settle(decision.ticket)
        else:
            outcome = self._outcome(decision, y, decision.label, updated=False)
            outcome = outcome._replace(settled=False)
            now.book.hear(question, answers)
        now.contradicted += any(code != y for code in question.answers)
        return outcome

    def _learn(self, now: LearnerState, decision: Decision, x: Vector, y: int) -> Outcome:
        """Let the label in, under the model of this moment."""
        predicted, wanted = self._teach(now, x, y, decision.ticket)
        return self._outcome(decision, y, predicted, updated=wanted)

    def _teach(self, now: LearnerState, x: Vector, y: int, ticket: int) -> tuple[float, bool]:
        """Learn a label: what was predicted just before, and whether the label was to be used."""
        if self._kind.names:
            self._admit(now, SparseRows.of(x))
        predicted, wanted, usable = now.selector.machine.tell(
            self.rule, now.model, x, float(y), now.selector.seed, ticket, self._mistakes_only
        )
        if wanted and not usable:
            raise self._too_large(f"the row of ticket {ticket}")
        now.model = engine.renewed(self.rule, now.model)
        now.updates += wanted
        return predicted, wanted

    def _outcome(self, decision: Decision, y: int, predicted: float, *, updated: bool) -> Outcome:
        """What came of a label, with the names of the classes."""
        label = self._now.classes.name(y)
        return Outcome(self._named(decision), label, predicted != y, updated)

    def _named(self, decision: Decision) -> Decision:
        """A decision with the name of its class."""
        names = self._now.classes
        return decision if names.are_signs else decision._replace(label=names.name(decision.label))

    def _labels(self, y: ArrayLike, count: int) -> list[Any]:
        """Labels as they came, or an error."""
        kinds, which = validation.classes(y, count)
        if (which < 0).any():
            given: Any = y
            validation.class_label(list(given)[int(np.argmax(which < 0))])
        return [kinds[kind] for kind in which]

    def _likely(self, now: LearnerState, rows: Any) -> NDArray[np.float64]:
        """The probability of each of more than two classes for each row."""
        machine, t, most = now.selector.machine, now.selector.rows + 1, len(now.classes.names)
        return machine.classes(self.rule, now.model, plain(rows), t, most)

    def _labeled(self, now: LearnerState, codes: NDArray[Any]) -> NDArray[Any]:
        """The labels of codes as the compiled code gives them."""
        classes = now.classes
        if classes.are_signs:
            return codes.astype(np.int8)
        if self._table is None or self._table[0] is not classes.names:
            self._table = classes.names, classes.table  # which takes longer than a prediction
        return self._table[1][classes.places(codes)]

    def _too_large(self, where: str) -> ValueError:
        return ValueError(
            f"{where}: too large for this model, a label there could shrink its covariance more "
            f"than {engine.LARGEST_STRAIN:g} times: scale the input"
        )


def class_weights(given: object) -> dict[Any, float]:
    """The weight of each label that has one.

    >>> class_weights({"fraud": 20})
    {'fraud': 20.0}
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            f"class_weight: expected None, 'balanced' or weights by label, got {shown(given)}"
        )
    return {
        validation.class_label(label): number(f"class_weight[{label!r}]", weight, float, _WEIGHTS)
        for label, weight in given.items()
    }


def check_weights(weights: Mapping[Any, float], classes: Sequence[Hashable]) -> None:
    """Refuse the weight of a class that there is not.

    >>> check_weights({"fruad": 20.0}, ["fine", "fraud"])
    Traceback (most recent call last):
    ValueError: class_weight: 'fruad' is not one of the classes, name it among them or correct it
    """
    for label in weights:
        if label not in classes:
            raise ValueError(
                f"class_weight: {shown(label)} is not one of the classes, name it among them or "
                "correct it"
            )
