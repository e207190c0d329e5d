"""Metrics of probabilities from queried labels: exact with all, honest with few."""

import numpy as np
import pytest
from sklearn import metrics as sk

from lasec.metrics import Scores
from lasec.metrics.score_bins import EDGES

NAMES = ["log_loss", "brier", "average_precision", "calibration"]


def population(rng, n=6_000, prior=(0.7, 0.25, 0.05), separation=2.0, sure=1.5):
    """True classes, probabilities that are too sure, and queries where the model is not."""
    true = rng.choice(len(prior), n, p=prior)
    scores = rng.normal(size=(n, len(prior)))
    scores[np.arange(n), true] += separation
    odds = np.exp(sure * (separation * scores + np.log(prior)))
    p = odds / odds.sum(axis=1, keepdims=True)
    return true, p, 0.1 + 0.4 * (p.max(axis=1) < 0.8)


def scores_of(true, p, q, at):
    return Scores.of_rows(p, q) + Scores.of_labels(p[at], true[at], q[at])


def everything(true, p):
    ones = np.ones(len(true))
    return scores_of(true, p, ones, ones > 0.0)


def estimate(scores, name):
    rarest = len(scores.bins) - 1
    if name in ("log_loss", "brier"):
        return getattr(scores, name)()
    found = getattr(scores, name)(rarest)
    return found.error if name == "calibration" else found


def expected_calibration_error(hit, p):
    """The textbook's: in ten equal bins."""
    place, total = np.floor(p * 10).clip(0, 9), 0.0
    for at in range(10):
        if (place == at).any():
            total += (place == at).mean() * abs(p[place == at].mean() - hit[place == at].mean())
    return total


@pytest.mark.parametrize("prior", [(0.7, 0.25, 0.05), (0.97, 0.03)])
def test_with_every_label_it_is_the_truth(prior):
    true, p, _ = population(np.random.default_rng(0), prior=prior)
    k = len(prior) - 1
    scores = everything(true, p)
    one = np.eye(len(prior))[true]
    brier = ((p - one) ** 2).sum(axis=1).mean() / (2.0 if k == 1 else 1.0)
    wanted = {
        "log_loss": sk.log_loss(true, p),
        "brier": brier,
        "calibration": expected_calibration_error(true == k, p[:, k]),
    }
    assert sk.brier_score_loss(true == k, p[:, k]) == pytest.approx(brier) or k > 1
    for name, value in wanted.items():
        found = estimate(scores, name)
        assert found[:3] == pytest.approx((value, value, value)), name
    found = scores.average_precision(k)
    assert found.value == pytest.approx(sk.average_precision_score(true == k, p[:, k]), abs=0.005)
    assert found.width < 1e-9


@pytest.mark.parametrize("sure", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("n", "share"), [(2_000, 0.05), (100_000, 0.001)])
def test_the_grid_changes_average_precision_by_less_than_a_hundredth(n, share, sure):
    rng = np.random.default_rng(1)
    for _ in range(10):
        true = rng.random(n) < share
        p = 1.0 / (1.0 + np.exp(-sure * (2.0 * rng.normal(2.0 * true, 1.0) - 2.0 + np.log(share))))
        exact = sk.average_precision_score(true, p)
        assert everything(true, p).average_precision().value == pytest.approx(exact, abs=0.01)


def test_scores_that_are_ties_have_their_precision():
    true = np.arange(1_000) % 4 == 0
    found = everything(true, np.full(1_000, 0.3)).average_precision()
    assert found.value == pytest.approx(0.25, abs=0.002)


def test_parts_add_up_and_make_room_for_classes():
    rng = np.random.default_rng(2)
    true, p, q = population(rng)
    at, half = rng.random(len(q)) < q, np.arange(len(q)) < 2_000
    whole = scores_of(true, p, q, at)
    parts = [scores_of(true[s], p[s], q[s], at[s]) for s in (half, ~half)]
    for one, both in zip(whole, parts[0] + parts[1], strict=True):
        np.testing.assert_allclose(one, both)
    two = population(rng, prior=(0.9, 0.1))[:2]
    joined = everything(*two) + everything(true, p)
    wide = np.column_stack([two[1], np.zeros(len(two[0]))])
    again = everything(np.concatenate([two[0], true]), np.concatenate([wide, p]))
    for name in NAMES:
        assert estimate(joined, name).value == pytest.approx(estimate(again, name).value), name


def test_one_dimension_is_the_second_of_two_classes():
    true, p, q = population(np.random.default_rng(3), prior=(0.9, 0.1))
    at = q > 0.2
    for one, other in zip(scores_of(true, p, q, at), scores_of(true, p[:, 1], q, at), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize(
    ("prior", "n"), [((0.7, 0.25, 0.05), 6_000), ((0.99, 0.01), 20_000), ((0.999, 0.001), 30_000)]
)
def test_intervals_cover_and_nothing_is_biased(prior, n, lost):
    rng = np.random.default_rng(4)
    errors, covered = {name: [] for name in NAMES}, {name: [] for name in NAMES}
    for _ in range(120):
        true, p, q = population(rng, n, prior, separation=2.5)
        at = (rng.random(n) < q) & (rng.random(n) >= lost)
        scores, truth = scores_of(true, p, q, at), everything(true, p)
        for name in NAMES:
            found, value = estimate(scores, name), estimate(truth, name).value
            errors[name].append(found.value - value)
            covered[name].append(found.low - 1e-9 <= value <= found.high + 1e-9)
    for name in NAMES:
        assert np.mean(covered[name]) > 0.88, name  # three standard errors below 0.95
        off = np.array(errors[name])
        off = off[~np.isnan(off)]
        slack = 0.01 if name in ("average_precision", "calibration") else 0.001
        assert abs(off.mean()) < 3.0 * off.std() / np.sqrt(off.size) + slack, name


def test_the_variance_is_that_of_the_draws():
    """Queries drawn again and again over the same rows; a calibration error has both signs."""
    rng = np.random.default_rng(5)
    true, p, q = population(rng, 20_000, (0.9, 0.1))
    made = [scores_of(true, p, q, rng.random(len(q)) < q) for _ in range(200)]
    for name, most in zip(NAMES, (1.3, 1.3, 1.3, 2.0), strict=True):
        found = [estimate(scores, name) for scores in made]
        spread = 3.92 * np.std([one.value for one in found])
        ratio = np.mean([one.width for one in found]) / spread
        assert 0.85 < ratio < most, (name, ratio)


def test_few_labels_say_little():
    p, q = np.full(1_000, 0.001), np.full(1_000, 0.01)
    rows = Scores.of_rows(p, q)
    for name in NAMES:
        found = estimate(rows, name)
        assert np.isnan(found.value), name
        assert (found.low, found.high >= 1.0) == (0.0, True), name
    hit = rows + Scores.of_labels([0.001] * 5, [0, 0, 0, 0, 1], [0.01] * 5)
    assert hit.average_precision().width > 0.9
    none = rows + Scores.of_labels([0.001] * 10, [0] * 10, [0.01] * 10)
    assert np.isnan(none.average_precision().value)
    (only,) = none.calibration().bins
    assert only.observed.value == 0.0
    assert only.observed.high > 0.25


def test_bins_without_a_label_say_so():
    p = np.array([0.05] * 900 + [0.95] * 100)
    scores = Scores.of_rows(p, np.full(1_000, 0.1))
    scores += Scores.of_labels(p[:90], np.arange(90) % 20 == 0, np.full(90, 0.1))
    low, high = scores.calibration().bins
    assert (low.known, high.known) == (True, False)
    assert (high.low, high.high, high.observed.rows) == (0.9, 1.0, 100)
    assert np.isnan(high.observed.value)
    assert (high.observed.low, high.observed.high) == (0.0, 1.0)
    error = scores.calibration().error
    assert error.value < 0.05
    assert error.high > 0.1 * 0.95  # the rows that nobody labeled may all be wrong


def test_lost_labels_leave_a_doubt_even_where_every_row_is_queried():
    rng = np.random.default_rng(6)
    true, p, _ = population(rng, prior=(0.9, 0.1))
    scores = scores_of(true, p, np.ones(len(true)), rng.random(len(true)) < 0.5)
    for name in NAMES:
        assert estimate(scores, name).width > 1e-3, name


def test_bins_have_round_numbers():
    assert {k / 20 for k in range(1, 20)} <= set(EDGES.tolist())
    p = np.array([0.0, 0.1, 0.3, 0.7, 1.0])
    made = everything(np.array([0, 0, 1, 1, 1]), p).calibration()
    assert [one.low for one in made.bins] == [0.0, 0.1, 0.3, 0.7, 0.9]


def test_what_is_refused():
    with pytest.raises(ValueError, match="probabilities must be between 0 and 1"):
        Scores.of_rows([1.2], [0.5])
    with pytest.raises(ValueError, match="propensity must be between 0 and 1"):
        Scores.of_rows([0.2], [np.nan])
    with pytest.raises(ValueError, match="propensity must be above 0"):
        Scores.of_labels([0.2], [1], [0.0])
    with pytest.raises(ValueError, match="each of the 2 rows"):
        Scores.of_rows([0.2, 0.3], [0.5])
    with pytest.raises(ValueError, match="bins must be 5, 10 or 20"):
        Scores.none(2).calibration(bins=7)
