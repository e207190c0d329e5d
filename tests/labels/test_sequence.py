import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lasec
from labels.synthetic import Chunk, metered, tossed, world
from lasec.metrics import confidence_sequence as sequence
from lasec.metrics import sums
from lasec.metrics.means import errors

LIMIT = math.log(20.0)
SURE = st.floats(0.001, 0.999)


def factors(p, q, z, y):
    """log K of each row and bet, as the meter adds it up."""
    rows = sums.of_rows(p, q, q)[:, sums.SUMS :]
    rows[z] += sums.of_answers(p[z], q[z], y[z] > 0.0, q[z])[:, sums.SUMS :]
    return rows


@given(
    st.lists(st.tuples(SURE, st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=4),
    st.floats(0.1, 1.0),
)
@settings(max_examples=150, deadline=None)
def test_the_martingale_has_mean_one(rounds, reaction):
    """Over all ways in which the coins can fall, with propensities that depend on earlier coins."""
    p, base, up = (np.array(column, dtype=float) for column in zip(*rounds, strict=True))
    y = np.where(up > 0.0, 1.0, -1.0)
    missing = ((y > 0.0) - p).sum()
    mean = np.zeros(sequence.BETS.size)
    for coins in itertools.product([False, True], repeat=len(rounds)):
        z = np.array(coins)
        before = np.concatenate([[0.0], np.cumsum(z)[:-1]])
        q = np.clip(base * reaction**before, 1e-4, 1.0)
        chance = np.where(z, q, 1.0 - q).prod()
        if chance > 0.0:
            log_k = factors(p, q, z, y).sum(axis=0)
            mean += chance * np.exp(log_k - sequence.BETS * missing)
    np.testing.assert_allclose(mean, 1.0, rtol=1e-8)


def test_a_blind_round_never_raises_the_martingale():
    p = np.linspace(0.001, 0.999, 50)
    log_h = sums.of_rows(p, np.zeros(50), np.zeros(50))[:, sums.SUMS :]
    for d in (-p, 1.0 - p):
        assert (log_h <= np.outer(d, sequence.BETS) + 1e-12).all()


@given(st.integers(0, 10_000), st.floats(0.001, 0.2))
@settings(max_examples=40, deadline=None)
def test_the_interval_is_where_the_evidence_is_below_the_limit(seed, alpha):
    chunk = tossed(world(300, seed, rate=0.3), seed)
    y = chunk.y.astype(float)
    log_k = factors(chunk.p, chunk.propensity, chunk.asked, y).sum(axis=0)
    low, high = sequence.interval(log_k, -300.0, 300.0, alpha)
    limit = -math.log(alpha)
    for d in np.linspace(-300.0, 300.0, 301):
        if min(abs(d - low), abs(d - high)) > 1e-6:
            assert (sequence.evidence(log_k, d) < limit) == (low < d < high)
    for end in (low, high):
        if abs(end) < 300.0:
            assert sequence.evidence(log_k, end) == pytest.approx(limit, abs=1e-5)


def test_an_empty_set_is_a_point_and_a_narrow_range_is_kept():
    low, high = sequence.interval(np.full(sequence.BETS.size, 10.0), -5.0, 5.0, 0.05)
    assert low == high == pytest.approx(0.0, abs=1e-6)
    assert sequence.interval(np.zeros(sequence.BETS.size), -0.5, 0.5, 0.05) == (-0.5, 0.5)


def many(sims, rounds, seed):
    """Many runs at once, with drift and with propensities that react to the last answer."""
    rng = np.random.default_rng(seed)
    margin = rng.beta(0.8, 0.8, (rounds, sims)) * 2.0 - 1.0
    turn = np.where(np.arange(rounds) % 400 < 200, 0.9, -0.4)[:, None]
    y = np.where(rng.random((rounds, sims)) < (1.0 + turn * margin) / 2.0, 1.0, -1.0)
    label = np.where(margin >= 0.0, 1.0, -1.0)
    q, z = np.empty((rounds, sims)), np.empty((rounds, sims), dtype=bool)
    alarm = np.zeros(sims)
    coins = rng.random((rounds, sims))
    for t in range(rounds):
        q[t] = np.clip((0.05 + 0.2 * alarm) / (0.2 + np.abs(margin[t])), 0.02, 1.0)
        z[t] = coins[t] < q[t]
        alarm = np.where(z[t], label[t] != y[t], alarm)
    return Chunk(label, margin, q, z, np.arange(rounds), y)


@pytest.mark.slow
def test_it_holds_at_all_times_at_once():
    sims, misses = 1_000, 0
    runs = many(sims, 600, seed=1)
    for i in range(sims):
        p, y = runs.p[:, i], runs.y[:, i]
        missing = np.cumsum((y > 0.0) - p)
        log_k = np.cumsum(factors(p, runs.propensity[:, i], runs.asked[:, i], y), axis=0)
        terms = log_k - np.outer(missing, sequence.BETS)
        most = terms.max(axis=1)
        average = most + np.log(np.exp(terms - most[:, None]).mean(axis=1))
        misses += bool((average >= LIMIT).any())
    assert misses / sims <= 0.05


@pytest.mark.slow
def test_the_normal_interval_fails_when_looked_at_often_and_the_sequence_does_not():
    truth = world(2_000, 21, rate=0.2)
    right = np.cumsum(truth.label == truth.y)
    missed = np.zeros(2)
    for seed in range(80):
        chunk = tossed(truth, seed)
        meter, off = lasec.metrics.Meter(window=None), np.zeros(2, dtype=bool)
        for start in range(0, 2_000, 50):
            meter.extend(chunk[start : start + 50], chunk.y[start : start + 50])
            want = right[start + 49] / (start + 50)
            for i, kind in enumerate(("normal", "anytime")):
                off[i] |= want not in meter.estimate(interval=kind)
        missed += off
    assert missed[0] / 80 > 0.15  # three times what it promises for a single look
    assert missed[1] / 80 <= 0.05


@pytest.mark.slow
def test_all_windows_hold_at_once():
    truth = world(1_500, 23, rate=0.2)
    right = (truth.label == truth.y) * 1.0
    missed = 0
    for seed in range(60):
        chunk = tossed(truth, seed)
        meter, off = lasec.metrics.Meter(window=200), False
        for start in range(0, 1_500, 50):
            meter.extend(chunk[start : start + 50], chunk.y[start : start + 50])
            got = meter.estimate(over="window", interval="anytime")
            off |= right[got.until - got.rows : got.until].mean() not in got
        missed += off
    assert missed / 60 <= 0.05


def test_later_windows_pay_for_their_number():
    chunk = tossed(world(4_000, 24, rate=0.3), 24)
    meter = metered(chunk, window=320)
    scope = meter._sums.scope(lasec.metrics.Over.WINDOW)
    assert scope.start == 400 - 32 + 1
    assert scope.until == 4_000
    got = meter.estimate(over="window", interval="anytime")
    low, high = errors(scope, 0.05 / (369 * 370))
    assert got[1:3] == pytest.approx((1.0 - high / 320, 1.0 - low / 320), rel=1e-12)
    alone = metered(chunk[-320:], window=None).estimate(interval="anytime")
    assert alone.width < got.width < 2.5 * alone.width


def test_the_error_is_made_of_both_classes():
    """The martingale of the error is that of its own channel."""
    chunk = tossed(world(500, 25, rate=0.3), 25)
    scope = metered(chunk, window=None)._sums
    scope = scope.scope(lasec.metrics.Over.ALL)
    wrong_if_minus, wrong = chunk.label > 0, chunk.label != chunk.y
    guess = np.where(wrong_if_minus, 1.0 - chunk.p, chunk.p)
    e = np.where(wrong, 1.0, -1.0)
    log_k = factors(guess, chunk.propensity, chunk.asked, e).sum(axis=0)
    low, high = sequence.interval(log_k, -guess.sum(), 500.0 - guess.sum(), 0.05)
    assert errors(scope, 0.05) == pytest.approx((guess.sum() + low, guess.sum() + high), rel=1e-9)


def test_what_is_known_bounds_what_is_not():
    chunk = tossed(world(40, 26, rate=0.5), 26)
    scope = metered(chunk, window=None)._sums.scope(lasec.metrics.Over.ALL)
    low, high = errors(scope, 1e-12)
    wrong = chunk.label != chunk.y
    assert low == pytest.approx((chunk.asked & wrong).sum())
    assert high == pytest.approx(40 - (chunk.asked & ~wrong).sum())


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2, 0.4])
def test_the_price_of_looking_at_any_time(rate):
    widths = []
    for seed in range(8):
        meter = metered(tossed(world(10_000, 27, rate=rate), seed), window=None)
        widths.append([meter.estimate(interval=kind).width for kind in ("normal", "anytime")])
    normal, anytime = np.mean(widths, axis=0)
    assert 1.4 < anytime / normal < 2.3, (normal, anytime)
