"""The paper's bounds: computed as its symbols say, minimal in gamma, and never exceeded."""

import math

import numpy as np
import pytest

import lasec
from lasec import bounds
from reference.protocol import always, play
from reference.second_order import LASEC

SETTINGS = [(0.5, 108.0), (1.0, 1000.0), (20.0, 25.0)]


def run(stream, b, c, caution=math.inf, seed=0):
    learner = lasec.LASEC_SS(
        stream.X.shape[1], drift=1 / c if c < math.inf else 0.0, ridge=b, caution=caution, seed=seed
    )
    records = learner.run(*stream)
    return learner, records, bounds.terms(learner.rule, stream, records)


@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_the_terms_are_those_of_the_paper(b, c):
    """A and B from the explicit D_k of the paper's own pseudocode."""
    stream = lasec.streams.switching(400, dimension=8, every=100, seed=2)
    _, records, terms = run(stream, b, c)
    D_terms, A, last = [], 0.0, None

    class Watched(LASEC):
        def update(self, x, y, draw):
            nonlocal A, last
            super().update(x, y, draw)
            D_terms.append(x @ np.linalg.inv(self.D) @ x)
            u = stream.target[len(seen) - 1]
            A += b * u @ u if last is None else c * (u - last) @ (u - last)
            A += (u @ x) ** 2
            last = u

        def margin(self, x):
            seen.append(x)
            return super().margin(x)

    seen = []
    zeros = np.zeros(400)
    paper = play(Watched(8, b, c), always, *stream, zeros, zeros)
    np.testing.assert_array_equal(paper.updated, records.updated)
    assert pytest.approx(sum(D_terms), rel=1e-10) == terms.B
    assert pytest.approx(A, rel=1e-10) == terms.A


def theorem_1(terms, gamma):
    loss = np.maximum(0.0, gamma - terms.margins).sum()
    return loss / gamma + math.sqrt(terms.A * terms.B) / gamma


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_theorem_1_is_minimal_in_gamma(b, c, noise):
    stream = lasec.streams.switching(1_000, dimension=8, every=250, noise=noise, seed=5)
    _, _, terms = run(stream, b, c)
    bound = bounds.supervised(terms)
    grid = np.geomspace(1e-3, 1e4, 20_000)
    brute = min(theorem_1(terms, gamma) for gamma in grid)
    if bound.gamma < math.inf:
        assert bound.value == pytest.approx(theorem_1(terms, bound.gamma), rel=1e-12)
    assert bound.value <= brute + 1e-9
    assert bound.value >= brute * 0.99


@pytest.mark.parametrize("caution", [0.01, 0.3])
def test_theorem_2_is_minimal_in_gamma(caution):
    stream = lasec.streams.switching(1_000, dimension=8, every=250, seed=5)
    runs = [run(stream, 0.5, 108.0, caution, seed)[2] for seed in range(8)]
    A, B = (np.mean([getattr(r, name) for r in runs]) for name in "AB")

    def value(gamma):
        lost = [np.maximum(0.0, gamma - r.margins[r.updated]).sum() for r in runs]
        return np.mean(lost) / gamma + caution / (2 * gamma**2) * A + B / (2 * caution)

    bound = bounds.selective(runs, caution)
    assert bound.value == pytest.approx(value(bound.gamma), rel=1e-9)
    assert bound.value <= min(map(value, np.geomspace(1e-2, 1e4, 3_000))) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_mistakes_stay_below_theorem_1(b, c, seed):
    stream = lasec.streams.switching(1_000, dimension=5, every=400, seed=seed)
    learner, records, terms = run(stream, b, c)
    mistakes = int(records.mistake.sum())
    first = bounds.supervised(terms)
    radius = float(np.linalg.norm(stream.X, axis=1).max())
    solved = bounds.solved(learner.rule, terms, learner.state.cov, radius)
    assert mistakes <= first.value
    assert first.value <= solved.value + 1e-9


@pytest.mark.parametrize("caution", [0.02, 0.1, 1.0])
def test_expected_mistakes_stay_below_theorem_2(caution):
    stream = lasec.streams.switching(1_000, dimension=5, every=400, seed=1)
    results = [run(stream, 0.5, 108.0, caution, seed)[1:] for seed in range(50)]
    mistakes = np.mean([records.mistake.sum() for records, _ in results])
    assert mistakes <= bounds.selective([terms for _, terms in results], caution).value


def test_the_best_caution_makes_theorem_2_smallest():
    stream = lasec.streams.switching(1_000, dimension=5, every=400, seed=1)
    runs = [run(stream, 0.5, 108.0, 0.1, seed)[2] for seed in range(5)]
    A, B = (np.mean([getattr(r, name) for r in runs]) for name in "AB")
    best = bounds.best_caution(runs, gamma=2.0)

    def varying(a):
        return a / (2 * 2.0**2) * A + B / (2 * a)

    assert varying(best) <= min(varying(best * f) for f in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0))
    assert varying(best) == pytest.approx(math.sqrt(A * B) / 2.0)


def test_the_solved_form_solves_the_lemma():
    """m0 = the right side of (11) satisfies m0 = D/g + sqrt(A (B + m0 C))/g with equality."""
    stream = lasec.streams.switching(600, dimension=5, every=200, seed=1)
    learner, _, terms = run(stream, 0.5, 108.0)
    radius = float(np.linalg.norm(stream.X, axis=1).max())
    m, g = bounds.solved(learner.rule, terms, learner.state.cov, radius)
    B, C = bounds._data_terms(learner.rule, learner.state.cov, radius)
    D = np.maximum(0.0, g - terms.margins).sum()
    assert m == pytest.approx(D / g + math.sqrt(terms.A * (B + m * C)) / g, rel=1e-12)
    D_m = np.linalg.inv(learner.state.cov - learner.rule.drift * np.eye(5))
    b, c = 0.5, 108.0
    D_0 = b * c / (c - b) * np.eye(5)
    assert pytest.approx(np.log(np.linalg.det(D_m / b)) + np.trace(D_0) / c) == B


def test_without_drift_a_moving_reference_has_no_bound():
    moving = lasec.streams.switching(500, dimension=5, every=100, seed=1)
    learner, _, terms = run(moving, 1.0, math.inf)
    assert bounds.supervised(terms).value == math.inf
    assert bounds.selective([terms], 1.0).value == math.inf
    assert bounds.solved(learner.rule, terms, learner.state.cov, 10.0).value == math.inf
    still = lasec.streams.stationary(500, dimension=5, seed=1)
    _, records, terms = run(still, 1.0, math.inf)
    assert records.mistake.sum() <= bounds.supervised(terms).value < math.inf


def test_advice_is_the_corollarys():
    T, d, X, V = 10_000, 50, 10.0, 1_900.0
    drift, ridge, covered = bounds.advise(T, d, X, V, share=0.1)
    c = 1 / drift
    assert c == pytest.approx((math.sqrt(2) * T * d * X / V) ** (2 / 3))
    assert ridge == pytest.approx(0.1 * c)
    assert covered
    # cV = (sqrt(2) d X)^(2/3) T^(2/3) V^(1/3), the corollary's term in A
    assert c * V == pytest.approx((math.sqrt(2) * d * X) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3))
    assert not bounds.advise(T, d, X, 1e5).covered
    lasec.LASEC(d, drift=drift, ridge=ridge)
