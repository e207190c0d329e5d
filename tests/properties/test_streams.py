"""What the streams promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lasec
from lasec import streams

SYNTHETIC = {
    "switching": streams.switching,
    "stationary": streams.stationary,
    "recurring": streams.recurring,
    "walking": streams.walking,
}
EVERY = pytest.mark.parametrize("make", SYNTHETIC.values(), ids=SYNTHETIC.keys())


@EVERY
@given(rounds=st.integers(0, 200), dimension=st.integers(2, 5), seed=st.integers(0, 2**32))
def test_a_stream_is_labelled_by_its_targets(make, rounds, dimension, seed):
    stream = make(rounds, dimension=dimension, seed=seed)
    assert stream.X.shape == stream.target.shape == (rounds, dimension)
    score = (stream.X * stream.target).sum(axis=1)
    np.testing.assert_array_equal(stream.y, np.where(score >= 0, 1, -1))


@EVERY
def test_the_seed_decides_and_noise_flips_labels_alone(make):
    one, again, other = make(2_000, seed=1), make(2_000, seed=1), make(2_000, seed=2)
    noisy = make(2_000, seed=1, noise=0.1)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.X, noisy.X)
    assert 0.07 < (one.y != noisy.y).mean() < 0.13


def test_switching_switches_when_it_says():
    stream = streams.switching(1_250, dimension=4, every=500, seed=3)
    changes = np.flatnonzero(np.any(np.diff(stream.target, axis=0) != 0, axis=1)) + 1
    assert changes.tolist() == [500, 1000]


def test_concepts_recur_but_never_stay():
    stream = streams.recurring(10_000, dimension=3, every=100, concepts=4, seed=1)
    order = stream.concept[::100]
    assert set(order) == {0, 1, 2, 3}
    assert (np.diff(order) != 0).all()


def test_walking_goes_at_its_speed():
    for speed in (0.001, 0.01, 0.1):
        target = streams.walking(2_000, dimension=30, speed=speed, seed=1).target
        np.testing.assert_allclose(np.linalg.norm(target, axis=1), 1.0)
        steps = np.linalg.norm(np.diff(target, axis=0), axis=1)
        assert steps.mean() == pytest.approx(speed, rel=0.1)


@given(
    codes=st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(lambda c: len(set(c)) > 1),
    every=st.integers(1, 30),
    seed=st.integers(0, 2**32),
)
def test_shifting_classes_partition_the_classes(codes, every, seed):
    """In each period every class has one sign; no row is lost or changed."""
    X = np.column_stack([np.arange(len(codes)), codes]).astype(float)
    stream = streams.shifting_classes(X, codes, every=every, seed=seed)
    assert sorted(map(tuple, stream.X)) == sorted(map(tuple, X))
    for period in np.unique(stream.concept):
        here = stream.concept == period
        assert here.sum() <= every
        for code in set(stream.X[here, 1]):
            assert len(set(stream.y[here & (stream.X[:, 1] == code)])) == 1


def test_positive_classes_are_fair_and_never_none_or_all():
    """One row of each of three classes a period shows the subset: six of eight, equally often."""
    periods = 6_000
    X, codes = np.zeros((3 * periods, 1)), np.tile([0, 1, 2], periods)
    stream = streams.shifting_classes(X, codes, every=3, shuffle=False, seed=1)
    subsets, counts = np.unique(stream.y.reshape(-1, 3), axis=0, return_counts=True)
    assert len(subsets) == 6
    assert np.abs(counts - periods / 6).max() < 5 * np.sqrt(periods / 6)


def test_noise_flips_the_labels_of_shifting_classes():
    X, codes = np.zeros((5_000, 1)), np.arange(5_000) % 10
    clean, noisy = (
        streams.shifting_classes(X, codes, noise=noise, seed=1).y for noise in (0.0, 0.2)
    )
    assert 0.17 < (clean != noisy).mean() < 0.23
    with pytest.raises(ValueError, match="noise must be"):
        streams.shifting_classes(X, codes, noise=1.5)


def test_bad_classes_and_missing_targets_are_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        streams.shifting_classes(np.zeros((3, 1)), [1, 1, 1])
    with pytest.raises(ValueError, match="not linear"):
        streams.shifting_classes(np.zeros((2, 1)), [0, 1]).target  # noqa: B018


def test_usps_from_a_file_and_from_its_folder(data_folder):
    X, digits = streams.usps(data_folder / "usps.npz")
    assert X.shape == (9298, 256)
    assert (X.min(), X.max()) == (-1.0, 1.0)
    assert np.bincount(digits).tolist() == [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821]
    np.testing.assert_array_equal(streams.usps(data_folder)[0], X)
    stream = streams.shifting_classes(X, digits, every=500, seed=1)
    assert lasec.Perceptron(256).run(*stream).accuracy > 0.7
