"""The real streams with their own classes, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.output import read_csv
from experiments.whole import own_classes
from experiments.whole.own_classes import LEARNERS, RATES, STREAMS, labeled, own_run

CLASSES = {"usps": 10, "covertype": 7, "powersupply": 24, "outdoor": 40}


@pytest.fixture(autouse=True)
def folder(data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))


@pytest.mark.parametrize("name", ["usps", "youtube", "usenet1", "powersupply", "outdoor"])
def test_streams_have_their_own_classes(name):
    X, y = labeled(name, 1.0)
    assert len(X) == len(y) == own_classes.KNOWN[name].rows
    assert np.array_equal(np.unique(y), np.arange(CLASSES.get(name, 2)))


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_keeps_the_budget_and_learns(learner):
    found = own_run("outdoor", learner, 0.2, 1, 0.25)
    assert 0.0 < found["accuracy"] < 1.0
    if learner == "no-change":
        assert found["asked"] == 1.0
    else:
        assert abs(found["asked"] - 0.2) < 0.05
    if learner == "Tracker":
        assert found["accuracy"] > own_run("outdoor", "majority", 0.2, 1, 0.25)["accuracy"]


def test_the_table_has_a_line_for_each_stream_and_learner():
    rows = [
        {"stream": stream, "learner": learner, "rate": rate, "seed": seed, "accuracy": 0.5}
        for stream in STREAMS
        for learner in LEARNERS
        for rate in RATES
        for seed in (1, 2)
    ]
    rows[0]["accuracy"] = 1.0
    lines = own_classes.document(rows).splitlines()
    assert len(lines) == 2 + len(STREAMS) * (len(LEARNERS) - 2)  # two are columns
    rates = "0.750 | 0.500 | 0.500 | 0.500 | 0.500"
    assert lines[2] == f"| usps | 9,298 | 10 | 0.500 | 0.500 | Tracker | {rates} |"
    assert own_classes.summary(rows).endswith(
        f"ahead of River's models in 1 of {5 * len(STREAMS)} cells."
    )


def test_the_published_table_and_claim_are_those_of_the_published_runs():
    folder = Path(__file__).parents[2] / "docs"
    rows = read_csv(folder / "results" / "streams" / "own_classes.csv")
    assert own_classes.document(rows) == (folder / "results/streams/own_classes.md").read_text()
    claim = own_classes.summary(rows).removeprefix("The ").removesuffix(" cells.")
    assert claim in (folder / "streams.md").read_text()
