"""The Tracker in a soak test, under bad rows, with late labels, and through its own door."""

import copy
import os

import numpy as np
import pytest

import lasec
from lasec import triangle
from lasec.rules import Tracking


def sound(tracker):
    """Positive definite, normalised, finite, and never far beyond the prior."""
    state = tracker.state
    assert state.validate() == ""
    assert np.isfinite(state.core.dense.weights).all()
    width = state.core.dense.weights.shape[2] - state.core.dense.spread.shape[1]
    for i in np.flatnonzero(state.core.mixture.weight):
        values = np.linalg.eigvalsh(triangle.whole(state.core.dense.covs[i], width))
        assert values[0] > 0.0
        assert values[-1] <= 1.3 * tracker.rule.prior
        assert (state.core.dense.spread[i] > 0.0).all()
        assert (state.core.dense.spread[i] <= 1.2 * tracker.rule.prior).all()


def drifting(count, classes, seed):
    """Rows of ten features, one label in twenty wrong, other targets every 7,000 rows."""
    if classes == 2:
        return lasec.streams.switching(count, dimension=10, every=7_000, noise=0.05, seed=seed)
    rng = np.random.default_rng(seed)
    X, targets = rng.standard_normal((count, 10)), rng.standard_normal((3, 10, classes))
    y = np.array([int((x @ targets[t // 7_000]).argmax()) for t, x in enumerate(X)])
    wrong = rng.random(count) < 0.05
    y[wrong] = rng.integers(classes, size=wrong.sum())
    return X, y


FORMS = {
    "full": (Tracking(), 2, 0.92),
    "wide": (Tracking(block=4), 2, 0.91),
    "small": (Tracking(block=0, slots=5), 2, 0.91),
    "classes": (Tracking(), 5, 0.86),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_soak(form, record_property):
    """Labels by the ten thousand; LASEC_ROUNDS=1000000 for the full length."""
    rule, classes, least = FORMS[form]
    parts = max(2, int(os.environ.get("LASEC_ROUNDS", "40000")) // 20_000)
    query = lasec.queries.Budgeted(rate=1.0)
    tracker = lasec.Learner(rule, query, dimension=10, learn_from="labels", seed=1)
    found = []
    for seed in range(parts):
        records = tracker.run(*drifting(20_000, classes, seed))
        assert np.isfinite(records.margin).all()
        found.append(records.accuracy)
        sound(tracker)
    first, last = means(found)
    record_property("accuracy in the first and the last fifth", (first, last))
    assert min(first, last) > least
    assert last > first - 0.01
    assert tracker.told == 20_000 * parts


def means(found):
    """The mean of the first and of the last fifth."""
    fifth = max(1, len(found) // 5)
    return round(float(np.mean(found[:fifth])), 4), round(float(np.mean(found[-fifth:])), 4)


def test_a_long_quiet_life_does_not_freeze():
    """After 30,000 rows of one concept, a new one is found within a few hundred labels."""
    X, y = lasec.streams.stationary(30_000, dimension=5, seed=1)
    tracker = lasec.Tracker(rate=1.0)
    tracker.run(X, y)
    records = tracker.run(X[:1_000], -y[:1_000])
    assert (~records.mistake[500:]).mean() > 0.95
    assert tracker.drift_estimate.since >= 30_000 - 5
    sound(tracker)


BAD = {
    "huge": lambda X, rng: X * 1e30,
    "tiny": lambda X, rng: X * 1e-30,
    "constant": lambda X, rng: np.ones_like(X),
    "repeated": lambda X, rng: np.repeat(X[:1], len(X), axis=0),
    "zero": lambda X, rng: np.zeros_like(X),
    "one": lambda X, rng: np.eye(X.shape[1])[rng.integers(X.shape[1], size=len(X))] * 1e9,
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_one_bad_row_in_ten_does_not_break_it(kind, rate):
    """Bad rows have random labels; what is lost on the good rows is little."""
    rng = np.random.default_rng(5)
    X, y = lasec.streams.stationary(6_000, dimension=10, seed=3)
    bad = rng.random(len(y)) < 0.1
    spoiled, labels = X.copy(), y.copy()
    spoiled[bad] = BAD[kind](X[bad], rng)
    labels[bad] = rng.choice([-1, 1], size=bad.sum())
    tracker = lasec.Tracker(rate=rate, seed=2)
    records = tracker.run(spoiled, labels)
    assert np.isfinite(records.margin).all()
    least = 0.8 if kind == "repeated" else 0.9  # it goes on asking about that row
    assert (~records.mistake[~bad])[2_000:].mean() > least
    sound(tracker)


def test_scale_does_not_matter():
    """Other units for each column: the same decisions."""
    X, y = lasec.streams.switching(2_000, dimension=6, every=500, seed=4)
    plain = lasec.Tracker(rate=0.3, seed=1).run(X, y)
    scaled = lasec.Tracker(rate=0.3, seed=1).run(X * 2.0 ** np.array([-30, -9, 0, 3, 15, 40]), y)
    np.testing.assert_array_equal(plain.asked, scaled.asked)
    np.testing.assert_allclose(plain.margin, scaled.margin, rtol=1e-9, atol=1e-12)


def test_flipped_labels_flip_the_margins():
    X, y = lasec.streams.switching(1_000, dimension=6, every=300, seed=4)
    margins = [lasec.Tracker(rate=1.0).run(X, sign * y).margin for sign in (1, -1)]
    # The intercept and the last label have no sign of their own: the model is symmetric.
    np.testing.assert_allclose(margins[0], -margins[1], rtol=1e-8, atol=1e-12)


def test_late_labels_are_learned_and_out_of_order():
    X, y = lasec.streams.stationary(3_000, dimension=5, seed=6)
    tracker = lasec.Tracker(rate=0.3, seed=3)
    waiting, right = [], []
    rng = np.random.default_rng(0)
    for t, x in enumerate(X):
        decision = tracker.ask(x)
        right.append(decision.label == y[t])
        if decision.asked:
            waiting.append(decision.ticket)
        if len(waiting) > 50:
            ticket = waiting.pop(int(rng.integers(50)))
            tracker.tell(ticket, int(y[ticket]))
    assert np.mean(right[1_000:]) > 0.9
    assert len(tracker.pending) == len(waiting) == 50
    sound(tracker)


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("stream", ["switching", "stationary", "walking"])
def test_the_rate_is_held(rate, stream):
    X, y = getattr(lasec.streams, stream)(10_000, dimension=20, seed=8)
    tracker = lasec.Tracker(rate=rate, seed=8)
    records = tracker.run(X, y)
    assert records.rate == pytest.approx(rate, rel=0.05)
    assert records.propensity.min() >= 0.1 * rate * (1.0 - 1e-12)
    assert records.propensity.max() <= 1.0


def test_a_row_for_free_costs_nothing_of_the_budget():
    tracker = lasec.Tracker(dimension=2, rate=0.1)
    before = tracker.selector.query_state.copy()
    tracker.learn([1.0, 2.0], 1)
    np.testing.assert_array_equal(tracker.selector.query_state, before)
    assert (tracker.asked, tracker.told, tracker.rows) == (0, 1, 1)
    assert tracker.predict_proba([[1.0, 2.0]])[0, 1] > 0.5


def test_the_dimension_is_that_of_the_first_row():
    for first in (
        lambda tracker: tracker.ask([1.0, 2.0, 3.0]),
        lambda tracker: tracker.learn([1.0, 2.0, 3.0], 1),
        lambda tracker: tracker.run([[1.0, 2.0, 3.0]], [1]),
        lambda tracker: tracker.predict_proba([[1.0, 2.0, 3.0]]),
    ):
        tracker = lasec.Tracker(rate=0.5)
        first(tracker)
        assert tracker.dimension == 3
        with pytest.raises(ValueError, match="expected 3 features, got 2"):
            tracker.ask([1.0, 2.0])
    with pytest.raises(ValueError, match="seen no row yet"):
        lasec.Tracker().to_bytes()
    with pytest.raises(ValueError, match="at least one feature"):
        lasec.Tracker().ask([])


def test_a_saved_tracker_goes_on(tmp_path):
    X, y = lasec.streams.switching(600, dimension=4, every=150, seed=2)
    tracker = lasec.Tracker(rate=0.3, seed=5)
    tracker.run(X[:300], y[:300])
    tracker.save(tmp_path / "t.lasec")
    loaded, copied = lasec.Tracker.load(tmp_path / "t.lasec"), copy.deepcopy(tracker)
    assert loaded.drift_estimate == tracker.drift_estimate
    assert loaded.rate == 0.3
    for other in (loaded, copied):
        other.run(X[300:], y[300:])
    tracker.run(X[300:], y[300:])
    assert loaded.to_bytes() == copied.to_bytes() == tracker.to_bytes()
    bare = lasec.Learner.load(tmp_path / "t.lasec")
    np.testing.assert_array_equal(
        bare.run(X, y).margin, lasec.Tracker.load(tmp_path / "t.lasec").run(X, y).margin
    )


def test_units_that_do_not_follow_from_the_rest_are_refused():
    X, y = lasec.streams.switching(300, dimension=4, seed=2)
    tracker = lasec.Tracker(4, rate=1.0, seed=2)
    tracker.run(X, y)
    tracker.state.core.units[0] *= 1.01
    assert "units" in tracker.state.validate()
    with pytest.raises(lasec.StateError, match="units"):
        tracker.to_bytes()


@pytest.mark.parametrize("size", [1e-60, 1e-160, 1e-161, 3e-162])
def test_units_of_tiny_features_are_finite(size):
    rule, rng = Tracking(), np.random.default_rng(1)
    state = rule.init(2)
    for t in range(1, 30):
        rule.update(state, size * rng.standard_normal(2), 1.0, 0.0, t)
        assert np.isfinite(state.core.units).all()
    assert state.validate() == ""


def test_another_learner_is_no_tracker():
    with pytest.raises(lasec.StateError, match="no Tracker"):
        lasec.Tracker.from_bytes(lasec.SOP(dimension=2).to_bytes())


def test_probabilities_are_those_of_the_next_round():
    X, y = lasec.streams.switching(500, dimension=4, every=150, seed=2)
    tracker = lasec.Tracker(rate=0.3, seed=5)
    tracker.run(X, y)
    before = tracker.to_bytes()
    proba = tracker.predict_proba(X[:10])
    assert tracker.to_bytes() == before
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert tracker.ask(X[0]).margin == pytest.approx(proba[0, 1] - proba[0, 0])


def test_probabilities_are_kept():
    """Of the rows that are given 0.7 to 0.8, about that share is positive; under switches too."""
    said, came = [], []
    for seed in range(6):
        X, y = lasec.streams.switching(5_000, dimension=10, every=500, noise=0.1, seed=seed)
        margin = lasec.Tracker(rate=0.5, seed=seed).run(X, y).margin
        said.append((1.0 + margin) / 2.0)
        came.append(y > 0)
    said, came = np.concatenate(said), np.concatenate(came)
    for low in np.arange(0.0, 1.0, 0.1):
        rows = (said >= low) & (said < low + 0.1)
        assert abs(said[rows].mean() - came[rows].mean()) < 0.06, low


def test_beliefs_are_right_where_the_truth_is_known():
    noisy = lasec.Tracker(rate=1.0)
    noisy.run(*lasec.streams.stationary(5_000, dimension=10, noise=0.2, seed=1))
    assert noisy.drift_estimate.noise == pytest.approx(0.2, abs=0.03)
    assert noisy.drift_estimate.since == 0
    assert noisy.drift_estimate.drift < 0.0005
    walker = lasec.Tracker(rate=1.0)
    walker.run(*lasec.streams.walking(5_000, dimension=10, speed=0.05, seed=1))
    assert 0.0005 < walker.drift_estimate.drift < 0.01
    switched = lasec.Tracker(rate=1.0)
    switched.run(*lasec.streams.switching(3_500, dimension=10, every=1_000, seed=1))
    assert abs(switched.drift_estimate.since - 3_000) < 30
    assert switched.drift_estimate.age == pytest.approx(500, abs=50)
    for tracker in (noisy, walker, switched):
        for share in tracker.posterior.values():
            assert share.sum() == pytest.approx(1.0)


def test_one_slot_never_suspects_a_change():
    X, y = lasec.streams.switching(1_000, dimension=4, every=250, seed=2)
    tracker = lasec.Tracker(rate=1.0, rule=Tracking(slots=1))
    tracker.run(X, y)
    assert tracker.drift_estimate.since == 0
    assert tracker.state.born.tolist() == [0]
