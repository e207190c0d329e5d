"""The paper's equations themselves: solved by brute force, they give what the algorithms do."""

import itertools

import numpy as np
import pytest

import lasec
import reference.first_order
from reference.protocol import always, play
from reference.second_order import LASEC


def quadratic(X, y, b, c):
    """Q_t(u_1, ..., u_t) of section 3 as H, g and a constant: u'Hu - 2 g'u + constant."""
    t, d = X.shape
    H = np.zeros((t, d, t, d))
    eye = np.eye(d)
    H[0, :, 0, :] += b * eye
    for s in range(t - 1):
        H[s, :, s, :] += c * eye
        H[s + 1, :, s + 1, :] += c * eye
        H[s, :, s + 1, :] -= c * eye
        H[s + 1, :, s, :] -= c * eye
    for s in range(t):
        H[s, :, s, :] += np.outer(X[s], X[s])
    return H.reshape(t * d, t * d), (y[:, None] * X).ravel(), float(y @ y)


def least(X, y, b, c, last=None):
    """min Q_t over u_1, ..., u_t, or over all but the last, which is given."""
    H, g, constant = quadratic(X, y, b, c)
    if last is not None:
        d = X.shape[1]
        inner, cross = H[:-d, :-d], H[:-d, -d:] @ last
        constant += last @ H[-d:, -d:] @ last - 2 * g[-d:] @ last
        H, g = inner, g[:-d] - cross
    return constant - g @ np.linalg.solve(H, g) if len(g) else constant


def last_step(X, y, x, b, c):
    """Equation (1): the label that is best against the worse of the two true labels."""
    regret = {}
    for said, true in itertools.product((1, -1), (1, -1)):
        labels = np.append(y, true)
        regret[said, true] = (true - said) ** 2 - least(np.vstack([X, x]), labels, b, c)
    return min((1, -1), key=lambda said: max(regret[said, 1], regret[said, -1]))


SETTINGS = [(0.1, 0.11), (1.0, 1.5), (0.5, 20.0), (1.0, 1e6), (30.0, 31.0)]


@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_the_prediction_solves_the_last_step_min_max_problem(b, c):
    """Equation (1) over the rows used so far and the present one, as a joint quadratic program."""
    cases = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        stream = lasec.streams.switching(30, dimension=d, every=10, noise=0.2, seed=seed)
        X, y = stream.X * rng.uniform(0.3, 3.0), stream.y
        records = lasec.LASEC(d, drift=1 / c, ridge=b).run(X, y)
        for t in range(30):
            used = np.flatnonzero(records.updated[:t])
            if used.size and abs(records.margin[t]) > 1e-9:
                expected = last_step(X[used], y[used].astype(float), X[t], b, c)
                assert records.label[t] == expected
                cases += 1
    assert cases >= 100


def lemma_1(X, y, b, c):
    """D_t, e_t and f_t of Lemma 1, with equations (2) and (3) as they stand."""
    d = X.shape[1]
    eye, x = np.eye(d), X[0]
    D, e, f = b * eye + np.outer(x, x), y[0] * x, y[0] ** 2
    for x, label in zip(X[1:], y[1:], strict=True):
        f = f - e @ np.linalg.inv(c * eye + D) @ e + label**2
        e = np.linalg.inv(eye + D / c) @ e + label * x
        D = np.linalg.inv(np.linalg.inv(D) + eye / c) + np.outer(x, x)
    return D, e, f


@pytest.mark.parametrize(("b", "c"), SETTINGS)
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_lemma_1_and_equation_4(b, c, rounds):
    """P_t(u) = u'Du - 2u'e + f for any last u, and its minimum is f - e'D^-1 e."""
    rng = np.random.default_rng(rounds)
    X, y = rng.standard_normal((rounds, 3)), rng.choice([-1.0, 1.0], rounds)
    D, e, f = lemma_1(X, y, b, c)
    for u in rng.standard_normal((5, 3)):
        assert u @ D @ u - 2 * u @ e + f == pytest.approx(least(X, y, b, c, last=u), rel=1e-7)
    assert f - e @ np.linalg.solve(D, e) == pytest.approx(least(X, y, b, c), rel=1e-6, abs=1e-6)
    model = LASEC(3, b, c)  # Figure 1 begins with D_0 = bc/(c - b) I instead of D_1
    for x, label in zip(X, y, strict=True):
        model.update(x, label, 0.0)
    np.testing.assert_allclose(model.D, D, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.e, e, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("a", [0.5, 20.0])
def test_the_selective_limit_is_the_selective_perceptron(a):
    """SOP-SS(b, a/b) tends to Perceptron-SS(a) as b grows: margins times b differ by O(1/b).

    With the same draws, probabilities agree to 10^7 / b, and from some b on so does every decision.
    """
    X, y = lasec.streams.switching(2_000, dimension=20, every=400, seed=3)
    limit = lasec.Perceptron_SS(20, aggressiveness=a, seed=7).run(X, y)
    away = []
    for b in (1e8, 1e10, 1e12):
        near = lasec.SOP_SS(20, ridge=b, aggressiveness=a / b, seed=7).run(X, y)
        np.testing.assert_array_equal(near.asked, limit.asked)
        np.testing.assert_array_equal(near.label, limit.label)
        away.append(np.abs(near.propensity - limit.propensity).max())
        assert away[-1] <= 1e7 / b
    assert away[0] > 30 * away[1] > 900 * away[2]
    far = lasec.SOP_SS(20, ridge=20.0, aggressiveness=a / 20.0, seed=7).run(X, y)
    assert (far.asked != limit.asked).sum() > 50


class ScaledShifting(reference.first_order.Perceptron):
    """The other published form: w <- (1 - lambda_k) w + lambda_k y x."""

    def __init__(self, d, lam):
        super().__init__(d)
        self.w, self.lam, self.k = np.zeros(d), lam, 0

    def weights(self):
        return self.w

    def update(self, x, y, draw):
        share = self.lam / (self.lam + self.k)
        self.w = (1.0 - share) * self.w + share * y * x
        self.k += 1


@pytest.mark.parametrize("lam", [0.0, 0.01, 0.5, 3.0])
def test_the_two_forms_of_the_shifting_perceptron_predict_alike(lam):
    """Scaled with lambda + 1, w is (lambda + 1)/(lambda + k) times ours after k updates."""
    X, y = lasec.streams.switching(2_000, dimension=20, every=400, seed=3)
    learner = lasec.Shifting(20, decay=lam)
    ours = learner.run(X, y)
    zeros = np.zeros(len(y))
    scaled = ScaledShifting(20, lam + 1.0)
    theirs = play(scaled, always, X, y, zeros, zeros)
    np.testing.assert_array_equal(ours.label, theirs.label)
    factor = (lam + 1.0) / (lam + scaled.k)
    np.testing.assert_allclose(scaled.w, factor * learner.state.weights, rtol=1e-10, atol=1e-12)
    other = play(ScaledShifting(20, lam + 1.1), always, X, y, zeros, zeros)
    assert (other.label != theirs.label).any()
