"""One learner in every face: the same margins, propensities and questions, for any classes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import lasec
from lasec import river, sklearn
from lasec.learner import class_margins, counted, leads
from lasec.queries import Budgeted
from lasec.rules import SecondOrder

ROWS = 300
RATE, SEED = 0.3, 5


def four_classes():
    """Four clouds, of which one comes late, and all of which wander."""
    rng = np.random.default_rng(4)
    which = np.where(np.arange(ROWS) < 80, rng.integers(0, 3, ROWS), rng.integers(0, 4, ROWS))
    centers = 2.0 * rng.standard_normal((4, 5))
    drift = np.linspace(0.0, 1.5, ROWS)[:, None] * rng.standard_normal(5)
    X = centers[which] + drift + rng.standard_normal((ROWS, 5))
    return X, np.array(["eel", "cat", "dog", "ant"])[which]


def two_classes():
    X, y = lasec.streams.walking(ROWS, dimension=5, speed=0.03, noise=0.03, seed=3)
    return X, np.where(y > 0, "ham", "spam")


STREAMS = {"four": four_classes(), "two": two_classes()}
each = pytest.mark.parametrize("kind", ["Tracker", "LASEC"])
weighed = pytest.mark.parametrize("kind", ["Tracker", "LASEC", "balanced", "costly"])
on_both = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


def weights_of(kind, y):
    """Class weights: none, balanced, or that of one class of the stream."""
    return {"balanced": "balanced", "costly": {str(np.unique(y)[1]): 3.0}}.get(kind)


def plain(kind, classes=None, weights=None):
    if kind != "LASEC":
        return lasec.Tracker(5, rate=RATE, seed=SEED, classes=classes, class_weight=weights)
    return lasec.Learner(
        SecondOrder(0.01, 1.0), Budgeted(RATE), dimension=5, seed=SEED, classes=classes
    )


def faced(face, kind, weights=None):
    options = {"rate": RATE, "seed": SEED}
    if kind == "LASEC":
        options["fit_intercept" if face is sklearn else "intercept"] = False
        return face.LASECClassifier(**options)
    return face.TrackerClassifier(class_weight=weights, **options)


def by_the_learner(learner, X, y, late):
    """The decisions of ask and tell, what the query saw, and what was learned in the end."""
    lead, decisions, waiting = [], [], []
    for t, x in enumerate(X):
        lead.append(leads(learner, [x])[0])
        decisions.append(learner.ask(x))
        waiting += [t] if decisions[-1].asked else []
        while waiting and waiting[0] <= t - late:
            learner.tell(waiting[0], y[waiting.pop(0)])
    return lasec.types.Decision(*map(np.array, zip(*decisions, strict=True))), np.array(lead)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@weighed
@on_both
@pytest.mark.parametrize("late", [0, 25])
def test_scikit_learn_decides_as_the_learner(kind, stream, late):
    X, y = stream
    names = np.unique(y).tolist()
    weights = weights_of(kind, y)
    learner, model = plain(kind, names, weights), faced(sklearn, kind, weights)
    wanted, _ = by_the_learner(learner, X, y, late)
    if kind == "costly":  # weights by label hold once the classes are known
        model.partial_fit(X[:0], y[:0], classes=names)
    asked, propensity, margins, waiting = [], [], [], []
    for t, x in enumerate(X):
        said = model.decision_function([x])[0] if hasattr(model, "classes_") else 0.0
        margins.append(np.max(said))
        mask, chance = model.should_ask([x])
        asked.append(mask[0])
        propensity.append(chance[0])
        waiting += [t] if mask[0] else []
        while waiting and waiting[0] <= t - late:
            model.partial_fit(X[waiting[:1]], y[waiting[:1]], classes=names)
            waiting.pop(0)
    assert asked == wanted.asked.tolist()
    assert 80 < sum(asked) < ROWS
    close(propensity, wanted.propensity)
    known = wanted.ticket > wanted.ticket[wanted.asked][0] + late  # there is a label
    if weights is None:  # else another class than that of the largest margin may be predicted
        close(np.array(margins)[known], wanted.margin[known])
    assert model.learner_.classes == learner.classes == tuple(names)
    close(class_margins(model.learner_, X), class_margins(learner, X))
    assert model.predict(X).tolist() == learner.predict(X).tolist()


@weighed
@on_both
@pytest.mark.parametrize("late", [0, 25])
def test_river_decides_as_the_learner(kind, stream, late):
    X, y = stream
    weights = weights_of(kind, y)
    learner, model = plain(kind, weights=weights), faced(river, kind, weights)
    wanted, leads = by_the_learner(learner, X, y, late)
    table, decisions, waiting = [dict(enumerate(x)) for x in X.tolist()], [], []
    for t, x in enumerate(table):
        decisions.append(model.ask_one(x))
        waiting += [t] if decisions[-1].asked else []
        while waiting and waiting[0] <= t - late:
            model.tell_one(waiting[0], y[waiting.pop(0)])
    found = lasec.types.Decision(*map(np.array, zip(*decisions, strict=True)))
    assert found.asked.tolist() == wanted.asked.tolist()
    close(found.propensity, wanted.propensity)
    close(found.margin, leads)
    close(found.variance, wanted.variance)
    assert found.label[-100:].tolist() == wanted.label[-100:].tolist()
    assert model.classes == learner.classes
    assert len(model.classes) == len(np.unique(y))
    assert model.predict_many(pd.DataFrame(table)).tolist() == learner.predict(X).tolist()


@each
@on_both
def test_a_chunk_is_what_a_face_does_row_by_row(kind, stream):
    X, y = stream
    records, model = plain(kind).run(X, y), faced(river, kind)
    for x, label, asked, propensity in zip(
        X.tolist(), y.tolist(), records.asked, records.propensity, strict=True
    ):
        decision = model.ask_one(dict(enumerate(x)))
        assert decision.asked == asked
        assert decision.propensity == pytest.approx(propensity, rel=1e-9)
        if asked:
            model.tell_one(decision.ticket, label)


@pytest.mark.parametrize("form", ["balanced", {"ant": 4.0, "dog": 2.0}], ids=["balanced", "costly"])
def test_class_weights_survive_a_clone_and_refuse_what_is_no_class(form):
    X, y = STREAMS["four"]
    table = clone(sklearn.TrackerClassifier(class_weight=form, seed=0)).fit(X, y)
    ours = river.TrackerClassifier(class_weight=form, seed=0).clone()
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        ours.learn_one(dict(enumerate(x)), label)
    for model in (table.learner_, pickle.loads(pickle.dumps(ours))._learner):
        assert model.rule.balanced == (form == "balanced")
        given = dict(zip(model.classes, model.state.costs[0].tolist(), strict=True))
        assert given == dict.fromkeys(model.classes, 1.0) | ({} if form == "balanced" else form)
    with pytest.raises(ValueError, match="'bee' is not one of the classes"):
        sklearn.TrackerClassifier(class_weight={"bee": 2.0}).fit(X, y)
    for face in (sklearn, river):
        with pytest.raises(ValueError, match="class_weight"):
            face.TrackerClassifier(class_weight={"ant": -1.0}).fit(X, y)


@each
def test_labels_for_free_are_learned_as_by_the_learner(kind):
    X, y = STREAMS["four"]
    names = np.unique(y).tolist()
    given, met = plain(kind, names), plain(kind)
    table, ours = faced(sklearn, kind), faced(river, kind)
    for x, label in zip(X, y, strict=True):
        given.learn(x, label)
        met.learn(x, label)
        ours.learn_one(dict(enumerate(x.tolist())), label)
    for begin in range(0, ROWS, 70):
        at = slice(begin, begin + 70)
        table.partial_fit(X[at], y[at], classes=names)
    close(table.decision_function(X), class_margins(given, X))
    assert table.predict(X).tolist() == given.predict(X).tolist()
    rows = [dict(enumerate(x)) for x in X.tolist()]
    assert [ours.predict_one(x) for x in rows] == met.predict(X).tolist()
    likely = np.array([[*ours.predict_proba_one(x).values()] for x in rows])
    chances = (1.0 + np.tanh(class_margins(met, X))) / 2.0
    shares = chances / chances.sum(axis=1, keepdims=True)
    close(likely, met.predict_proba(X) if kind == "Tracker" else shares)


def test_classes_that_were_named_after_rows_are_those_given_at_the_start():
    X, y = STREAMS["four"]
    names = np.unique(y).tolist()
    given, later = plain("Tracker", names), plain("Tracker")
    given.ask_many(X[:50])
    later.ask_many(X[:50])
    later.name_classes(names)
    for ticket in given.pending:
        given.tell(ticket, y[ticket])
        later.tell(ticket, y[ticket])
    close(later.predict_proba(X), given.predict_proba(X))
    later.name_classes(["another"])
    assert later.classes == (*names, "another")


@pytest.mark.parametrize("kind", ["Perceptron", "LASEC"])
def test_large_margins_are_told_apart(kind):
    """Where tanh of several margins is 1, the class of the largest is predicted all the same."""
    X, y = STREAMS["four"]
    learner = getattr(lasec, kind)(dimension=5, classes=np.unique(y).tolist())
    scale = 1e4 if kind == "Perceptron" else 1.0
    learner.run(scale * X, y)
    margins = class_margins(learner, scale * X)
    assert kind == "LASEC" or (np.tanh(margins) == 1.0).sum(axis=1).max() > 1
    assert learner.predict(scale * X).tolist() == [counted(learner).ask(x).label for x in scale * X]


# Rows without a label


MISSING = {
    "None": lambda y, gone: np.where(gone, None, y.astype(object)),
    "a list": lambda y, gone: np.where(gone, None, y.astype(object)).tolist(),
    "NaN": lambda y, gone: np.where(gone, np.nan, y.astype(object)),
    "pandas": lambda y, gone: pd.Series(y, dtype="string").mask(pd.Series(gone)),
}


@pytest.mark.parametrize("form", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize(
    "make", [sklearn.LASECClassifier, lambda **o: sklearn.ActiveClassifier(GaussianNB(), **o)]
)
def test_rows_without_a_label_are_passed_over(form, make):
    X, y = STREAMS["four"]
    gone = np.random.default_rng(1).random(ROWS) < 0.4
    model, wanted = make(seed=1).fit(X, form(y, gone)), make(seed=1).fit(X[~gone], y[~gone])
    assert model.classes_.tolist() == wanted.classes_.tolist()
    close(wanted.predict(X) == model.predict(X), 1.0)
    model.partial_fit(X, form(y, gone))
    wanted.partial_fit(X[~gone], y[~gone])
    assert model.predict(X).tolist() == wanted.predict(X).tolist()
    assert model.selector_.rows == wanted.selector_.rows
    with pytest.raises(ValueError, match="samples"):
        model.partial_fit(X[:-1], form(y, gone))


@pytest.mark.parametrize("make", [sklearn.LASECClassifier, sklearn.TrackerClassifier])
def test_numbers_with_gaps_are_numbers(make):
    X, y = STREAMS["two"]
    numbers = np.where(y == "spam", 1.0, 0.0)
    gone = np.arange(ROWS) % 3 == 0
    wanted = make().fit(X[~gone], numbers[~gone])
    for labels in (
        np.where(gone, np.nan, numbers),
        np.where(gone, None, numbers.astype(int).astype(object)),
        pd.Series(numbers.astype(int), dtype="Int64").mask(pd.Series(gone)),
    ):
        model = make().fit(X, labels)
        assert model.classes_.tolist() == [0, 1]
        close(model.decision_function(X), wanted.decision_function(X))


def test_a_question_without_an_answer_stays_open():
    X, y = STREAMS["four"]
    model = sklearn.TrackerClassifier(rate=1.0, seed=1, max_age=100)
    model.should_ask(X[:50])
    answers = np.where(np.arange(50) % 2 == 0, y[:50].astype(object), None)
    model.partial_fit(X[:50], answers, classes=np.unique(y))
    assert (model.open_questions_, model.selector_.rows, model.meter_.labels) == (25, 50, 25)
    model.partial_fit(X[:50], np.full(50, None))
    assert (model.open_questions_, model.selector_.rows) == (25, 50)
    model.should_ask(X[50:200])
    assert model.meter_.lost > 25 - 1


def fit_or_learn(y, classes):
    """The learner that has seen some labels in ``fit``, or after the classes were named."""
    X = np.random.default_rng(2).standard_normal((len(y), 3))
    if classes is None:
        return sklearn.LASECClassifier().fit(X, y)
    return sklearn.LASECClassifier().partial_fit(X, y, classes=classes)


@pytest.mark.parametrize(
    ("labels", "classes", "known", "rows"),
    [
        ([-1, 1], None, [-1, 1], 60),
        ([-1, 0], None, [-1, 0], 60),
        ([-1, 7], None, [-1, 7], 60),
        ([-1, 0, 1, 2], None, [0, 1, 2], 45),
        ([-1, 3, 5], None, [3, 5], 40),
        ([-2, -1, 0], None, [-2, -1, 0], 60),
        (["-1", "0", "1"], None, ["-1", "0", "1"], 60),
        ([-1, 0, 1], [0, 1], [0, 1], 40),
        ([-1, 0, 1], [-1, 0, 1], [-1, 0, 1], 60),
        ([-1, 1], [-1, 1], [-1, 1], 60),
    ],
    ids=str,
)
def test_minus_one_is_unlabeled_where_it_can_be_no_class(labels, classes, known, rows):
    model = fit_or_learn(np.tile(labels, 60 // len(labels)), classes)
    assert model.classes_.tolist() == known
    assert model.learner_.rows == rows


def test_minus_one_beside_zero_and_one_is_said_to_be_unlabeled():
    y = np.tile([-1, 0, 1], 20)
    with pytest.warns(UserWarning, match=r"20 of 60 labels are -1.*classes=\[-1, 0, 1\]") as seen:
        model = fit_or_learn(y, None)
    assert seen[0].filename == __file__
    assert (model.classes_.tolist(), model.learner_.rows) == ([0, 1], 40)


def test_nothing_can_be_fitted_without_labels():
    with pytest.raises(ValueError, match="two classes or more, got 0"):
        sklearn.LASECClassifier().fit(np.eye(3), [None, None, None])
    model = sklearn.LASECClassifier().partial_fit(np.eye(3), [None] * 3, classes=["a", "b"])
    assert model.selector_.rows == 0
