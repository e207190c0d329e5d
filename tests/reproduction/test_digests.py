"""What a result depends on: a changed rule, grid or data file makes its own results stale."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
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


as_they_are = cache(found_in)


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
        ("src/lasec/rules/tracker/tracking.py", set()),
        ("src/lasec/cli/app.py", set()),
        ("src/lasec/kernel/loops.py", {"LASEC", "Perceptron", "Shifting"}),
        ("src/lasec/streams/synthetic.py", {"LASEC", "Perceptron", "Shifting"}),
        ("src/lasec/learner/learner.py", set()),
        ("src/lasec/notebook.py", set()),
        ("src/lasec/files.py", set()),
        ("src/lasec/persistence/codec.py", set()),
        ("src/lasec/sparse.py", set()),
        ("src/lasec/murmur.py", set()),
        ("experiments/figures.py", set()),
    ],
)
def test_changed_code_makes_its_own_results_stale(copy, file, stale):
    assert changed(copy, file, lambda text: text + "\nCHANGED = True\n") == stale


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("src/lasec/learner/running.py", "    selector = copy(now.selector)\n    bad",
         "    selector = copy(now.selector)\n    codes = -codes\n    bad", set(PARAMETERS)),
        ("src/lasec/kernel/loops.py", "seen[LABEL] != y", "seen[LABEL] == y", set(PARAMETERS)),
        ("src/lasec/kernel/loops.py", '"""The loops over rows', '"""# The loops', set()),
        ("src/lasec/kernel/loops.py", "# noqa: PLR0124, NaN is not known", "# other words", set()),
    ],
)  # fmt: skip
def test_code_counts_where_it_makes_numbers_and_words_do_not(copy, file, old, new, stale):
    """A line of the way that rows take through a learner counts; docstrings and comments do not."""
    assert old in (copy / file).read_text()
    assert changed(copy, file, lambda text: text.replace(old, new)) == stale


def changed(copy, file, change):
    """The learners whose digests a change to a file of the copy changes."""
    before = as_they_are(copy)
    text = (copy / file).read_text()
    (copy / file).write_text(change(text))
    after = found_in(copy)
    (copy / file).write_text(text)
    return {name for name in before if before[name] != after[name]}


# What a run goes through that makes no number: locks, clocks, books of questions, names of classes,
# checks of arguments, addresses, where code is found, and the beginning of arrays.
ASIDE = {
    "lasec.busy", "lasec.classes", "lasec.clock", "lasec.kernel.handle", "lasec.kernel.library",
    "lasec.kernel.sources", "lasec.parameters",
    "lasec.sparse", "lasec.validation",
}  # fmt: skip
BOOKS = {
    "lasec.learner.book:Book.__len__", "lasec.learner.book:Book.report",
    "lasec.learner.learner:Learner.run", "lasec.learner.learner:Learner._sized",
    "lasec.learner.adaptive:in_turns", "lasec.learner.adaptive:adapts",
    "lasec.learner.state:Counts.plus", "lasec.learner.state:LearnerState.aged",
    "lasec.learner.state:LearnerState.kind",
    "lasec.records:Records.__len__",
    "lasec.records:Records.__post_init__", "lasec.selector:Selector.__copy__",
    "lasec.selector:Selector.__getstate__", "lasec.selector:Selector.note",
    "lasec.selector:Selector.times",
}  # fmt: skip


def test_a_run_goes_through_nothing_that_its_digest_leaves_out():
    """Every function of lasec that a run of a contestant calls is behind its digest, or aside."""
    from experiments.contestants import SELECTIVE

    import lasec

    X, y = lasec.streams.switching(300, dimension=5, every=50, seed=1)
    seen = set()

    def follow(frame, event, _):
        name = frame.f_globals.get("__name__", "")
        written = frame.f_code.co_filename != "<string>"  # by hand, not by a dataclass
        if event == "call" and name.startswith("lasec.") and written:
            seen.add((name, frame.f_code.co_qualname.partition(".<locals>")[0]))

    behind = set(BOOKS)
    for contestant in (SUPERVISED | SELECTIVE).values():
        knob = {contestant.knob.name: 0.5} if contestant.knob else {}
        learner = contestant.build(5, **next(contestant.grid(1.0)), **knob, seed=1)
        behind |= set(digests.closure(type(learner.rule).__module__, digests.CHECKS))
        learner.run(X, y)
        sys.setprofile(follow)
        records = learner.run(X, y)
        assert records.accuracy + records.rate > 0
        sys.setprofile(None)
    for part in digests.RUN:
        behind |= {part} if ":" in part else set(digests.closure(part, digests.ALL))
    assert seen
    assert {
        f"{m}:{f}" for m, f in seen if m not in behind | ASIDE and f"{m}:{f}" not in behind
    } == set()


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
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (600, 256)), rng.integers(0, 10, 600)
    monkeypatch.setenv("LASEC_DATA", str(tmp_path / "usps.npz"))
    tasks = [(measure, (dataset, "Perceptron", {}, 1, 0.05)) for dataset in ("usps", "synthetic")]

    def run():
        np.savez(tmp_path / "usps.npz", X=X, y=y)
        for cached in caches():
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
    for cached in caches():
        cached.cache_clear()


def caches():
    from experiments import datasets, measuring

    return datasets._digits, datasets.behind, datasets.checksum, measuring._behind


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
