"""What the guides show is what the commands make."""

from pathlib import Path

import pytest
from experiments.intervals import alarms, budget, delays, guide
from experiments.output import read_csv

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "intervals"


def test_tables_are_those_of_the_published_runs():
    for name, study in (("budget", budget), ("alarms", alarms)):
        rows = read_csv(PUBLISHED / f"{name}.csv")
        assert (PUBLISHED / f"{name}.md").read_text() == study.table(rows), name


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("stream", "rate"), [("switch", 0.1), ("stationary", 0.02)])
def test_the_budget_is_held_as_published(stream, rate, strict):
    (published,) = [
        row
        for row in read_csv(PUBLISHED / "budget.csv")
        if (row["stream"], row["rate"], row["seed"]) == (stream, rate, 1)
        and row["kind"] == (budget.STRICT if strict else budget.CALM)
    ]
    again = budget.one(stream, rate, 1, strict)
    assert again["labels"] == pytest.approx(published["labels"], abs=2)
    assert again["window"] <= (0.15 if strict else 0.6)
    assert again["least"] > 0.0
    assert again["cap"] <= 1.0


def test_delays_cost_what_is_published():
    rows = read_csv(PUBLISHED / "delays.csv")
    for delay in (0, 1_000):
        (published,) = [
            row["accuracy"]
            for row in rows
            if (row["stream"], row["learner"], row["delay"], row["seed"])
            == ("slow", "LASEC", delay, 1)
        ]
        again = delays.one("slow", "LASEC", delay, 1)["accuracy"]
        assert again == pytest.approx(published, abs=0.01)


def test_the_picture_of_the_guide(tmp_path):
    said = guide.picture(tmp_path)
    assert (tmp_path / "guide.svg").stat().st_size > 5_000
    assert "1599 labels for 16000 rounds" in said
