"""The study of kernels, small; and its published table."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments import rings
from experiments.output import read_csv

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "kernels"


def test_the_command_writes_tables_and_pictures(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "kernels", "--runs", "2", "--size", "0.02",
         "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = read_csv(tmp_path / "kernels.csv")
    assert len(rows) == 2 * len(rings.TURNS) * len(rings.LEARNERS)
    assert {row["run"] for row in rows} == {1, 2}
    assert (tmp_path / "kernels.md").read_text() == rings.table(rows)
    for ending in ("svg", "png"):
        assert (tmp_path / f"kernels.{ending}").stat().st_size > 5_000


def test_rings_turn_and_no_line_separates_them():
    X, y = rings.rings(4_000, 4_000.0, 1)
    for begin, direction in ((0, [1.0, 0.0]), (1_000, [0.0, 1.0]), (2_000, [-1.0, 0.0])):
        part, label = X[begin : begin + 100], y[begin : begin + 100]
        centers = (part * label[:, None]).mean(axis=0)
        np.testing.assert_allclose(centers, 0.6 * np.array(direction), atol=0.25)
    early = slice(0, 400)
    design = np.column_stack([X[early], np.ones(400)])
    fitted = design @ np.linalg.lstsq(design, y[early], rcond=None)[0]
    assert ((fitted >= 0) == (y[early] > 0)).mean() < 0.8


def test_the_published_table_is_that_of_the_published_runs():
    assert (RESULTS / "kernels.md").read_text() == rings.table(read_csv(RESULTS / "kernels.csv"))


@pytest.mark.parametrize("learner", rings.LEARNERS)
def test_published_runs_are_those_of_this_code(learner):
    about = json.loads((RESULTS / "kernels.json").read_text())
    turn = rings.WATCHED
    again = rings.play(learner, about["settings"][str(turn)][learner], turn, 1, about["rounds"])
    (published,) = [
        row
        for row in read_csv(RESULTS / "kernels.csv")
        if (row["learner"], row["rows_a_turn"], row["run"]) == (learner, turn, 1)
    ]
    assert again["accuracy"] == pytest.approx(published["accuracy"], abs=0.002)
    assert again["rate"] == pytest.approx(published["rate"], abs=0.01)
