"""Rows with dense columns and words: against the equations, the Tracker, and the sparse Tracker."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

import lasec
from lasec.nested import leaves, named
from lasec.rules import SparseTracking
from lasec.rules.tracker.columns import COLUMN, ENTRIES
from reference.mixed_tracker import MixedTracker

DENSE = 7


def same(one, other):
    for name, a, b in zip(named(one.state), leaves(one.state), leaves(other.state), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


def rows(count, seed, share=0.5, columns=80):
    """Numbers with offsets and units of their own, then words; both matter, by a share."""
    rng = np.random.default_rng(seed)
    law = 1.0 / np.arange(1, columns + 1)
    words = rng.poisson(10.0 * law / law.sum(), size=(count, columns)).astype(float)
    words[rng.random(count) < 0.1] = 0.0
    y = np.sign(words @ rng.normal(size=columns) + 0.1)
    numbers = rng.normal(size=(count, DENSE)) * [1, 2, 3, 0.1, 5, 1, 1] + [0, 1, 0, 0, 3, 0, 0]
    numbers[:, 5] = rng.random(count) < 0.3
    concept = rng.normal(size=DENSE) * np.where(np.arange(count) < count // 2, 1, -1)[:, None]
    z = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    y = np.where(rng.random(count) < share, np.sign((z * concept).sum(axis=1)), y)
    return hstack([csr_array(numbers), csr_array(words)], format="csr"), y.astype(int), numbers


def mixed(**options):
    return lasec.Tracker(rule=SparseTracking(dense=DENSE), seed=3, **options)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_margins_are_those_of_the_equations(share):
    """As close as covariances in single precision are to those in double, as for the Tracker."""
    X, y, _ = rows(1_200, seed=1, share=share)
    tracker, twin = mixed(rate=0.3), MixedTracker(X.shape[1], DENSE)
    records, dense = tracker.run(X, y), X.toarray()
    margins = np.empty(len(y))
    for t, (x, label) in enumerate(zip(dense, y, strict=True), 1):
        margins[t - 1] = twin.margin(x, t)
        twin.see(x)
        if records.asked[t - 1]:
            twin.update(x, label, t)
    np.testing.assert_allclose(records.margin, margins, rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(tracker.state.trust, twin.trust, rtol=0.0, atol=1e-5)
    assert (twin.trust[0] > 0.5) == (share < 0.5)  # who is right is trusted


def test_without_words_it_is_the_tracker():
    _, _, numbers = rows(1_500, seed=2)
    y = np.where(
        numbers @ [1, -1, 0.3, 5, 0.2, 1, 0] * np.tile([1, -1], (500, 1)).repeat(250)[:1500] > 0,
        1,
        -1,
    )
    words = csr_array((1_500, 40))
    plain, beside = lasec.Tracker(rate=0.3, seed=3), mixed(rate=0.3)
    one, other = plain.run(numbers, y), beside.run(hstack([csr_array(numbers), words]).tocsr(), y)
    np.testing.assert_array_equal(one.asked, other.asked)
    for name in ("margin", "variance", "propensity"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(plain.state.core.dense.weights, beside.state.alone.dense.weights)
    np.testing.assert_array_equal(plain.state.core.dense.weights, beside.state.joint.weights)
    np.testing.assert_array_equal(plain.state.core.dense.covs, beside.state.joint.covs)


def test_words_are_those_of_the_sparse_tracker_and_numbers_are_no_words():
    X, y, _ = rows(400, seed=4)
    tracker, sparse = mixed(rate=1.0), lasec.Tracker(rate=1.0, seed=3)
    tracker.run(X, y)
    sparse.run(X[:, DENSE:], y)
    np.testing.assert_array_equal(tracker.state.texts.rows, sparse.state.rows)
    found = tracker.state.texts.columns, sparse.state.columns
    one, other = (columns.entries[: columns.used[ENTRIES]] for columns in found)
    assert one[:, COLUMN].min() >= DENSE
    np.testing.assert_array_equal(one[:, COLUMN] - DENSE, other[:, COLUMN])
    np.testing.assert_array_equal(one[:, COLUMN + 1 :], other[:, COLUMN + 1 :])


@pytest.mark.parametrize("labels", [[-1, 1], ["ham", "spam", "eggs"]], ids=["two", "three"])
def test_every_form_says_the_same_and_a_file_goes_on(labels):
    X, y, _ = rows(360, seed=5)
    kinds = np.array(labels, dtype=object)
    y = kinds[(np.arange(360) % 5 == 0).astype(int) + (y > 0)] if len(labels) > 2 else y
    whole, single = mixed(rate=0.4), mixed(rate=0.4)
    records = whole.run(X, y)
    margins = []
    for i in range(360):
        if i == 200:
            single = lasec.Tracker.from_bytes(single.to_bytes())
        decision = single.ask(X[[i]] if i % 2 else X[[i]].toarray()[0])
        margins.append(decision.margin)
        if decision.asked:
            single.tell(decision.ticket, y[i])
    same(whole, single)
    np.testing.assert_array_equal(records.margin, margins)
    assert np.isfinite(whole.predict_proba(X[:9])).all()


def test_asking_changes_no_margin_and_open_questions_are_kept():
    X, y, _ = rows(200, seed=6)
    tracker = mixed(rate=0.3)
    tracker.run(X[:100], y[:100])
    before = tracker.margins(X, first=150)
    tickets = [t for t in tracker.ask_many(X[100:]).ticket.tolist() if tracker.is_open(t)]
    np.testing.assert_array_equal(tracker.margins(X, first=150), before)
    loaded = lasec.Tracker.from_bytes(tracker.to_bytes())
    for learner in (tracker, loaded):
        for ticket in tickets:
            learner.tell(ticket, y[ticket])
    same(tracker, loaded)


def test_a_new_class_keeps_what_is_known():
    X, y, _ = rows(400, seed=7, share=0.9)
    tracker = mixed(rate=1.0, classes=["ham", "spam"])
    tracker.run(X, np.where(y > 0, "spam", "ham"))
    before = tracker.predict_proba(X[:60])
    tracker.name_classes(["ham", "spam", "eggs"])
    after = tracker.predict_proba(X[:60])
    np.testing.assert_allclose(after.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(after[:, :2], before, atol=0.03)  # a logistic for Phi


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("trust", 0, 2.0), ("joint.covs", (0, 0), -1.0), ("alone.dense.covs", (0, 0), -1.0),
     ("alone.mixture.posterior", (0, 0, 0), 2.0), ("alone.units", 0, 7.0),
     ("alone.mixture.clock", 0, -1)],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused(name, place, value):
    X, y, _ = rows(100, seed=8)
    tracker = mixed(rate=0.3)
    tracker.run(X, y)
    broken = copy.copy(tracker)
    named(broken.state)[name][place] = value
    with pytest.raises(lasec.StateError, match="invalid"):
        broken.to_bytes()


def test_a_state_of_words_alone_has_none_of_it():
    state, mixed = (SparseTracking(dense=d).init(dimension=5) for d in (0, 2))
    for name, array in named(mixed.texts).items():
        assert named(state)[name].shape == array.shape, name
    assert len(named(state)) == len(named(mixed.texts)) < len(named(mixed)) - 10
