"""A method of one's own in a panel, by the command of the guide, from an empty folder."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("own_method")  # what they stand on is made once

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-rule.md").read_text()
SMALL = ["--runs", "2", "--size", "0.02"]


def documented():
    """The rule of the guide, and the arguments of its command after ``--out``."""
    rule = re.search(r"```python\n(.*?class PassiveAggressive.*?)```", PAGE, re.DOTALL)[1]
    line = re.search(r"python -m experiments (panel a(?:.*\\\n)*.*)", PAGE)[1]
    return rule, line.replace("\\\n", " ").split()


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *arguments, *SMALL],
        cwd=folder, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def rows(folder):
    with open(folder / "mine" / "panel_a.csv", newline="") as file:
        return list(csv.DictReader(file))


def by(found, algorithm):
    return [row for row in found if row["algorithm"] == algorithm]


def journal(folder):
    lines = (folder / "mine" / "journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An empty folder but for the rule, and the command run in it."""
    folder = tmp_path_factory.mktemp("empty")
    rule, arguments = documented()
    (folder / "pa.py").write_text(rule)
    run(folder, *arguments)
    return folder


def test_a_rule_of_ones_own_stands_in_the_panel(place):
    found = rows(place)
    assert len({row["algorithm"] for row in found}) == 8
    assert len(by(found, "PassiveAggressive")) == len(by(found, "LASEC")) > 0
    assert "PassiveAggressive" in (place / "mine" / "panel_a.tex").read_text()
    assert (place / "mine" / "panel_a.svg").stat().st_size > 5_000


def test_a_changed_rule_is_run_again_and_nothing_else(place):
    before, entries = rows(place), len(journal(place))
    rule, arguments = documented()
    (place / "pa.py").write_text(
        rule.replace("loss = max(0.0, 1.0 -", "loss = 0.0 * max(0.0, 1.0 -")
    )
    said = run(place, *arguments)
    assert "earlier results came from other code, grids or data" in said
    after = rows(place)
    assert by(after, "LASEC") == by(before, "LASEC")
    assert {row["updates"] for row in by(after, "PassiveAggressive")}
    assert by(after, "PassiveAggressive") != by(before, "PassiveAggressive")
    own = list(journal(place)[entries:])
    assert own
    assert all("PassiveAggressive" in entry["task"] for entry in own)
    (place / "pa.py").write_text(rule)  # and back: what was run before is found again
    assert "earlier results" not in run(place, *arguments)
    assert rows(place) == before


def test_a_changed_grid_is_tuned_again(place):
    _, arguments = documented()
    grid = arguments.index("--grid") + 1
    arguments[grid] = arguments[grid].rpartition(",")[0]
    entries = len(journal(place))
    run(place, *arguments)
    tuned = [e["task"] for e in journal(place)[entries:] if e["task"].startswith("tune")]
    assert len(tuned) == 1
    assert "PassiveAggressive" in tuned[0]


def test_a_query_of_ones_own_stands_in_the_panel(tmp_path):
    """The query of the guide by the command of the guide, at about the panel's query rate."""
    query = re.search(r"```python\n(import math.*?)```", PAGE, re.DOTALL)[1]
    line = re.search(r"python -m experiments (panel b(?:.*\\\n)*.*)", PAGE)[1]
    (tmp_path / "exponential.py").write_text(query)
    run(tmp_path, *line.replace("\\\n", " ").split())
    with open(tmp_path / "mine" / "panel_b.csv", newline="") as file:
        found = by(list(csv.DictReader(file)), "ExponentialLASEC")
    last = max(int(row["t"]) for row in found)
    rates = [int(row["queries"]) / last for row in found if int(row["t"]) == last]
    assert len(rates) == 4  # two runs under two protocols
    assert 0.03 < sum(rates) / len(rates) < 0.25


@pytest.mark.parametrize(
    ("place_", "words"),
    [("pa", "not of the form module:Name"), ("nothing:Here", "no module 'nothing'"),
     ("pa:Nothing", "has no 'Nothing'")],
)  # fmt: skip
def test_a_wrong_place_is_said(tmp_path, place_, words):
    (tmp_path / "pa.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "panel", "a", "--rule", place_, "--out", "x"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**__import__("os").environ, "COLUMNS": "300", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "x").exists()
