"""How numba calls a rule: the bridge between plain NamedTuples and compiled loops.

Rules and queries are NamedTuples whose methods are plain Python. numba knows NamedTuples but not
their methods; the functions here stand for them. Called from Python they call the method;
called from compiled code, numba takes the method's own source and compiles it for these types. So a
rule is written once, reads like its paper, needs no decorator, and runs interpreted as well.

A rule of one's own works in the same way; its helpers, if any, are compiled with ``numba.njit``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import register_jitable

from lasec import linalg, mercer, murmur, triangle
from lasec.kernel.lean import WITHIN, overload
from lasec.kernel.unmanaged import member
from lasec.queries import account, budgeted, pacing
from lasec.rules import (
    alone,
    columns,
    costs,
    diagonal,
    filtering,
    gaussian,
    head,
    hypotheses,
    kernel_second_order,
    lens_maps,
    lensed,
    lenses,
    one_vs_rest,
    probit,
    seen,
    softmax,
    sparse_beliefs,
    sparse_tracking,
    subspace,
    tracking,
    weighing,
)
from lasec.rules.perceptron import first_order
from lasec.types import ClassMargin, Context, Margin, Query, Rule, Vector

njit: Any = numba.njit

F = TypeVar("F", bound=Callable[..., Any])


_INNER = {"nogil": True, "no_cpython_wrapper": True, **WITHIN}


def compiled(function: F) -> F:
    """``numba.njit`` with the settings of this package, and with the function's type kept."""
    return cast(F, njit(**_INNER)(function))


_ANY_ORDER = {"reassoc", "contract"}


def reordering(function: F) -> F:
    """As :func:`compiled`, for sums of products, whose terms may be added in any order.

    That lets a processor add several at a time, as BLAS does; it assumes nothing about values.
    """
    return cast(F, njit(fastmath=_ANY_ORDER, **_INNER)(function))


def inlined(function: F) -> F:
    """As :func:`compiled`, but compiled as a part of what calls it, not before: once, not twice."""
    return cast(F, njit(inline="always", **_INNER)(function))


def margin(self: Rule[Any], state: Any, x: Vector) -> Margin | ClassMargin:
    """``rule.margin(state, x)``."""
    return self.margin(state, x)


def update(self: Rule[Any], state: Any, x: Vector, y: float, draw: float) -> None:
    """``rule.update(state, x, y, draw)``."""
    self.update(state, x, y, draw)


def note_row(self: Rule[Any], state: Any, x: Vector) -> None:
    """``rule.note(state, x)`` where the rule counts the rows that are asked about."""
    if hasattr(self, "note"):
        self.note(state, x)


def probabilities(self: Any, state: Any, x: Vector, t: int, out: Vector) -> None:
    """``rule.probabilities(state, x, t, out)``, of a rule with more than two classes."""
    self.probabilities(state, x, t, out)


def admit_row(self: Any, state: Any, x: Any) -> bool:
    """``rule.admit(state, x)``, of a rule for sparse rows."""
    return bool(self.admit(state, x))


def values_of(x: Any) -> Any:
    """The numbers of a row: of a sparse one, those of its pairs."""
    return x["value"] if x.dtype.names else x


def is_due(self: Any, state: Any) -> bool:
    """Whether the rule has to ``renew`` its state, or let it grow, between two rows."""
    return bool(self.is_due(state)) if hasattr(self, "is_due") else False


def margin_at(self: Rule[Any], state: Any, x: Vector, t: int) -> Any:
    """``rule.margin(state, x, t)`` where the rule asks for the row; else without it."""
    return self.margin(state, x, t) if _timed(type(self)) else self.margin(state, x)  # type: ignore[call-arg]


def update_at(self: Rule[Any], state: Any, x: Vector, y: float, draw: float, t: int) -> None:
    """``rule.update(state, x, y, draw, t)`` where the rule asks for the row; else without it."""
    if _timed(type(self)):
        self.update(state, x, y, draw, t)  # type: ignore[call-arg]
    else:
        self.update(state, x, y, draw)


def chance(self: Query, margin: Margin, memory: Vector, now: Context) -> float:
    """The probability of asking, by what the query remembers if it remembers anything."""
    remembering: Any = self
    if hasattr(self, "spend"):
        return float(remembering.chance(margin, memory, now))
    return self.probability(margin, now.round)


def spend(self: Query, margin: Margin, memory: Vector, asked: bool, now: Context) -> None:
    """``query.spend(margin, memory, asked, now)`` where the query remembers."""
    if hasattr(self, "spend"):
        self.spend(margin, memory, asked, now)


def probability(self: Query, margin: Margin, t: int) -> float:
    """``query.probability(margin, t)``."""
    return self.probability(margin, t)


def conditioning(self: Rule[Any], size: float, largest: float) -> float:
    """``rule.conditioning(size, largest)`` where the rule has such a method; else zero."""
    return float(self.conditioning(size, largest)) if hasattr(self, "conditioning") else 0.0


def squared_norm(self: Rule[Any], x: Vector) -> float:
    """``rule.squared_norm(x)`` where the rule has such a method; x'x where it has none."""
    measuring: Any = self
    if hasattr(self, "squared_norm"):
        return float(measuring.squared_norm(x))
    return float(np.dot(values_of(x), values_of(x)))


def _plain_norm(self: Rule[Any], x: Vector) -> float:
    return float(np.dot(x, x))


def _pair_norm(self: Rule[Any], x: Vector) -> float:
    total = 0.0
    for value in values_of(x):
        total += value * value
    return total


def _unstrained(self: Rule[Any], size: float, largest: float) -> float:
    return 0.0


def _timed(rule: type) -> bool:
    return "t" in inspect.signature(rule.margin).parameters  # type: ignore[attr-defined]


def _margin_untimed(self: Rule[Any], state: Any, x: Vector, t: int) -> Any:
    return margin(self, state, x)


def _update_untimed(self: Rule[Any], state: Any, x: Vector, y: float, draw: float, t: int) -> None:
    update(self, state, x, y, draw)


def _chance_forgetful(self: Query, margin: Margin, memory: Vector, now: Context) -> float:
    return probability(self, margin, now.round)


def _note_nothing(self: Rule[Any], state: Any, x: Vector) -> None:
    pass


def _never(self: Rule[Any], state: Any) -> bool:
    return False


def _spend_nothing(self: Query, margin: Margin, memory: Vector, asked: bool, now: Context) -> None:
    pass


@overload(margin_at)
def _margin_at(self: Any, state: Any, x: Any, t: Any) -> Any:
    rule = self.instance_class
    return rule.margin if _timed(rule) else _margin_untimed


@overload(update_at)
def _update_at(self: Any, state: Any, x: Any, y: Any, draw: Any, t: Any) -> Any:
    rule = self.instance_class
    return rule.update if _timed(rule) else _update_untimed


@overload(one_vs_rest.norm)
@overload(squared_norm)
def _squared_norm(self: Any, x: Any) -> Any:
    norm = _pair_norm if isinstance(x.dtype, types.Record) else _plain_norm
    return getattr(self.instance_class, "squared_norm", norm)


@overload(values_of)
def _values_of(x: Any) -> Any:
    return (lambda x: x["value"]) if isinstance(x.dtype, types.Record) else (lambda x: x)


@overload(one_vs_rest.has_probabilities)
def _has_probabilities(rule: Any) -> Any:
    known = hasattr(rule.instance_class, "has_probabilities")
    return lambda rule: known


@overload(chance)
def _chance(self: Any, margin: Any, memory: Any, now: Any) -> Any:
    query = self.instance_class
    return query.chance if hasattr(query, "spend") else _chance_forgetful


@overload(spend)
def _spend(self: Any, margin: Any, memory: Any, asked: Any, now: Any) -> Any:
    return getattr(self.instance_class, "spend", _spend_nothing)


overload(note_row)(lambda self, state, x: getattr(self.instance_class, "note", _note_nothing))
overload(is_due)(lambda self, state: getattr(self.instance_class, "is_due", _never))
overload(probabilities)(lambda self, state, x, t, out: self.instance_class.probabilities)
overload(margin)(lambda self, state, x: self.instance_class.margin)
overload(update)(lambda self, state, x, y, draw: self.instance_class.update)
overload(probability)(lambda self, margin, t: self.instance_class.probability)
overload(budgeted.inner_chance)(lambda query, margin, t: query.instance_class.probability)
overload(conditioning)(
    lambda self, size, largest: getattr(self.instance_class, "conditioning", _unstrained)
)
overload(admit_row)(lambda self, state, x: self.instance_class.admit)
overload(one_vs_rest.of_class)(
    lambda states, k: lambda states, k: member(states, k)  # noqa: PLW0108 numba wants a function
)
overload(one_vs_rest.said)(lambda rule, state, x: rule.instance_class.margin)
overload(one_vs_rest.learned)(lambda rule, state, x, y, draw: rule.instance_class.update)
overload(one_vs_rest.strain)(
    lambda rule, size, largest: getattr(rule.instance_class, "conditioning", _unstrained)
)
overload(mercer.product)(lambda kernel, x, z: kernel.instance_class.product)
overload(gaussian.judge)(lambda rule, m, q: rule.instance_class.judge)
overload(gaussian.step)(lambda rule, m, q, y: rule.instance_class.step)


def _nothing(*given: Any) -> None:
    pass


def _zero(*given: Any) -> float:
    return 0.0


# What the sparse Tracker does with dense columns, and what is compiled where all columns are words.
WITH_NUMBERS: dict[Callable[..., Any], Callable[..., Any]] = {
    head.count_numbers: _nothing,
    head.head_of: head.no_head,
    head.learn_head: _nothing,
    head.look_at_head: _nothing,
    head.meet_head: _zero,
    head.restart_head: _nothing,
    sparse_tracking.learn_alone: _nothing,
    sparse_tracking.sparse_classes: sparse_tracking.joint_classes,
    sparse_tracking.sparse_sign: sparse_tracking.joint_sign,
}


def _chosen(function: F, otherwise: F) -> Callable[..., F]:
    def choose(*given: Any) -> F:
        kinds = [getattr(kind, "instance_class", None) for kind in given]
        return function if sparse_beliefs.MixedBeliefs in kinds else otherwise

    return choose


for helper, otherwise in WITH_NUMBERS.items():
    overload(helper)(_chosen(helper, otherwise))

# Parts of the Tracker's loops, which would hand on a state of many arrays for each row.
PARTS = (
    filtering.drifted,
    filtering.quadratic,
    filtering.shrunk,
    filtering.sight,
    *(getattr(lensed, name) for name in lensed.__all__),
    seen.seen,
    tracking.sign,
)
for helper in PARTS:
    register_jitable(inline="always", **WITHIN)(helper)

for helper in (
    *(getattr(room, name) for room in (linalg, murmur) for name in room.__all__),
    *(getattr(hypotheses, name) for name in hypotheses.__all__ if name.islower()),
    *(getattr(kernel_second_order, name) for name in kernel_second_order.__all__),
    probit.chance,
    probit.filtered,
    probit.likelihood,
    *(getattr(room, name) for room in (softmax, seen) for name in room.__all__),
    *(getattr(filtering, name) for name in filtering.__all__),
    *(getattr(tracking, name) for name in tracking.__all__ if name.islower()),
    *(getattr(costs, name) for name in costs.__all__),
    *(
        getattr(room, name)
        for room in (columns, weighing, diagonal, head, alone)
        for name in room.__all__
    ),
    *(getattr(sparse_tracking, name) for name in sparse_tracking.__all__ if name.islower()),
    *(getattr(lenses, name) for name in lenses.__all__ if name.islower()),
    *(getattr(lens_maps, name) for name in lens_maps.__all__),
    subspace.is_due,
    subspace.sample_row,
    budgeted.stretched,
    *(getattr(room, name) for room in (account, pacing) for name in room.__all__),
    gaussian.look,
    gaussian.learn,
    gaussian.largest_of_all,
    gaussian.largest_variance,
    gaussian.shrunk,
    first_order,
):
    if helper not in PARTS:
        register_jitable(**WITHIN)(helper)

# Sums of products, whose terms may be added in any order.
for helper in (subspace.project, *(getattr(triangle, name) for name in triangle.__all__)):
    register_jitable(fastmath=_ANY_ORDER, **WITHIN)(helper)
