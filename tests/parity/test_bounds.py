"""The paper's bounds: equal to a slow transcription, smallest in gamma, and satisfied by runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lasec
from lasec import bounds
from reference import bounds as paper

SETTINGS = [(0.5, 108.0), (1.0, 1000.0), (20.0, 25.0)]
GAMMAS = [0.05, 0.7, 3.0, 40.0]


def small(seed=2, noise=0.0):
    return lasec.streams.switching(300, dimension=6, every=100, noise=noise, seed=seed)


def run(stream, b, c, aggressiveness=math.inf, seed=0):
    learner = lasec.LASEC_SS(
        stream.X.shape[1],
        drift=1 / c if c < math.inf else 0.0,
        ridge=b,
        aggressiveness=aggressiveness,
        seed=seed,
    )
    records = learner.run(*stream)
    return records, bounds.terms(learner, stream, records)


def pairs(stream, b, c, aggressiveness, seeds):
    """Runs of LASEC-SS and the same ones transcribed, with the same draws."""
    ours, theirs = [], []
    for seed in seeds:
        ours.append(run(stream, b, c, aggressiveness, seed)[1])
        draws = lasec.uniforms(seed, 0, len(stream.y))[:, 0]
        theirs.append(paper.transcribed(stream, b, c, aggressiveness, draws))
    return ours, theirs


@pytest.mark.parametrize(("b", "c"), SETTINGS)
@pytest.mark.parametrize("aggressiveness", [math.inf, 0.1])
def test_terms_equal_the_papers_sums(b, c, aggressiveness):
    (ours,), (theirs,) = pairs(small(), b, c, aggressiveness, [4])
    np.testing.assert_array_equal(np.flatnonzero(ours.updated), theirs.M)
    assert theirs.m >= 20
    for mine, his in [
        (ours.start, theirs.start), (ours.variation, theirs.V), (ours.fit, theirs.fit),
        (ours.B, theirs.B), (ours.log_det, theirs.log_det), (ours.radius, theirs.X),
        (ours.A, paper.A(theirs)), (ours.C, paper.C(theirs)),
        (ours.limit(7), theirs.log_det + theirs.trace + 7 * paper.C(theirs)),
    ]:  # fmt: skip
        assert mine == pytest.approx(his, rel=1e-9)


@pytest.mark.parametrize(("b", "c"), SETTINGS)
@pytest.mark.parametrize("a", [0.1, 2.0])
def test_the_steps_of_the_proof_hold_on_runs(b, c, a):
    """Equations (8) and (9), from which the paper derives Theorems 2 and 4."""
    stream = small()
    records, terms = run(stream, b, c, a)
    M = terms.updated
    p, y, references = records.margin[M], stream.y[M], terms.margins[M] * stream.y[M]
    squares = terms.A - terms.fit + np.sum((y - references) ** 2)
    assert M.sum() >= 20
    assert np.sum((p - y) ** 2) <= squares + terms.B + 1e-9
    for gamma in GAMMAS:
        loss = np.maximum(0.0, gamma - terms.margins[M]).sum()
        right = a / gamma * loss + terms.B / 2 + a**2 / (2 * gamma**2) * terms.A
        assert np.sum(np.abs(p) + a) <= right + 1e-9


@pytest.mark.parametrize(("b", "c"), SETTINGS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_supervised_bounds_equal_the_paper(b, c, gamma):
    stream = small()
    (ours,), (theirs,) = pairs(stream, b, c, math.inf, [0])
    V = math.sqrt(2) * 300 * 6 * theirs.X / c**1.5
    for mine, his in [
        (bounds.supervised(ours, gamma), paper.theorem_2(theirs, gamma)),
        (bounds.solved(ours, gamma), paper.solved(theirs, gamma)),
        (bounds.corollary_8(ours, gamma), paper.corollary_8(theirs, gamma, V)),
    ]:
        assert mine.value == pytest.approx(his, rel=1e-9)
        assert (mine.gamma, mine.aggressiveness) == (gamma, math.inf)


@pytest.mark.parametrize(("b", "c"), SETTINGS)
@pytest.mark.parametrize("aggressiveness", [0.03, 0.5])
def test_selective_bounds_equal_the_paper(b, c, aggressiveness):
    ours, theirs = pairs(small(), b, c, aggressiveness, range(4))
    V = math.sqrt(2) * 300 * 6 * theirs[0].X / c**1.5
    corollary = [paper.corollary_9_terms(r, V) for r in theirs]
    forms = [
        (bounds.selective, paper.theorem_4, [paper.A(r) for r in theirs], [r.B for r in theirs]),
        (bounds.explicit, paper.explicit, [paper.A(r) for r in theirs],
         [paper.explicit_B(r) for r in theirs]),
        (bounds.corollary_9, lambda runs, a, g: paper.corollary_9(runs, a, g, V),
         [k[0] for k in corollary], [k[1] for k in corollary]),
    ]  # fmt: skip
    for bound, transcription, A, B in forms:
        mine = bound(ours, aggressiveness, 1.3)
        assert mine.value == pytest.approx(transcription(theirs, aggressiveness, 1.3), rel=1e-9)
        best = bound(ours, gamma=1.3)
        assert best.aggressiveness == pytest.approx(
            1.3 * math.sqrt(np.mean(B) / np.mean(A)), rel=1e-9
        )
        assert best.value == pytest.approx(
            transcription(theirs, best.aggressiveness, 1.3), rel=1e-9
        )
        for factor in (0.5, 0.99, 1.01, 2.0):
            assert best.value < bound(ours, factor * best.aggressiveness, 1.3).value


def test_expected_queries_are_the_sum_of_probabilities():
    """The last part of Theorem 4."""
    records, _ = run(small(), 0.5, 108.0, 0.1, 4)
    draws = lasec.uniforms(4, 0, 300)[:, 0]
    theirs = paper.transcribed(small(), 0.5, 108.0, 0.1, draws)
    assert records.propensity.sum() == pytest.approx(theirs.queries, rel=1e-9)
    assert records.mistake.sum() == theirs.mistakes


@pytest.mark.parametrize("aggressiveness", [math.inf, 0.1])
@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_the_sum_of_variances_is_below_its_explicit_bound(b, c, aggressiveness):
    """Inequality (10), link by link."""
    for seed in range(5):
        (ours,), (theirs,) = pairs(small(seed), b, c, aggressiveness, [seed])
        assert theirs.log_det + theirs.trace_sum + 1e-9 >= theirs.B
        assert theirs.log_det + theirs.trace_sum <= ours.limit(theirs.m) + 1e-9
        assert ours.B <= ours.limit(ours.updated.sum()) <= ours.limit(ours.margins.size)


positive = st.floats(1e-3, 1e3)


@given(positive, positive, positive, positive, positive, st.floats(0.0, 3.0))
def test_lemma_7_is_an_equivalence(A, B, C, D, gamma, factor):
    """m satisfies the premise if and only if it is at most the right side."""
    right = bounds.lemma_7(D, A, B, C, gamma)
    assert right == pytest.approx(paper.lemma_7(D, A, B, C, gamma), rel=1e-12)
    if abs(factor - 1.0) > 1e-6:
        m = factor * right
        assert (m <= D / gamma + math.sqrt(A * (B + m * C)) / gamma) == (m <= right)


def brute(value, margins):
    """The smallest value on a dense grid that is refined around its best point; inf included."""
    size = np.abs(margins).max()
    low, high = 1e-4 * size, 1e6 * size
    for _ in range(4):
        grid = np.geomspace(low, high, 2_000)
        values = [value(gamma) for gamma in grid]
        best = int(np.argmin(values))
        low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    return values[best]


class Formula:
    """The bounds at one gamma as NumPy expressions, fast enough for a search."""

    def __init__(self, runs):
        self.runs = runs
        self.A, self.B = (np.mean([getattr(r, name) for r in runs]) for name in "AB")

    def lost(self, gamma, updates):
        margins = [r.margins[r.updated] if updates else r.margins for r in self.runs]
        return np.mean([np.maximum(0.0, gamma - m).sum() for m in margins]) / gamma

    def theorem_2(self, gamma):
        return self.lost(gamma, False) + math.sqrt(self.A * self.B) / gamma

    def solved(self, gamma):
        D, run = gamma * self.lost(gamma, False), self.runs[0]
        return paper.lemma_7(D, self.A, run.limit(0), run.C, gamma)

    def theorem_4(self, gamma, a):
        return self.lost(gamma, True) + a * self.A / (2 * gamma**2) + self.B / (2 * a)


CASES = [(b, c, noise, every) for b, c in SETTINGS for noise in (0.0, 0.2) for every in (100, 1000)]


@pytest.mark.parametrize(("b", "c", "noise", "every"), CASES)
def test_the_gamma_of_supervised_bounds_is_the_best(b, c, noise, every):
    """Against brute force over all gamma, also between margins and far beyond the largest."""
    stream = lasec.streams.switching(1_000, dimension=8, every=every, noise=noise, seed=5)
    terms = run(stream, b, c)[1]
    formula = Formula([terms])
    for bound, value in [
        (bounds.supervised(terms), formula.theorem_2),
        (bounds.solved(terms), formula.solved),
    ]:
        found = brute(value, terms.margins)
        assert bound.value <= found * (1 + 1e-9)
        assert bound.value >= found * (1 - 1e-4)
        assert bound.value <= 1_000.0
        if bound.gamma < math.inf:
            assert bound.value == pytest.approx(value(bound.gamma), rel=1e-9)


def easy():
    """A stream on which Lemma 7 is far below T: short rows, wide margins, one concept."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    u = np.array([3.0, 4.0])
    X = X[np.abs(X @ u) > 5.0][:5_000]
    y = np.sign(X @ u).astype(np.int8)
    return lasec.streams.Stream(X, y, np.zeros(len(y), dtype=np.int64), u[None])


def test_the_solved_bound_can_be_far_below_the_number_of_rounds():
    """So that its minimum over gamma is not always the limit."""
    terms = run(easy(), 1.0, 1e9)[1]
    bound = bounds.solved(terms)
    found = brute(Formula([terms]).solved, terms.margins)
    assert bound.value < 500
    assert found * (1 - 1e-6) <= bound.value <= found * (1 + 1e-9)
    assert bound.gamma < math.inf


@pytest.mark.parametrize("aggressiveness", [0.01, 0.3, 1e3])
def test_the_gamma_of_theorem_4_is_the_best(aggressiveness):
    stream = lasec.streams.switching(1_000, dimension=8, every=250, seed=5)
    runs = [run(stream, 0.5, 108.0, aggressiveness, seed)[1] for seed in range(8)]
    formula = Formula(runs)
    bound = bounds.selective(runs, aggressiveness)
    found = brute(lambda gamma: formula.theorem_4(gamma, aggressiveness), runs[0].margins)
    assert found * (1 - 1e-7) <= bound.value <= found * (1 + 1e-9)
    assert bound.value == pytest.approx(formula.theorem_4(bound.gamma, aggressiveness), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("b", "c"), SETTINGS)
def test_supervised_bounds_are_satisfied(b, c, seed):
    stream = lasec.streams.switching(1_000, dimension=5, every=400, seed=seed)
    records, terms = run(stream, b, c)
    mistakes = int(records.mistake.sum())
    for gamma in (None, 0.3, 2.0, 10.0):
        first, solved = bounds.supervised(terms, gamma), bounds.solved(terms, gamma)
        assert mistakes <= first.value <= solved.value + 1e-9
        corollary = bounds.corollary_8(terms, gamma)
        if corollary.covered:
            assert solved.value <= corollary.value + 1e-9


@pytest.mark.parametrize("aggressiveness", [0.02, 0.1, 1.0])
def test_selective_bounds_are_satisfied(aggressiveness):
    """In expectation over the draws of one stream, as in the paper, and over streams as well."""
    one = [lasec.streams.switching(1_000, dimension=5, every=400, seed=1)] * 40
    several = [lasec.streams.switching(1_000, dimension=5, every=400, seed=s) for s in range(40)]
    for streams in (one, several):
        made = [
            run(stream, 0.5, 108.0, aggressiveness, seed) for seed, stream in enumerate(streams)
        ]
        mistakes = np.mean([records.mistake.sum() for records, _ in made])
        terms = [t for _, t in made]
        for gamma in (None, 1.0, 5.0):
            theorem = bounds.selective(terms, aggressiveness, gamma).value
            explicit = bounds.explicit(terms, aggressiveness, gamma).value
            assert mistakes <= theorem <= explicit
            corollary = bounds.corollary_9(terms, aggressiveness, gamma)
            assert corollary.covered
            assert explicit <= corollary.value


def test_the_first_optimal_aggressiveness():
    runs = [run(small(), 0.5, 108.0, 0.1, seed)[1] for seed in range(5)]
    assert (
        bounds.best_aggressiveness(runs, gamma=2.0)
        == bounds.selective(runs, gamma=2.0).aggressiveness
    )
    with pytest.raises(ValueError, match="aggressiveness, gamma"):
        bounds.selective(runs)


def advised(stream, share=0.01, factor=1.0):
    """A run with the parameters advised for ``factor`` times the stream's own drift."""
    V = float((np.diff(stream.target, axis=0) ** 2).sum())
    radius = float(np.linalg.norm(stream.X, axis=1).max())
    T, d = stream.X.shape
    advice = bounds.advise(T, d, radius, factor * V, share)
    records, terms = run(stream, advice.ridge, 1 / advice.drift if advice.drift else math.inf)
    condition = paper.condition(advice.ridge, radius, d, T, factor * V)
    return advice, records, terms, condition


@pytest.mark.parametrize("share", [0.01, 0.3])
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 3.0, 1e3])
def test_covered_is_the_corollaries_condition(share, factor):
    """c set for V: covered if V is not too large, and the updates saw no more than V."""
    stream = lasec.streams.switching(2_000, dimension=5, every=500, seed=3)
    advice, records, terms, condition = advised(stream, share, factor)
    V = factor * float((np.diff(stream.target, axis=0) ** 2).sum())
    assert advice.covered == condition
    expected = condition and terms.variation <= V * (1 + 1e-12)
    corollary = bounds.corollary_8(terms, gamma=1.0)
    assert corollary.covered == bounds.corollary_9([terms], gamma=1.0).covered == expected
    if expected:
        assert records.mistake.sum() <= corollary.value


def test_the_corollaries_cover_some_and_not_others():
    stream = lasec.streams.switching(2_000, dimension=5, every=500, seed=3)
    found = {factor: bounds.corollary_8(advised(stream, 0.01, factor)[2]).covered
             for factor in (0.01, 1.0, 1e3)}  # fmt: skip
    assert found == {0.01: False, 1.0: True, 1e3: False}


def test_updates_can_see_more_drift_than_the_rounds():
    """A target that moves steadily: V_m > V, because skipped steps add up before they are squared.

    A c that was set from V is then too large for Corollary 8, and ``covered`` says so.
    """
    T, angle = 2_000, np.linspace(0.0, np.pi, 2_000)
    targets = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.random.default_rng(1).standard_normal((T, 2))
    y = np.where((X * targets).sum(axis=1) >= 0, 1, -1).astype(np.int8)
    stream = lasec.streams.Stream(X, y, np.arange(T), targets)
    _, records, terms, condition = advised(stream)
    V = float((np.diff(targets, axis=0) ** 2).sum())
    assert condition
    assert terms.variation > 3 * V
    assert not bounds.corollary_8(terms).covered
    assert records.mistake.sum() <= bounds.supervised(terms).value
    assert bounds.corollary_8(advised(stream, factor=2 * terms.variation / V)[2]).covered


def test_without_drift_a_moving_reference_has_no_bound():
    _, moving = run(lasec.streams.switching(500, dimension=5, every=100, seed=1), 1.0, math.inf)
    for bound in (bounds.supervised(moving), bounds.solved(moving), bounds.selective([moving], 1.0),
                  bounds.explicit([moving], 1.0)):  # fmt: skip
        assert bound.value == math.inf
    assert not bounds.corollary_8(moving).covered
    assert not bounds.corollary_9([moving], 1.0).covered


def test_without_drift_a_fixed_reference_has_the_second_order_perceptrons_bounds():
    """Remarks 3 and 6: c = inf and V_m = 0; all of the forms apply, and so do the corollaries."""
    still = lasec.streams.stationary(500, dimension=5, seed=1)
    advice, records, terms, _ = advised(still)
    assert advice == (0.0, 1.0, True)
    mistakes = records.mistake.sum()
    assert mistakes <= bounds.supervised(terms).value < 500
    corollary = bounds.corollary_8(terms, gamma=1.0)
    assert corollary == bounds.solved(terms, gamma=1.0)
    assert mistakes <= corollary.value < math.inf
    log_det = terms.log_det
    a, u = 0.5, still.target[0]
    made = run(still, 1.0, math.inf, a, 3)[1]
    by_hand = (
        np.maximum(0.0, 2.0 - made.margins[made.updated]).sum() / 2.0
        + a / 8.0 * (u @ u + (made.margins[made.updated] ** 2).sum())
        + made.log_det / (2 * a)
    )
    assert bounds.corollary_9([made], a, 2.0).value == pytest.approx(by_hand, rel=1e-12)
    assert terms.limit(500) == log_det


def test_advice_is_the_corollarys():
    T, d, X, V = 10_000, 50, 10.0, 1_900.0
    drift, ridge, covered = bounds.advise(T, d, X, V, share=0.1)
    c = 1 / drift
    assert c == pytest.approx((math.sqrt(2) * T * d * X / V) ** (2 / 3))
    assert ridge == pytest.approx(0.1 * c)
    assert covered
    # cV = (sqrt(2) d X)^(2/3) T^(2/3) V^(1/3), the corollary's term in A
    assert c * V == pytest.approx((math.sqrt(2) * d * X) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3))
    for drift_ in np.geomspace(1.0, 1e6, 40):
        found = bounds.advise(T, d, X, drift_)
        assert found.covered == paper.condition(found.ridge, X, d, T, drift_)
    lasec.LASEC(d, drift=drift, ridge=ridge)
    assert bounds.advise(T, d, X, 0.0, ridge=7.0) == (0.0, 7.0, True)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"rows": 0}, "rows"), ({"dimension": 1.5}, "dimension"), ({"radius": 0.0}, "radius"),
        ({"variation": -1.0}, "variation"), ({"share": 1.0}, "share"),
        ({"variation": 0.0, "ridge": 0.0}, "ridge"),
    ],
)  # fmt: skip
def test_bad_advice_is_refused(given, name):
    good = {"rows": 10, "dimension": 2, "radius": 1.0, "variation": 1.0}
    with pytest.raises((TypeError, ValueError), match=name):
        bounds.advise(**good | given)


def test_terms_are_refused_where_the_bounds_do_not_apply():
    stream = small()
    other = lasec.Perceptron(6)
    with pytest.raises(TypeError, match="got Perceptron"):
        bounds.terms(other, stream, other.run(*stream))
    greedy = lasec.Learner(lasec.rules.SecondOrder(0.01), dimension=6, learn_from="labels")
    with pytest.raises(ValueError, match="mistakes only"):
        bounds.terms(greedy, stream, greedy.run(*stream))
    learner = lasec.LASEC(6)
    learner.run(*stream)
    with pytest.raises(ValueError, match="whole run"):
        bounds.terms(learner, stream, learner.run(*stream))


def test_a_run_without_updates_has_a_bound_of_its_own():
    X = np.ones((3, 1))
    stream = lasec.streams.Stream(X, np.ones(3, np.int8), np.zeros(3, np.int64), np.ones((1, 1)))
    _, terms = run(stream, 1.0, 100.0)
    assert not terms.updated.any()
    assert bounds.supervised(terms).value == 0.0
    assert bounds.selective([terms], 1.0).value == 0.0
