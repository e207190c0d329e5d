"""The Tracker in the middle of a stream: one more class, more features."""

import math

import numpy as np
import pytest

import lasec
from lasec import triangle
from lasec.nested import leaves, named
from lasec.rules import Tracking
from lasec.rules.tracker.hypotheses import prior_of

ROWS = 400


def labels_of(rule, y):
    """Labels as the rule takes them: signs, or numbers of classes."""
    return y if rule.classes > 2 else np.where(y > 1, 1, -1)


def trained(rule, d, rows=ROWS, seed=1, known=None):
    """The state after some labels, and rows of the same kind; features from ``known`` on are 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows + 50, d)) + 0.2
    X[:, d if known is None else known :] = 0.0
    W = rng.standard_normal((max(2, rule.classes), d))
    y = (X @ W.T).argmax(axis=1) + 1
    names = list(range(1, rule.classes + 1)) if rule.classes > 2 else [-1, 1]
    tracker = lasec.Tracker(d, rate=1.0, seed=2, rule=rule, classes=names)
    tracker.run(X[:rows], labels_of(rule, y)[:rows])
    state = tracker.state
    if rule.is_due(state):
        rule.renewed(state)
    return state, X[rows:], labels_of(rule, y)[rows:]


def probabilities(rule, state, X, t=ROWS + 1):
    """The probability of each class for each row."""
    if rule.classes == 2:
        margin = np.array([rule.margin(state, x, t).raw for x in X])
        return np.column_stack([1.0 - margin, 1.0 + margin]) / 2.0
    out = np.empty((len(X), rule.classes))
    for x, p in zip(X, out, strict=True):
        rule.probabilities(state, x, t, p)
    return out


FORMS = {"full": (6, -1), "wide": (12, 4), "diagonal": (6, 0)}


@pytest.mark.parametrize(("d", "block"), FORMS.values(), ids=FORMS)
def test_a_third_class_is_the_same_but_for_the_link(d, block):
    """The logistic and Phi differ by 0.0177 at most, whatever the margin.

    The last label has two places then. They are independent of each other, so that the variance
    of a row is not quite what it was; that costs less than 0.001 here.
    """
    z = np.linspace(-8.0, 8.0, 1_001)
    phi = np.array([0.5 * math.erfc(-a / math.sqrt(2.0)) for a in z])
    logistic = 1.0 / (1.0 + np.exp(-4.0 / math.sqrt(2.0 * math.pi) * z))
    link = np.abs(phi - logistic).max()
    assert 0.01 < link < 0.02

    rule = Tracking(block=block)
    state, X, _ = trained(rule, d)
    before = [array.copy() for array in leaves(state)]
    larger, after = rule.with_more_classes(state, d)
    assert larger == Tracking(block=block, classes=3)
    two, three = probabilities(rule, state, X), probabilities(larger, after, X)
    assert (three[:, 2] == 0.0).all()
    np.testing.assert_allclose(three.sum(axis=1), 1.0)
    np.testing.assert_allclose(three[:, :2], two, atol=link + 0.001)
    assert np.abs(three[:, :2] - two).max() > 1e-3
    assert after.validate() == ""
    for array, copy in zip(leaves(state), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(("d", "block"), FORMS.values(), ids=FORMS)
def test_a_third_class_keeps_means_and_variances(d, block):
    """(m_2 - m_1) / sqrt(2) is the m of two classes; so is v, but for what the last label adds."""
    from lasec.rules.tracker.dense import quadratic, scores, sight

    rule = Tracking(block=block)
    state, X, _ = trained(rule, d)
    far = ROWS + 100_000  # the last label is too long ago to count
    after = rule.with_more_classes(state, d)[1]
    for x in X:
        for t in (ROWS + 1, far):
            at, then = (
                sight(state.core, state.classes, x, t),
                sight(after.core, after.classes, x, t),
            )
            for i in np.flatnonzero(state.core.mixture.weight > 0.0):
                m, p = state.core.dense.weights[i, 0] @ at.u, np.zeros(3)
                scores(after.core.dense, i, then, 1.0, p)
                close = {"rtol": 1e-9, "atol": 1e-9} if block < 0 else {"rtol": 1e-5, "atol": 1e-5}
                np.testing.assert_allclose((p[1] - p[0]) / math.sqrt(2.0), m, **close)
                assert p[2] == 0.0
                v, w = quadratic(state.core.dense, i, at), quadratic(after.core.dense, i, then)
                np.testing.assert_allclose(w, v, rtol=1e-5 if t == far else 0.15)


@pytest.mark.parametrize("K", [3, 4, 6])
@pytest.mark.parametrize(("d", "block"), FORMS.values(), ids=FORMS)
def test_a_further_class_changes_nothing(d, block, K):
    rule = Tracking(block=block, classes=K)
    state, X, y = trained(rule, d)
    larger, after = rule.with_more_classes(state, d)
    assert larger.classes == K + 1
    assert after.validate() == ""
    before, then = probabilities(rule, state, X), probabilities(larger, after, X)
    # Products with covariances are rounded to single precision, in the order of their strips.
    np.testing.assert_allclose(then[:, :K], before, rtol=0.0, atol=1e-6)
    assert (then[:, K] == 0.0).all()
    n = after.core.dense.weights.shape[2] - after.core.dense.spread.shape[1]
    k = (block if block >= 0 else d) + 1 + K
    np.testing.assert_array_equal(
        after.core.dense.weights[:, :K, :k], state.core.dense.weights[:, :, :k]
    )
    np.testing.assert_array_equal(after.core.dense.weights[:, K], 0.0)
    for i, (one, other) in enumerate(
        zip(state.core.dense.covs, after.core.dense.covs, strict=True)
    ):
        P = triangle.whole(other, n)
        np.testing.assert_array_equal(P[:k, :k], triangle.whole(one, k))
        np.testing.assert_array_equal(P[k, : k + 1], np.eye(k + 1)[k] * prior_of(rule, i))
    # And nothing of what labels of the others teach.
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=ROWS + 1):
        for one, now in ((rule, state), (larger, after)):
            one.note(now, x)
            one.update(now, x, float(label), 0.0, t)
    t = ROWS + len(y) + 1
    before, then = probabilities(rule, state, X, t), probabilities(larger, after, X, t)
    np.testing.assert_allclose(then[:, :K], before, rtol=0.0, atol=1e-5)
    larger.update(after, X[0], K + 1.0, 0.0, t)
    assert (probabilities(larger, after, X, t + 1)[:, K] > 0.0).all()


GROWN = {
    "full": (6, 9, -1),
    "wide": (12, 17, 4),
    "diagonal": (6, 9, 0),
    "full to wide, all in the block": (6, 14, 8),
    "full to wide, as many as the block": (8, 14, 8),
}


def padded(X, dimension):
    """Rows with further features that are 0."""
    return np.hstack([X, np.zeros((len(X), dimension - X.shape[1]))])


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("d", "larger", "block"), GROWN.values(), ids=GROWN)
def test_more_features_say_the_same_about_known_rows(d, larger, block, K):
    """Covariances are rounded to single precision once more; a margin moves by 1e-6 or so."""
    rule = Tracking(block=block, classes=K)
    state, X, _ = trained(rule, d)
    grown = rule.widened(state, larger, known=d)
    assert {name: part.shape for name, part in named(grown).items()} == rule.shapes(larger)
    assert grown.validate() == ""
    t = state.core.mixture.clock[0]  # no drift since the last label: it is that of the new number
    X = X[
        (np.abs((X - state.core.means) * state.core.units[:d]) ** 2).mean(axis=1) < 3.0
    ]  # not shortened
    assert len(X) > 30
    before, after = (
        probabilities(rule, state, X, t),
        probabilities(rule, grown, padded(X, larger), t),
    )
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert np.ptp(before[:, 0]) > 0.5


@pytest.mark.parametrize("K", [2, 3])
def test_rows_that_become_wider_than_the_block_keep_their_weights(K):
    """Means are exact; of the covariance, the later features keep their variances alone."""
    from lasec.rules.tracker.dense import scores, sight

    rule, d, larger = Tracking(block=8, classes=K), 8, 14
    state, X, _ = trained(rule, d)
    grown = rule.widened(state, larger, known=d)
    few = Tracking(block=5, classes=K)
    narrow = few.widened(state, larger, known=d)
    assert narrow.core.basis.shape == (5, larger)
    t = state.core.mixture.clock[0]
    X = X[(np.abs((X - state.core.means) * state.core.units[:d]) ** 2).mean(axis=1) < 3.0]
    for x, wide in zip(X, padded(X, larger), strict=True):
        for i in np.flatnonzero(state.core.mixture.weight > 0.0):
            p, q, r = (np.zeros(len(state.core.dense.weights[i])) for _ in range(3))
            for one, row, out in ((state, x, p), (grown, wide, q), (narrow, wide, r)):
                scores(one.core.dense, i, sight(one.core, one.classes, row, t), 1.0, out)
            np.testing.assert_allclose(q, p, rtol=1e-6, atol=1e-4)
            np.testing.assert_allclose(r, p, rtol=1e-6, atol=1e-4)
    # Narrower than it was, what is left of the covariance is a covariance still.
    assert narrow.validate() == ""
    before, after = (
        probabilities(rule, state, X, t),
        probabilities(few, narrow, padded(X, larger), t),
    )
    sure = np.sort(before)[:, -1] > 0.7
    assert (before.argmax(axis=1) == after.argmax(axis=1))[sure].all()
    assert sure.sum() > 15


def test_fewer_features_may_be_known_than_there_are():
    """Spare features, which no row has used, are not carried over."""
    rule = Tracking()
    state, X, _ = trained(rule, 8, known=5)
    grown = rule.widened(state, 12, known=5)
    t = state.core.mixture.clock[0]
    X = X[(np.abs((X - state.core.means) * state.core.units[:8]) ** 2).mean(axis=1) < 3.0]
    before, after = probabilities(rule, state, X, t), probabilities(rule, grown, padded(X, 12), t)
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_a_state_with_more_features_is_one_of_its_own():
    rule = Tracking()
    state, X, y = trained(rule, 6)
    before = [array.copy() for array in leaves(state)]
    grown = rule.widened(state, 9, known=6)
    rule.update(grown, padded(X, 9)[0], float(y[0]), 0.0, ROWS + 1)
    for array, copy in zip(leaves(state), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_state_with_more_features_goes_on_learning():
    for block in (-1, 4):
        rule = Tracking(block=block)
        state, X, y = trained(rule, 12)
        grown = rule.widened(state, 15, known=12)
        rng = np.random.default_rng(0)
        X, y = np.tile(padded(X, 15), (8, 1)), np.tile(y, 8)
        X[:, 12:] = rng.standard_normal((len(X), 3))
        X[:, 14] = 3.0 * y
        for t, (x, label) in enumerate(zip(X, y, strict=True), start=ROWS + 1):
            rule.note(grown, x)
            rule.update(grown, x, float(label), 0.0, t)
            if rule.is_due(grown):
                rule.renewed(grown)
        assert grown.validate() == ""
        p = probabilities(rule, grown, X, ROWS + len(y) + 1)
        assert ((p[:, 1] > 0.5) == (y > 0)).mean() > 0.97
