"""The studies of printed intervals and caps, small; and what they found, each with its case."""

from pathlib import Path

import numpy as np
import pytest
from experiments.intervals import caps, printed
from experiments.journal import Journal
from experiments.output import read_csv
from experiments.serving import coverage

from lasec.evaluation.paired import BLOCKS, of_blocks
from lasec.metrics import Scores

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "intervals"


@pytest.mark.parametrize("errors", printed.ERRORS)
def test_streams_have_their_share_of_errors(errors):
    for sureness in printed.SURENESS:
        drawn = printed.draw(errors, sureness, np.random.default_rng(1), 20_000)
        assert 1.0 - drawn.right.mean() == pytest.approx(errors, abs=0.01 if errors else 0.0)
        assert ((drawn.positive >= 0.5) == drawn.said).all()


def test_rows_before_the_first_label_are_in_no_estimate():
    drawn = printed.draw(0.05, 1.0, np.random.default_rng(2), 600)
    gone = np.arange(600) < 40
    done = printed.run(drawn, gone, 0.3, 1)
    assert done.unpredicted > 40
    assert done.estimate.rows == 600 - done.unpredicted
    found = {name: ends for name, *ends in printed._accuracies(done, drawn, 0)}
    assert found["accuracy, all rows"][-1] == drawn.right[done.unpredicted :].mean()


def test_a_small_study_has_every_interval():
    rows = [row for errors in (0.0, 0.05) for row in printed.chunk(errors, 0, 2, 600)]
    names = {name for name, *_ in rows}
    for wanted in ("accuracy, window of 100", "recall of a class", "log-loss", "Brier score",
                   "owner's page, all rows", "worst case, all rows",
                   "paired difference, spells of 50 rows"):  # fmt: skip
        assert wanted in names
    for name, value, low, high, truth in rows:
        if value is not None:
            assert low <= high, name
            assert truth is None or name.startswith(("log", "paired")) or 0.0 <= truth <= 1.0


def test_coverage_is_counted_by_hand():
    ends = np.array([[0.0, 1.0, 0.5], [0.0, 0.4, 0.5], [0.6, 1.0, 0.5], [0.5, 0.5, 0.5]])
    row = printed.summary("accuracy", 0.01, ends)
    assert (row["coverage"], row["truth_above"], row["truth_below"]) == (0.5, 0.25, 0.25)
    assert "accuracy, 1% errors, 50.0%" in printed.outcome([row])
    assert "| accuracy | - | 50.0% (0.450) | - | - | - |" in printed.document([row])


def test_tables_are_those_of_the_published_runs():
    cells = read_csv(PUBLISHED / "printed.csv")
    assert (PUBLISHED / "printed.md").read_text() == printed.document(cells)
    assert min(row["intervals"] for row in cells) >= 100
    rows = read_csv(PUBLISHED / "caps.csv")
    assert (PUBLISHED / "caps.md").read_text() == caps.document(rows)
    assert (len(rows), sum(row["violations"] for row in rows)) == (200, 0)
    assert (min(r["rows"] for r in rows), max(r["rows"] for r in rows)) > (200, 90_000)


def test_the_printed_cap_is_never_exceeded(tmp_path, monkeypatch):
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        assert caps.measure(journal, tmp_path, 10, 1_000).startswith("0 violations in 10 streams")
    (row,) = [row for row in read_csv(tmp_path / "caps.csv") if row["stream"] == 0]
    assert row["labels"] <= row["printed"]
    lower = caps.printed
    monkeypatch.setattr(caps, "printed", lambda query, rows: lower(query, rows) * 0.5)
    assert caps.one(0, 1_000)["violations"] > 0


def test_a_model_without_a_doubt_can_be_wrong():
    """30 labels and no error among them: one of 300 rows that is wrong costs a loss of 36."""
    p, asked = np.zeros(300), np.arange(300) % 10 == 0
    true = (np.arange(300) == 1).astype(np.int64)
    q = np.full(300, 0.1)
    known = Scores.of_rows(p, q) + Scores.of_labels(p[asked], true[asked], q[asked])
    truth = Scores.of_rows(p, q) + Scores.of_labels(p, true, np.ones(300))
    assert truth.log_loss().value > 0.1
    assert known.log_loss().value == 0.0
    assert truth.log_loss().value in known.log_loss()
    assert truth.brier().value in known.brier()
    one = known + Scores.of_labels([0.0], [1], [0.1])
    assert known.log_loss().high < one.log_loss().high < 36.1


def test_labels_that_are_ranked_without_an_error_do_not_deny_it():
    rng = np.random.default_rng(3)
    y = (np.arange(2_000) % 3 == 0).astype(np.int64)
    p, asked = np.where(y > 0, 0.65, 0.35) + rng.uniform(-0.1, 0.1, 2_000), rng.random(2_000) < 0.1
    q = np.full(2_000, 0.1)
    found = Scores.of_rows(p, q) + Scores.of_labels(p[asked], y[asked], q[asked])
    assert found.average_precision().value < found.average_precision().high == 1.0


@pytest.mark.parametrize(
    ("spell", "rare", "least"),
    [(50, 0.01, 0.93), (50, 0.1, 0.93), (200, 0.01, 0.93), (200, 0.1, 0.93), (400, 0.1, 0.88)],
)
def test_differences_that_are_rare_or_come_in_long_spells_are_covered(spell, rare, least):
    """Differences of rare errors are skewed; spells of 200 rows are longer than a block of 150."""
    rng, runs, rows = np.random.default_rng(spell), 600, 3_000
    worse = np.cumsum(rng.random((runs, rows)) < 1.0 / spell, axis=1) + rng.integers(
        0, 2, (runs, 1)
    )
    apart = ((worse % 2 > 0) & (rng.random((runs, rows)) < rare)).astype(float)
    blocks = apart.reshape(runs, BLOCKS, -1).mean(axis=2)
    found = [of_blocks(row, np.full(BLOCKS, 1.0 / BLOCKS)) for row in blocks]
    assert np.mean([one.low <= rare / 2.0 <= one.high for one in found]) >= least


def test_the_service_is_not_measured_on_rows_without_a_prediction():
    replies = [{"ticket": t, "prediction": said} for t, said in enumerate([None, "b", "a", None])]
    assert coverage.correct(replies, ["b", "b", "b", "a"]) == [True, False]
