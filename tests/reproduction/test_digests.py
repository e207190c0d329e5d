"""What a result depends on: a changed rule, grid or data file makes its own results stale."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments import digests, own
from experiments.contestants import SUPERVISED, Axis
from experiments.journal import Journal
from experiments.measuring import measure
from experiments.tuning import tune

ROOT = Path(__file__).parents[2]
PARAMETERS = {
    "LASEC": {"ridge": 1.0, "drift": 0.1}, "Perceptron": {}, "Shifting": {"decay": 0.1},
}  # fmt: skip
PROGRAM = f"""
import json
from experiments import digests
from experiments.measuring import measure
given = {PARAMETERS!r}
found = {{a: digests.digest(measure, ("synthetic", a, p, 1, 1.0)) for a, p in given.items()}}
print(json.dumps(found))
"""


def found_in(folder):
    """The digests that a copy of the sources has."""
    path = os.pathsep.join([str(folder / "src"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONPATH": path}, cwd=folder,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "experiments"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("src/lasec/rules/shifting.py", {"Shifting"}),
        ("src/lasec/rules/gaussian.py", {"LASEC"}),
        ("src/lasec/rules/perceptron.py", {"Perceptron", "Shifting"}),
        ("src/lasec/rules/tracking.py", set()),
        ("src/lasec/cli/app.py", set()),
        ("src/lasec/kernel/rows.py", {"LASEC", "Perceptron", "Shifting"}),
        ("src/lasec/streams/synthetic.py", {"LASEC", "Perceptron", "Shifting"}),
        ("experiments/figures.py", set()),
    ],
)
def test_changed_code_makes_its_own_results_stale(copy, file, stale):
    before = found_in(copy)
    text = (copy / file).read_text()
    (copy / file).write_text(text + "\nCHANGED = True\n")
    after = found_in(copy)
    (copy / file).write_text(text)
    assert {name for name in before if before[name] != after[name]} == stale


def test_a_changed_grid_makes_its_tuning_stale(monkeypatch):
    task = (tune, ("synthetic", "SOP", 1.0, 0.1))
    other = (tune, ("synthetic", "LASEC", 1.0, 0.1))
    before = digests.digest(*task), digests.digest(*other)
    narrow = SUPERVISED["SOP"]._replace(axes=(Axis("ridge", (1.0, 2.0), unit=1),))
    monkeypatch.setitem(own.ALL, "SOP", narrow)
    assert digests.digest(*task) != before[0]
    assert digests.digest(*other) == before[1]


def test_a_changed_data_file_is_run_again(tmp_path, monkeypatch):
    """Into the same folder: the results of the file that changed, and no others."""
    from experiments import datasets

    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (600, 256)), rng.integers(0, 10, 600)
    monkeypatch.setenv("LASEC_DATA", str(tmp_path / "usps.npz"))
    tasks = [(measure, (dataset, "Perceptron", {}, 1, 0.05)) for dataset in ("usps", "synthetic")]

    def run():
        np.savez(tmp_path / "usps.npz", X=X, y=y)
        for cached in (datasets._digits, datasets.behind, _behind_of_runs()):
            cached.cache_clear()
        with Journal(tmp_path / "journal.jsonl", 1) as journal:
            results = journal.run("both", tasks)
        return results, len((tmp_path / "journal.jsonl").read_text().splitlines())

    first, lines = run()
    assert (run(), lines) == ((first, 2), 2)
    X[:] = -X
    y[:] = y[::-1]
    second, lines = run()
    assert lines == 3
    assert second[1] == first[1]
    assert second[0] != first[0]
    for cached in (datasets._digits, datasets.behind, _behind_of_runs()):
        cached.cache_clear()


def _behind_of_runs():
    from experiments import measuring

    return measuring._behind


def test_a_result_says_where_it_comes_from(tmp_path, capsys):
    task = (measure, ("synthetic", "Perceptron", {}, 1, 0.01))
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        (entry,) = journal.entries("one", [task])
    line = json.loads((tmp_path / "journal.jsonl").read_text())
    assert line["digest"] == digests.digest(*task)
    assert line["commit"] == entry.commit == digests.commit()
    assert line["seconds"] == entry.seconds
    line["digest"] = "0" * 12
    (tmp_path / "journal.jsonl").write_text(json.dumps(line) + "\n")
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.run("one", [task])
    assert "1 earlier results came from other code, grids or data" in capsys.readouterr().err
