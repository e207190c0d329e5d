"""How numba compiles a rule: the methods of NamedTuples, and the helpers that they call.

Rules and queries are NamedTuples whose methods are plain Python. numba knows NamedTuples but not
their methods; so the functions that stand for them (:mod:`lasec.kernel.dispatch`) are given the
methods' own sources. A rule of one's own works in the same way; its helpers, if any, are compiled
with ``numba.njit``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as _types
from numba.extending import register_jitable

from lasec import linalg, mercer, murmur, triangle
from lasec.kernel import blocks, dispatch, functions, loops, pack, philox, serve, words
from lasec.kernel.jit.lean import WITHIN, overload
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

types: Any = _types
Function = Callable[..., Any]

_ANY_ORDER = {"reassoc", "contract"}


def _nothing(*given: Any) -> None:
    pass


def _zero(*given: Any) -> float:
    return 0.0


def _margin_untimed(self: Any, state: Any, x: Any, t: int) -> Any:
    return one_vs_rest.said(self, state, x)


def _update_untimed(self: Any, state: Any, x: Any, y: float, draw: float, t: int) -> None:
    one_vs_rest.learned(self, state, x, y, draw)


def _chance_forgetful(self: Any, margin: Any, memory: Any, now: Any) -> float:
    return float(budgeted.inner_chance(self, margin, now.round))


def _note_nothing(self: Any, state: Any, x: Any) -> None:
    pass


def _never(self: Any, state: Any) -> bool:
    return False


def _spend_nothing(self: Any, margin: Any, memory: Any, asked: bool, now: Any) -> None:
    pass


def _unstrained(self: Any, size: float, largest: float) -> float:
    return 0.0


def _no_strain(self: Any, state: Any, x: Any) -> float:
    return 0.0


def _strain(self: Any, state: Any, x: Any) -> float:
    size, widest = dispatch.squared_norm(self, x), dispatch.largest(state)
    return dispatch.conditioning(self, size, widest)


def _plain_norm(self: Any, x: Any) -> float:
    return float(np.dot(x, x))


def _pair_norm(self: Any, x: Any) -> float:
    total = 0.0
    for value in dispatch.values_of(x):
        total += value * value
    return total


@overload(dispatch.margin_at)
def _margin_at(self: Any, state: Any, x: Any, t: Any) -> Any:
    rule = self.instance_class
    return rule.margin if dispatch.is_timed(rule) else _margin_untimed


@overload(dispatch.update_at)
def _update_at(self: Any, state: Any, x: Any, y: Any, draw: Any, t: Any) -> Any:
    rule = self.instance_class
    return rule.update if dispatch.is_timed(rule) else _update_untimed


@overload(one_vs_rest.norm)
@overload(dispatch.squared_norm)
def _squared_norm(self: Any, x: Any) -> Any:
    plain = _pair_norm if isinstance(x.dtype, types.Record) else _plain_norm
    return getattr(self.instance_class, "squared_norm", plain)


@overload(dispatch.strain)
def _strain_of(self: Any, state: Any, x: Any) -> Any:
    return _strain if hasattr(self.instance_class, "conditioning") else _no_strain


@overload(dispatch.largest)
def _largest(state: Any) -> Any:
    if "cov" not in state.fields:
        return lambda state: 0.0
    if state.types[state.fields.index("cov")].ndim == 2:
        return lambda state: gaussian.largest_variance(state.cov)
    return lambda state: gaussian.largest_of_all(state.cov)


@overload(dispatch.values_of)
def _values_of(x: Any) -> Any:
    return (lambda x: x["value"]) if isinstance(x.dtype, types.Record) else (lambda x: x)


@overload(dispatch.label_of)
def _label_of(seen: Any) -> Any:
    if "label" in seen.fields:
        return lambda seen: seen.label
    return lambda seen: 1.0 if seen.raw >= 0.0 else -1.0


@overload(dispatch.margin_of)
def _margin_of(seen: Any) -> Any:
    return (lambda seen: seen.raw) if "label" in seen.fields else (lambda seen: seen.margin)


@overload(one_vs_rest.has_probabilities)
def _has_probabilities(rule: Any) -> Any:
    known = hasattr(rule.instance_class, "has_probabilities")
    return lambda rule: known


@overload(dispatch.chance)
def _chance(self: Any, margin: Any, memory: Any, now: Any) -> Any:
    query = self.instance_class
    return query.chance if hasattr(query, "spend") else _chance_forgetful


@overload(dispatch.spend)
def _spend(self: Any, margin: Any, memory: Any, asked: Any, now: Any) -> Any:
    return getattr(self.instance_class, "spend", _spend_nothing)


@overload(functions.probabilities)
def _probabilities(rule: Any, state: Any, x: Any, t: Any, out: Any) -> Any:
    return rule.instance_class.probabilities


def _method(function: Function, name: str, otherwise: Function | None = None) -> None:
    """Let a function of a rule or a query be its method of this name, or another one."""

    def choose(part: Any) -> Any:
        return getattr(part.instance_class, name, *([otherwise] if otherwise else []))

    overload(function)(_same_arguments(function, choose))


def _same_arguments(function: Function, choose: Function) -> Function:
    """``choose`` for the first argument, as a function of the arguments of another one."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    space: dict[str, Any] = {"choose": choose}
    exec(f"def chosen({', '.join(names)}): return choose({names[0]})", space)  # noqa: S102
    made: Function = space["chosen"]
    return made


_method(dispatch.note_row, "note", _note_nothing)
_method(dispatch.is_due, "is_due", _never)
_method(dispatch.conditioning, "conditioning", _unstrained)
_method(functions.admitted, "admit")
_method(budgeted.inner_chance, "probability")
_method(one_vs_rest.said, "margin")
_method(one_vs_rest.learned, "update")
_method(one_vs_rest.strain, "conditioning", _unstrained)
_method(mercer.product, "product")
_method(gaussian.judge, "judge")
_method(gaussian.step, "step")

# What the sparse Tracker does with dense columns, and what is compiled where all columns are words.
WITH_NUMBERS: dict[Function, Function] = {
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


def _chosen(function: Function, otherwise: Function) -> Function:
    def choose(*given: Any) -> Function:
        kinds = [getattr(kind, "instance_class", None) for kind in given]
        return function if sparse_beliefs.MixedBeliefs in kinds else otherwise

    return choose


for helper, instead in WITH_NUMBERS.items():
    overload(helper)(_chosen(helper, instead))

# Compiled as a part of what calls them: they would hand on a state of many arrays for each row.
INLINED = {
    filtering.drifted,
    filtering.quadratic,
    filtering.shrunk,
    filtering.sight,
    *(getattr(lensed, name) for name in lensed.__all__),
    seen.seen,
    tracking.sign,
}
# Sums of products, whose terms may be added in any order: a processor then adds several at a time,
# as BLAS does. It assumes nothing about values.
REORDERED = {
    subspace.project,
    *(getattr(triangle, name) for name in triangle.__all__),
    blocks.catch_up,
    blocks.inner,
    blocks.project,
    blocks.subtract_updates,
    pack.sum_of_nothing,
}
PLAIN = {
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
    functions.sound,
    loops.decide,
    loops.entry,
    loops.learned,
    loops.place,
    loops.write,
    philox.draw,
    philox.high_word,
    serve.answered_in,
    serve.asked_in,
    serve.count_label,
    words.add_up,
    words.sort_keys,
    blocks.largest_now,
    blocks.learn,
    blocks.learnable,
    blocks.mirror,
    blocks.run_block,
    blocks.unsound,
}
_register: Any = register_jitable
_key = lambda function: (function.__module__, function.__name__)  # noqa: E731
for helper in sorted(INLINED, key=_key):
    _register(inline="always", **WITHIN)(helper)
for helper in sorted(REORDERED, key=_key):
    _register(fastmath=_ANY_ORDER, **WITHIN)(helper)
for helper in sorted(PLAIN - INLINED - REORDERED - set(WITH_NUMBERS), key=_key):
    _register(**WITHIN)(helper)
