"""The Tracker on wide rows: its equations, and a basis that follows the rows."""

import itertools

import numpy as np
import pytest

import lasec
from lasec import triangle
from lasec.nested import leaves
from lasec.rules import Tracking
from reference import tracker_forms as reference

ROWS = 1_500
# Basis, spread, sample and covariances are kept in single precision, and the twin is in double.
# Margins differ by 1e-6 at most in these streams, rounded on the way by some hundred labels. A
# wrong term shows as 1e-2 or more.
SINGLE = 2e-5


def stream(d, rows=ROWS, seed=3):
    """Features of unequal size that depend on each other, with an offset, and three concepts."""
    rng = np.random.default_rng(seed)
    X, y = lasec.streams.switching(rows, dimension=d, every=rows // 3, noise=0.05, seed=seed)
    mixed = X @ np.diag(np.linspace(2.0, 0.1, d)) @ rng.standard_normal((d, d))
    return mixed + 0.3, y


def tracker_of(d, block=-1, rate=0.3, seed=5, **options):
    return lasec.Tracker(d, rate=rate, seed=seed, rule=Tracking(block=block), **options)


def looped(tracker, X, y):
    """The margins of a run, and what was asked, from ask and tell."""
    rows = []
    for x, label in zip(X, y, strict=True):
        decision = tracker.ask(x)
        rows.append((decision.margin, decision.asked))
        if decision.asked:
            tracker.tell(decision.ticket, int(label))
    return tuple(map(np.array, zip(*rows, strict=True)))


def same_span(ours, theirs, **tolerance):
    """Whether two bases span the same directions."""
    np.testing.assert_allclose(ours.T @ ours, theirs.T @ theirs, **tolerance)


@pytest.mark.parametrize(
    ("d", "block", "k", "rate"),
    [(12, 4, 4, 0.3), (12, 4, 4, 1.0), (12, 11, 11, 0.3), (140, 64, 64, 0.3), (200, -1, 64, 0.3)],
)
def test_equals_its_equations(d, block, k, rate):
    X, y = stream(d)
    tracker = tracker_of(d, block, rate)
    ours = tracker.run(X, y)
    twin = reference.Forms(d, block=k)
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    p, label, propensity, asked = reference.play(twin, rate, X, y, coins)

    assert twin.behind >= 32 + 3 * 64  # several renewals
    assert tracker.state.counted.sampled.tolist() == [len(twin.sample), twin.behind]
    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_allclose(ours.margin, p[:, 1] - p[:, 0], atol=SINGLE)
    sure = np.abs(ours.margin) > SINGLE
    np.testing.assert_array_equal(ours.label[sure], label[sure])
    np.testing.assert_allclose(ours.propensity, propensity, atol=10.0 * SINGLE)
    same_span(tracker.state.core.basis, twin.B, atol=1e-5)
    np.testing.assert_allclose(tracker.state.counted.energy, twin.energy, rtol=1e-4, atol=1e-7)
    n = k + 2
    at = tracker.state.core.dense.weights.shape[2] - d
    for b, lineage in enumerate(twin.lineages):
        for j, state in enumerate(lineage or []):
            i = 5 * b + j
            if tracker.state.core.mixture.weight[i] == 0.0:
                continue
            scale = np.sqrt(state.S)
            w, W = tracker.state.core.dense.weights[i, 0], state.W[0]
            whole = w[:k] @ tracker.state.core.basis + w[at:]
            np.testing.assert_allclose(whole, W[:k] @ twin.B + W[n:], atol=1e-3 * scale)
            np.testing.assert_allclose(w[k:n], W[k:n], atol=1e-3 * scale)
            np.testing.assert_allclose(tracker.state.core.dense.spread[i], state.D, rtol=1e-3)
            P = triangle.whole(tracker.state.core.dense.covs[i], n)
            turn = np.eye(n)
            turn[:k, :k] = twin.B @ tracker.state.core.basis.T
            np.testing.assert_allclose(P, turn.T @ state.P @ turn, atol=1e-3 * state.S)


def test_a_diagonal_equals_its_equations():
    X, y = stream(12)
    tracker = tracker_of(12, block=0)
    ours = tracker.run(X, y)
    twin = reference.Forms(12, block=0)
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    p, _, propensity, asked = reference.play(twin, 0.3, X, y, coins)
    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_allclose(ours.margin, p[:, 1] - p[:, 0], atol=SINGLE)
    np.testing.assert_allclose(ours.propensity, propensity, atol=10.0 * SINGLE)
    state = twin.lineages[0][0]
    np.testing.assert_allclose(tracker.state.core.dense.spread[0], state.D, rtol=1e-3)
    assert tracker.state.core.basis.size == tracker.state.counted.sample.size == 0
    full = tracker_of(12).run(X, y)
    assert np.abs(full.margin - ours.margin).max() > 0.1  # it is not the full form


def test_many_classes_of_wide_rows_equal_their_equations():
    rows, K, d = 700, 3, 12
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows, d)) @ rng.standard_normal((d, d))
    y = (X @ rng.standard_normal((d, K))).argmax(axis=1) + 1
    tracker = tracker_of(d, 4, rate=0.4, classes=[1, 2, 3])
    ours = tracker.run(X, y)
    twin = reference.Forms(d, classes=K, block=4)
    coins = lasec.uniforms(5, 0, rows)[:, 0]
    p, label, _, asked = reference.play(twin, 0.4, X, y, coins)
    assert twin.behind > 150
    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_array_equal(ours.label, label)
    np.testing.assert_allclose(ours.margin, 2.0 * p.max(axis=1) - 1.0, atol=SINGLE)
    said = np.array([twin.probabilities(x, rows + 1) for x in X[:50]])
    np.testing.assert_allclose(tracker.predict_proba(X[:50]), said, atol=SINGLE)


@pytest.mark.parametrize("block", [12, 13, 1_000])
def test_a_block_of_all_features_is_the_full_form(block):
    X, y = stream(12, rows=600)
    full, blocked = tracker_of(12), tracker_of(12, block)
    np.testing.assert_array_equal(full.run(X, y).margin, blocked.run(X, y).margin)
    for ours, theirs in zip(leaves(full.state), leaves(blocked.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_default_is_full_up_to_192_features():
    assert Tracking().init(192).core.dense.spread.shape == (30, 0)
    assert Tracking().init(193).core.dense.spread.shape == (30, 193)
    assert Tracking().init(193).core.basis.shape == (64, 193)


@pytest.mark.parametrize(("d", "block", "rate"), [(12, 4, 0.1), (12, 4, 1.0), (200, -1, 0.3)])
def test_row_by_row_is_the_run(d, block, rate):
    X, y = stream(d, rows=700)
    together, apart = (tracker_of(d, block, rate) for _ in range(2))
    records = together.run(X, y)
    margin, asked = looped(apart, X, y)
    assert together.state.counted.sampled[1] > 32
    np.testing.assert_array_equal(records.asked, asked)
    np.testing.assert_array_equal(records.margin, margin)
    assert together.to_bytes() == apart.to_bytes()


def test_a_cut_after_a_label_changes_nothing():
    X, y = stream(12, rows=700)
    together, cut = (tracker_of(12, 4) for _ in range(2))
    records = together.run(X, y)
    rng = np.random.default_rng(2)
    edges = np.flatnonzero(records.asked) + 1
    edges = [0, *np.sort(rng.choice(edges, 40, replace=False)), len(y)]
    parts = [cut.run(X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(lasec.Records.join(parts).margin, records.margin)
    assert together.to_bytes() == cut.to_bytes()


def test_a_cut_anywhere_changes_nothing():
    X, y = stream(12, rows=700)
    together, cut = (tracker_of(12, 4, rate=0.1) for _ in range(2))
    records = together.run(X, y)
    parts = [cut.run(X[t : t + 1], y[t : t + 1]) for t in range(len(y))]
    np.testing.assert_array_equal(lasec.Records.join(parts).margin, records.margin)


def test_asking_does_not_change_the_basis():
    X, y = stream(12, rows=400)
    tracker = tracker_of(12, 4, rate=1.0)
    tracker.run(X[:10], y[:10])
    before, margins = tracker.state.core.basis.copy(), tracker.margins(X, first=1_000)
    tickets = [tracker.ask(x).ticket for x in X[10:]]
    assert tracker.state.counted.sampled[0] > 64  # more than there is room for
    np.testing.assert_array_equal(tracker.state.core.basis, before)
    np.testing.assert_array_equal(tracker.margins(X, first=1_000), margins)
    tracker.tell(tickets[0], 1)
    assert np.abs(tracker.state.core.basis - before).max() > 0.1
    assert tracker.state.counted.sampled.tolist() == [0, 64]


@pytest.mark.parametrize("at", [20, 200, 333])
def test_a_tracker_that_is_saved_in_the_middle_of_a_sample_goes_on(at):
    X, y = stream(12, rows=700)
    tracker = tracker_of(12, 4)
    tracker.run(X[:at], y[:at])
    asked = [tracker.ask(x) for x in X[at : at + 30]]
    opened = [decision.ticket for decision in asked if decision.asked]
    assert opened
    assert tracker.state.counted.sampled[0] > 0
    loaded = lasec.Tracker.from_bytes(tracker.to_bytes())
    for one in (tracker, loaded):
        for ticket in opened:
            one.tell(ticket, int(y[ticket]))
    ours, theirs = (one.run(X[at + 30 :], y[at + 30 :]) for one in (tracker, loaded))
    np.testing.assert_array_equal(ours.margin, theirs.margin)
    assert tracker.to_bytes() == loaded.to_bytes()
    assert tracker.state.counted.sampled[1] > 100


@pytest.mark.parametrize("classes", [[-1, 1], [-1, 1, 0]])
def test_a_long_life(classes):
    """The basis stays orthonormal, and all variances positive, after 20,000 labels."""
    rng = np.random.default_rng(1)
    X, y = lasec.streams.switching(20_000, dimension=40, every=5_000, noise=0.05, seed=1)
    X = X @ np.diag(np.logspace(0.0, -3.0, 40)) @ rng.standard_normal((40, 40))
    X[::50] *= 1e3
    if 0 in classes:
        y = np.where(X[:, 0] ** 2 > 2.0 * (X[:, 0] ** 2).mean(), 0, y)
    tracker = tracker_of(40, block=16, rate=1.0, classes=classes)
    records = tracker.run(X, y)
    state = tracker.state
    assert np.isfinite(records.margin).all()
    assert state.counted.sampled[1] > 1_000
    np.testing.assert_allclose(state.core.basis @ state.core.basis.T, np.eye(16), atol=1e-5)
    assert (state.core.dense.spread > 0.0).all()
    assert (np.diff(state.counted.energy) <= 0.0).all()
    assert (state.counted.energy >= 0.0).all()
    n = state.core.dense.weights.shape[2] - 40
    for cov in state.core.dense.covs:
        assert np.linalg.eigvalsh(triangle.whole(cov, n))[0] > 0.0
    assert state.validate() == ""
    assert lasec.Tracker.from_bytes(tracker.to_bytes()).told == 20_000


def rotating(rows, d, k, seed, until=1.0):
    """k strong directions that turn into k others, between a quarter and 3/4 of ``until``."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, 2 * k)))[0]
    angle = np.pi / 2.0 * np.clip(2.0 * np.arange(rows) / (rows * until) - 0.5, 0.0, 1.0)
    Z = rng.standard_normal((rows, k))
    strong = np.cos(angle)[:, None] * (Z @ Q[:, :k].T) + np.sin(angle)[:, None] * (Z @ Q[:, k:].T)
    return 3.0 * strong + 0.3 * rng.standard_normal((rows, d)), np.where(Z[:, 0] > 0.0, 1, -1)


@pytest.mark.parametrize(
    ("k", "rows", "until", "least"), [(20, 12_000, 1.0, 0.97), (40, 40_000, 0.3, 0.97)]
)
def test_the_basis_follows_inputs_that_rotate(k, rows, until, least):
    """Late in the stream, the basis has nearly what the 64 best directions have of the rows.

    20 directions and 20 others fit into the basis at once. 40 and 40 do not: what is gone has to
    be forgotten, which takes some 15,000 rows.
    """
    X, y = rotating(rows, 140, k, seed=1, until=until)
    tracker = tracker_of(140, 64, rate=0.05)
    begin = int(0.25 * until * rows)
    tracker.run(X[:begin], y[:begin])
    early = tracker.state.core.basis.copy()
    tracker.run(X[begin:], y[begin:])
    U = (X[-1_000:] - tracker.state.core.means) * tracker.state.core.units[:140]
    values = np.linalg.svd(U, compute_uv=False) ** 2
    best = values[:64].sum() / values.sum()

    def inside(basis):
        return ((U @ basis.T) ** 2).sum() / values.sum()

    assert inside(tracker.state.core.basis) > least * best
    assert inside(early) < 0.6 * best
    assert inside(np.eye(64, 140)) < 0.6 * best
