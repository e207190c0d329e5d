"""Many updates: the covariance stays symmetric and positive, the margins stay right.

``LASEC_ROUNDS=1000000 pytest tests/parity/test_soak.py`` makes a million updates each.
"""

import os

import numpy as np
import pytest

import lasec

UPDATES = int(os.environ.get("LASEC_ROUNDS", "100000"))
DIMENSION, LAST = 50, 1_000
Long = np.longdouble


def twin(X, y, drift, ridge):
    """The closed form in extended precision; gives the margins of the last rows and the state."""
    w, C = np.zeros(DIMENSION, Long), np.eye(DIMENSION, dtype=Long) / Long(ridge)
    diagonal, square = np.diag_indices(DIMENSION), np.empty((DIMENSION, DIMENSION), Long)
    margins = np.empty(len(X), Long)
    for t, (x, label) in enumerate(zip(X.astype(Long), y.astype(Long), strict=True)):
        g, m = C.dot(x), w.dot(x)
        s = 1 + g.dot(x)
        margins[t] = m / s
        w += g * ((label - m) / s)
        C -= np.multiply.outer(g, g / s, out=square)
        C[diagonal] += Long(drift)
    return margins[-LAST:], w, C


@pytest.mark.skipif(np.finfo(Long).eps > 1e-18, reason="long double is no wider than double here")
@pytest.mark.parametrize("c", [10.0, 1000.0, np.inf])
def test_many_updates(c):
    X, y = lasec.streams.switching(UPDATES, dimension=DIMENSION, every=500, seed=1)
    rule = lasec.rules.SecondOrder(drift=0.0 if np.isinf(c) else 1.0 / c, ridge=1.0)
    learner = lasec.Learner(rule, dimension=DIMENSION, learn_from="labels")
    records = learner.run(X, y)
    assert learner.updates == UPDATES

    margins, w, C = twin(X, y, rule.drift, rule.ridge)
    cov = learner.state.cov
    np.testing.assert_array_equal(cov, cov.T)
    assert np.linalg.eigvalsh(cov)[0] > 0.0
    scale = np.abs(margins).max()
    assert np.abs(records.margin[-LAST:] - margins).max() <= 1e-12 * scale
    assert np.abs(learner.state.weights - w).max() <= 1e-12 * np.abs(w).max()
    assert np.abs(cov - C).max() <= 1e-12 * np.abs(C).max()


@pytest.mark.parametrize("drift", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize(("least", "most"), [(1e-3, 1e3), (1.0, 1e5)])
def test_badly_scaled_correlated_rows(drift, least, most):
    """Directions that differ a million times in length, mixed: still symmetric, still positive."""
    X, y = lasec.streams.switching(200_000, dimension=20, every=500, seed=1)
    mix = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 20)))[0]
    rule = lasec.rules.SecondOrder(drift=drift, ridge=1.0)
    learner = lasec.Learner(rule, dimension=20, learn_from="labels")
    learner.run(X * np.geomspace(least, most, 20) @ mix, y)
    cov = learner.state.cov
    np.testing.assert_array_equal(cov, cov.T)
    assert np.linalg.eigvalsh(cov)[0] > 0.0
