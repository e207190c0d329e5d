"""Class weights: the decision and the query follow them, probabilities do not."""

import numpy as np
import pytest

import lasec
from doubled import in_double
from lasec.rules.tracker.costs import GIVEN, SHARES, SUMS
from reference import tracker_costs, tracker_forms

ROWS = 600


def stream(K, d=6, seed=3):
    """K linear concepts, the last one rare; labels from 1 to K, of two classes -1 and +1."""
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((ROWS, d)), rng.standard_normal((K, d))
    score = X @ W.T
    score[:, -1] -= 4.0 if K == 2 else 1.5
    y = score.argmax(axis=1) + 1
    return X, y if K > 2 else 2 * y - 3


def weighted(K, weight, **options):
    """A Tracker with class weights, and classes with the names of the stream."""
    names = (-1, 1) if K == 2 else range(1, K + 1)
    given = {"rate": 0.3, "audit": 0.5, "seed": 5} | options
    return lasec.Tracker(6, classes=names, class_weight=weight, **given)


def weights(K, kind):
    if kind == "balanced":
        return "balanced", np.ones(K)
    given = np.arange(1.0, K + 1.0) ** 2
    return dict(zip((-1, 1) if K == 2 else range(1, K + 1), given, strict=True)), given


@pytest.mark.parametrize("kind", ["balanced", "given"])
@pytest.mark.parametrize("K", [2, 4])
def test_equals_its_equations(K, kind):
    X, y = stream(K)
    weight, given = weights(K, kind)
    tracker = in_double(weighted(K, weight))
    ours = tracker.run(X, y)
    twin = tracker_costs.Costs(given, balanced=kind == "balanced")
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    model = tracker_forms.Forms(6, classes=K)
    p, label, propensity, asked = tracker_costs.play(model, twin, 0.3, X, y, coins)

    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_array_equal(ours.label, label)
    np.testing.assert_allclose(ours.propensity, propensity, rtol=1e-6)
    shown = p[:, 1] - p[:, 0] if K == 2 else 2.0 * p[np.arange(ROWS), label - 1] - 1.0
    np.testing.assert_allclose(ours.margin, shown, atol=1e-7)
    np.testing.assert_allclose(tracker.state.costs[SHARES], twin.shares, rtol=1e-6)
    plain = p.argmax(axis=1) if K > 2 else np.where(p[:, 1] >= p[:, 0], 1, -1)
    assert (label != (plain + 1 if K > 2 else plain)).mean() > 0.02  # weights decide


@pytest.mark.parametrize("kind", ["balanced", "given"])
@pytest.mark.parametrize("K", [2, 4])
def test_all_forms_agree(K, kind):
    X, y = stream(K)
    weight, _ = weights(K, kind)
    whole, parts = weighted(K, weight), weighted(K, weight)
    records = whole.run(X, y)
    for t, x in enumerate(X):
        if t == 300:
            parts = lasec.Tracker.from_bytes(parts.to_bytes())
        seen = parts.predict(x[None])[0]
        decision = parts.ask(x)
        assert (decision.label, seen) == (records.label[t], records.label[t])
        assert (decision.margin, decision.propensity) == (records.margin[t], records.propensity[t])
        if decision.asked:
            parts.tell(decision.ticket, int(y[t]))
    assert parts.to_bytes() == whole.to_bytes()
    many, row_by_row = (lasec.Tracker.from_bytes(whole.to_bytes()) for _ in range(2))
    asked = many.ask_many(X)
    one = [row_by_row.ask(x) for x in X]
    np.testing.assert_array_equal(asked.label, [decision.label for decision in one])
    np.testing.assert_array_equal(asked.propensity, [decision.propensity for decision in one])
    assert many.to_bytes() == row_by_row.to_bytes()


@pytest.mark.parametrize("K", [2, 4])
def test_probabilities_are_those_without_weights(K):
    X, y = stream(K)
    plain, tilted = weighted(K, None, rate=1.0), weighted(K, "balanced", rate=1.0)
    for tracker in (plain, tilted):
        tracker.run(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), tilted.predict_proba(X))
    rare = K if K > 2 else 1
    few, more = (tracker.predict(X) == rare for tracker in (plain, tilted))
    assert more[few].all()
    assert more.sum() > few.sum()


def test_asking_changes_no_prediction_before_a_label():
    X, y = stream(2)
    tracker = weighted(2, "balanced")
    tracker.run(X[:300], y[:300])
    seen = [tracker.rule.margin(tracker.state, x, 301) for x in X[:50]]
    shares = tracker.state.costs[SHARES].copy()
    tracker.ask_many(X[300:])
    assert tracker.state.costs[SUMS].sum() > 250
    assert [tracker.rule.margin(tracker.state, x, 301) for x in X[:50]] == seen
    np.testing.assert_array_equal(tracker.state.costs[SHARES], shares)


def test_shares_are_those_of_all_rows_not_of_the_queried():
    X, y = lasec.streams.stationary(10_000, dimension=5, seed=4)
    y = np.where(X[:, 0] > 1.64, 1, -1)
    tracker = lasec.Tracker(rate=0.05, class_weight="balanced", seed=0)
    records = tracker.run(X, y)
    assert np.mean(y[records.asked] > 0) > 2 * np.mean(y > 0)
    assert abs(tracker.state.costs[SHARES, 1] - np.mean(y > 0)) < 0.02


def test_no_row_is_invisible():
    X, y = stream(2)
    assert weighted(2, {1: 1e9}, audit=None).run(X, y).propensity.min() > 0.01


def test_weights_belong_to_labels():
    X, y = stream(2)
    names = np.where(y > 0, "fraud", "fine")
    one = lasec.Tracker(rate=0.3, class_weight={"fraud": 20.0}, seed=5)
    other = lasec.Tracker(rate=0.3, class_weight={1: 20.0}, classes=(-1, 1), seed=5)
    assert one.classes[0] == "fraud"  # the first class that is known
    found, same = one.run(X, names), other.run(X, y)
    assert (found.label == "fraud").mean() == pytest.approx(np.mean(same.label > 0), abs=0.05)
    bits = lasec.Tracker(rate=0.3, class_weight={1: 20.0}, seed=5)
    again = bits.run(X, (y > 0) * 1)
    assert bits.classes == (1, 0)
    np.testing.assert_array_equal(again.asked, found.asked)
    np.testing.assert_array_equal(again.label == 1, found.label == "fraud")
    signs = lasec.Tracker(class_weight={1: 20.0, -1: 2.0})
    signs.ask([1.0, 2.0])
    assert signs.classes == (-1, 1)
    assert signs.state.costs[GIVEN].tolist() == [2.0, 20.0]


def test_a_class_that_comes_later_has_weight_1():
    X, y = stream(4)
    tracker = lasec.Tracker(rate=0.5, class_weight={1: 2.0, 2: 3.0}, seed=5)
    tracker.run(X, y)
    assert tracker.classes == (1, 2, 3, 4)
    assert tracker.state.costs[GIVEN].tolist() == [2.0, 3.0, 1.0, 1.0]
    again = lasec.Tracker.from_bytes(tracker.to_bytes())
    np.testing.assert_array_equal(again.state.costs, tracker.state.costs)


def test_other_features_keep_the_weights():
    rule = lasec.rules.Tracking(weighted=True, balanced=True)
    state = rule.init(3)
    state.costs[:] = [[1.0, 5.0], [0.9, 0.1], [2.0, 1.0]]
    np.testing.assert_array_equal(rule.widened(state, 5, known=3).costs, state.costs)


@pytest.mark.parametrize("row", [GIVEN, SHARES, SUMS])
def test_impossible_numbers_are_found(row):
    state = lasec.rules.Tracking(weighted=True, balanced=True).init(3)
    state.costs[row, 0] = -0.5
    assert state.validate() == "the class weights or shares are impossible"


@pytest.mark.parametrize("wrong", ["even", {}, 3, {1: 0.0}, {1: -2.0}, {1: np.nan}])
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(ValueError, match="class_weight"):
        lasec.Tracker(class_weight=wrong)


def test_the_weight_of_a_class_that_there_is_not_is_refused():
    wrong = "class_weight: 'fruad' is not one of the classes"
    with pytest.raises(ValueError, match=wrong):
        lasec.Tracker(class_weight={"fruad": 20.0}, classes=["fine", "fraud"])
    with pytest.raises(ValueError, match=wrong):
        lasec.registry.make("tracker", 3, class_weight={"fruad": 2.0}, classes=["fine", "fraud"])
    tracker = lasec.Tracker(3, class_weight={"fraud": 20.0}, seed=0)
    with pytest.raises(ValueError, match=wrong):
        tracker.weigh_classes({"fruad": 5.0})
    assert tracker.known_classes == ("fraud",)
    tracker.name_classes(["fraud", "fine"])
    tracker.weigh_classes({"fine": 5.0})
    assert tracker.state.costs[GIVEN].tolist() == [20.0, 5.0]
    signs = lasec.Tracker(3, class_weight={-1: 2.0}, seed=0)
    signs.weigh_classes({1: 3.0})
    assert signs.state.costs[GIVEN].tolist() == [2.0, 3.0]


def test_shares_need_weights():
    with pytest.raises(ValueError, match="weighted=True"):
        lasec.rules.Tracking(balanced=True)
