"""Mixed tables: words and dense columns in one filter, and the dense columns by themselves.

Where words tell nothing about the label, the joint filter (:mod:`lasec.rules.tracker.joint`) is
slow: every text has words that never came before, and each takes its share of what a label teaches.
So it is mixed with a Tracker that sees the dense columns alone. Which of the two to trust is found
online, by the probability that each gave to the labels::

    margin = sum_e trust_e m_e
    label y:  trust_e <- trust_e P_e(y),  normalized,  trust_e <- (1 - a) trust_e + a / 2

with a = ``share``, and trust 0.9 in the joint filter at the start: the fixed share of Herbster and
Warmuth (*Tracking the Best Expert*, 1998). One whose trust is below ``negligible`` is left out of
the margin, but goes on learning. The Tracker of the dense columns has hypotheses, births and
weights of its own, and shares with the joint filter what is known of the columns' units. In rows
without words both say the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.nested import copied, mapped
from lasec.rules.tracker.beliefs import first_flaw
from lasec.rules.tracker.core import (
    Core,
    Counted,
    begin_core,
    begin_dense,
    blank_core,
    blank_counted,
    core_chances,
    core_says,
    flaw_of,
    teach_core,
)
from lasec.rules.tracker.costs import count_label
from lasec.rules.tracker.dense import Dense
from lasec.rules.tracker.enlarging import dense_classes, more_classes
from lasec.rules.tracker.joint import (
    Joint,
    joint_glance,
    joint_lesson,
    later_words,
    numbers_in,
)
from lasec.rules.tracker.mixture import class_probabilities, follow, sign, weigh_views
from lasec.rules.tracker.seen import LATEST, count_row, notice
from lasec.rules.tracker.states import count_shares, mix_chances, mix_says
from lasec.rules.tracker.texts import Texts, first_texts, texts_with_class
from lasec.rules.tracker.weighing import COUNT, count_words, settle_rows
from lasec.types import ClassMargin, Counter, Matrix, Vector

JOINT, ALONE = range(2)
_FIRST = 0.9  # the trust in the joint filter before the first label


class Mixed(NamedTuple):
    """All that a Tracker of mixed tables knows.

    ``texts`` are the words, with the mixture of the joint filter, and ``joint`` what it knows of
    the dense columns; ``alone`` is the Tracker that sees them by themselves.

    >>> from lasec.rules import SparseTracking
    >>> state = SparseTracking(dense=3, slots=2).init(dimension=2**24)
    >>> state.joint.weights.shape, state.alone.dense.covs.shape, state.trust.round(9).tolist()
    ((10, 1, 8), (10, 48), [0.9, 0.1])
    """

    texts: Texts
    joint: Dense
    alone: Core
    counted: Counted
    trust: Vector

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The posterior of the joint filter."""
        return self.texts.posterior

    @property
    def born(self) -> Counter:
        """When the concepts of the joint filter began."""
        return self.texts.born

    @property
    def costs(self) -> Matrix:
        """The class weights."""
        return self.texts.costs

    def validate(self) -> str:
        """Why these arrays are no state of a mixed Tracker, as a phrase; empty if they are."""
        wrong = bool((self.trust < 0.0).any() or abs(self.trust.sum() - 1.0) > 1e-9)
        beside = self.alone._replace(mixture=self.texts.mixture, dense=self.joint)
        return (
            self.texts.validate()
            or first_flaw((wrong, "trust is no probability distribution"))
            or flaw_of(self.alone, self.counted, self.texts.classes)
            or beside.flaw(self.texts.classes.told.size)
        )

    def texts_in(self) -> Texts:
        """What is known of the words."""
        return self.texts

    def says(self, rule: Any, x: Any, t: int) -> ClassMargin:
        """What both say about a row of two classes."""
        return mix_says(self, rule, self.trust, x, t)

    def chances(self, rule: Any, x: Any, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        mix_chances(self, rule, self.trust, x, t, mean, square)

    def view_says(self, rule: Any, e: int, x: Any, t: int) -> ClassMargin:
        """What the joint filter says, or the dense columns alone."""
        if e == JOINT:
            at, view = joint_glance(rule, self, x, t), Joint(self.texts.words, self.joint)
            return sign(rule, self.texts.mixture, view, at, t)
        return core_says(rule, self.alone, self.texts.classes, numbers_in(rule, x), t)

    def view_chances(self, rule: Any, e: int, x: Any, t: int, mean: Vector, square: Vector) -> None:
        """The same of many classes."""
        classes = self.texts.classes
        if e == JOINT:
            at, view = joint_glance(rule, self, x, t), Joint(self.texts.words, self.joint)
            class_probabilities(rule, self.texts.mixture, classes, view, at, t, mean, square)
        else:
            core_chances(rule, self.alone, classes, numbers_in(rule, x), t, mean, square)

    def asked(self, rule: Any, x: Any) -> None:
        """Count a row and its columns, which must have been admitted."""
        texts = self.texts
        t = texts.mixture.clock[LATEST] + int(texts.rows.tally[COUNT]) + 1
        count_shares(self, texts.classes, rule, x, t)
        count_words(texts, later_words(rule, x))
        count_row(self.alone, self.counted, numbers_in(rule, x))

    def teach(self, rule: Any, x: Any, y: float, t: int) -> None:
        """Let both learn, weigh them, and let the units of the dense columns follow the row."""
        texts, classes, numbers = self.texts, self.texts.classes, numbers_in(rule, x)
        at, view = joint_lesson(rule, self, x, t), Joint(texts.words, self.joint)
        count_label(classes, y, int(texts.rows.known[COUNT]))
        settle_rows(texts, later_words(rule, x))
        self.trust[JOINT] *= follow(rule, texts.mixture, classes, view, at, y, t)
        self.trust[ALONE] *= teach_core(rule, self.alone, classes, numbers, y, t)
        weigh_views(self.trust, rule.share, np.zeros(2, np.int64))
        notice(self.alone, self.counted, numbers)

    def roomier(self) -> Mixed:
        """The same with room for another row."""
        return self._replace(texts=self.texts.roomier())


def first_mixed(rule: Any) -> Mixed:
    """No column seen, one slot in use, all hypotheses alike."""
    core: Core = mapped(np.array, blank_core(rule, rule.dense, rule.dense, rule.slots))
    counted: Counted = mapped(np.array, blank_counted(rule.dense, rule.dense))
    joint: Dense = copied(core.dense)
    begin_core(rule, core)
    begin_dense(rule, joint)
    return Mixed(first_texts(rule), joint, core, counted, np.array((_FIRST, 1.0 - _FIRST)))


def mixed_with_class(rule: Any, larger: Any, state: Mixed) -> Mixed:
    """The state with one more class."""
    blank = first_mixed(larger)
    texts = texts_with_class(rule, larger, state.texts)
    joint = copied(dense_classes(rule, state.alone, state.joint, blank.joint))
    alone = more_classes(rule, state.alone, blank.alone)
    return Mixed(texts, joint, alone, copied(state.counted), state.trust.copy())
