"""Blocks, lazy or not, of any size, make the decisions of the row-by-row form.

``LASEC_ROUNDS=1000000 pytest tests/parity/test_blocks.py`` compares a million rows each.
"""

import os

import numba
import numpy as np
import pytest

import lasec
from lasec.kernel import engine
from lasec.kernel.chunk import Chunk, Columns
from lasec.kernel.eigenvalue_bound import EigenvalueBound, from_traces, holds, tighten

ROUNDS = int(os.environ.get("LASEC_ROUNDS", "4000"))
NARROW, WIDE = 12, 140  # on both sides of the dimension from which on only a triangle is kept

ALGORITHMS = {
    "LASEC": lambda d: lasec.LASEC(d, drift=0.02, ridge=0.5, seed=5),
    "LASEC-SS": lambda d: lasec.LASEC_SS(d, drift=0.02, ridge=0.5, aggressiveness=0.05, seed=5),
    "LASEC-SS, hardly asking": lambda d: lasec.LASEC_SS(d, drift=1e-3, aggressiveness=3e-4, seed=5),
    "SOP-SS": lambda d: lasec.SOP_SS(d, ridge=2.0, aggressiveness=0.02, seed=5),
    "BBQ": lambda d: lasec.BBQ(d, exponent=0.3, seed=5),
    "BBQ-I": lambda d: lasec.BBQ_I(d, exponent=0.2, seed=5),
    "AROW": lambda d: lasec.Learner(
        lasec.rules.AROW(2.0), lasec.queries.Uniform(0.3), dimension=d, learn_from="labels", seed=5
    ),
    "Probit": lambda d: lasec.Learner(
        lasec.rules.Probit(2.0, 0.01),
        lasec.queries.MarginSampling(0.5),
        dimension=d,
        learn_from="labels",
        seed=5,
    ),
    "AROW-SS": lambda d: lasec.Learner(
        lasec.rules.AROW(2.0),
        lasec.queries.MarginSampling(0.5),
        dimension=d,
        learn_from="labels",
        seed=5,
    ),
}
# Of block sizes, 0 is the one that run chooses.
FORMS = [(block, lazy) for block in (0, 1, 2, 7, 31, 64, 256) for lazy in (False, True)]


def row_by_row(learner, X, y):
    columns, chunk = Columns.empty(len(X)), Chunk(X, y, np.uint64(learner.seed), 0)
    parts, mistakes_only = (learner.rule, learner.query), learner.learn_from == "mistakes"
    end = engine._ROWS(
        parts, *parts, learner.state, learner.query_state, chunk, mistakes_only, columns, 0
    )
    assert end == (len(X), False)
    return columns


def in_blocks(learner, X, y, block, lazy):
    bad, columns, learner.state, _ = engine.run(
        learner.rule, learner.query, learner.state, learner.query_state,
        Chunk(X, y, np.uint64(learner.seed), 0), mistakes_only=learner.learn_from == "mistakes",
        lazy=lazy, block=block,
    )  # fmt: skip
    assert bad == -1
    return columns


@pytest.mark.parametrize("dimension", [NARROW, WIDE])
@pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_the_decisions_are_those_of_the_rows(build, dimension):
    X, y = lasec.streams.switching(ROUNDS, dimension=dimension, every=500, seed=8)
    y = y.astype(float)
    rows = build(dimension)
    expected = row_by_row(rows, X, y)
    for block, lazy in FORMS:
        learner = build(dimension)
        columns = in_blocks(learner, X, y, block, lazy)
        for name in ("label", "asked", "mistake", "updated"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(expected, name))
        known = ~np.isnan(columns.propensity)
        assert (known | ~columns.asked).all()
        assert lazy or known.all()
        for name in ("margin", "variance", "propensity"):
            np.testing.assert_allclose(
                getattr(columns, name)[known], getattr(expected, name)[known], rtol=1e-9, atol=1e-11
            )
        for ours, theirs in zip(learner.state, rows.state, strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_array_equal(learner.state.cov, learner.state.cov.T)


def test_lazy_runs_skip_most_rows_where_few_are_asked():
    X, y = lasec.streams.switching(4_000, dimension=80, every=500, seed=8)
    learner = lasec.LASEC_SS(80, drift=0.01, ridge=0.5, aggressiveness=0.001)
    records = learner.run(X, y, lazy=True)
    known = ~np.isnan(records.variance)
    assert records.rate < 0.12
    assert known.mean() < 0.3
    assert known[records.asked].all()


def test_narrow_rows_are_all_computed():
    X, y = lasec.streams.switching(1_000, dimension=20, every=500, seed=8)
    records = lasec.LASEC_SS(20, aggressiveness=0.01).run(X, y, lazy=True)
    assert not np.isnan(records.variance).any()


@pytest.mark.parametrize(
    "learn",
    [
        lambda learner, X, y: learner.run(X[:3], y[:3], lazy=True),
        lambda learner, X, y: learner.run(X, y),
        lambda learner, X, y: learner.run(X, y, lazy=True),
        lambda learner, X, y: learner.tell(learner.ask(X[0]).ticket, y[0]),
        lambda learner, X, y: learner.learn(X[0], y[0]),
    ],
    ids=["few rows", "eager", "lazy", "tell", "learn"],
)
def test_what_is_known_of_eigenvalues_never_outlives_the_covariance(learn):
    """Up to as many updates as weights, each raises the largest eigenvalue by its drift."""
    X, y = lasec.streams.switching(30, dimension=64, every=500, seed=8)
    rule, query = (
        lasec.rules.SecondOrder(drift=1.9, ridge=0.5),
        lasec.queries.MarginSampling(np.inf),
    )
    learner = lasec.Learner(rule, query, dimension=64, learn_from="labels")
    learner.run(X[:10], y[:10], lazy=True)
    assert learner._now.bound.numbers[0] == pytest.approx(2.0 + 10 * 1.9, rel=1e-6)
    learn(learner, X[10:], y[10:])
    assert learner.updates > 10
    known = np.inf if learner._now.bound is None else learner._now.bound.numbers[0]
    assert known >= np.linalg.eigvalsh(learner.state.cov)[-1] * (1.0 - 1e-9)


def test_a_query_that_promises_nothing_is_never_run_lazily():
    from ownrule import Contrary

    X, y = lasec.streams.switching(2_000, dimension=64, every=500, seed=8)
    rule = lasec.rules.SecondOrder(0.01, ridge=50.0)
    eager, lazy = (lasec.Learner(rule, Contrary(), dimension=64) for _ in range(2))
    expected, records = eager.run(X, y), lazy.run(X, y, lazy=True)
    np.testing.assert_array_equal(records.asked, expected.asked)
    assert not np.isnan(records.variance).any()
    assert 0.05 < records.rate < 0.9


def test_a_row_that_only_an_earlier_row_of_its_block_makes_learnable():
    """A long row is refused as a first one; after a short one in its direction it is not."""
    short, long = np.full((8, 1), 1.0), np.full((8, 1), 1e3)
    with pytest.raises(ValueError, match="row 0: too large"):
        lasec.SOP(1, ridge=1e-10).run(long, np.ones(8))
    learner = lasec.Learner(lasec.rules.SecondOrder(0.0, 1e-10), dimension=1, learn_from="labels")
    learner.run(np.vstack([short, long]), np.ones(16))
    assert learner.updates == 16


def test_a_refused_row_in_a_late_block_leaves_no_trace():
    X, y = lasec.streams.switching(1_000, dimension=3, every=500, seed=8)
    X[900] = [1e12, 0.0, 0.0]
    for bad, words in ((1e12, "row 900: too large"), (np.nan, "NaN"), (1e61, "beyond 1e")):
        X[900, 0] = bad
        learner = lasec.SOP(3)
        before = learner.to_bytes()
        with pytest.raises(ValueError, match=words):
            learner.run(X, y)
        assert learner.to_bytes() == before


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_the_bound_is_above_the_largest_eigenvalue(drift, kind):
    tightened = numba.njit(tighten.py_func)
    rng, d = np.random.default_rng(1), 20
    C, known = np.eye(d) * 2.0, EigenvalueBound.unknown(d, np.dtype(kind))
    looks = []
    for _ in range(300):
        bound = tightened(known, C.astype(kind), 40)
        largest = np.linalg.eigvalsh(C)[-1]
        looks.append(bound / largest)
        assert bound >= largest * (1.0 - 1e-6)
        x = rng.standard_normal(d) * rng.exponential(1.0)
        g = C @ x
        C += drift * np.eye(d) - np.outer(g, g) / (1.0 + x @ g)
        known.numbers[0] += drift
    assert np.median(looks[50:]) < 1.35


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_bounds_are_certified_only_if_they_hold(kind):
    certified = numba.njit(holds.py_func)
    traced = numba.njit(from_traces.py_func)
    rng = np.random.default_rng(2)
    for d in (1, 2, 5, 30):
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        C = ((Q * rng.uniform(0.1, 3.0, d)) @ Q.T).astype(kind)
        largest = np.linalg.eigvalsh(C.astype(float))[-1]
        assert certified(1.01 * largest, C)
        assert not certified(0.999 * largest, C)
        assert largest <= traced(C) <= np.sqrt(d) * 3.1


@pytest.mark.parametrize("size", [1e10, 1e15, 1e30, 1e55])
def test_one_enormous_row_among_others(size):
    X, y = lasec.streams.stationary(300, dimension=5, seed=1)
    X[130] = size
    chunk, single = (lasec.LASEC_SS(5, drift=0.01) for _ in range(2))
    records = chunk.run(X, y)
    rows = [single.run(X[t : t + 1], y[t : t + 1]) for t in range(len(y))]
    alone = lasec.Records.join(rows)
    np.testing.assert_array_equal(records.asked, alone.asked)
    np.testing.assert_allclose(records.margin, alone.margin, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(chunk.state.cov, single.state.cov, rtol=1e-9)
