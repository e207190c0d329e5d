"""Single precision: half the memory, the same learner up to its rounding."""

import numpy as np
import pytest

import lasec

DIMENSION, ROUNDS = 30, 4_000
ALGORITHMS = {
    "LASEC": lambda **o: lasec.LASEC(DIMENSION, drift=0.01, ridge=0.5, **o),
    "LASEC-SS": lambda **o: lasec.LASEC_SS(DIMENSION, drift=0.01, aggressiveness=0.02, **o),
    "SOP": lambda **o: lasec.SOP(DIMENSION, ridge=4.0, **o),
    "BBQ": lambda **o: lasec.BBQ(DIMENSION, exponent=0.3, **o),
    "Perceptron-SS": lambda **o: lasec.Perceptron_SS(DIMENSION, aggressiveness=2.0, **o),
    "Shifting": lambda **o: lasec.Shifting(DIMENSION, decay=0.1, **o),
    "Modified": lambda **o: lasec.Modified(DIMENSION, **o),
    "RBP": lambda **o: lasec.RBP(DIMENSION, budget=50, **o),
}
EVERY = pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS.keys())


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.switching(ROUNDS, dimension=DIMENSION, every=500, seed=8)


@EVERY
def test_single_precision_is_as_good_a_learner(build, stream):
    double, single = build(), build(precision="single")
    expected, records = double.run(*stream), single.run(*stream)
    assert all(array.dtype != np.float64 for array in single.state)
    assert abs(records.accuracy - expected.accuracy) < 0.02
    assert abs(records.rate - expected.rate) < 0.02
    # Until the first decision that differs, the margins differ by rounding only.
    apart = np.flatnonzero(records.updated != expected.updated)
    first = apart[0] if apart.size else ROUNDS
    assert first > 100
    scale = np.abs(expected.margin[:first]).max()
    assert np.abs(records.margin[:first] - expected.margin[:first]).max() < 2e-4 * scale


@EVERY
def test_ask_and_tell_and_files_keep_the_precision(build, stream, tmp_path):
    whole, loop = build(precision="single"), build(precision="single")
    X, y = stream.X[:300], stream.y[:300]
    for x, label in zip(X, y, strict=True):
        decision = loop.ask(x)
        if decision.asked:
            loop.tell(decision.ticket, label)
    records = whole.run(X, y)
    assert loop.asked == records.labels
    loop.save(tmp_path / "model")
    again = lasec.Learner.load(tmp_path / "model")
    assert again.precision == "single"
    assert again.to_bytes() == loop.to_bytes()
    assert all(a.dtype == b.dtype for a, b in zip(again.state, loop.state, strict=True))
    assert again.ask(X[0]) == loop.ask(X[0])


def test_what_single_precision_cannot_carry_is_refused():
    learner = lasec.SOP(2, precision="single")
    with pytest.raises(ValueError, match="beyond 1e"):
        learner.ask([1e20, 0.0])
    with pytest.raises(ValueError, match="infinity"):
        learner.ask([1e50, 0.0])
    with pytest.raises(ValueError, match="more than 1000 times"):
        learner.ask([100.0, 0.0])
    with pytest.raises(ValueError, match="half"):
        lasec.SOP(2, precision="half")


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_a_single_precision_covariance_stays_positive(drift):
    X, y = lasec.streams.switching(100_000, dimension=DIMENSION, every=500, seed=1)
    rule = lasec.rules.SecondOrder(drift, 0.5)
    learner = lasec.Learner(rule, dimension=DIMENSION, learn_from="labels", precision="single")
    learner.run(X, y)
    assert np.linalg.eigvalsh(learner.state.cov.astype(float))[0] > 0.0
    np.testing.assert_array_equal(learner.state.cov, learner.state.cov.T)
