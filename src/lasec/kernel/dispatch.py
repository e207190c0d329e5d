"""How numba calls a rule: the bridge between plain NamedTuples and compiled loops.

Rules and queries are NamedTuples whose methods are plain Python. numba knows NamedTuples but not
their methods; the functions here stand for them. Called from Python they call the method;
called from compiled code, numba takes the method's own source and compiles it for these types. So a
rule is written once, reads like its paper, needs no decorator, and runs interpreted as well.

A rule of one's own works in the same way; its helpers, if any, are compiled with ``numba.njit``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import overload, register_jitable

from lasec import linalg
from lasec.rules import gaussian
from lasec.rules.perceptron import first_order
from lasec.types import Margin, Query, Rule, Vector

njit: Any = numba.njit

F = TypeVar("F", bound=Callable[..., Any])


# Only compiled code calls these functions: wrappers for Python would double the time to compile.
_INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: F) -> F:
    """``numba.njit`` with the settings of this package, and with the function's type kept."""
    return cast(F, njit(**_INNER)(function))


def reordering(function: F) -> F:
    """As :func:`compiled`, for sums of products, whose terms may be added in any order.

    That lets a processor add several at a time, as BLAS does; it assumes nothing about values.
    """
    return cast(F, njit(fastmath={"reassoc", "contract"}, **_INNER)(function))


def inlined(function: F) -> F:
    """As :func:`compiled`, but compiled as a part of what calls it, not before: once, not twice."""
    return cast(F, njit(inline="always", **_INNER)(function))


def margin(self: Rule[Any], state: Any, x: Vector) -> Margin:
    """``rule.margin(state, x)``."""
    return self.margin(state, x)


def update(self: Rule[Any], state: Any, x: Vector, y: float, draw: float) -> None:
    """``rule.update(state, x, y, draw)``."""
    self.update(state, x, y, draw)


def probability(self: Query, margin: Margin, t: int) -> float:
    """``query.probability(margin, t)``."""
    return self.probability(margin, t)


def strain(self: Rule[Any], size: float, largest: float) -> float:
    """``rule.strain(size, largest)`` where the rule has such a method; zero where it has none."""
    return float(self.strain(size, largest)) if hasattr(self, "strain") else 0.0


def _unstrained(self: Rule[Any], size: float, largest: float) -> float:
    return 0.0


overload(margin, strict=False)(lambda self, state, x: self.instance_class.margin)
overload(update, strict=False)(lambda self, state, x, y, draw: self.instance_class.update)
overload(probability, strict=False)(lambda self, margin, t: self.instance_class.probability)
overload(strain, strict=False)(
    lambda self, size, largest: getattr(self.instance_class, "strain", _unstrained)
)
overload(gaussian.judge, strict=False)(lambda rule, m, q: rule.instance_class.judge)
overload(gaussian.step, strict=False)(lambda rule, m, q, y: rule.instance_class.step)

for helper in (
    *(getattr(linalg, name) for name in linalg.__all__),
    gaussian.look,
    gaussian.learn,
    gaussian.largest_variance,
    gaussian.shrunk,
    first_order,
):
    register_jitable(helper)
