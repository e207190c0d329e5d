"""A learner as bytes, and back: its settings, its state and its open questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from lasec import validation
from lasec.classes import ClassNames
from lasec.errors import StateError
from lasec.learner.book import Book, Pending
from lasec.learner.state import Counts, LearnerState
from lasec.learner.terms import DIMENSIONS, Terms
from lasec.nested import named
from lasec.persistence import codec
from lasec.persistence.container import Arrays
from lasec.selector import SelectorFile


@dataclass(frozen=True)
class LearnerFile:
    """What a file holds of a learner; ``state`` are the arrays of its model."""

    KIND: ClassVar[str] = "learner"

    name: str
    rule: Any
    dimension: Annotated[int, DIMENSIONS]
    terms: Terms
    counts: Counts
    classes: list[Any]
    selector: SelectorFile
    state: Arrays
    pending: Pending

    def validate(self) -> str:
        """Why the counters cannot be those of one learner; empty if they can."""
        selector, counts = self.selector, self.counts
        unanswered = counts.dropped + counts.expired + len(self.pending.ticket)
        possible = (
            unanswered <= selector.asked
            and counts.updates <= counts.told <= selector.rows - unanswered
        )
        return "" if possible else "the counters contradict each other"

    @classmethod
    def of(cls, name: str, state: LearnerState) -> Self:
        """What is saved of a learner; a state that could not be loaded again is refused."""
        arrays, classes = named(state.model), list(state.classes.names)
        codec.restore(state.rule, state.dimension, arrays)
        pending = state.book.saved(state.dimension, len(classes))
        return cls(
            name, codec.describe(state.rule), state.dimension, state.terms, state.counts, classes,
            SelectorFile.of(state.selector), arrays, pending,
        )  # fmt: skip

    def restored(self, rules: Mapping[str, Any], queries: Mapping[str, Any]) -> LearnerState:
        """The state of the learner, all of it checked; rule and query are among these."""
        rule = codec.rebuild(self.rule, rules)
        model = codec.restore(rule, self.dimension, self.state)
        state = LearnerState(
            rule, model, self.dimension, self.selector.selector(queries),
            Book(self.pending.limit), self.terms, self.counts, classes=_classes(rule, self.classes),
        )  # fmt: skip
        issued, classes = self.selector.rows, len(self.classes)
        state.book = Book.restored(self.pending, self.dimension, issued, state.kind, classes)
        return state


def _classes(rule: Any, listed: list[Any]) -> ClassNames:
    """The names of the classes of a file."""
    wanted = rule.classes
    given = [validation.class_label(name) for name in listed if name is not None]
    if len(listed) != wanted or len(set(given)) < len(given):
        raise StateError("invalid: the names of the classes are not those of this rule")
    return ClassNames(tuple(listed))
