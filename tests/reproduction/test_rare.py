"""The study of rare classes, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.output import read_csv
from experiments.rare import command
from experiments.rare.learners import LEARNERS, OTHERS, SETTINGS, Said
from experiments.rare.streams import ROWS, SYNTHETIC, cells, draw

PUBLISHED = Path(__file__).parents[2] / "docs/results/rare"


@pytest.mark.parametrize("share", ROWS)
@pytest.mark.parametrize("name", SYNTHETIC)
def test_streams_have_their_share_of_positives(name, share):
    X, y = draw(name, share, 1)
    assert len(X) == len(y) == ROWS[share]
    assert abs(y.sum() - share * len(y)) < 4.0 * np.sqrt(share * len(y))
    assert not np.array_equal(draw(name, share, 2).X, X)


@pytest.mark.parametrize("cell", [c for c in cells(real=True) if c not in cells(real=False)])
def test_real_streams_have_their_share_of_positives(cell, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    X, y = draw(*cell, 1)
    assert len(X) == len(y)
    assert np.mean(y) == pytest.approx(cell[1], rel=0.2)


def test_scores_by_hand():
    y = np.array([True, False, False, True, False])
    said = Said(np.array([0.9, 0.8, 0.1, 0.4, 0.2]), np.array([True, True, False, False, False]), y)
    found = command.scores(said, y)
    assert found["average_precision"] == round((1.0 + 2.0 / 3.0) / 2.0, 4)
    assert (found["recall"], found["precision"]) == (0.5, 0.5)
    assert found["cost"] == round((1.0 / 0.4 + 1.0) / 5.0, 4)
    assert (found["labels"], found["labeled_positives"]) == (2, 2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_keeps_the_budget(learner):
    found = command.one("separable", 0.01, learner, 0.05, 1, 0.3)
    if learner == "majority":
        assert (found["recall"], found["cost"], found["labels"]) == (0.0, 1.0, 0)
    else:
        assert abs(found["labels"] - 300) < 60
        majority = command.one("separable", 0.01, "majority", 0.05, 1, 0.3)
        assert found["average_precision"] > majority["average_precision"]
    if learner == command.OURS:
        assert found["cost"] < command.one("separable", 0.01, "Tracker", 0.05, 1, 0.3)["cost"]


def table(value):
    keys = ("recall", "precision", "cost", "labels", "labeled_positives", "positives")
    return [
        {"stream": s, "share": p, "learner": n, "rate": r, "seed": k, "average_precision": value(n)}
        | dict.fromkeys(keys, 0.5)
        for s, p in cells(real=False)
        for n in LEARNERS
        for r in command.RATES
        for k in (1, 2)
    ]


def test_the_tables_and_the_summary():
    rows = table(lambda name: 0.7 if name == command.OURS else 0.2)
    lines = command.document(rows).splitlines()
    assert len(lines) == 2 + len(LEARNERS) * len(cells(real=False))
    best = " | ".join(["**0.700**"] * 4)
    assert lines[2] == f"| separable | 1 % | Tracker, balanced | {best} |"
    assert "0.50 / 0.50 / 0.50" in command.decisions(rows)
    assert "ahead of all others in 32 of 32 cells" in command.summary(rows)
    assert command.summary(rows).endswith("the least in 0 of 32.")
    assert "in 0 of 32 cells" in command.summary(table(lambda name: 0.2))


def test_the_published_tables_are_those_of_the_published_runs():
    rows = read_csv(PUBLISHED / "rare.csv")
    assert command.document(rows) == (PUBLISHED / "rare.md").read_text()
    assert command.decisions(rows) == (PUBLISHED / "decisions.md").read_text()
    assert command.summary(rows) + "\n" == (PUBLISHED / "summary.md").read_text()
    chosen = read_csv(PUBLISHED / "settings.csv")
    assert command.settings_table(chosen) == (PUBLISHED / "settings.md").read_text()
    assert {row["learner"] for row in chosen} == {*SETTINGS, *OTHERS}
    assert min(row["seed"] for row in chosen) > max(row["seed"] for row in rows)
