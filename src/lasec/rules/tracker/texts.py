"""What a Tracker of sparse rows knows: a mixture over words, and the columns that occurred."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.nested import copied, mapped
from lasec.rules.tracker.beliefs import (
    Classes,
    Mixture,
    begin,
    begin_classes,
    blank_classes,
    blank_mixture,
    first_flaw,
)
from lasec.rules.tracker.columns import (
    ENTRIES,
    FRESH,
    PLACE,
    PLACES,
    ROWS,
    STAMP,
    Columns,
    first_columns,
    grown,
    longer,
)
from lasec.rules.tracker.costs import count_label
from lasec.rules.tracker.enlarging import label_as_class, one_more
from lasec.rules.tracker.mixture import class_probabilities, follow, sign
from lasec.rules.tracker.seen import LATEST
from lasec.rules.tracker.states import count_shares
from lasec.rules.tracker.weighing import COUNT, Rows, count_words, fixed_places, settle_rows
from lasec.rules.tracker.words import LABEL_NUMBER, Words, glance, lesson
from lasec.types import ClassMargin, Counter, Matrix, Vector

_ROOT_HALF = math.sqrt(0.5)
_FIRST = 64  # places, and half the slots of the first table


class Texts(NamedTuple):
    """All that a Tracker of sparse rows knows.

    >>> from lasec.rules import SparseTracking
    >>> state = SparseTracking(slots=2).init(dimension=2**24)
    >>> state.words.weights.shape, state.columns.table.size
    ((64, 10, 1), 128)
    """

    mixture: Mixture
    words: Words
    columns: Columns
    rows: Rows
    classes: Classes

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The posterior of the hypotheses."""
        return self.mixture.posterior

    @property
    def born(self) -> Counter:
        """The row before each slot's first."""
        return self.mixture.born

    @property
    def costs(self) -> Matrix:
        """The class weights."""
        return self.classes.costs

    def validate(self) -> str:
        """Why these arrays are no state of a sparse Tracker, as a phrase; empty if they are.

        >>> from lasec.rules import SparseTracking
        >>> state = SparseTracking(slots=1).init(dimension=1)
        >>> state.columns.used[0] = 1
        >>> state.validate()
        'the table of the columns contradicts itself'
        """
        many, used, latest = self.classes.told.size, self.columns.used, self.mixture.clock[LATEST]
        fixed, room = fixed_places(max(2, many)), len(self.words.spread)
        return (
            self.columns.flaw(fixed, room)
            or self.mixture.flaw(many)
            or self.classes.flaw()
            or self.words.flaw(int(used[PLACES]), int(latest))
            or first_flaw((_negative(self), "a count or a variance is negative"))
        )

    def texts_in(self) -> Texts:
        """What is known of the words: all."""
        return self

    def says(self, rule: Any, x: Any, t: int) -> ClassMargin:
        """What the mixture says about a row of two classes."""
        return sign(rule, self.mixture, self.words, glance(rule, self, x, t), t)

    def chances(self, rule: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        at = glance(rule, self, x, t)
        class_probabilities(rule, self.mixture, self.classes, self.words, at, t, mean, square)

    def asked(self, rule: Any, x: Any) -> None:
        """Count a row and its columns, which must have been admitted."""
        t = self.mixture.clock[LATEST] + int(self.rows.tally[COUNT]) + 1
        count_shares(self, self.classes, rule, x, t)
        count_words(self, x)

    def teach(self, rule: Any, x: Any, y: float, t: int) -> None:
        """Filter every state, weigh the hypotheses, and let a concept begin where one may have."""
        at = lesson(rule, self, x, t)
        count_label(self.classes, y, int(self.rows.known[COUNT]))
        settle_rows(self, x)
        follow(rule, self.mixture, self.classes, self.words, at, y, t)

    def roomier(self) -> Texts:
        """The same with room for another row."""
        columns, places = grown(self.columns, len(self.words.spread))
        parts = {name: getattr(self.words, name) for name in ("weights", "spread", "touched")}
        words = self.words._replace(**{name: longer(parts[name], places) for name in parts})
        return self._replace(columns=columns, words=words)


def first_texts(rule: Any) -> Texts:
    """No column seen, one slot in use, all hypotheses alike."""
    mixture: Mixture = mapped(np.array, blank_mixture(rule.slots))
    classes: Classes = mapped(np.array, blank_classes(rule))
    begin(rule, mixture)
    begin_classes(rule, classes)
    states, fixed = mixture.weight.size, fixed_places(rule.classes)
    places = _FIRST * -(-fixed // _FIRST)
    weights = np.zeros((places, states, rule.classes if rule.classes > 2 else 1))
    touched = np.zeros((places, 2), np.int64)
    touched[:, LABEL_NUMBER] = -1
    begun, labels = np.zeros(rule.slots, np.int64), np.zeros(1, np.int64)
    words = Words(weights, np.zeros((places, states)), touched, begun, labels)
    rows = Rows(np.zeros(4), np.zeros(4))
    return Texts(mixture, words, first_columns(places, fixed), rows, classes)


def texts_with_class(rule: Any, larger: Any, state: Texts) -> Texts:
    """The state with one more class: its own place for the last label, and weights of zero.

    As :mod:`lasec.rules.tracker.enlarging` has it: two classes have one weight for +1 less -1, the
    first two of three have it over the root of 2, with both signs; the sign of the last label
    becomes two places.
    """
    was, fixed, more = state.words, fixed_places(rule.classes), fixed_places(larger.classes)
    old = np.r_[:fixed, [-1] * (more - fixed), fixed : len(was.spread)]
    sign = np.ones(len(old))
    if rule.classes == 2:
        old[2:5], sign[2] = (2, 2, -1), -1.0
    new = old < 0
    w = sign[:, None, None] * was.weights[old]
    w = np.concatenate([-_ROOT_HALF * w, _ROOT_HALF * w], axis=2) if rule.classes == 2 else w
    weights = np.concatenate([w, np.zeros((*w.shape[:2], 1))], axis=2)
    weights[new], spread, touched = 0.0, was.spread[old], was.touched[old]
    spread[new], touched[new] = 0.0, (0, -1)
    after: Texts = copied(
        state._replace(words=was._replace(weights=weights, spread=spread, touched=touched))
    )
    entries = after.columns.entries
    entries[entries[:, PLACE] >= fixed, PLACE] += more - fixed
    after.columns.used[PLACES] += more - fixed
    if rule.classes == 2:
        label_as_class(after.mixture.clock)
    return after._replace(classes=one_more(larger, state.classes))


def _negative(state: Texts) -> bool:
    counted, rows = state.columns.entries[: state.columns.used[ENTRIES]], state.rows
    counts = (counted[:, [ROWS, FRESH, STAMP]], *rows)
    return any((part < 0).any() for part in counts) or bool(
        (counted[:, ROWS] + counted[:, FRESH] > rows.known[COUNT] + rows.tally[COUNT]).any()
    )
