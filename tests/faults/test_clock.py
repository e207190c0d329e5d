"""A row dated in the future moves neither a budget's clock nor that of open questions."""

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import lasec
from fleets import simulate
from lasec.clock import Clock
from lasec.queries import Budgeted
from lasec.selector import Selector

DAY = 86_400.0
LASEC = [sys.executable, "-m", "lasec.cli"]
IN_2100 = 4_102_444_800.0
YEAR = 31_557_600.0


def days(count, rows=400):
    """Rows of whole days that end today, and their times."""
    X, y = lasec.streams.stationary(count * rows, dimension=5, seed=1)
    return X, y, np.linspace(time.time() - count * DAY, time.time() - 60.0, count * rows)


@pytest.mark.parametrize("far", [IN_2100, 1_000.0 * time.time()], ids=["2100", "milliseconds"])
@pytest.mark.parametrize("form", ["ask", "run"])
def test_one_row_ahead_does_not_end_a_budget_by_time(far, form):
    X, y, times = days(10)
    times[500] = far
    tracker = lasec.Tracker(5, budget=Budgeted.every("1d", labels=20), seed=1)
    forms = {
        "run": lambda: tracker.run(X, y, times=times).asked,
        "ask": lambda: [tracker.ask(x, time=t).asked for x, t in zip(X, times, strict=True)],
    }
    with pytest.warns(UserWarning, match="ahead of this machine's clock"):
        asked = np.array(forms[form]())
    assert asked.reshape(10, -1).sum(axis=1)[2:].min() >= 12


def test_a_gate_and_a_fleet_hold_their_clocks_too():
    X, y, times = days(10)
    margins = X[:, 0]
    times[500] = IN_2100
    gate = Selector(Budgeted.every("1d", labels=20), seed=1)
    with pytest.warns(UserWarning, match="ahead"):
        asked = gate.decide_all(margins, times)[1]
    assert asked.reshape(10, -1).sum(axis=1)[2:].min() >= 12
    fleet = lasec.Fleet(
        lasec.rules.SecondOrder(), Budgeted.every("1d", labels=20), models=1, dimension=5, seed=1
    )
    with pytest.warns(UserWarning, match="ahead"):
        asked = simulate(fleet, np.zeros(len(y), int), X, y, times=times).asked
    assert asked.reshape(10, -1).sum(axis=1)[2:].min() >= 12


def test_one_row_ahead_expires_no_question():
    learner = lasec.LASEC(dimension=2, max_age=30 * DAY)
    now = time.time()
    for i in range(199):
        learner.ask([1.0, 0.1], time=now - 199 + i)
    with pytest.warns(UserWarning, match="ahead"):
        learner.ask([1.0, 0.1], time=IN_2100)
    assert (len(learner.pending), learner.expired) == (200, 0)
    learner.ask([1.0, 0.1], time=now)
    assert len(learner.pending) == 201


def test_the_clock_and_its_lead_are_saved():
    learner = lasec.LASEC(dimension=2, lead=60.0)
    learner.ask([1.0, 0.1], time=1_000.0)
    again = lasec.Learner.from_bytes(learner.to_bytes())
    assert (again.selector.clock.lead, again.selector.clock.latest) == (60.0, 1_000.0)
    with pytest.warns(UserWarning, match="ahead"):
        assert again.selector.clock.one(IN_2100) == 1_000.0


def test_other_units_are_taken_as_they_are_without_a_lead():
    clock = Clock(lead=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clock.trusted(np.array([1.0, 1e15])).tolist() == [1.0, 1e15]


def test_a_first_row_ahead_counts_as_now():
    with pytest.warns(UserWarning, match="seconds ahead"):
        assert abs(Clock().one(time.time() + 7_200.0) - time.time()) < 60.0
    assert Clock().one(time.time() + 3_000.0) > time.time() + 2_000.0


def test_the_command_line_says_which_row_and_keeps_its_budget(tmp_path):
    rng = np.random.default_rng(1)
    times = np.linspace(time.time() - 6 * DAY, time.time() - 60.0, 1_500)
    times[300] = IN_2100
    rows = "".join(
        json.dumps({"x": float(x), "when": float(t)}) + "\n"
        for x, t in zip(rng.standard_normal(1_500), times, strict=True)
    )
    done = subprocess.run(
        [*LASEC, "ask", "-m", tmp_path / "m.lasec", "--classes", "n,y", "--time", "when",
         "--labels-per-day", "20", "-a", "perceptron-ss", "--seed", "1"],
        input=rows, capture_output=True, text=True, check=True,
    )  # fmt: skip
    asked = np.array([json.loads(text)["asked"] for text in done.stdout.splitlines()])
    assert asked.reshape(6, -1).sum(axis=1)[2:].min() >= 12
    assert "lasec: warning: time 4102444800 is 7" in done.stderr
    assert "Traceback" not in done.stderr
