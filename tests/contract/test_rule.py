"""What ``@lasec.rule`` and ``@lasec.query`` fill in, what they find, and whom they refuse."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import lasec
from catalogue import RULES
from lasec.contract import DEFAULTS, whole, whole_query
from lasec.types import Context, Margin
from ownrule import Averaging, Contrary, Weights


class Bare(NamedTuple):
    """A query without a decorator."""

    def probability(self, margin, t):
        return 0.5


class Moody(NamedTuple):
    """One with a chance of its own."""

    def probability(self, margin, t):
        return 0.5

    def chance(self, margin, state, now):
        return 0.5


@lasec.rule
class Counting(NamedTuple):
    """Has as its only weight the rows that were asked about, and begins again after five."""

    def init(self, dimension):
        return Weights(np.zeros(dimension))

    def margin(self, state, x, t):
        return Margin(state.weights[0], 0.0, state.weights[0])

    def update(self, state, x, y, draw, t):
        state.weights[0] = 0.0

    def note(self, state, x):
        state.weights[0] += 1.0

    def is_due(self, state):
        return bool(state.weights[0] >= 5.0)

    def renewed(self, state):
        return Weights(state.weights - 5.0)


class Plain(NamedTuple):
    """Three methods, and no decorator."""

    def init(self, dimension):
        return np.zeros(dimension)

    def margin(self, state, x, t):
        return Margin(0.0, 0.0, 0.0)

    def update(self, state, x, y, draw, t):
        state[0] = t


def test_a_rule_gets_what_it_leaves_out():
    rule = whole(Averaging())
    state = rule.init(3)
    assert rule.facts == lasec.contract.Facts()
    assert (rule.classes, rule.is_due(state), rule.label_cost(3)) == (2, False, 0.0)
    assert (rule.conditioning(1e9, 1e9), rule.strain(state, np.full(3, 1e9))) == (0.0, 0.0)
    assert rule.squared_norm(np.array([3.0, 4.0])) == 25.0
    assert rule.shapes(7) == rule.grown_shapes(7, {}) == {"weights": (7,)}
    assert rule.kinds(7) == {"weights": np.float64}
    assert rule.validate_state(state) == ""


def test_what_a_rule_has_is_kept():
    rule = lasec.rules.SecondOrder(drift=0.5)
    state = rule.init(2)
    assert rule.strain(state, np.array([3.0, 4.0])) == rule.conditioning(25.0, 1.0) == 2.0
    assert lasec.rules.Tracking(classes=4).classes == 4
    many = lasec.rules.OneVsRest(lasec.rules.Probit(), 3)
    assert many.facts == lasec.rules.Probit().facts._replace(many=True)
    for name in ("note", "is_due", "shapes", "kinds", "label_cost"):
        assert getattr(lasec.rules.Tracking, name) is not DEFAULTS[name]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_that_says_it_notes_nothing_does_not(rule):
    x, state, before = np.ones(4), rule.init(4), rule.init(4)
    whole(rule).note(state, x)
    same = all(np.array_equal(a, b) for a, b in zip(state, before, strict=True))
    assert same != whole(rule).facts.notes


def test_a_class_that_inherits_from_a_rule_may_be_one_of_its_own():
    class Louder(lasec.rules.Perceptron):
        def note(self, state, x):
            state.weights[0] += 1.0

    assert not Louder().facts.notes
    assert lasec.rule(Louder)().facts.notes
    assert not lasec.rules.Perceptron().facts.notes


def test_what_a_rule_does_between_labels_it_does_for_each_class():
    rule = lasec.rules.OneVsRest(Counting(), 3)
    state, x = rule.init(1), np.ones(1)
    assert whole(rule).facts.notes
    for _ in range(6):
        assert not rule.is_due(state) or state.weights[0, 0] == 5.0
        rule.note(state, x)
    rule.update(state, x, 2.0, 0.0, t=1)  # the second class missed it, the others said +1
    assert state.weights.tolist() == [[0.0], [6.0], [0.0]]
    assert rule.is_due(state)
    assert rule.renewed(state).weights.tolist() == [[0.0], [1.0], [0.0]]


def test_a_query_gets_what_it_leaves_out():
    query, margin = whole_query(Contrary()), Margin(0.0, 1.0, 0.0)
    state, now = query.init(), Context(3, 3.0, 0)
    query.spend(margin, state, True, now)
    assert (state.size, query.chance(margin, state, now)) == (0, 0.5)
    assert (query.has_propensity, query.timed, query.counts_open) == (True, False, False)
    assert math.isnan(query.planned(state))
    assert query.validate_state(state) == ""
    with pytest.raises(TypeError, match=r"^Contrary holds no budget: there is nothing to spend"):
        query.boost(state, 1.0, 10.0)


def test_a_query_of_its_own_chance_may_look_at_open_questions():
    @lasec.query
    class Shy(Bare):
        def chance(self, margin, state, now):
            return 1.0 / (1.0 + now.open)

    assert (Shy().counts_open, Contrary().counts_open) == (True, False)
    assert [lasec.queries.Budgeted(max_open=n).counts_open for n in (7, 0)] == [True, False]


ASKERS = (
    lambda query: lasec.queries.Budgeted(inner=query),
    lambda query: lasec.Learner(Averaging(), query, dimension=2),
    lambda query: lasec.Fleet(Averaging(), query, models=2, dimension=2),
    lasec.selector.Selector,
)


@pytest.mark.parametrize("door", ASKERS)
def test_what_is_no_query_is_refused_in_one_sentence(door):
    with pytest.raises(TypeError, match=r"^Bare is not a query yet: write @lasec\.query above its"):
        door(Bare())
    with pytest.raises(TypeError, match=r"^Moody is not a query yet"):
        door(Moody())
    for wrong in (None, 1.0, lasec.queries.Always):
        with pytest.raises(TypeError, match=r"^(query|inner) must be (one of lasec|a query)"):
            door(wrong)
    with pytest.raises(TypeError, match=r"^Mute: a query needs a method probability"):

        @lasec.query
        class Mute(NamedTuple):
            pass


DOORS = (
    lasec.rules.OneVsRest,
    lambda rule: lasec.Learner(rule, dimension=2),
    lambda rule: lasec.Fleet(rule, models=2, dimension=2),
)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_rule_is_refused_in_one_sentence(door):
    with pytest.raises(TypeError, match=r"^Plain is not a rule yet: write @lasec\.rule above its"):
        door(Plain())
    for wrong in (None, 1.0, "perceptron"):
        with pytest.raises(TypeError, match=r"^(rule|inner) must be (one of lasec|a rule)"):
            door(wrong)


def test_a_class_is_refused_where_it_is_written():
    with pytest.raises(TypeError, match=r"^Half: a rule needs a method update\(state, x, y, draw"):

        @lasec.rule
        class Half(NamedTuple):
            def init(self, dimension): ...

            def margin(self, state, x, t): ...

    with pytest.raises(TypeError, match=r"^Old\.margin must take \(self, state, x, t\), got"):

        @lasec.rule(probabilities=True)
        class Old(NamedTuple):
            init, update = Plain.init, Plain.update

            def margin(self, state, x): ...

    with pytest.raises(TypeError, match="poems"):
        lasec.rule(poems=True)
