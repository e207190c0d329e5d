"""The budget against its equations, row by row, and what it declares and refuses."""

import numpy as np
import pytest

from lasec.queries import (
    Always,
    Budgeted,
    MarginSampling,
    UncertaintySampling,
    Uniform,
    VarianceThreshold,
)
from lasec.queries.account import (
    BLIND,
    BOOST,
    CROWD,
    FIRST,
    LABELS,
    LAST,
    REPAY,
    ROUNDS,
    SHIFT,
    TOKENS,
    USUAL,
    settled,
)
from lasec.types import Context, Margin
from reference.budget import Budget

DAY = 86_400.0
BUDGETS = {
    "calm": Budgeted(0.1),
    "many labels": Budgeted(0.6, MarginSampling(0.5), audit=1.0),
    "few labels": Budgeted(0.01, warm_up=0.0, window=300.0),
    "every row": Budgeted(1.0),
    "every row, if few wait": Budgeted(1.0, max_open=8),
    "small bucket": Budgeted(0.3, Uniform(0.9), burst=16.0),
    "total": Budgeted(0.5, total=60.0, horizon=300.0, burst=40.0),
    "total at a high rate": Budgeted(1.0, total=90.0, horizon=2_000.0),
    "backpressure": Budgeted(0.4, max_open=12),
    "by time": Budgeted.every("1d", labels=60.0),
    "by time, many": Budgeted.every("1h", labels=500.0, warm_up=10.0),
    "by time, hardly any": Budgeted.every("1h", labels=0.5, burst=20.0),
    "by time, bucket": Budgeted.every("1d", labels=100.0, burst=20.0),
    "by time, total": Budgeted.every("1d", labels=300.0, total=100.0),
}


@pytest.mark.parametrize("size", [0.05, 1.0])
@pytest.mark.parametrize("name", BUDGETS)
def test_every_chance_is_that_of_the_equations(name, size):
    """Margins small and large, clocks that stand and jump back, boosts, questions that wait."""
    query, rng = BUDGETS[name], np.random.default_rng(len(name))
    state, other, rows = query.init(), Budget(query), 500
    times = 1.7e9 + np.cumsum(rng.exponential(900.0, rows) * rng.integers(0, 3, rows))
    times[100:103] -= 5_000.0
    chances = []
    for t, (time, margin) in enumerate(zip(times, rng.standard_normal(rows) * size, strict=True)):
        waiting = int(rng.integers(0, 16))
        now, seen = Context(t + 1, float(time), waiting), Margin(margin, 0.0, margin)
        chances.append(query.chance(seen, state, now))
        assert chances[-1] == pytest.approx(other.chance(margin, time, waiting), rel=1e-9)
        asked = bool(rng.random() < chances[-1] ** 0.7)  # luckier than it should be
        query.spend(seen, state, asked, now)
        other.spend(asked)
        if t in (200, 240):
            over = 40.0 * (DAY / 20.0 if query.timed else 1.0)
            query.boost(state, 9.0, over)
            other.boost, other.repay = other.boost + 9.0, other.repay + 9.0 / over
    assert len(set(chances)) > 100 or name == "every row"
    assert state[[ROUNDS, LABELS, BLIND]].tolist() == [other.rows, other.labels, other.blind]
    assert state[TOKENS] == pytest.approx(other.tokens, rel=1e-9)
    assert query.validate_state(state) == ""


def test_what_is_planned_follows_rows_time_and_the_total():
    state = Budgeted().init()
    state[ROUNDS], state[FIRST], state[LAST] = 200.0, 10.0, 60.0
    assert Budgeted(0.1).planned(state) == pytest.approx(20.0)
    assert Budgeted(0.1, timed=True).planned(state) == pytest.approx(5.0)
    assert Budgeted(0.1, total=50.0, horizon=400.0).planned(state) == pytest.approx(20.0)
    assert Budgeted(0.5, total=50.0, horizon=400.0).planned(state) == pytest.approx(25.0)
    assert Budgeted(0.5, total=50.0, horizon=100.0).planned(state) == pytest.approx(50.0)
    assert Budgeted(0.5, total=1.0, horizon=400.0).planned(state) == pytest.approx(0.5)


def test_a_window_of_time_sets_rate_and_horizon():
    query = Budgeted.every("12h", labels=36)
    assert (query.rate, query.window, query.horizon) == (36 / 43_200, 43_200.0, 432_000.0)
    assert Budgeted.every(7.0, labels=14, horizon=70).rate == 2.0
    for window, labels in ((0.0, 1), ("1d", 0.0), ("1d", -1), ("1 moon", 1)):
        with pytest.raises(ValueError, match=r"window|labels"):
            Budgeted.every(window, labels=labels)


def test_a_state_that_cannot_be_is_refused():
    """Each number at its limits is fine, and beyond them it is not."""
    query = Budgeted(0.1)
    burst = settled(query)[2]
    good = query.init()
    good[[ROUNDS, LABELS, FIRST, LAST]] = [100.0, 10.0, 1.0, 100.0]
    limits = {
        LABELS: (0.0, 100.0), SHIFT: (-18.0, 18.0), TOKENS: (0.0, burst), BOOST: (0.0, 1e9),
        REPAY: (0.0, 1e9), CROWD: (0.0, 1e9), BLIND: (0.0, 100.0), LAST: (1.0, 1e12),
        USUAL: (0.0, 1e9),
    }  # fmt: skip
    for place, (low, high) in limits.items():
        for value, fine in ((low, True), (high, True), (low - 1e-6, False)):
            state = good.copy()
            state[place] = value
            assert (query.validate_state(state) == "") == fine, (place, value)
        state = good.copy()
        state[place] = high + 1e-6
        assert (query.validate_state(state) == "") == (high >= 1e9), place
    assert len(good) == 11


def test_a_budget_on_its_limits_is_taken():
    assert Budgeted(1.0, burst=16.0, total=1.0).validate() == ""
    assert Budgeted(1.5, timed=True).validate() == ""
    for wrong in ({"rate": 1.001}, {"burst": 15.9}, {"total": 0.9}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Budgeted(**wrong)


@pytest.mark.parametrize(
    ("query", "weights"),
    [(Always(), True), (Uniform(0.2), True), (MarginSampling(), True),
     (UncertaintySampling(), True), (VarianceThreshold(), False), (Budgeted(), True)], ids=repr,
)  # fmt: skip
def test_what_a_query_declares(query, weights):
    """Whether its labels can be weighted; and more variance never asks less."""
    assert query.has_propensity == weights
    margins = [Margin(0.8, v, 0.8 / np.sqrt(1.0 + v)) for v in (0.0, 0.1, 1.0, 10.0, 1e4)]
    found = [query.probability(margin, 9) for margin in margins]
    assert found == sorted(found)
    assert (min(found) > 0.0) == weights
