"""What the guides show is what the commands make."""

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.alarming import command, made
from experiments.intervals import adaptive, alarms, budget, delays, guide, metrics
from experiments.output import read_csv
from experiments.steady import Steady

import lasec

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "intervals"


@pytest.mark.parametrize("name", command.HEADS)
def test_the_tables_of_alarms_are_those_of_the_published_runs(name):
    place = PUBLISHED.parent / "alarms"
    assert (place / f"{name}.md").read_text() == command.table(
        name, read_csv(place / f"{name}.csv")
    )
    assert (
        json.loads((place / f"{name}.json").read_text())["first_seed"] == made.FIRST + 1 == 20_001
    )


def test_every_published_table_of_alarms_is_checked():
    assert {path.stem for path in (PUBLISHED.parent / "alarms").glob("*.md")} == set(command.HEADS)


def test_tables_are_those_of_the_published_runs():
    for name, study in (("budget", budget), ("alarms", alarms)):
        rows = read_csv(PUBLISHED / f"{name}.csv")
        assert (PUBLISHED / f"{name}.md").read_text() == study.table(rows), name


def test_adaptive_budgets_bring_what_is_published():
    rows = read_csv(PUBLISHED / "adaptive.csv")
    assert (PUBLISHED / "adaptive.md").read_text() == adaptive.document(rows)
    (row,) = [r for r in rows if (r["stream"], r["rate"], r["seed"]) == ("stationary", 0.02, 26)]
    assert adaptive.adaptive_run("stationary", 0.02, 26, 1.0).items() <= row.items()
    assert max(row["cap used"] for row in rows) <= 1.0


@pytest.mark.parametrize(("stream", "rate"), [("switch", 0.1), ("stationary", 0.02)])
def test_the_budget_is_held_as_published(stream, rate):
    (published,) = [
        row
        for row in read_csv(PUBLISHED / "budget.csv")
        if (row["stream"], row["rate"], row["seed"]) == (stream, rate, 1)
    ]
    again = budget.one(stream, rate, 1)
    assert again["labels"] == pytest.approx(published["labels"], abs=2)
    assert again["window"] <= 0.6
    assert again["least"] > 0.0
    assert again["cap"] <= 1.0


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_the_first_budget_holds_every_window(rate):
    query, rng = Steady(rate, 10_000.0), np.random.default_rng(4)
    state, asked, least = query.init(), [], 1.0
    for margin, draw in zip(rng.standard_normal(10_000), rng.random(10_000), strict=True):
        seen = lasec.Margin(margin, 0.0, margin)
        chance = query.chance(seen, state, None)
        asked.append(draw < chance)
        query.spend(seen, state, asked[-1], None)
        least = min(least, chance)
    assert abs(sum(asked) - rate * 10_000) <= max(0.01 * rate * 10_000, 1.0)
    windows = np.reshape(asked, (10, 1_000)).sum(axis=1)[1:]
    assert np.abs(windows - 1_000 * rate).max() <= 100 * rate + 1e-9
    assert least >= 0.2 * rate * (1.0 - 1e-12)


def test_delays_cost_what_is_published():
    rows = read_csv(PUBLISHED / "delays.csv")
    for delay in (0, 1_000):
        (published,) = [
            row["accuracy"]
            for row in rows
            if (row["stream"], row["learner"], row["delay"], row["seed"])
            == ("slow", "LASEC", delay, 1)
        ]
        again = delays.one("slow", "LASEC", delay, 1)["accuracy"]
        assert again == pytest.approx(published, abs=0.01)


def test_the_picture_of_the_guide(tmp_path):
    said = guide.picture(tmp_path)
    assert (tmp_path / "guide.svg").stat().st_size > 5_000
    assert "1599 labels for 16000 rounds" in said


def test_the_tables_of_metrics_are_those_of_the_published_run():
    published = json.loads((PUBLISHED / "metrics.json").read_text())
    assert list(published["cells"]) == list(metrics.CELLS)
    assert (PUBLISHED / "metrics.md").read_text() == metrics.document(published["cells"])


@pytest.mark.parametrize("cell", ["70/25/5, 20%", "99/1, 20%"])
def test_metrics_are_as_published(cell):
    published = json.loads((PUBLISHED / "metrics.json").read_text())["cells"][cell]
    for metric, streams in metrics.chunk(cell, metrics.FIRST, 25).items():
        again, there = metrics.summary(streams), published[metric]
        assert again["truth"] == pytest.approx(there["truth"], rel=0.1), metric
        assert again["width"] == pytest.approx(there["width"], rel=0.3), metric
        assert abs(again["bias"] - there["bias"]) < 4.0 * there["deviation"] / 5.0, metric
        assert again["coverage"] > 0.8, metric


def test_labels_that_nobody_asked_for_do_not_count():
    rows = metrics.draw(metrics.CELLS["70/25/5, 20%"], metrics.FIRST)
    assert (rows.reported & ~rows.came).sum() > 50
    known = metrics.sums(rows, rows.came, rows.q, every=True)
    assert known[0].labels.sum() == rows.came.sum()
    assert known[1].log_loss().labels == rows.came.sum()
