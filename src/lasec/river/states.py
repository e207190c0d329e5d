"""States of a rule and one row: what they say about it, and how one learns its label."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lasec.kernel import engine
from lasec.types import Margin, NotingRule, Rule, Vector

# Compiled code for each type of rule: here, because no model can pickle it.
_LOOK: dict[type, Callable[..., Any]] = {}
_TELL: dict[type, Callable[..., Any]] = {}
_NOTE: dict[type, Callable[..., Any]] = {}


def seen(rule: Rule[Any], states: Iterable[Any], row: Vector, rows: int) -> list[Margin]:
    """What each state says about a row after so many steps, or an error about the row.

    >>> import lasec
    >>> rule = lasec.rules.SecondOrder()
    >>> seen(rule, [rule.init(2)], np.array([1.0, 2.0]), rows=0)
    [Margin(raw=0.0, variance=5.0, margin=0.0)]
    """
    look = _LOOK.get(type(rule))
    if look is None:
        look = _LOOK[type(rule)] = engine.looker(rule, rule.init(1), np.zeros(1))
    found = []
    for state in states:
        fine, raw, variance, margin = look(rule, state, row, rows + 1)
        if not fine:
            raise _too_large()
        found.append(Margin(raw, variance, margin))
    return found


def note(rule: Rule[Any], states: Iterable[Any], row: Vector) -> None:
    """Let each state count a row that is asked about, where the rule wants that.

    >>> import lasec
    >>> rule = lasec.rules.Tracking()
    >>> state = rule.init(2)
    >>> note(rule, [state], np.array([1.0, 2.0]))
    >>> state.tally.tolist()
    [1.0, 1.0, 2.0, 1.0, 4.0]
    """
    if not isinstance(rule, NotingRule):
        return
    count = _NOTE.get(type(rule))
    if count is None:
        count = _NOTE[type(rule)] = engine.noter(rule, rule.init(1), np.zeros((1, 1)))
    for state in states:
        count(rule, state, row[None])


def teach(
    rule: Rule[Any], state: Any, row: Vector, y: float, *,
    seed: int, ticket: int, mistakes_only: bool,
) -> None:  # fmt: skip
    """Let a label in, or refuse the row and leave the state as it was.

    >>> import lasec
    >>> rule = lasec.rules.Perceptron()
    >>> state = rule.init(2)
    >>> teach(rule, state, np.array([1.0, 2.0]), -1.0, seed=0, ticket=0, mistakes_only=True)
    >>> state.weights.tolist()
    [-1.0, -2.0]
    """
    tell = _TELL.get(type(rule))
    if tell is None:
        tell = _TELL[type(rule)] = engine.teller(rule, rule.init(1), np.zeros(1))
    _, wanted, usable = tell(rule, state, row, y, seed, ticket, mistakes_only)
    if wanted and not usable:
        raise _too_large()


def copied(state: Any) -> Any:
    """A state of its own with the same numbers.

    >>> import lasec
    >>> copied(lasec.rules.Perceptron().init(2)).weights.tolist()
    [0.0, 0.0]
    """
    return type(state)(*(array.copy() for array in state))


def _too_large() -> ValueError:
    return ValueError(
        "x: too large for this model, a label there could shrink its covariance too much: "
        "put a river.preprocessing.StandardScaler before it"
    )
