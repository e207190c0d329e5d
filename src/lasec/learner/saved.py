"""A learner as bytes, and back: its settings, its state and its open questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lasec import validation
from lasec.classes import ClassNames
from lasec.clock import Clock
from lasec.errors import StateError
from lasec.learner.book import Book
from lasec.learner.state import Counts, LearnerState
from lasec.learner.terms import DIMENSIONS, Terms
from lasec.nested import named
from lasec.parameters import Range, number
from lasec.persistence import codec
from lasec.persistence.container import Arrays, pack
from lasec.random import SEEDS
from lasec.selector import Selector
from lasec.types import ClassRule

_COUNTERS = ("rows", "asked", *Counts._fields)
_COUNTS = Range(0, 2**62)


def packed(name: str, state: LearnerState) -> bytes:
    """A learner as bytes; a state that could not be loaded again is refused."""
    selector, terms = state.selector, state.terms
    arrays = named(state.model)
    codec.restore(state.rule, state.dimension, arrays)
    model = {f"state.{name}": array for name, array in arrays.items()}
    asked = state.book.arrays(state.dimension, len(state.classes.names))
    pending = {f"pending.{name}": array for name, array in asked.items()}
    spent = selector.query_state
    remembered = {"query.memory": spent} if spent.size else {}
    header = {
        "name": name,
        "rule": codec.describe(state.rule),
        "query": codec.describe(selector.query),
        "dimension": state.dimension,
        "learn_from": terms.learn_from.value,
        "seed": selector.seed,
        "max_pending": state.book.limit,
        "max_age": terms.max_age,
        "clock": selector.clock.header(),
        "aggregate": terms.aggregate.value,
        "annotators": terms.annotators,
        "max_classes": terms.max_classes,
        "classes": list(state.classes.names),
        "counters": {"rows": selector.rows, "asked": selector.asked, **state.counts._asdict()},
    }
    return pack(header, model | pending | remembered)


def unpacked(
    header: dict[str, Any], arrays: Arrays, rules: Mapping[str, Any], queries: Mapping[str, Any]
) -> tuple[str, LearnerState]:
    """The name and the state of the learner that a file holds, all of it checked."""
    rule = codec.rebuild(header["rule"], rules)
    query = codec.rebuild(header["query"], queries)
    dimension: int = number("dimension", header["dimension"], int, DIMENSIONS)
    terms = Terms.of(*(header[name] for name in Terms._fields))
    selector = Selector(query, seed=number("seed", header["seed"], int, SEEDS))
    selector.clock = Clock.restore(header["clock"])
    selector.query_state = codec.query_state(query, arrays.pop("query.memory", np.empty(0)))
    pending, kept = _prefixed(arrays, "pending."), _prefixed(arrays, "state.")
    if arrays:
        raise StateError("invalid: there are arrays of no known use")
    model = codec.restore(rule, dimension, kept)
    counts = [number(name, header["counters"][name], int, _COUNTS) for name in _COUNTERS]
    selector.rows, selector.asked = counts[:2]
    book = Book(number("max_pending", header["max_pending"], int, DIMENSIONS))
    state = LearnerState(
        rule, model, dimension, selector, book, terms, Counts(*counts[2:]),
        classes=_classes(rule, header["classes"]),
    )  # fmt: skip
    book.restore(pending, dimension, selector.rows, state.kind, len(state.classes.names))
    if not _possible(state):
        raise StateError("invalid: the counters contradict each other")
    return _text(header["name"]), state


def _prefixed(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin so, taken out and without it."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _possible(state: LearnerState) -> bool:
    """Whether the counters can be those of one learner."""
    selector, counts = state.selector, state.counts
    unanswered = counts.dropped + counts.expired + len(state.book)
    return (
        unanswered <= selector.asked <= selector.rows
        and counts.updates <= counts.told
        and counts.told <= selector.rows - unanswered
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
