"""All that a row changes in a learner, as one value, and how that value is saved and loaded."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, overload

import numpy as np

from lasec import validation
from lasec.book import Book
from lasec.classes import UNNAMED, ClassNames
from lasec.clock import Clock
from lasec.errors import StateError
from lasec.nested import copied, named
from lasec.parameters import Range, number, shown
from lasec.persistence import codec
from lasec.persistence.container import Arrays, pack
from lasec.random import SEEDS
from lasec.rules.one_vs_rest import third_class
from lasec.selector import Selector
from lasec.sparse import row_kind
from lasec.types import ClassRule

_COUNTERS = ("rows", "asked", "told", "updates", "dropped", "expired", "contradicted")
_COUNTS = Range(0, 2**62)
DIMENSIONS = Range(1, 2**31)
MOST_CLASSES = Range(2, 2**15 - 1)  # records keep their codes in 16 bits


@dataclass(slots=True)
class LearnerState:
    """The model's arrays, the selector, the open questions and the counters of a learner.

    A learner holds one such value. A chunk of rows makes a new one and puts it in place by one
    assignment; ``ask`` and ``tell`` write into it when nothing can be refused any more. ``model``
    is the rule's state for rows of ``dimension`` features; where ``sized`` is false, the first row
    will set the dimension. ``classes`` are the names of the classes, to which labels can add up to
    ``max_classes``.

    >>> import lasec
    >>> selector = Selector(lasec.queries.Always(), seed=0)
    >>> state = LearnerState(lasec.rules.Perceptron().init(2), 2, selector, Book(limit=10))
    >>> other = state.copy()
    >>> other.model.weights[:] = 1.0
    >>> other.selector.skip(5)
    >>> state.model.weights.tolist(), state.selector.rows
    ([0.0, 0.0], 0)
    """

    model: Any
    dimension: int
    selector: Selector
    book: Book
    told: int = 0
    updates: int = 0
    dropped: int = 0
    expired: int = 0
    contradicted: int = 0
    sized: bool = True
    classes: ClassNames = UNNAMED
    max_classes: int = 100

    def copy(self) -> LearnerState:
        """A state of its own: nothing that happens to one changes the other."""
        return LearnerState(
            copied(self.model), self.dimension, copy(self.selector), copy(self.book), self.told,
            self.updates, self.dropped, self.expired, self.contradicted, self.sized, self.classes,
            self.max_classes,
        )  # fmt: skip

    def meet(
        self, rule: Any, label: Hashable, *, every_label: bool = True, named: bool = False
    ) -> Any:
        """Make a place for a label of a new class; gives the rule, with one more class if need be.

        A rule for two classes becomes one against the rest, learning from ``every_label`` or from
        mistakes. Where all ``max_classes`` are there, only one that is ``named`` is a new one.

        >>> import lasec
        >>> selector, rule = Selector(lasec.queries.Always(), seed=0), lasec.rules.Tracking()
        >>> names = ClassNames(("ham", "spam"))
        >>> state = LearnerState(rule.init(2), 2, selector, Book(limit=10), classes=names)
        >>> state.meet(rule, "eggs").classes, state.classes.names
        (3, ('ham', 'spam', 'eggs'))
        """
        if label in self.classes.names:
            return rule
        if not named:
            self.check_label(label)
        before, self.classes = self.classes, self.classes.placed(label)
        if len(self.classes.names) == len(before.names):
            return rule
        if isinstance(rule, ClassRule):
            rule, self.model = rule.with_more_classes(self.model, self.dimension)
        else:
            rule, self.model = third_class(
                rule, self.model, self.dimension, every_label=every_label
            )
        if len(before.names) == 2:
            self.book.recode({-1: 1, 1: 2})
        return rule

    def check_label(self, label: Hashable) -> None:
        """An error for a label that would be one class too many."""
        names = self.classes.names
        if len(names) >= self.max_classes and not (label in names or None in names):
            raise ValueError(
                f"y: {shown(label)} would be a new class, and there are {len(names)} already "
                f"(max_classes={self.max_classes}): correct the label, or make the learner with "
                "a larger max_classes"
            )

    @property
    def counters(self) -> dict[str, int]:
        """What has been counted, by name."""
        counts = {"rows": self.selector.rows, "asked": self.selector.asked}
        return counts | {name: getattr(self, name) for name in _COUNTERS[2:]}


class Counter:
    """A counter in the state of a learner, readable as an attribute of the learner.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> decision = learner.ask([0.5, -1.0])
    >>> learner.rows, learner.asked, learner.told
    (1, 1, 0)
    """

    def __init__(self, place: str) -> None:
        self._read = attrgetter(f"_now.{place}")

    @overload
    def __get__(self, learner: None, owner: type) -> Counter: ...
    @overload
    def __get__(self, learner: object, owner: type) -> int: ...
    def __get__(self, learner: object, owner: type) -> Counter | int:
        return self if learner is None else int(self._read(learner))

    def __set__(self, learner: object, value: int) -> None:
        raise AttributeError("a counter is changed by what happens to the learner alone")


def packed(settings: Mapping[str, Any], rule: Any, state: LearnerState) -> bytes:
    """A learner as bytes; a state that could not be loaded again is refused."""
    arrays = named(state.model)
    codec.restore(rule, state.dimension, arrays)
    model = {f"state.{name}": array for name, array in arrays.items()}
    asked = state.book.arrays(state.dimension, len(state.classes.names))
    pending = {f"pending.{name}": array for name, array in asked.items()}
    spent = state.selector.query_state
    remembered = {"query.memory": spent} if spent.size else {}
    return pack({**settings, "counters": state.counters}, model | pending | remembered)


def unpacked(
    header: dict[str, Any], arrays: Arrays, rules: Mapping[str, Any], queries: Mapping[str, Any]
) -> tuple[dict[str, Any], LearnerState]:
    """The settings and the state of the learner that a file holds, all of it checked."""
    rule = codec.rebuild(header["rule"], rules)
    query = codec.rebuild(header["query"], queries)
    dimension = number("dimension", header["dimension"], int, DIMENSIONS)
    settings = {
        "rule": rule,
        "query": query,
        "dimension": dimension,
        "learn_from": header["learn_from"],
        "seed": number("seed", header["seed"], int, SEEDS),
        "max_pending": number("max_pending", header["max_pending"], int, DIMENSIONS),
        "max_age": header["max_age"],
        "aggregate": header["aggregate"],
        "annotators": header["annotators"],
        "max_classes": number("max_classes", header["max_classes"], int, MOST_CLASSES),
        "name": _text(header["name"]),
    }
    selector = Selector(query, seed=settings["seed"])
    selector.clock = Clock.restore(header["clock"])
    selector.query_state = codec.query_state(query, arrays.pop("query.memory", np.empty(0)))
    pending, kept = _prefixed(arrays, "pending."), _prefixed(arrays, "state.")
    if arrays:
        raise StateError("invalid: there are arrays of no known use")
    model = codec.restore(rule, dimension, kept)
    counts = {name: number(name, header["counters"][name], int, _COUNTS) for name in _COUNTERS}
    selector.rows, selector.asked = counts.pop("rows"), counts.pop("asked")
    book, classes = Book(settings["max_pending"]), _classes(rule, header["classes"])
    kind = row_kind(rule)
    book.restore(pending, dimension, selector.rows, kind, len(classes.names))
    state = LearnerState(
        model, dimension, selector, book, **counts, classes=classes,
        max_classes=settings["max_classes"],
    )  # fmt: skip
    if not _possible(state):
        raise StateError("invalid: the counters contradict each other")
    return settings, state


def _prefixed(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin so, taken out and without it."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _possible(state: LearnerState) -> bool:
    """Whether the counters can be those of one learner."""
    selector, unanswered = state.selector, state.dropped + state.expired + len(state.book)
    return (
        unanswered <= selector.asked <= selector.rows
        and state.updates <= state.told
        and state.told <= selector.rows - unanswered
    )


def _classes(rule: Any, names: Any) -> ClassNames:
    """The names of the classes of a file."""
    wanted = rule.classes if isinstance(rule, ClassRule) else 2
    listed = names if isinstance(names, list) else []
    given = [validation.class_label(name) for name in listed if name is not None]
    if len(listed) != wanted or len(set(given)) < len(given):
        raise StateError("invalid: the names of the classes are not those of this rule")
    return ClassNames(tuple(names))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"name must be text, got {value!r}")
    return value
