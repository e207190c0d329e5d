"""What a saved model's header means: rules, queries and states as plain JSON and arrays, and back.

A file only ever *names* a rule and a query; both are looked up in the fixed tables below and among
the classes that the caller gives, and every number goes through the same checks as if a user had
typed it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lasec import mercer, queries, rules
from lasec.contract import whole, whole_query
from lasec.errors import StateError
from lasec.nested import named, rebuilt
from lasec.persistence.container import Arrays
from lasec.types import (
    Mercer,
    Query,
    Rule,
    State,
    Vector,
)
from lasec.validation import LARGEST_ENTRY

RULES: dict[str, Any] = {name: getattr(rules, name) for name in rules.__all__}
QUERIES: dict[str, Any] = {name: getattr(queries, name) for name in queries.__all__}
KERNELS: dict[str, Any] = {name: getattr(mercer, name) for name in mercer.__all__}

_LARGEST_WEIGHT = LARGEST_ENTRY**4
_LARGE = 64.0  # megabytes
_DEEPEST = 4  # queries in queries, kernels in rules


def describe(part: Rule[Any] | Query | Mercer) -> dict[str, Any]:
    """A rule, a query or a Mercer kernel as JSON.

    >>> describe(queries.MarginSampling(aggressiveness=math.inf))
    {'kind': 'MarginSampling', 'parameters': {'aggressiveness': 'inf', 'power': 1.0}}
    """
    kind = type(part)
    if (RULES | QUERIES | KERNELS).get(kind.__name__, kind) is not kind:
        raise TypeError(f"{kind.__name__} is the name of a part of lasec, so this one is not saved")
    if not hasattr(part, "_asdict"):
        raise TypeError(f"only a NamedTuple of parameters can be saved, not {kind.__name__}")
    given: dict[str, Any] = part._asdict()
    values = {name: _written(value) for name, value in given.items()}
    return {"kind": kind.__name__, "parameters": values}


def known(own: Mapping[str, Any], given: Iterable[type]) -> dict[str, Any]:
    """The classes that a file may name: lasec's own, and those that the caller gives.

    >>> class Mine: ...
    >>> known(RULES, [Mine])["Mine"] is Mine
    True
    """
    added = {kind.__name__: kind for kind in given}
    taken = {name for name, kind in added.items() if own.get(name, kind) is not kind}
    if taken:
        raise ValueError(f"{min(taken)} is the name of a part of lasec: choose another name")
    return {**own, **added}


def rebuild(description: Mapping[str, Any], known: Mapping[str, Any], depth: int = 0) -> Any:
    """The rule, query or kernel that was described.

    >>> rebuild({"kind": "Uniform", "parameters": {"rate": 0.25}}, QUERIES)
    Uniform(rate=0.25)
    """
    if depth > _DEEPEST:
        raise StateError(f"invalid: parts are nested more than {_DEEPEST} deep")
    kind, values = description["kind"], description["parameters"]
    inner = {**QUERIES, **KERNELS, **{n: part for n, part in known.items() if n not in RULES}}
    if kind == "OneVsRest":
        inner = {n: part for n, part in known.items() if n != kind} | KERNELS
    if kind not in known:
        raise StateError(
            f"foreign: this lasec knows no {kind!r}; one of your own must be given to load"
        )
    return known[kind](**{name: _read(value, inner, depth) for name, value in values.items()})


def _written(value: Any) -> Any:
    """A parameter as JSON: a number, "inf", or the description of a query or kernel."""
    if isinstance(value, tuple):
        part: Any = value
        return describe(part)
    return "inf" if value == math.inf else value


def _read(value: Any, known: Mapping[str, Any], depth: int) -> Any:
    """The parameter that was written."""
    if isinstance(value, dict):
        return rebuild(value, known, depth + 1)
    return math.inf if value == "inf" else value


def size(rule: Rule[Any], dimension: int) -> int:
    """The bytes of a rule's state, found without allocating it.

    >>> size(rules.SecondOrder(), 1_000)
    8008000
    """
    known = whole(rule)
    types = known.kinds(dimension)
    shapes = known.shapes(dimension).items()
    return sum(math.prod(shape) * np.dtype(types[name]).itemsize for name, shape in shapes)


def begin(rule: Rule[Any], dimension: int) -> Any:
    """A rule's first state.

    >>> begin(rules.Perceptron(), 2).weights.tolist()
    [0.0, 0.0]
    """
    _warn_if_large(rule, dimension)
    try:
        return rule.init(dimension)
    except MemoryError:
        needed = 1e-9 * size(rule, dimension)
        raise ValueError(
            f"dimension: {type(rule).__name__} needs {needed:,.0f} GB for {dimension} features"
        ) from None


def _warn_if_large(rule: Rule[Any], dimension: int) -> None:
    """Say what a state will take before it is allocated, where that is much."""
    cost = whole(rule).label_cost(dimension)
    megabytes = 1e-6 * size(rule, dimension) if cost else 0.0
    if megabytes > _LARGE:
        warnings.warn(
            f"{type(rule).__name__} with {dimension:,} features takes {megabytes:,.0f} MB, and "
            f"about {cost:,.0f} us for a label",
            stacklevel=5,
        )


def restore(rule: Rule[Any], dimension: int, arrays: Arrays) -> State:
    """The state of ``rule`` that these arrays hold, or a :class:`StateError`."""
    known = whole(rule)
    expected, types = known.grown_shapes(dimension, arrays), known.kinds(dimension)
    if set(arrays) != set(expected):
        raise StateError(f"invalid: expected the arrays {sorted(expected)}, got {sorted(arrays)}")
    for name, array in arrays.items():
        if array.shape != expected[name] or array.dtype != types[name]:
            raise StateError(f"invalid: {name} has not the shape and type of this rule")
    like = rule.init(1)
    state: State = rebuilt(like, (arrays[name] for name in named(like)))
    for name, array in arrays.items():
        with np.errstate(invalid="ignore"):  # whatever bits a NaN has
            largest = np.abs(array.astype(float)).max(initial=0.0)
        if not largest <= _LARGEST_WEIGHT:
            raise StateError(f"invalid: {name} contains NaN, infinity or a value beyond all use")
    defect = known.validate_state(state)
    if defect:
        raise StateError(f"invalid: {defect}")
    return state


def query_state(query: Query, kept: Vector | None = None) -> Vector:
    """The state of a query: what was ``kept`` of it, or else what it begins with.

    >>> query_state(queries.Budgeted()).size, query_state(queries.Always()).size
    (11, 0)
    """
    blank = whole_query(query).init()
    if kept is None:
        return blank
    if kept.shape != blank.shape or kept.dtype != blank.dtype or not np.isfinite(kept).all():
        raise StateError("invalid: the query's state has not the shape and type of this query")
    defect = whole_query(query).validate_state(kept)
    if defect:
        raise StateError(f"invalid: {defect}")
    return kept
