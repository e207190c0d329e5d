"""All that a row changes in a learner, as one value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec.classes import UNNAMED, ClassNames
from lasec.clock import LEAD
from lasec.kernel import engine
from lasec.learner.book import Book
from lasec.learner.terms import DIMENSIONS, FREE, Terms, with_classes
from lasec.nested import copied
from lasec.parameters import Range, number, shown
from lasec.persistence import codec
from lasec.persistence.record import Count
from lasec.rules import OneVsRest
from lasec.rules.one_vs_rest import third_class
from lasec.rules.tracker.answers import coded
from lasec.selector import Selector
from lasec.sparse import NUMBER, PAIR, SparseRows
from lasec.types import Aggregate, Decision, Query, Vector


class Counts(NamedTuple):
    """What a learner has counted, but for rows and queries, which its selector counts.

    >>> Counts().plus(told=1, updates=True)
    Counts(told=1, updates=1, dropped=0, expired=0, contradicted=0)
    """

    told: Count = 0
    updates: Count = 0
    dropped: Count = 0
    expired: Count = 0
    contradicted: Count = 0

    def plus(
        self, told: int = 0, updates: int = 0, dropped: int = 0, expired: int = 0,
        contradicted: int = 0,
    ) -> Self:  # fmt: skip
        """The counts with these added."""
        return type(self)(
            self.told + told, self.updates + updates, self.dropped + dropped,
            self.expired + expired, self.contradicted + contradicted,
        )  # fmt: skip


@dataclass(slots=True)
class LearnerState:
    """The rule with the model's arrays, the selector, the open questions and the counts.

    A learner holds one such value. A chunk of rows makes a new one and puts it in place by one
    assignment; ``ask`` and ``tell`` write into it when nothing can be refused any more. ``model``
    is the rule's state for rows of ``dimension`` features; where ``sized`` is false, the first row
    will set the dimension. ``classes`` are the names of the classes.

    >>> import lasec
    >>> state = LearnerState.first(lasec.rules.Perceptron(), lasec.queries.Always(), 2)
    >>> other = state.copy()
    >>> other.model.weights[:] = 1.0
    >>> other.selector.skip(5)
    >>> state.model.weights.tolist(), state.selector.rows
    ([0.0, 0.0], 0)
    """

    rule: Any
    model: Any
    dimension: int
    selector: Selector
    book: Book
    terms: Terms
    counts: Counts = field(default_factory=Counts)
    sized: bool = True
    classes: ClassNames = UNNAMED
    table: tuple[Any, NDArray[Any]] | None = None  # labels by their places, and whose they are

    @classmethod
    def first(
        cls, rule: Any, query: Query, dimension: int | None, terms: Terms = FREE, *,
        classes: Sequence[Hashable] | None = None, seed: int | None = None,
        lead: float | None = LEAD, max_pending: int = 10_000,
    ) -> Self:  # fmt: skip
        """A state before the first row, of so many features or of as many as that row has."""
        size: int = 1 if dimension is None else number("dimension", dimension, int, DIMENSIONS)
        rule, names = with_classes(rule, classes, every_label=terms.every_label)
        return cls(
            rule, codec.begin(rule, size), size, Selector(query, seed=seed, lead=lead),
            Book(number("max_pending", max_pending, int, DIMENSIONS)), terms,
            sized=dimension is not None, classes=names,
        )  # fmt: skip

    def copy(self) -> LearnerState:
        """A state of its own: nothing that happens to one changes the other."""
        return replace(
            self, model=copied(self.model), selector=copy(self.selector), book=copy(self.book)
        )

    @property
    def title(self) -> str:
        """What a learner is called that was given no name."""
        return f"{type(self.rule).__name__} + {type(self.selector.query).__name__}"

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of a row as the rule takes it."""
        return PAIR if self.rule.facts.sparse else NUMBER

    @property
    def mistakes_only(self) -> bool:
        """Whether a row whose class was predicted is not learned; each of many classes decides."""
        return not (self.terms.every_label or isinstance(self.rule, OneVsRest))

    def fitting(self, dimension: int) -> LearnerState:
        """A first state for rows of so many features."""
        if dimension < 1:
            raise ValueError("x: expected at least one feature, got none")
        return replace(self, model=self.blank(dimension), dimension=dimension, sized=True)

    def resized(self, dimension: int, model: Any) -> LearnerState:
        """The state with a model for rows of so many features; the state before stays as it is."""
        selector, book = copy(self.selector), copy(self.book)
        book.resize(dimension)
        return replace(
            self, model=model, dimension=dimension, sized=True, selector=selector, book=book
        )

    def blank(self, dimension: int) -> Any:
        """A first model of the rule, with the class weights that were given."""
        model = codec.begin(self.rule, dimension)
        if hasattr(model, "costs") and not self.sized:
            model.costs[:] = self.model.costs
        return model

    def meeting(self, label: Hashable) -> LearnerState:
        """This state, or a copy that has a place for a label of a new class."""
        if label in self.classes.names:
            return self
        after = self.copy()
        after.meet(label)
        return after

    def meet(self, label: Hashable, *, named: bool = False) -> None:
        """Make a place for a label of a new class.

        A rule for two classes becomes one against the rest. Where ``max_classes`` are there, only a
        label that is ``named`` is a new one.

        >>> import lasec
        >>> tracker = lasec.Tracker(1, classes=["ham", "spam"])
        >>> outcome = tracker.learn([1.0], "eggs")
        >>> tracker.rule.classes, tracker.classes
        (3, ('ham', 'spam', 'eggs'))
        """
        if label in self.classes.names:
            return
        if not named:
            self.check_label(label)
        before, self.classes = self.classes, self.classes.placed(label)
        if len(self.classes.names) == len(before.names):
            return
        if self.rule.facts.many:
            self.rule, self.model = self.rule.with_more_classes(self.model, self.dimension)
        else:
            self.rule, self.model = third_class(
                self.rule, self.model, self.dimension, every_label=self.terms.every_label
            )
        if len(before.names) == 2:
            self.book.recode({-1: 1, 1: 2})

    def check_noise(self, noise: float) -> float:
        """An error for a noise that is none, or that the rule would not hear."""
        if type(noise) is float and noise == 0.0:
            return noise
        share: float = number("noise", noise, float, Range(0.0, 1.0))
        if share and not self.rule.facts.noise:
            raise ValueError("noise: this rule takes every label for true, the Tracker's does not")
        if share and self.terms.aggregate is Aggregate.MAJORITY:
            raise ValueError("noise: not where a majority of answers decides")
        return share

    def check_label(self, label: Hashable) -> None:
        """An error for a label that would be one class too many."""
        names, most = self.classes.names, self.terms.max_classes
        if len(names) >= most and not (label in names or None in names):
            raise ValueError(
                f"y: {shown(label)} would be a new class, and there are {len(names)} already "
                f"(max_classes={most}): correct the label, or make the learner with "
                "a larger max_classes"
            )

    def admit(self, rows: SparseRows) -> None:
        """Make a place for the columns of sparse rows; what the model says stays the same."""
        self.model = self.selector.machine.admitted(self.rule, self.model, rows.arrays)

    def teach(self, x: Vector, y: int, ticket: int, noise: float = 0.0) -> tuple[float, bool]:
        """Learn a label: what was predicted just before, and whether the label was to be used.

        The label is another one with the probability ``noise``.
        """
        if self.kind.names:
            self.admit(SparseRows.of(x))
        selector = self.selector
        predicted, wanted, usable = selector.machine.tell(
            self.rule, self.model, x, coded(y, noise), selector.seed, ticket, self.mistakes_only
        )
        if wanted and not usable:
            raise too_large(f"the row of ticket {ticket}")
        self.model = engine.renewed(self.rule, self.model)
        self.counts = self.counts.plus(told=1, updates=wanted)
        return predicted, wanted

    def aged(self, moment: float) -> LearnerState:
        """The state without the questions that have been open for too long."""
        age = self.terms.max_age
        if age is None:
            return self
        book = copy(self.book)
        expired = book.expire(before=self.selector.clock.aging(moment) - age)
        return replace(self, book=book, counts=self.counts.plus(expired=expired))

    def named(self, decision: Decision) -> Decision:
        """A decision with the name of its class."""
        names = self.classes
        return decision if names.are_signs else decision._replace(label=names.name(decision.label))

    def labels(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The labels of codes as the compiled code gives them."""
        classes = self.classes
        if classes.are_signs:
            return codes.astype(np.int8)
        if self.table is None or self.table[0] is not classes.names:
            self.table = classes.names, classes.table  # which takes longer than a prediction
        return self.table[1][classes.places(codes)]


def too_large(where: str) -> ValueError:
    """The error for a row that a model cannot learn without losing its precision.

    >>> too_large("x")
    ValueError('x: too large for this model, a label there could shrink its covariance more ...
    """
    return ValueError(
        f"{where}: too large for this model, a label there could shrink its covariance more "
        f"than {engine.LARGEST_STRAIN:g} times: scale the input"
    )
