"""The scikit-learn face against plain lasec, and inside scikit-learn's own machinery."""

import copy
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import pairwise

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import lasec
from lasec.alarms import DropAlarm, InputAlarm
from lasec.errors import StateError
from lasec.learner import class_margins
from lasec.learner.book import Book
from lasec.queries import Budgeted, MarginSampling, Uniform, VarianceThreshold
from lasec.selector import Selector
from lasec.session import around
from lasec.sklearn import (
    ActiveClassifier,
    LASECClassifier,
    RuleClassifier,
    TrackerClassifier,
    base,
)
from ownrule import Averaging

Perceptron = partial(RuleClassifier, lasec.rules.Perceptron())
AROW = partial(RuleClassifier, lasec.rules.AROW(), learn_from="labels")
MAKE = {
    TrackerClassifier: lambda d: lasec.Tracker(d, rate=1.0),
    LASECClassifier: lasec.LASEC,
    RuleClassifier: lasec.SOP,
    Perceptron: lasec.Perceptron,
    AROW: lambda d: lasec.Learner(lasec.rules.AROW(), dimension=d, learn_from="labels"),
}
CLASSIFIERS = list(MAKE)
NAMES = [repr(kind()) for kind in CLASSIFIERS]
each = pytest.mark.parametrize("kind", CLASSIFIERS, ids=NAMES)


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.walking(1_200, dimension=6, speed=0.03, noise=0.03, seed=3)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(400, n_features=5, centers=3, cluster_std=4.0, random_state=2)
    return X, np.array(["cat", "dog", "eel"])[y]


def seen(kind, X):
    """The rows as the plain learner of a classifier gets them."""
    return X if kind is TrackerClassifier else np.column_stack([X, np.ones(len(X))])


def state_of(model):
    return pickle.dumps(model)


def close(a, b):
    """The same, but for the order of a few sums."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


# What is learned


@each
def test_two_classes_are_one_plain_learner(kind, stream):
    X, y = stream
    model, plain = kind().fit(X[:1_000], y[:1_000]), MAKE[kind](seen(kind, X).shape[1])
    plain.run(seen(kind, X[:1_000]), y[:1_000])
    margins = [copy.deepcopy(plain).ask(x).margin for x in seen(kind, X[1_000:])]
    close(model.decision_function(X[1_000:]), margins)
    np.testing.assert_array_equal(model.predict(X[1_000:]), np.where(np.array(margins) < 0, -1, 1))
    assert model.learner_.rule == plain.rule
    assert model.learner_.learn_from == plain.learn_from


@each
def test_more_classes_are_one_plain_learner_too(kind, blobs):
    X, y = blobs
    model, plain = kind().fit(X, y), MAKE[kind](seen(kind, X).shape[1])
    plain.name_classes(["cat", "dog", "eel"])
    plain.run(seen(kind, X), y)
    assert model.classes_.tolist() == list(model.learner_.classes) == ["cat", "dog", "eel"]
    margins, asked = (
        model.decision_function(X),
        [copy.deepcopy(plain).ask(x) for x in seen(kind, X[:20])],
    )
    assert margins.shape == (400, 3)
    close(margins, class_margins(plain, seen(kind, X)))
    assert model.predict(X[:20]).tolist() == [decision.label for decision in asked]
    np.testing.assert_array_equal(model.predict(X), model.classes_[margins.argmax(axis=1)])
    assert model.learner_.rule == plain.rule
    assert model.score(X, y) > 0.5


@each
@pytest.mark.parametrize("data", ["stream", "blobs"])
def test_cuts_and_sparseness_change_nothing(kind, data, request, monkeypatch):
    X, y = request.getfixturevalue(data)
    X = X * (np.abs(X) > 0.5)
    whole, parts, sparse = kind().fit(X, y), kind(), kind()
    once = kind().partial_fit(X, y, classes=np.unique(y))
    for begin in range(0, len(X), 170):
        at = slice(begin, begin + 170)
        parts.partial_fit(X[at], y[at], classes=np.unique(y))
    monkeypatch.setattr(base, "_BLOCK", 100)
    if kind is TrackerClassifier:  # whose first rows decide whether it is dense
        sparse.fit(X, y)
    else:
        sparse.fit(csr_array(X), y)
    wanted = whole.decision_function(X)
    for other in (parts, once, sparse):
        close(other.decision_function(X), wanted)
    close(sparse.decision_function(csr_array(X)), wanted)
    asked = [whole.should_ask(X), sparse.should_ask(csr_array(X))]
    assert asked[0][0].tolist() == asked[1][0].tolist()
    np.testing.assert_allclose(asked[0][1], asked[1][1], rtol=1e-9)


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(5)
    words = np.array([f"word{i}" for i in range(60)])
    kinds = rng.integers(0, 2, 300)
    mails = [" ".join(rng.choice(words[20 * k : 20 * k + 40], 12)) for k in kinds]
    return mails, np.array(["ham", "spam"])[kinds]


def no_dense_rows(monkeypatch):
    """Let every sparse matrix refuse to become dense."""

    def refuse(*_, **__):
        raise AssertionError("a sparse row was made dense")

    for kind in (csr_array, csr_matrix, coo_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse, raising=False)


def test_sparse_rows_are_those_of_a_plain_tracker_and_never_dense(texts, monkeypatch):
    no_dense_rows(monkeypatch)
    X, y = HashingVectorizer(n_features=2**20, norm=None).transform(texts[0]), texts[1]
    model, plain = TrackerClassifier(seed=0, detectors=[DropAlarm()]), lasec.Tracker(rate=1.0)
    plain.name_classes(["ham", "spam"])
    for begin in range(0, 200, 70):
        at = slice(begin, min(begin + 70, 200))
        model.partial_fit(X[at], y[at], classes=["ham", "spam"])
        plain.run(X[at], y[at])
    assert model.learner_.rule == plain.rule == lasec.rules.SparseTracking()
    rest = X[200:]
    close(model.decision_function(rest), plain.margins(rest))
    close(model.predict_proba(rest), plain.predict_proba(rest))
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(rest).tolist() == plain.predict(rest).tolist()
    assert model.score(rest, y[200:]) > 0.8
    for one in (model, again):
        asked, _ = one.should_ask(rest)
        one.partial_fit(rest[asked], y[200:][asked])
        assert one.open_questions_ == 0 < asked.sum() < 100
    close(model.decision_function(X), again.decision_function(X))
    pipe = make_pipeline(HashingVectorizer(n_features=2**20, norm=None), TrackerClassifier(seed=0))
    pipe.fit(texts[0][:200], y[:200])
    close(pipe.predict_proba(texts[0][200:]), plain.predict_proba(rest))


def test_sparse_questions_are_those_of_a_tracker_that_asks(texts):
    X, y = HashingVectorizer(n_features=2**20, norm=None).transform(texts[0]), texts[1]
    model = TrackerClassifier(rate=0.3, seed=2)
    tracker = lasec.Tracker(rate=0.3, seed=2, classes=["ham", "spam"])
    for i in range(120):
        decision = tracker.ask(X[[i]])
        asked, chance = model.should_ask(X[[i]])
        assert (asked[0], chance[0]) == (decision.asked, pytest.approx(decision.propensity))
        if decision.asked:
            tracker.tell(decision.ticket, y[i])
            model.partial_fit(X[[i]], y[i : i + 1], classes=["ham", "spam"])
    assert tracker.told == model.learner_.told > 30


def test_class_weights_and_dense_rows_of_a_sparse_tracker(texts):
    X, y = HashingVectorizer(n_features=64, norm=None).transform(texts[0]), texts[1]
    weights = {"ham": 1.0, "spam": 5.0}
    model = TrackerClassifier(class_weight=weights, seed=0).fit(X, y)
    plain = lasec.Tracker(rate=1.0, class_weight=weights, classes=["ham", "spam"])
    plain.run(X, y)
    assert model.predict(X).tolist() == plain.predict(X).tolist()
    assert model.predict(X.toarray()).tolist() == plain.predict(X).tolist()
    assert isinstance(model.fit(X.toarray(), y).learner_.rule, lasec.rules.Tracking)


def test_an_input_alarm_hears_sparse_rows_of_few_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_200, 5)) * (rng.random((2_200, 5)) < 0.5)
    X[1_600:] += 2.0
    alarms = [InputAlarm(reference=1_024) for _ in range(2)]
    decision = lasec.Decision(1, 0.5, 0.0, 0.5, asked=False, ticket=0)
    heard = [alarms[0].ask(decision, x) for x in X]
    assert heard == [alarms[1].ask(decision, csr_array(x[None])) for x in X]
    assert any(heard)
    with pytest.raises(ValueError, match="262,144 are too many"):
        InputAlarm().ask(decision, csr_array((1, 2**18)))


@pytest.mark.parametrize(
    "names", [["ham", "spam"], [False, True], [0, 1], [7, 3], [0.0, 1.0]], ids=str
)
def test_any_two_labels(names, stream):
    X, y = stream
    signs = LASECClassifier().fit(X, y)
    model = LASECClassifier().fit(X, np.array(sorted(names))[(y > 0).astype(int)])
    assert model.classes_.tolist() == sorted(names)
    close(model.decision_function(X), signs.decision_function(X))
    assert set(model.predict(X).tolist()) == set(names)


def test_probabilities_are_the_trackers(stream, blobs):
    X, y = stream
    model = TrackerClassifier().fit(X, y)
    close(model.predict_proba(X), model.learner_.predict_proba(X))
    close(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    many = TrackerClassifier().fit(*blobs)
    close(many.predict_proba(blobs[0]), many.learner_.predict_proba(blobs[0]))
    close(many.predict_proba(blobs[0]).sum(axis=1), 1.0)
    assert not hasattr(LASECClassifier(), "predict_proba")


def test_the_intercept_can_be_left_out(stream):
    X, y = stream
    model, plain = LASECClassifier(fit_intercept=False).fit(X, y), lasec.LASEC(6)
    plain.run(X, y)
    assert model.learner_.state.weights.tolist() == plain.state.weights.tolist()
    shifted = X + 5.0
    assert LASECClassifier().fit(shifted, y).learner_.dimension == 7


# What is asked


def play(model, X, y, step, delay=0):
    """An annotation queue: answers come ``delay`` calls late; gives what was asked and how."""
    asked, propensity, waiting = [], [], []
    for begin in range(0, len(X), step):
        rows = X[begin : begin + step]
        mask, chance = model.should_ask(rows)
        asked.append(mask)
        propensity.append(chance)
        waiting.append((rows[mask], y[begin : begin + step][mask]))
        if len(waiting) > delay:
            model.partial_fit(*waiting.pop(0), classes=np.unique(y))
    return np.concatenate(asked), np.concatenate(propensity)


@pytest.mark.parametrize(("step", "delay"), [(1, 0), (1, 30), (40, 0), (40, 3)])
def test_the_tracker_asks_what_the_plain_tracker_asks(step, delay, stream):
    X, y = stream.X[: 300 * step], stream.y[: 300 * step]
    model, plain = TrackerClassifier(rate=0.2, seed=5), lasec.Tracker(6, rate=0.2, seed=5)
    asked, propensity = play(model, X, y, step, delay)
    wanted, waiting = [], []
    for begin in range(0, len(X), step):
        decisions = [plain.ask(x) for x in X[begin : begin + step]]
        wanted += decisions
        waiting.append([decision.ticket for decision in decisions if decision.asked])
        if len(waiting) > delay:
            for ticket in waiting.pop(0):
                plain.tell(ticket, y[ticket])
    assert asked.tolist() == [decision.asked for decision in wanted]
    close(propensity, [decision.propensity for decision in wanted])
    close(model.predict_proba(X[:50]), plain.predict_proba(X[:50]))
    assert model.selector_.asked == plain.asked
    assert model.selector_.query_state.tolist() == plain.selector.query_state.tolist()
    assert model.learner_.rows == plain.rows


def test_free_labels_are_those_of_learn(stream):
    X, y = stream
    model, plain = TrackerClassifier(rate=0.2), lasec.Tracker(6, rate=0.2)
    model.fit(X[:100], y[:100])
    for x, label in zip(X[:100], y[:100], strict=True):
        plain.learn(x, label)
    mask, propensity = model.should_ask(X[100:200])
    decisions = [plain.ask(x) for x in X[100:200]]
    close(propensity, [decision.propensity for decision in decisions])
    # one answer, one label that nobody asked for, another answer
    first, second = np.flatnonzero(mask)[[3, 1]] + 100
    order = [first, 900, second]
    model.partial_fit(X[order], y[order])
    plain.tell(int(first), y[first])
    plain.learn(X[900], y[900])
    plain.tell(int(second), y[second])
    close(model.predict_proba(X), plain.predict_proba(X))
    assert model.selector_.rows == plain.rows == 201


@each
def test_cuts_change_no_question(kind, stream):
    X, y = stream
    whole, parts = kind(seed=3).fit(X[:300], y[:300]), kind(seed=3).fit(X[:300], y[:300])
    asked, propensity = whole.should_ask(X[300:])
    cuts = [300, 301, 350, 350, 800, 1_200]
    pieces = [parts.should_ask(X[a:b]) for a, b in pairwise(cuts)]
    assert np.concatenate([piece[0] for piece in pieces]).tolist() == asked.tolist()
    close(np.concatenate([piece[1] for piece in pieces]), propensity)
    other = kind(seed=4).fit(X[:300], y[:300]).should_ask(X[300:])[0]
    assert asked.tolist() != other.tolist()


def test_many_classes_ask_where_the_best_two_are_close(blobs):
    X, y = blobs
    model = LASECClassifier(rate=0.2).fit(X[:200], y[:200])
    top = np.sort(model.decision_function(X[200:]), axis=1)
    plain = Selector(model.selector_.query)
    plain.skip(200)
    wanted = [plain.decide(ahead / 2.0) for ahead in top[:, -1] - top[:, -2]]
    asked, propensity = model.should_ask(X[200:])
    close(propensity, [chance for chance, _, _ in wanted])
    assert asked.tolist() == [fell for _, fell, _ in wanted]


def test_the_trackers_classes_are_compared_in_probability(blobs):
    X, y = blobs
    model = TrackerClassifier(rate=0.2).fit(X[:200], y[:200])
    top = np.sort(model.predict_proba(X[200:201]), axis=1)[0]
    query = model.selector_.query
    margin = lasec.Margin(0.0, 0.0, top[-1] - top[-2])
    assert model.should_ask(X[200:201])[1][0] == pytest.approx(
        query.chance(margin, query.init(), lasec.types.Context(201, 201.0, 0)), rel=1e-12
    )


@pytest.mark.parametrize("rate", [0.05, 0.2])
@pytest.mark.parametrize(
    "make",
    [*CLASSIFIERS, lambda **given: ActiveClassifier(SGDClassifier(random_state=0), **given)],
    ids=[*NAMES, "ActiveClassifier"],
)
def test_the_budget_is_held(make, rate):
    X, y = lasec.streams.walking(6_000, dimension=6, speed=0.02, seed=1)
    asked, propensity = play(make(rate=rate), X, y, step=50)
    late = asked[2_000:]
    assert late.mean() == pytest.approx(rate, rel=0.15)  # the warm-up is repaid
    assert 0.2 * rate <= propensity.min() <= propensity.max() <= 1.0
    # what was promised is what was done
    assert abs(asked.sum() - propensity.sum()) < 5.0 * np.sqrt(len(X) * rate)


def test_a_budget_by_time_and_in_all(stream):
    X = stream.X
    model = TrackerClassifier(query=Budgeted.every("1d", labels=20, total=30))
    times = np.linspace(0.0, 5 * 86_400.0, len(X))
    with pytest.raises(ValueError, match="time"):
        model.should_ask(X)
    assert not hasattr(model, "selector_")
    assert model.should_ask(X, times=times)[0].sum() <= 30
    with pytest.raises(ValueError, match="max_open"):
        TrackerClassifier(query=Budgeted(max_open=5)).should_ask(X)
    with pytest.raises(TypeError, match="Budgeted"):
        TrackerClassifier(query=Uniform(0.1)).should_ask(X)
    with pytest.raises(TypeError, match="query"):
        LASECClassifier(query=0.1).should_ask(X)
    with pytest.raises(ValueError, match="variances"):
        LASECClassifier(query=Budgeted(inner=VarianceThreshold())).should_ask(X)
    with pytest.raises(ValueError, match="query"):
        TrackerClassifier(rate=0.3, query=Budgeted()).should_ask(X)


def test_nothing_is_known_at_first():
    X = np.ones((3, 2))
    model = TrackerClassifier()
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.should_ask(X)[0].all()
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        _ = model.learner_
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="features"):
        model.should_ask(np.ones((3, 4)))
    model.partial_fit(X[:0], [], classes=[0, 1])
    assert model.partial_fit(X[:1], [1]).predict(X).tolist() == [1, 1, 1]
    assert model.should_ask(X[:0])[0].shape == (0,)
    assert model.open_questions_ == 2


def test_fit_forgets_and_the_oldest_questions_are_forgotten(stream):
    X, y = stream
    model = TrackerClassifier(rate=1.0, max_pending=20)
    assert model.should_ask(X[:50])[0].all()
    assert model.open_questions_ == 20
    model.partial_fit(X[29:31], y[29:31], classes=[-1, 1])  # the first of these is not known now
    assert (model.open_questions_, model.selector_.rows) == (19, 51)
    model.fit(X[:100], y[:100])
    assert (model.open_questions_, model.selector_.rows, model.selector_.asked) == (0, 100, 0)
    close(
        model.decision_function(X), TrackerClassifier().fit(X[:100], y[:100]).decision_function(X)
    )


# Accuracy, lost labels, alarms

LOGISTIC = SGDClassifier(loss="log_loss", random_state=0)
ASKING = [TrackerClassifier, LASECClassifier, partial(ActiveClassifier, LOGISTIC)]
asking = pytest.mark.parametrize("make", ASKING, ids=["Tracker", "LASEC", "Active"])


def test_the_estimate_is_that_of_a_session_around_the_same_classifier(stream):
    X, y = stream
    face = ActiveClassifier(LOGISTIC, rate=0.2, seed=4)
    session = lasec.Session(around(clone(LOGISTIC), classes=[-1, 1], rate=0.2, seed=4))
    for x, label in zip(X, y, strict=True):
        decision = session.ask(x)
        asked, propensity = face.should_ask([x])
        assert (asked[0], propensity[0]) == (decision.asked, decision.propensity)
        if decision.asked:
            session.tell(decision.ticket, label)
            face.partial_fit([x], [label], classes=[-1, 1])
    assert face.accuracy() == session.accuracy()
    assert face.meter_.labels == face.selector_.asked > 100


@asking
def test_the_estimate_is_right_and_cuts_do_not_change_it(make, stream):
    X, y = stream
    found = []
    for step in (1, 150, 400):
        model = make(rate=0.3, seed=2).partial_fit(X[:200], y[:200], classes=[-1, 1])
        truth = model.predict(X[200:]) == y[200:]
        asked = np.concatenate(
            [model.should_ask(X[at : at + step])[0] for at in range(200, 1_200, step)]
        )
        assert np.isnan(model.accuracy().value)
        model.partial_fit(X[200:][asked], y[200:][asked])
        estimate = model.accuracy()
        found.append(estimate)
        assert (estimate.labels, model.open_questions_) == (asked.sum(), 0)
        assert estimate.low - 0.02 < truth.mean() < estimate.high + 0.02
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9)


@asking
def test_questions_are_lost_by_age_by_number_and_by_hand(make, stream):
    X, y = stream
    aged = make(query=Uniform(1.0) if make is not TrackerClassifier else None, max_age=10)
    asked, _ = aged.should_ask(X[:100])
    late = asked[:-11].sum()
    assert (aged.open_questions_, aged.meter_.lost) == (asked[-11:].sum(), late)
    full = make(max_pending=5)
    asked, _ = full.should_ask(X[:100])
    assert full.open_questions_ == 5
    assert full.meter_.lost == asked.sum() - full.meter_.open >= asked.sum() - 5
    model = make(seed=0)
    asked, _ = model.should_ask(X[:100])
    rows, labels = X[:100][asked], y[:100][asked]
    assert model.cancel(rows[:7]) == 7
    assert (model.cancel(rows[:7]), model.cancel(X[100:])) == (0, 0)
    model.partial_fit(rows[7:], labels[7:], classes=[-1, 1])
    assert (model.meter_.lost, model.meter_.labels) == (7, len(rows) - 7)
    assert model.open_questions_ == 0


@asking
def test_detectors_hear_rows_and_answers(make, stream):
    X, y = stream
    detectors = (lasec.alarms.InputAlarm(), lasec.alarms.DropAlarm())
    model = make(rate=0.5, seed=0, detectors=detectors)
    times = math.ceil(2_500 / len(X))  # the first 2,048 rows set the scale
    moved, truth = np.concatenate([X] * times + [X + 8.0]), np.concatenate([y] * (times + 1))
    for at in range(0, len(moved), 100):
        rows, labels = moved[at : at + 100], truth[at : at + 100]
        asked, _ = model.should_ask(rows)
        model.partial_fit(rows[asked], labels[asked], classes=[-1, 1])
    moves = [alarm.ticket for alarm in model.alarms_ if alarm.kind.startswith("input")]
    assert moves
    assert min(moves) >= model.selector_.rows - len(X)
    again = pickle.loads(pickle.dumps(model))
    assert repr(again.alarms_) == repr(model.alarms_)  # NaN is not equal to itself
    assert make(detectors=detectors).should_ask(X)[0].any()  # the templates have heard nothing


# The wrapper


def test_the_wrapper_asks_by_what_its_classifier_says(stream):
    X, y = stream
    for inner in (SGDClassifier(random_state=0), GaussianNB(), LogisticRegression()):
        model = ActiveClassifier(inner, rate=0.2).fit(X[:200], y[:200])
        bare = copy.deepcopy(inner).fit(X[:200], y[:200])
        np.testing.assert_array_equal(model.predict(X), bare.predict(X))
        if hasattr(bare, "predict_proba"):
            close(model.predict_proba(X), bare.predict_proba(X))
            margins = np.abs(bare.predict_proba(X) @ [-1.0, 1.0])
        else:
            margins = bare.decision_function(X)
        plain = lasec.Learner(lasec.rules.Perceptron(), model.selector_.query, dimension=1)
        plain.state.weights[0] = 1.0
        wanted = plain.run(margins[:, None], np.where(margins >= 0, 1, -1))
        asked, propensity = model.should_ask(X)
        close(propensity, wanted.propensity)
        assert asked.tolist() == wanted.asked.tolist()


def test_the_wrapper_of_a_classifier_that_only_fits(stream):
    texts = np.array([f"{'buy' if label > 0 else 'dear'} {n}" for n, label in enumerate(stream.y)])
    model = ActiveClassifier(
        make_pipeline(HashingVectorizer(n_features=1024), LogisticRegression())
    )
    assert not hasattr(model, "partial_fit")
    asked, _ = model.should_ask(texts[:100])
    model.refit(texts[:100][asked], stream.y[:100][asked])
    assert model.selector_.rows == 100
    assert model.score(texts, stream.y) > 0.9
    model.should_ask(texts[100:])
    assert model.selector_.rows == 1_200
    assert model.fit(texts, stream.y).selector_.rows == 0
    with pytest.raises(NotFittedError):
        ActiveClassifier(SGDClassifier()).predict(stream.X)


def test_a_wrapper_that_knows_one_class_knows_nothing(stream):
    model = ActiveClassifier(GaussianNB()).fit(stream.X[:9], np.zeros(9))
    fresh = ActiveClassifier(GaussianNB())
    assert model.should_ask(stream.X)[1].tolist() == fresh.should_ask(stream.X)[1].tolist()


def test_the_wrapper_forgets_names_that_are_gone(stream):
    model = ActiveClassifier(SGDClassifier()).fit(
        pandas.DataFrame(stream.X).add_prefix("f"), stream.y
    )
    assert model.feature_names_in_.tolist() == [f"f{j}" for j in range(6)]
    assert not hasattr(model.fit(*stream), "feature_names_in_")


def test_the_wrapper_wants_a_score_for_each_class(blobs):
    X, y = blobs
    pairs = ActiveClassifier(SVC(decision_function_shape="ovo")).fit(
        X, y
    )  # as many pairs as classes
    piped = ActiveClassifier(make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")))
    four = ActiveClassifier(SVC(decision_function_shape="ovo")).fit(X, np.arange(len(X)) % 4)
    for model in (pairs, piped.fit(X, y), four):
        with pytest.raises(ValueError, match=r"a score for each of (3|4) classes"):
            model.should_ask(X[:3])
        assert model.selector_.rows == 0
    assert ActiveClassifier(SVC()).fit(X, y).should_ask(X[:3])[0].shape == (3,)
    two = ActiveClassifier(SVC(decision_function_shape="ovo")).fit(X, y == "cat")
    assert two.should_ask(X[:3])[0].shape == (3,)


def test_the_wrapper_takes_one_label_a_row(stream):
    X, y = stream
    model, several = ActiveClassifier(GaussianNB()), np.column_stack([y, y])
    for call in (model.fit, model.refit, model.partial_fit):
        with pytest.raises(ValueError, match="one label for each row"):
            call(X, several)
        assert not hasattr(model, "selector_")


def test_half_the_lead_of_margins_and_the_lead_of_probabilities(blobs):
    X, y = blobs
    for inner, half in ((SGDClassifier(random_state=0), 0.5), (GaussianNB(), 1.0)):
        model = ActiveClassifier(inner, rate=0.2).fit(X, y)
        top = np.sort((model.predict_proba if half == 1.0 else model.decision_function)(X), axis=1)
        wanted = Selector(model.selector_.query).decide_all(half * (top[:, -1] - top[:, -2]))
        asked, propensity = model.should_ask(X)
        assert asked.tolist() == wanted[1].tolist()
        close(propensity, wanted[0])


def test_rows_are_checked_before_there_is_a_classifier(stream):
    X = stream.X
    bad = X[:4].copy()
    bad[2, 1] = np.nan
    model = ActiveClassifier(GaussianNB())
    for wrong in (bad, csr_array(bad), bad.tolist(), pandas.DataFrame(bad)):
        with pytest.raises(ValueError, match="NaN"):
            model.should_ask(wrong)
        assert not hasattr(model, "selector_")
    model.should_ask(X[:4])
    with pytest.raises(ValueError, match="features"):
        model.should_ask(X[:4, :3])
    assert model.selector_.rows == 4
    for inner in (HistGradientBoostingClassifier(), make_pipeline(SimpleImputer(), GaussianNB())):
        assert ActiveClassifier(inner).should_ask(bad)[0].all()
        with pytest.raises(ValueError, match="infinity"):
            ActiveClassifier(inner).should_ask(np.full((2, 2), np.inf))


class Falsy(GaussianNB):
    """A classifier without truth."""

    def __len__(self):
        return 0


def test_a_classifier_that_counts_as_false_goes_on(stream):
    X, y = stream
    model = ActiveClassifier(Falsy()).partial_fit(X[:20], y[:20], classes=[-1, 1])
    model.partial_fit(X[20:50], y[20:50])
    assert model.estimator_.class_count_.sum() == 50


@pytest.mark.parametrize("query", [Uniform(0.3), MarginSampling(0.1), Budgeted(rate=0.3)], ids=repr)
def test_any_query_of_margins(query, stream):
    X, y = stream
    for model in (LASECClassifier(query=query), ActiveClassifier(GaussianNB(), query=query)):
        model.fit(X[:200], y[:200])
        asked, propensity = pickle.loads(pickle.dumps(model)).should_ask(X[200:])
        again = model.should_ask(X[200:])
        assert (asked.tolist(), propensity.tolist()) == (again[0].tolist(), again[1].tolist())
        assert 0.1 < asked.mean() < 0.6


# In scikit-learn's world


def test_pipelines_searches_and_scores(stream):
    X, y = stream
    pipe = make_pipeline(StandardScaler(), LASECClassifier())
    splits = TimeSeriesSplit(3)
    search = GridSearchCV(pipe, {"lasecclassifier__drift": [0.0, 0.01, 0.1]}, cv=splits)
    search.fit(X, y)
    plain = cross_val_score(pipe, X, y, cv=splits)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(plain.mean())
    assert search.best_score_ > 0.6
    scores = cross_val_score(TrackerClassifier(), 1e6 * X, y, cv=splits)
    assert scores.mean() > 0.6
    by_loss = cross_val_score(TrackerClassifier(), X, y, cv=splits, scoring="neg_log_loss")
    assert by_loss.mean() > -0.7


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_frames_and_their_names(frame, stream):
    X, y = stream
    names = [f"f{j}" for j in range(6)]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = TrackerClassifier()
    asked, _ = model.should_ask(table)
    assert asked.tolist() == TrackerClassifier().should_ask(X)[0].tolist()
    assert model.feature_names_in_.tolist() == names
    model.partial_fit(table, y, classes=[-1, 1])
    plain = TrackerClassifier()
    plain.should_ask(X)
    close(
        model.decision_function(table),
        plain.partial_fit(X, y, classes=[-1, 1]).decision_function(X),
    )
    before = state_of(model)
    for wrong in (table[names[::-1]], frame(dict(zip("abcdef", X.T, strict=True)))):
        for call in (model.predict, model.should_ask, lambda w: model.partial_fit(w, y)):
            with pytest.raises(ValueError, match="feature names"):
                call(wrong)
    assert state_of(model) == before


@pytest.mark.parametrize(
    "make", [*CLASSIFIERS, lambda: ActiveClassifier(SGDClassifier(random_state=0))]
)
def test_a_pickle_goes_on_where_it_was(make, stream):
    X, y = stream
    model = make()
    model.should_ask(X[:100])
    other = pickle.loads(pickle.dumps(model))
    play(model, X[100:400], y[100:400], 20)
    play(other, X[100:400], y[100:400], 20)
    third = pickle.loads(pickle.dumps(model))
    ends = [play(each, X[400:], y[400:], 20) for each in (model, other, third)]
    for asked, propensity in ends[1:]:
        assert asked.tolist() == ends[0][0].tolist()
        assert propensity.tolist() == ends[0][1].tolist()
    close(other.decision_function(X), model.decision_function(X))
    close(third.decision_function(X), model.decision_function(X))


def test_the_learner_in_a_pickle_is_checked(stream):
    X, y = stream
    for model in (TrackerClassifier(seed=1), RuleClassifier(Averaging(), seed=1)):
        model.partial_fit(X[:200], y[:200], classes=np.unique(y))
        twin = pickle.loads(pickle.dumps(model))
        assert twin.learner_.to_bytes() == model.learner_.to_bytes()
        state = model.__getstate__()
        filed = state["_session"].model
        state["_session"].model = filed._replace(data=filed.data[:-1])
        with pytest.raises(StateError):
            object.__new__(type(model)).__setstate__(state)


def test_asking_copies_no_model_that_it_does_not_change(stream):
    X, y = stream
    model = LASECClassifier(seed=1).partial_fit(X[:200], y[:200], classes=np.unique(y))
    before, arrays = model.learner_, model.learner_.state
    model.should_ask(X[200:300])
    assert model.learner_ is not before
    assert model.learner_.state is arrays
    assert (before.rows, model.learner_.rows) == (200, 300)


def test_a_learner_that_was_asked_itself_is_pickled_too(stream):
    model = TrackerClassifier().fit(*stream)
    model.learner_.ask(stream.X[0])  # it holds on to compiled code now
    other = pickle.loads(pickle.dumps(model))
    assert isinstance(other.learner_, lasec.Tracker)
    assert other.learner_.pending == model.learner_.pending


def test_learners_can_be_shipped_without_pickle(stream):
    X, y = stream
    model = TrackerClassifier().fit(X, y)
    loaded = lasec.Tracker.from_bytes(model.learner_.to_bytes())
    close(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.drift_estimate == model.learner_.drift_estimate
    assert model.learner_.query == Budgeted(0.1)


# What is refused


@each
def test_refusals_leave_everything_as_it_was(kind, stream):
    X, y = stream
    bad, huge = X[:20].copy(), X[:20].copy()
    bad[7, 2], huge[19, 3] = np.nan, 1e70
    model = kind()
    for call in (
        lambda: model.should_ask(bad),
        lambda: model.should_ask(huge),
        lambda: model.partial_fit(huge, y[:20], classes=[-1, 1]),
        lambda: model.partial_fit(X[:20], np.arange(20), classes=[-1, 1]),
        lambda: model.partial_fit(X[:20], y[:20], classes=[1]),
        lambda: model.fit(X[:20], np.ones(20)),
    ):
        with pytest.raises(ValueError, match=r"X|y|class"):
            call()
        assert vars(model) == vars(kind())
    model.should_ask(X[:50])
    model.partial_fit(X[:30], y[:30], classes=[-1, 1])
    before = state_of(model)
    for call in (
        lambda: model.should_ask(bad),
        lambda: model.should_ask(huge),
        lambda: model.should_ask(X[:, :3]),
        lambda: model.partial_fit(huge, y[:20]),
        lambda: model.partial_fit(X[:20], y[:19]),
        lambda: model.partial_fit(X[:20], np.arange(20)),
        lambda: model.partial_fit(X[:20], y[:20], classes=[0, 1]),
        lambda: model.fit(huge, y[:20]),
        lambda: model.predict(huge),
    ):
        with pytest.raises(ValueError, match=r"X|y|class|samples"):
            call()
        assert state_of(model) == before


def test_a_row_that_is_refused_after_others_were_learned(blobs, monkeypatch):
    X, y = blobs
    model = RuleClassifier().fit(X, y)
    before = state_of(model)
    too_long = X[:20].copy()
    too_long[15] *= 1e9
    with pytest.raises(ValueError, match=r"^X: row 15: too large"):
        model.partial_fit(too_long, y[:20])
    assert state_of(model) == before
    monkeypatch.setattr(base, "_BLOCK", 10)  # two rows at a time
    with pytest.raises(ValueError, match=r"^counted from row 14 on, X: row 1: too large"):
        model.partial_fit(csr_array(too_long), y[:20])
    assert state_of(model) == before


@pytest.mark.parametrize(
    ("make", "owner", "name", "call"),
    [
        (TrackerClassifier, Selector, "look_at_all", "should_ask"),
        (TrackerClassifier, Book, "add", "should_ask"),
        (TrackerClassifier, Selector, "skip", "partial_fit"),
        (TrackerClassifier, Book, "settle", "partial_fit"),
        (lambda: ActiveClassifier(GaussianNB()), Selector, "decide_all", "should_ask"),
    ],
)
def test_an_interrupted_call_has_not_happened(make, owner, name, call, stream, monkeypatch):
    X, y = stream
    model = make()
    model.should_ask(X[:50])
    model.partial_fit(X[:30], y[:30], classes=[-1, 1])
    before, done = state_of(model), getattr(owner, name)

    def interrupted(*args, **kwargs):
        done(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.should_ask(X[30:100]) if call == "should_ask" else model.partial_fit(X[30:], y[30:])
    assert state_of(model) == before


@pytest.mark.parametrize("make", [LASECClassifier, lambda: ActiveClassifier(GaussianNB())])
def test_readers_see_nothing_of_a_refused_call(make, stream):
    X, y = stream
    model = make().fit(X, y)
    wanted, done = model.predict(X).tolist(), threading.Event()

    def refuse():
        while not done.is_set():
            with pytest.raises(ValueError, match=r"X|y|class"):
                model.partial_fit(X[:5], np.full(5, 7))
            with pytest.raises(ValueError, match=r"NaN"):
                model.should_ask(np.full((2, 6), np.nan))

    with ThreadPoolExecutor(4) as pool:
        writer = pool.submit(refuse)
        readers = [pool.submit(lambda: model.predict(X).tolist()) for _ in range(200)]
        wait(readers)
        done.set()
        writer.result()
        found = [reader.result() for reader in readers]
    assert all(labels == wanted for labels in found)


@pytest.mark.parametrize(("asking", "telling"), [("f4", "f8"), ("f8", "f4"), ("f4", "f4")])
def test_rows_are_known_again_in_another_precision(asking, telling, stream):
    X, y = stream
    model = TrackerClassifier(rate=1.0)
    assert model.open_questions_ == 0
    assert model.should_ask(X[:20].astype(asking))[0].all()
    assert model.open_questions_ == 20
    model.partial_fit(X[:15].astype(telling), y[:15], classes=[-1, 1])
    assert (model.open_questions_, model.selector_.rows) == (5, 20)


def test_the_intercept_is_that_of_the_fit(stream):
    X, y = stream
    model = LASECClassifier().fit(X, y)
    wanted = model.decision_function(X)
    model.set_params(fit_intercept=False)
    close(model.decision_function(X), wanted)
    model.should_ask(X)
    model.partial_fit(X[:20], y[:20])
    assert model.learner_.dimension == 7
    assert model.fit(X, y).learner_.dimension == 6


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (TrackerClassifier(rate=0.0), "rate"),
        (TrackerClassifier(rate=1.5), "rate"),
        (TrackerClassifier(rate="much"), "rate"),
        (TrackerClassifier(query=0.1), "query"),
        (TrackerClassifier(seed=-1), "seed"),
        (LASECClassifier(drift=-1.0), "drift"),
        (LASECClassifier(drift=2.0, ridge=2.0), r"ridge \* drift"),
        (LASECClassifier(ridge=0.0), "ridge"),
        (RuleClassifier(learn_from="nothing"), "nothing"),
        (Perceptron(rate=-1), "rate"),
        (Perceptron(fit_intercept="yes"), "fit_intercept"),
        (ActiveClassifier(SGDClassifier(), rate=2.0), "rate"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(model, name, stream):
    with pytest.raises((TypeError, ValueError), match=name):
        model.fit(*stream)
    assert not hasattr(model, "classes_")


def test_a_classifier_that_cannot_learn_a_few_rows_is_said_to_be_refitted():
    model = ActiveClassifier(make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")))
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit([[1.0]], [1])
    assert "Pipeline has no partial_fit: call refit" in str(error.value.__cause__)


def test_a_class_that_comes_too_late_is_named_as_its_user_writes_it(blobs):
    X, y = blobs
    model = TrackerClassifier(seed=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^y: 9 is not one of the classes"):
        model.partial_fit(X[:1], [9])
