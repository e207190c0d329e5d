"""The reproduction, small: the same commands on shortened streams."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SMALL = ["--runs", "2", "--size", "0.01"]

pytestmark = pytest.mark.xdist_group("reproduction")


def command(*arguments):
    return [sys.executable, "-m", "experiments", *map(str, arguments)]


def experiments(*arguments):
    done = subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def out(tmp_path_factory, data_folder):
    folder = tmp_path_factory.mktemp("all")
    experiments("panel", "all", *SMALL, "--jobs", 2, "--data", data_folder, "--out", folder)
    return folder


@pytest.mark.parametrize("name", "abcdef")
def test_every_panel_is_written(out, name):
    rows = table(out / f"panel_{name}.csv")
    key = "rate" if name in "cf" else "t"
    assert list(rows[0]) == ["algorithm", "run", key, "accuracy", "achieved_rate"]
    expected = 6 if name in "ad" else 7
    assert len({row["algorithm"] for row in rows}) == expected
    assert {row["run"] for row in rows} == {"1", "2"}
    assert all(0.0 <= float(row["accuracy"]) <= 1.0 for row in rows)
    assert all(0.0 <= float(row["achieved_rate"]) <= 1.0 for row in rows)
    about = json.loads((out / f"panel_{name}.json").read_text())
    assert about["seeds"] == {"tuning": 0, "runs": [1, 2]}
    assert about["versions"]["lasec"]
    for figure in (f"panel_{name}.svg", f"panel_{name}.png", "panels.svg", "panels.png"):
        assert (out / figure).stat().st_size > 5_000


def test_runs_are_paired_and_repeatable(out, tmp_path, data_folder):
    """Another number of processes, another folder: the same figures to the last digit."""
    experiments("panel", "c", *SMALL, "--jobs", 1, "--out", tmp_path)
    assert (tmp_path / "panel_c.csv").read_text() == (out / "panel_c.csv").read_text()


def test_a_stopped_run_goes_on_where_it_was(out, tmp_path):
    """Ctrl-C in the middle; finished tasks are not run again, and nothing differs in the end."""
    journal = tmp_path / "journal.jsonl"
    process = subprocess.Popen(
        command("panel", "c", *SMALL, "--jobs", 2, "--out", tmp_path),
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") >= 5):
        assert time.monotonic() < deadline
        assert process.poll() is None, "it was over before it could be stopped"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    done = journal.read_text()
    assert not (tmp_path / "panel_c.csv").exists()
    with open(journal, "a") as file:
        file.write('{"task": "half a li')
    experiments("panel", "c", *SMALL, "--jobs", 2, "--out", tmp_path)
    assert (tmp_path / "panel_c.csv").read_text() == (out / "panel_c.csv").read_text()
    after = journal.read_text()
    assert after.startswith(done)
    tasks = [json.loads(line)["task"] for line in after.splitlines() if not line.endswith(" li")]
    assert len(tasks) == len(set(tasks))


def test_bounds_are_satisfied_at_any_size(tmp_path):
    said = experiments("bounds", "--runs", 2, "--size", 0.05, "--out", tmp_path)
    assert "| 2 of 2 | 2 of 2 |" in said
    assert "NO" not in said
    assert (tmp_path / "bounds.md").read_text() == said
    for row in table(tmp_path / "bounds_drift.csv"):
        mistakes = int(row["mistakes"])
        assert mistakes <= float(row["theorem_2"]) <= float(row["lemma_7"]) + 1e-6 <= 500 + 1e-5
        if row["covered"] == "1":
            assert float(row["lemma_7_fixed"]) <= float(row["corollary_8_fixed"]) + 1e-6
    forms = [row["bound"] for row in table(tmp_path / "bounds_theorem_4.csv")]
    assert forms == ["Theorem 4", "explicit"] * 3 + ["Corollary 9"]
    rows = table(tmp_path / "bounds_a.csv")
    assert list(rows[0]) == ["a", "run", "queries", "mistakes"]
    queries = [float(row["queries"]) for row in rows]
    assert sum(queries[:2]) < sum(queries[-2:])
    for figure in ("bounds.svg", "bounds_a.svg"):
        assert (tmp_path / figure).stat().st_size > 5_000


def test_an_unknown_panel_is_refused(tmp_path):
    done = subprocess.run(
        command("panel", "z", "--out", tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no panel 'z'" in done.stderr


def test_calibration_meets_the_aimed_share():
    from experiments.tuning import close, tune

    for algorithm in ("Perceptron-SS", "BBQ-I b=1"):
        result = tune("synthetic", algorithm, 0.2, 0.5)
        (trial,) = result["trials"]
        assert close(trial["rate"], 0.2), (algorithm, trial)


RESULTS = ROOT / "docs" / "results"


def test_the_published_claims_are_those_of_the_published_runs():
    """No figure of the claims table is typed by hand."""
    from experiments import claims
    from experiments.output import read_csv
    from experiments.panels import PANELS

    results = {name: read_csv(RESULTS / f"panel_{name}.csv") for name in PANELS}
    about = {name: json.loads((RESULTS / f"panel_{name}.json").read_text()) for name in PANELS}
    tuning = {name: panel["tuning"] for name, panel in about.items()}
    assert claims.table(results, tuning) == (RESULTS / "claims.md").read_text()
    assert all(panel["runs"] == 50 and panel["size"] == 1.0 for panel in about.values())


def test_published_runs_are_those_of_this_code():
    """Two runs of panel a, done again, equal the published ones."""
    from experiments.panels import measure

    about = json.loads((RESULTS / "panel_a.json").read_text())
    rows = table(RESULTS / "panel_a.csv")
    for algorithm in ("LASEC", "RBP"):
        parameters = about["tuning"][f"{algorithm}@1.0"]["parameters"]
        published = [r for r in rows if (r["algorithm"], r["run"]) == (algorithm, "7")]
        again = measure("synthetic", algorithm, parameters, 7, 1.0)
        np.testing.assert_allclose(
            [float(row["accuracy"]) for row in published], again["accuracy"], atol=2e-3
        )


def test_published_bounds_were_satisfied():
    first = table(RESULTS / "bounds_theorem_2.csv")
    assert len(first) == 50
    assert all(int(row["mistakes"]) <= float(row["theorem_2"]) for row in first)
    selective = table(RESULTS / "bounds_theorem_4.csv")
    assert all(float(row["mistakes"]) <= float(row["value"]) for row in selective)
    said = (RESULTS / "bounds.md").read_text()
    assert "NO" not in said


def test_the_published_bounds_are_those_of_the_published_runs():
    """No figure of the table of bounds is typed by hand."""
    from experiments.output import read_csv
    from experiments.theorems import summary

    names = ("theorem_2", "theorem_4", "drift", "a")
    made = {name: read_csv(RESULTS / f"bounds_{name}.csv") for name in names}
    about = json.loads((RESULTS / "bounds.json").read_text())
    made |= {"rounds": about["rounds"], "parameters": about["parameters"]}
    assert (about["runs"], about["size"]) == (50, 1.0)
    assert summary(made, about["slopes"]) + "\n" == (RESULTS / "bounds.md").read_text()
