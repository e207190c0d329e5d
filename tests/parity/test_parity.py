"""Every algorithm against its paper: margins, probabilities, decisions and state, to 1e-10."""

import numpy as np
import pytest

import lasec
from reference import first_order, second_order
from reference.protocol import always, coin, play, threshold

ROUNDS = 2_000
TOLERANCE = 1e-10


def synthetic(seed):
    return lasec.streams.switching(ROUNDS, dimension=50, every=500, seed=seed)


def correlated(seed):
    """Rows with a covariance of condition number 10^4, and a concept that switches."""
    X, y = lasec.streams.switching(ROUNDS, dimension=20, every=400, seed=seed)
    mix = np.linalg.qr(np.random.default_rng(seed).standard_normal((20, 20)))[0]
    return X * np.geomspace(0.1, 10.0, 20) @ mix, y


def degenerate(seed):
    """A constant column, two zero columns, a column twice, and every 50th row zero throughout."""
    X, y = lasec.streams.switching(ROUNDS, dimension=20, every=400, seed=seed)
    X[:, 0] = 1.0
    X[:, [5, 11]] = 0.0
    X[:, 7] = X[:, 8]
    X[::50] = 0.0
    return X, y


STREAMS = (synthetic, correlated, degenerate)

SECOND = [(0.5, 108.0), (1.0, 1000.0), (0.05, 10.0), (20.0, 25.0)]
AGGRESSIVENESS = [0.02, 0.1, 0.5, 5.0]
RIDGES = [0.05, 1.0, 16.0, 500.0]
DECAYS = [0.0, 0.01, 1.0, 50.0]
EXPONENTS = [0.1, 0.3, 0.5, 0.9]


def cases():
    """Name, number of the setting, learner and reference by dimension, query, mistakes only."""
    for i in range(4):
        (b, c), a, ridge, kappa = SECOND[i], AGGRESSIVENESS[i], RIDGES[i], EXPONENTS[i]
        decay, budget, reflect = DECAYS[i], [10, 50, 200, 10_000][i], i % 2 == 0
        ss, bbq = coin(a), threshold(kappa)
        yield (
            "LASEC", i, lambda d, b=b, c=c: lasec.LASEC(d, drift=1 / c, ridge=b),
            lambda d, b=b, c=c: second_order.LASEC(d, b, c), always, True,
        )  # fmt: skip
        yield (
            "LASEC-SS", i,
            lambda d, b=b, c=c, a=a: lasec.LASEC_SS(d, drift=1 / c, ridge=b, aggressiveness=a),
            lambda d, b=b, c=c: second_order.LASEC(d, b, c), ss, True,
        )  # fmt: skip
        yield (
            "SOP", i, lambda d, b=ridge: lasec.SOP(d, ridge=b),
            lambda d, b=ridge: second_order.SecondOrderPerceptron(d, b), always, True,
        )  # fmt: skip
        yield (
            "SOP-SS", i, lambda d, b=ridge, a=a: lasec.SOP_SS(d, ridge=b, aggressiveness=a),
            lambda d, b=ridge: second_order.SecondOrderPerceptron(d, b), ss, True,
        )  # fmt: skip
        yield "Perceptron", i, lasec.Perceptron, first_order.Perceptron, always, True
        yield (
            "Perceptron-SS", i, lambda d, a=a: lasec.Perceptron_SS(d, aggressiveness=100 * a),
            first_order.Perceptron, coin(100 * a), True,
        )  # fmt: skip
        yield (
            "Shifting", i, lambda d, lam=decay: lasec.Shifting(d, decay=lam),
            lambda d, lam=decay: first_order.Shifting(d, lam), always, True,
        )  # fmt: skip
        yield (
            "Modified", i, lambda d, r=reflect: lasec.Modified(d, reflect=r),
            lambda d, r=reflect: first_order.Modified(d, 2.0 if r else 1.0), always, True,
        )  # fmt: skip
        yield (
            "RBP", i, lambda d, B=budget: lasec.RBP(d, budget=B),
            lambda d, B=budget: first_order.Budget(d, B), always, True,
        )  # fmt: skip
        yield (
            "BBQ", i, lambda d, b=ridge, k=kappa: lasec.BBQ(d, ridge=b, exponent=k),
            lambda d, b=ridge: second_order.BBQ(d, b), bbq, False,
        )  # fmt: skip
        yield (
            "BBQ-I", i, lambda d, b=ridge, k=kappa: lasec.BBQ_I(d, ridge=b, exponent=k),
            lambda d, b=ridge: second_order.BBQ(d, b), bbq, True,
        )  # fmt: skip
        yield (
            "AROW", i,
            lambda d, r=ridge: lasec.Learner(lasec.rules.AROW(r), dimension=d, learn_from="labels"),
            lambda d, r=ridge: second_order.AROW(d, r), always, False,
        )  # fmt: skip


def close(ours, paper, what):
    paper = np.asarray(paper, dtype=float)
    scale = np.abs(paper).max(initial=0.0)
    np.testing.assert_allclose(ours, paper, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=what)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: s.__name__)
@pytest.mark.parametrize(
    ("setting", "build", "paper", "query", "mistakes_only"),
    [pytest.param(*case[1:], id=f"{case[0]}-{case[1]}") for case in cases()],
)
def test_equals_the_paper(stream, setting, build, paper, query, mistakes_only):
    X, y = stream(seed=setting)
    learner, twin = build(X.shape[1]), paper(X.shape[1])
    draws = lasec.uniforms(learner.seed, 0, ROUNDS)
    ours = learner.run(X, y)
    theirs = play(twin, query, X, y, draws[:, 0], draws[:, 1], mistakes_only)

    assert ours.updated.sum() >= 10, "too few updates to compare anything"
    np.testing.assert_array_equal(ours.label, theirs.label)
    np.testing.assert_array_equal(ours.asked, theirs.asked)
    np.testing.assert_array_equal(ours.updated, theirs.updated)
    close(ours.margin, theirs.margin, "margin")
    close(ours.propensity, theirs.propensity, "propensity")
    close(ours.variance / (1.0 + ours.variance), theirs.r, "variance")
    for name, expected in twin.state().items():
        close(getattr(learner.state, name), expected, name)


def test_every_algorithm_of_the_paper_is_compared():
    names = {case[0] for case in cases()} - {"AROW"}
    assert names == {
        "LASEC", "LASEC-SS", "SOP", "SOP-SS", "Perceptron", "Perceptron-SS",
        "Shifting", "Modified", "RBP", "BBQ", "BBQ-I",
    }  # fmt: skip
