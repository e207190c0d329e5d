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

from numba import njit
from numba.extending import overload, register_jitable

from lasec import linalg
from lasec.rules.gaussian import largest_variance, shrunk, stretch
from lasec.rules.perceptron import first_order
from lasec.types import Margin, Query, Rule, Vector

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``numba.njit`` with the settings of this package, and with the function's type kept."""
    return cast(F, njit(nogil=True)(function))


def margin(self: Rule[Any], state: Any, x: Vector) -> Margin:
    """``rule.margin(state, x)``."""
    return self.margin(state, x)


def update(self: Rule[Any], state: Any, x: Vector, y: float, draw: float) -> None:
    """``rule.update(state, x, y, draw)``."""
    self.update(state, x, y, draw)


def probability(self: Query, margin: Margin, t: int) -> float:
    """``query.probability(margin, t)``."""
    return self.probability(margin, t)


def strain(self: Rule[Any], state: Any, x: Vector) -> float:
    """``rule.strain(state, x)`` where the rule has such a method; zero where it has none."""
    return float(self.strain(state, x)) if hasattr(self, "strain") else 0.0


def _unstrained(self: Rule[Any], state: Any, x: Vector) -> float:
    return 0.0


overload(margin, strict=False)(lambda self, state, x: self.instance_class.margin)
overload(update, strict=False)(lambda self, state, x, y, draw: self.instance_class.update)
overload(probability, strict=False)(lambda self, margin, t: self.instance_class.probability)
overload(strain, strict=False)(
    lambda self, state, x: getattr(self.instance_class, "strain", _unstrained)
)

for helper in (
    *(getattr(linalg, name) for name in linalg.__all__),
    shrunk,
    stretch,
    largest_variance,
    first_order,
):
    register_jitable(helper)
