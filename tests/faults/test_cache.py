"""Compiled loops on disk: found again, never stale, and not needed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lasec
from lasec.kernel.folder import SOURCES, digest

TESTS = Path(__file__).parents[1]
OWN = """
import lasec, numpy as np
learner = lasec.LASEC_SS(3)
learner.tell(learner.ask(np.ones(3)).ticket, -1)
from lasec.kernel import engine
for entry in (engine._ASK, engine._TELL):
    print(sum(entry.kept.stats.cache_hits.values()), sum(entry.kept.stats.cache_misses.values()))
"""
FOREIGN = """
import lasec, numpy as np
from ownrule import Averaging
learner = lasec.Learner(Averaging(0.1), dimension=3)
learner.tell(learner.ask(np.ones(3)).ticket, -1)
from lasec.kernel import engine
print(len(engine._ASK.kept.overloads), len(engine._ASK.fresh.overloads))
"""


def answer(code, cache):
    """What a process prints that keeps its compiled loops in ``cache``."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=TESTS,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    return [line.split() for line in done.stdout.splitlines()]


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path):
    assert answer(OWN, tmp_path) == [["0", "1"], ["0", "1"]]
    kept = list((tmp_path / "lasec-compiled").iterdir())
    assert [folder.name for folder in kept] == [digest(Path(lasec.__file__).parent)]
    assert answer(OWN, tmp_path) == [["1", "0"], ["1", "0"]]


def test_where_nothing_can_be_written_it_works_all_the_same():
    assert [hits for hits, _ in answer(OWN, os.devnull)] == ["0", "0"]


def test_a_rule_of_ones_own_is_compiled_in_each_process(tmp_path):
    """Nothing could tell when its source has changed."""
    assert answer(FOREIGN, tmp_path) == [["0", "1"]]


def test_compiled_code_comes_from_the_sources_that_are_looked_at():
    package = Path(lasec.__file__).parent
    seen, todo = set(), ["kernel"]
    while todo:
        room = todo.pop()
        seen.add(room)
        for file in [*package.glob(f"{room}.py"), *package.glob(f"{room}/*.py")]:
            text = file.read_text()
            found = re.findall(r"^from lasec\.(\w+)", text, re.MULTILINE)
            found += [
                name.strip()
                for names in re.findall(r"^from lasec import (.*)", text, re.MULTILINE)
                for name in names.split(",")
            ]
            todo += [name for name in found if name not in seen]
    assert sorted(seen) == list(SOURCES)


def test_a_change_in_any_source_leads_elsewhere(tmp_path):
    package = tmp_path / "lasec"
    shutil.copytree(Path(lasec.__file__).parent, package)
    before = digest(package)
    rule = package / "rules" / "second_order.py"
    rule.write_text(rule.read_text().replace("1.0 / s", "2.0 / s"))
    assert digest(package) != before == digest(Path(lasec.__file__).parent)


def test_importing_lasec_does_not_import_numba():
    code = "import sys, lasec; print('numba' in sys.modules, 'scipy' in sys.modules)"
    assert answer(code, os.devnull) == [["False", "False"]]
