"""What every learner has: a state that is a value, a size from its first row, probabilities."""

import copy
from typing import NamedTuple

import numpy as np
import pytest

import lasec
from lasec.learner import class_margins, counted
from lasec.types import Margin

X, Y = lasec.streams.switching(300, dimension=4, every=100, seed=1)


class Counts(NamedTuple):
    weights: np.ndarray
    count: np.ndarray

    def validate(self):
        return ""


@lasec.rule
class Counting(NamedTuple):
    """Learns nothing, counts the rows that are asked about, and refuses long ones."""

    def init(self, dimension):
        return Counts(np.zeros(dimension), np.zeros(1))

    def margin(self, state, x, t):
        return Margin(0.0, 0.0, 0.0)

    def update(self, state, x, y, draw, t):
        state.weights[0] += 0.0

    def note(self, state, x):
        state.count[0] += 1.0

    def conditioning(self, size, largest):
        return 1e20 if size > 4.0 else 0.0


def make(**options):
    rule, query = lasec.rules.SecondOrder(0.01), lasec.queries.MarginSampling(0.5)
    return lasec.Learner(rule, query, seed=3, **options)


def test_the_first_row_sets_the_size_of_any_learner():
    known, unknown = make(dimension=4), make(dimension=None)
    assert (known._now.sized, unknown._now.sized) == (True, False)
    with pytest.raises(ValueError, match=r"^dimension: this learner has seen no row yet"):
        unknown.to_bytes()
    with pytest.raises(ValueError, match="NaN"):
        unknown.ask([np.nan] * 7)
    assert not unknown._now.sized
    for x, y in zip(X[:50], Y[:50], strict=True):
        decision = known.ask(x)
        assert unknown.ask(x) == decision
        if decision.asked:
            assert unknown.tell(decision.ticket, y) == known.tell(decision.ticket, y)
    assert unknown.to_bytes() == known.to_bytes()


def test_a_copy_shares_nothing():
    learner = make(dimension=4, max_age=50)
    for x in X[:20]:
        learner.ask(x, draw=0.0)
    learner.listen((heard := []).append)
    before, other = learner.to_bytes(), copy.copy(learner)
    other.tell(other.pending[0], 1)
    other.cancel(other.pending[0])
    other.run(X[20:100], Y[20:100])
    other.learn(X[100], -1)
    assert learner.to_bytes() == before
    assert heard == []


def test_counters_cannot_be_set():
    learner = make(dimension=4)
    with pytest.raises(AttributeError, match="counter"):
        learner.rows = 7
    assert counted(learner, rows=7, asked=2).ask(X[0]).ticket == 7
    assert (learner.rows, learner.asked) == (0, 0)


def test_probabilities_where_the_rule_declares_them():
    probit = lasec.Learner(lasec.rules.Probit(), dimension=4, learn_from="labels")
    probit.run(X, Y)
    likely = probit.predict_proba(X)
    np.testing.assert_allclose(likely.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(likely[:, 1] - likely[:, 0], probit.margins(X), atol=1e-15)
    np.testing.assert_array_equal(np.where(likely[:, 1] >= 0.5, 1, -1), probit.predict(X))
    assert not make(dimension=4).has_probabilities
    with pytest.raises(TypeError, match=r"^SecondOrder has margins, but no probabilities"):
        make(dimension=4).predict_proba(X)


def test_margins_of_rounds_to_come_are_those_of_ask():
    """Only a rule that depends on time tells them from those of the next row."""
    tracker = lasec.Tracker(dimension=4, rate=0.3, seed=1)
    tracker.run(X[:200], Y[:200])
    before = tracker.to_bytes()
    coming = tracker.margins(X[200:220], first=210)
    np.testing.assert_array_equal(tracker.margins(X[200:201], first=210), coming[:1])
    assert tracker.to_bytes() == before
    asked = [counted(tracker, rows=210 + k).ask(X[200 + k]).margin for k in range(20)]
    np.testing.assert_allclose(coming, asked, rtol=1e-12)
    assert np.abs(coming - tracker.margins(X[200:220])).max() > 0.0


@pytest.mark.parametrize("rule", [lasec.rules.Tracking(), lasec.rules.Perceptron()], ids=repr)
@pytest.mark.parametrize("names", [(-1, 1), ("ham", "spam")])
def test_many_labels_for_free_are_learned_one_after_the_other(rule, names):
    """No query sees them, no question expires by them, and no budget is spent."""
    labels = [names[int(y > 0)] for y in Y[:200]]
    one, many = (
        lasec.Learner(rule, lasec.queries.Budgeted(0.2), dimension=4, seed=1, max_age=20)
        for _ in range(2)
    )
    assert one.ask(X[0]) == many.ask(X[0])
    for x, label in zip(X[1:200], labels[1:], strict=True):
        one.learn(x, label)
    many.learn_many(X[1:70], labels[1:70])
    many.learn_many(X[70:200], labels[70:])
    assert many.to_bytes() == one.to_bytes()
    assert (many.rows, many.asked, many.told, many.pending) == (200, 1, 199, (0,))
    before = many.to_bytes()
    for rows, y in ((X[:3], ["a", None, "b"]), ([*X[:2], [np.nan] * 4], labels[:3])):
        with pytest.raises(ValueError, match=r"y: row 1 has no label|NaN"):
            many.learn_many(rows, y)
    assert many.to_bytes() == before


def test_a_refused_row_is_not_noted():
    """By a rule that counts its rows and has a conditioning limit."""
    learner = lasec.Learner(Counting(), dimension=2, seed=1)
    learner.ask([1.0, 0.0])
    with pytest.raises(ValueError, match="too large"):
        learner.ask([3.0, 0.0])
    with pytest.raises(ValueError, match="too large"):
        learner.run([[3.0, 0.0]], [1])
    learner.run([[1.0, 0.0]], [1])
    assert learner.state.count.tolist() == [2.0]


def test_a_new_query_begins_with_a_state_of_its_own():
    learner = lasec.Tracker(dimension=4, rate=0.5, seed=1)
    learner.run(X[:100], Y[:100])
    learner.query = lasec.queries.Budgeted(rate=0.1)
    np.testing.assert_array_equal(
        learner.selector.query_state, lasec.queries.Budgeted(rate=0.1).init()
    )
    decision = learner.ask(X[100])
    assert (decision.ticket, learner.selector.query_state[0]) == (100, 1.0)
    learner.query = lasec.queries.Uniform(rate=0.25)
    assert learner.ask(X[101]).propensity == 0.25


@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]])
def test_more_features_are_as_if_they_had_been_zero_before(classes):
    """With a spare feature at the end, in which every row had a zero."""
    options = {"learn_from": "labels", "classes": classes}
    rule = lasec.rules.SecondOrder(0.01)
    small, large = (lasec.Learner(rule, dimension=d, **options) for d in (5, 8))
    names = np.where(X[:, 0] > 0.5, "a", np.where(X[:, 1] > 0.0, "b", "c")) if classes else Y
    few, wide = np.pad(X, ((0, 0), (0, 1))), np.pad(X, ((0, 0), (0, 4)))
    small.run(few[:100], names[:100])
    large.run(wide[:100], names[:100])
    small.widen(8, known=4)
    wide[:, 4:7] = X[:, :3] ** 2
    small.run(wide[100:], names[100:])
    large.run(wide[100:], names[100:])
    np.testing.assert_allclose(
        class_margins(small, wide), class_margins(large, wide), rtol=1e-9, atol=1e-9
    )
    again = lasec.Learner.from_bytes(small.to_bytes())
    np.testing.assert_array_equal(again.margins(wide), small.margins(wide))


def test_a_tracker_whose_numbers_change_their_type_as_it_grows():
    """Wide rows have single precision: code that was compiled for the others is not for them."""
    tracker = lasec.Tracker(4, rate=1.0, seed=1)
    for x, y in zip(X[:50], Y[:50], strict=True):
        tracker.tell(tracker.ask(x).ticket, y)
    before = tracker.margins(X)
    assert tracker.state.core.dense.weights.dtype == np.float64
    tracker.widen(200)
    assert tracker.state.core.dense.weights.dtype == np.float32
    wide = np.pad(X, ((0, 0), (0, 196)))
    np.testing.assert_allclose(tracker.margins(wide), before, atol=0.05)
    for x, y in zip(wide[50:100], Y[50:100], strict=True):
        tracker.tell(tracker.ask(x).ticket, y)
    assert tracker.told == 100
    assert (tracker.predict(wide[:100]) == Y[:100]).mean() > 0.9


def test_open_questions_are_widened_with_their_learner():
    small, large = make(dimension=4), make(dimension=6)
    asked = [small.ask(x, draw=0.0) for x in X[:3]]
    assert [large.ask(np.pad(x, (0, 2)), draw=0.0) for x in X[:3]] == asked
    small.widen(6)
    assert small.open_bytes == large.open_bytes == 3 * 6 * 8
    for learner in (small, large):
        learner.tell(1, Y[1])
        learner.restate(2, np.ones(6))
        learner.tell(2, -1)
    assert small.to_bytes() == large.to_bytes()
    with pytest.raises(ValueError, match="6 features"):
        small.restate(0, np.ones(4))


def test_an_attempt_that_fails_leaves_nothing():
    learner = make(dimension=4)
    learner.tell(learner.ask(X[0], draw=0.0).ticket, -1)
    ticket = learner.ask(X[1], draw=0.0).ticket
    before = learner.to_bytes()

    def widen_and_tell():
        with learner.attempt():
            learner.widen(5)
            learner.restate(ticket, np.ones(5))
            learner.name_classes(["ham", "spam"])
            learner.tell(ticket, None)

    def learn_two():
        with learner.attempt(many=True):
            learner.learn(X[2], 1)
            learner.learn([np.nan] * 4, 1)

    for attempt, words in ((widen_and_tell, "y: "), (learn_two, "NaN")):
        with pytest.raises(ValueError, match=words):
            attempt()
        assert learner.to_bytes() == before
    with pytest.raises(ValueError, match="has learned a label"):
        learner.restart()


def test_many_chunks_are_one_attempt_of_which_a_listener_hears_at_its_end():
    learner, other = make(dimension=4, max_age=5), make(dimension=4, max_age=5)
    learner.listen((heard := []).append)
    for each in (learner, other):
        for x in X[:20]:
            each.ask(x, draw=0.0)
    before, first = learner.to_bytes(), len(heard)

    def chunks(last):
        with learner.attempt(many=True):
            learner.run(X[20:60], Y[20:60])
            learner.run(X[60:last], Y[60:last])
            assert len(heard) == first
            assert last == 100, "too few"

    with pytest.raises(AssertionError, match="too few"):
        chunks(80)
    assert (learner.to_bytes(), len(heard)) == (before, first)
    chunks(100)
    other.run(X[20:60], Y[20:60])
    other.run(X[60:100], Y[60:100])
    assert learner.to_bytes() == other.to_bytes()
    assert len(heard) == learner.expired == first + 6
    learner.cancel(learner.ask(X[101], draw=0.0).ticket)
    assert len(heard) == first + 7


def test_a_learner_that_begins_again_keeps_its_questions_and_its_budget():
    tracker = lasec.Tracker(4, seed=1, class_weight={"fraud": 9.0})
    asked = [tracker.ask(x, draw=0.0).ticket for x in X[:3]]
    tracker.restart()
    assert (tracker._now.sized, tracker.pending, tracker.rows) == (False, tuple(asked), 3)
    assert tracker.ask([1.0, 2.0]).ticket == 3
    tracker.restate(asked[0], [1.0, 2.0])
    tracker.tell(asked[0], "fraud")
    assert (tracker.dimension, tracker.told, tracker.state.costs[0][0]) == (2, 1, 9.0)


def test_a_learner_is_not_widened_to_fewer_features():
    learner = make(dimension=4)
    with pytest.raises(ValueError, match="dimension"):
        learner.widen(3)
    with pytest.raises(ValueError, match="known"):
        learner.widen(5, known=5)
    assert learner.dimension == 4


def test_a_state_that_could_not_be_loaded_is_not_written():
    learner = make(dimension=4)
    learner.run(X[:50], Y[:50])
    learner.state.weights[2] = np.nan
    with pytest.raises(lasec.errors.StateError, match="invalid"):
        learner.to_bytes()


def test_open_questions_get_the_codes_of_a_third_class():
    """The labels of their decisions stay what they were, and what was predicted for them too."""
    learner = make(dimension=4, classes=["ham", "spam"])
    for x, y in zip(X[:40], Y[:40], strict=True):
        learner.tell(learner.ask(x, draw=0.0).ticket, "spam" if y > 0 else "ham")
    before = [learner.ask(x, draw=0.0) for x in X[40:50]]
    assert {decision.label for decision in before} == {"ham", "spam"}
    assert learner.tell(before[0].ticket, "eggs").correct is False
    assert [decision.label for decision in learner.questions] == [d.label for d in before[1:]]
    assert learner.tell(before[1].ticket, before[1].label).correct
    for name in ("bread", "salt"):
        learner.tell(learner.ask(X[60], draw=0.0).ticket, name)
    assert [decision.label for decision in learner.questions] == [d.label for d in before[2:]]


def test_a_new_class_within_a_run_is_met_only_if_its_row_is_asked():
    query = lasec.queries.Uniform(0.5)
    labels, draws = ["ham", "spam", "eggs", "ham", "bread", "spam"], [0.0, 0.0, 0.9, 0.0, 0.4, 0.6]
    learner = lasec.Learner(lasec.rules.SecondOrder(0.01), query, dimension=4, seed=3)
    records = learner.run(X[:6], labels, draws=draws)
    assert records.asked.tolist() == [True, True, False, True, True, False]
    assert learner.classes == ("ham", "spam", "bread")
    assert learner.told == 4


def test_the_first_rows_of_a_learner_can_be_those_it_predicts():
    learner = make(dimension=None)
    assert learner.predict(X[:3]).tolist() == [1, 1, 1]
    assert (learner._now.sized, learner.dimension, learner.rows) == (True, 4, 0)
    with pytest.raises(ValueError, match="4 features"):
        learner.predict(X[:3, :2])


def test_rounds_and_weights_within_their_limits():
    learner = make(dimension=4)
    assert learner.margins(X[:2], first=0).tolist() == [0.0, 0.0]
    assert len(learner.margins(X[:2], first=2**62)) == 2
    for first in (-1, 2**62 + 1):
        with pytest.raises(ValueError, match="first"):
            learner.margins(X[:2], first=first)
    assert lasec.learner.class_weights({"a": 1e-9, "b": 1e9}) == {"a": 1e-9, "b": 1e9}
    for weight in (1e-10, 1e9 + 0.5):
        with pytest.raises(ValueError, match="class_weight"):
            lasec.learner.class_weights({"a": weight})


def test_a_row_that_is_too_large_is_named_among_others():
    learner = lasec.Learner(Counting(), dimension=2, seed=1)
    with pytest.raises(ValueError, match=r"^x: too large"):
        learner.ask([3.0, 0.0])
    with pytest.raises(ValueError, match=r"^X: row 1: too large"):
        learner.ask_many([[1.0, 0.0], [3.0, 0.0]])
