"""How numba compiles a rule: the methods of NamedTuples, and the helpers that they call.

Rules and queries are NamedTuples whose methods are plain Python. numba knows NamedTuples but not
their methods; so the functions that stand for them (:mod:`lasec.methods`) are given the methods'
own sources. A rule of one's own works in the same way; its helpers, if any, are compiled with
``numba.njit``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types as _types
from numba.extending import register_jitable

from lasec import contract, linalg, methods, murmur, triangle
from lasec.kernel import blocks, functions, loops, pack, philox, serve
from lasec.kernel import words as text
from lasec.kernel.jit.lean import WITHIN, overload
from lasec.queries import account, budgeted, pacing, two_prices
from lasec.rules import gaussian, kernel_second_order, one_vs_rest, probit
from lasec.rules.perceptron import first_order
from lasec.rules.tracker import (
    answers,
    columns,
    core,
    costs,
    dense,
    hypotheses,
    joint,
    lens_maps,
    lensed,
    mixture,
    seen,
    softmax,
    states,
    subspace,
    views,
    weighing,
    words,
)

types: Any = _types
Function = Callable[..., Any]

_ANY_ORDER = {"reassoc", "contract"}


@overload(contract.largest)
def _largest(state: Any) -> Any:
    if "cov" not in state.fields:
        return lambda state: 0.0
    if state.types[state.fields.index("cov")].ndim == 2:
        return lambda state: linalg.largest_variance(state.cov)
    return lambda state: linalg.largest_of_all(state.cov)


@overload(functions.values_of)
def _values_of(x: Any) -> Any:
    return (lambda x: x["value"]) if isinstance(x.dtype, types.Record) else (lambda x: x)


@overload(functions.label_of)
def _label_of(seen: Any) -> Any:
    if "label" in seen.fields:
        return lambda seen: seen.label
    return lambda seen: 1.0 if seen.raw >= 0.0 else -1.0


@overload(functions.margin_of)
def _margin_of(seen: Any) -> Any:
    return (lambda seen: seen.raw) if "label" in seen.fields else (lambda seen: seen.margin)


@overload(one_vs_rest.has_probabilities)
def _has_probabilities(rule: Any) -> Any:
    known = rule.instance_class.facts.probabilities
    return lambda rule: known


def _method(function: Function) -> None:
    """Let a function be the method of its name, of the rule, query, kernel or view it is given."""
    name = function.__name__

    def choose(part: Any) -> Any:
        return getattr(part.instance_class, name)

    overload(function)(_same_arguments(function, choose))


def _same_arguments(function: Function, choose: Function) -> Function:
    """``choose`` for the first argument, as a function of the arguments of another one."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    space: dict[str, Any] = {"choose": choose}
    exec(f"def chosen({', '.join(names)}): return choose({names[0]})", space)  # noqa: S102
    made: Function = space["chosen"]
    return made


for called in methods.__all__:
    _method(getattr(methods, called))


for of_part in (
    states.says, states.chances, states.asked, states.teach, states.texts_in, states.view_says,
    states.view_chances, views.score, views.meet, views.learn, views.settle, views.restart,
):  # fmt: skip
    _method(of_part)

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
    *(getattr(room, name) for room in (softmax, seen, answers) for name in room.__all__),
    *(getattr(room, name) for room in (dense, mixture) for name in room.__all__),
    *(getattr(room, name) for room in (core, states, lensed) for name in room.__all__),
    *(getattr(costs, name) for name in costs.__all__),
    *(getattr(room, name) for room in (columns, weighing, words, joint) for name in room.__all__),
    *(getattr(lens_maps, name) for name in lens_maps.__all__),
    subspace.is_due,
    subspace.sample_row,
    budgeted.stretched,
    *(getattr(room, name) for room in (account, pacing) for name in room.__all__),
    *(getattr(two_prices, name) for name in two_prices.__all__ if name.islower()),
    gaussian.look,
    gaussian.learn,
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
    text.add_up,
    text.sort_keys,
    blocks.largest_now,
    blocks.learn,
    blocks.learnable,
    blocks.mirror,
    blocks.run_block,
    blocks.unsound,
}
_register: Any = register_jitable
_key = lambda function: (function.__module__, function.__name__)  # noqa: E731
for helper in sorted(REORDERED, key=_key):
    _register(fastmath=_ANY_ORDER, **WITHIN)(helper)
for helper in sorted(PLAIN - REORDERED, key=_key):
    _register(**WITHIN)(helper)
