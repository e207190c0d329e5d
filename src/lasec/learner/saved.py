"""A learner as bytes, and back: its settings, its state and its open questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from lasec import validation
from lasec.classes import ClassNames
from lasec.contract import whole
from lasec.errors import StateError
from lasec.learner.book import Book, Pending
from lasec.learner.state import Counts, LearnerState
from lasec.learner.terms import DIMENSIONS, Terms
from lasec.nested import named
from lasec.persistence import codec, record
from lasec.persistence.container import Arrays, checking
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


def packed(name: str, state: LearnerState) -> bytes:
    """A learner as bytes; a state that could not be loaded again is refused."""
    arrays, classes = named(state.model), list(state.classes.names)
    codec.restore(state.rule, state.dimension, arrays)
    pending = state.book.saved(state.dimension, len(classes))
    return record.dump(
        LearnerFile(
            name, codec.describe(state.rule), state.dimension, state.terms, state.counts, classes,
            SelectorFile.of(state.selector), arrays, pending,
        )
    )  # fmt: skip


def unpacked(
    data: bytes, rules: Mapping[str, Any], queries: Mapping[str, Any]
) -> tuple[str, LearnerState]:  # fmt: skip
    """The name and the state of the learner that a file holds, all of it checked."""
    file = record.load(LearnerFile, data)
    with checking():
        rule = codec.rebuild(file.rule, rules)
        model = codec.restore(rule, file.dimension, file.state)
        state = LearnerState(
            rule, model, file.dimension, file.selector.selector(queries),
            Book(file.pending.limit), file.terms, file.counts, classes=_classes(rule, file.classes),
        )  # fmt: skip
        issued, classes = file.selector.rows, len(file.classes)
        state.book = Book.restored(file.pending, file.dimension, issued, state.kind, classes)
    return file.name, state


def _classes(rule: Any, listed: list[Any]) -> ClassNames:
    """The names of the classes of a file."""
    wanted = whole(rule).classes
    given = [validation.class_label(name) for name in listed if name is not None]
    if len(listed) != wanted or len(set(given)) < len(given):
        raise StateError("invalid: the names of the classes are not those of this rule")
    return ClassNames(tuple(listed))
