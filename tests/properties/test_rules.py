"""What must hold for every rule and query, whatever the rows and labels are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lasec
from catalogue import GAUSSIAN, PAIRS, QUERIES, RULES, build
from lasec.nested import leaves
from lasec.queries import MarginSampling, Uniform
from lasec.rules import Tracking
from lasec.types import Margin

DIMENSION = 4
numbers = st.floats(-100, 100, allow_subnormal=False)
labels = st.sampled_from([-1, 1])


@st.composite
def streams(draw, least=1, most=40):
    n = draw(st.integers(least, most))
    X = draw(arrays(np.float64, (n, DIMENSION), elements=numbers))
    return X, np.array(draw(st.lists(labels, min_size=n, max_size=n)))


@pytest.mark.parametrize("rule", GAUSSIAN, ids=repr)
@given(stream=streams(), seed=st.integers(0, 2**64 - 1))
def test_the_covariance_stays_symmetric_and_positive(rule, stream, seed):
    learner = build(rule, DIMENSION, learn_from="labels", seed=seed)
    records = learner.run(*stream)
    assert learner.state.validate() == ""
    assert (records.variance >= 0.0).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(stream=streams())
def test_flipped_labels_flip_the_margins(rule, stream):
    """Only the tie at zero is not symmetric, so every label is used here, not mistakes alone."""
    X, y = stream
    one, other = (build(rule, DIMENSION, learn_from="labels") for _ in range(2))
    np.testing.assert_array_equal(one.run(X, y).margin, -other.run(X, -y).margin)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(stream=streams(), order=st.permutations(range(DIMENSION)))
def test_permuted_features_change_nothing(rule, stream, order):
    """The weights move with their features; sums change their order, hence the tolerance."""
    X, y = stream
    one, other = (build(rule, DIMENSION, learn_from="labels") for _ in range(2))
    ours, theirs = one.run(X, y), other.run(X[:, order], y)
    scale = max(1.0, np.abs(ours.margin).max(), np.abs(ours.variance).max())
    near = 1e-3 if isinstance(rule, Tracking) else 1e-7  # single precision
    np.testing.assert_allclose(ours.margin, theirs.margin, rtol=near, atol=1e-2 * near * scale)
    np.testing.assert_allclose(ours.variance, theirs.variance, rtol=near, atol=1e-2 * near * scale)


@pytest.mark.parametrize(("rule", "query"), [p for p in PAIRS if p[0] not in GAUSSIAN], ids=repr)
@given(stream=streams(least=2), data=st.data())
def test_run_in_two_parts_is_one_run(rule, query, stream, data):
    X, y = stream
    k = data.draw(st.integers(0, len(X)))
    whole, parts = (build(rule, DIMENSION, query) for _ in range(2))
    expected = whole.run(X, y)
    joined = lasec.Records.join([parts.run(X[:k], y[:k]), parts.run(X[k:], y[k:])])
    np.testing.assert_array_equal(expected.asked, joined.asked)
    np.testing.assert_array_equal(expected.margin, joined.margin)
    assert whole.to_bytes() == parts.to_bytes()


@pytest.mark.parametrize(("rule", "query"), [p for p in PAIRS if p[0] in GAUSSIAN], ids=repr)
@given(n=st.integers(2, 300), cut=st.floats(0.0, 1.0), seed=st.integers(0, 2**32 - 1))
def test_blocks_in_two_parts_are_one_run(rule, query, n, cut, seed):
    """Up to rounding, on rows where no margin is zero by their very structure."""
    rng = np.random.default_rng(seed)
    X, y, k = rng.standard_normal((n, DIMENSION)), rng.choice([-1, 1], n), int(cut * n)
    whole, parts = (build(rule, DIMENSION, query) for _ in range(2))
    expected = whole.run(X, y)
    joined = lasec.Records.join([parts.run(X[:k], y[:k]), parts.run(X[k:], y[k:])])
    np.testing.assert_array_equal(expected.asked, joined.asked)
    np.testing.assert_allclose(expected.margin, joined.margin, rtol=1e-9, atol=1e-11)
    for ours, theirs in zip(leaves(whole.state), leaves(parts.state), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@given(stream=streams(), ridge=st.floats(1e-2, 1e2))
def test_vanishing_drift_is_the_second_order_perceptron(stream, ridge):
    """Margins tend to SOP's, at every ridge and not only at 1."""
    X, y = stream
    without = build(lasec.rules.SecondOrder(0.0, ridge), DIMENSION, learn_from="labels").run(X, y)
    nearly = build(lasec.rules.SecondOrder(1e-18, ridge), DIMENSION, learn_from="labels").run(X, y)
    np.testing.assert_allclose(nearly.margin, without.margin, rtol=1e-6, atol=1e-6)


@given(
    aggressiveness=st.floats(1e-6, 1e6),
    margins=st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=2),
    t=st.integers(1, 10**9),
)
def test_the_margin_coin_falls_with_the_margin(aggressiveness, margins, t):
    coin = MarginSampling(aggressiveness)
    near, far = sorted(map(abs, margins))
    p_near, p_far = (coin.probability(Margin(m, 0.0, m), t) for m in (near, -far))
    assert 0.0 < p_far <= p_near <= 1.0
    assert p_near == pytest.approx(aggressiveness / (aggressiveness + near))


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@given(margin=st.floats(-1e12, 1e12), variance=st.floats(0.0, 1e12), t=st.integers(1, 10**9))
def test_a_propensity_is_positive_or_the_query_says_that_it_may_not_be(query, margin, variance, t):
    p = query.probability(Margin(margin * (1.0 + variance), variance, margin), t)
    assert 0.0 <= p <= 1.0
    if query.has_propensity:
        assert p > 0.0
    else:
        assert p in (0.0, 1.0)


@given(rate=st.floats(0.01, 1.0), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=20)
def test_the_share_asked_is_the_probability(rate, seed):
    """5,000 coins: within five standard deviations of what was promised."""
    X, y = np.ones((5_000, 1)), np.ones(5_000)
    learner = lasec.Learner(lasec.rules.Perceptron(), Uniform(rate), dimension=1, seed=seed)
    asked = learner.run(X, y).labels
    assert abs(asked - 5_000 * rate) <= 5 * np.sqrt(5_000 * rate * (1 - rate)) + 1e-6
