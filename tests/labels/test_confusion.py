"""The confusion matrix and its metrics from queried labels: exact with all, honest with few."""

import numpy as np
import pytest
from sklearn import metrics as sk

from lasec.metrics import Confusion

COSTS = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
CASES = [
    ("precision", 1), ("precision", 2), ("recall", 1), ("recall", 2), ("f1", 1), ("cost", 0),
    ("balanced_accuracy", 0), ("macro_precision", 0), ("macro_f1", 0),
]  # fmt: skip


def population(rng, n=4_000, prior=(0.7, 0.25, 0.05)):
    """True and predicted classes, and the probability of a query: higher where errors are."""
    true, hard = rng.choice(3, n, p=prior), rng.random(n)
    predicted = np.where(rng.random(n) < 0.3 * hard, rng.integers(0, 3, n), true)
    return true, predicted, 0.05 + 0.1 * hard


def table_of(true, predicted, q, asked):
    rows = Confusion.of_rows(predicted, 3)
    return rows + Confusion.of_labels(predicted[asked], true[asked], q[asked], 3)


def estimate(table, metric, positive):
    return table.estimate(metric, positive=positive, costs=COSTS if metric == "cost" else None)


def test_with_every_label_it_is_the_truth():
    rng = np.random.default_rng(0)
    true, predicted, _ = population(rng)
    table = table_of(true, predicted, np.ones(len(true)), np.ones(len(true), dtype=bool))
    np.testing.assert_allclose(table.cells, sk.confusion_matrix(true, predicted).T)
    wanted = {
        ("precision", 1): sk.precision_score(true, predicted, average=None)[1],
        ("recall", 2): sk.recall_score(true, predicted, average=None)[2],
        ("f1", 1): sk.f1_score(true, predicted, average=None)[1],
        ("balanced_accuracy", 0): sk.balanced_accuracy_score(true, predicted),
        ("macro_precision", 0): sk.precision_score(true, predicted, average="macro"),
        ("macro_f1", 0): sk.f1_score(true, predicted, average="macro"),
        ("cost", 0): COSTS[predicted, true].mean(),
    }
    for (metric, positive), value in wanted.items():
        found = estimate(table, metric, positive)
        assert (found.value, found.low, found.high) == pytest.approx((value, value, value))


def test_parts_add_up_and_make_room_for_classes():
    rng = np.random.default_rng(1)
    true, predicted, q = population(rng)
    asked = rng.random(len(q)) < q
    whole, half = table_of(true, predicted, q, asked), np.arange(len(q)) < 1_500
    parts = [table_of(true[at], predicted[at], q[at], asked[at]) for at in (half, ~half)]
    for one, both in zip(whole, parts[0] + parts[1], strict=True):
        np.testing.assert_allclose(one, both)
    few = Confusion.of_labels([0], [1], [0.5], classes=2) + Confusion.none(3)
    assert few.weights.tolist() == [[0.0, 2.0, 0.0], [0.0] * 3, [0.0] * 3]


def test_the_variance_is_that_of_the_draws():
    """Queries drawn again and again over the same rows."""
    rng = np.random.default_rng(2)
    true, predicted, q = population(rng, 20_000)
    made = [table_of(true, predicted, q, rng.random(len(q)) < q) for _ in range(300)]
    for metric, positive in (("cost", 0), ("recall", 1), ("f1", 1), ("macro_f1", 0)):
        found = [estimate(table, metric, positive) for table in made]
        spread = np.std([one.value for one in found])
        assert np.mean([one.width for one in found]) == pytest.approx(3.92 * spread, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_intervals_cover_and_nothing_is_biased(lost):
    rng = np.random.default_rng(3)
    errors, covered = {case: [] for case in CASES}, {case: [] for case in CASES}
    for _ in range(300):
        true, predicted, q = population(rng)
        asked = (rng.random(len(q)) < q) & (rng.random(len(q)) >= lost)
        table = table_of(true, predicted, q, asked)
        truth = table_of(true, predicted, np.ones(len(q)), np.ones(len(q), dtype=bool))
        for case in CASES:
            found, value = estimate(table, *case), estimate(truth, *case).value
            errors[case].append(found.value - value)
            covered[case].append(found.low - 1e-9 <= value <= found.high + 1e-9)
    for case in CASES:
        assert np.mean(covered[case]) > 0.89, case  # three standard errors below 0.94
        assert abs(np.mean(errors[case])) < 3.0 * np.std(errors[case]) / np.sqrt(300) + 0.005, case


def test_rare_classes_have_wide_intervals_that_cover():
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(200):
        true, predicted, q = population(rng, prior=(0.98, 0.01, 0.01))
        table = table_of(true, predicted, q, rng.random(len(q)) < q)
        value = (predicted[true == 1] == 1).mean()
        found = table.estimate("recall", positive=1)
        covered.append(found.low <= value <= found.high)
    assert np.mean(covered) > 0.95


def test_lost_labels_leave_a_doubt_even_where_every_row_is_queried():
    rng = np.random.default_rng(5)
    covered, ones = [], np.ones(4_000)
    for _ in range(200):
        true, predicted, _ = population(rng)
        table = table_of(true, predicted, ones, rng.random(len(true)) < 0.5)
        found = table.estimate("cost", costs=1.0 - np.eye(3))
        assert 0.0 < found.width < 0.05
        covered.append(found.low <= (true != predicted).mean() <= found.high)
    assert 0.9 < np.mean(covered) < 1.0


def test_what_nobody_labeled_is_as_good_as_the_rest():
    table = Confusion.of_rows(np.array([0] * 100 + [1] * 100), classes=2)
    table += Confusion.of_labels([0] * 10, [0] * 9 + [1], [0.1] * 10, classes=2)
    np.testing.assert_allclose(table.cells, [[90.0, 10.0], [10.0, 90.0]])
    found = table.estimate("precision", positive=1)
    assert found.value == pytest.approx(0.9)
    assert found.width > 0.8
    nothing = Confusion.none(2).estimate("recall")
    assert np.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


def test_what_is_refused():
    with pytest.raises(ValueError, match="metric must be one of precision"):
        Confusion.none(2).estimate("kappa")
    with pytest.raises(ValueError, match="costs"):
        Confusion.none(2).estimate("cost")
