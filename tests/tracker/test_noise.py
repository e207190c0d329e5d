"""Answers that are wrong with a known probability: every form against its equations."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import lasec
from lasec.rules import Lenses, SparseTracking
from reference import lenses
from reference.mixed_tracker import MixedTracker
from reference.sparse_tracker import SparseTracker
from reference.tracker import Tracker
from reference.tracker_forms import Forms

ROWS = 500


def answered(y, classes, seed=2):
    """Answers to labels, each wrong with a probability of its own, which is given, too."""
    rng = np.random.default_rng(seed)
    noise = rng.choice([0.0, 0.1, 0.3, 0.9], len(y))
    others = np.array([rng.choice([c for c in classes if c != label]) for label in y])
    return np.where(rng.random(len(y)) < noise, others, y), noise


def conversation(tracker, X, y, noise):
    """Margins of a tracker that is told every answer with its noise."""
    margins = np.empty(len(y))
    for t, (x, label, wrong) in enumerate(zip(X, y.tolist(), noise.tolist(), strict=True)):
        decision = tracker.ask(x)
        margins[t] = decision.margin
        tracker.tell(decision.ticket, label, noise=wrong)
    return margins


def played(twin, X, y, noise, margin=None):
    """Margins of a twin that is told the same."""
    margins = np.empty(len(y))
    for t, (x, label, wrong) in enumerate(zip(X, y.tolist(), noise.tolist(), strict=True), 1):
        margins[t - 1] = twin.margin(x, t) if margin is None else margin(twin.probabilities(x, t))
        twin.see(x)
        twin.update(x, label, t, noise=wrong)
    return margins


def lead(p):
    return 2.0 * p.max() - 1.0


def switching(seed=3, d=6):
    return lasec.streams.switching(ROWS, dimension=d, every=150, seed=seed)


def test_two_classes_equal_their_equations():
    X, y = switching()
    y, noise = answered(y, (-1, 1))
    ours = conversation(lasec.Tracker(6, rate=1.0, seed=1), X, y, noise)
    np.testing.assert_allclose(ours, played(Tracker(6), X, y, noise), atol=2e-4)


def test_many_classes_equal_their_equations():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((ROWS, 4))
    y = 1 + np.argmax(X @ rng.standard_normal((4, 4)), axis=1)
    y, noise = answered(y, (1, 2, 3, 4))
    y[:4] = [1, 2, 3, 4]
    tracker = lasec.Tracker(4, rate=1.0, seed=1, classes=[1, 2, 3, 4])
    ours = conversation(tracker, X, y, noise)
    np.testing.assert_allclose(ours, played(Forms(4, 4), X, y, noise, lead), atol=2e-4)


def test_texts_equal_their_equations():
    rng = np.random.default_rng(5)
    X = rng.poisson(0.2, size=(ROWS, 40)).astype(float)
    y = np.where(X @ rng.standard_normal(40) + 0.1 > 0.0, 1, -1)
    y, noise = answered(y, (-1, 1))
    tracker = lasec.Tracker(40, rate=1.0, seed=1, rule=SparseTracking())
    rows = [csr_array(x[None]) for x in X]
    ours = conversation(tracker, rows, y, noise)
    np.testing.assert_allclose(ours, played(SparseTracker(40), X, y, noise), atol=1e-12)


def test_mixed_tables_equal_their_equations():
    rng = np.random.default_rng(6)
    X = np.hstack([rng.standard_normal((ROWS, 3)), rng.poisson(0.2, size=(ROWS, 30))])
    y = np.where(X @ rng.standard_normal(33) + 0.1 > 0.0, 1, -1)
    y, noise = answered(y, (-1, 1))
    tracker = lasec.Tracker(33, rate=1.0, seed=1, rule=SparseTracking(dense=3))
    ours = conversation(tracker, [csr_array(x[None]) for x in X], y, noise)
    np.testing.assert_allclose(ours, played(MixedTracker(33, 3), X, y, noise), atol=2e-4)


def test_lenses_equal_their_equations():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((ROWS, 3)) @ rng.standard_normal((3, 3)) + 0.5
    y, noise = answered(np.where((X[:, :2] ** 2).sum(axis=1) < 1.4, 1, -1), (-1, 1))
    small = {"features": 24, "lens_block": 6, "lens_slots": 3, "warm_up": 120, "replayed": 40}
    tracker = lasec.Tracker(3, rate=1.0, seed=5, rule=Lenses(**small))
    twin = lenses.Lensed(3, features=24, block=6, slots=3, warm_up=120, replayed=40)
    ours = conversation(tracker, X, y, noise)
    theirs = played(twin, X, y, noise, lambda p: p[1] - p[0])
    assert twin.ready
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_no_noise_is_a_label():
    X, y = switching()
    told, heard = lasec.Tracker(6, rate=1.0, seed=1), lasec.Tracker(6, rate=1.0, seed=1)
    conversation(told, X, y, np.zeros(ROWS))
    for x, label in zip(X, y.tolist(), strict=True):
        heard.tell(heard.ask(x).ticket, label)
    assert told.to_bytes() == heard.to_bytes()


def test_a_coin_says_nothing():
    tracker = lasec.Tracker(3, seed=0)
    for label in (-1, 1, 1):
        tracker.learn([1.0, 2.0, 3.0], label, noise=0.5)
    assert abs(tracker.margins(np.ones((1, 3)))[0]) < 1e-12


def test_who_is_always_wrong_teaches_the_contrary():
    X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
    tracker = lasec.Tracker(5, seed=0)
    for x, label in zip(X[:500], y[:500].tolist(), strict=True):
        tracker.learn(x, -label, noise=1.0)
    assert (tracker.predict(X[500:]) == y[500:]).mean() > 0.95


def test_lessons_keep_their_noise_when_a_class_comes():
    rule = Lenses(warm_up=50, replayed=40)
    tracker = lasec.Tracker(3, seed=0, rule=rule)
    X = np.random.default_rng(0).standard_normal((10, 3))
    for x in X:
        tracker.learn(x, 1 if x[0] > 0 else -1, noise=0.3)
    tracker.learn(X[0], "another")
    noise = 2.0 * (tracker.state.notes[:10, 0] % 1.0)
    np.testing.assert_allclose(noise, 0.3, atol=1e-9)


def test_what_cannot_be_heard_is_refused():
    rows = [0.5, -1.0]
    with pytest.raises(ValueError, match="noise: this rule takes every label for true"):
        lasec.LASEC(2).learn(rows, 1, noise=0.1)
    many = lasec.Tracker(2, aggregate="majority", annotators=3)
    with pytest.raises(ValueError, match="noise: not where a majority"):
        many.tell(many.ask(rows).ticket, 1, noise=0.1)
    for wrong in (-0.1, 1.5, float("nan"), "much"):
        tracker = lasec.Tracker(2, seed=0)
        before = tracker.to_bytes()
        with pytest.raises((ValueError, TypeError), match="noise"):
            tracker.learn(rows, 1, noise=wrong)
        assert tracker.to_bytes() == before


def test_a_session_learns_what_a_user_reports():
    X, y = lasec.streams.stationary(300, dimension=5, seed=1)
    session = lasec.Session(lasec.Tracker(5, seed=0))
    for x, label in zip(X, y.tolist(), strict=True):
        session.learn(x, label, noise=0.2)
    assert session.learner.told == 300
    assert session.meter.labels == 0
