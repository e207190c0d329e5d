"""The commands that measure speed: they run, and write what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lasec

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="benchmarks are not part of the wheel"
)


def test_kernel_writes_rows_of_ratios():
    from benchmarks import kernel

    rows = [kernel.run_against_product(50, 600, runs=1)]
    rows.append(kernel.rounds_against_product(50, 100, runs=1))
    for row in rows:
        assert {"d", "mode", "ours_us", "bare_us", "ratio"} <= row.keys()
        assert row["ratio"] == pytest.approx(row["ours_us"] / row["bare_us"], abs=2e-3, rel=2e-3)
    assert [row["mode"].partition(",")[0] for row in rows] == ["all labels", "ask + tell"]


def test_the_pseudocode_is_the_algorithm():
    from benchmarks.measure import stream, supervised
    from benchmarks.pseudocode import rounds

    X, y = stream(5, 400)
    assert rounds(X, y) == supervised(5).run(X, y).mistake.sum()


def test_a_command_prints_a_table_and_writes_json(tmp_path):
    path = tmp_path / "startup.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "startup", "--quick", "--json", path],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    written = json.loads(path.read_text())
    assert written["benchmark"] == "startup"
    rows = {row["mode"]: row for row in written["rows"]}
    assert list(rows) == ["library", "numba, first process", "numba, later processes"]
    assert "first_ask_s" in done.stdout
    first, later = rows["numba, first process"], rows["numba, later processes"]
    assert later["first_ask_s"] < first["first_ask_s"]


def test_the_tracker_is_timed_on_wide_rows():
    from benchmarks.tracker import _alone

    row = _alone(200, 0.1, rows=100, runs=1)
    assert list(row) == ["d", "labels", "through", "tracker us", "state kb"]
    assert (row["d"], row["labels"], row["through"]) == (200, "10%", "run")
    assert 0.0 < row["tracker us"] < 1e5
    assert 100 < row["state kb"] < 1_000


def test_a_fleet_of_small_trackers_is_timed():
    from benchmarks.tracker import _fleet

    row = _fleet(models=20, each=3)
    assert list(row) == ["d", "labels", "through", "tracker us", "state kb"]
    assert row["state kb"] == 19
    assert 0.0 < row["tracker us"] < 1e5


def test_growth_fits_the_exponent():
    from benchmarks.measure import exponent

    assert exponent([10.0, 100.0, 1_000.0], [2.0, 20.0, 200.0]) == 1.0


def test_pictures_and_tables_come_from_the_files(tmp_path):
    from benchmarks.figures import draw

    source = ROOT / "docs" / "results" / "speed"
    for path in source.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    draw(tmp_path)
    for path in source.glob("*.json"):
        assert (tmp_path / f"{path.stem}.md").read_text() == path.with_suffix(".md").read_text()
    for name in ("kernel", "growth", "peers"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_a_revision_is_measured_in_a_process_of_its_own():
    from benchmarks.revisions import times

    found = times(ROOT, ["run Perceptron, d = 50"])
    assert list(found) == ["run Perceptron, d = 50"]
    assert 0.0 < found["run Perceptron, d = 50"] < 10.0


def test_what_a_revision_cannot_do_is_left_out(monkeypatch, capsys):
    from benchmarks import workloads

    monkeypatch.setitem(workloads.WORKLOADS, "new", lambda: lasec.no_such_name)
    assert workloads.measure("new") is None
    assert "no_such_name" in capsys.readouterr().err


def test_ratios_of_revisions_are_new_to_old():
    from benchmarks.revisions import _row

    row = _row("run", [(2.0, 1.0), (2.0, 3.0), (4.0, 8.0), (None, 1.0)])
    assert (row["old_ms"], row["new_ms"]) == (2_000.0, 1_000.0)
    assert (row["from"], row["ratio"], row["to"]) == (0.5, 1.5, 2.0)
    assert _row("run", [(None, 1.0)])["ratio"] is None
