"""The contracts of rules and queries: a few methods of their own, and the rest filled in.

A default here is a method like any other: it is interpreted, and compiled, as it stands.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar, cast, overload

import numpy as np

from lasec import methods
from lasec.linalg import largest_of_all, largest_variance
from lasec.nested import leaves, named
from lasec.parameters import shown
from lasec.types import Context, Margin, Query, Rule, S, Vector

T = TypeVar("T")
Kind = type[T]
Needs = dict[str, tuple[str, ...]]

OWN: Needs = {
    "init": ("dimension",),
    "margin": ("state", "x", "t"),
    "update": ("state", "x", "y", "draw", "t"),
}  # what a rule must have, and what it is called with
ASKS: Needs = {"probability": ("margin", "t")}  # and a query


class Facts(NamedTuple):
    """What holds of a rule, beside its methods.

    Its margins are P(+1) - P(-1) (``probabilities``); it is for ``sparse`` rows; it takes answers
    that may be wrong (``noise``, as ``rules.tracker.answers`` has them); these arrays of its state
    are ``symmetric`` to the last bit in their last two axes, so that a :class:`~lasec.Fleet` keeps
    one triangle. As :func:`rule` finds: asking writes its state (``notes``); it is for any number
    of classes (``many``); a state grows by a ``spare`` coordinate at its end.
    """

    probabilities: bool = False
    sparse: bool = False
    noise: bool = False
    symmetric: tuple[str, ...] = ()
    notes: bool = False
    many: bool = False
    spare: bool = True


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
        """The state after that: the same, or one with more room; needed with ``is_due``."""

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

    def widened(self, state: S, dimension: int, known: int) -> S:
        """The state for more features, of which the first ``known`` are in use."""

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


def _widened(self: Any, state: Any, dimension: int, known: int) -> Any:
    """For states in which a coordinate that was always zero lives alone.

    Its weight is zero, and its variance is that of any other such coordinate. So where a spare one
    is kept at the end, which no feature uses, repeating it is exactly what the state had been with
    all features from the start.
    """
    if self.facts.sparse:
        return state
    larger = self.init(dimension)
    for before, after in zip(state, larger, strict=True):
        after[tuple(map(slice, before.shape))] = before
    if hasattr(state, "cov"):  # of one class, or of several with a first axis for them
        fresh = np.arange(state.cov.shape[-1], larger.cov.shape[-1])
        larger.cov[..., fresh, fresh] = state.cov[..., -1:, -1]
    return larger


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
    "widened": _widened,
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
    has = _fill(kind, "rule", OWN, DEFAULTS)
    if not _is_own(kind, "strain", (_strain, _no_strain)):
        kind.strain = _strain if "conditioning" in has else _no_strain
    if reference:
        kind.reference = reference
    if not isinstance(getattr(kind, "facts", None), property):
        notes, many = facts.sparse or "note" in has, hasattr(kind, "with_more_classes")
        kind.facts = facts._replace(notes=notes, many=many, spare="widened" not in has)
    return kind


def _fill(kind: Any, role: str, own: Needs, defaults: dict[str, Any]) -> set[str]:
    """Give a class the defaults that it has none of its own for; what it has of them."""
    for name, taken in own.items():
        _check(kind, role, name, taken)
    has = {name for name, default in defaults.items() if _is_own(kind, name, (default,))}
    for name in defaults.keys() - has:
        setattr(kind, name, defaults[name])
    return has


def _is_own(kind: Any, name: str, defaults: tuple[Any, ...]) -> bool:
    """Whether a class has more than a default of this name."""
    return getattr(kind, name, None) not in (None, *defaults)


def _check(kind: Any, role: str, name: str, taken: tuple[str, ...]) -> None:
    """Refuse a class without a method, or with one that cannot be called as it will be."""
    method = getattr(kind, name, None)
    if not callable(method):
        raise TypeError(f"{kind.__name__}: a {role} needs a method {name}({', '.join(taken)})")
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
    _refuse_bare(rule, "rule", "rules", OWN, "facts")
    return cast("WholeRule[S]", rule)


def _refuse_bare(part: Any, role: str, room: str, own: Needs, filled: str) -> None:
    """Refuse a part whose class was given no defaults, and what is no such part at all."""
    if isinstance(part, type) or not all(hasattr(part, name) for name in own):
        raise TypeError(f"{role} must be one of lasec.{room}, got {shown(part)}")
    if not hasattr(part, filled):
        raise TypeError(
            f"{type(part).__name__} is not a {role} yet: write @lasec.{role} above its class, "
            f"which fills in what a {role} may leave out"
        )


class WholeQuery(Query, Protocol):
    """A query with all that :func:`query` fills in."""

    @property
    def has_propensity(self) -> bool:
        """Whether every probability is positive, so that unbiased estimates are possible."""

    @property
    def timed(self) -> bool:
        """Whether every row must come with a time; by default none."""

    @property
    def counts_open(self) -> bool:
        """Whether its chances depend on how many questions are open.

        By default where ``max_open`` is more than 0, or where it has its own ``chance`` and no
        ``max_open``.
        """

    def init(self) -> Vector:
        """The state before the first row, an array that ``ask`` writes; by default an empty one."""

    def chance(self, margin: Margin, state: Vector, now: Context) -> float:
        """The probability of asking in the row ``now``; by default :meth:`probability`."""

    def spend(self, margin: Margin, state: Vector, asked: bool, now: Context) -> None:
        """Take note of a row, in place; by default nothing."""

    def planned(self, state: Vector) -> float:
        """The labels that the plan allows by now; by default NaN, for no plan."""

    def boost(self, state: Vector, labels: float, ticks: float) -> None:
        """Spend ``labels`` earlier, to be saved again over the next ``ticks``; refused if none."""

    def validate_state(self, state: Vector) -> str:
        """What makes an array no state of this query, as a phrase; empty if nothing does."""


def _no_memory(self: Any) -> Vector:
    return np.empty(0)


def _chance(self: Any, margin: Any, state: Any, now: Any) -> float:
    return methods.probability(self, margin, now.round)


def _spend(self: Any, margin: Any, state: Any, asked: bool, now: Any) -> None:
    pass


def _planned(self: Any, state: Vector) -> float:
    return math.nan


def _boost(self: Any, state: Vector, labels: float, ticks: float) -> None:
    raise TypeError(f"{type(self).__name__} holds no budget: there is nothing to spend earlier")


def _sound(self: Any, state: Vector) -> str:
    return ""


def _counts_open(self: Any) -> bool:
    return bool(self.max_open > 0)


ASKING: dict[str, Any] = {
    "boost": _boost,
    "chance": _chance,
    "has_propensity": True,
    "init": _no_memory,
    "planned": _planned,
    "spend": _spend,
    "timed": False,
    "validate_state": _sound,
}


def query(kind: Kind[T]) -> Kind[T]:
    """Make a class of parameters a query, which has a method ``probability`` and may have more.

    Where some probabilities are zero, it says so: ``has_propensity = False``.

    >>> @query
    ... class Often(NamedTuple):
    ...     def probability(self, margin, t):
    ...         return 0.9
    >>> Often().init().size, Often().planned(np.empty(0)), Often().has_propensity
    (0, nan, True)
    """
    plain: Any = kind
    has = _fill(plain, "query", ASKS, ASKING)
    if not hasattr(plain, "counts_open"):
        limited = hasattr(plain, "max_open")
        plain.counts_open = property(_counts_open) if limited else "chance" in has
    return kind


def whole_query(query: Query) -> WholeQuery:
    """A query with all that it has; one that is none is refused.

    >>> import lasec
    >>> whole_query(lasec.queries.Always()).timed
    False
    """
    _refuse_bare(query, "query", "queries", ASKS, "counts_open")
    return cast("WholeQuery", query)
