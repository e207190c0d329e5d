"""A fleet as a header and arrays, and back: what a file of it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lasec.clock import Clock
from lasec.errors import StateError
from lasec.fleet.growing import Growing
from lasec.fleet.stacked import Stacked
from lasec.parameters import Range, number
from lasec.persistence import codec
from lasec.persistence.container import Arrays, pack
from lasec.random import SEEDS
from lasec.sparse import takes_pairs
from lasec.types import Query, Rule

_COUNTERS = ("rows", "asked", "told", "updates", "waiting")


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


def packed(fleet: Mapping[str, Any], state: Arrays) -> bytes:
    """A file with a fleet's attributes and these arrays, or an error if it could not be loaded."""
    header = {
        "kind": "fleet",
        "rule": codec.describe(fleet["rule"]),
        "query": codec.describe(fleet["query"]),
        "models": fleet["models"],
        "dimension": fleet["dimension"],
        "learn_from": fleet["learn_from"].value,
        "seed": fleet["seed"],
        "clock": fleet["clock"].header(),
        "classes": list(fleet["classes"]),
    }
    arrays = state | {name: fleet[name] for name in (*_COUNTERS, "memory")}
    arrays["seeds"] = fleet["seeds"].view(np.int64)
    checked(header, dict(arrays))
    return pack(header, arrays)


def checked(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of the fleet that was saved, and the values of its attributes."""
    if header.get("kind") != "fleet":
        raise StateError(f"foreign: this is a {header.get('kind', 'learner')}, not a fleet")
    rule = codec.rebuild(header["rule"], codec.RULES)
    query = codec.rebuild(header["query"], codec.QUERIES)
    models = number("models", header["models"], int, Range(1, 2**31))
    options = {
        "rule": rule,
        "query": query,
        "models": models,
        "dimension": number("dimension", header["dimension"], int, dimensions(rule)),
        "learn_from": header["learn_from"],
        "seed": number("seed", header["seed"], int, SEEDS),
        "classes": header["classes"],
    }
    values: dict[str, Any] = _counters(arrays, models)
    values["seeds"] = arrays.pop("seeds").view(np.uint64)
    values["memory"] = _memory(query, arrays.pop("memory"), models)
    checked_state = models_of(rule).checked
    values["state"] = checked_state(rule, options["dimension"], arrays, models)
    if values["seeds"].shape != (models,):
        raise StateError("invalid: there is not one seed for each model")
    return options, values | {"clock": Clock.restore(header["clock"])}


def _counters(arrays: Arrays, models: int) -> dict[str, Any]:
    """The counters of each model."""
    counters = {name: arrays.pop(name) for name in _COUNTERS}
    for name, array in counters.items():
        if array.shape != (models,) or array.dtype != np.int64 or array.min() < 0:
            raise StateError(f"invalid: {name} does not count anything, model by model")
    if not (
        (counters["waiting"] <= counters["asked"]) & (counters["asked"] <= counters["rows"])
    ).all():
        raise StateError("invalid: the counters contradict each other")
    return counters


def _memory(query: Query, kept: Any, models: int) -> Any:
    """What the query remembers of each model."""
    blank = codec.query_state(query)
    if kept.shape != (models, blank.size) or kept.dtype != blank.dtype:
        raise StateError("invalid: the query's state has not the shape and type of this query")
    for row in kept if blank.size else ():
        codec.query_state(query, row)
    return kept
