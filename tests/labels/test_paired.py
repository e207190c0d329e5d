"""Differences between runs over the same rows, and models of other libraries on them."""

import math

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import lasec
from lasec.evaluation import paired_difference
from lasec.evaluation.paired import BLOCKS, of_blocks
from lasec.session import around

X, Y = lasec.streams.switching(4_000, dimension=4, every=2_000, noise=0.05, seed=1)


def test_intervals_hold_where_mistakes_come_in_runs():
    """Two models that differ for some 50 rows at a time: the rows are far from independent."""
    rng, runs, rows, turn = np.random.default_rng(1), 400, 6_000, 1.0 / 50.0
    turns = rng.uniform(size=(runs, rows)) < turn
    better = np.cumsum(turns, axis=1) % 2 == rng.integers(0, 2, (runs, 1))
    apart = (better & (rng.uniform(size=(runs, rows)) < 0.4)).astype(float)  # 0.2 on average
    blocks = apart.reshape(runs, BLOCKS, -1).mean(axis=2)
    found = [of_blocks(row, np.full(BLOCKS, 1.0 / BLOCKS)) for row in blocks]
    covered = np.mean([one.low <= 0.2 <= one.high for one in found])
    naive = 1.96 * apart.std(axis=1) / math.sqrt(rows)
    too_narrow = np.mean(np.abs(apart.mean(axis=1) - 0.2) <= naive)
    assert covered == pytest.approx(0.95, abs=0.035)
    assert too_narrow < 0.6


def test_a_difference_is_that_of_the_accuracies():
    runs = [lasec.evaluate(lasec.Tracker(rate=rate, seed=0), X, Y) for rate in (0.05, 0.5)]
    found = paired_difference(*runs)
    assert found.value == pytest.approx(runs[0].accuracy - runs[1].accuracy)
    assert found.low < found.value < found.high
    back = paired_difference(*reversed(runs))
    assert (back.value, back.low, back.high) == pytest.approx((-found[0], -found[2], -found[1]))
    same = paired_difference(runs[0], runs[0])
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_rows_must_be_the_same_and_enough():
    long, short = (lasec.evaluate(lasec.LASEC(4), X[:n], Y[:n]) for n in (400, 200))
    with pytest.raises(ValueError, match="expected the same rows"):
        paired_difference(long, short)
    few = [lasec.evaluate(lasec.LASEC(4), X[:5], Y[:5]) for _ in range(2)]
    assert math.isnan(paired_difference(*few).low)


def peer(seed=0):
    model = SGDClassifier(loss="log_loss", random_state=0)
    return lasec.Session(around(model, classes=[-1, 1], rate=0.2, seed=seed))


def test_a_peer_has_the_budget_and_the_summary_of_a_learner():
    run = lasec.evaluate(peer(), X, Y)
    own = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, Y)
    assert run.rows == own.rows
    assert run.labels == pytest.approx(own.labels, abs=60)
    assert run.points[-1].planned == own.points[-1].planned
    assert run.accuracy in run.estimate
    assert run.accuracy > 0.8
    assert run.baselines == own.baselines
    assert not math.isnan(paired_difference(run, lasec.evaluate(
        lasec.Tracker(rate=0.2, seed=0), X, Y, into=lasec.RunSummary())).low)  # fmt: skip


def test_a_peer_runs_the_same_in_one_call_and_in_many():
    whole = lasec.evaluate(peer(), X, Y, times=np.arange(4_000.0), into=lasec.RunSummary())
    session, cut = peer(), lasec.RunSummary()
    for begin in range(0, 4_000, 700):
        rows = slice(begin, begin + 700)
        lasec.evaluate(session, X[rows], Y[rows], times=np.arange(4_000.0)[rows], into=cut)
    assert cut.points == whole.points
    assert cut.to_bytes() == whole.to_bytes()


def test_a_peer_waits_for_late_answers_as_a_learner_does():
    session = peer()
    late = lasec.evaluate(session, X, Y, delay=300)
    assert late.points[0].open > 0
    assert len(session.questions) == late.labels - late.answered > 0
    assert late.accuracy < lasec.evaluate(peer(), X, Y).accuracy
    assert late.accuracy in late.estimate
    with pytest.raises(ValueError, match="this run has followed one up to row 4000"):
        lasec.evaluate(peer(), X, Y, into=late)
