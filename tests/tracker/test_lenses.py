"""The Tracker with lenses: its equations, that it never looks ahead, and that it goes on."""

import numpy as np
import pytest

import lasec
from lasec.nested import named
from lasec.rules import Lenses, Tracking
from lasec.rules.tracker.lens_maps import (
    LENSES,
    _all_standardized,
    lens_row,
    lens_rows,
    standardized,
)
from lasec.rules.tracker.lensed import LEFT, LOW, NEXT, RUNNING, weigh
from reference import lenses as reference

ROWS = 900
# Maps, cores and covariances are kept in single precision, and the twin is in double.
SINGLE = 2e-3
SMALL = {"features": 24, "lens_block": 6, "lens_slots": 3, "warm_up": 120, "replayed": 40}


def curved(rows=ROWS, d=4, seed=3):
    """A ring in correlated columns with offsets, that moves in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d))
    center = np.where(np.arange(rows) < rows // 2, 0.0, 0.7)
    y = np.where(((X[:, :2] - center[:, None]) ** 2).sum(axis=1) < 1.4, 1, -1)
    return X @ rng.standard_normal((d, d)) + 0.5, y


def lensed(rate=0.3, seed=5, rule=SMALL, d=4, **options):
    return lasec.Tracker(d, rate=rate, seed=seed, rule=Lenses(**rule), **options)


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_equals_its_equations(rate):
    X, y = curved()
    tracker = lensed(rate)
    ours = tracker.run(X, y)
    twin = reference.Lensed(4, features=24, block=6, slots=3, warm_up=120, replayed=40)
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    p, propensity, asked = reference.play(twin, rate, X, y, coins)

    assert twin.ready
    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_allclose(ours.margin, p[:, 1] - p[:, 0], atol=SINGLE)
    np.testing.assert_allclose(ours.propensity, propensity, atol=10.0 * SINGLE)
    state = tracker.state
    np.testing.assert_allclose(state.omega, twin.omega, atol=SINGLE)
    np.testing.assert_allclose(
        state.maps.directions, [twin.maps.gauss, twin.maps.laplace], rtol=1e-4
    )
    np.testing.assert_allclose(state.maps.cuts, twin.maps.cuts, atol=1e-5)
    for e, core in enumerate(twin.cores):
        theirs = core.pi.sum(axis=(0, 1)).ravel()
        np.testing.assert_allclose(state.cores.mixture.weight[e], theirs, atol=SINGLE)
    raw = lasec.Tracker(4, rate=rate, seed=5).run(X, y)
    assert np.abs(raw.margin - ours.margin).max() > 0.5  # the lenses are in it


def test_many_classes_equal_their_equations():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    y = 1 + (np.abs(X[:, 0]) > 0.7).astype(int) + (np.abs(X[:, 1]) > 1.2)
    tracker = lensed(0.4, d=3, classes=[1, 2, 3])
    ours = tracker.run(X, y)
    options = {"features": 24, "block": 6, "slots": 3, "warm_up": 120, "replayed": 40}
    twin = reference.Lensed(3, classes=3, **options)
    coins = lasec.uniforms(5, 0, 600)[:, 0]
    p, _, asked = reference.play(twin, 0.4, X, y, coins)
    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_allclose(ours.margin, 2.0 * p.max(axis=1) - 1.0, atol=SINGLE)
    said = np.array([twin.probabilities(x, 601) for x in X[:50]])
    np.testing.assert_allclose(tracker.predict_proba(X[:50]), said, atol=SINGLE)
    assert lasec.Tracker.from_bytes(tracker.to_bytes()).to_bytes() == tracker.to_bytes()


@pytest.mark.parametrize("at", [60, 119, 125, 400])
def test_no_prediction_depends_on_later_rows(at):
    """Before the maps are made, while they are, and after."""
    X, y = curved()
    rng = np.random.default_rng(9)
    other, labels = X.copy(), y.copy()
    other[at:] = 100.0 * rng.standard_normal(other[at:].shape)
    labels[at:] = rng.choice([-1, 1], len(y) - at)
    ours, theirs = lensed().run(X, y), lensed().run(other, labels)
    np.testing.assert_array_equal(ours.margin[:at], theirs.margin[:at])
    np.testing.assert_array_equal(ours.propensity[:at], theirs.propensity[:at])
    assert (ours.margin[at + 1 :] != theirs.margin[at + 1 :]).any()


def test_rows_of_a_lens_are_the_same_one_by_one():
    """The maps are made of all first rows at once, and used row by row."""
    X, y = curved()
    X[:, 3] = 0.0
    tracker = lensed()
    tracker.run(X, y)
    state = tracker.state
    Z = np.array([standardized(state.raw.core.means, state.raw.core.units, x) for x in X[:50]])
    for e in range(LENSES):
        one_by_one = [lens_row(state.maps, e, z) for z in Z]
        np.testing.assert_allclose(lens_rows(state.maps, e, Z), one_by_one, atol=1e-5)
    state.early[:] = X[:120]
    np.testing.assert_allclose(_all_standardized(state)[:50], Z, atol=1e-5)


def test_a_row_is_predicted_without_itself():
    """What is said of a row is the same whether it was counted in another order or not at all."""
    X, y = curved()
    tracker = lensed()
    tracker.run(X[:500], y[:500])
    first = tracker.rows
    before = tracker.margins(X[500:510], first=first)
    decided = [tracker.ask(x).margin for x in X[500:510]]
    np.testing.assert_array_equal(before, decided)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_row_by_row_is_the_run(rate):
    X, y = curved()
    together, apart = lensed(rate), lensed(rate)
    records = together.run(X, y)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        decision = apart.ask(x)
        assert (decision.asked, decision.label) == (records.asked[t], records.label[t])
        assert decision.margin == records.margin[t]
        assert decision.propensity == records.propensity[t]
        if decision.asked:
            apart.tell(decision.ticket, int(label))
    assert apart.to_bytes() == together.to_bytes()
    np.testing.assert_array_equal(apart.predict_proba(X), together.predict_proba(X))
    assert together.state.stage[0] == RUNNING


@pytest.mark.parametrize("at", [60, 121, 130, 500])
def test_a_run_that_is_saved_and_resumed_is_the_run(at):
    X, y = curved()
    whole, cut = lensed(), lensed()
    records = whole.run(X, y)
    first = cut.run(X[:at], y[:at])
    resumed = lasec.Tracker.from_bytes(cut.to_bytes())
    rest = resumed.run(X[at:], y[at:])
    np.testing.assert_array_equal(np.append(first.margin, rest.margin), records.margin)
    np.testing.assert_array_equal(np.append(first.propensity, rest.propensity), records.propensity)
    assert resumed.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("at", [50, 121, 124, 600])
def test_a_saved_tracker_goes_on(at, tmp_path):
    X, y = curved()
    tracker = lensed()
    tracker.run(X[:at], y[:at])
    opened = [d.ticket for x in X[at : at + 30] if (d := tracker.ask(x)).asked]
    assert opened
    tracker.save(tmp_path / "model")
    loaded = lasec.Tracker.load(tmp_path / "model")
    for one in (tracker, loaded):
        for ticket in opened:
            one.tell(ticket, int(y[ticket]))
    ours, theirs = (one.run(X[at + 30 :], y[at + 30 :]) for one in (tracker, loaded))
    np.testing.assert_array_equal(ours.margin, theirs.margin)
    assert tracker.to_bytes() == loaded.to_bytes()
    assert loaded.rule == Lenses(**SMALL)


def test_until_the_maps_are_made_it_is_the_tracker():
    X, y = curved()
    raw = lasec.Tracker(4, rate=0.3, seed=5).run(X, y)
    ours = lensed().run(X, y)
    same = ours.margin == raw.margin
    made = int(np.argmin(same))
    assert 120 <= made < 160
    assert same[:made].all()


def test_lenses_are_an_option_of_the_tracker():
    plain, curvy = lasec.Tracker(2), lasec.Tracker(2, lenses=True)
    assert isinstance(plain.rule, Tracking)
    assert curvy.rule == Lenses()
    kept = lasec.Tracker(2, lenses=True, rule=Tracking(slots=3))
    assert kept.rule == Lenses(slots=3)
    assert curvy.posterior["hazard"].sum() == pytest.approx(1.0)


def correlated(rows=6_000, d=12):
    """A linear concept in correlated columns, on which small lenses lose."""
    X, y = lasec.streams.stationary(rows, dimension=d, seed=1)
    return X @ np.random.default_rng(0).standard_normal((d, d)), y


SLEEPING = SMALL | {"nap": 600, "lens_share": 1e-4}


def test_lenses_that_lose_sleep_wake_and_sleep_longer():
    X, y = correlated()
    tracker, slept = lensed(1.0, rule=SLEEPING, d=12), []
    before = tracker.state
    for begin in range(0, len(y), 50):
        tracker.run(X[begin : begin + 50], y[begin : begin + 50])
        state = tracker.state
        left = state.naps[:, LEFT]
        assert (state.omega[1:][left > 0] == 0.0).all()
        assert state.omega.sum() == pytest.approx(1.0)
        for e in np.flatnonzero((left > 0) & (left == before.naps[:, LEFT] - 50)):
            now, then = state.cores.dense.weights[e], before.cores.dense.weights[e]
            np.testing.assert_array_equal(now, then)
            slept.append(e)
        before = state
    assert set(slept) == {0, 1, 2, 3}
    assert (tracker.state.naps[:, NEXT] >= 2_400).all()  # twice asleep, or more


def test_a_lens_that_woke_can_win():
    X, y = correlated()
    tracker = lensed(1.0, rule=SLEEPING, d=12)
    tracker.run(X[:3_000], y[:3_000])
    assert (tracker.state.naps[:, NEXT] > 600).all()
    size = (X[:, :2] ** 2).sum(axis=1)
    ring = np.where(size < np.median(size), 1, -1)
    records = tracker.run(X, ring)
    assert tracker.state.omega[0] < 0.1
    assert (records.label[-500:] == ring[-500:]).mean() > 0.75  # a line is right in half of them


def test_the_weights_by_hand():
    rule = Lenses(lens_share=0.1)
    omega, naps = np.array([0.4, 0.1, 0.0, 0.1, 0.2]), np.zeros((4, 3), np.int64)
    naps[:, NEXT] = 7
    naps[1, LEFT], naps[0, LOW] = 1, 3
    weigh(rule, omega, naps)
    awake = 0.9 * np.array([0.4, 0.1, 0.1, 0.2]) / 0.8 + 0.1 / 4.0
    np.testing.assert_allclose(omega, np.insert(awake, 2, 0.02) / 1.02)  # the third just woke
    assert naps.tolist() == [[0, 0, 7], [0, 0, 7], [0, 0, 7], [0, 0, 7]]
    omega[:] = 0.999, 0.0, 0.0005, 0.0005, 0.0
    naps[:, LOW] = 499, 400, 499, 0
    weigh(Lenses(lens_share=1e-6), omega, naps)
    assert naps.tolist() == [[0, 7, 14], [401, 0, 7], [0, 7, 14], [1, 0, 7]]
    assert omega[1] == omega[3] == 0.0


def test_a_third_class_can_come():
    X, y = curved()
    tracker = lensed(1.0)
    tracker.run(X[:100], y[:100])
    tracker.learn(X[100], "new")
    assert tracker.rule.classes == 3
    tracker.run(X[101:], np.where(y[101:] > 0, 1, -1))
    assert tracker.state.stage[0] == RUNNING
    said = tracker.predict_proba(X[:20])
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
    late = lensed(1.0)
    late.run(X[:400], y[:400])
    before = late.predict_proba(X[:20])
    late.learn(X[400], "new")
    moved = np.abs(late.predict_proba(X[:20])[:, :2] - before).max(axis=1)
    assert np.median(moved) < 0.05  # but for rows like the one that was learned


def test_widened_lenses_begin_again():
    X, y = curved()
    tracker = lensed()
    tracker.run(X[:400], y[:400])
    tracker.widen(6)
    assert tracker.state.stage[0] == 0
    wide = np.column_stack([X, X[:, :2]])
    tracker.run(wide[400:], y[400:])
    assert tracker.state.stage[0] == RUNNING


def test_class_weights_move_the_decision_and_not_the_probabilities():
    X, y = curved()
    plain, weighted = lensed(1.0), lensed(1.0, class_weight={-1: 1.0, 1: 50.0})
    plain.run(X, y)
    weighted.run(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), weighted.predict_proba(X), atol=1e-9)
    assert (weighted.predict(X) == 1).mean() > (plain.predict(X) == 1).mean() + 0.1


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("omega", 0, 2.0, "lenses"),
        ("stage", 0, 7, "counts"),
        ("naps", (0, 1), -1, "counts"),
        ("maps.pairs", (0, 0), 9, "column"),
        ("cores.units", (0, 0), -1.0, "unit"),
        ("cores.dense.spread", (1, 0, 0), 0.0, "variance"),
        ("cores.mixture.posterior", (2, 0, 0, 0), 0.9, "posterior"),
    ],
)
def test_a_state_that_cannot_be_is_refused(name, place, value, message):
    X, y = curved(400)
    tracker = lensed()
    tracker.run(X, y)
    named(tracker.state)[name][place] = value
    with pytest.raises(lasec.StateError, match=message):
        tracker.to_bytes()


@pytest.mark.parametrize("strange", ["constant", "huge", "one column"])
def test_strange_rows_do_no_harm(strange):
    X, y = curved()
    if strange == "constant":
        X[:, 1], X[:500, 2] = 7.0, 0.0
    elif strange == "huge":
        X[::50] *= 1e9
    else:
        X = X[:, :1]
    tracker = lensed(d=X.shape[1])
    records = tracker.run(X, y)
    assert np.isfinite(records.margin).all()
    assert np.abs(records.margin).max() <= 1.0
    assert not tracker.state.validate()
