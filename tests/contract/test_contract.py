"""Rules with queries: the promises that hold for all of them."""

import copy
import math
import typing

import numpy as np
import pytest

import lasec
from catalogue import PAIRS, QUERIES, RULES, build
from lasec import papers, queries, rules
from lasec.nested import leaves, named

EACH = pytest.mark.parametrize(
    ("rule", "query"), [pytest.param(r, q, id=f"{r!r}-{q!r}") for r, q in PAIRS]
)
DIMENSION = 6


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.switching(600, dimension=DIMENSION, every=200, seed=2)


def test_the_catalogue_is_complete():
    # These have tests of their own: tracker/test_lenses.py and test_sparse.py, test_one_vs_rest.py.
    apart = {"Lenses", "OneVsRest", "SparseTracking"}
    assert {type(rule).__name__ for rule in RULES} | apart == set(rules.__all__)
    kinds = {type(query).__name__ for query in QUERIES}
    assert kinds | {"TwoPrices"} == set(
        queries.__all__
    )  # which stands in a session: test_two_prices
    assert {rule for rule, _ in PAIRS} == set(RULES)
    assert all(sum(query == q for _, q in PAIRS) >= 4 for query in QUERIES)


@EACH
def test_asking_never_writes_the_model(rule, query, stream):
    learner = build(rule, DIMENSION, query)
    learner.run(*stream)
    before, said = copy.deepcopy(learner.state), learner.margins(stream.X, first=600)
    for x in stream.X[:50]:
        learner.ask(x)
    for name, new in named(learner.state).items():
        if not name.endswith("tally"):  # counts rows, and is looked at when a label comes
            np.testing.assert_array_equal(named(before)[name], new)
    np.testing.assert_array_equal(said, learner.margins(stream.X, first=600))


@EACH
def test_records_agree_with_themselves(rule, query, stream):
    X, y = stream
    learner = build(rule, DIMENSION, query)
    records = learner.run(X, y)
    np.testing.assert_array_equal(records.mistake, records.label != y)
    np.testing.assert_array_equal(
        records.asked, lasec.uniforms(0, 0, 600)[:, 0] < records.propensity
    )
    np.testing.assert_array_equal(records.updated, records.asked & records.mistake)
    np.testing.assert_array_equal(records.ticket, np.arange(600))
    assert records.accuracy == pytest.approx((records.label == y).mean())
    assert learner.asked == learner.told == records.labels
    assert learner.updates == records.updated.sum()
    assert learner.pending == ()


@EACH
def test_a_copy_and_a_saved_learner_live_their_own_lives(rule, query, stream):
    X, y = stream
    learner = build(rule, DIMENSION, query, learn_from="labels")
    learner.run(X[:300], y[:300])
    frozen = learner.to_bytes()
    copied, loaded = copy.deepcopy(learner), lasec.Learner.from_bytes(frozen)
    learner.run(X[300:], y[300:])
    assert copied.to_bytes() == loaded.to_bytes() == frozen
    copied.run(X[300:], y[300:])
    loaded.run(X[300:], y[300:])
    assert copied.to_bytes() == loaded.to_bytes() == learner.to_bytes()


@EACH
def test_an_empty_chunk_is_no_round(rule, query, stream):
    learner = build(rule, DIMENSION, query)
    before = learner.to_bytes()
    records = learner.run(np.empty((0, DIMENSION)), np.empty(0))
    assert (len(records), records.labels) == (0, 0)
    assert math.isnan(records.accuracy)
    assert math.isnan(records.rate)
    assert learner.to_bytes() == before


@EACH
def test_references_can_be_cited(rule, query, stream):
    cited = lasec.cite(build(rule, DIMENSION, query)).splitlines()
    mine = papers.of(rule).splitlines()
    assert len(mine) >= 1
    assert {*mine, *papers.of(query).splitlines()} == set(cited)
    assert all(line.strip() for line in cited)


@pytest.mark.parametrize(
    ("build_named", "titles"),
    [
        (lasec.LASEC, ["Selective Sampling with Drift"]),
        (lasec.LASEC_SS, ["Selective Sampling with Drift", "Worst-Case Analysis"]),
        (lasec.KernelLASEC, ["Selective Sampling with Drift"]),
        (lasec.KernelLASEC_SS, ["Selective Sampling with Drift", "Worst-Case Analysis"]),
        (lasec.SOP, ["A Second-Order Perceptron Algorithm"]),
        (lasec.SOP_SS, ["A Second-Order Perceptron Algorithm", "Worst-Case Analysis"]),
        (lasec.Perceptron, ["The Perceptron: A Probabilistic Model"]),
        (lasec.Perceptron_SS, ["The Perceptron: A Probabilistic Model", "Worst-Case Analysis"]),
        (lasec.Shifting, ["Tracking the Best Hyperplane"]),
        (lasec.Modified, ["Perceptron-Based Active Learning", "Noisy Linear Threshold Functions"]),
        (lasec.RBP, ["Tracking the Best Hyperplane"]),
        (lasec.BBQ, ["Robust Bounds for Classification"]),
        (lasec.BBQ_I, ["Selective Sampling with Drift", "Robust Bounds for Classification"]),
    ],
)
def test_each_algorithm_cites_its_papers(build_named, titles):
    lines = lasec.cite(build_named(DIMENSION)).splitlines()
    assert len(lines) == len(titles)
    assert all(title in line for title, line in zip(titles, lines, strict=True))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_states_are_plain_arrays(rule):
    state = rule.init(DIMENSION)
    assert all(type(array) is np.ndarray and array.flags.c_contiguous for array in leaves(state))
    assert all(array.dtype in (np.float64, np.float32, np.int64) for array in leaves(state))
    assert state.validate() == ""


def test_strain_is_what_one_label_can_do_to_the_covariance():
    """|x|^2 max C_ii over the noise, and no more than drift lets happen."""
    assert rules.SecondOrder(0.0, 1.0).conditioning(size=25.0, largest=2.0) == 50.0
    assert rules.SecondOrder(0.1, 1.0).conditioning(size=25.0, largest=2.0) == 20.0
    assert rules.SecondOrder(0.01, 1.0).conditioning(size=25.0, largest=2.0) == 50.0
    assert rules.Ridge(1.0).conditioning(size=25.0, largest=2.0) == 50.0
    assert rules.AROW(0.25).conditioning(size=25.0, largest=2.0) == 200.0


@pytest.mark.parametrize("part", [*RULES, *QUERIES], ids=repr)
def test_parameters_are_frozen_and_survive_copying(part):
    assert copy.copy(part) == part
    assert part._replace() == part
    for field in part._fields:
        with pytest.raises(AttributeError):
            setattr(part, field, 0.5)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: rules.SecondOrder(drift=-0.1), ValueError, "drift must be a number in"),
        (lambda: rules.SecondOrder(ridge=0), ValueError, "ridge must be a number in"),
        (lambda: rules.SecondOrder(ridge=math.nan), ValueError, "ridge must be"),
        (lambda: rules.SecondOrder(ridge="1"), TypeError, "ridge must be a number"),
        (lambda: rules.SecondOrder(ridge=True), TypeError, "ridge must be a number"),
        (
            lambda: rules.SecondOrder(drift=2.0, ridge=0.5),
            ValueError,
            "ridge \\* drift must be below",
        ),
        (lambda: rules.SecondOrder()._replace(ridge=-1), ValueError, "ridge must be"),
        (lambda: rules.BudgetPerceptron(budget=0), ValueError, "budget must be a whole number in"),
        (lambda: rules.BudgetPerceptron(budget=2.5), TypeError, "budget must be a whole number"),
        (lambda: rules.ModifiedPerceptron(reflect=1), TypeError, "reflect must be True or False"),
        (lambda: queries.Uniform(rate=0), ValueError, "rate must be a number in"),
        (lambda: queries.Uniform(rate=1.5), ValueError, "rate must be a number in"),
        (lambda: queries.MarginSampling(aggressiveness=0), ValueError, "aggressiveness must be"),
        (lambda: lasec.LASEC(dimension=0), ValueError, "dimension must be"),
        (lambda: lasec.LASEC(dimension=2.0), TypeError, "dimension must be a whole number"),
        (lambda: lasec.LASEC(dimension=2, seed=-1), ValueError, "seed must be"),
        (lambda: lasec.LASEC(dimension=2, seed=2**64), ValueError, "seed must be"),
        (lambda: lasec.LASEC(dimension=2, max_pending=0), ValueError, "max_pending must be"),
        (lambda: lasec.LASEC(dimension=2, max_classes=2**15), ValueError, "max_classes must be"),
        (lambda: lasec.Learner(RULES[0], dimension=2, learn_from="never"), ValueError, "never"),
        (lambda: lasec.uniforms(2**64, 0, 1), ValueError, "seed must be"),
    ],
)
def test_parameters_out_of_range_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_whole_numbers_are_taken_for_reals():
    assert rules.SecondOrder(drift=0, ridge=1) == rules.SecondOrder(0.0, 1.0)
    assert type(rules.SecondOrder(drift=0, ridge=1).ridge) is float
    assert type(rules.BudgetPerceptron(np.int32(7)).budget) is int


def public_names():
    for module in (lasec, rules, lasec.mercer, queries, lasec.streams):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type(lasec)):
                continue
            yield f"{module.__name__}.{name}", thing
    for name in dir(lasec.Learner):
        if not name.startswith("_"):
            yield f"lasec.Learner.{name}", getattr(lasec.Learner, name)


@pytest.mark.parametrize("thing", [pytest.param(t, id=n) for n, t in public_names()])
def test_every_public_name_has_an_example(thing):
    doc = typing.cast(str, getattr(thing, "__doc__", ""))
    assert doc
    if not isinstance(thing, property):  # the example of the class shows what it holds
        assert ">>>" in doc
