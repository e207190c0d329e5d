"""A fleet of many classes does to the rows of a key what a learner of its own would do."""

import numpy as np
import pytest

import lasec
from fleets import simulate
from lasec.nested import leaves

UNASKED = lasec.Fleet.UNASKED
NAMES = ("ash", "oak", "yew")
MODELS = 3
SECOND, HALF = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Uniform(rate=0.5)
RULES = {
    "Tracking": (lasec.rules.Tracking(), lasec.queries.Budgeted(rate=0.4), "labels"),
    "SecondOrder": (SECOND, HALF, "mistakes"),
    "every label": (SECOND, HALF, "labels"),
}


def stream(rows=240, names=NAMES, missing=0.2, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(len(names), size=rows)
    X = rng.normal(size=(rows, 4)) + 3.0 * rng.normal(size=(len(names), 4))[kind]
    y = np.array([names[k] for k in kind], dtype=object)
    y[rng.random(rows) < missing] = None
    return rng.integers(MODELS, size=rows), X, y


def made(which, names=NAMES):
    rule, query, learn_from = RULES[which]
    fleet = lasec.Fleet(
        rule, query, models=MODELS, dimension=4, learn_from=learn_from, seed=1, classes=names
    )
    return fleet, [fleet.learner(k) for k in range(MODELS)]


def assert_same(fleet, learners, X):
    for k, learner in enumerate(learners):
        for mine, its in zip(leaves(fleet.learner(k).state), leaves(learner.state), strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)
        for name in ("rows", "asked", "told", "updates"):
            assert getattr(fleet, name)[k] == getattr(learner, name), name
        assert fleet.learner(k).predict(X).tolist() == learner.predict(X).tolist()


@pytest.mark.parametrize("names", [NAMES, ("no", "yes"), (0, 1), (-1, 1)])
@pytest.mark.parametrize("which", RULES)
def test_labels_at_once_are_those_of_learners(which, names):
    keys, X, y = stream(names=names)
    fleet, learners = made(which, names)
    records = simulate(fleet, keys, X, y)
    for k, learner in enumerate(learners):
        mine = keys == k
        alone = learner.run(X[mine], y[mine])
        assert records.label[mine].tolist() == alone.label.tolist()
        np.testing.assert_allclose(records.margin[mine], alone.margin, atol=1e-9)
        np.testing.assert_allclose(records.propensity[mine], alone.propensity, atol=1e-9)
        for name in ("asked", "learned", "labeled", "mistake", "updated"):
            assert getattr(records, name)[mine].tolist() == getattr(alone, name).tolist(), name
        said = alone.sign != 0  # not before the first label
        assert records.sign[mine][said].tolist() == alone.sign[said].tolist()
    assert not records.labeled.all()
    assert (records.asked & ~records.labeled).any()
    assert_same(fleet, learners, X)


@pytest.mark.parametrize("which", RULES)
def test_serve_is_ask_tell_and_learn(which):
    """Questions, late answers, and labels that nobody asked for, one by one."""
    keys, X, y = stream(missing=0.0)
    fleet, learners = made(which)
    offered = np.random.default_rng(5).random(len(y)) < 0.2
    for k, x, label, extra in zip(keys.tolist(), X, y, offered, strict=True):
        if extra:
            outcome = learners[k].learn(x, label)
            told = fleet.serve([k], x[None], [label], tickets=[UNASKED])
            assert told.ticket[0] == outcome.decision.ticket
            assert told.learned[0]
            assert told.mistake[0] == outcome.mistake
            continue
        decision = learners[k].ask(x)
        asked = fleet.serve([k], x[None], [None])
        assert (asked.label[0], bool(asked.asked[0])) == (decision.label, decision.asked)
        assert asked.margin[0] == pytest.approx(decision.margin, abs=1e-9)
        assert asked.propensity[0] == pytest.approx(decision.propensity, abs=1e-9)
        if decision.asked:
            outcome = learners[k].tell(decision.ticket, label)
            told = fleet.serve([k], x[None], [label], tickets=asked.ticket)
            assert (told.mistake[0], told.updated[0]) == (outcome.mistake, outcome.updated)
    assert fleet.waiting.tolist() == [0] * MODELS
    assert_same(fleet, learners, X)


def test_an_unasked_label_in_the_call_of_its_row():
    """It answers the question, if there is one, and is a step of its own if there is none."""
    fleet, _ = made("SecondOrder")
    x, y = np.ones((2, 4)), [None, "oak"]
    for draw, rows, waiting in ((0.9, 2, 0), (0.1, 1, 0)):
        fleet, _ = made("SecondOrder")
        served = fleet.serve([0, 0], x, y, after=[-1, 0], tickets=[-1, UNASKED], draws=[draw, 0.0])
        assert served.learned.tolist() == [False, True]
        assert (fleet.rows[0], fleet.told[0], fleet.waiting[0]) == (rows, 1, waiting)
    skipped = fleet.serve([0, 0], x, y, after=[-1, 0], draws=[0.9, 0.0])
    assert skipped.label[1] is None
    assert skipped.learned.tolist() == [False, False]


def test_other_labels_are_refused():
    fleet, _ = made("Tracking")
    with pytest.raises(ValueError, match=r"y: expected one of \('ash', 'oak', 'yew'\), got 'elm'"):
        fleet.serve([0], np.ones((1, 4)), ["elm"], tickets=[UNASKED])
    assert fleet.rows.sum() == 0


def test_classes_are_saved_put_and_compared():
    keys, X, y = stream()
    fleet, _ = made("Tracking")
    simulate(fleet, keys, X, y)
    again = lasec.Fleet.from_bytes(fleet.to_bytes())
    assert again.classes == NAMES
    one, other = (simulate(f, keys, X, y) for f in (fleet, again))
    assert one.label.tolist() == other.label.tolist()
    assert (one.margin == other.margin).all()
    learner = fleet.learner(1)
    again.put(0, learner)
    assert again.learner(0).predict(X).tolist() == learner.predict(X).tolist()
    with pytest.raises(ValueError, match="classes: this fleet's is"):
        again.put(0, lasec.Learner(fleet.rule, fleet.query, dimension=4, learn_from="labels",
                                   classes=["a", "b", "c"]))  # fmt: skip
    with pytest.raises(ValueError, match="classes: expected 3 names"):
        lasec.Fleet(lasec.rules.Tracking(classes=3), models=1, dimension=1, classes=["a"])


def test_of_takes_what_a_learner_has_learned_and_its_weights():
    _, X, y = stream(missing=0.0)
    for weights in (None, {"yew": 5.0}, "balanced"):
        tracker = lasec.Tracker(4, rate=0.5, classes=NAMES, class_weight=weights, seed=3)
        tracker.run(X[:100], y[:100])
        fleet = lasec.Fleet.of(tracker, models=2, seeds=np.full(2, 3, np.uint64))
        records = simulate(fleet, np.ones(140, int), X[100:], y[100:])
        alone = tracker.run(X[100:], y[100:])
        assert records.label.tolist() == alone.label.tolist()
        assert records.asked.tolist() == alone.asked.tolist()
        np.testing.assert_allclose(records.margin, alone.margin, atol=1e-9)


@pytest.mark.parametrize("names", [NAMES, (-1, 1)])
def test_wide_models_renew_their_basis_between_two_rows(names):
    """With more than 192 features the rule has work between rows that is not compiled."""
    rng = np.random.default_rng(0)
    keys, X = rng.integers(2, size=120), rng.normal(size=(120, 200))
    y = [names[k] for k in rng.integers(len(names), size=120)]
    tracker = lasec.Tracker(200, rate=0.9, classes=None if names == (-1, 1) else names, seed=1)
    fleet = lasec.Fleet.of(tracker, models=2, seed=1)
    learners = [fleet.learner(k) for k in range(2)]
    records = simulate(fleet, keys[:80], X[:80], y[:80])
    later = fleet.serve(keys[80:], X[80:], [None] * 40)
    tickets, asked = later.ticket[later.asked], np.flatnonzero(later.asked) + 80
    told = fleet.serve(keys[asked], X[asked], [y[i] for i in asked], tickets=tickets)
    assert told.learned.all()
    assert len(asked) > 20
    for k, learner in enumerate(learners):
        mine = np.flatnonzero(keys == k)
        alone = learner.run(X[mine[mine < 80]], [y[i] for i in mine if i < 80])
        np.testing.assert_allclose(records.margin[keys[:80] == k], alone.margin, atol=1e-9)
        decided = learner.ask_many(X[mine[mine >= 80]])
        for ticket, i in zip(decided.ticket, mine[mine >= 80], strict=True):
            if learner.is_open(ticket):
                learner.tell(ticket, y[i])
        assert learner.state.core.basis.any()  # it was renewed
        np.testing.assert_allclose(fleet.learner(k).margins(X), learner.margins(X), atol=1e-6)


def test_wide_models_with_labels_of_the_same_call_are_learners():
    """Labels whose rows were not asked about are skipped, and renew nothing."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 200)), rng.choice([-1, 1], size=150)
    tracker = lasec.Tracker(200, rate=0.4, seed=1)
    fleet = lasec.Fleet.of(tracker, models=1, seeds=np.array([1], np.uint64))
    both = np.repeat(np.arange(150), 2)  # each row, and its label
    labels = np.where(np.arange(300) % 2, y[both], np.nan)
    after = np.where(np.arange(300) % 2, np.arange(300) - 1, -1)
    served = fleet.serve(np.zeros(300, int), X[both], labels, after=after)
    alone = tracker.run(X, y)
    assert 20 < alone.labels < 120
    assert served.asked[::2].tolist() == alone.asked.tolist()
    np.testing.assert_allclose(served.margin[::2], alone.margin, atol=1e-9)
