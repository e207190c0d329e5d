"""The River face against River's own checks, and against the learners that it stands for."""

import copy
import datetime
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from river import (
    active,
    checks,
    compose,
    datasets,
    drift,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    preprocessing,
    tree,
)

import lasec
from lasec.learner import class_margins
from lasec.nested import leaves
from lasec.river import (
    ActiveClassifier,
    LASECClassifier,
    RuleClassifier,
    TrackerClassifier,
)
from lasec.rules.one_vs_rest import mirrored
from lasec.selector import bvsb_margin

Perceptron = partial(RuleClassifier, lasec.rules.Perceptron())
AROW = partial(RuleClassifier, lasec.rules.AROW(), learn_from="labels")
RULES = {
    LASECClassifier: (lasec.rules.SecondOrder(0.01, 1.0), "mistakes"),
    RuleClassifier: (lasec.rules.SecondOrder(0.0, 1.0), "mistakes"),
    Perceptron: (lasec.rules.Perceptron(), "mistakes"),
    AROW: (lasec.rules.AROW(), "labels"),
    TrackerClassifier: (lasec.rules.Tracking(), "labels"),
}
OWN = list(RULES)
SELECTIVE = [ActiveClassifier(**params) for params in ActiveClassifier._unit_test_params()]
SOME = [
    *(kind() for kind in OWN), TrackerClassifier(columns=2**18), *SELECTIVE,
    ActiveClassifier(TrackerClassifier(), 0.3),
]  # fmt: skip


def plain(kind, **options):
    """A model without an intercept, as lasec's own learners are."""
    return kind(**options) if kind is TrackerClassifier else kind(intercept=False, **options)


def rows(n=400, d=6, seed=1, **options):
    X, y = lasec.streams.switching(n, dimension=d, every=150, seed=seed, **options)
    return [{f"x{j}": value for j, value in enumerate(x)} for x in X.tolist()], X, y


def signed(model, x):
    """The margin of +1."""
    return model._learner.margins(model._rows.fill(x)[None])[0]


def states(model):
    """The numbers of the model, as bytes."""
    return [array.tobytes() for array in leaves(model._learner.state)]


@pytest.mark.parametrize("model", SOME, ids=str)
def test_rivers_own_checks_pass_with_no_skips(model):
    assert model._unit_test_skips() == set()
    for check in checks.yield_checks(model):
        check(model.clone())


@pytest.mark.parametrize("kind", OWN)
def test_margins_are_those_of_the_plain_learner(kind):
    model, (rule, update) = plain(kind), RULES[kind]
    learner = lasec.Learner(rule, dimension=6, learn_from=update)
    for x, row, y in zip(*rows(), strict=True):
        model.learn_one(x, bool(y > 0))
        learner.learn(row, int(y))
        looked = copy.deepcopy(learner).ask(row)
        assert signed(model, x) == pytest.approx(looked.margin, rel=1e-12, abs=1e-12)
        assert model.predict_one(x) == (looked.label == 1)


@pytest.mark.parametrize("kind", OWN)
def test_an_intercept_is_a_feature_that_is_always_one(kind):
    if kind is TrackerClassifier:  # it has one of its own
        return
    one, other = kind(), plain(kind)
    for x, _, y in zip(*rows(), strict=True):
        one.learn_one(x, y)
        other.learn_one({"always": 1.0, **x}, y)
        assert signed(one, x) == pytest.approx(signed(other, {"always": 1.0, **x}), abs=1e-12)


@pytest.mark.parametrize("kind", OWN)
def test_features_that_come_one_by_one_might_have_been_known_from_the_start(kind):
    d = 12
    table, X, y = rows(d=d)
    options = {"dimension": d} if kind is TrackerClassifier else {}
    model, (rule, update) = plain(kind, **options), RULES[kind]
    learner = lasec.Learner(rule, dimension=d, learn_from=update)
    for t, (x, row, label) in enumerate(zip(table, X, y, strict=True)):
        known = min(d, 1 + t // 25)
        row[known:] = 0.0
        model.learn_one({name: x[name] for name in list(x)[:known]}, label)
        learner.learn(row, int(label))
    for x, row in zip(table, X, strict=True):
        looked = copy.deepcopy(learner).ask(row)
        shown = dict(zip(x, row.tolist(), strict=True))
        assert signed(model, shown) == pytest.approx(looked.margin, rel=1e-10, abs=1e-10)


def test_a_tracker_that_grows_says_the_same_of_the_rows_it_knew():
    rule = lasec.rules.Tracking()
    state = rule.init(4)
    _, X, y = rows(d=4)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        rule.update(state, x, label, 0.0, t)
    larger = rule.widened(state, dimension=9, known=4)
    assert larger.validate() == ""
    for x in 0.3 * X:  # none so long that it is shortened
        wide = np.concatenate([x, np.zeros(5)])
        # as of the last label: later, drift is that of a row with more features
        before, after = rule.margin(state, x, t).margin, rule.margin(larger, wide, t).margin
        assert after == pytest.approx(before, abs=1e-5)  # covariances have single precision


def test_a_tracker_that_grows_keeps_the_rows_that_wait_for_a_label():
    rule = lasec.rules.Tracking()
    small, large = rule.init(2), rule.init(5)
    for x in ([1.0, 2.0], [3.0, -1.0]):
        rule.note(small, np.array(x))
        rule.note(large, np.array([*x, 0.0, 0.0, 0.0]))
    grown = rule.widened(small, dimension=5, known=2)
    np.testing.assert_array_equal(grown.counted.tally, large.counted.tally)


def test_rows_count_once_they_are_asked_about_or_learned():
    table, X, y = rows(n=60)
    model, plain = TrackerClassifier(seed=1), lasec.Tracker(6, seed=1)
    for t, (x, row) in enumerate(zip(table, X, strict=True)):
        shuffled = dict(reversed(x.items())) if t % 2 else x
        model.ask_one(shuffled)
        plain.ask(row)
        model.predict_one(x)
        model.predict_proba_one(x)
        if t >= 20:
            model.learn_one(shuffled, y[t])
            plain.learn(row, int(y[t]))
        np.testing.assert_array_equal(model._learner.state.counted.tally, plain.state.counted.tally)
    np.testing.assert_array_equal(model._learner.state.counted.squares, plain.state.counted.squares)


def test_a_tracker_that_grows_is_as_good_as_one_that_knew_all():
    table, _, y = rows(n=2000, d=12)
    models = TrackerClassifier(), TrackerClassifier(dimension=12)
    right = np.zeros(2)
    for t, (x, label) in enumerate(zip(table, y.tolist(), strict=True)):
        part = {name: x[name] for name in list(x)[: 1 + t // 50]}
        for k, model in enumerate(models):
            right[k] += model.predict_one(part) == label
            model.learn_one(part, label)
    assert right[0] > right[1] - 20 > 1200


def test_too_many_features_are_refused_with_advice():
    model = TrackerClassifier(max_features=3)
    model.learn_one({"a": 1, "b": 2, "c": 3}, True)
    with pytest.raises(ValueError, match="FeatureHasher"):
        model.learn_one({"d": 1}, False)
    assert model.predict_one({"d": 1.0}) is model.predict_one({})


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ("red", TypeError, "no number but 'red': use river.preprocessing.OneHotEncoder"),
        ([1.0], TypeError, "no number"),
        (None, TypeError, r"missing \(None\): leave it out"),
        (float("nan"), ValueError, "NaN: leave it out"),
        (10**400, ValueError, "infinite or beyond"),
        (-1e61, ValueError, "beyond 1e"),
    ],
    ids=["string", "list", "None", "NaN", "huge", "large"],
)
def test_a_row_that_is_refused_is_explained_and_leaves_no_trace(value, error, words):
    for model in (LASECClassifier(max_features=3), TrackerClassifier(max_features=3)):
        model.learn_one({"size": 1.0}, True)
        before = pickle.dumps(model)
        for call in (lambda x: model.learn_one(x, True), model.ask_one, model.predict_one):  # noqa: B023
            with pytest.raises(error, match=f"feature 'colour' is .*{words}"):
                call({"size": 1.0, "colour": value})
            assert sorted(model._rows.index) == ["size"]
        table = pd.DataFrame({"size": [1.0, 2.0], "colour": pd.Series([0.5, value], dtype=object)})
        with pytest.raises(error):
            model.learn_many(table, pd.Series([True, False]))
        model._rows.widen(model._rows.row.size)
        assert states(model) == states(pickle.loads(before))
        assert (model.classes, model._learner.rows) == ((False, True), 1)


class Nameless:
    def __repr__(self):
        raise RuntimeError("no name today")


def test_a_name_that_cannot_be_written_is_refused():
    model = TrackerClassifier()
    for call in (model.ask_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(TypeError, match="x: a feature has a name"):
            call({"a": 1.0, Nameless(): 2.0})
    assert (model.classes, model.pending, model._learner.rows) == ((), (), 0)


def test_a_refused_row_brings_neither_features_nor_a_class():
    model = AROW()
    for x, y in (({"a": 1.0}, "x"), ({"a": -1.0}, "y")):
        with pytest.raises(ValueError, match="too large"):
            model.learn_one({"a": 1e30, "b": 1.0}, y)
        assert y not in model.classes
        model.learn_one(x, y)
    likely, before = model.predict_proba_one({"a": 1.0}), states(model)
    for x in ({"a": 1e30}, {"a": 1.0, **{str(k): 1e30 for k in range(9)}}):
        with pytest.raises(ValueError, match="too large"):
            model.learn_one(x, "z")
        assert (model.classes, list(model._rows.index)) == (("x", "y"), ["a"])
        assert states(model) == before
        assert model.predict_proba_one({"a": 1.0}) == likely


def test_a_table_is_learned_as_a_whole_or_not_at_all():
    good = pd.DataFrame({"a": [1.0, 2.0, -3.0]})
    y = pd.Series(["x", "y", "z"])
    model, same = AROW(), AROW()
    for each in (model, same):
        each.learn_many(good, y)
    for bad in (good.replace(-3.0, np.nan), good.replace(-3.0, 1e30).assign(b=1.0)):
        with pytest.raises(ValueError, match=r"NaN|too large"):
            model.learn_many(bad, pd.Series(["x", "new", "y"]))
    for labels in (["x", None, "y"], ["x", "y"]):
        with pytest.raises(ValueError, match="y: "):
            model.learn_many(good, pd.Series(labels, dtype=object))
    with pytest.raises(ValueError, match="two columns are named 'b'"):
        model.learn_many(pd.DataFrame(np.ones((3, 2)), columns=["b", "b"]), y)
    assert model.classes == same.classes
    assert model._learner.rows == same._learner.rows == 3
    assert states(model) == states(same)


@pytest.mark.parametrize("y", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, ["x"]])
def test_a_missing_label_is_no_class(y):
    for model in (TrackerClassifier(), ActiveClassifier(linear_model.LogisticRegression())):
        ticket = model.ask_one({"a": 1.0}).ticket
        with pytest.raises(ValueError, match="is no label"):
            model.learn_one({"a": 1.0}, y)
        with pytest.raises(ValueError, match="is no label"):
            model.tell_one(ticket, y)
        assert model.pending == (ticket,)
        assert model.predict_proba_one({"a": 1.0}) in ({}, {False: 0.5, True: 0.5})


@pytest.mark.parametrize("kind", OWN)
def test_questions_take_no_places_until_they_are_answered(kind):
    model = kind(max_features=3, query=lasec.queries.Always())
    for k in range(9):  # before any label, and after one
        model.ask_one({f"z{k}": 1.0})
    model.learn_one({"a": 1.0}, True)
    tickets = [model.ask_one({f"z{k}": 1.0, "a": 1.0}).ticket for k in range(9)]
    model.learn_one({"a": 1.0, "b": 1.0}, False)
    assert list(model._rows.index) == ["a", "b"]
    model.tell_one(tickets[4], True)
    assert list(model._rows.index) == ["a", "b", "z4"]
    with pytest.raises(ValueError, match="max_features"):
        model.tell_one(tickets[5], True)
    with pytest.raises(ValueError, match="max_features"):
        model.ask_one({"z5": 1.0})
    model.cancel_one(tickets[5])


@pytest.mark.parametrize("kind", OWN)
def test_a_question_about_new_features_knows_their_variance(kind):
    if kind is TrackerClassifier:  # it leaves them out, as predictions do
        return
    model, placed = kind(), kind()
    for x, _, y in zip(*rows(n=60, d=3), strict=True):
        model.learn_one(x, y)
        placed.learn_one(x | {"new": 0.0, "newer": 0.0}, y)
    for x in rows(n=20, d=3, seed=2)[0]:
        wide = x | {"new": 0.5, "newer": -2.0}
        assert model.ask_one(wide)[1:6] == pytest.approx(placed.ask_one(wide)[1:6], rel=1e-9)
        assert signed(model, x) == pytest.approx(signed(placed, x), rel=1e-9)


@pytest.mark.parametrize("selective", [False, True])
def test_a_label_that_never_comes_is_given_up(selective):
    def run(**options):
        if selective:
            model = ActiveClassifier(linear_model.LogisticRegression(), 0.2, seed=1, **options)
        else:
            model = TrackerClassifier(0.2, seed=1, **options)
        for x, y in datasets.Phishing():
            decision = model.ask_one(x)
            if decision.asked and decision.ticket != 3:
                model.tell_one(decision.ticket, y)
        return model

    model = run()
    assert model.pending == (3,)
    assert model.meter.accuracy.rows < 10
    model.cancel_one(3)
    assert (model.pending, model.meter.lost, model.meter.open) == ((), 1, 0)
    assert model.meter.accuracy.value == pytest.approx(0.86, abs=0.06)
    with pytest.raises(lasec.TicketError, match="ticket 3 "):
        model.cancel_one(3)
    for options in ({"max_age": 50}, {"max_pending": 100}):
        given_up = run(**options).meter
        assert given_up.lost == 1
        assert given_up.accuracy.rows == 1250 - given_up.unpredicted
        assert given_up.unpredicted == (not selective)  # River's model predicts at once
        assert given_up.accuracy.value == pytest.approx(model.meter.accuracy.value, abs=0.01)
    # a question is open for max_age rows, and not for one more
    model = run(max_age=50)
    ticket = model.ask_one(x := next(iter(datasets.Phishing()))[0]).ticket
    while ticket not in model.pending:
        ticket = model.ask_one(x).ticket
    for _ in range(50):
        model.ask_one(x)
    assert model.pending[0] == ticket
    model.ask_one(x)
    assert ticket not in model.pending


def test_a_label_for_free_counts_as_a_round():
    for model in (TrackerClassifier(), ActiveClassifier(linear_model.LogisticRegression())):
        model.learn_one({"a": 1.0}, True)
        assert model.ask_one({"a": 1.0}).ticket == 1
        assert model.meter.rows == 1


def test_for_many_classes_the_margin_is_the_lead_that_the_gate_knows():
    rng = np.random.default_rng(3)
    for model in (TrackerClassifier(), LASECClassifier()):
        for _ in range(60):
            y = int(rng.integers(3))
            x = dict(enumerate(rng.normal(np.eye(3)[y] * 2.0).tolist()))
            model.learn_one(x, y)
        margins = class_margins(model._learner, model._rows.fill(x)[None])[0].tolist()
        likely = [*model.predict_proba_one(x).values()]
        expected = (
            bvsb_margin(likely)
            if isinstance(model, TrackerClassifier)
            else bvsb_margin(margins) / 2.0
        )
        assert model.ask_one(x).margin == pytest.approx(expected, rel=1e-12) != 0.0


@pytest.mark.parametrize(
    "classifier",
    [
        multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
        multiclass.OutputCodeClassifier(linear_model.LogisticRegression(), code_size=10, seed=1),
    ],
    ids=str,
)
def test_selective_can_do_without_probabilities(classifier):
    model, labels, right = ActiveClassifier(preprocessing.StandardScaler() | classifier, 0.2), 0, 0
    for x, y in datasets.ImageSegments().take(1000):
        predicted, decision = model.predict_one(x), model.ask_one(x)
        assert (decision.label, decision.margin) == (predicted, 0.0)
        labels, right = labels + decision.asked, right + (predicted == y)
        if decision.asked:
            model.tell_one(decision.ticket, y)
    estimate = model.meter.accuracy
    assert 150 < labels < 300
    assert estimate.low - 0.03 < right / 1000 < estimate.high + 0.03


def test_nothing_is_known_before_the_first_label():
    model = TrackerClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.ask_one({"a": 1.0}).label is None
    assert model.predict_many(pd.DataFrame({"a": [1.0, 2.0]})).tolist() == [None, None]
    assert model.predict_proba_many(pd.DataFrame({"a": [1.0]})).empty
    model.learn_one({"a": 1.0}, "spam")
    assert model.predict_proba_one({"a": 1.0}) == {"spam": 1.0}
    model.learn_one({"a": -1.0}, "ham")
    assert set(model.predict_proba_one({"a": 1.0})) == {"spam", "ham"}
    model = TrackerClassifier()
    model.learn_one({"a": 1.0}, True)
    assert set(model.predict_proba_one({"a": 1.0})) == {False, True}


@pytest.mark.parametrize("kind", OWN[:-1])  # all but the Tracker
def test_the_mirror_image_has_opposite_margins_and_keeps_them(kind):
    rule, _ = RULES[kind]
    state = rule.init(6)
    _, X, y = rows()
    for x, label in zip(X[:200], y[:200], strict=True):
        rule.update(state, x, label, 0.0)
    turned = mirrored(state)
    for x, label in zip(X[200:], y[200:], strict=True):
        here, there = (rule.margin(s, x).margin for s in (state, turned))
        assert there == pytest.approx(-here, abs=1e-9)
        rule.update(state, x, label, 0.0)
        rule.update(turned, x, -label, 0.0)


@pytest.mark.parametrize("kind", [TrackerClassifier, LASECClassifier])
def test_a_third_class_may_come_late(kind):
    rng = np.random.default_rng(1)
    centres = {"a": (3.0, 0.0), "b": (-3.0, 0.0), "c": (0.0, 4.0)}
    model, right = kind(), []
    for t in range(900):
        y = rng.choice(["a", "b"] if t < 400 else ["a", "b", "c"])
        x = dict(zip("uv", rng.normal(centres[y]), strict=True))
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert model.classes == tuple(dict.fromkeys(model.classes))
    assert set(model.classes) == {"a", "b", "c"}
    assert np.mean(right[600:]) > 0.9
    likely = model.predict_proba_one({"u": 0.0, "v": 4.0})
    assert max(likely, key=likely.get) == "c"
    assert sum(likely.values()) == pytest.approx(1.0)
    asked = [model.ask_one({"u": 0.0, "v": 4.0}) for _ in range(50)]
    assert all(decision.label == "c" for decision in asked)


@pytest.mark.parametrize("kind", OWN)
def test_many_is_one_after_the_other(kind):
    table, _, y = rows()
    names = np.where(y > 0, "yes", "no")
    one, many = kind(), kind()
    for x, label in zip(table, names, strict=True):
        one.learn_one(x, label)
    X = pd.DataFrame(table, index=np.arange(7, 407))
    for begin in range(0, 400, 64):
        part = slice(begin, begin + 64)
        many.learn_many(X.iloc[part], pd.Series(names[part]))
    assert states(one) == states(many)
    likely = many.predict_proba_many(X)
    assert likely.to_dict("records") == [one.predict_proba_one(x) for x in table]
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x in table]
    assert likely.index.equals(X.index)


def test_asking_with_late_answers_is_what_a_tracker_does():
    table, X, y = rows(n=1500, d=5)
    model, tracker = TrackerClassifier(rate=0.2, seed=3), lasec.Tracker(rate=0.2, seed=3)
    meter, late = lasec.Meter(), 40
    queue = []
    for t, (x, row) in enumerate(zip(table, X, strict=True)):
        ours, theirs = model.ask_one(x), tracker.ask(row)
        meter.ask(theirs)
        assert ours[1:6] == pytest.approx((abs(theirs.margin), *theirs[2:6]), rel=1e-12)
        if theirs.asked:
            queue.append((t, theirs.ticket))
        if model.classes == (-1, 1):
            assert ours.label == theirs.label
        while queue and queue[0][0] <= t - late:
            when, ticket = queue.pop(0)
            model.tell_one(ticket, int(y[when]))
            meter.tell(tracker.tell(ticket, int(y[when])))
    assert model.pending == tracker.pending
    assert 250 < model.meter.labels == meter.labels < 350
    # predictions made before any label had a name count as wrong here, and cannot there
    assert model.meter.accuracy.value == pytest.approx(meter.accuracy.value, abs=0.04)


def test_a_ticket_is_good_for_one_answer():
    model = TrackerClassifier(rate=1.0, max_pending=2)
    tickets = [model.ask_one({"a": float(t)}).ticket for t in range(3)]
    assert model.pending == (1, 2)
    assert model.tell_one(2, "x") is None  # nothing was predicted before the first label
    for ticket in (0, 2, 99):
        with pytest.raises(lasec.TicketError, match=f"ticket {ticket} "):
            model.tell_one(ticket, "x")
    assert tickets == [0, 1, 2]
    assert model.meter.lost == 1
    for said, right in (("x", True), ("y", False)):
        asked = model.ask_one({"a": 1.0})
        assert (asked.label, model.tell_one(asked.ticket, said)) == ("x", right)
    assert (model.meter.unpredicted, model.meter.accuracy.rows) == (3, 2)


@pytest.mark.parametrize(
    "classifier",
    [
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        tree.HoeffdingTreeClassifier(grace_period=20),
        preprocessing.StandardScaler() | TrackerClassifier(),
    ],
    ids=str,
)
def test_selective_holds_its_budget_and_repeats_itself(classifier):
    table, _, y = rows(n=3000, d=5)

    def run(seed):
        model, made, right = ActiveClassifier(classifier.clone(), 0.1, seed=seed), [], 0
        for x, label in zip(table, y.tolist(), strict=True):
            predicted, decision = model.predict_one(x), model.ask_one(x)
            assert predicted == decision.label
            made.append(decision)
            right += decision.label == label
            if decision.asked:
                model.tell_one(decision.ticket, label)
        return model, made, right / len(table)

    model, made, accuracy = run(seed=5)
    assert made == run(seed=5)[1]
    assert [d.asked for d in made] != [d.asked for d in run(seed=6)[1]]
    asked = sum(d.asked for d in made)
    assert abs(asked - 300) < 60
    assert min(d.propensity for d in made) >= 0.2 * 0.1
    estimate = model.meter.accuracy
    assert estimate.low - 0.02 < accuracy < estimate.high + 0.02


def test_a_rule_without_parameters_can_be_cloned_and_one_with_probabilities_gives_them():
    assert Perceptron().clone().rule == lasec.rules.Perceptron()
    assert type(Perceptron().clone().clone().rule) is lasec.rules.Perceptron
    model = RuleClassifier(lasec.rules.Probit(), learn_from="labels")
    for x, _, y in zip(*rows(n=60), strict=True):
        model.learn_one(x, y)
    assert model.predict_proba_one(x)[1.0] == pytest.approx((1.0 + signed(model, x)) / 2.0)
    with pytest.raises(ValueError, match="everything"):
        RuleClassifier(learn_from="everything")


def test_a_query_of_ones_own_can_be_given_and_cloned():
    coin = lasec.queries.MarginSampling(0.1)
    for query in (coin, lasec.queries.Always(), lasec.queries.Budgeted.every("1d", labels=50)):
        for model in (
            LASECClassifier(query=query),
            ActiveClassifier(TrackerClassifier(), query=query),
        ):
            again = model.clone()
            assert again.query == query
            assert type(again.query) is type(query)
            assert type((preprocessing.StandardScaler() | model).clone()[-1].query) is type(query)
            assert again.ask_one({"a": 1.0}, time=0.0).asked
    with pytest.raises(ValueError, match="rate of its own"):
        TrackerClassifier(rate=0.2, query=coin)
    with pytest.raises(ValueError, match="time"):
        LASECClassifier(query=query).ask_one({"a": 1.0})


def test_it_works_inside_rivers_own_machinery():
    phishing = [(x | {"day": datetime.datetime(2024, 1, 1)}, y) for x, y in datasets.Phishing()]
    model = preprocessing.StandardScaler() | TrackerClassifier()
    score = evaluate.progressive_val_score(datasets.Phishing(), model.clone(), metrics.LogLoss())
    assert score.get() < 0.35
    late = compose.Discard("day") | model.clone()
    score = evaluate.progressive_val_score(
        phishing, late, metrics.Accuracy(), moment="day", delay=datetime.timedelta(days=1)
    )
    assert score.get() == 0.0  # all answers come after the last row
    score = evaluate.progressive_val_score(
        datasets.Phishing(), model.clone(), metrics.Accuracy(), delay=50
    )
    assert score.get() > 0.82
    retrained = drift.DriftRetrainingClassifier(LASECClassifier(), drift.binary.DDM())
    score = evaluate.progressive_val_score(datasets.Phishing(), retrained, metrics.Accuracy())
    assert score.get() > 0.75
    ovr = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(AROW())
    segments = datasets.ImageSegments().take(500)
    assert evaluate.progressive_val_score(segments, ovr, metrics.Accuracy()).get() > 0.7
    X = pd.DataFrame([x for x, _ in datasets.Phishing()])
    y = pd.Series([y for _, y in datasets.Phishing()])
    model.learn_many(X[:1000], y[:1000])
    assert (model.predict_many(X[1000:]) == y[1000:]).mean() > 0.8


@pytest.mark.parametrize("kind", OWN)
def test_rivers_sampler_can_ask_for_ours(kind):
    sampler = active.EntropySampler(kind(), discount_factor=3, seed=1)
    metric, used = metrics.Accuracy(), 0
    for x, y in datasets.Phishing():
        predicted, ask = sampler.predict_one(x)
        if predicted:
            metric.update(y, predicted)
        # before two classes are known there is no entropy, and nothing is asked
        if ask or len(sampler.classifier.classes) < 2:
            sampler.learn_one(x, y)
            used += 1
    assert metric.get() > 0.7
    assert 10 < used < 1250


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_in_mid_stream_goes_on_as_the_original(again):
    table, _, y = rows()
    for model in (TrackerClassifier(0.3), ActiveClassifier(linear_model.LogisticRegression(), 0.3)):
        for x, label in zip(table[:200], y[:200] > 0, strict=True):
            decision = model.ask_one(x)
            if decision.asked and decision.ticket % 3:
                model.tell_one(decision.ticket, bool(label))
        twin = again(model)
        assert twin.pending == model.pending != ()
        for x, label in zip(table[200:], y[200:] > 0, strict=True):
            decision = model.ask_one(x)
            assert decision == twin.ask_one(x)
            if decision.asked:
                for each in (model, twin):
                    each.tell_one(decision.ticket, bool(label))
        assert twin.meter.accuracy == model.meter.accuracy
