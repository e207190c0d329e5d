"""The study of lenses, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.journal import Journal
from experiments.lenses import command, rings
from experiments.lenses.learners import OURS, TRACKER, one
from experiments.lenses.streams import FILES, GROUPS, LINEAR, draw
from experiments.output import read_csv

PUBLISHED = Path(__file__).parents[2] / "docs/results/lenses"


@pytest.mark.parametrize("name", LINEAR)
def test_linear_streams_are_drawn_again(name):
    X, y = draw(name, 1, 0.05)
    assert set(np.unique(y)) == {-1, 1}
    assert not np.array_equal(X, draw(name, 2, 0.05).X)


@pytest.mark.parametrize("name", FILES)
def test_files_have_both_labels_and_no_column_is_the_label(name, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    X, y = draw(name, 1)
    assert set(np.unique(y)) == {-1, 1}
    agree = [max(np.mean((x > np.median(x)) == (y > 0)), np.mean((x > np.median(x)) != (y > 0)))
             for x in X.T]  # fmt: skip
    assert max(agree) < 0.98


def test_no_stream_is_in_two_groups():
    names = [name for streams in GROUPS.values() for name in streams]
    assert len(names) == len(set(names))


def test_a_run_says_what_it_cost():
    ours, theirs = (one("still", name, 0.3, 1, 0.05) for name in (OURS, TRACKER))
    assert ours["accuracy"] > 0.5
    assert ours["us"] > 0.0
    assert 0.0 < ours["raw"] < 1.0 == theirs["raw"]


def table(gain):
    return [
        {"stream": s, "learner": learner, "rate": rate, "seed": seed, "us": 1.0, "raw": 0.5,
         "asleep": 0, "accuracy": 0.5 + 0.01 * seed + (gain(s) if learner == OURS else 0.0)}
        for streams in GROUPS.values() for s in streams
        for learner in (TRACKER, OURS) for rate in command.RATES for seed in (1, 2, 3)
    ]  # fmt: skip


def test_the_summary_counts():
    text = command.summary(table(lambda s: -0.002 if s in (*LINEAR, "usenet1") else 0.01))
    assert "Worst linear cell: -0.0020" in text
    assert text.count("unseen, ") == text.count("ahead on 5 of 6") == len(command.RATES)
    assert "-2.0 ± 0.0" in command.table(table(lambda s: -0.002))
    assert "not installed" in command.beside_forest(table(lambda s: 0.0))


def test_the_rings_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(rings, "learners", lambda: [TRACKER, rings.KERNEL])
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        rows = rings.measure(journal, tmp_path, seeds=2, size=0.1)
    assert [row["learner"] for row in rows] == [TRACKER] * 2 + [rings.KERNEL] * 2
    assert (tmp_path / "rings.png").stat().st_size > 10_000


def test_the_published_tables_are_those_of_the_published_runs():
    rows = read_csv(PUBLISHED / "lenses.csv")
    assert (PUBLISHED / "lenses.md").read_text() == command.table(rows)
    assert (PUBLISHED / "costs.md").read_text() == command.costs(rows)
    assert (PUBLISHED / "forest.md").read_text() == command.beside_forest(rows)
    assert (PUBLISHED / "summary.md").read_text() == command.summary(rows)
