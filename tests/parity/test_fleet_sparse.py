"""A fleet of models that grow does to the sparse rows of a key what a learner alone would do."""

import copy

import numpy as np
import pytest
from scipy.sparse import random_array

import lasec
from fleets import simulate
from lasec.errors import StateError
from lasec.nested import leaves
from lasec.queries import Always, Budgeted

UNASKED, MODELS, COLUMNS = lasec.Fleet.UNASKED, 3, 2**18
KINDS = {
    "Tracker": (lasec.rules.SparseTracking(), Budgeted(rate=0.4), "labels", (-1, 1)),
    "Tracker, classes": (
        lasec.rules.SparseTracking(), Budgeted(rate=0.4), "labels", ("ash", "oak", "yew"),
    ),
    "Tracker, dense columns": (
        lasec.rules.SparseTracking(dense=4), Budgeted(rate=0.4), "labels", (-1, 1),
    ),
    "Tracker, every label": (lasec.rules.SparseTracking(), Always(), "labels", (-1, 1)),
}  # fmt: skip


def stream(names, rows=240, seed=0):
    """Rows of ten among the first 500 columns, as words that speak for a class or for none."""
    rng = np.random.default_rng(seed)
    X = random_array((rows, COLUMNS), density=0.0, format="lil", rng=rng)
    kind = rng.integers(len(names), size=rows)
    for i in range(rows):
        X[i, rng.integers(500, size=10)] = 1.0
        X[i, 500 + kind[i]] = 2.0
    return rng.integers(MODELS, size=rows), X.tocsr(), np.array(names, dtype=object)[kind]


def made(which):
    rule, query, learn_from, names = KINDS[which]
    fleet = lasec.Fleet(
        rule, query, models=MODELS, dimension=COLUMNS, learn_from=learn_from, seed=1,
        classes=None if names == (-1, 1) else names,
    )  # fmt: skip
    return fleet, [fleet.learner(k) for k in range(MODELS)], stream(names)


def assert_same(fleet, learners, X):
    for k, learner in enumerate(learners):
        for mine, its in zip(leaves(fleet.learner(k).state), leaves(learner.state), strict=True):
            np.testing.assert_array_equal(mine, its)
        for name in ("rows", "asked", "told", "updates"):
            assert getattr(fleet, name)[k] == getattr(learner, name), name
        np.testing.assert_array_equal(fleet.learner(k).margins(X), learner.margins(X))


@pytest.mark.parametrize("which", KINDS)
def test_labels_at_once_are_those_of_learners(which):
    fleet, learners, (keys, X, y) = made(which)
    blank = fleet.size
    records = simulate(fleet, keys, X, y)
    for k, learner in enumerate(learners):
        mine = np.flatnonzero(keys == k)
        alone = learner.run(X[mine], y[mine])
        for name in ("label", "margin", "variance", "propensity", "asked", "updated", "mistake"):
            np.testing.assert_array_equal(getattr(records, name)[mine], getattr(alone, name))
    assert_same(fleet, learners, X)
    assert min(one.size for one in fleet.pack(range(MODELS))) > blank  # they have grown


@pytest.mark.parametrize("which", ["Tracker", "Tracker, classes"])
def test_serve_is_ask_tell_and_learn(which):
    """Questions, late answers, and labels that nobody asked for, in calls of many rows."""
    fleet, learners, (keys, X, y) = made(which)
    offered = np.random.default_rng(5).random(len(y)) < 0.2
    waiting = []
    for begin in range(0, len(y), 40):
        some = np.arange(begin, begin + 40)
        asks, gifts = some[~offered[some]], some[offered[some]]
        decisions = [learners[keys[i]].ask(X[[i]]) for i in asks]
        asked = fleet.serve(keys[asks], X[asks], [None] * len(asks))
        assert asked.propensity.tolist() == [one.propensity for one in decisions]
        assert asked.asked.tolist() == [one.asked for one in decisions]
        waiting += [(i, one.ticket) for i, one in zip(asks, decisions, strict=True) if one.asked]
        for i in gifts:
            learners[keys[i]].learn(X[[i]], y[i])
        fleet.serve(keys[gifts], X[gifts], y[gifts], tickets=[UNASKED] * len(gifts))
        now, waiting = waiting[::2], waiting[1::2]
        for i, ticket in now:
            learners[keys[i]].tell(ticket, y[i])
        rows, tickets = zip(*now, strict=True)
        told = fleet.serve(keys[list(rows)], X[list(rows)], y[list(rows)], tickets=tickets)
        assert told.learned.all()
    assert fleet.waiting.sum() == len(waiting)
    assert_same(fleet, learners, X)


@pytest.mark.parametrize("which", ["Tracker", "Tracker, classes"])
def test_models_are_saved_packed_and_put(which, tmp_path):
    fleet, _, (keys, X, y) = made(which)
    simulate(fleet, keys, X, y)
    fleet.save(tmp_path / "fleet.lasec")
    again = lasec.Fleet.load(tmp_path / "fleet.lasec")
    other, _, _ = made(which)
    other.unpack([0, 1, 2], fleet.pack([0, 1, 2]))
    third, _, _ = made(which)
    for k in range(MODELS):
        third.put(k, fleet.learner(k))
        for one in (again, other, third):
            for mine, its in zip(leaves(one.state[k]), leaves(fleet.state[k]), strict=True):
                np.testing.assert_array_equal(mine, its)
    mine, its = simulate(fleet, keys, X, y), simulate(again, keys, X, y)
    np.testing.assert_array_equal(mine.margin, its.margin)
    with pytest.raises(ValueError, match="packed: expected 2 models, got 1"):
        other.unpack([0, 1], fleet.pack([0]))
    with pytest.raises(StateError):
        other.unpack([0], [fleet.pack([0])[0][:-1]])


def test_a_call_that_fails_leaves_the_models_as_they_were(monkeypatch):
    fleet, _, (keys, X, y) = made("Tracker")
    simulate(fleet, keys[:60], X[:60], y[:60])
    before = [one.tobytes() for one in fleet.pack([0, 1, 2])]
    served = type(fleet._models).serve

    def interrupted(*arguments):
        served(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(fleet._models), "serve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate(fleet, keys[60:], X[60:], y[60:])
    assert [one.tobytes() for one in fleet.pack([0, 1, 2])] == before
    assert fleet.rows.sum() == 60


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda fleet: lasec.Fleet.from_bytes(fleet.to_bytes())],
    ids=["copied", "saved"],
)
def test_models_without_rows_share_their_arrays(again):
    fleet = lasec.Fleet(KINDS["Tracker"][0], models=10_000, dimension=COLUMNS, seed=0)
    _, X, y = stream((-1, 1), rows=4)
    simulate(fleet, [7, 7, 8, 8], X, y)
    assert len(fleet.to_bytes()) < 10_000 * 200
    other = again(fleet)
    for one in (fleet, other):
        assert len({id(state) for state in one.state}) == 3
        simulate(one, [9, 9], X[:2], y[:2])  # which changes nobody else
        assert len({id(state) for state in one.state}) == 4
        blank = lasec.Fleet(one.rule, models=1, dimension=COLUMNS).state[0]
        assert [a.tobytes() for a in leaves(one.state[10])] == [a.tobytes() for a in leaves(blank)]
    nine = [[array.tobytes() for array in leaves(made.state[9])] for made in (other, fleet)]
    assert nine[0] == nine[1]


def test_dense_rows_of_a_sparse_fleet_and_sparse_rows_of_a_dense_one():
    _, X, y = stream((-1, 1), rows=6)
    X = X[:, :600]
    one, other = (
        lasec.Fleet(lasec.rules.SparseTracking(), models=2, dimension=600, seed=0) for _ in range(2)
    )
    keys = [0, 1, 0, 1, 0, 1]
    mine, its = simulate(one, keys, X, y), simulate(other, keys, X.toarray(), y)
    np.testing.assert_array_equal(mine.margin, its.margin)
    with pytest.raises(TypeError, match="this learner has dense rows"):
        lasec.Fleet(lasec.rules.Tracking(), models=2, dimension=600).serve(keys, X, [None] * 6)
