"""The names of two classes, which a binary learner knows as -1 and +1."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from lasec.errors import ClassError


class Classes:
    """Names to signs and back: the first class is -1, the second +1.

    Names that were not given are taken from the labels as they come. With ``positive``, that class
    is +1 and all others together are -1.

    >>> names = Classes(["ham"])
    >>> names.sign("spam"), names.name(-1), names.name(1)
    (1, 'ham', 'spam')
    >>> names.sign("eggs")
    Traceback (most recent call last):
    lasec.errors.ClassError: 'eggs' is a third class: this learner separates 'ham' and 'spam'
    >>> Classes(positive="fraud").sign("anything else")
    -1
    """

    def __init__(self, names: Sequence[Hashable] = (), positive: Hashable | None = None) -> None:
        self.names: list[Any] = list(names)
        self.positive = positive
        if positive is not None:
            self.names = [f"not {positive}", positive]
        if len(set(self.names)) != len(self.names) or len(self.names) > 2:
            raise ValueError(f"classes: expected two, got {', '.join(map(str, self.names))}")

    def name(self, sign: int) -> Any:
        """The class of a label -1 or +1; None while it has no name yet."""
        index = 0 if sign < 0 else 1
        return self.names[index] if index < len(self.names) else None

    def sign(self, name: Hashable) -> int:
        """-1 or +1 for the name of a class; a name that is new becomes the next class."""
        if self.positive is not None:
            return 1 if name == self.positive else -1
        if name not in self.names:
            if len(self.names) == 2:
                known = " and ".join(map(repr, self.names))
                raise ClassError(f"{name!r} is a third class: this learner separates {known}")
            self.names.append(name)
        return 1 if self.names.index(name) else -1

    def __repr__(self) -> str:
        return f"Classes({self.names})"
