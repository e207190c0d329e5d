"""A command says that it works, and how far it is."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = """
import sys, time
from pathlib import Path
from experiments import progress
from experiments.journal import Journal
from experiments.rings import rings

def slowly(tasks):
    for key in tasks:
        time.sleep(0.3)
        yield key, (None, 0.0)

progress.EVERY = 0.05
progress.start("panel")
with Journal(Path(sys.argv[1]), jobs=1) as journal:
    journal._finished = slowly
    journal.run("rings", [(rings, (10, 10.0, seed)) for seed in (1, 2)])
time.sleep(0.2)
"""


def python(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


def test_tasks_say_how_far_they_are_where_there_is_no_terminal(tmp_path):
    done = python("-c", SLOW, tmp_path / "journal.jsonl")
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert said[0] == "panel: started; a line every 0.05 s says how far it is"
    for words in (
        "rings: 0 of 2 tasks, 0:.. so far",
        "rings: 1 of 2 tasks, 0:.. so far, 0:.. left",
    ):
        assert any(re.fullmatch(words, line) for line in said), said
    assert re.fullmatch("panel: 0:.. so far", said[-1])


def test_help_is_all_that_help_says():
    done = python("-m", "experiments", "stale", "--help")
    assert (done.returncode, done.stderr) == (0, "")
