"""What a rule and a query may leave out, filled in: the only place that asks what they have.

Rules and queries are NamedTuples whose methods are plain Python. Interpreted, these functions call
the methods; :mod:`lasec.kernel.jit` lets compiled code take the methods' own sources. So a rule is
written once, reads like its paper, needs no decorator, and runs interpreted as well.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

import numpy as np

from lasec.rules.gaussian import largest_of_all, largest_variance
from lasec.types import ClassMargin, Context, Margin, Vector


def margin_at(self: Any, state: Any, x: Vector, t: int) -> Margin | ClassMargin:
    """``rule.margin(state, x, t)`` where the rule asks for the row; else without it."""
    return self.margin(state, x, t) if is_timed(self.__class__) else self.margin(state, x)  # type: ignore[no-any-return]


def update_at(self: Any, state: Any, x: Vector, y: float, draw: float, t: int) -> None:
    """``rule.update(state, x, y, draw, t)`` where the rule asks for the row; else without it."""
    if is_timed(self.__class__):
        self.update(state, x, y, draw, t)
    else:
        self.update(state, x, y, draw)


def note_row(self: Any, state: Any, x: Vector) -> None:
    """``rule.note(state, x)`` where the rule counts the rows that are asked about."""
    if hasattr(self, "note"):
        self.note(state, x)


def is_due(self: Any, state: Any) -> bool:
    """Whether the rule has to ``renew`` its state, or let it grow, between two rows."""
    return bool(self.is_due(state)) if hasattr(self, "is_due") else False


def chance(self: Any, margin: Margin, memory: Vector, now: Context) -> float:
    """The probability of asking, by what the query remembers if it remembers anything."""
    if hasattr(self, "spend"):
        return float(self.chance(margin, memory, now))
    return float(self.probability(margin, now.round))


def spend(self: Any, margin: Margin, memory: Vector, asked: bool, now: Context) -> None:
    """``query.spend(margin, memory, asked, now)`` where the query remembers."""
    if hasattr(self, "spend"):
        self.spend(margin, memory, asked, now)


def conditioning(self: Any, size: float, largest: float) -> float:
    """``rule.conditioning(size, largest)`` where the rule has such a method; else zero."""
    return float(self.conditioning(size, largest)) if hasattr(self, "conditioning") else 0.0


def squared_norm(self: Any, x: Vector) -> float:
    """``rule.squared_norm(x)`` where the rule has such a method; x'x where it has none."""
    if hasattr(self, "squared_norm"):
        return float(self.squared_norm(x))
    return float(np.dot(values_of(x), values_of(x)))


def strain(self: Any, state: Any, x: Vector) -> float:
    """How far a label at x may shrink the covariance; zero where a rule knows no limit."""
    return conditioning(self, squared_norm(self, x), largest(state))


def largest(state: Any) -> float:
    """The largest variance of any weight; zero where a state has no covariance."""
    if not hasattr(state, "cov"):
        return 0.0
    return largest_variance(state.cov) if state.cov.ndim == 2 else largest_of_all(state.cov)


def values_of(x: Any) -> Any:
    """The numbers of a row: of a sparse one, those of its pairs."""
    return x["value"] if x.dtype.names else x


def label_of(seen: Any) -> float:
    """The prediction: the sign of the raw margin, or the class where a rule names one."""
    return float(seen.label)


def margin_of(seen: Any) -> float:
    """The margin that is shown: the one that the query decides on, or P(label) - P(another)."""
    return float(seen.raw if "label" in seen._fields else seen.margin)


@lru_cache(1_000)
def is_timed(rule: Any) -> bool:
    """Whether the margin of a class of rules depends on the row."""
    return "t" in inspect.signature(rule.margin).parameters
