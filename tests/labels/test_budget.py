"""A budget that is held: share, windows, hard cap, audit share, total, time, backpressure."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import lasec
from lasec.queries import Always, Budgeted, MarginSampling, Uniform, VarianceThreshold
from lasec.queries.account import BLIND, BOOST, LABELS, settled
from lasec.rules import Perceptron
from lasec.types import Context, Margin

SURE = Margin(1.0, 0.0, 1.0)
ROUNDS = int(os.environ.get("LASEC_ROUNDS", "2000000"))


def play(query, margins, coins, times=None, waiting=None):
    """The query on its own: propensities, what was asked, and what it remembers."""
    memory, chances, asked = query.init(), [], []
    for t, (margin, coin) in enumerate(zip(margins, coins, strict=True)):
        now = Context(
            t + 1,
            float(t + 1) if times is None else float(times[t]),
            0 if waiting is None else int(waiting[t]),
        )
        seen = Margin(margin, 0.0, margin)
        p = query.chance(seen, memory, now)
        query.spend(seen, memory, bool(coin < p), now)
        chances.append(p)
        asked.append(coin < p)
    return np.array(chances), np.array(asked), memory


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("stream", ["switching", "walking", "stationary"])
def test_the_share_is_held(stream, rate):
    """Over all rows within a few labels; windows vary as draws do."""
    X, y = drawn(stream)
    tracker = lasec.Tracker(rate=rate, seed=4)
    records = tracker.run(X, y)
    assert abs(records.labels - rate * 10_000) <= max(0.01 * rate * 10_000, 3.0)
    windows = records.asked.reshape(10, 1_000).sum(axis=1)[1:]
    assert np.abs(windows - 1_000 * rate).max() <= 3.5 * math.sqrt(1_000 * rate)
    least = 0.5 * min(rate, 0.25) * math.exp(-4.0)
    assert records.propensity.min() >= least * (1.0 - 1e-12)
    assert tracker.selector.query_state[BLIND] == 0


def drawn(stream):
    options = {"speed": 0.03} if stream == "walking" else {}
    return getattr(lasec.streams, stream)(10_000, dimension=20, seed=3, **options)


@pytest.mark.parametrize(
    "inner", [MarginSampling(0.02), Uniform(0.9), Uniform(0.001), MarginSampling(1e3), Always()]
)
def test_any_probability_can_be_held(inner):
    """Also one that by itself asks always, or hardly ever."""
    X, y = lasec.streams.switching(10_000, dimension=10, seed=1)
    query = Budgeted(0.1, inner)
    learner = lasec.Learner(lasec.rules.SecondOrder(0.01), query, dimension=10)
    assert abs(learner.run(X, y).rate - 0.1) <= 0.002


def test_a_query_that_never_asks_is_left_to_the_audit():
    query = Budgeted(0.1, VarianceThreshold(0.3), audit=0.5)
    chances, asked, _ = play(query, np.zeros(2_000), np.random.default_rng(0).random(2_000))
    assert (chances == 0.05).all()
    assert 70 <= asked.sum() <= 130


@settings(max_examples=60, deadline=None)
@given(
    rate=some.floats(0.005, 0.9),
    burst=some.floats(16.0, 200.0),
    audit=some.floats(0.01, 1.0),
    sure=some.booleans(),
    seed=some.integers(0, 10**6),
)
def test_the_hard_cap_is_never_exceeded(rate, burst, audit, sure, seed):
    """In no stretch of n rows more than rate n + burst labels, whatever the margins and coins."""
    rng = np.random.default_rng(seed)
    query = Budgeted(rate, audit=audit, burst=burst)
    margins = rng.standard_normal(800) * (0.0 if sure else 1.0)
    margins[rng.integers(0, 800, 20)] = 1e9
    coins = rng.random(800) ** rng.choice(
        [1.0, 8.0]
    )  # the second kind falls on "ask" far too often
    _, asked, _ = play(query, margins, coins)
    spent = np.concatenate([[0], np.cumsum(asked)])
    over = spent - rate * np.arange(801)
    assert (over - np.minimum.accumulate(over)).max() <= burst + 1e-6


@settings(max_examples=60, deadline=None)
@given(
    rate=some.floats(0.01, 0.5),
    horizon=some.integers(50, 20_000),
    warm_up=some.sampled_from([0.0, 5.0, 50.0, 500.0]),
    total=some.sampled_from([0.0, 30.0, 400.0]),
    seed=some.integers(0, 10**6),
)
def test_the_cap_that_is_promised_is_never_exceeded(rate, horizon, warm_up, total, seed):
    """At any row, also of short streams, with a boost, and if every draw falls on "ask"."""
    n, rng = min(horizon, 600), np.random.default_rng(seed)
    query = Budgeted(rate, horizon=horizon, warm_up=warm_up, total=total)
    coins = rng.random(n) ** rng.choice([1.0, 20.0])
    memory, asked = query.init(), 0
    for t in range(n):
        if t == n // 3:
            query.boost(memory, 40.0, 300.0)
        margin, now = Margin(rng.normal() * rng.choice([0.0, 1.0]), 0.0, 0.0), Context(t + 1, t, 0)
        chosen = coins[t] < query.chance(margin, memory, now)
        query.spend(margin, memory, bool(chosen), now)
        asked += chosen
        assert asked <= query.cap(t + 1) + 1e-6
    early = min(warm_up, rate * horizon / 10.0)
    formula = rate * n + 16.0 + rate * min(1_000.0, horizon) / 10.0 + early
    most = min(formula, n, total or n)
    assert query.cap(n) <= most + 1e-5
    assert total or query.cap(n) == pytest.approx(most, abs=1e-5)


@pytest.mark.parametrize(
    ("rate", "rows", "cap"), [(0.02, 1_500, 51.0), (0.1, 400, 64.0), (0.5, 200, 136.0)]
)
def test_a_short_stream_keeps_its_rate(rate, rows, cap):
    """The warm-up is a tenth of the labels of the horizon; at 50 %, pacing begins too low."""
    X, y = lasec.streams.switching(rows, dimension=5, every=rows // 2, seed=1)
    for early in (50.0, 0.0):
        query = Budgeted(rate, horizon=rows, warm_up=early)
        records = lasec.Tracker(5, budget=query, seed=2).run(X, y)
        part = 0.1 * rate * rows if early else 0.0
        assert query.cap(rows) == pytest.approx(cap - (0.0 if early else 0.1 * rate * rows))
        assert query.owed(query.init()) == pytest.approx(part)
        assert (np.cumsum(records.asked) <= [query.cap(n) for n in range(1, rows + 1)]).all()
        assert records.labels - rate * rows <= 4.0 + part
        assert records.labels >= (0.85 if rate < 0.5 else 0.5) * rate * rows


def test_the_hard_cap_in_a_soak():
    """``LASEC_ROUNDS=10000000`` for ten million rows."""
    query = Budgeted(0.1)
    learner = lasec.Learner(Perceptron(), query, dimension=3, seed=2)
    most, least, over = -np.inf, np.inf, 0.0
    for chunk in range(ROUNDS // 100_000):
        X, y = lasec.streams.switching(100_000, dimension=3, every=700, noise=0.1, seed=chunk)
        records = learner.run(X, y)
        steps = np.cumsum(np.concatenate([[over], records.asked - 0.1]))
        least = min(least, steps.min())
        most = max(most, (steps - np.minimum(np.minimum.accumulate(steps), least)).max())
        over = steps[-1]
        assert records.propensity.min() > 1e-3
    assert most <= settled(query)[2]
    assert learner.selector.query_state[BLIND] == 0
    assert abs(learner.asked - 0.1 * ROUNDS) <= 20


def test_unspent_budget_is_carried_over_up_to_the_burst():
    """While nothing can be asked, tokens gather; what is beyond the burst lapses."""
    query = Budgeted(0.1, Uniform(1.0), burst=40.0, warm_up=0.0)
    coins = np.concatenate([np.full(2_000, 0.9999), np.zeros(2_000)])
    margins = np.ones(4_000)
    slow = query._replace(inner=Uniform(1e-6), audit=1e-9)
    memory = play(slow, margins[:2_000], coins[:2_000])[2]
    before = memory[LABELS]
    asked = 0
    for t in range(100):
        now = Context(2_001 + t, 2_001.0 + t, 0)
        p = query.chance(SURE, memory, now)
        query.spend(SURE, memory, p > 0.5, now)
        asked += p > 0.5
    assert before == 0
    assert 30 <= asked <= 40 + 0.1 * 100


def test_a_small_burst_is_held_and_used():
    X, y = lasec.streams.switching(10_000, dimension=10, seed=1)
    records = lasec.Tracker(10, budget=Budgeted(0.1, burst=16.0)).run(X, y)
    assert abs(records.labels - 1_000) <= 10
    spent = np.concatenate([[0], np.cumsum(records.asked)])
    assert (spent[100:] - spent[:-100]).max() <= 26
    assert records.propensity.min() > 0.0


def test_a_cold_start_asks():
    records = lasec.Tracker(rate=0.05).run(*lasec.streams.switching(2_000, seed=1))
    assert records.asked[:20].sum() >= 5
    assert records.asked[:200].sum() > 3 * 0.05 * 200


def test_a_total_is_never_exceeded():
    X, y = lasec.streams.stationary(30_000, dimension=5, noise=0.2, seed=1)
    query = Budgeted(rate=1.0, total=500, horizon=10_000)
    learner = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=5)
    records = learner.run(X, y)
    assert 440 <= records.asked[:10_000].sum() <= 500
    assert 480 <= records.labels <= 500
    assert records.asked[:5_000].sum() <= 300


def test_labels_a_day():
    """500 labels a day, by the clock, while the traffic changes tenfold between day and night."""
    rng = np.random.default_rng(0)
    day = 86_400.0
    times = np.cumsum(
        rng.exponential(1.0, 80_000) * np.where(np.arange(80_000) % 20_000 < 15_000, 5, 40)
    )
    X, y = lasec.streams.switching(80_000, dimension=5, every=20_000, seed=1)
    learner = lasec.Tracker(budget=Budgeted.every("1d", labels=500))
    records = learner.run(X, y, times=times)
    days = int(times[-1] // day)
    spent = np.histogram(times[records.asked], bins=days, range=(0.0, days * day))[0]
    assert np.abs(spent[1:] - 500).max() <= 225
    assert abs(spent.sum() - 500 * days) <= 300
    assert records.propensity.min() > 0.0


@pytest.mark.parametrize("kind", ["office hours", "one batch a day"])
def test_time_without_rows_loses_no_budget(kind):
    """200 labels a day, from rows that come from 9 to 17 h, or all at the same moment."""
    day, each, days = 86_400.0, 2_000, 6
    hours = np.linspace(9.0, 17.0, each) if kind == "office hours" else np.full(each, 9.0)
    times = np.concatenate([day * n + 3_600.0 * hours for n in range(days)])
    X, y = lasec.streams.switching(times.size, dimension=5, every=3_000, seed=1)
    tracker = lasec.Tracker(5, budget=Budgeted.every("1d", labels=200))
    records = tracker.run(X, y, times=times)
    spent = records.asked.reshape(days, each).sum(axis=1)
    assert np.abs(spent[2:] - 200).max() <= 40
    assert spent[:2].sum() <= 400
    assert records.propensity.min() > 1e-4
    assert tracker.selector.query_state[BLIND] == 0


def test_a_budget_by_time_needs_times():
    learner = lasec.Tracker(2, budget=Budgeted.every("1h", labels=10))
    with pytest.raises(ValueError, match="every row must say when it came"):
        learner.ask([1.0, 2.0])
    with pytest.raises(ValueError, match="every row must say when it came"):
        learner.run([[1.0, 2.0]], [1])
    assert learner.ask([1.0, 2.0], time=1.7e9).asked
    learner.ask([1.0, 2.0], time=1.6e9)  # a clock that jumps back stands still
    assert learner.rows == 2


def test_run_is_ask_and_tell_with_times():
    X, y = lasec.streams.switching(400, dimension=4, seed=1)
    times = np.cumsum(np.random.default_rng(1).exponential(60.0, 400))
    together, apart = (
        lasec.Tracker(4, budget=Budgeted.every("1h", labels=20), seed=3) for _ in range(2)
    )
    records = together.run(X, y, times=times)
    for t in range(400):
        decision = apart.ask(X[t], time=times[t])
        assert decision.propensity == records.propensity[t]
        if decision.asked:
            apart.tell(decision.ticket, int(y[t]))
    assert apart.to_bytes() == together.to_bytes()


def test_backpressure_slows_the_asking_and_says_so():
    margins, coins = np.full(300, 0.01), np.random.default_rng(0).random(300)
    query = Budgeted(0.4, max_open=20)
    chances = [
        play(query, margins, coins, waiting=np.full(300, waiting))[0]
        for waiting in (0, 10, 15, 20, 500)
    ]
    assert (chances[0] == chances[1]).all()
    assert chances[2][0] < chances[1][0]
    np.testing.assert_allclose(chances[3], 0.2 * 0.5 * 0.25)
    np.testing.assert_allclose(chances[4], 0.2 * 0.5 * 0.25)


def test_answered_questions_do_not_slow_the_asking():
    X, y = lasec.streams.switching(1_000, dimension=4, seed=1)
    asked = []
    for limit in (0, 20):
        tracker = lasec.Tracker(4, budget=Budgeted(0.2, max_open=limit), seed=1)
        for x, label in zip(X, y, strict=True):
            decision = tracker.ask(x)
            if decision.asked:
                tracker.tell(decision.ticket, int(label))
        asked.append(tracker.asked)
    assert asked[0] == asked[1]
    always = lasec.Learner(Perceptron(), Budgeted(1.0, max_open=5), dimension=4)
    for x in X[:50]:
        always.ask(x)
    assert len(always.pending) < 30


def test_backpressure_in_a_learner():
    X, _ = lasec.streams.switching(3_000, dimension=5, seed=1)
    counts = []
    for limit in (0, 30):
        tracker = lasec.Tracker(5, budget=Budgeted(0.2, max_open=limit))
        for x in X:
            tracker.ask(x)
        counts.append(tracker.asked)
    assert 600 <= counts[0] <= 700  # nothing is learned, so nothing is certain: up to the cap
    assert counts[1] < 200  # nobody answers: the audit goes on


def test_a_run_sees_the_questions_that_were_open_before():
    X, y = lasec.streams.switching(600, dimension=4, seed=1)
    together, apart = (
        lasec.Tracker(4, budget=Budgeted(0.3, max_open=40), seed=3, max_age=400) for _ in range(2)
    )
    for tracker in (together, apart):
        for x in X[:100]:
            tracker.ask(x)
    assert len(apart.pending) > 20
    records = together.run(X[100:350], y[100:350])
    for t in range(100, 350):
        decision = apart.ask(X[t])
        assert decision.propensity == records.propensity[t - 100]
        if decision.asked:
            apart.tell(decision.ticket, int(y[t]))
    assert apart.to_bytes() == together.to_bytes()
    together.run(X[350:], y[350:])
    assert together.pending == ()
    assert together.expired > 20


def test_hurry_asks_more_now_and_less_later():
    X, y = lasec.streams.stationary(12_000, dimension=5, noise=0.1, seed=1)
    spent = []
    for lent in (0, 60):
        tracker = lasec.Tracker(5, rate=0.1, seed=1)
        tracker.run(X[:4_000], y[:4_000])
        tracker.boost(lent, over=4_000)
        parts = [
            tracker.run(X[a : a + 1_000], y[a : a + 1_000]).labels
            for a in range(4_000, 12_000, 1_000)
        ]
        spent.append(parts)
    assert spent[1][0] >= spent[0][0] + 25
    assert abs(sum(spent[1]) - sum(spent[0])) <= 5


def test_every_loan_is_paid_back_in_its_own_time():
    query = Budgeted(0.1, warm_up=0.0)
    memory = query.init()
    now = Context(1, 1.0, 0)

    def left(rounds):
        for _ in range(rounds):
            query.spend(SURE, memory, False, now)
        return memory[BOOST]

    query.boost(memory, 50.0, 100.0)
    assert left(51) == pytest.approx(25.0)
    query.boost(memory, 100.0, 1_000.0)
    assert left(50) == pytest.approx(25.0 + 100.0 - 50 * 0.6)
    assert left(1_000) == 0.0
    query.boost(memory, 50.0, 500.0)
    assert left(100) == pytest.approx(40.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rate": 2.0}, "at most one label a row"),
        ({"burst": 15.0}, "burst must be at least 16"),
        ({"total": 0.5}, "total must be at least one"),
        ({"inner": Budgeted()}, "holds a budget itself"),
    ],
)
def test_parameters_that_do_not_go_together(options, words):
    with pytest.raises(ValueError, match=words):
        Budgeted(**options)
    with pytest.raises(TypeError, match="inner must be a query"):
        Budgeted(inner=0.5)


def test_a_budget_is_saved_with_the_query_inside():
    query = Budgeted(0.2, MarginSampling(0.3, power=1.7), max_open=7)
    X, y = lasec.streams.switching(500, dimension=3, seed=1)
    learner = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=3)
    learner.run(X[:300], y[:300])
    other = lasec.Learner.from_bytes(learner.to_bytes())
    assert other.query == query
    a, b = learner.run(X[300:], y[300:]), other.run(X[300:], y[300:])
    assert (a.propensity == b.propensity).all()
