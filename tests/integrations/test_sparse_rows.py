"""Words with their counts: dicts in the core and in River are the same sparse rows."""

import copy
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from river.feature_extraction import BagOfWords
from scipy.sparse import csr_array

import lasec
from lasec.river import TrackerClassifier

WORDS = np.array([f"word{i}" for i in range(60)])


def mails(count=300, seed=5):
    """Bags of words of two classes, which share a third of their words."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, count)
    bags = [Counter(rng.choice(WORDS[20 * k : 20 * k + 40], 12).tolist()) for k in kinds]
    return bags, np.array(["ham", "spam"])[kinds].tolist()


@pytest.fixture
def no_dense_rows(monkeypatch):
    """Let every sparse matrix refuse to become dense."""

    def refuse(*_, **__):
        raise AssertionError("a sparse row was made dense")

    monkeypatch.setattr(csr_array, "toarray", refuse)


def text_of(bag):
    return " ".join(word for word, count in bag.items() for _ in range(count))


def test_a_dict_is_the_row_of_a_text_with_these_words():
    hasher = lasec.TextHasher(columns=256)  # so few that words collide
    bags, _ = mails(40)
    assert (hasher.rows(bags) != hasher.rows(map(text_of, bags))).nnz == 0
    assert hasher.row({}).nnz == 0
    assert (hasher.row({3: 1.5, True: 2}) != hasher.row({"3": 1.5, "True": 2.0})).nnz == 0
    for value in ("2", None, [1]):
        with pytest.raises(TypeError, match="'free' is no number"):
            hasher.row({"free": value})
    with pytest.raises(TypeError, match="expected text or a dict, got int"):
        hasher.rows([3])
    heard = []
    lasec.TextHasher(heard=heard.extend).row({"free": 2})
    assert heard == ["free"]


def test_river_decides_as_the_core_does(no_dense_rows):
    hasher, (bags, labels) = lasec.TextHasher(2**18), mails()
    model = TrackerClassifier(rate=0.3, columns=2**18, seed=3, labels=["ham", "spam"])
    tracker = lasec.Tracker(rate=0.3, seed=3, classes=["ham", "spam"])
    late = []
    for bag, label in zip(bags, labels, strict=True):
        ours, theirs = model.ask_one(bag), tracker.ask(hasher.row(bag))
        assert ours[1:6] == pytest.approx((abs(theirs.margin), *theirs[2:6]), rel=1e-12)
        late += [(theirs.ticket, label)] if theirs.asked else []
        if len(late) > 5:
            model.tell_one(*late[0])
            tracker.tell(*late.pop(0))
    assert model.pending == tracker.pending
    assert tracker.told > 60
    likely = tracker.predict_proba(hasher.rows(bags))
    said = [list(model.predict_proba_one(bag).values()) for bag in bags]
    np.testing.assert_allclose(said, likely, rtol=1e-12)
    assert [model.predict_one(bag) for bag in bags] == tracker.predict(hasher.rows(bags)).tolist()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.ask_one(bags[0]) == copy.deepcopy(model).ask_one(bags[0])


def test_a_pipeline_of_river_and_its_tables(no_dense_rows):
    bags, labels = mails()
    texts = pd.Series(map(text_of, bags))
    one = BagOfWords() | TrackerClassifier(columns=2**18, seed=0)
    many = BagOfWords() | TrackerClassifier(columns=2**18, seed=0)
    for text, label in zip(texts[:200], labels, strict=False):
        one.learn_one(text, label)
    many.learn_many(texts[:200], pd.Series(labels[:200]))
    rest = texts[200:]
    said = many.predict_proba_many(rest).to_dict("records")
    assert said == [pytest.approx(one.predict_proba_one(text)) for text in rest]
    assert many.predict_many(rest).tolist() == [one.predict_one(text) for text in rest]
    right = np.mean([one.predict_one(t) == y for t, y in zip(rest, labels[200:], strict=True)])
    assert right > 0.8
    assert one.predict_one("") in ("ham", "spam")
    frame = pd.DataFrame({"word1": [2, 0], "word50": [0, 1]})  # dense, as it is given
    last = many["TrackerClassifier"]
    single = [last.predict_proba_one(row) for row in frame.to_dict("records")]
    assert last.predict_proba_many(frame).to_dict("records") == [*map(pytest.approx, single)]


def test_a_hashed_river_row_that_is_refused_leaves_no_trace():
    bags, labels = mails(20)
    model = TrackerClassifier(columns=2**18, seed=0)
    for bad in ({"free": None}, {"free": float("nan")}, {"free": "twice"}):
        with pytest.raises((TypeError, ValueError), match="'free'"):
            model.learn_one(bad, "spam")
        with pytest.raises((TypeError, ValueError), match="'free'"):
            model.ask_one(bad)
    assert model.classes == ()
    model.learn_one(bags[0], labels[0])
    assert model._learner.rows == 1


def test_hashed_rows_have_their_own_rule():
    with pytest.raises(TypeError, match=r"rule: expected lasec.rules.SparseTracking\(...\), got"):
        TrackerClassifier(columns=2**18, rule=lasec.rules.Tracking())
    with pytest.raises(TypeError, match=r"rule: expected lasec.rules.Tracking\(...\), got"):
        TrackerClassifier(rule=lasec.rules.SparseTracking())
    with pytest.raises(ValueError, match="dimension: hashed rows have as many features as columns"):
        TrackerClassifier(columns=2**18, dimension=3)
    with pytest.raises(ValueError, match="columns must be"):
        TrackerClassifier(columns=1)
    model = TrackerClassifier(columns=2**18, class_weight={"spam": 5.0}, seed=0)
    model.learn_one({"free": 1}, "ham")
    assert model._learner.rule == lasec.rules.SparseTracking(weighted=True)
