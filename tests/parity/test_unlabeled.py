"""Rows without a label: predicted, counted, perhaps asked, and never learned."""

import numpy as np
import pytest

import lasec
from lasec.nested import leaves
from lasec.queries import Always, Uniform
from lasec.rules import Perceptron, SecondOrder

NAMES = np.array(["ham", "spam", "eggs"], dtype=object)
D = 4


def stream(classes, n=300, missing=0.6, seed=0):
    """Rows around a place for each class, most of them without a label."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, classes, n)
    X = 0.7 * rng.standard_normal((n, D)) + np.eye(D)[which] * 2.0
    y = NAMES[which] if classes > 2 else np.where(which, 1.0, -1.0)
    y[rng.random(n) < missing] = None if classes > 2 else np.nan
    return X, y


def learners():
    """Rules that run in blocks, row by row, and for many classes."""
    plain = {"dimension": D, "seed": 1}
    return [
        lambda: lasec.Learner(SecondOrder(0.1, 0.5), Uniform(0.5), **plain),
        lambda: lasec.Learner(SecondOrder(0.1, 0.5), Always(), learn_from="labels", **plain),
        lambda: lasec.Learner(Perceptron(), Uniform(0.5), **plain),
        lambda: lasec.Tracker(D, rate=0.3, seed=1),
    ]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", learners(), ids=["blocks", "every", "rows", "tracker"])
def test_a_chunk_is_the_loop_that_gives_up_what_is_not_answered(make, classes):
    X, y = stream(classes)
    whole, single = make(), make()
    records = whole.run(X, y)
    known = np.array([label is not None and label == label for label in y])  # noqa: PLR0124
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        decision = single.ask(x)
        assert decision.asked == records.asked[i]
        assert decision.label == records.label[i]
        assert decision.propensity == pytest.approx(records.propensity[i], rel=1e-9)
        if decision.asked and known[i]:
            single.tell(decision.ticket, label)
        elif decision.asked:
            single.cancel(decision.ticket)
    for one, other in zip(leaves(whole.state), leaves(single.state), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert (whole.told, whole.dropped, whole.pending) == (single.told, single.dropped, ())
    assert records.labeled.tolist() == known.tolist()
    assert not records.mistake[~known].any()
    assert records.learned.tolist() == (records.asked & known).tolist()
    wrong = [a != b for a, b, k in zip(records.label, y, known, strict=True) if k]
    assert records.accuracy == pytest.approx(1.0 - np.mean(wrong))


def test_no_row_has_a_label():
    X, _ = stream(2)
    tracker = lasec.Tracker(D, rate=0.3, seed=1)
    records = tracker.run(X, [None] * len(X))
    assert tracker.told == 0
    assert records.labels == tracker.dropped == tracker.asked > 0
    assert np.isnan(records.accuracy)
    assert tracker.classes == (-1, 1)


def test_a_label_that_is_told_must_be_one():
    learner = lasec.LASEC(dimension=D)
    ticket = learner.ask(np.ones(D)).ticket
    with pytest.raises(ValueError, match="is no label"):
        learner.tell(ticket, float("nan"))
    with pytest.raises(ValueError, match="is no label"):
        learner.learn(np.ones(D), None)
    with pytest.raises(ValueError, match="has no label"):
        learner.learn_many(np.ones((1, D)), [None])
