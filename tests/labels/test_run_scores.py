"""The probabilities of a run: exact with all labels, honest with few, and the same for any cut."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.linear_model import SGDClassifier

import lasec
from lasec.persistence import record

ROWS = 7_000
NAMES = ("average_precision", "log_loss", "brier", "calibration_error")


def drawn(seed=0, rows=ROWS, share=0.5, names=("ham", "spam")):
    """Rows that overlap, and their classes."""
    rng = np.random.default_rng(seed)
    which = (rng.random(rows) < share).astype(int)
    X = rng.normal(size=(rows, 4))
    X[:, 0] += 2.0 * which
    return X, np.array(names)[which]


X, Y = drawn()


def of_second(run, second):
    """The probability of the second class of a learner, and whether it was, where it predicts."""
    begin = run.unpredicted
    assert 0 < begin < 100  # the first labels teach it the classes
    return (1.0 + run.records.margin[begin:]) / 2.0, np.asarray(Y)[begin:] == second


def error_of(hit, p):
    """The expected calibration error in ten equal bins."""
    place = np.searchsorted(np.arange(1, 10) / 10, p, side="right")
    rows, off = np.bincount(place), np.bincount(place, hit - p)
    return np.abs(off).sum() / rows.sum()


@pytest.mark.parametrize("weight", [None, {"spam": 5.0}])
@pytest.mark.parametrize("classes", [["ham", "spam"], ["spam", "ham"], None])
def test_with_all_labels_they_are_what_scikit_learn_says(classes, weight):
    learner = lasec.Tracker(rate=0.1, classes=classes, class_weight=weight, seed=0)
    run = lasec.evaluate(learner, X, Y)
    assert run.score_metrics == NAMES
    p, hit = of_second(run, learner.classes[1])
    assert run.rated("log_loss")[1] == pytest.approx(sk.log_loss(hit, p))
    assert run.rated("brier")[1] == pytest.approx(sk.brier_score_loss(hit, p))
    assert run.rated("calibration_error")[1] == pytest.approx(error_of(hit, p))
    for name in learner.classes:
        q, of = (p, hit) if name == learner.classes[1] else (1.0 - p, ~hit)
        wanted = sk.average_precision_score(of, q)
        found = run.rated("average_precision", run.classes.index(name))[1]
        assert found == pytest.approx(wanted, abs=0.005), name
    assert run.true_scores.average_precision(run.classes.index("spam")).value > 0.9


def test_labels_that_are_signs_have_their_own_places():
    y = np.where(Y == "spam", -1, 1)
    run = lasec.evaluate(lasec.Tracker(rate=0.1, seed=0), X, y)
    p = (1.0 + run.records.margin) / 2.0
    for name, score in ((1, p), (-1, 1.0 - p)):
        found = run.rated("average_precision", run.classes.index(name))[1]
        assert found == pytest.approx(sk.average_precision_score(y == name, score), abs=0.005)


@pytest.mark.parametrize(("delay", "lost"), [(0.0, 0.0), (300.0, 0.3)])
def test_estimates_cover_the_truth_and_are_not_biased(delay, lost):
    """30 streams: a bound that coverage of 95 % passes in all but 1 of 1,000."""
    covered, errors = dict.fromkeys(NAMES, 0), {name: [] for name in NAMES[1:3]}
    for seed in range(30):
        rows, labels = drawn(seed, 2_000, share=0.2)
        gone = np.random.default_rng(1_000 + seed).random(2_000) < lost
        learner = lasec.Tracker(rate=0.1, seed=seed, max_age=400, classes=["ham", "spam"])
        waits = np.where(gone, np.inf, delay)
        run = lasec.evaluate(learner, rows, labels, delay=waits, into=lasec.RunSummary())
        for name in NAMES:
            found, truth = run.rated(name, run.classes.index("spam"))
            covered[name] += truth in found
            if name in errors:
                errors[name].append(found.value - truth)
    assert min(covered.values()) >= 24, covered
    for name, of in errors.items():
        assert abs(np.mean(of)) < 4.0 * np.std(of) / np.sqrt(len(of)), name


def followed(cuts, *, saving=False, names=("ham", "spam"), **options):
    """A run in pieces, saved and loaded in between."""
    rows, labels = drawn(3, names=names)
    delay = options.pop("delay", 0)
    learner, run = lasec.Tracker(rate=0.1, seed=0, **options), lasec.RunSummary(points=20)
    ends = [*cuts, ROWS]
    for begin, end in zip([0, *ends], ends, strict=False):
        cut = slice(begin, end)
        lasec.evaluate(learner, rows[cut], labels[cut], delay=delay, into=run)
        if saving:
            run = lasec.RunSummary.from_bytes(run.to_bytes())
            learner = lasec.Tracker.from_bytes(learner.to_bytes())
    return run


@pytest.mark.parametrize("saving", [False, True])
@pytest.mark.parametrize("delay", [0, 500])
@pytest.mark.parametrize("cuts", [[1_599, 1_601], list(range(40, ROWS, 777)), [3_200]])
def test_any_cut_gives_the_same_to_the_bit(cuts, delay, saving):
    whole, other = followed([], delay=delay), followed(cuts, delay=delay, saving=saving)
    assert whole.score_metrics == other.score_metrics == NAMES
    for one, two in zip(whole.scores + whole.true_scores, other.scores + other.true_scores,
                        strict=True):  # fmt: skip
        assert np.array_equal(one, two)
    assert whole.reliability == other.reliability
    assert [whole.rated(name) for name in NAMES] == [other.rated(name) for name in NAMES]


def test_truth_has_the_rows_whose_labels_are_still_out():
    run = followed([], delay=500)
    assert run.true_scores.log_loss().labels == ROWS - run.unpredicted
    assert run.scores.log_loss().rows < ROWS


def test_of_many_classes_only_the_predicted_one_has_a_probability():
    rng = np.random.default_rng(5)
    which = rng.integers(3, size=4_000)
    rows = rng.normal(size=(4_000, 3)) + 1.5 * np.eye(3)[which]
    kinds = np.array(["ash", "oak", "yew"])[which]
    run = lasec.evaluate(
        lasec.Tracker(rate=0.2, classes=["ash", "oak", "yew"], seed=0), rows, kinds
    )
    assert run.score_metrics == ("calibration_error",)
    begin = run.unpredicted
    p = (1.0 + run.records.margin[begin:]) / 2.0
    found, truth = run.rated("calibration_error")
    assert truth == pytest.approx(error_of((run.records.label == kinds)[begin:], p))
    assert truth in found
    with pytest.raises(ValueError, match="this run has no log_loss"):
        run.rated("log_loss")


def test_two_classes_of_a_learner_that_knows_three_have_no_probability_each():
    run = lasec.evaluate(lasec.Tracker(rate=0.2, classes=["ham", "spam", "eggs"], seed=0), X, Y)
    assert len(run.classes) == 2
    assert run.score_metrics == ("calibration_error",)


def test_a_third_class_ends_what_needs_each_probability():
    labels = Y.astype(object)
    labels[5_000:5_050] = "eggs"
    run, learner = lasec.RunSummary(), lasec.Tracker(rate=0.2, seed=0)
    for begin in (0, 4_000):
        assert run.score_metrics == (NAMES if begin else ())
        lasec.evaluate(learner, X[begin : begin + 4_000], labels[begin : begin + 4_000], into=run)
    assert run.score_metrics == ("calibration_error",)


def test_a_learner_without_probabilities_has_none():
    run = lasec.evaluate(lasec.LASEC_SS(4, seed=0), X[:2_000], Y[:2_000])
    assert run.score_metrics == ()
    assert run.reliability == []
    assert lasec.RunSummary.from_bytes(run.to_bytes()).score_metrics == ()
    with pytest.raises(ValueError, match="this run has no brier"):
        run.rated("brier")


def test_models_of_other_libraries_have_them_too():
    X, y = drawn(7, 1_500)
    X, y = np.r_[X[y == y[0]][:20], X], np.r_[[y[0]] * 20, y]  # the first piece has one class
    sgd = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, random_state=0)
    session = lasec.Session(lasec.session.around(sgd, classes=["ham", "spam"], rate=0.2, seed=0))
    run = lasec.RunSummary(keep=True)
    for cut in (slice(0, 20), slice(20, None)):
        run = lasec.evaluate(session, X[cut], y[cut], into=run)
    assert run.score_metrics == NAMES
    p, hit = (1.0 + run.records.margin) / 2.0, y == run.classes[1]
    for place, (of, score) in enumerate(((~hit, 1.0 - p), (hit, p))):
        found, truth = run.rated("average_precision", place)
        assert truth == pytest.approx(sk.average_precision_score(of, score), abs=0.01)
        assert truth in found


def test_impossible_sums_are_refused():
    run = followed([])
    now = run._now.copy()
    scored = now.scored
    for broken in (
        {"place": 2},
        {"wait": scored.wait + 2.0},
        {"wait": scored.wait[:, 1:]},
        {"heard": scored.heard._replace(bins=-scored.heard.bins)},
    ):
        now.scored = scored._replace(**broken)
        with pytest.raises(lasec.StateError):
            lasec.RunSummary.from_bytes(record.dump(now))
