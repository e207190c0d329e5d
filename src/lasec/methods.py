"""The methods of rules, queries and kernels as functions: how one part calls another.

Parts are NamedTuples whose methods are plain Python. Interpreted, a function calls the method of
its name; in compiled code it *is* that method (:mod:`lasec.kernel.jit`), because numba knows
NamedTuples and not their methods. So a part is written once, reads like its paper, and runs
interpreted as well.
"""

from __future__ import annotations

from typing import Any

from lasec.types import Context, Margin, Vector

__all__ = [
    "admit", "chance", "conditioning", "is_due", "judge", "margin", "note", "probabilities",
    "probability", "product", "spend", "squared_norm", "step", "strain", "update",
]  # fmt: skip


def margin(rule: Any, state: Any, x: Any, t: int) -> Any:
    """What a rule says about a row."""
    return rule.margin(state, x, t)


def update(rule: Any, state: Any, x: Any, y: float, draw: float, t: int) -> None:
    """Let a rule learn a label."""
    rule.update(state, x, y, draw, t)


def note(rule: Any, state: Any, x: Any) -> None:
    """Let a rule count a row that is asked about."""
    rule.note(state, x)


def is_due(rule: Any, state: Any) -> bool:
    """Whether a rule has something to do between two rows."""
    return bool(rule.is_due(state))


def strain(rule: Any, state: Any, x: Any) -> float:
    """How far a label of a row may shrink the covariance."""
    return float(rule.strain(state, x))


def conditioning(rule: Any, size: float, largest: float) -> float:
    """The same of a row of this size, where the largest variance is this one."""
    return float(rule.conditioning(size, largest))


def squared_norm(rule: Any, x: Any) -> float:
    """The size of a row."""
    return float(rule.squared_norm(x))


def probabilities(rule: Any, state: Any, x: Any, t: int, out: Vector) -> None:
    """out <- the probability of each of more than two classes."""
    rule.probabilities(state, x, t, out)


def admit(rule: Any, state: Any, x: Any) -> bool:
    """Let a rule for sparse rows make a place for the columns of a row."""
    return bool(rule.admit(state, x))


def judge(rule: Any, m: float, q: float) -> Margin:
    """What a second-order rule makes of x'w and x'Cx."""
    seen: Margin = rule.judge(m, q)
    return seen


def step(rule: Any, m: float, q: float, y: float) -> Any:
    """How a second-order rule moves along Cx for a label."""
    return rule.step(m, q, y)


def product(kernel: Any, x: Vector, z: Vector) -> float:
    """The inner product of two rows in the feature space of a Mercer kernel."""
    return float(kernel.product(x, z))


def probability(query: Any, margin: Margin, t: int) -> float:
    """The probability of asking in row ``t``, whatever came before."""
    return float(query.probability(margin, t))


def chance(query: Any, margin: Margin, memory: Vector, now: Context) -> float:
    """The probability of asking, by what the query remembers."""
    return float(query.chance(margin, memory, now))


def spend(query: Any, margin: Margin, memory: Vector, asked: bool, now: Context) -> None:
    """Let a query take note of a row."""
    query.spend(margin, memory, asked, now)
