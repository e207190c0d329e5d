"""A fleet with labels that come later: each model does what a learner of its own would do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lasec
from catalogue import QUERIES, RULES
from fleets import simulate
from lasec.kernel import codes
from lasec.nested import leaves
from lasec.queries import Always, Budgeted, MarginSampling, VarianceThreshold
from lasec.rules import BudgetPerceptron, Perceptron, Ridge, SecondOrder, Tracking
from ownrule import Averaging

MODELS, DIMENSION = 4, 3
BY_TIME = Budgeted.every(50.0, labels=20, max_open=6)
PAIRS = (
    (SecondOrder(0.02, 0.5), MarginSampling(0.1), "mistakes"),
    (Ridge(2.0), VarianceThreshold(0.3), "labels"),
    (Perceptron(), Budgeted(rate=0.3, max_open=6), "mistakes"),
    (BudgetPerceptron(4), Always(), "mistakes"),
    (Tracking(slots=2, patience=5), BY_TIME, "labels"),
)
EVERY = pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p[0]!r} {p[1]!r}")
FLAGS = ("label", "ticket", "asked", "mistake", "updated", "learned")
NUMBERS = ("margin", "variance", "propensity")


class Step(NamedTuple):
    """A row of ``serve``: ``question`` is the step that its label answers; and what is expected."""

    key: int
    x: np.ndarray
    y: int
    time: float
    draw: float
    question: int
    expected: dict


def build(pair, **options):
    rule, query, update = pair
    options = {"models": MODELS, "dimension": DIMENSION, "learn_from": update, "seed": 5} | options
    return lasec.Fleet(rule, query, **options)


def alone(pair, fleet):
    rule, query, update = pair
    return [
        lasec.Learner(rule, query, dimension=fleet.dimension, learn_from=update, seed=int(seed))
        for seed in fleet.seeds
    ]


def live(pair, learners, steps, rng, draws=False):
    """Steps of plain learners: labels come after a while, in any order, now and then never."""
    targets = rng.standard_normal((len(learners), DIMENSION))
    script, unlearned, clock = [], [], 0.0
    for _ in range(steps):
        clock += rng.exponential()
        if unlearned and rng.random() < 0.45:
            at = unlearned.pop(rng.integers(len(unlearned)))
            if rng.random() < 0.9:
                script.append(answer(script, at, learners, targets))
            continue
        k, x = int(rng.integers(len(learners))), rng.standard_normal(DIMENSION)
        draw = rng.random() if draws else None
        timed = getattr(pair[1], "timed", False)
        decision = learners[k].ask(x, time=clock if timed else None, draw=draw)
        unlearned.append(len(script))
        expected = decision._asdict() | {"mistake": False, "updated": False, "learned": False}
        script.append(Step(k, x, 0, clock, draw or 0.0, -1, expected))
    return script


def answer(script, at, learners, targets):
    """The label of an earlier step, which is skipped if that was not asked about."""
    k, x, _, clock, _, _, asked = script[at]
    y = 1 if x @ targets[k] >= 0.0 else -1
    nothing = dict.fromkeys(NUMBERS, np.nan) | dict.fromkeys(FLAGS, False)
    expected = nothing | {"label": 0, "ticket": asked["ticket"]}
    if asked["asked"]:
        outcome = learners[k].tell(asked["ticket"], y)
        expected |= {
            "label": -y if outcome.mistake else y, "mistake": outcome.mistake,
            "updated": outcome.updated, "learned": True,
        }  # fmt: skip
    return Step(k, x, y, clock, 0.0, at, expected)


def serve(fleet, script, cuts=(), draws=False):
    """The same steps through a fleet, in calls that end where ``cuts`` say; what was expected."""
    timed, parts, expected = getattr(fleet.query, "timed", False), [], []
    for steps in np.split(np.arange(len(script)), sorted(cuts)):
        whole = [
            i for i in steps.tolist()
            if script[i].question < 0 or script[i].question >= steps[0]
            or script[script[i].question].expected["asked"]
        ]  # fmt: skip
        some, place = [script[i] for i in whole], {i: at for at, i in enumerate(whole)}
        parts.append(
            fleet.serve(
                [s.key for s in some], np.array([s.x for s in some]).reshape(-1, DIMENSION),
                [float(s.y) for s in some],
                tickets=[-1 if s.question in place else s.expected["ticket"] for s in some],
                after=[place.get(s.question, -1) for s in some],
                times=[s.time for s in some] if timed else None,
                draws=[s.draw for s in some] if draws else None,
            )
        )  # fmt: skip
        expected += some
    return parts, expected


def same(fleet, learners, parts, steps):
    for name in FLAGS + NUMBERS:
        got = np.concatenate([getattr(part, name) for part in parts])
        wanted = np.array([step.expected[name] for step in steps], dtype=got.dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=name)
    for k, learner in enumerate(learners):
        assert fleet.waiting[k] == len(learner.pending)
        for name in ("rows", "asked", "told", "updates"):
            assert getattr(fleet, name)[k] == getattr(learner, name)
        np.testing.assert_allclose(
            fleet.memory[k], learner.selector.query_state, rtol=1e-12, atol=1e-12
        )
        for mine, its in zip(leaves(fleet.state), leaves(learner.state), strict=True):
            np.testing.assert_allclose(mine[k], its, rtol=1e-12, atol=1e-12)


def check(pair, seed, steps=300, draws=False, **options):
    rng = np.random.default_rng(seed)
    fleet = build(pair, **options)
    learners = alone(pair, fleet)
    script = live(pair, learners, steps, rng, draws)
    cuts = rng.integers(len(script), size=3)
    parts, expected = serve(fleet, script, cuts, draws)
    same(fleet, learners, parts, expected)
    packed = build(pair)
    packed.unpack(range(MODELS), fleet.pack(range(MODELS)))
    for mine, its in zip(leaves(packed.state), leaves(fleet.state), strict=True):
        np.testing.assert_array_equal(mine, its)  # updates keep covariances symmetric to the bit
    return script, fleet


@EVERY
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from([1, 3]))
def test_each_model_is_a_learner_of_its_own(pair, seed, threads):
    script, _ = check(pair, seed, threads=threads)
    told = [step for step in script if step.y]
    assert any(step.expected["learned"] for step in told)


def test_draws_can_be_passed():
    check(PAIRS[0], 1, draws=True)


def test_cuts_and_the_order_of_keys_change_nothing():
    pair = PAIRS[0]
    script, expected = check(pair, 7)
    cut, sorted_by_key = build(pair), build(pair)
    serve(cut, script, range(1, len(script)))
    order = np.argsort([step.key for step in script], kind="stable").tolist()
    place = {i: at for at, i in enumerate(order)}
    moved = [script[i]._replace(question=place.get(script[i].question, -1)) for i in order]
    serve(sorted_by_key, moved)
    for fleet in (cut, sorted_by_key):
        for mine, its in zip(leaves(fleet.state), leaves(expected.state), strict=True):
            np.testing.assert_array_equal(mine, its)
        np.testing.assert_array_equal(fleet.waiting, expected.waiting)
        np.testing.assert_array_equal(fleet.told, expected.told)


def interpreted_pairs():
    """Every rule with every query: to be called where nothing is compiled."""
    assert not codes.compiles()
    for rule in RULES:
        for query in (*QUERIES, BY_TIME):
            for update in ("mistakes", "labels"):
                check((rule, query, update), 3, steps=60, threads=1)


def test_every_rule_with_every_query():
    found = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[1])])
    subprocess.run(
        [sys.executable, "-c", "import test_serve; test_serve.interpreted_pairs()"],
        check=True,
        cwd=Path(__file__).parent,
        env=os.environ | {"LASEC_CODE": "interpreted", "PYTHONPATH": found},
    )


@pytest.mark.parametrize("pair", [PAIRS[2], PAIRS[4]], ids=["first order", "tracking"])
def test_labels_at_once_are_those_of_a_learners_run(pair):
    rng = np.random.default_rng(2)
    fleet = build(pair, threads=2)
    keys, X = rng.integers(MODELS, size=800), rng.standard_normal((800, DIMENSION))
    y, times = np.where(X[:, 0] >= 0.0, 1, -1), np.cumsum(rng.exponential(size=800))
    options = {"times": times} if getattr(pair[1], "timed", False) else {}
    records = simulate(fleet, keys, X, y, **options)
    for k, learner in enumerate(alone(pair, fleet)):
        mine = keys == k
        expected = learner.run(X[mine], y[mine], **{n: a[mine] for n, a in options.items()})
        for name in ("label", "asked", "mistake", "updated", "ticket", *NUMBERS):
            np.testing.assert_allclose(
                getattr(records, name)[mine], getattr(expected, name), rtol=1e-12, atol=1e-12
            )
        np.testing.assert_array_equal(records.key, keys)
        taken = fleet.learner(k)
        assert (taken.rows, taken.asked, taken.told, taken.updates) == (
            learner.rows, learner.asked, learner.told, learner.updates,
        )  # fmt: skip
        np.testing.assert_allclose(
            taken.selector.query_state, learner.selector.query_state, rtol=1e-12, atol=1e-12
        )


def test_one_call_or_many_change_nothing():
    """Many questions of one model in a row, also around a bad one.

    Without drift, a row can be too large for its model.
    """
    rng = np.random.default_rng(6)
    pair = (SecondOrder(0.0, 1.0), MarginSampling(0.1), "mistakes")
    together, single = (build(pair, models=2) for _ in range(2))
    X, keys = rng.standard_normal((120, DIMENSION)), rng.integers(2, size=120)
    X[50] *= 1e8
    y = np.zeros(120)
    y[100], after = -1.0, np.full(120, -1)
    asks = np.flatnonzero(keys[:100] == keys[100])
    after[100], X[100] = asks[0], X[asks[0]]
    served = together.serve(keys, X, y, after=after)
    parts = [single.serve([k], [x], [0]) for k, x in zip(keys[:100], X[:100], strict=True)]
    parts.append(single.serve(keys[100:101], X[100:101], [-1], tickets=[0]))
    parts += [single.serve([k], [x], [0]) for k, x in zip(keys[101:], X[101:], strict=True)]
    assert np.flatnonzero(served.refused).tolist() == [50]
    assert served.updated[100]
    for name in (*FLAGS, "refused", *NUMBERS):
        one_by_one = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(getattr(served, name), one_by_one, rtol=1e-12, atol=1e-12)


def test_too_large_rows_are_flagged_and_not_asked():
    fleet = build((SecondOrder(0.0, 1.0), Always(), "mistakes"))
    huge = [[1e9, 0.0, 0.0]]
    served = fleet.serve([0, 0, 0], [[1.0, 0.0, 0.0], *huge, *huge], [0, 0, 1], after=[-1, -1, 1])
    assert served.refused.tolist() == [False, True, False]
    assert served.asked.tolist() == [True, False, False]
    assert served.learned.tolist() == [False, False, False]
    assert np.isnan(served.propensity[1])
    assert (fleet.rows[0], fleet.asked[0], fleet.waiting[0]) == (2, 1, 1)
    before = [array.copy() for array in leaves(fleet.state)]
    late = fleet.serve([0], huge, [-1], tickets=[0])
    assert late.refused.tolist() == [True]
    assert not late.learned[0]
    assert (fleet.told[0], fleet.waiting[0]) == (0, 1)
    for now, then in zip(leaves(fleet.state), before, strict=True):
        np.testing.assert_array_equal(now, then)


def everything(fleet):
    counters = (fleet.rows, fleet.asked, fleet.told, fleet.updates, fleet.waiting)
    return [a.copy() for a in (*leaves(fleet.state), fleet.memory, *counters)]


def test_bad_calls_are_refused_whole():
    fleet = build(PAIRS[2])
    fleet.serve([0, 1, 1], np.ones((3, 3)), [0, 0, 0])
    before, X = everything(fleet), np.ones((3, 3))
    broken = X.copy()
    broken[2, 1] = np.inf
    keys, y = [0, 0, 1], [0, 1, 0]
    for arguments, options, words in (
        ((keys, broken, y), {"after": [-1, 0, -1]}, "^X: contains NaN"),
        ((keys, X, [0, 2, 0]), {}, "^y: expected one of"),
        ((keys, X, y), {}, "^tickets: a label must say"),
        ((keys, X, y), {"tickets": [0, 1, 0]}, "ticket 1 of key 0 was never given out"),
        ((keys, X, y), {"tickets": [0, -1, 0]}, "never given out"),
        ((keys, X, y), {"tickets": [0, 0]}, "^tickets: expected 3"),
        ((keys, X, y), {"after": [-1, 1, -1]}, "^after: only a label"),
        ((keys, X, y), {"after": [-1, 2, -1]}, "^after: only a label"),
        ((keys, X, y), {"after": [-1, 7, -1]}, "^after: only a label"),
        (([0, 1, 1], X, y), {"after": [-1, 0, -1]}, "^after: only a label"),
        ((keys, X, [0, 0, 0]), {"after": [-1, 0, -1]}, "^after: only a label"),
        (([0, 0, 0], X, [0, 1, 1]), {"after": [-1, 0, 0]}, "^after: a row has two labels"),
        ((keys, X, y), {"after": [-1, 0, -1], "draws": [0.5, 0.5, 1.0]}, "^draws"),
    ):
        with pytest.raises(ValueError, match=words):
            fleet.serve(*arguments, **options)
    for now, then in zip(everything(fleet), before, strict=True):
        np.testing.assert_array_equal(now, then)
    with pytest.raises(ValueError, match=r"^time: this budget is by time"):
        build(PAIRS[4]).serve(keys, X, [0, 0, 0])
    assert len(fleet.serve([], np.empty((0, 3)), [])) == 0


class Fragile(Averaging):
    """Averages, and breaks at a row it does not like."""

    def update(self, state, x, y, draw, t):
        if x[0] > 5.0:
            raise ArithmeticError
        w = state.weights
        w += self.rate * (y * x - w)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_rule_that_breaks_leaves_the_fleet_as_it_was(threads):
    fleet = build((Fragile(), Always(), "labels"), threads=threads)
    X = np.ones((8, 3))
    keys = np.repeat(np.arange(4), 2)
    simulate(fleet, keys, X, np.ones(8))
    before = everything(fleet)
    X[7] = 6.0
    with pytest.raises(ArithmeticError):
        simulate(fleet, keys, X, np.ones(8))
    with pytest.raises(ArithmeticError):
        fleet.serve(keys, X, [0, 1] * 4, tickets=[0] * 8)
    for now, then in zip(everything(fleet), before, strict=True):
        np.testing.assert_array_equal(now, then)
