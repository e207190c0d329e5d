"""Any number of classes for a rule that knows two: one state for each class, against the rest.

The label of a row is +1 for the state of its class and -1 for all others. The class whose state has
the largest margin is predicted. A query decides on half the lead of the best margin over the
second, which with two classes is the margin itself, and where margins are probabilities on the
lead of their normalized ones (:func:`lasec.selector.bvsb_margin`).

Two classes need no such rule. When a third one comes, what was learned goes on: the state of the
second class is that of the two, the state of the first is its mirror image, and the new one begins
with a state that has learned nothing.

Cost: that of the rule inside, for each class. Arrays are those of its state, with a first axis for
the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec import methods
from lasec.contract import Facts, rule, whole
from lasec.nested import copied, entry_of
from lasec.parameters import Range, checked
from lasec.rules.second_order import SecondOrder
from lasec.types import ClassMargin, Rule, Vector

__all__ = ["OneVsRest", "has_probabilities", "mirrored", "third_class"]

SMALLEST = 1e-300
SIGNED = ("weights", "labels")  # the arrays of a state whose signs are those of the labels


def has_probabilities(rule: Any) -> bool:
    """Whether the margins of a rule are P(+1) - P(-1), as a function that compiled code can call.

    >>> from lasec.rules import Perceptron, Probit
    >>> has_probabilities(Probit()), has_probabilities(Perceptron())
    (True, False)
    """
    return whole(rule).facts.probabilities


@checked
@rule
class OneVsRest(NamedTuple):
    """A rule for two classes, once for each of more.

    A learner makes it by itself when it is told of a third class. The state of each class learns
    from every label where ``every_label`` is true, and else from its own mistakes.

    >>> from lasec.rules import SecondOrder
    >>> rule = OneVsRest(SecondOrder(drift=0.1), classes=3)
    >>> state = rule.init(dimension=2)
    >>> x = np.array([1.0, 0.0])
    >>> rule.update(state, x, y=2.0, draw=0.0)
    >>> rule.margin(state, x).label, state.weights.tolist()
    (2.0, [[-0.5, 0.0], [0.0, 0.0], [-0.5, 0.0]])
    """

    inner: Rule[Any] = SecondOrder()
    classes: Annotated[int, Range(3, 10_000)] = 3
    every_label: bool = False

    def validate(self) -> str:
        """The rule inside is one for two classes."""
        if whole(self.inner).facts.many:
            return f"inner: {type(self.inner).__name__} is not a plain rule for two classes"
        return ""

    @property
    def facts(self) -> Facts:
        """Those of the rule of each class."""
        return whole(self.inner).facts._replace(many=True)

    def init(self, dimension: int) -> Any:
        """A new state for each class."""
        return _stacked([self.inner.init(dimension)] * self.classes)

    def margin(self, state: Any, x: Vector, t: int = 0) -> ClassMargin:
        """The class of the largest margin, P(class) - P(rest) or that margin, and its lead."""
        best, variance, total = 0, 0.0, 0.0
        first = second = -np.inf
        for k in range(self.classes):
            seen = methods.margin(self.inner, entry_of(state, k), x, t)
            total += (1.0 + seen.margin) / 2.0
            if seen.margin > first:
                best, variance, second, first = k, seen.variance, first, seen.margin
            elif seen.margin > second:
                second = seen.margin
        if has_probabilities(self.inner):
            total = max(total, SMALLEST)
            first, second = (1.0 + first) / total - 1.0, (1.0 + second) / total - 1.0
        return ClassMargin(first, variance, (first - second) / 2.0, best + 1.0)

    def probabilities(self, state: Any, x: Vector, t: int, out: Vector) -> None:
        """out <- the probability of each class, in the order of the margins where they are none."""
        for k in range(self.classes):
            m = methods.margin(self.inner, entry_of(state, k), x, t).margin
            out[k] = (1.0 + (m if has_probabilities(self.inner) else np.tanh(m))) / 2.0
        total = max(out.sum(), SMALLEST)
        for k in range(self.classes):
            out[k] /= total

    def update(self, state: Any, x: Vector, y: float, draw: float, t: int = 0) -> None:
        """+1 for the class of the label, -1 for all others."""
        inner = self.inner
        for k in range(self.classes):
            one, sign = entry_of(state, k), 1.0 if y == k + 1.0 else -1.0
            if self.every_label or (methods.margin(inner, one, x, t).raw >= 0.0) != (sign > 0.0):
                methods.update(inner, one, x, sign, draw, t)

    def with_more_classes(self, state: Any, dimension: int) -> tuple[OneVsRest, Any]:
        """The rule and the state with one more class, which has learned nothing."""
        new = self.inner.init(dimension)
        return self._replace(classes=self.classes + 1), _stacked([*_each(state), new])

    def widened(self, state: Any, dimension: int, known: int) -> Any:
        """The states for more features."""
        inner = whole(self.inner)
        return _stacked([inner.widened(one, dimension, known) for one in _each(state)])

    def note(self, state: Any, x: Any) -> None:
        """Let each class count a row that is asked about."""
        for k in range(self.classes):
            methods.note(self.inner, entry_of(state, k), x)

    def is_due(self, state: Any) -> bool:
        """Whether a class has something to do between two rows."""
        due = False
        for k in range(self.classes):
            due = due or methods.is_due(self.inner, entry_of(state, k))
        return due

    def renewed(self, state: Any) -> Any:
        """The states after that, which have one shape: what grows must grow alike in all."""
        inner = whole(self.inner)
        return _stacked([inner.renewed(o) if inner.is_due(o) else o for o in _each(state)])

    def conditioning(self, size: float, largest: float) -> float:
        """That of the rule of each class."""
        return methods.conditioning(self.inner, size, largest)

    def squared_norm(self, x: Vector) -> float:
        """That of the rule of each class."""
        return methods.squared_norm(self.inner, x)

    def validate_state(self, state: Any) -> str:
        """What makes these arrays no states of the rule inside, as a phrase; empty if nothing."""
        inner = whole(self.inner)
        return next((flaw for one in _each(state) if (flaw := inner.validate_state(one))), "")


def third_class(rule: Any, state: Any, dimension: int, *, every_label: bool) -> tuple[Any, Any]:
    """A rule for two classes and its state, with a third class.

    >>> from lasec.rules import Perceptron
    >>> from lasec.rules.perceptron import Linear
    >>> rule, state = third_class(Perceptron(), Linear(np.ones(2)), 2, every_label=True)
    >>> rule.classes, state.weights.tolist()
    (3, [[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]])
    """
    larger = OneVsRest(rule, 3, every_label)
    return larger, _stacked([mirrored(state), state, rule.init(dimension)])


def mirrored(state: Any) -> Any:
    """The state that the same rows with the opposite labels had led to.

    >>> from lasec.rules import Perceptron
    >>> state = Perceptron().init(2)
    >>> Perceptron().update(state, np.array([1.0, 2.0]), y=1.0, draw=0.0)
    >>> mirrored(state).weights.tolist()
    [-1.0, -2.0]
    """
    made = copied(state)
    turned = [getattr(made, name) for name in SIGNED if name in made._fields]
    if not turned:
        raise ValueError(f"a third class: {type(state).__name__} has no weights to go on from")
    for array in turned:
        np.negative(array, out=array)
    return made


def _each(states: Any) -> Iterator[Any]:
    """The state of each class."""
    return (entry_of(states, k) for k in range(len(states[0])))


def _stacked(states: list[Any]) -> Any:
    """The states of some classes as one."""
    each = zip(*states, strict=True)
    return type(states[0])(*(np.stack(c).astype(c[0].dtype) for c in each))
