"""Adaptive budgets: equations, one way and another, the hard cap, the audit, estimates."""

import itertools
import math

import numpy as np
import pytest

import lasec
from lasec.learner import adaptive
from lasec.queries import Budgeted
from lasec.queries.account import BLIND, BOOST, LABELS, ROUNDS, USUAL
from lasec.types import Context
from reference import adaptive as twin
from reference.budget import Budget

STREAMS = {
    "stationary": lambda n, seed: lasec.streams.stationary(n, dimension=8, seed=seed),
    "switching": lambda n, seed: lasec.streams.switching(n, dimension=8, every=900, seed=seed),
    "walking": lambda n, seed: lasec.streams.walking(n, dimension=8, speed=0.05, seed=seed),
}


def tracker(rate=0.05, share=0.4, seed=3, horizon=6_000, **options):
    budget = Budgeted.adaptive(rate, share, horizon=horizon)
    return lasec.Tracker(8, budget=budget, seed=seed, **options)


@pytest.mark.parametrize("stream", STREAMS)
def test_boosts_are_those_of_the_equations(stream):
    X, y = STREAMS[stream](2_400, 5)
    one, found = tracker(), []
    for begin in range(0, 2_400, 300):
        state, model = one.selector.query_state, one.state
        given = one.rule, model, one.query, state, one.rows
        found.append(adaptive.boost_of(*given))
        expected = twin.boost_of(
            one.rule, model.posterior.tolist(), model.born.tolist(), one.query,
            *state[[ROUNDS, LABELS, BOOST, USUAL]].tolist(), one.rows,
        )  # fmt: skip
        assert found[-1] == pytest.approx(expected, rel=1e-9)
        one.run(X[begin : begin + 300], y[begin : begin + 300])
    assert sum(labels for labels, _ in found) > 1.0


def test_rows_one_by_one_in_chunks_and_at_once_are_asked_alike():
    X, y = STREAMS["switching"](1_250, 1)
    whole, cut, single = tracker(), tracker(), tracker()
    records = whole.run(X, y)
    ends = [0, 37, 100, 101, 640, 1_250]
    parts = [cut.run(X[a:b], y[a:b]) for a, b in itertools.pairwise(ends)]
    for x, label in zip(X, y, strict=True):
        decision = single.ask(x)
        if decision.asked:
            single.tell(decision.ticket, label)
    assert np.array_equal(lasec.Records.join(parts).propensity, records.propensity)
    assert whole.to_bytes() == cut.to_bytes() == single.to_bytes()
    assert records.labels > 1.3 * 0.05 * 1_250  # some were early


def test_questions_in_chunks_are_those_of_one_call():
    X, _ = STREAMS["stationary"](950, 1)
    many, few = tracker(), tracker()
    asked = many.ask_many(X)
    parts = lasec.Records.join([few.ask_many(X[:250]), few.ask_many(X[250:])])
    assert np.array_equal(asked.propensity, parts.propensity)
    assert many.pending == few.pending
    assert many.to_bytes() == few.to_bytes()


def test_a_saved_learner_goes_on_as_it_would_have():
    X, y = STREAMS["walking"](1_500, 2)
    one = tracker()
    one.run(X[:730], y[:730])
    other = lasec.Tracker.from_bytes(one.to_bytes())
    one.run(X[730:], y[730:])
    other.run(X[730:], y[730:])
    assert one.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("way", ["ask", "ask_many", "run"])
def test_a_call_that_is_refused_changes_nothing(way):
    X, y = STREAMS["stationary"](1_000, 2)
    one = tracker()
    one.run(X[:300], y[:300])
    before, bad = one.to_bytes(), X[300:600].copy()
    bad[-1] = np.nan
    calls = {
        "ask": lambda: one.ask(bad[-1]),
        "ask_many": lambda: one.ask_many(bad),
        "run": lambda: one.run(bad, y[300:600]),
    }
    with pytest.raises(ValueError, match="NaN"):
        calls[way]()
    assert one.to_bytes() == before


@pytest.mark.parametrize("y", [[1, -1], np.ones(301)])
def test_labels_of_another_number_than_rows_are_refused(y):
    X, _ = STREAMS["stationary"](300, 2)
    with pytest.raises(ValueError, match="y"):
        tracker().run(X, y)


def test_labels_may_come_as_a_list_with_gaps():
    X, y = STREAMS["stationary"](400, 2)
    names = [None if i % 3 else "ham" if label > 0 else "spam" for i, label in enumerate(y)]
    one, other = tracker(), tracker()
    records = one.run(X, names)
    parts = [other.run(X[:150], names[:150]), other.run(X[150:], names[150:])]
    assert np.array_equal(lasec.Records.join(parts).learned, records.learned)
    assert one.to_bytes() == other.to_bytes()


def hostile(rng, n):
    """Labels by which the posterior is sure of a new concept, or sees noise, or nothing."""
    X = rng.normal(size=(n, 8)) * np.exp(rng.normal(size=8) * rng.integers(0, 3))
    w = rng.normal(size=(8, n // 200 + 1))[:, np.arange(n) // 200]
    y = np.where((X * w.T).sum(axis=1) >= 0.0, 1, -1)
    return X, np.where(rng.random(n) < rng.choice([0.0, 0.3, 0.5]), -y, y)


@pytest.mark.parametrize("greedy", [False, True])
def test_the_hard_cap_holds(greedy, monkeypatch):
    """Also where as much as possible is spent early at any moment, and after alarms."""
    rng = np.random.default_rng(7)
    if greedy:
        most = lambda rule, model, query, state, rows: (1e6, 150.0)  # noqa: E731
        monkeypatch.setattr(adaptive, "boost_of", most)
    for seed in range(12):
        rate, share = rng.choice([0.005, 0.02, 0.1]), rng.uniform(0.05, 0.5)
        one = tracker(rate, share, seed, horizon=int(rng.integers(5_000, 20_000)))
        X, y = hostile(rng, 4_000)
        asked = []
        for begin in range(0, 4_000, 1_000):
            if rng.random() < 0.3:
                one.boost(50.0, over=500)
            asked.append(one.run(X[begin : begin + 1_000], y[begin : begin + 1_000]).asked)
        used = np.concatenate(asked).cumsum()
        assert (used <= rate * np.arange(1, 4_001) + one.query.slack + 1e-9).all()
        assert one.query.cap(4_000) == pytest.approx(min(4_000, rate * 4_000 + one.query.slack))


@pytest.mark.parametrize("stream", STREAMS)
def test_the_audit_does_not_follow_the_boosts(stream):
    """Rows keep the minimum query probability while labels are repaid."""
    X, y = STREAMS[stream](12_000, 4)
    one = tracker(0.05, horizon=6_000)
    records = one.run(X, y)
    assert one.selector.query_state[BLIND] == 0
    assert np.quantile(records.propensity, 0.01) >= 0.5 * 0.05


def test_boosts_are_repaid():
    X, y = STREAMS["stationary"](30_000, 4)
    one = tracker(0.05, horizon=6_000)
    records = one.run(X, y)
    windows = records.asked.reshape(10, 3_000).sum(axis=1)
    assert windows[0] > 1.15 * 150
    assert windows[1] < 0.9 * 150
    assert abs(records.labels - 1_500) <= 3.5 * math.sqrt(50) + one.query.owed(
        one.selector.query_state
    )


def test_estimates_stay_unbiased():
    """Errors of the queried rows, weighted by their probabilities, beside the model's own guess."""
    off = []
    for seed in range(40):
        X, y = lasec.streams.switching(5_000, dimension=8, every=2_500, noise=0.05, seed=seed)
        run = tracker(0.04, seed=seed, horizon=5_000).run(X, y)
        wrong, guess = run.sign != y, (1.0 - np.abs(run.margin)) / 2.0
        weighed = np.where(run.asked, (wrong - guess) / run.propensity, 0.0)
        off.append(np.mean(guess + weighed - wrong))
    assert abs(np.mean(off)) <= 3.0 * np.std(off, ddof=1) / math.sqrt(len(off))


def test_without_a_posterior_nothing_is_spent_early():
    X, y = STREAMS["stationary"](2_000, 1)
    budget = Budgeted.adaptive(0.05)
    usual = budget._replace(adapt=0.0)
    runs = [
        lasec.Learner(lasec.rules.SecondOrder(), query, dimension=8, seed=1).run(X, y)
        for query in (budget, usual)
    ]
    assert np.array_equal(runs[0].propensity, runs[1].propensity)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.2}, "adapt needs a rate of 0.1 or less"),
        ({"rate": 0.05, "horizon": 1_000}, "a horizon of 5000 or more"),
        ({"rate": 0.05, "total": 100}, "not for a budget by time"),
        ({"rate": 0.05, "timed": True}, "not for a budget by time"),
        ({"rate": 0.05, "share": 0.9}, "share must be"),
    ],
)
def test_budgets_that_cannot_adapt_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Budgeted.adaptive(**options)


def test_a_fleet_has_no_adaptive_budget():
    with pytest.raises(ValueError, match="the budgets of a fleet are not adaptive"):
        lasec.Fleet.of(tracker(), models=2)


def test_compiled_interpreted_and_by_the_equations_the_audit_is_one():
    """While much is repaid, so that more than six labels are overspent."""
    X, y = STREAMS["switching"](1_500, 6)
    query = Budgeted.adaptive(0.1)
    learner = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=8, seed=1)
    memory, written = query.init(), Budget(query)
    learner.boost(60.0, over=300)
    query.boost(memory, 60.0, 300.0)
    written.boost, written.repay = written.boost + 60.0, written.repay + 60.0 / 300.0
    records = learner.run(X, y)
    behind = []
    for t, (margin, asked) in enumerate(zip(records.margin, records.asked, strict=True)):
        seen, now = lasec.Margin(margin, 0.0, margin), Context(t + 1, t + 1.0, 0)
        p = records.propensity[t]
        assert query.chance(seen, memory, now) == pytest.approx(p, rel=1e-9)
        assert written.chance(margin, now.time, 0) == pytest.approx(p, rel=1e-9)
        behind.append(written._behind())
        query.spend(seen, memory, bool(asked), now)
        written.spend(bool(asked))
    assert min(behind) < -6.0
