"""A fleet as a header and arrays, and back: what a file of it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lasec.clock import Clock
from lasec.fleet.growing import Growing
from lasec.fleet.stacked import Stacked
from lasec.parameters import Range
from lasec.persistence import codec, record
from lasec.persistence.container import Arrays
from lasec.persistence.record import Shape
from lasec.random import SEEDS
from lasec.sparse import takes_pairs
from lasec.types import LearnFrom, Matrix, Rule

_OPTIONS = ("models", "dimension", "learn_from", "seed", "classes")
_VALUES = ("clock", "rows", "asked", "told", "updates", "waiting", "seeds", "memory")
Counters = Annotated[NDArray[np.int64], Shape("models"), Range(0, 2**62)]


def models_of(rule: Rule[Any]) -> type[Stacked | Growing]:
    """How the models of a rule are kept: stacked, unless they grow.

    >>> from lasec.rules import SparseTracking, Tracking
    >>> models_of(Tracking()).__name__, models_of(SparseTracking()).__name__
    ('Stacked', 'Growing')
    """
    return Growing if takes_pairs(rule) else Stacked


def dimensions(rule: Rule[Any]) -> Range:
    """How many features the rows of a fleet may have."""
    return Range(1, 2**31 if models_of(rule) is Growing else 2**15)


@dataclass(frozen=True)
class FleetFile:
    """What a file holds of a fleet; ``state`` are the arrays of its models."""

    KIND: ClassVar[str] = "fleet"

    rule: Any
    query: Any
    models: Annotated[int, Range(1, 2**31)]
    dimension: Annotated[int, Range(1, 2**31)]
    learn_from: LearnFrom
    seed: Annotated[int, SEEDS]
    clock: Clock
    classes: list[Any]
    rows: Counters
    asked: Counters
    told: Counters
    updates: Counters
    waiting: Counters
    seeds: Annotated[NDArray[np.uint64], Shape("models")]
    memory: Annotated[Matrix, Shape("models", "numbers")]
    state: Arrays

    def validate(self) -> str:
        """Why the counters cannot be those of a fleet; empty if they can."""
        possible = (self.waiting <= self.asked) & (self.asked <= self.rows)
        return "" if possible.all() else "the counters contradict each other"

    def attributes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of the fleet, and what is then put in place, all of it checked."""
        rule = codec.rebuild(self.rule, codec.RULES)
        query = codec.rebuild(self.query, codec.QUERIES)
        for row in self.memory:
            codec.query_state(query, row)
        state = models_of(rule).checked(rule, self.dimension, dict(self.state), self.models)
        options = {name: getattr(self, name) for name in _OPTIONS} | {"rule": rule, "query": query}
        return options, {name: getattr(self, name) for name in _VALUES} | {"state": state}


def packed(fleet: Mapping[str, Any], state: Arrays) -> bytes:
    """A file with a fleet's attributes and these arrays, or an error if it could not be loaded."""
    described: dict[str, Any] = {part: codec.describe(fleet[part]) for part in ("rule", "query")}
    named = {name: fleet[name] for name in (*_OPTIONS, *_VALUES)}
    file = FleetFile(**described, **named, state=state)
    file.attributes()
    return record.dump(file)
