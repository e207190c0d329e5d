"""The contract of a rule: three methods of its own, and what :func:`rule` fills in for the rest.

A default here is a method like any other: it is interpreted, and compiled, as it stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar, cast, overload

import numpy as np

from lasec import methods
from lasec.linalg import largest_of_all, largest_variance
from lasec.nested import leaves, named
from lasec.parameters import shown
from lasec.types import Rule, S, Vector

T = TypeVar("T")
Kind = type[T]

OWN = {
    "init": ("dimension",),
    "margin": ("state", "x", "t"),
    "update": ("state", "x", "y", "draw", "t"),
}  # what a rule must have, and what it is called with


class Facts(NamedTuple):
    """What holds of a rule, beside its methods.

    Its margins are P(+1) - P(-1) (``probabilities``); it is for ``sparse`` rows; it takes answers
    that may be wrong (``noise``, as ``rules.tracker.answers`` has them); these arrays of its state
    are ``symmetric`` to the last bit in their last two axes, so that a :class:`~lasec.Fleet` keeps
    one triangle. As :func:`rule` finds: asking writes its state (``notes``); it is for any number
    of classes (``many``).
    """

    probabilities: bool = False
    sparse: bool = False
    noise: bool = False
    symmetric: tuple[str, ...] = ()
    notes: bool = False
    many: bool = False


class WholeRule(Rule[S], Protocol[S]):
    """A rule with all that :func:`rule` fills in."""

    @property
    def facts(self) -> Facts:
        """What else holds of it."""

    @property
    def classes(self) -> int:
        """How many classes: two are -1 and +1, more are numbered from 1."""

    def note(self, state: S, x: Any) -> None:
        """Count a row that is asked about, whether a label comes or not; by default nothing.

        It must not change what is said about a row before the next label.
        """

    def is_due(self, state: S) -> bool:
        """Whether there is something to do between two rows (``renewed``); by default never."""

    def renewed(self, state: S) -> S:
        """The state after that: the same, or one with more room."""

    def conditioning(self, size: float, largest: float) -> float:
        """By what factor a label at an x of this size may shrink a covariance; by default none."""

    def squared_norm(self, x: Vector) -> float:
        """The size of x; by default x'x."""

    def strain(self, state: S, x: Any) -> float:
        """The conditioning of a label at x."""

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the state; by default linear in the dimension."""

    def kinds(self, dimension: int) -> dict[str, type]:
        """The type of the numbers in each."""

    def grown_shapes(self, dimension: int, arrays: Any) -> dict[str, tuple[int, ...]]:
        """The shapes of a state that has grown to the size of these arrays."""

    def label_cost(self, dimension: int) -> float:
        """About how many microseconds a label takes; 0 where that is not known."""

    def validate_state(self, state: S) -> str:
        """What makes these arrays no state, as a phrase; empty if nothing does."""

    def with_more_classes(self, state: S, dimension: int) -> tuple[Any, S]:
        """The rule and the state with one more class, of a rule for any number of them."""

    def probabilities(self, state: S, x: Any, t: int, out: Vector) -> None:
        """Out <- the probability of each class, of a rule for any number of them."""

    def admit(self, state: S, x: Any) -> bool:
        """Make a place for the columns of a sparse row; False if the state must grow first."""


def _note(self: Any, state: Any, x: Any) -> None:
    pass


def _is_due(self: Any, state: Any) -> bool:
    return False


def _conditioning(self: Any, size: float, largest: float) -> float:
    return 0.0


def _squared_norm(self: Any, x: Vector) -> float:
    return float(np.dot(x, x))


def _strain(self: Any, state: Any, x: Any) -> float:
    return methods.conditioning(self, methods.squared_norm(self, x), largest(state))


def _no_strain(self: Any, state: Any, x: Any) -> float:
    return 0.0


def _shapes(self: Any, dimension: int) -> dict[str, tuple[int, ...]]:
    one, two = self.init(1), self.init(2)
    return {
        name: tuple(a + (b - a) * (dimension - 1) for a, b in zip(p.shape, q.shape, strict=True))
        for (name, p), q in zip(named(one).items(), leaves(two), strict=True)
    }


def _kinds(self: Any, dimension: int) -> dict[str, Any]:
    return {name: array.dtype for name, array in named(self.init(1)).items()}


def _grown_shapes(self: Any, dimension: int, arrays: Any) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = self.shapes(dimension)
    return found


def _label_cost(self: Any, dimension: int) -> float:
    return 0.0


def _validate_state(self: Any, state: Any) -> str:
    flaw: str = state.validate()
    return flaw


DEFAULTS: dict[str, Any] = {
    "classes": 2,
    "conditioning": _conditioning,
    "grown_shapes": _grown_shapes,
    "is_due": _is_due,
    "kinds": _kinds,
    "label_cost": _label_cost,
    "note": _note,
    "shapes": _shapes,
    "squared_norm": _squared_norm,
    "validate_state": _validate_state,
}


def largest(state: Any) -> float:
    """The largest variance of any weight; zero where a state has no covariance."""
    if not hasattr(state, "cov"):
        return 0.0
    return largest_variance(state.cov) if state.cov.ndim == 2 else largest_of_all(state.cov)


@overload
def rule(kind: Kind[T], /) -> Kind[T]: ...
@overload
def rule(
    *, reference: str = "", probabilities: bool = False, sparse: bool = False,
    noise: bool = False, symmetric: tuple[str, ...] = (),
) -> Callable[[Kind[T]], Kind[T]]: ...  # fmt: skip
def rule(kind: Any = None, /, *, reference: str = "", **given: Any) -> Any:
    """Make a class of parameters a rule, by what it has and what else holds of it.

    ``init``, ``margin`` and ``update`` are its own; of the rest it gets what it does not have.
    ``reference`` is what :func:`lasec.cite` prints, and the others are :class:`Facts`.

    >>> @rule(probabilities=True)
    ... class Mine(NamedTuple):
    ...     def init(self, dimension): ...
    ...     def margin(self, state, x, t): ...
    ...     def update(self, state, x, y, draw, t): ...
    >>> Mine().facts.probabilities, Mine().facts.notes, Mine().is_due(None)
    (True, False, False)
    """
    facts = Facts(**given)
    return _filled(kind, reference, facts) if kind else lambda kind: _filled(kind, reference, facts)


def _filled(kind: Any, reference: str, facts: Facts) -> Any:
    for name, taken in OWN.items():
        _check(kind, name, taken)
    has = {name for name in (*DEFAULTS, "with_more_classes") if _is_own(kind, name)}
    for name in DEFAULTS.keys() - has:
        setattr(kind, name, DEFAULTS[name])
    if not _is_own(kind, "strain"):
        kind.strain = _strain if "conditioning" in has else _no_strain
    if reference:
        kind.reference = reference
    if not isinstance(getattr(kind, "facts", None), property):
        notes = facts.sparse or "note" in has
        kind.facts = facts._replace(notes=notes, many="with_more_classes" in has)
    return kind


def _is_own(kind: Any, name: str) -> bool:
    """Whether a class has more than a default of this name."""
    return getattr(kind, name, None) not in (None, DEFAULTS.get(name), _strain, _no_strain)


def _check(kind: Any, name: str, taken: tuple[str, ...]) -> None:
    """Refuse a rule without a method, or with one that cannot be called as rules are."""
    method = getattr(kind, name, None)
    if not callable(method):
        raise TypeError(f"{kind.__name__}: a rule needs a method {name}({', '.join(taken)})")
    try:
        inspect.signature(method).bind(None, *taken)
    except TypeError:
        raise TypeError(
            f"{kind.__name__}.{name} must take ({', '.join(('self', *taken))}), "
            f"got {inspect.signature(method)}"
        ) from None


def whole(rule: Rule[S]) -> WholeRule[S]:
    """A rule with all that it has; one that is none is refused.

    >>> import lasec
    >>> whole(lasec.rules.Perceptron()).facts.symmetric
    ()
    """
    if not hasattr(rule, "facts"):
        if all(hasattr(rule, name) for name in OWN):
            raise TypeError(
                f"{type(rule).__name__} is not a rule yet: write @lasec.rule above its class, "
                "which fills in what a rule may leave out"
            )
        raise TypeError(f"rule must be one of lasec.rules, got {shown(rule)}")
    return cast("WholeRule[S]", rule)
