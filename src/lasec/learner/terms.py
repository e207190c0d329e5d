"""What a learner is given at its start: its classes, their weights, and how it learns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

from lasec import validation
from lasec.classes import ClassNames, class_names
from lasec.contract import whole
from lasec.parameters import Range, choice, number, shown
from lasec.queries import Always
from lasec.rules import OneVsRest
from lasec.types import Aggregate, LearnFrom, Rule

ALWAYS = Always()
DIMENSIONS = Range(1, 2**31)
MOST_CLASSES = Range(2, 2**15 - 1)  # records keep their codes in 16 bits
_AGES, _PEOPLE = Range(0.0, 1e30), Range(1, 999)
_WEIGHTS = Range(1e-9, 1e9)


class Terms(NamedTuple):
    """What no row changes: from which labels to learn, how long to wait, what several answers say.

    >>> Terms.of("labels").every_label
    True
    """

    learn_from: LearnFrom
    max_age: Annotated[float, _AGES] | None
    aggregate: Aggregate
    annotators: Annotated[int, _PEOPLE]
    max_classes: Annotated[int, MOST_CLASSES]

    @classmethod
    def of(
        cls, learn_from: LearnFrom | str, max_age: float | None = None,
        aggregate: Aggregate | str = Aggregate.FIRST, annotators: int = 3, max_classes: int = 100,
    ) -> Self:  # fmt: skip
        """The terms, all of them checked."""
        made = cls(
            choice(LearnFrom, learn_from),
            None if max_age is None else number("max_age", max_age, float, _AGES),
            choice(Aggregate, aggregate),
            number("annotators", annotators, int, _PEOPLE),
            number("max_classes", max_classes, int, MOST_CLASSES),
        )
        if conflict := made.validate():
            raise ValueError(conflict)
        return made

    def validate(self) -> str:
        """Why these terms are not possible; empty if they are."""
        even = self.annotators % 2 == 0
        return f"annotators must be an odd number, got {self.annotators}" if even else ""

    @property
    def every_label(self) -> bool:
        """Whether the model learns from labels that it has predicted."""
        return self.learn_from == LearnFrom.LABELS


FREE = Terms.of(LearnFrom.MISTAKES)


def with_classes(
    rule: Any, given: Sequence[Hashable] | None, *, every_label: bool
) -> tuple[Rule[Any], ClassNames]:
    """The rule for the classes that are known, and their names.

    A rule for two classes learns from ``every_label`` of more, or from mistakes.

    >>> import lasec
    >>> rule, names = with_classes(lasec.rules.SecondOrder(), "abc", every_label=False)
    >>> type(rule).__name__, names.names
    ('OneVsRest', ('a', 'b', 'c'))
    """
    many = whole(rule).facts.many
    labels = [validation.class_label(name) for name in given or ()]
    names = class_names(labels, least=rule.classes)
    count = len(names.names)
    if many:
        return rule._replace(classes=count), names
    return rule if count == 2 else OneVsRest(rule, count, every_label), names


def class_weights(given: object) -> dict[Any, float]:
    """The weight of each label that has one.

    >>> class_weights({"fraud": 20})
    {'fraud': 20.0}
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            f"class_weight: expected None, 'balanced' or weights by label, got {shown(given)}"
        )
    return {
        validation.class_label(label): number(f"class_weight[{label!r}]", weight, float, _WEIGHTS)
        for label, weight in given.items()
    }


def check_weights(weights: Mapping[Any, float], classes: Sequence[Hashable]) -> None:
    """Refuse the weight of a class that there is not.

    >>> check_weights({"fruad": 20.0}, ["fine", "fraud"])
    Traceback (most recent call last):
    ValueError: class_weight: 'fruad' is not one of the classes, name it among them or correct it
    """
    for label in weights:
        if label not in classes:
            raise ValueError(
                f"class_weight: {shown(label)} is not one of the classes, name it among them or "
                "correct it"
            )
