"""Many classes with the papers' rules: the same as a learner of two classes for each of them."""

from typing import NamedTuple

import numpy as np
import pytest

import lasec
from lasec.errors import StateError
from lasec.mercer import RBF
from lasec.nested import entry_of
from lasec.queries import Budgeted, MarginSampling
from lasec.rules import (
    BudgetPerceptron,
    KernelSecondOrder,
    OneVsRest,
    Perceptron,
    Probit,
    SecondOrder,
    Tracking,
)
from lasec.rules.one_vs_rest import mirrored, third_class

PLAIN = (  # one for each kind of state, and one with probabilities
    SecondOrder(0.1, 0.5),
    Probit(5.0, 0.02),
    Perceptron(),
    BudgetPerceptron(5),
    KernelSecondOrder(RBF(20.0), drift=0.1, ridge=0.5, budget=6),
)
NAMES = ["ham", "spam", "eggs"]
D = 3


def stream(n=120, seed=0):
    """Rows of three classes, each around a place of its own, and a constant."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 3, n)
    X = 0.4 * rng.standard_normal((n, D)) + np.eye(3)[which] * 2.0
    return X, np.array(NAMES)[which]


@pytest.mark.parametrize("learn_from", ["labels", "mistakes"])
@pytest.mark.parametrize("rule", PLAIN, ids=str)
def test_it_is_a_learner_for_each_class(rule, learn_from):
    X, y = stream()
    options = {"dimension": D, "learn_from": learn_from, "seed": 5}
    many = lasec.Learner(rule, classes=NAMES, **options)
    ones = [lasec.Learner(rule, **options) for _ in NAMES]
    records = many.run(X, y)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        margins = np.array([one.margins([x])[0] for one in ones])
        assert records.label[i] == NAMES[margins.argmax()]
        for one, name in zip(ones, NAMES, strict=True):
            one.tell(one.ask(x).ticket, 1 if name == label else -1)
    for k, one in enumerate(ones):
        for array, stacked in zip(one.state, many.state, strict=True):
            np.testing.assert_allclose(stacked[k], array, rtol=1e-10, atol=1e-12)


def test_the_query_sees_half_the_lead_or_that_of_probabilities():
    X, y = stream()
    for rule in (SecondOrder(0.1), Probit()):
        learner = lasec.Learner(rule, MarginSampling(1.0), dimension=D, classes=NAMES, seed=0)
        learner.run(X, y)
        chosen = learner.rule
        margins = np.array([rule.margin(entry_of(learner.state, k), X[0]).margin for k in range(3)])
        seen = chosen.margin(learner.state, X[0])
        if learner.has_probabilities:
            likely = (1.0 + margins) / (1.0 + margins).sum()
            np.testing.assert_allclose(learner.predict_proba(X[:1])[0], likely)
            first, second = np.sort(likely)[::-1][:2]
            np.testing.assert_allclose([seen.raw, seen.margin], [2.0 * first - 1.0, first - second])
        else:
            first, second = np.sort(margins)[::-1][:2]
            np.testing.assert_allclose([seen.raw, seen.margin], [first, (first - second) / 2.0])
        assert learner.ask(X[0]).propensity == pytest.approx(1.0 / (1.0 + seen.margin))


@pytest.mark.parametrize("rule", PLAIN, ids=str)
def test_a_third_class_goes_on_from_two(rule):
    """What two classes have learned is kept, and turned for the first of them."""
    X, y = stream()
    two = y != "eggs"
    learner = lasec.Learner(rule, dimension=D, learn_from="labels", seed=0)
    learner.run(X[two], y[two])
    before, names = learner.margins(X), learner.classes
    outcome = learner.learn(X[~two][0], "eggs")
    assert not outcome.correct
    assert learner.classes == (*names, "eggs")
    twin = lasec.Learner(rule, dimension=D, learn_from="labels", seed=0)
    twin.run(X[two], np.where(y[two] == names[1], 1, -1))
    rule_, state = learner.rule, third_class(rule, twin.state, D, every_label=True)[1]
    for x, m in zip(X, before, strict=True):
        first, second, new = (rule.margin(entry_of(state, k), x).margin for k in range(3))
        assert (-first, second, new) == pytest.approx((m, m, 0.0), abs=1e-9)
    assert rule_ == OneVsRest(rule, 3, every_label=True)


@pytest.mark.parametrize("rule", [SecondOrder(0.1, 0.5), Perceptron()], ids=str)
def test_row_by_row_in_chunks_and_from_a_file(rule):
    X, y = stream(200)
    options = {"dimension": D, "seed": 3}
    query = Budgeted(rate=0.3, inner=MarginSampling(0.5))
    whole = lasec.Learner(rule, query, **options)
    records = whole.run(X, y)
    steps = lasec.Learner(rule, query, **options)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        decision = steps.ask(x)
        assert decision.propensity == pytest.approx(records.propensity[i], rel=1e-9)
        assert decision.asked == records.asked[i]
        if decision.asked:
            steps.tell(decision.ticket, label)
        if i % 50 == 49:
            steps = lasec.Learner.from_bytes(steps.to_bytes())
    assert steps.classes == whole.classes
    assert set(whole.classes) == set(NAMES)
    np.testing.assert_allclose(steps.state.weights, whole.state.weights, rtol=1e-9, atol=1e-12)


def test_open_questions_outlive_a_third_class():
    X, y = stream()
    learner = lasec.LASEC(dimension=D, seed=0)
    tickets = [learner.ask(x).ticket for x in X]
    for ticket in reversed(tickets):
        learner.tell(ticket, y[ticket])
    assert learner.told == len(X)
    assert (learner.predict(X) == y).mean() > 0.9


def test_labels_of_any_kind():
    X = np.eye(2)
    for labels in ([0, 1], ["no", "yes"], [False, True], [2.5, -7.0]):
        learner = lasec.LASEC(dimension=2)
        learner.run(np.repeat(X, 20, axis=0), np.repeat(labels, 20))
        assert learner.predict(X).tolist() == labels
    with pytest.raises(ValueError, match="is no label"):
        lasec.LASEC(dimension=2).learn([1.0, 0.0], None)


def test_what_cannot_be():
    with pytest.raises(ValueError, match="not a plain rule"):
        OneVsRest(Tracking())
    with pytest.raises(ValueError, match="not a plain rule"):
        OneVsRest(OneVsRest(Perceptron()))
    with pytest.raises(TypeError, match="inner must be a rule"):
        OneVsRest(Budgeted())
    learner = lasec.LASEC(dimension=2, classes=NAMES)
    learner.state.cov[1] = -1.0
    with pytest.raises(StateError, match="not positive definite"):
        learner.to_bytes()


class Odd(NamedTuple):
    """The state of a rule of one's own, whose signs nobody else knows."""

    numbers: np.ndarray


def test_a_state_without_weights_has_two_classes_only():
    with pytest.raises(ValueError, match="third class"):
        mirrored(Odd(np.zeros(2)))
