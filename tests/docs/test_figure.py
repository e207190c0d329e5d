"""The README's figure, its table and its rows belong together."""

from pathlib import Path

import pytest
from experiments import readme
from experiments.output import read_csv

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def rows():
    return [
        *read_csv(RESULTS / "streams" / "streams.csv"),
        *read_csv(RESULTS / "readme" / "forest.csv"),
    ]


def test_the_table_is_that_of_the_published_rows(rows):
    assert (RESULTS / "readme" / "forest.md").read_text() == readme.table(rows)


def test_the_figure_has_a_line_for_each_learner(rows, tmp_path):
    readme.draw(tmp_path, rows)
    assert (tmp_path / "accuracy.svg").stat().st_size > 5_000
    assert (tmp_path / "accuracy.png").stat().st_size > 5_000


def test_a_forest_runs_as_published(rows, data_folder, monkeypatch):
    pytest.importorskip("river")
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    again = readme.forest_run("noaa", 0.05, 1, 1.0)
    (published,) = (
        row
        for row in rows
        if (row["stream"], row["learner"], row["rate"], row["seed"]) == ("noaa", "forest", 0.05, 1)
    )
    assert again["asked"] == published["asked"]
    assert again["accuracy"] == pytest.approx(published["accuracy"], abs=0.01)
