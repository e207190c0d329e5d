"""Blocks of any size make the decisions of the row-by-row form.

``LASEC_ROUNDS=1000000 pytest tests/parity/test_blocks.py`` compares a million rows each.
"""

import os

import numpy as np
import pytest

import lasec
from lasec.kernel import codes, loops
from lasec.kernel.engine import Bound, Chunk, Columns, Machine, _Play

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
SIZES = (0, 1, 2, 7, 31, 64, 256)


def row_by_row(learner, X, y):
    columns, chunk = Columns.empty(len(X)), Chunk(X, y, np.uint64(learner.seed), 0)
    model = Bound.of_rule(learner.rule, learner.state, X.dtype)
    query = Bound.of_query(learner.query, learner.selector.query_state)
    play = _Play(model, query, chunk, learner.learn_from == "mistakes", columns)
    assert play.go(loops.run_rows, 0) == len(X)
    return columns


def in_blocks(learner, X, y, block):
    assert codes.compiles()
    bad, columns, learner.state, _ = Machine().run(
        learner.rule, learner.query, learner.state, learner.selector.query_state,
        Chunk(X, y, np.uint64(learner.seed), 0), mistakes_only=learner.learn_from == "mistakes",
        block=block,
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
    for block in SIZES:
        learner = build(dimension)
        columns = in_blocks(learner, X, y, block)
        for name in ("label", "asked", "mistake", "updated"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(expected, name))
        for name in ("margin", "variance", "propensity"):
            np.testing.assert_allclose(
                getattr(columns, name), getattr(expected, name), rtol=1e-9, atol=1e-11
            )
        for ours, theirs in zip(learner.state, rows.state, strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_array_equal(learner.state.cov, learner.state.cov.T)


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
