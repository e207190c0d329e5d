"""Estimates held against the truth: the command, small; its sums; and the published tables."""

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.intervals import coverage, frontier, scenarios, weighted, widths
from experiments.intervals.tables import KEYS, document, summary
from experiments.journal import Journal
from experiments.output import read_csv

import lasec
from labels.synthetic import tossed, world
from lasec.metrics.confidence_sequence import evidence
from lasec.metrics.proportion import student
from lasec.metrics.sums import MINUS, PLUS, SUMS, Column

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "results" / "intervals"


def intervals(out, *options):
    return subprocess.run(
        [sys.executable, "-m", "experiments", "intervals", "--rounds", "2600", "--out", str(out),
         *options],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_command_writes_goes_on_and_adds_up(tmp_path):
    done = intervals(tmp_path, "--streams", "2", "--rate", "0.2", "--scenarios", "switch,late")
    assert done.returncode == 0, done.stderr
    journal = (tmp_path / "journal.jsonl").read_text()
    assert journal.count("\n") == 4
    done = intervals(tmp_path, "--streams", "3", "--rate", "0.2")
    assert done.returncode == 0, done.stderr
    assert "Of 4 pairs" in done.stdout
    assert (tmp_path / "journal.jsonl").read_text().startswith(journal)
    assert (tmp_path / "journal.jsonl").read_text().count("\n") == 12

    rows, cells = (read_csv(tmp_path / f"{name}.csv") for name in ("intervals", "summary"))
    assert len(rows) == 3 * len(cells) == 3 * 4 * 7
    for cell in cells:
        group = [row for row in rows if all(row[k] == cell[k] for k in KEYS)]
        errors = [row["estimate"] - row["truth"] for row in group]
        assert cell["bias"] == pytest.approx(np.mean(errors), abs=1e-5)
        assert cell["bias_error"] == pytest.approx(np.std(errors, ddof=1) / 3**0.5, abs=1e-5)
        held = [row["low"] <= row["truth"] <= row["high"] for row in group]
        assert cell["coverage"] == pytest.approx(np.mean(held), abs=1e-4)
        assert cell["width"] == pytest.approx(
            np.mean([row["high"] - row["low"] for row in group]), abs=1e-4
        )
        assert (cell["always"] == "") == (cell["estimator"] != "anytime")
    made = json.loads((tmp_path / "summary.json").read_text())
    assert made["study"]["streams"] == 3
    assert (tmp_path / "summary.md").read_text() == document(cells, 2_600)
    assert min((tmp_path / f"intervals.{kind}").stat().st_size for kind in ("png", "svg")) > 20_000


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--scenarios", "still"], "choose from switch, slow"), (["--rate", "2"], "at most 1")],
)
def test_what_there_is_not_is_refused(tmp_path, options, reason):
    done = intervals(tmp_path, *options)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.replace("│", " ").split())


def test_every_round_is_held_against_the_sequence_of_the_meter():
    run = scenarios.play("switch", 0.1, 1, 1_500)
    against = scenarios.evidence(run.records, run.y)
    for rounds in (1, 40, 777, 1_500):
        columns = ("label", "margin", "variance", "propensity", "asked", "mistake", "updated")
        part = [getattr(run.records, column)[:rounds] for column in columns]
        meter = lasec.Meter(window=None)
        meter.extend(lasec.Records(*part, first=0), run.y[:rounds])
        plus, minus = meter.scope().block[[PLUS, MINUS]]
        guess = plus[Column.ROUNDS] - plus[Column.GUESS] + minus[Column.GUESS]
        missing = run.records.mistake[:rounds].sum() - guess
        expected = evidence(plus[SUMS:][::-1] + minus[SUMS:], missing)
        assert against[rounds - 1] == pytest.approx(expected, abs=1e-8)
    assert run.always == (against.max() < -math.log(0.05))


def test_the_truth_is_that_of_the_rounds_an_estimate_speaks_of():
    run = scenarios.play("late", 0.4, 1, 3_000)
    right = ~run.records.mistake
    whole, window = (run.meter.estimate(over=over) for over in ("all", "window"))
    assert 0 < whole.until < 2_000
    assert coverage.truth(run, whole) == right[: whole.until].mean()
    rows = slice(window.until - window.rows, window.until)
    assert coverage.truth(run, window, "window") == right[rows].mean()
    assert 0.85 < run.heard[: whole.until].sum() / run.records.asked[: whole.until].sum() < 0.95


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_the_other_estimators_are_their_definitions(lost):
    rows = 3_000
    chunk = tossed(world(rows, seed=1, rate=0.2), seed=1)
    heard = chunk.asked & (np.random.default_rng(1).random(rows) >= lost)
    meter = lasec.Meter()
    answers = [int(y) if here else None for y, here in zip(chunk.y, heard, strict=True)]
    meter.extend(chunk, answers)
    wrong = (chunk.label != chunk.y) * 1.0
    records = SimpleNamespace(**vars(chunk), mistake=wrong > 0.0)
    run = scenarios.Run(chunk.y, records, meter, heard, always=True)
    share = (heard / chunk.propensity).sum() / (chunk.asked / chunk.propensity).sum()
    q, z = chunk.propensity * share, heard
    found = {name: weighted.estimated(run, name) for name in ("ipw", "snipw", "decay")}
    ipw = 1.0 - (z * wrong / q).sum() / rows
    assert found["ipw"].value == pytest.approx(ipw, rel=1e-10)
    sides = [chunk.label == label for label in (1, -1)]
    errors = [n.sum() * (n * z * wrong / q).sum() / (n * z / q).sum() for n in sides]
    assert found["snipw"].value == pytest.approx(1.0 - sum(errors) / rows, rel=1e-10)
    guess = np.where(chunk.label > 0, 1.0 - chunk.p, chunk.p)
    w = np.exp(-(rows - np.minimum((np.arange(rows) // 32 + 1) * 32, rows)) / 1_000.0)
    share = (w * heard / chunk.propensity).sum() / (w * chunk.asked / chunk.propensity).sum()
    q = chunk.propensity * share
    error = (w * (guess + z * (wrong - guess) / q)).sum() / w.sum()
    assert found["decay"].value == pytest.approx(1.0 - error, rel=1e-10)
    assert {one.until for one in found.values()} == {rows}
    if lost:
        return
    u = z * (1.0 - q) * (wrong - guess) ** 2 / q**2
    whole, parts = (w**2 * u).sum(), (w**4 * u**2).sum()
    reach = student(0.95, whole**2 / parts - 1.0) * np.sqrt(whole) / w.sum()
    ends = found["decay"].value - reach, found["decay"].value + reach
    assert found["decay"][1:3] == pytest.approx(ends, rel=1e-10)


def test_the_plain_mean_fails_and_ours_does_not():
    rows = [coverage.honesty("switch", 0.1, number, 2_000) for number in range(1, 31)]
    found = {
        row["estimator"]: row
        for row in summary([
            {"scenario": "switch", "rate": 0.1, **dict(zip(coverage.COLUMNS, row, strict=True))}
            for part in rows
            for row in part
        ])
    }  # fmt: skip
    assert found["plain"]["bias"] < -0.08
    assert found["plain"]["coverage"] < 0.3
    for name in ("ipw", "snipw", "aipw", "window", "decay"):
        assert abs(found[name]["bias"]) < 4 * found[name]["bias_error"]
        assert found[name]["coverage"] > 0.8
    assert found["anytime"]["always"] > 0.9


def test_published_tables_are_those_of_the_published_run():
    cells = read_csv(PUBLISHED / "summary.csv")
    made = json.loads((PUBLISHED / "summary.json").read_text())
    assert (PUBLISHED / "summary.md").read_text() == document(cells, made["study"]["rows"])


def test_widths_stand_beside_those_of_uniform_asking(tmp_path, monkeypatch):
    """The rows of ``--quick``, with two streams that need no file."""
    plan = widths.Plan(["switch", "stationary"], [0.1], [0.2, 0.9], seeds=1, size=0.3)
    monkeypatch.setattr(widths, "QUICK", plan)
    said = widths.quick(tmp_path / "widths.json", jobs=1)
    rows = json.loads((tmp_path / "widths.json").read_text())
    keys = {"stream", "rate", "width", "uniform width", "coverage", "accuracy"}
    assert [(row["stream"], row["audit"]) for row in rows] == [
        ("switch", 0.2), ("switch", 0.9), ("stationary", 0.2), ("stationary", 0.9),
    ]  # fmt: skip
    assert all(keys <= row.keys() for row in rows)
    assert said.startswith("4 cells: width ")
    few, many = rows[0], rows[1]
    assert many["width"] < few["width"]  # more labels spread evenly
    assert 0.8 < many["width"] / many["uniform width"] < 1.4
    assert all(0.0 < row["width"] < 1.0 and 0.5 < row["accuracy"] <= 1.0 for row in rows)


def test_the_frontier_is_a_table_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(frontier, "STREAMS", ["switch", "stationary"])
    monkeypatch.setattr(frontier, "RATES", [0.1])
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        said = frontier.hold(journal, tmp_path, seeds=1, size=0.2)
    assert said.startswith("2 cells: width ")
    lines = (tmp_path / "frontier.md").read_text().splitlines()
    assert len(lines) == 2 + len(frontier.AUDITS)
    widths_ = [float(line.split("|")[3]) for line in lines[2:]]
    assert widths_[0] > widths_[-1]  # little audit, wide intervals
    assert (tmp_path / "frontier.svg").stat().st_size > 5_000


def test_the_published_frontier_is_that_of_the_published_run():
    rows = read_csv(PUBLISHED / "frontier.csv")
    assert (PUBLISHED / "frontier.md").read_text() == frontier.table(rows)


def test_a_window_is_estimated_as_a_meter_does():
    stream = lasec.streams.switching(2_000, dimension=5, seed=3)
    records = lasec.Tracker(rate=0.2, seed=1).run(*stream)
    meter = lasec.Meter(window=None)
    meter.extend(records, stream.y)
    found = widths.measured(records)
    assert found.windows == 1
    assert found.labels == records.labels
    assert found.width == pytest.approx(meter.accuracy.width, rel=1e-9)
    assert found.covered == (records.accuracy in meter.accuracy)
