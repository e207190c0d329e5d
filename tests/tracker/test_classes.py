"""The Tracker with any number of classes: its equations, its names, and its forms."""

import contextlib
import copy
import itertools

import numpy as np
import pytest

import lasec
from doubled import in_double
from lasec import triangle
from lasec.queries import Budgeted
from lasec.rules import Tracking
from reference import tracker_forms as reference

ROWS = 600


def stream(K, d=6, rows=ROWS, seed=3, late=()):
    """K linear concepts that change in the middle, one label in twenty wrong; from 1 to K.

    ``late``: classes, and the row before which they do not come.
    """
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((rows, d)), rng.standard_normal((2, K, d))
    y = np.array([np.argmax(W[2 * t // rows] @ X[t]) for t in range(rows)]) + 1
    wrong = rng.random(rows) < 0.05
    y[wrong] = rng.integers(1, K + 1, wrong.sum())
    for c, begin in late:
        y[:begin][y[:begin] == c] = 1
    return X, y


def named(y, names):
    """The classes 1, 2, .. by other names."""
    return [names[c - 1] for c in y]


def looped(tracker, X, y, **given):
    """The columns of a run, from ask and tell."""
    rows = []
    for x, label in zip(X, y, strict=True):
        decision = tracker.ask(x, **given)
        rows.append((decision.label, decision.margin, decision.propensity, decision.asked))
        if decision.asked:
            tracker.tell(decision.ticket, label)
    return [list(column) for column in zip(*rows, strict=True)]


def in_pieces(tracker, X, y, cuts):
    """The records of a stream that is cut at some rows."""
    edges = [0, *sorted(cuts), len(y)]
    return [tracker.run(X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("K", [3, 5])
def test_equals_its_equations(K, rate):
    X, y = stream(K, late=((K, 200), (K - 1, 100)))
    tracker = in_double(lasec.Tracker(6, rate=rate, seed=5, classes=range(1, K + 1)))
    ours = tracker.run(X, y)
    twin = reference.Forms(6, classes=K)
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    p, label, propensity, asked = reference.play(twin, rate, X, y, coins)

    np.testing.assert_array_equal(ours.asked, asked)
    np.testing.assert_array_equal(ours.label, label)
    np.testing.assert_array_equal(ours.mistake, label != y)
    np.testing.assert_allclose(ours.margin, 2.0 * p.max(axis=1) - 1.0, atol=1e-9)
    np.testing.assert_allclose(ours.propensity, propensity, rtol=1e-7)
    said = np.array([twin.probabilities(x, ROWS + 1) for x in X[:100]])
    np.testing.assert_allclose(tracker.predict_proba(X[:100]), said, rtol=1e-7, atol=1e-9)
    posterior = twin.pi.reshape(tracker.state.posterior.shape)
    np.testing.assert_allclose(tracker.state.posterior, posterior, rtol=1e-6, atol=1e-12)
    n, lived = 6 + 1 + K, 0
    for b, lineage in enumerate(twin.lineages):
        for k, state in enumerate(lineage or []):
            i = 5 * b + k
            lived += 1
            np.testing.assert_allclose(
                tracker.state.core.dense.weights[i, :, :n], state.W, rtol=1e-6, atol=1e-7
            )
            P = triangle.whole(tracker.state.core.dense.covs[i], n)
            np.testing.assert_allclose(P, state.P, rtol=1e-6, atol=1e-6)
    assert lived > 10  # births are in the comparison


def test_late_classes_are_in_the_comparison():
    X, y = stream(5, late=((5, 200), (4, 100)))
    twin = reference.Forms(6, classes=5)
    coins = lasec.uniforms(5, 0, ROWS)[:, 0]
    p, label, _, asked = reference.play(twin, 0.3, X, y, coins)
    for c, begin in ((5, 200), (4, 100)):
        told = begin + np.flatnonzero(asked[begin:] & (y[begin:] == c))[0]
        assert (p[: told + 1, c - 1] == 0.0).all()
        assert (p[told + 1 :, c - 1] > 0.0).all()
        assert (label[told:] == c).any()


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("K", [3, 5])
def test_single_precision_is_enough(K, rate):
    X, y = stream(K, late=((K, 200), (K - 1, 100)))
    single, double = (
        lasec.Tracker(6, rate=rate, seed=5, classes=range(1, K + 1)) for _ in range(2)
    )
    ours, theirs = single.run(X, y), in_double(double).run(X, y)
    np.testing.assert_array_equal(ours.asked, theirs.asked)
    np.testing.assert_allclose(ours.margin, theirs.margin, atol=1e-4)  # about 1e-6 in fact


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_classes_that_are_added_are_as_if_known_from_the_start(rate):
    """From the third class on, a place for a class that was never told changes nothing."""
    X, y = stream(6, late=((6, 300), (5, 200), (4, 100)))
    known = lasec.Tracker(6, rate=rate, seed=5, classes=range(1, 7))
    grown = lasec.Tracker(6, rate=rate, seed=5, classes=range(1, 4))
    ours, theirs = known.run(X, y), grown.run(X, y)
    # Classes get their places in the order in which they are told, and here it is this one.
    assert grown.classes == (1, 2, 3, 4, 5, 6)
    np.testing.assert_array_equal(ours.asked, theirs.asked)
    np.testing.assert_array_equal(ours.label, theirs.label)
    np.testing.assert_allclose(ours.margin, theirs.margin, atol=1e-5)
    np.testing.assert_allclose(known.predict_proba(X), grown.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(("rate", "least"), [(0.3, 0.94), (1.0, 0.99)])
@pytest.mark.parametrize("kind", ["switching", "walking", "stationary"])
def test_two_classes_of_three_are_nearly_the_binary_tracker(kind, rate, least):
    """The logistic in the place of Phi, and a place for each last label: it hardly shows.

    With all labels, 99.3 to 99.8% of the predictions are equal. With few, other rows are queried
    after a while, and 95.8 to 99.0% are.
    """
    X, y = getattr(lasec.streams, kind)(3_000, dimension=8, noise=0.05, seed=3)
    draws = lasec.uniforms(5, 0, len(y))[:, 0]
    two = lasec.Tracker(8, rate=rate, classes=[-1, 1]).run(X, y, draws=draws)
    three = lasec.Tracker(8, rate=rate, classes=[-1, 1, "never"]).run(X, y, draws=draws)
    assert set(three.label.tolist()) == {-1, 1}
    assert (two.label == three.label.astype(int)).mean() > least
    assert abs(two.accuracy - three.accuracy) < 0.01


def test_a_rule_of_three_classes_needs_no_names():
    X, y = stream(3)
    rule = Tracking(classes=3)
    bare = lasec.Learner(rule, Budgeted(0.3), dimension=6, learn_from="labels", seed=5)
    theirs = lasec.Tracker(6, rate=0.3, seed=5, classes=[1, 2, 3]).run(X, y)
    ours = bare.run(X, y)
    np.testing.assert_array_equal(ours.asked, theirs.asked)
    # 1 has the place of a sign, the second: the order of the classes is not that of the numbers.
    assert sorted(bare.classes) == [1, 2, 3]
    np.testing.assert_allclose(ours.margin, theirs.margin, atol=1e-6)


NAMES = {
    "text": ["ham", "spam", "eggs", "beans"],
    "numbers": [10, 20, 30, 40],
    "zero": [0, 1, 2, 3],
    "floats": [0.5, -1.5, 2.5, 7.0],
    "mixed": ["ham", 1, 2.5, "7"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_do_not_matter(names):
    """Whatever classes are called, given or not, and whenever they come: the same decisions."""
    X, y = stream(4, late=((3, 150), (4, 300)))
    y[:2] = 1, 2
    plain = lasec.Tracker(6, rate=0.5, seed=5, classes=["a", "b"])
    other = lasec.Tracker(6, rate=0.5, seed=5, classes=names[:2])
    letters, ours = plain.run(X, named(y, "abcd")), other.run(X, named(y, names))
    np.testing.assert_array_equal(letters.asked, ours.asked)
    np.testing.assert_array_equal(letters.margin, ours.margin)
    assert ours.label.tolist() == [names["abcd".index(label)] for label in letters.label]
    assert other.classes == tuple(names)
    assert other.predict(X).tolist() == [names["abcd".index(c)] for c in plain.predict(X)]
    np.testing.assert_array_equal(plain.predict_proba(X), other.predict_proba(X))
    np.testing.assert_allclose(other.predict_proba(X).sum(axis=1), 1.0)
    best = other.predict_proba(X).argmax(axis=1)
    assert other.predict(X).tolist() == [names[c] for c in best]


@pytest.mark.parametrize(
    "names", [("ham", "spam"), (0, 1), (1, 0), (False, True), (True, False), (-1, 1), (1, 2)]
)
def test_two_classes_take_their_names_from_the_labels(names):
    """The first rows teach both names; 1 and True are always the second of two classes."""
    X, y = stream(2, rows=300)
    y[:2] = 1, 2
    labels = named(y, names)
    tracker = lasec.Tracker(rate=1.0, seed=5)
    records = tracker.run(X, labels)
    assert set(tracker.classes) == set(names)
    if 1 in names:
        assert tracker.classes[1] == 1
    right = np.array([a == b for a, b in zip(records.label, labels, strict=True)])
    np.testing.assert_array_equal(right[2:], ~records.mistake[2:])
    assert right[2:].mean() > 0.8
    assert type(tracker.predict(X[:1]).tolist()[0]) is type(names[0])
    decision = tracker.ask(X[0])
    assert decision.label in names
    outcome = tracker.tell(decision.ticket, labels[0])
    assert (outcome.y, outcome.decision) == (labels[0], decision)
    assert outcome.correct == (decision.label == labels[0])


def test_arrays_of_bools_and_of_texts():
    X, y = stream(2, rows=300)
    for given, names in (
        (y == 2, (False, True)),
        (np.array(["no", "yes"])[y - 1], ("no", "yes")),
        (y.astype(np.uint8) - 1, (0, 1)),
    ):
        tracker = lasec.Tracker(rate=1.0, seed=5, classes=names)
        records = tracker.run(X, given)
        np.testing.assert_array_equal(records.mistake, records.label != given)
        assert records.label.dtype.kind == given.dtype.kind.replace("u", "i")
        assert tracker.classes == names


def test_a_class_in_the_middle_through_every_door():
    X, y = stream(3, late=((3, 300),))
    labels = named(y, ["a", "b", "c"])
    tracker = lasec.Tracker(rate=1.0, seed=5)
    for x, label in zip(X[:150], labels[:150], strict=True):
        tracker.learn(x, label)
    tracker.run(X[150:300], labels[150:300])
    assert sorted(tracker.classes) == ["a", "b"]
    assert tracker.predict_proba(X[:5]).shape == (5, 2)
    first = labels.index("c")
    for door in ("learn", "tell", "run"):
        other = copy.deepcopy(tracker)
        if door == "learn":
            assert not other.learn(X[first], "c").correct
        elif door == "tell":
            assert not other.tell(other.ask(X[first]).ticket, "c").correct
        else:
            assert other.run(X[first : first + 1], ["c"]).mistake.all()
        assert other.classes == (*tracker.classes, "c")
        assert other.rule.classes == 3
        assert (other.predict_proba(X[:5]) > 0.0).all()
        records = other.run(X[first + 1 :], labels[first + 1 :])
        assert records.accuracy > 0.75
        assert set(records.label[20:]) == {"a", "b", "c"}
    assert tracker.rule.classes == 2


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_run_is_the_loop_however_it_is_cut(seed, rate):
    X, y = stream(5, seed=seed, late=((3, 60), (4, 200), (5, 330)))
    labels = named(y, ["a", "b", "c", "d", "e"])
    rng = np.random.default_rng(seed)
    together, apart, cut = (
        lasec.Tracker(6, rate=rate, seed=seed, classes=["a", "b"]) for _ in range(3)
    )
    label, margin, propensity, asked = looped(apart, X, labels)
    first = [labels.index(c) for c in "cde"]
    near = [row + step for row in first for step in (0, 1)]
    cuts = {*rng.integers(1, ROWS, size=8).tolist(), *near}
    for tracker, at in ((together, ()), (cut, cuts)):
        records = lasec.Records.join(in_pieces(tracker, X, labels, at))
        assert records.asked.tolist() == asked
        assert records.label.tolist() == label
        np.testing.assert_allclose(records.margin, margin, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(records.propensity, propensity, rtol=1e-9)
        assert tracker.classes == apart.classes == ("a", "b", "c", "d", "e")
        assert tracker.to_bytes() == apart.to_bytes()


@pytest.mark.parametrize("names", [("ham", "spam"), (0, 1), ("ham", "spam", "eggs")])
def test_run_says_what_ask_says_before_all_names_are_known(names):
    X, y = stream(len(names), rows=40)
    labels = named(y, names)
    together, apart = (lasec.Tracker(6, rate=1.0, seed=1) for _ in range(2))
    label = looped(apart, X, labels)[0]
    assert together.run(X, labels).label.tolist() == label


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_chunk_with_a_bad_row_changes_nothing(names):
    X, y = stream(4, late=((3, 100), (4, 200)))
    labels = named(y, ["a", "b", "c", "d"])
    tracker = lasec.Tracker(6, rate=1.0, seed=5, classes=list(names))
    tracker.run(X[:50], labels[:50])
    opened = [tracker.ask(x).ticket for x in X[50:54]]
    before, rule = tracker.to_bytes(), tracker.rule
    broken = X[60:].copy()
    broken[300, 2] = np.nan
    assert {"c", "d"} <= set(labels[60:300])
    with pytest.raises(ValueError, match="NaN"):
        tracker.run(broken, labels[60:])
    bad = [*labels[60:400], ["a"], *labels[401:]]
    with pytest.raises(TypeError, match="a label must be text or a number"):
        tracker.run(X[60:], bad)
    assert tracker.to_bytes() == before
    assert (tracker.rule, tracker.classes) == (rule, tuple(names))
    assert tracker.pending == tuple(opened)
    # A bad row of a new class, too.
    row = labels.index("d")
    broken = X.copy()
    broken[row] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        tracker.run(broken[90:], labels[90:])
    assert tracker.to_bytes() == before
    records = tracker.run(X[60:], labels[60:])
    assert records.labels == ROWS - 60


def test_questions_that_are_open_while_a_class_appears_can_be_saved():
    X, y = stream(4, late=((3, 300), (4, 300)))
    labels = named(y, ["a", "b", "c", "d"])
    tracker = lasec.Tracker(6, rate=1.0, seed=5, classes=["a", "b"], max_pending=100)
    tracker.run(X[:200], labels[:200])
    opened = [tracker.ask(x) for x in X[200:240]]
    early = lasec.Tracker.from_bytes(tracker.to_bytes())
    for one in (tracker, early):
        assert one.tell(opened[0].ticket, "c").y == "c"
    late = lasec.Tracker.from_bytes(tracker.to_bytes())
    assert late.classes == ("a", "b", "c")
    assert late.questions == tuple(opened[1:]) == tracker.questions == early.questions
    for one in (tracker, early, late):
        for decision, label in zip(opened[1:], labels[201:240], strict=True):
            outcome = one.tell(decision.ticket, label)
            assert outcome.decision == decision
            assert outcome.y == label
        assert one.told == 240
        assert not one.pending
    assert tracker.to_bytes() == early.to_bytes() == late.to_bytes()
    records = [one.run(X[240:], labels[240:]) for one in (tracker, early, late)]
    for other in records[1:]:
        np.testing.assert_array_equal(records[0].margin, other.margin)
        np.testing.assert_array_equal(records[0].label, other.label)
    assert tracker.classes == ("a", "b", "c", "d")
    assert tracker.to_bytes() == early.to_bytes() == late.to_bytes()


def test_a_saved_learner_is_loaded_with_the_kinds_of_its_names():
    X, y = stream(4, rows=60)
    for names in NAMES.values():
        tracker = lasec.Tracker(6, rate=1.0, seed=5, classes=names)
        tracker.run(X, named(y, names))
        loaded = lasec.Tracker.from_bytes(tracker.to_bytes())
        assert loaded.classes == tuple(names)
        assert list(map(type, loaded.classes)) == list(map(type, names))
        np.testing.assert_array_equal(loaded.predict_proba(X), tracker.predict_proba(X))
        assert loaded.predict(X).tolist() == tracker.predict(X).tolist()


def test_a_majority_of_three_annotators():
    X, y = stream(3, rows=80)
    labels = named(y, ["a", "b", "c"])
    options = {"rate": 1.0, "seed": 5, "classes": ["a", "b", "c"]}
    tracker = lasec.Tracker(6, aggregate="majority", annotators=3, **options)
    plain = lasec.Tracker(6, **options)
    for x, label in zip(X, labels, strict=True):
        decision = tracker.ask(x)
        other = next(c for c in "abc" if c != label)
        first, second, third = (tracker.tell(decision.ticket, c) for c in (label, other, label))
        assert (first.settled, second.settled, third.settled) == (False, False, True)
        assert (first.updated, second.updated, third.updated) == (False, False, True)
        assert third.y == label
        plain.tell(plain.ask(x).ticket, label)
    np.testing.assert_array_equal(tracker.predict_proba(X), plain.predict_proba(X))
    assert (tracker.told, tracker.contradicted) == (80, 160)


def test_three_annotators_of_three_opinions_decide_nothing():
    tracker = lasec.Tracker(2, rate=1.0, aggregate="majority", classes=["a", "b"])
    ticket = tracker.ask([1.0, 2.0]).ticket
    for label in ("a", "b", "c"):
        assert not tracker.tell(ticket, label).settled
    assert tracker.classes == ("a", "b", "c")
    assert (tracker.told, tracker.pending) == (0, (ticket,))
    assert tracker.predict_proba([[1.0, 2.0]])[0, 2] == 0.0  # heard of, and never learned
    loaded = lasec.Tracker.from_bytes(tracker.to_bytes())
    for one in (tracker, loaded):
        outcome = one.tell(ticket, "c")
        assert outcome.settled
        assert outcome.y == "c"
        assert one.predict_proba([[1.0, 2.0]])[0].argmax() == 2


def test_a_new_class_among_the_answers_keeps_the_others():
    """Two answers before a third class is known elsewhere, and one after it."""
    tracker = lasec.Tracker(2, rate=1.0, aggregate="majority", classes=["a", "b"])
    tickets = [tracker.ask([1.0, 2.0]).ticket for _ in range(2)]
    tracker.tell(tickets[0], "b")
    tracker.tell(tickets[0], "a")
    tracker.tell(tickets[1], "c")
    assert tracker.tell(tickets[0], "b").settled
    assert tracker.state.classes.told.tolist() == [1, 2, 0]  # the first two count as told once
    assert tracker.told == 1


def test_a_class_that_was_never_told_is_never_predicted():
    X, y = stream(3)
    names = ["a", "b", "c", "d", "e"]
    labels = np.array(["a", "b", "d"])[y - 1]
    tracker = lasec.Tracker(6, rate=0.4, seed=5, classes=names)
    records = tracker.run(X, labels)
    assert set(records.label) == {"a", "b", "d"}
    proba = tracker.predict_proba(X)
    assert (proba[:, [2, 4]] == 0.0).all()
    assert (proba[:, [0, 1, 3]] > 0.0).all()
    assert set(tracker.predict(X)) == {"a", "b", "d"}
    first = np.flatnonzero(records.asked & (labels == "d"))[0]
    assert "d" not in records.label[: first + 1]


BAD = {
    "none": (None, ValueError),
    "nan": (float("nan"), ValueError),
    "numpy_nan": (np.float32("nan"), ValueError),
    "list": (["a"], TypeError),
    "dict": ({}, TypeError),
    "array": (np.array(1), TypeError),
}


@pytest.mark.parametrize(("label", "error"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("names", [None, ["a", "b"], ["a", "b", "c"]])
def test_bad_labels_are_refused_and_change_nothing(label, error, names):
    X, y = stream(2, rows=30)
    tracker = lasec.Tracker(6, rate=1.0, seed=5, classes=names)
    tracker.run(X, named(y, ["a", "b"]))
    ticket = tracker.ask(X[0]).ticket
    before = tracker.to_bytes()
    calls = [lambda: tracker.tell(ticket, label), lambda: tracker.learn(X[0], label)]
    if error is TypeError:  # a row of a chunk may have no label
        calls.append(lambda: tracker.run(X[:3], ["a", "z", label]))
    for call in calls:
        with pytest.raises(error, match="y: "):
            call()
        assert tracker.to_bytes() == before
    assert tracker.tell(ticket, "a").settled


def test_bad_names_are_refused():
    for names in (["a", "a"], [1, True]):
        with pytest.raises(ValueError, match="classes: expected different names"):
            lasec.Tracker(classes=names)
    with pytest.raises(ValueError, match="None is no label"):
        lasec.Tracker(classes=["a", None])


@pytest.mark.parametrize("name", [("a", 1), b"a", frozenset("a")])
def test_a_name_that_no_file_can_keep_is_refused(name):
    tracker = lasec.Tracker(2, rate=1.0, classes=["a", "b"])
    before = tracker.to_bytes()
    with pytest.raises(TypeError, match="a label must be text or a number"):
        tracker.learn([1.0, 2.0], name)
    with pytest.raises(TypeError, match="a label must be text or a number"):
        lasec.Tracker(classes=["a", name])
    assert tracker.to_bytes() == before


@pytest.mark.parametrize("door", ["predict", "predict_proba"])
def test_the_first_rows_of_three_classes_can_be_predictions(door):
    tracker = lasec.Tracker(classes=["a", "b", "c"])
    assert len(getattr(tracker, door)([[1.0, 2.0], [3.0, 4.0]])) == 2
    assert tracker.dimension == 2


@pytest.mark.parametrize("label", [-1, 1])
def test_an_answer_is_not_taken_for_another_class(label):
    """A label that is no class is refused, or a new one."""
    tracker = lasec.Tracker(2, rate=1.0, classes=["a", "b", "c"])
    ticket = tracker.ask([1.0, 2.0]).ticket
    with contextlib.suppress(TypeError, ValueError):
        tracker.tell(ticket, label)
    assert tracker.state.classes.told[:3].tolist() == [0, 0, 0]


def test_the_classes_of_a_given_rule_are_kept_or_refused():
    assert lasec.Tracker(2, rule=Tracking(classes=3)).rule.classes == 3
