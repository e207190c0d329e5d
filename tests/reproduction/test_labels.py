"""The studies of labels: the same decisions in every door, and the tables of the guide."""

from pathlib import Path

import pytest
from experiments.data import data_folder
from experiments.labels import command, doors, unlabeled, words
from experiments.output import read_csv

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "labels"
needs_data = pytest.mark.skipif(data_folder() is None, reason="there are no real data")


def test_tables_are_those_of_the_published_run():
    rows = read_csv(PUBLISHED / "unlabeled.csv")
    for row in rows:
        row["covers"] = row["covers"] == "True"
    assert (PUBLISHED / "unlabeled.md").read_text() == command.table(unlabeled.summary(rows))
    for name in ("doors", "words"):
        found = command.table(read_csv(PUBLISHED / f"{name}.csv"))
        assert (PUBLISHED / f"{name}.md").read_text() == found


def test_published_doors_agree():
    for row in read_csv(PUBLISHED / "doors.csv"):
        assert {"River", "Spark", "scikit-learn"} < set(row)
        assert max(row[door] for door in list(row)[3:]) < 1e-12
    for row in read_csv(PUBLISHED / "words.csv"):
        assert {"River", "svmlight", "scikit-learn", "lasec ask/tell"} < set(row)
        assert max(row[door] for door in list(row)[3:]) < 1e-12


@needs_data
@pytest.mark.parametrize("stream", ["powersupply", "elec2"])
def test_doors_agree(stream):
    found = doors.compared(stream, rows=120)
    assert found["queried"] > 20
    assert max(found[name] for name in list(found)[3:]) < 1e-6


@needs_data
def test_doors_agree_on_sparse_rows():
    found = words.compared("sms", rows=120)
    assert found["queried"] > 20
    assert max(found[name] for name in list(found)[3:]) < 1e-12


@needs_data
def test_an_estimate_from_a_tenth_of_the_labels():
    row = unlabeled.drawn("phishing", seed=1)
    assert row["predicted"] == row["rows"] > 1_000
    assert abs(row["estimate"] - row["truth"]) < row["width"]
