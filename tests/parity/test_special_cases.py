"""What the paper says its algorithm becomes at the ends of its parameters."""

import math

import numpy as np
import pytest

import lasec
import reference.first_order
from lasec.queries import MarginSampling, Uniform, VarianceThreshold
from lasec.rules import BudgetPerceptron, Perceptron, Ridge, SecondOrder, ShiftingPerceptron
from reference.protocol import always, coin, play
from reference.second_order import DualLASEC

ROUNDS, DIMENSION = 2_000, 20


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.switching(ROUNDS, dimension=DIMENSION, every=400, seed=3)


def run(stream, rule, query=None, **options):
    query = lasec.queries.Always() if query is None else query
    return lasec.Learner(rule, query, dimension=DIMENSION, **options).run(*stream)


def same(one, other, tolerance=0.0):
    np.testing.assert_array_equal(one.label, other.label)
    np.testing.assert_array_equal(one.asked, other.asked)
    np.testing.assert_array_equal(one.updated, other.updated)
    np.testing.assert_allclose(one.margin, other.margin, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(one.propensity, other.propensity, rtol=tolerance, atol=tolerance)


def test_infinite_aggressiveness_is_the_supervised_algorithm(stream):
    rule = SecondOrder(drift=0.01, ridge=0.5)
    same(run(stream, rule, MarginSampling(aggressiveness=math.inf)), run(stream, rule))


def test_no_drift_is_the_second_order_perceptron(stream):
    """LASEC's margins tend to those of the second-order perceptron as c grows, and reach them."""
    sop = lasec.SOP(DIMENSION, ridge=2.0).run(*stream)
    same(lasec.LASEC(DIMENSION, drift=0.0, ridge=2.0).run(*stream), sop)
    same(lasec.LASEC(DIMENSION, drift=1e-15, ridge=2.0).run(*stream), sop, tolerance=1e-9)
    away = np.abs(lasec.LASEC(DIMENSION, drift=1e-3, ridge=2.0).run(*stream).margin - sop.margin)
    assert away.max() > 1e-3


def test_ridge_regression_on_mistakes_is_the_second_order_perceptron(stream):
    same(run(stream, Ridge(ridge=2.0)), run(stream, SecondOrder(drift=0.0, ridge=2.0)))


def test_bbq_that_updates_on_mistakes_is_bbq_i(stream):
    by_hand = run(stream, Ridge(1.0), VarianceThreshold(0.3), learn_from="mistakes")
    same(by_hand, lasec.BBQ_I(DIMENSION, ridge=1.0, exponent=0.3).run(*stream))
    bbq = lasec.BBQ(DIMENSION, ridge=1.0, exponent=0.3).run(*stream)
    assert bbq.updated.sum() == bbq.labels
    assert not np.array_equal(bbq.label, by_hand.label)


class GrowingPerceptron(reference.first_order.Perceptron):
    """A perceptron whose update after k earlier ones is weighted 1 + k epsilon."""

    def __init__(self, d, epsilon):
        super().__init__(d)
        self.epsilon = epsilon

    def update(self, x, y, draw):
        super().update(x, (1.0 + self.epsilon * len(self.missed)) * y, draw)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.01, 0.5])
def test_large_ridge_approaches_a_perceptron(stream, epsilon):
    """As b = epsilon c grows, C tends to (1 + k epsilon) I/b after k updates.

    So the predictions become, row for row, those of a perceptron that weights its k-th update
    by 1 + k epsilon: the plain perceptron where epsilon k is small, and only there.
    """
    X, y = stream
    plain = lasec.Perceptron(DIMENSION).run(X, y)
    zeros = np.zeros(ROUNDS)
    growing = play(GrowingPerceptron(DIMENSION, epsilon), always, X, y, zeros, zeros)

    def label(b):
        return lasec.LASEC(DIMENSION, drift=epsilon / b, ridge=b).run(X, y).label

    assert (label(1.0) != plain.label).sum() > ROUNDS // 20
    np.testing.assert_array_equal(label(1e12), growing.label)
    assert np.array_equal(growing.label, plain.label) == (epsilon < 1e-3)


def test_no_decay_is_the_perceptron(stream):
    same(run(stream, ShiftingPerceptron(decay=0.0)), run(stream, Perceptron()))


def test_a_budget_never_reached_is_the_perceptron(stream):
    same(run(stream, BudgetPerceptron(budget=ROUNDS)), run(stream, Perceptron()), tolerance=1e-12)


@pytest.mark.parametrize("reflect", [True, False])
@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e50])
def test_the_modified_perceptron_does_not_see_the_length_of_a_row(stream, reflect, scale):
    X, y = stream
    expected = lasec.Modified(DIMENSION, reflect=reflect).run(X, y)
    scaled = lasec.Modified(DIMENSION, reflect=reflect).run(X * scale, y)
    np.testing.assert_array_equal(scaled.label, expected.label)


def test_uniform_at_one_asks_always(stream):
    same(run(stream, Perceptron(), Uniform(rate=1.0)), run(stream, Perceptron()))


@pytest.mark.parametrize("query", [always, coin(0.1)], ids=["supervised", "selective"])
@pytest.mark.parametrize(("b", "c"), [(0.5, 108.0), (5.0, 20.0)])
def test_the_dual_form_equals_the_primal(stream, query, b, c):
    """The paper's remark on kernels, with a linear one: inner products of rows are enough."""
    X, y = stream.X[:300], stream.y[:300]
    aggressiveness = math.inf if query is always else 0.1
    learner = lasec.LASEC_SS(DIMENSION, drift=1 / c, ridge=b, aggressiveness=aggressiveness)
    coins = lasec.uniforms(learner.seed, 0, 300)[:, 0]
    ours = learner.run(X, y)
    dual = play(DualLASEC(b, c), query, X, y, coins, coins)
    np.testing.assert_array_equal(ours.updated, dual.updated)
    np.testing.assert_allclose(ours.margin, dual.margin, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.propensity, dual.propensity, rtol=1e-10, atol=1e-10)
    assert ours.updated.sum() > 30


def test_the_variance_after_an_update_is_the_one_in_the_bounds(stream):
    """x' D_k^-1 x = q / (1 + q): it appears in Theorems 2 and 4."""
    X, _ = stream
    rule = SecondOrder(drift=0.05, ridge=2.0)
    state = rule.init(DIMENSION)
    for x in X[:100]:
        q = rule.margin(state, x).variance
        rule.update(state, x, 1.0, 0.0)
        D_inverse = state.cov - 0.05 * np.eye(DIMENSION)
        assert x @ D_inverse @ x == pytest.approx(q / (1.0 + q), rel=1e-10)
