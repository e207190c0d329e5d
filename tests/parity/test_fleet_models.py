"""Models that are taken out of a fleet, packed into bytes, and put in again."""

import copy
import pickle

import numpy as np
import pytest

import lasec
from catalogue import RULES
from fleets import simulate
from lasec.nested import leaves, named
from lasec.queries import Budgeted, MarginSampling, Uniform, VarianceThreshold
from lasec.rules import Perceptron, SecondOrder, Tracking

KEYS = [5, 0, 3]


def trained(rule, query=lasec.queries.Always(), models=6, dimension=4, **options):  # noqa: B008
    fleet = lasec.Fleet(rule, query, models=models, dimension=dimension, **options)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, dimension))
    simulate(fleet, rng.integers(models, size=200), X, np.where(X[:, 0] >= 0.0, 1, -1))
    return fleet


def same_state(one, other, keys=slice(None)):
    for mine, its in zip(leaves(one.state), leaves(other.state), strict=True):
        np.testing.assert_array_equal(mine[keys], its[keys])


def filled(rule, **options):
    """A fleet whose arrays hold any numbers at all; covariances are symmetric."""
    fleet = lasec.Fleet(rule, models=6, dimension=4, **options)
    rng = np.random.default_rng(1)
    for name, array in named(fleet.state).items():
        numbers = 100.0 * rng.standard_normal(array.shape)
        symmetric = name == "cov"
        array[...] = numbers + np.swapaxes(numbers, -1, -2) if symmetric else numbers
    return fleet


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_packing_is_exact_to_the_bit(rule):
    fleet = filled(rule)
    packed = fleet.pack(KEYS)
    assert packed.shape == (3, fleet.size)
    other, fresh = (lasec.Fleet(rule, models=6, dimension=4) for _ in range(2))
    other.unpack(KEYS, packed)
    same_state(other, fleet, KEYS)
    same_state(other, fresh, [1, 2, 4])
    np.testing.assert_array_equal(other.pack(KEYS), packed)


def test_bytes_from_elsewhere():
    fleet = filled(SecondOrder(0.01))
    assert fleet.size == 32 + 80
    loose = np.frombuffer(b"." + fleet.pack(KEYS).tobytes(), np.uint8)[1:].reshape(3, -1)
    other = lasec.Fleet(SecondOrder(0.01), models=6, dimension=4)
    other.unpack(KEYS, loose)
    same_state(other, fleet, KEYS)


def test_a_triangle_is_half_of_a_matrix():
    assert lasec.Fleet(SecondOrder(), models=1, dimension=64).size == 8 * (64 + 64 * 65 // 2)


def test_bad_bytes_are_refused_and_change_nothing():
    fleet = filled(SecondOrder(0.01))
    before, packed = copy.deepcopy(fleet), fleet.pack(KEYS)
    for value in (np.nan, np.inf, -np.inf):
        bad = packed.copy()
        bad.view(np.float64)[1, 7] = value
        with pytest.raises(ValueError, match="row 1 holds NaN or infinity in cov"):
            fleet.unpack(KEYS, bad)
    for wrong in (packed[:2], packed[:, 8:], packed.view(np.float64)):
        with pytest.raises(ValueError, match="expected 3 rows of 112 bytes"):
            fleet.unpack(KEYS, wrong)
    with pytest.raises(ValueError, match="keys: must lie in"):
        fleet.pack([6])
    same_state(fleet, before)
    assert fleet.pack([]).shape == (0, 112)


@pytest.mark.parametrize("rule", [Perceptron(), Tracking(slots=2)], ids=repr)
def test_a_learner_out_and_in_again(rule):
    query = Budgeted(rate=0.3)
    fleet = trained(rule, query, learn_from="labels")
    fleet.serve([2] * 5, np.ones((5, 4)), [0] * 5)
    learner = fleet.learner(2)
    assert learner.pending == ()
    np.testing.assert_array_equal(learner.selector.query_state, fleet.memory[2])
    lasec.Learner.from_bytes(learner.to_bytes())
    for _ in range(10):
        learner.ask(np.ones(4))
    other = lasec.Fleet(rule, query, models=3, dimension=4, learn_from="labels", seed=8)
    other.put(1, learner)
    assert other.waiting[1] == 0
    assert other.seeds[1] == learner.seed
    back = other.learner(1)
    assert repr(back) == repr(learner)
    assert back.told == learner.told
    np.testing.assert_array_equal(back.selector.query_state, learner.selector.query_state)
    for mine, its in zip(leaves(back.state), leaves(learner.state), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert other.rows.tolist() == [0, learner.rows, 0]


def test_a_learner_of_another_kind_is_refused():
    rule, query = SecondOrder(0.1), Budgeted(0.2, inner=Uniform(0.5))
    fleet = lasec.Fleet(rule, query, models=2, dimension=2)
    fits = {"rule": rule, "query": query, "dimension": 2}
    fleet.put(0, lasec.Learner(**fits))
    for name, value in (
        ("rule", SecondOrder(0.2)),
        ("rule", Perceptron()),
        ("query", MarginSampling()),
        ("query", Budgeted(0.2, inner=VarianceThreshold(0.5))),
        ("dimension", 3),
        ("learn_from", "labels"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: this fleet's is"):
            fleet.put(0, lasec.Learner(**fits | {name: value}))


def test_seeds_can_be_given():
    seeds = [3, 2**64 - 1]
    fleet = lasec.Fleet(SecondOrder(), models=2, dimension=1, seeds=seeds)
    assert fleet.seeds.tolist() == seeds
    assert fleet.learner(1).seed == 2**64 - 1
    array = np.array(seeds, dtype=np.uint64)
    again = lasec.Fleet(SecondOrder(), models=2, dimension=1, seeds=array)
    again.seeds[0] = 7
    assert array[0] == 3
    for wrong, error in (
        ([1], ValueError),
        ([1, -1], ValueError),
        ([0.5, 1.0], TypeError),
        (np.array([1, -1]), TypeError),
        (np.ones(2), TypeError),
    ):
        with pytest.raises(error, match=r"^seeds"):
            lasec.Fleet(SecondOrder(), models=2, dimension=1, seeds=wrong)


def test_a_fleet_can_be_pickled():
    fleet = trained(Perceptron())
    for other in (pickle.loads(pickle.dumps(fleet)), copy.deepcopy(fleet)):
        same_state(other, fleet)
        simulate(other, [0], [np.ones(4)], [1])
