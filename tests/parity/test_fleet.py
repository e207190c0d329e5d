"""A fleet's model does to its rows what a learner of its own would do."""

import numpy as np
import pytest

import lasec
from fleets import simulate

MODELS, DIMENSION, ROWS = 40, 6, 6_000
RULE, QUERY = lasec.rules.SecondOrder(0.02, 0.5), lasec.queries.MarginSampling(0.05)


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(3)
    keys = np.minimum(rng.geometric(0.08, ROWS) - 1, MODELS - 1)  # many rows for some, few for most
    X = rng.standard_normal((ROWS, DIMENSION))
    targets = rng.standard_normal((MODELS, DIMENSION))
    return keys, X, np.where((X * targets[keys]).sum(axis=1) >= 0.0, 1, -1)


def fleet(**options):
    return lasec.Fleet(RULE, QUERY, models=MODELS, dimension=DIMENSION, seed=9, **options)


def alone(whole, key):
    return lasec.Learner(RULE, QUERY, dimension=DIMENSION, seed=int(whole.seeds[key]))


def test_each_model_is_a_learner_of_its_own(batch):
    keys, X, y = batch
    whole = fleet()
    records = simulate(whole, *batch)
    assert 0.1 < records.rate < 0.9
    for key in range(MODELS):
        mine, single = keys == key, alone(whole, key)
        expected = single.run(X[mine], y[mine])
        for name in ("label", "asked", "mistake", "updated"):
            np.testing.assert_array_equal(getattr(records, name)[mine], getattr(expected, name))
        for name in ("margin", "variance", "propensity"):
            np.testing.assert_allclose(
                getattr(records, name)[mine], getattr(expected, name), rtol=1e-10, atol=1e-12
            )
        np.testing.assert_array_equal(records.ticket[mine], np.arange(mine.sum()))
        taken = whole.learner(key)
        assert repr(taken) == repr(single)
        np.testing.assert_allclose(taken.state.cov, single.state.cov, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(
            taken.state.weights, single.state.weights, rtol=1e-11, atol=1e-13
        )


@pytest.mark.parametrize("threads", [1, 2, 7, 64])
def test_threads_and_cuts_change_nothing(batch, threads):
    expected, cut = fleet(threads=1), fleet(threads=threads)
    records = simulate(expected, *batch)
    pieces = [
        simulate(cut, *(array[part] for array in batch))
        for part in np.split(np.arange(ROWS), [0, 7, 500, 3_000])
    ]
    for name in ("asked", "updated", "ticket", "key"):
        joined = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(records, name))
    np.testing.assert_allclose(cut.state.cov, expected.state.cov, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(cut.rows, expected.rows)
    np.testing.assert_array_equal(cut.asked, expected.asked)
    np.testing.assert_array_equal(cut.updates, expected.updates)


def test_draws_can_be_passed(batch):
    hardly, always = fleet(), fleet()
    records = simulate(hardly, *batch, draws=np.full(ROWS, 1.0 - 1e-12))
    np.testing.assert_array_equal(records.asked, records.propensity == 1.0)
    assert 0 < records.labels < ROWS / 10
    assert simulate(always, *batch, draws=np.zeros(ROWS)).labels == ROWS


def test_models_have_draws_of_their_own():
    one = lasec.Fleet(RULE, QUERY, models=1_000, dimension=2, seed=1)
    two = lasec.Fleet(RULE, QUERY, models=1_000, dimension=2, seed=2)
    assert np.unique(np.concatenate([one.seeds, two.seeds])).size == 2_000


def test_a_row_too_large_is_one_models_trouble_only(batch):
    """It is predicted and counted; everything else is as if it were not there."""
    keys, X, y = batch
    rule = lasec.rules.SecondOrder(0.0, 1.0)
    clean = lasec.Fleet(rule, models=MODELS, dimension=DIMENSION)
    dirty = lasec.Fleet(rule, models=MODELS, dimension=DIMENSION)
    bad = [0, 17, 18, 999]
    expected = simulate(clean, np.delete(keys, bad), np.delete(X, bad, axis=0), np.delete(y, bad))
    broken = X.copy()
    broken[bad] *= 1e9
    records = simulate(dirty, keys, broken, y)
    assert np.flatnonzero(records.refused).tolist() == bad
    assert not records.asked[bad].any()
    assert np.isnan(records.margin[bad]).all()
    np.testing.assert_array_equal(np.delete(records.mistake, bad), expected.mistake)
    np.testing.assert_allclose(dirty.state.cov, clean.state.cov, rtol=1e-11, atol=1e-13)
    assert dirty.rows.sum() == clean.rows.sum() + len(bad)


def test_bad_batches_are_refused_whole(batch):
    keys, X, y = batch
    whole = fleet()
    state = whole.state.cov.copy()
    nan = X.copy()
    nan[5_000, 2] = np.nan
    given = {"tickets": np.full(ROWS, whole.UNASKED)}
    for arguments, error, words in (
        ((keys, nan, y), ValueError, "^X: contains NaN"),
        ((keys, X[:, :3], y), ValueError, "^X: expected 6 features"),
        ((keys[1:], X, y), ValueError, "^keys: expected 6000"),
        ((keys + MODELS, X, y), ValueError, "^keys: must lie in"),
        ((-1 - keys, X, y), ValueError, "^keys: must lie in"),
        ((keys * 1.0, X, y), TypeError, "^keys: expected whole numbers"),
        ((keys, X, y * 2), ValueError, "^y: expected one of"),
    ):
        with pytest.raises(error, match=words):
            whole.serve(*arguments, **given)
    np.testing.assert_array_equal(whole.state.cov, state)
    assert whole.rows.sum() == 0
    assert len(whole.serve([], np.empty((0, DIMENSION)), [])) == 0


def test_covariances_of_wide_models_are_symmetric():
    rng = np.random.default_rng(4)
    keys, X = rng.integers(3, size=600), rng.standard_normal((600, 150))
    y = np.where(X[:, 0] >= 0.0, 1, -1)
    fleet = lasec.Fleet(RULE, models=3, dimension=150)
    simulate(fleet, keys, X, y)
    np.testing.assert_array_equal(fleet.state.cov, fleet.state.cov.transpose(0, 2, 1))


def test_a_learner_of_a_fleet_names_its_classes_by_the_labels_that_it_is_told():
    taken = lasec.Fleet(lasec.rules.SecondOrder(), models=2, dimension=2).learner(0)
    taken.learn([1.0, 1.0], "ham")
    assert taken.known_classes == ("ham",)
    assert type(taken.rule) is lasec.rules.SecondOrder
