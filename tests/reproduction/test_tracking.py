"""The study of the Tracker, small; and its published tables."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.figures import interval
from experiments.output import read_csv
from experiments.tracking import belief, calibration, oracle_gap, sensitivity

from lasec.queries import Budgeted
from lasec.rules import Tracking

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def test_the_command_writes_tables_and_pictures(tmp_path, data_folder):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "tracker", "--seeds", "1", "--size", "0.02",
         "--data", str(data_folder), "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("oracle_gap", "belief", "calibration", "sensitivity"):
        assert (tmp_path / f"{name}.md").read_text().startswith("| ")
    for name in ("belief", "calibration"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 5_000
    changes = {(row["constant"], row["factor"]) for row in read_csv(tmp_path / "sensitivity.csv")}
    assert len(changes) == 1 + 2 * (len(sensitivity.RULE) + len(sensitivity.QUERY))


def test_every_constant_is_changed():
    kept = {"rate", "horizon", "inner", "burst", "total", "max_open", "timed", "adapt"}  # by users
    shape = {"classes", "block"}
    weighted = {"weighted", "balanced", "tilt"}  # experiments rare --settings
    assert set(sensitivity.RULE) == set(Tracking._fields) - shape - weighted
    assert set(sensitivity.QUERY) == set(Budgeted._fields) - kept
    rule, constants = sensitivity.changed("slots", 2.0)
    assert (rule.slots, constants) == (12, {})
    rule, constants = sensitivity.changed("window", 0.5)
    assert (rule, constants) == (Tracking(), {"window": 500.0})


def test_an_oracle_is_no_worse_where_concepts_switch():
    told, plain = np.mean([oracle_gap.oracle("switch", 1.0, seed, 0.2) for seed in (1, 2)], axis=0)
    assert told > plain - 0.005


def test_switches_are_found():
    found = belief.switches("switch", 1.0, 1, 0.2)
    assert len(found["delays"]) + found["missed"] == 3
    assert found["missed"] == 0
    assert max(found["delays"]) < 150
    still = belief.switches("stationary", 1.0, 1, 0.2)
    assert (still["delays"], still["missed"], still["alarms"]) == ([], 0, 0)


def test_published_tables_are_those_of_the_published_runs():
    folder = RESULTS / "tracker"
    beliefs = json.loads((folder / "belief.json").read_text())
    reliable = json.loads((folder / "calibration.json").read_text())["rows"]
    for name, made in (
        ("oracle_gap", oracle_gap.table(read_csv(folder / "oracle_gap.csv"))),
        ("belief", belief.table(beliefs["switches"])),
        ("calibration", calibration.table(reliable)),
        ("sensitivity", sensitivity.table(read_csv(folder / "sensitivity.csv"))),
    ):
        assert (folder / f"{name}.md").read_text() == made, name


def test_published_figures_are_those_of_this_code():
    """One draw of the switch stream at each rate, done again."""
    rows = [
        r for r in read_csv(RESULTS / "benchmark" / "benchmark.csv") if r["learner"] == "tracker"
    ]
    from experiments.benchmark.contest import benchmark_run

    for rate in (0.1, 0.4, 1.0):
        (published,) = [
            r for r in rows if (r["stream"], r["rate"], r["seed"]) == ("switch", rate, 1)
        ]
        accuracy, asked = benchmark_run("switch", "tracker", rate, {}, 1, 1.0)
        assert accuracy == pytest.approx(published["accuracy"], abs=0.02)
        assert asked == pytest.approx(published["achieved_rate"], abs=0.005)


def test_the_page_quotes_twenty_draws_as_they_were_run():
    page = (ROOT / "docs" / "benchmark.md").read_text()
    rows = read_csv(RESULTS / "tracker" / "twenty.csv")
    for stream in ("switch", "usps"):
        for rate in (0.1, 0.2, 0.4, 1.0):
            runs = [r["accuracy"] for r in rows if (r["stream"], r["rate"]) == (stream, rate)]
            assert len(runs) == 20
            mean, half = interval(runs)
            assert f"{mean:.3f} ± {half:.3f}" in page
