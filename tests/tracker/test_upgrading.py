"""States from before rows were in units of the standard deviation load, and say what they said."""

import numpy as np
import pytest

import lasec
from lasec.persistence import container
from lasec.rules import Tracking
from lasec.rules.filtering import scores, sight

D = 9


def offset_rows(count, classes, seed=3):
    """Rows whose features have offsets of many sizes, one of them constant and one always 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, D))
    y = (X @ rng.standard_normal((D, classes))).argmax(axis=1)
    X = (X + np.linspace(0.0, 8.0, D)) * 10.0 ** np.arange(-4, D - 4)
    X[:, 2], X[:, 3] = 5.0, 0.0
    return X, y


def of_before(rule, rows=300):
    """A learner whose state is one of before: units by the root mean square, for the same weights.

    The rule reads the units from the state, so that it says now what it said then.
    """
    X, y = offset_rows(rows + 60, rule.classes)
    names = range(rule.classes)
    learner = lasec.Tracker(D, rate=1.0, seed=2, rule=rule, classes=list(names))
    learner.run(X[:rows], y[:rows])
    state = learner.state
    known = state.squares > 0.0
    state.units[:-1][known] = 1.0 / np.sqrt(state.squares[known])
    offset = (state.means * state.units[:-1]) ** 2
    state.units[-1] = np.sqrt(0.01 + max(0.0, offset.mean() - 1.0 / rows))
    return learner, X[rows:]


def packed(learner):
    """The file of a learner whose state is not checked before."""
    blank = lasec.Tracker(D, rate=1.0, seed=2, rule=learner.rule)
    header, arrays = container.unpack(blank.to_bytes())
    state = {f"state.{name}": array for name, array in learner.state._asdict().items()}
    return container.pack(header, arrays | state)


def said(rule, state, X, t=300):
    return np.array([rule.margin(state, x, t).raw for x in X])


FORMS = {"full": -1, "wide": 4, "diagonal": 0}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_an_upgraded_state_says_the_same(form, classes):
    rule = Tracking(block=FORMS[form], classes=classes)
    learner, X = of_before(rule)
    state = learner.state
    assert "units" in state.validate()
    copies = [array.copy() for array in state]
    later = type(state)(*copies)
    later.upgrade()
    assert later.validate() == ""
    for i in np.flatnonzero(state.weight):
        for x in X:
            before, after = (np.empty(len(state.weights[i])) for _ in range(2))
            scores(state, i, sight(state, x, 300), 1.0, before)
            scores(later, i, sight(later, x, 300), 1.0, after)
            np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-3)
    # The variances of wide rows, outside the basis, are only about those of before.
    near = 0.15 if form == "wide" else 1e-4
    np.testing.assert_allclose(said(rule, later, X), said(rule, state, X), atol=near)
    assert np.ptp(said(rule, state, X)) > 0.5 or classes > 2


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_before_loads(form):
    rule = Tracking(block=FORMS[form])
    learner, X = of_before(rule)
    loaded = lasec.Tracker.from_bytes(packed(learner))
    assert loaded.state.validate() == ""
    near = 0.15 if form == "wide" else 1e-4
    np.testing.assert_allclose(said(rule, loaded.state, X), said(rule, learner.state, X), atol=near)
    assert lasec.Tracker.from_bytes(loaded.to_bytes()).to_bytes() == loaded.to_bytes()


def test_units_of_no_time_are_refused():
    learner, _ = of_before(Tracking())
    learner.state.units[0] *= 1.01
    with pytest.raises(lasec.StateError, match="units"):
        lasec.Tracker.from_bytes(packed(learner))


def test_a_present_state_stays_as_it_is():
    X, y = offset_rows(200, 2)
    learner = lasec.Tracker(D, rate=1.0, seed=2)
    learner.run(X, y)
    before = [array.copy() for array in learner.state]
    learner.state.upgrade()
    for array, copy in zip(learner.state, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("size", [1e-60, 1e-160, 1e-161, 3e-162])
def test_units_of_tiny_features_are_finite(size):
    rule, rng = Tracking(), np.random.default_rng(1)
    state = rule.init(2)
    for t in range(1, 30):
        rule.update(state, size * rng.standard_normal(2), 1.0, 0.0, t)
        assert np.isfinite(state.units).all()
    assert state.validate() == ""
