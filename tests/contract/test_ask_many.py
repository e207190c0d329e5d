"""`ask_many` decides as the loop over `ask` does, whatever closes questions in between."""

import numpy as np
import pytest

import lasec
from lasec.queries import Budgeted

BACKPRESSURE = Budgeted(rate=0.3, max_open=6)
OPTIONS = {
    "plain": {"rate": 0.1},
    "expiring": {"rate": 0.1, "max_age": 30, "max_pending": 5},
    "backpressure": {"budget": BACKPRESSURE},
    "backpressure, expiring": {"budget": BACKPRESSURE, "max_age": 30},
    "backpressure, dropping": {"budget": BACKPRESSURE, "max_pending": 4},
}


def lives(options, labels):
    """Two Trackers on the same rows, one asked in chunks, with late labels."""
    X, y = lasec.streams.switching(800, dimension=5, every=300, seed=1)
    many, one = (lasec.Tracker(5, seed=3, **options) for _ in range(2))
    many.listen((given_up := []).append), one.listen((other := []).append)
    rng, begin = np.random.default_rng(0), 0
    while begin < len(y):
        rows = X[begin : begin + int(rng.integers(1, 40))]
        yield many, one, many.ask_many(rows), [one.ask(x) for x in rows]
        assert given_up == other
        for ticket in many.pending:
            if rng.random() < 0.5:
                for tracker in (many, one):
                    tracker.tell(ticket, labels[int(y[ticket] > 0)])
        begin += len(rows)


@pytest.mark.parametrize("labels", [(-1, 1), ("ham", "spam")])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_is_the_loop_over_ask(options, labels):
    for many, one, chunk, loop in lives(options, labels):
        for name in ("label", "margin", "variance", "propensity", "asked", "ticket"):
            assert getattr(chunk, name).tolist() == [getattr(d, name) for d in loop]
        assert many.pending == one.pending
    assert many.to_bytes() == one.to_bytes()


def test_a_bad_row_changes_nothing():
    X, y = lasec.streams.switching(100, dimension=5, seed=1)
    tracker = lasec.Tracker(5, seed=3)
    tracker.run(X, y)
    before, bad = tracker.to_bytes(), X.copy()
    bad[70, 2] = np.nan
    with pytest.raises(ValueError, match="X: contains NaN"):
        tracker.ask_many(bad)
    assert tracker.to_bytes() == before


def test_budgets_by_time_take_the_times():
    X, _ = lasec.streams.switching(300, dimension=5, seed=1)
    budget, times = Budgeted(rate=100.0, timed=True, horizon=10.0), np.linspace(1e9, 1e9 + 9.0, 300)
    many, one = (lasec.Tracker(5, budget=budget, seed=3, lead=None) for _ in range(2))
    chunk = many.ask_many(X, times=times)
    loop = [one.ask(x, time=t) for x, t in zip(X, times, strict=True)]
    assert chunk.propensity.tolist() == [d.propensity for d in loop]
    assert chunk.asked.tolist() == [d.asked for d in loop]
    assert many.to_bytes() == one.to_bytes()


def test_draws_can_be_given_and_first_rows_size_the_learner():
    X, _ = lasec.streams.switching(50, dimension=5, seed=1)
    draws = np.linspace(0.0, 0.99, 50)
    many = lasec.Learner(lasec.rules.SecondOrder(), lasec.queries.Uniform(0.5), dimension=None)
    assert many.ask_many(X, draws=draws).asked.tolist() == (draws < 0.5).tolist()
    assert many.dimension == 5
    assert len(many.ask_many(X[:0])) == 0


def test_a_session_hears_of_many_rows_as_of_one():
    X, y = lasec.streams.switching(600, dimension=5, every=300, seed=1)
    many, one = (
        lasec.Session(lasec.Tracker(5, seed=3, rate=0.2), classes=["ham", "spam"], remember=20)
        for _ in range(2)
    )
    for begin in range(0, len(y), 30):
        rows, names = X[begin : begin + 30], [f"mail-{i}" for i in range(begin, begin + 30)]
        found = many.ask_many(rows, ids=names)
        assert found == [one.ask(x, id=name) for x, name in zip(rows, names, strict=True)]
        for at in range(1, 30):  # some stay open, and one is told that nobody asked for
            if found[at].asked or at == 27:
                for session in (many, one):
                    session.tell(names[at], ["ham", "spam"][int(y[begin + at] > 0)])
    assert many.to_bytes() == one.to_bytes()
    with pytest.raises(ValueError, match="none of an open question"):
        many.ask_many(X[:2], ids=["new", next(note.id for _, note in many.questions)])
    assert many.meter.rows == len(y)
