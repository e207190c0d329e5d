"""The Tracker against its equations, and its forms against each other."""

import math

import numpy as np
import pytest

import lasec
from doubled import in_double, in_double_precision
from lasec import triangle
from lasec.rules import Probit, Tracking
from lasec.types import Context
from reference import tracker as reference

ROUNDS = 1_500


def switching(seed):
    return lasec.streams.switching(ROUNDS, dimension=8, every=300, noise=0.05, seed=seed)


def walking(seed):
    X, y = lasec.streams.walking(ROUNDS, dimension=5, speed=0.05, seed=seed)
    return X * [1e-3, 1.0, 1e3, 7.0, 1e-9], y


def degenerate(seed):
    """Constant, zero and doubled columns, zero rows, huge rows, and other units from row 700 on."""
    X, y = lasec.streams.switching(ROUNDS, dimension=8, every=400, seed=seed)
    X[:, 0], X[:, 1], X[:, 2] = 1.0, 0.0, X[:, 3]
    X[::40] = 0.0
    X[::55] *= 1e6
    X[700:] *= 1e-4
    return X, y


def easy(seed):
    """So few features that an old concept is soon given up altogether."""
    return lasec.streams.switching(ROUNDS, dimension=3, every=700, seed=seed)


@pytest.mark.parametrize("rate", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("stream", [switching, walking, degenerate, easy], ids=lambda s: s.__name__)
def test_equals_its_equations(stream, rate):
    X, y = stream(seed=3)
    d = X.shape[1]
    tracker = in_double(lasec.Tracker(d, rate=rate, seed=5))
    ours = tracker.run(X, y)
    coins = lasec.uniforms(5, 0, ROUNDS)[:, 0]
    margin, propensity, asked, twin = reference.play(d, rate, X, y, coins)

    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_allclose(ours.margin, margin, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.propensity, propensity, rtol=1e-6)
    np.testing.assert_allclose(tracker.state.core.means, twin.means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tracker.state.counted.squares, twin.squares, rtol=1e-7)
    posterior = twin.pi.reshape(tracker.state.posterior.shape)
    np.testing.assert_allclose(tracker.state.posterior, posterior, rtol=1e-6, atol=1e-12)
    for b, lineage in enumerate(twin.lineages):
        for k, state in enumerate(lineage or []):
            i = 5 * b + k
            dense = tracker.state.core.dense
            weights, cov = dense.weights[i, 0, : d + 2], dense.covs[i]
            np.testing.assert_allclose(weights, state.w, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(triangle.whole(cov, d + 2), state.P, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("stream", [switching, walking, degenerate, easy], ids=lambda s: s.__name__)
def test_single_precision_is_enough(stream, rate):
    X, y = stream(seed=4)
    single, double = (lasec.Tracker(X.shape[1], rate=rate, seed=5) for _ in range(2))
    ours, theirs = single.run(X, y), in_double(double).run(X, y)
    np.testing.assert_array_equal(ours.asked, theirs.asked)
    np.testing.assert_allclose(ours.margin, theirs.margin, atol=1e-3)


def test_births_and_forgotten_slots_are_in_the_comparison():
    X, y = easy(seed=3)
    tracker = lasec.Tracker(rate=1.0, seed=5)
    given_up = 0
    for begin in range(0, ROUNDS, 5):
        tracker.run(X[begin : begin + 5], y[begin : begin + 5])
        slots = tracker.posterior["since"]
        given_up += slots[0] == 0.0 or ((slots == 0.0) & (tracker.state.born > 0)).any()
    assert (tracker.state.born > 0).sum() >= 3
    assert given_up > 0


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_row_by_row_is_the_run(rate):
    X, y = switching(seed=4)
    together, apart = (lasec.Tracker(dimension=8, rate=rate, seed=2) for _ in range(2))
    records = lasec.Records.join([together.run(X[:700], y[:700]), together.run(X[700:], y[700:])])
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        decision = apart.ask(x)
        assert (decision.asked, decision.label) == (records.asked[t], records.label[t])
        assert decision.margin == records.margin[t]
        assert decision.propensity == records.propensity[t]
        if decision.asked:
            apart.tell(decision.ticket, int(label))
    assert apart.to_bytes() == together.to_bytes()


def test_interpreted_is_compiled():
    """The rule and the query as plain Python over NumPy give the numbers of the compiled run."""
    X, y = switching(seed=6)
    X, y = X[:150], y[:150]
    tracker = lasec.Tracker(rate=0.4, seed=1)
    ours = tracker.run(X, y)
    rule, query = Tracking(), tracker.query
    state, memory = rule.init(8), query.init()
    coins = lasec.uniforms(1, 0, 150)[:, 0]
    for t in range(150):
        seen = rule.margin(state, X[t], t + 1)
        now = Context(t + 1, t + 1.0, 0)
        p = query.chance(seen, memory, now)
        query.spend(seen, memory, bool(coins[t] < p), now)
        assert math.isclose(seen.margin, ours.margin[t], rel_tol=1e-4, abs_tol=1e-5)
        assert math.isclose(seen.variance, ours.variance[t], rel_tol=1e-3, abs_tol=1e-5)
        assert math.isclose(p, ours.propensity[t], rel_tol=1e-4)
        rule.note(state, X[t])
        if coins[t] < p:
            rule.update(state, X[t], float(y[t]), 0.0, t + 1)
    np.testing.assert_allclose(memory, tracker.selector.query_state, rtol=1e-4)


def test_one_state_is_the_probit_rule():
    """Where no label is so surprising that it would widen, one filter step is Probit's."""
    from lasec.rules.tracker.dense import Sight
    from lasec.rules.tracker.mixture import filter_state

    rng = np.random.default_rng(0)
    rule = Probit(prior=20.0, lapse=0.001)
    of_twin, room = Tracking(prior=20.0, slots=1), np.empty((2, 1))
    state, twin = rule.init(6), in_double_precision(of_twin.init(6))
    classes, dense = twin.classes, twin.core.dense
    target = rng.standard_normal(6)
    for _ in range(200):
        x = rng.standard_normal(6)
        y = 1.0 if x @ target > 0.0 else -1.0
        rule.update(state, x, y, 0.0)
        u = np.append(x, [0.0, 0.0])
        at = Sight(u, u, u @ u, np.empty(8))
        filter_state(of_twin, classes, dense, 0, at, y, 0, 0.001, *room)
    np.testing.assert_allclose(state.weights, dense.weights[0, 0, :6], rtol=1e-10)
    np.testing.assert_allclose(state.cov, triangle.whole(dense.covs[0], 6), rtol=1e-10, atol=1e-12)
