"""The names of classes: a learner knows two as -1 and +1, and more as 1, 2, and so on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import shown


class ClassNames(NamedTuple):
    """The names of a learner's classes, by their places; None where a place has no name yet.

    A learner knows two classes as -1 and +1, and more as 1, 2, and so on: their codes. Where names
    come from labels, a new one takes the first free place (the labels -1 and +1 those of their
    sign), and then a place of its own.

    >>> names = ClassNames((None, None))
    >>> names.name(-1), names.name(1)
    (-1, 1)
    >>> names = names.placed("ham").placed("spam").placed("eggs")
    >>> names.names, names.code("spam"), names.name(3), names.code("beans")
    (('ham', 'spam', 'eggs'), 2, 'eggs', 0)
    """

    names: tuple[Any, ...]

    @property
    def are_signs(self) -> bool:
        """Whether labels are -1 and +1, as far as is known."""
        return self.names in _SIGNED

    def code(self, label: Hashable) -> int:
        """The code of a label, 0 if it is new; -1 and +1 are not, while there are no others."""
        place = self._place(label)
        if self.are_signs and label in SIGNS:
            return SIGNS[SIGNS.index(label)]
        if place is None or self.names[place] is None:
            return 0
        return place + 1 if len(self.names) > 2 else (-1, 1)[place]

    def codes(self, labels: Sequence[Hashable]) -> NDArray[np.float64]:
        """The codes of labels; 0 for those that are new."""
        return np.array([self.code(label) for label in labels], dtype=np.float64)

    def placed(self, label: Hashable) -> ClassNames:
        """The names with that of a label that is new; at the end, if no place is free."""
        place, label = self._place(label), plain(label)
        if place is None:
            return ClassNames((*self.names, label))
        return ClassNames(tuple(label if i == place else n for i, n in enumerate(self.names)))

    def known(self, labels: Iterable[Hashable]) -> ClassNames:
        """The names with those of labels that were told and have a place already."""
        names = self
        for label in labels:
            names = names if label in names.names else names.placed(label)
        return names

    def name(self, code: int) -> Any:
        """The label of a code: of two classes without names, the code itself."""
        if len(self.names) > 2:
            return self.names[code - 1]
        return code if self.are_signs else self.names[code > 0]

    def named(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The labels of many codes."""
        return codes if self.are_signs else self.table[self.places(codes)]

    @property
    def table(self) -> NDArray[Any]:
        """The labels by their places, as an array.

        >>> ClassNames(("ham", "spam")).table.tolist()
        ['ham', 'spam']
        """
        used = [self.name(code) for code in self._codes]
        alike = len({type(name) for name in used}) == 1
        return np.array(used, dtype=None if alike else object)

    def places(self, codes: NDArray[Any]) -> NDArray[np.intp]:
        """The places of codes.

        >>> ClassNames(("ham", "spam")).places(np.array([1, -1])).tolist()
        [1, 0]
        """
        return np.asarray(codes - 1 if len(self.names) > 2 else codes > 0, dtype=np.intp)

    @property
    def complete(self) -> ClassNames:
        """The same, where each place has a name: without any, the code; a part is an error.

        >>> ClassNames((None, None)).complete.names, ClassNames((None,) * 3).complete.names
        ((-1, 1), (1, 2, 3))
        """
        if self.are_signs or not any(name is not None for name in self.names):
            return ClassNames(tuple(self._codes))
        if None in self.names:
            raise ValueError(f"classes: expected {len(self.names)} names, got {shown(self.names)}")
        return self

    @property
    def _codes(self) -> range | tuple[int, int]:
        return range(1, len(self.names) + 1) if len(self.names) > 2 else (-1, 1)

    def _place(self, label: Hashable) -> int | None:
        """Where a label is, or would be put; None at a new place."""
        if label in self.names:
            return self.names.index(label)
        if None not in self.names:
            return None
        own = SIGNS.index(label) if label in SIGNS else 0
        return own if self.names[own] is None else self.names.index(None)


def against_others(positive: Hashable) -> tuple[str, Hashable]:
    """The names of all other classes together, and of the one that is separated from them.

    >>> against_others("spam")
    ('not spam', 'spam')
    """
    return f"not {positive}", positive


def plain(label: Any) -> Any:
    """A label as it is shown: -1.0 and 1.0 are the signs, too.

    >>> plain(-1.0), plain(True), plain("ham")
    (-1, True, 'ham')
    """
    if label in SIGNS and not isinstance(label, bool):
        return SIGNS[SIGNS.index(label)]
    return label


SIGNS = (-1, 1)
UNNAMED = ClassNames((None, None))
_SIGNED = ((None, None), (-1, None), (None, 1), SIGNS)


def class_names(given: Iterable[Hashable] | None, least: int = 2) -> ClassNames:
    """The names of a learner's classes, with at least so many places: those given, or none yet.

    >>> class_names(["ham", "spam"]).code("spam"), class_names(None).names
    (1, (None, None))
    """
    names = tuple(given or ())
    if len(set(names)) != len(names):
        raise ValueError(f"classes: expected different names, got {shown(names)}")
    return ClassNames(names + (None,) * (least - len(names)))
