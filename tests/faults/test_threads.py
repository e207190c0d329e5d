"""A learner belongs to one thread at a time: a second one is told so, and nothing is spoilt."""

import copy
import pickle
import threading

import numpy as np
import pytest

import lasec
from lasec.queries import Budgeted, Uniform
from lasec.selector import Selector


def crowd(work, count=4):
    """What goes wrong where several threads do the same at once."""
    start, wrong = threading.Barrier(count), []

    def one():
        start.wait()
        for i in range(150):
            try:
                work(i)
            except RuntimeError as error:
                wrong.append(error)
            except lasec.TicketError:  # another thread has told it
                pass

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize(
    "learner",
    [
        lasec.Tracker(60, rate=0.5, seed=1),
        lasec.Learner(lasec.rules.SecondOrder(0.01), Uniform(0.5), dimension=400, seed=1),
    ],
    ids=["Tracker", "LASEC"],
)
def test_misuse_raises_and_what_is_saved_can_be_loaded(learner):
    X = np.random.default_rng(1).standard_normal((150, learner.dimension))
    learner.learn(X[0], 1)  # compiled before the race
    tickets = []

    def work(i):
        decision = learner.ask(X[i])
        tickets.append(decision.ticket)
        if decision.asked:
            learner.tell(decision.ticket, 1 if X[i, 0] > 0.0 else -1)

    wrong = crowd(work)
    assert wrong, "the threads never met: nothing was shown"
    assert all("in use by another thread" in str(error) for error in wrong)
    assert len(set(tickets)) == len(tickets)
    again = lasec.Learner.from_bytes(learner.to_bytes())
    assert again.rows == learner.rows == len(tickets) + 1


def test_run_save_and_gate_are_held_too():
    tracker = lasec.Tracker(60, rate=0.5, seed=1)
    X, y = lasec.streams.stationary(40_000, dimension=60, seed=1)
    tracker.run(X[:200], y[:200])
    thread = threading.Thread(target=tracker.run, args=(X, y))
    thread.start()
    refused = 0
    while thread.is_alive():
        for call in (tracker.to_bytes, lambda: tracker.predict_proba(X[:1])):
            try:
                call()
            except RuntimeError:
                refused += 1
    thread.join()
    assert refused
    assert lasec.Tracker.from_bytes(tracker.to_bytes()).rows == 40_200
    gate = Selector(Budgeted(), seed=1)
    with gate._busy, pytest.raises(RuntimeError, match="this selector is in use"):
        gate.decide(0.1)


def test_a_broken_state_is_not_saved(tmp_path):
    learner = lasec.LASEC(dimension=3)
    learner.save(tmp_path / "model.lasec")
    learner.state.cov[0, 1] = 5.0
    with pytest.raises(lasec.StateError, match="symmetric"):
        learner.save(tmp_path / "model.lasec")
    assert lasec.Learner.load(tmp_path / "model.lasec").rows == 0


def test_copies_are_free():
    learner = lasec.LASEC(dimension=3)
    with learner._busy:
        for twin in (
            copy.copy(learner),
            copy.deepcopy(learner),
            pickle.loads(pickle.dumps(learner)),
        ):
            twin.ask([1.0, 2.0, 3.0])
