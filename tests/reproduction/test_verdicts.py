"""The verdicts on the paper's claims: one rule, which the page states as the code has it."""

import re
from pathlib import Path

import numpy as np
import pytest
from experiments.claims import table
from experiments.claims.evidence import FAILS, HOLDS, PARTLY, TIE, Finding, at_most, best, verdict

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text()
RULE = {
    HOLDS: ("all parts are confirmed", [[1], [1, 1]]),
    PARTLY: ("some parts are confirmed", [[1, 0], [1, -1], [1, 0, -1]]),
    TIE: ("no part is confirmed, and none is contradicted", [[0], [0, 0]]),
    FAILS: ("no part is confirmed, and at least one is contradicted", [[-1], [0, -1]]),
}


@pytest.mark.parametrize("word", RULE)
def test_the_page_states_the_rule_of_the_code(word):
    said, cases = RULE[word]
    assert f"| {word} | {said} |" in PAGE
    assert {verdict(parts) for parts in cases} == {word}


def test_a_part_is_on_one_side_or_a_tie():
    gap = Finding("a minus b", 0.03, 0.01, 50)
    assert [gap.side(limit) for limit in (0.0, 0.035, 0.05)] == [1, 0, -1]
    assert [at_most(gap, limit) for limit in (0.0, 0.035, 0.05)] == [-1, 1, 1]


def test_best_is_ahead_of_all_behind_none_or_neither():
    rng = np.random.default_rng(0)
    own = rng.normal(0.8, 0.01, 50)
    worse, equal, better = (own + rng.normal(shift, 0.005, 50) for shift in (-0.1, 0.0, 0.1))
    for rivals, part in (([worse], 1), ([worse, equal], 0), ([worse, equal, better], -1)):
        accuracy = {"own": own} | {f"rival {k}": rival for k, rival in enumerate(rivals)}
        assert best("own", accuracy, "here").parts == [part]


def test_equal_intervals_have_equal_verdicts():
    """Claims 3 and 19 differ from 0 nowhere: both are ties."""
    lines = (ROOT / "docs" / "results" / "claims.md").read_text().splitlines()[2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert len(cells) == len(table.CLAIMS)
    assert {cell[3] for cell in cells} | {cell[4] for cell in cells} <= {*RULE, ""}
    assert (cells[2][3], cells[18][3]) == (TIE, TIE)
