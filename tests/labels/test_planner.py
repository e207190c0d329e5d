import numpy as np
import pytest

import lasec
from labels.synthetic import Chunk, metered, tossed, world
from lasec.metrics import Meter, plan


def scaled(chunk, k):
    return Chunk(**{**vars(chunk), "propensity": np.minimum(1.0, k * chunk.propensity)})


@pytest.mark.parametrize("k", [0.25, 0.5, 2.0])
def test_a_budget_buys_the_width_that_was_planned(k):
    truth = world(20_000, 31, rate=0.1)
    plans = []
    for seed in range(5):
        meter = metered(tossed(truth, seed))
        plans.append(meter.plan(labels=k * 2_000, window=20_000).width)
    other = scaled(truth, k)
    got = [metered(tossed(other, seed)).accuracy.width for seed in range(100, 105)]
    assert np.mean(plans) == pytest.approx(np.mean(got), rel=0.15)


def test_width_and_labels_are_each_others_inverse():
    meter = metered(tossed(world(5_000, 32), 32))
    for width in (0.02, 0.05, 0.2):
        wanted = meter.plan(width=width, window=10_000)
        back = meter.plan(labels=wanted.labels, window=10_000)
        assert back.width == pytest.approx(width, rel=0.02)
        assert back.width <= width * (1 + 1e-9)
        assert wanted.rate == wanted.labels / 10_000


def test_planning_ahead_for_asking_at_random():
    rng = np.random.default_rng(0)
    n, rate = 10_000, plan(width=0.05, window=10_000, accuracy=0.8).rate
    widths = []
    for _ in range(10):
        margin = np.full(n, 0.6)
        y = np.where(rng.random(n) < 0.8, 1, -1)
        q = np.full(n, rate)
        chunk = Chunk(np.ones(n), margin, q, rng.random(n) < q, np.arange(n), y)
        widths.append(metered(chunk).accuracy.width)
    assert np.mean(widths) == pytest.approx(0.05, rel=0.03)


def test_where_all_labels_do_not_suffice():
    assert plan(width=1e-6, window=500) == (500, 1.0, 0.0, 500)
    assert plan(labels=900, window=500) == (500, 1.0, 0.0, 500)
    meter = metered(tossed(world(2_000, 33), 33))
    assert meter.plan(width=1e-6, window=500) == (500, 1.0, 0.0, 500)


def test_before_the_first_label_the_worst_is_assumed():
    assert Meter().plan(width=0.05, window=10_000) == plan(width=0.05, window=10_000, accuracy=0.5)


def test_losses_cost_labels():
    chunk = tossed(world(4_000, 34, rate=0.3), 34)
    whole, half = metered(chunk), lasec.metrics.Meter(patience=1)
    for t, decision in enumerate(chunk.decisions()):
        half.ask(decision)
        if decision.asked and t % 2:
            half.tell(lasec.Outcome(decision, int(chunk.y[t]), False, True))
    ratio = half.plan(width=0.05).labels / whole.plan(width=0.05).labels
    assert 1.6 < ratio < 2.6


def test_a_curve_falls():
    curve = metered(tossed(world(3_000, 35), 35)).curve(window="12h", rows_per_day=20_000)
    widths = [point.width for point in curve]
    assert widths == sorted(widths, reverse=True)
    assert {point.window for point in curve} == {10_000}


@pytest.mark.parametrize(
    ("window", "rounds"), [("1d", 48_000), ("12h", 24_000), ("30min", 1_000), ("0.5 d", 24_000)]
)
def test_a_window_may_be_a_time(window, rounds):
    assert plan(labels=10, window=window, rows_per_day=48_000).window == rounds


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": "soon", "labels": 5}, {"window": "1d", "labels": 5}, {"window": 0, "labels": 5},
        {"window": 10}, {"window": 10, "labels": 5, "width": 0.1}, {"window": 10, "width": 0.0},
        {"window": 10, "labels": 0}, {"window": 10, "labels": 1, "accuracy": 1.5},
        {"window": 10, "labels": 1, "level": 1.0}, {"window": "1d", "labels": 1, "rows_per_day": 0},
    ],
)  # fmt: skip
def test_what_cannot_be_planned(wrong):
    with pytest.raises(ValueError, match=r"window|plan|width|labels|accuracy|level|rows_per_day"):
        plan(**wrong)
