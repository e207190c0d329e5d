"""The table of whole streams, small: the same command on the first hundredth of each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.output import read_csv
from experiments.whole import tables
from experiments.whole.learners import LEARNERS, seeds_of, whole_run
from experiments.whole.sources import SOURCES, scaled, whole

pytestmark = pytest.mark.xdist_group("streams_table")  # what they stand on is made once

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "results" / "streams"


def streams(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "experiments", "streams", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
        env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory, data_folder):
    folder = tmp_path_factory.mktemp("streams")
    small = ["--size", 0.01, "--rates", "0.2", "--seeds", 2, "--data", data_folder]
    done = streams("--out", folder, *small, "--streams", "noaa,spam_katakis")
    assert done.returncode == 0, done.stderr
    assert "of 2 cells the Tracker is ahead of the best peer" in done.stdout
    lines = (folder / "journal.jsonl").read_text()
    again = streams("--out", folder, *small, "--streams", "noaa,spam_katakis")
    assert again.stdout == done.stdout
    assert (folder / "journal.jsonl").read_text() == lines  # nothing was run again
    return folder


def test_every_run_is_a_row(out):
    rows = read_csv(out / "streams.csv")
    found = [(row["stream"], row["learner"], row["seed"]) for row in rows]
    assert found == [
        (stream, learner, seed)
        for stream, rounds in (("noaa", 18_159), ("spam_katakis", 9_324))
        for learner in LEARNERS
        for seed in seeds_of(learner, rounds, 0.2, 2)
    ]
    for row in rows:
        assert 0.4 < row["accuracy"] <= 1.0
        if row["learner"] not in ("previous", "constant"):
            assert row["asked"] == pytest.approx(0.2, abs=0.04)


def test_the_hindsight_is_told(out):
    about = json.loads((out / "streams.json").read_text())
    assert set(about["chosen"]) == {
        f"{stream}/{learner}@0.2"
        for stream in ("noaa", "spam_katakis")
        for learner in ("lasec-ss", "sop-ss", "river-tuned")
    }
    assert (out / "streams.md").read_text() == tables.document(read_csv(out / "streams.csv"))
    assert (out / "streams.svg").stat().st_size > 5_000


def test_rows_as_the_learners_see_them(monkeypatch, data_folder):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    for name, width in (("elec2", 8), ("spam_katakis", 512)):
        plain, made = whole(name, 0.01), scaled(name, 0.01)
        assert plain.X.shape[1] == width
        np.testing.assert_array_equal(made.X[:, -1], 1.0)
        same = bool((made.X[:, :-1] == plain.X).all())
        assert same is SOURCES[name].text


def test_the_baselines_are_what_they_say(monkeypatch, data_folder):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    y = whole("elec2", 1.0).y
    previous = whole_run("elec2", "previous", 0.1, {}, 1, 1.0)["accuracy"]
    assert previous == pytest.approx(0.853, abs=5e-4)
    assert whole_run("elec2", "last-asked", 1.0, {}, 1, 1.0)["accuracy"] == previous
    constant = whole_run("elec2", "constant", 0.1, {}, 1, 1.0)["accuracy"]
    assert constant == pytest.approx(np.mean(y < 0), abs=1e-6)


def test_the_page_has_the_published_runs():
    rows = read_csv(PUBLISHED / "streams.csv")
    assert (PUBLISHED / "streams.md").read_text() == tables.document(rows)


def test_a_published_run_can_be_repeated(monkeypatch, data_folder):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    (published,) = [
        row
        for row in read_csv(PUBLISHED / "streams.csv")
        if (row["stream"], row["learner"], row["rate"], row["seed"]) == ("noaa", "tracker", 0.1, 1)
    ]
    again = whole_run("noaa", "tracker", 0.1, {}, 1, 1.0)
    assert again["accuracy"] == pytest.approx(published["accuracy"], abs=0.002)


def test_without_the_data_nothing_is_run(tmp_path):
    done = streams("--out", tmp_path / "out", "--streams", "noaa", LASEC_DATA=str(tmp_path))
    assert done.returncode == 2
    assert "noaa_weather.npz" in done.stderr
