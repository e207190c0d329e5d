"""A fleet that was saved goes on as if nothing had happened; bad bytes are refused."""

import numpy as np
import pytest

import lasec
from fleets import simulate
from lasec.errors import StateError
from lasec.nested import leaves
from lasec.persistence.container import pack, unpack
from lasec.queries import Always, Budgeted, MarginSampling
from lasec.rules import Perceptron, SecondOrder, Tracking

KINDS = [
    (SecondOrder(0.01), MarginSampling(0.2)),
    (Perceptron(), Budgeted(rate=0.3)),
    (Tracking(slots=3), Always()),
]
PARTS = ("memory", "seeds", "rows", "asked", "told", "updates", "waiting")


def batch(seed, models=4, dimension=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, dimension))
    return rng.integers(models, size=120), X, np.where(X[:, 0] >= 0.1, 1.0, -1.0)


def used(rule=SecondOrder(0.01), query=MarginSampling(0.2)):  # noqa: B008
    fleet = lasec.Fleet(rule, query, models=4, dimension=3, lead=None)
    simulate(fleet, *batch(1))
    keys, X, _ = batch(2)
    fleet.serve(keys, X, np.zeros(120))
    return fleet


@pytest.mark.parametrize(("rule", "query"), KINDS)
def test_a_saved_fleet_goes_on_to_the_bit(rule, query, tmp_path):
    fleet = used(rule, query)
    fleet.save(tmp_path / "fleet.lasec")
    other = lasec.Fleet.load(tmp_path / "fleet.lasec")
    assert other.waiting.sum() > 0
    assert other.clock.lead is None
    for _ in range(2):  # as it was loaded, and after more rows
        assert repr(other) == repr(fleet)
        for one, its in zip(
            (*leaves(fleet.state), *(getattr(fleet, name) for name in PARTS)),
            (*leaves(other.state), *(getattr(other, name) for name in PARTS)),
            strict=True,
        ):
            np.testing.assert_array_equal(its, one)
            assert its.dtype == one.dtype
            assert its.flags.writeable
        mine, its = simulate(fleet, *batch(3)), simulate(other, *batch(3))
        np.testing.assert_array_equal(its.asked, mine.asked)
        np.testing.assert_array_equal(its.propensity, mine.propensity)


def changed(data, change):
    header, arrays = unpack(data)
    change(header, arrays)
    return pack(header, arrays)


def spoil(name, place, value):
    def change(header, arrays):
        arrays[name][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header, arrays: header.pop("kind"), "this is not a fleet"),
        (lambda header, arrays: header.update(models=5), "invalid: rows"),
        (lambda header, arrays: header.update(models=2**31), "invalid: rows"),
        (lambda header, arrays: header.update(dimension=2**15), "weights has not the shape"),
        (lambda header, arrays: header.update(seed=-1), "invalid: seed"),
        (lambda header, arrays: header.pop("clock"), "invalid: clock.latest must be"),
        (lambda header, arrays: arrays.pop("state.cov"), "expected the arrays"),
        (lambda header, arrays: arrays.pop("seeds"), "invalid: there is no array 'seeds'"),
        (lambda header, arrays: arrays.update(seeds=np.zeros(3, np.uint64)), "seeds has the shape"),
        (lambda header, arrays: arrays.update(memory=np.zeros((4, 1))), "query's state has not"),
        (lambda header, arrays: arrays.update(more=np.zeros(4)), "array of no known use"),
        (spoil("state.weights", (2, 1), np.nan), "weights contains NaN"),
        (spoil("state.cov", (3, 0, 0), -1.0), "cov is not positive definite"),
        (spoil("state.cov", (3, 0, 1), 0.5), "cov is not symmetric"),
        (spoil("asked", 1, 10**6), "counters contradict"),
        (spoil("told", 1, -1), "invalid: told"),
    ],
)
def test_bad_contents_are_refused(change, words):
    with pytest.raises(StateError, match=words):
        lasec.Fleet.from_bytes(changed(used().to_bytes(), change))


def test_a_budget_that_cannot_be_is_refused():
    data = used(Perceptron(), Budgeted(rate=0.3)).to_bytes()
    with pytest.raises(StateError, match="the query's state"):
        lasec.Fleet.from_bytes(changed(data, spoil("memory", (2, 0), -1.0)))


def test_a_fleet_that_could_not_be_loaded_is_not_saved(tmp_path):
    fleet = used()
    fleet.state.cov[1] = -np.eye(3)
    with pytest.raises(StateError, match="not positive definite"):
        fleet.save(tmp_path / "fleet.lasec")
    assert list(tmp_path.iterdir()) == []


def test_a_fleet_is_no_learner():
    with pytest.raises(StateError):
        lasec.Learner.from_bytes(used().to_bytes())
