"""A selector decides as a learner does that has the same margins, one at a time or all at once."""

import copy
import pickle

import numpy as np
import pytest

import lasec
from lasec.queries import Always, Budgeted, MarginSampling, Uniform, VarianceThreshold
from lasec.selector import Selector, bvsb_margin

QUERIES = {
    "always": Always(),
    "uniform": Uniform(0.3),
    "margin": MarginSampling(0.2),
    "variance": VarianceThreshold(0.3),
    "budget": Budgeted(rate=0.1),
    "total": Budgeted(rate=0.3, total=40),
    "open": Budgeted(rate=0.3, max_open=20),
    "time": Budgeted.every(100.0, labels=20),
}
each = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
DRAWN = np.random.default_rng(0)
MARGINS, SPREAD = DRAWN.normal(size=600), DRAWN.exponential(size=600)
TIMES = np.cumsum(DRAWN.exponential(size=600))


def facts(selector):
    return selector.rows, selector.asked, selector.query_state.tolist()


@each
def test_one_at_a_time_and_all_at_once(query):
    single, whole, cut = (Selector(query, seed=7) for _ in range(3))
    ones = [
        single.decide(m, time=t, waiting=5, variance=v)
        for m, t, v in zip(MARGINS, TIMES, SPREAD, strict=True)
    ]
    every = whole.decide_all(MARGINS, TIMES, waiting=5, variances=SPREAD)
    assert [list(column) for column in zip(*ones, strict=True)] == [a.tolist() for a in every]
    assert 0 < every[1].sum() <= 600
    for at in (slice(0, 1), slice(1, 1), slice(1, 450), slice(450, 600)):
        cut.decide_all(MARGINS[at], TIMES[at], waiting=5, variances=SPREAD[at])
    assert facts(single) == facts(whole) == facts(cut)


def test_the_decisions_are_those_of_a_learner():
    stream = lasec.streams.walking(2_000, dimension=4, seed=1)
    learner = lasec.Tracker(4, rate=0.1, seed=9)
    records = learner.run(*stream)
    selector = Selector(learner.query, seed=9)
    propensity, asked, tickets = selector.decide_all(records.margin)
    assert propensity.tolist() == records.propensity.tolist()
    assert asked.tolist() == records.asked.tolist()
    assert tickets.tolist() == list(range(2_000))
    assert facts(selector) == (learner.rows, learner.asked, learner.selector.query_state.tolist())


@each
def test_copies_pickles_and_files_go_on(query):
    selector = Selector(query, seed=3)
    selector.decide(0.5, time=0.0)
    selector.decide_all(MARGINS[:300], TIMES[:300], variances=SPREAD[:300])
    selector.skip(2)
    others = [
        copy.copy(selector),
        copy.deepcopy(selector),
        pickle.loads(pickle.dumps(selector)),
        Selector.from_bytes(selector.to_bytes()),
    ]
    wanted = selector.decide_all(MARGINS[300:], TIMES[300:], variances=SPREAD[300:])
    assert wanted[2][0] == 303
    for other in others:
        assert other.rows == 303
        found = other.decide_all(MARGINS[300:], TIMES[300:], variances=SPREAD[300:])
        assert [a.tolist() for a in found] == [a.tolist() for a in wanted]
        assert facts(other) == facts(selector)


@each
def test_refused_calls_change_nothing(query):
    selector = Selector(query)
    selector.decide_all(MARGINS, TIMES)
    before = facts(selector)
    for call, message in (
        (lambda: selector.decide(np.nan, time=1e3), "margin"),
        (lambda: selector.decide("0.5", time=1e3), "margin"),
        (lambda: selector.decide(0.5, time=np.nan), "time"),
        (lambda: selector.decide(0.5, time=1e3, waiting=-1), "waiting"),
        (lambda: selector.decide(0.5, time=1e3, variance=-1.0), "variance"),
        (lambda: selector.decide_all([0.5, np.nan], [1e3, 1e3]), "margin"),
        (lambda: selector.decide_all([[0.5]], [1e3]), "margin"),
        (lambda: selector.decide_all([0.5], [1e3, 1e3]), "time"),
        (lambda: selector.decide_all([0.5], [1e3], variances=[1.0, 1.0]), "variance"),
        (lambda: selector.skip(-1), "rows"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()
        assert facts(selector) == before


def test_budgets_by_time_want_times():
    selector = Selector(QUERIES["time"])
    with pytest.raises(ValueError, match="time"):
        selector.decide(0.0)
    with pytest.raises(ValueError, match="time"):
        selector.decide_all([0.0])
    assert selector.rows == 0


def test_endless_margins_are_certain():
    propensity, _, _ = Selector(MarginSampling(1.0)).decide_all([np.inf, -np.inf, 1e300])
    assert (propensity < 1e-50).all()


@pytest.mark.parametrize(
    ("query", "seed", "name"), [(0.1, 0, "query"), (Always(), -1, "seed"), (Always(), "x", "seed")]
)
def test_bad_parameters_are_named(query, seed, name):
    with pytest.raises((TypeError, ValueError), match=name):
        Selector(query, seed=seed)


def test_bad_files_are_refused():
    good = Selector(Budgeted())
    good.asked = 1
    with pytest.raises(lasec.StateError, match="contradict"):
        Selector.from_bytes(good.to_bytes())
    good.asked, good.query_state = 0, np.zeros(3)
    with pytest.raises(lasec.StateError, match="the query's state"):
        Selector.from_bytes(good.to_bytes())
    good.query_state = np.empty(0)
    with pytest.raises(lasec.StateError, match="the query's state"):
        Selector.from_bytes(good.to_bytes())
    with pytest.raises(lasec.StateError, match="foreign"):
        Selector.from_bytes(lasec.LASEC(2).to_bytes())
    with pytest.raises(lasec.StateError, match="its kind is 'selector'"):
        lasec.Learner.from_bytes(Selector(Budgeted()).to_bytes())


def test_the_lead():
    scores = DRAWN.normal(size=(50, 4))
    top = np.sort(scores, axis=1)
    assert bvsb_margin(scores).tolist() == (top[:, -1] - top[:, -2]).tolist()
    assert [bvsb_margin(row) for row in scores.tolist()] == bvsb_margin(scores).tolist()
    assert bvsb_margin(np.ones((3, 1))).tolist() == [0.0] * 3
    assert bvsb_margin([]) == bvsb_margin([0.7]) == bvsb_margin([np.inf, np.inf]) == 0.0
    assert bvsb_margin(np.array([[np.inf, np.inf, 0.0], [-np.inf, 1.0, 2.0]])).tolist() == [
        0.0,
        1.0,
    ]


def test_a_tracker_names_a_bad_rate():
    for rate in ("much", 0.0, 1.5, True, np.nan):
        with pytest.raises((TypeError, ValueError), match="rate"):
            lasec.Tracker(rate=rate)


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "time"])
def test_a_preview_is_what_the_next_decision_would_be(name):
    """For each margin, and nothing is counted; a learner's as well."""
    selector = Selector(QUERIES[name], seed=3)
    selector.decide_all(np.linspace(-1.0, 1.0, 40), variances=np.ones(40))
    margins, variances = np.linspace(-1.0, 1.0, 9), np.linspace(0.1, 2.0, 9)
    before = selector.to_bytes()
    propensity, asked = selector.preview(margins, variances)
    assert selector.to_bytes() == before
    for i in range(9):
        twin = Selector.from_bytes(before)
        said = twin.decide(float(margins[i]), variance=float(variances[i]))
        assert (propensity[i], asked[i]) == said[:2]
    drawn = selector.preview(margins, variances, draws=np.linspace(0.0, 0.99, 9))
    assert drawn[1].tolist() == (np.linspace(0.0, 0.99, 9) < propensity).tolist()


def test_a_learners_preview_is_its_next_ask():
    X, y = lasec.streams.switching(300, dimension=4, every=100, seed=1)
    tracker = lasec.Tracker(4, rate=0.3, classes=["a", "b"], seed=1)
    tracker.run(X[:200], np.where(y[:200] > 0, "a", "b"))
    data = tracker.to_bytes()
    seen = tracker.preview(X[200:])
    assert tracker.to_bytes() == data
    for i in range(0, 100, 17):
        decision = lasec.Tracker.from_bytes(data).ask(X[200 + i])
        mine = (seen.label[i], seen.margin[i], seen.propensity[i], seen.asked[i], seen.ticket[i])
        its = (decision.label, decision.margin, decision.propensity, decision.asked)
        assert mine == (*its, decision.ticket)
    second = lasec.Learner(lasec.rules.SecondOrder(), dimension=2)
    refused = second.preview([[1e9, 0.0], [1.0, 0.0]])
    assert refused.refused.tolist() == [True, False]
    assert np.isnan(refused.propensity[0])
    timed = lasec.Learner(lasec.rules.Perceptron(), QUERIES["time"], dimension=1)
    with pytest.raises(ValueError, match="time"):
        timed.preview([[1.0]])
