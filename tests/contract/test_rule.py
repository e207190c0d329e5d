"""What ``@lasec.rule`` fills in, what it finds, and whom it refuses."""

from typing import NamedTuple

import numpy as np
import pytest

import lasec
from catalogue import RULES
from lasec.contract import DEFAULTS, whole
from lasec.types import Margin
from ownrule import Averaging


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
