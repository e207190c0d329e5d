"""The reproduction, small: the same commands on shortened streams."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lasec

pytestmark = pytest.mark.xdist_group("experiments")  # what they stand on is made once

ROOT = Path(__file__).parents[2]
SMALL = ["--runs", "2", "--size", "0.01"]


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
    over_time = ["t", "accuracy", "queries", "updates"]
    over_rates = ["rate", "accuracy", "queries", "updates", "achieved_rate"]
    middle = over_rates if name in "cf" else over_time
    assert list(rows[0]) == ["protocol", "algorithm", "run", *middle]
    assert len({row["algorithm"] for row in rows}) == (7 if name in "ad" else 5)
    assert {row["protocol"] for row in rows} == ({"once"} if name in "ad" else {"once", "per-rate"})
    assert {row["run"] for row in rows} == {"1", "2"}
    assert all(0.0 <= float(row["accuracy"]) <= 1.0 for row in rows)
    about = json.loads((out / f"panel_{name}.json").read_text())
    assert about["seeds"] == {"tuning": 0, "runs": [1, 2]}
    assert about["versions"]["lasec"]
    assert about["cpu_seconds"] > 0.0
    assert about["commits"]
    cells = {(row["protocol"], row["algorithm"], row.get("rate")) for row in rows}
    assert len(json.loads((out / "digests.json").read_text())[f"panel_{name}.csv"]) == len(cells)
    for figure in (f"panel_{name}.svg", f"panel_{name}.png", "panels.svg", "panels.png"):
        assert (out / figure).stat().st_size > 5_000


@pytest.mark.parametrize("name", "bcef")
def test_the_papers_protocol_tunes_once(out, name):
    """One b and one c for all query rates, those of LASEC with every label; BBQ starts from I."""
    about = json.loads((out / f"panel_{name}.json").read_text())
    full = json.loads((out / f"panel_{'d' if name == 'f' else 'a'}.json").read_text())
    for algorithm, twin in (("LASEC-SS", "LASEC"), ("SOP-SS", "SOP")):
        tuned = full["tuning"]["once"][f"{twin}@1.0"]["parameters"]
        cells = [v for k, v in about["tuning"]["once"].items() if k.startswith(f"{algorithm}@")]
        assert cells
        for cell in cells:
            assert {k: v for k, v in cell["parameters"].items() if k != "aggressiveness"} == tuned
    bbq = [v for k, v in about["tuning"]["once"].items() if k.startswith("BBQ")]
    assert {cell["parameters"]["ridge"] for cell in bbq} == {1.0}


def test_tables_for_papers(out):
    """As many cells in every line as columns, and nothing that LaTeX would stumble over."""
    for name in "abcdef":
        text = (out / f"panel_{name}.tex").read_text()
        assert text.startswith("\\begin{tabular}{")
        columns = text.partition("{tabular}{")[2].partition("}")[0]
        lines = [line for line in text.splitlines() if line.endswith("\\\\")]
        assert {line.count(" & ") + 1 for line in lines} == {len(columns)}
        assert not re.search(r"(?<!\\)[%_#]|±", text)


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


def test_calibration_reaches_the_query_rate():
    from experiments.tuning import calibrate, close

    for algorithm, fixed in (("Perceptron-SS", {}), ("BBQ-I", {"ridge": 1.0})):
        trial = calibrate("synthetic", algorithm, 0.2, fixed, 0.5)
        assert close(trial["rate"], 0.2), (algorithm, trial)
        assert fixed.items() <= trial["parameters"].items()


def test_a_grid_grows_until_its_best_point_lies_inside(monkeypatch):
    """SOP's best ridge lies beyond both of these grids, and is found; a closed grid says so."""
    from experiments import own
    from experiments.contestants import Axis, Contestant, points

    def tuned(*values, **more):
        contestant = Contestant(lasec.SOP, (Axis("ridge", values, unit=1, **more),))
        monkeypatch.setitem(own.ALL, "SOP", contestant)
        return tune("synthetic", "SOP", 1.0, 0.5)

    from experiments.tuning import tune

    for values in ((1e-3, 1e-2), (1e3, 1e4)):
        found = tuned(*values)
        assert not found["edges"]
        assert not values[0] <= found["parameters"]["ridge"] / found["scale"] <= values[-1]
    assert tuned(1e-3, 1e-2, open=False)["edges"] == ["ridge at its upper end"]
    scaled = points((Axis("drift", (2.0,), unit=1, inverted=True),), 5.0)
    assert list(scaled) == [{"drift": 0.1}]


RESULTS = ROOT / "docs" / "results"


def test_the_published_claims_are_those_of_the_published_runs():
    """No figure of the tables of claims is typed by hand."""
    from experiments import bench
    from experiments.panels import PANELS

    for name, text in bench.claims(RESULTS).items():
        assert text == (RESULTS / name).read_text(), name
    for name in PANELS:
        about = json.loads((RESULTS / f"panel_{name}.json").read_text())
        assert about["runs"] == 50
        assert about["size"] == 1.0


def stale(folder, *options):
    """Exit code and lines of ``experiments stale``."""
    done = subprocess.run(
        command("stale", "--out", folder, *options),
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert re.fullmatch(r"(stale: [^\n]*(started|so far)[^\n]*\n)*", done.stderr)
    return done.returncode, done.stdout.splitlines()


def test_no_published_row_is_stale():
    """After a change: ``python -m experiments stale --verify --out docs/results`` repeats runs."""
    code, said = stale(RESULTS)
    assert not [line for line in said if line.startswith(("stale", "differs"))]
    assert code == 0
    assert re.fullmatch(r"\d+ of \d+ CSV files checked, \d+ cells: nothing is stale", said[-1])


def test_every_published_csv_is_checked_or_named():
    from experiments.stale import checkable

    found = {one.file for one in checkable(RESULTS)}
    _, said = stale(RESULTS)
    named = {RESULTS / name for line in said for name in re.findall(r"[\w/]+\.csv", line)}
    assert found | named == set(RESULTS.rglob("*.csv"))
    assert {"panel_a.csv", "grids_synthetic.csv", "bounds_drift.csv"} <= {f.name for f in found}


@pytest.mark.parametrize("file", ["panel_a", "panel_c", "bounds_theorem_2", "kernels"])
def test_published_runs_can_be_repeated(file):
    """A run of every cell, done again with the published parameters, is the published one."""
    from experiments.stale import Options, _sample, checkable

    (one,) = [p for p in checkable(RESULTS) if p.file.stem == file and "outside" not in str(p.file)]
    was = one.read()
    for cell, places in list(one.cells().items())[:40]:
        (place,) = _sample(cell, places, Options().runs)
        function, arguments = one.tasks[place]
        made = one.rows(place, function(*arguments))
        assert [list(row) for row in made] == [list(row) for row in was[place]]
        for name in {"accuracy", "mistakes"} & made[
            0
        ].keys():  # another machine adds in another order
            again, then = ([float(row[name]) for row in rows] for rows in (made, was[place]))
            np.testing.assert_allclose(again, then, atol=2e-3, rtol=5e-3)


@pytest.fixture(scope="module")
def copy(out, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "all"
    shutil.copytree(out, folder)
    return folder


def test_stale_rows_are_named_and_verified(copy, data_folder):
    """A changed digest is named, and right again once the runs were found equal."""
    given = ("--data", data_folder)
    assert stale(copy, *given)[0] == 0
    file = copy / "digests.json"
    known = json.loads(file.read_text())
    changed = json.loads(file.read_text())
    changed["panel_b.csv"]["once/SOP-SS"] = "0" * 12
    file.write_text(json.dumps(changed))
    code, said = stale(copy, *given)
    assert code == 1
    assert said[0] == "stale: panel_b.csv: once/SOP-SS"
    assert said[-1].endswith("cells: 1 cell is stale")
    code, said = stale(copy, *given, "--verify", "--runs", 0)
    assert code == 0
    assert "equal to the CSV files, bit for bit" in said[-2]
    assert json.loads(file.read_text()) == known


def test_rows_that_the_code_would_not_make_are_named(copy, data_folder):
    """A digit of a CSV is changed: digests cannot see it, running again does."""
    file = copy / "panel_b.csv"
    lines = file.read_text().splitlines(keepends=True)
    (copy / "panel_b.csv").write_text(
        "".join([lines[0], lines[1].replace(",0.", ",1."), *lines[2:]])
    )
    given = ("--data", data_folder)
    assert stale(copy, *given)[0] == 0
    code, said = stale(copy, *given, "--verify", "--runs", 0)
    file.write_text("".join(lines))
    assert code == 1
    assert said[0] == f"differs: panel_b.csv: {lines[1].split(',')[0]}/{lines[1].split(',')[1]}"


def test_without_the_digits_the_rest_is_checked(copy, tmp_path, monkeypatch):
    """One sentence, no traceback."""
    monkeypatch.setenv("LASEC_DATA", str(tmp_path / "nothing"))
    code, said = stale(copy)
    assert code == 0
    (line,) = [line for line in said if "USPS" in line]
    assert line.startswith("not checked: 4 CSV files (the USPS digits are not here")
    assert said[-1].startswith("7 of 11 CSV files checked")


def test_figures_are_drawn_again_from_the_rows(copy):
    """The same picture to the last byte, without a run."""
    names = ["panel_c.svg", "panel_c.tex", "panels.svg"]
    before = [(copy / name).read_bytes() for name in names]
    for name in (*names, "journal.jsonl"):
        (copy / name).unlink()
    said = experiments("figures", "--out", copy)
    assert "panel_c" in said
    assert [(copy / name).read_bytes() for name in names] == before
    assert not (copy / "journal.jsonl").exists()


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


def test_the_experiments_group_is_enough():
    """The command starts without pandas, pyarrow, River and Spark, which that group leaves out."""
    absent = "pandas pyarrow river pyspark polars"
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({absent.split()!r})); "
        "import experiments.__main__ as main; main.app(['panel', '--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--rule" in done.stdout
