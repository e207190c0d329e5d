"""The study of text streams, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.output import read_csv
from experiments.text import command
from experiments.text.learners import LEARNERS, OURS, OURS_FEW
from experiments.text.streams import STREAMS, UNSEEN, Texts, texts

import lasec

PUBLISHED = Path(__file__).parents[2] / "docs/results/text"


@pytest.fixture
def stream(monkeypatch):
    """Texts that are spam where they have the word prize."""
    rng = np.random.default_rng(1)
    words = np.array(["prize", "lunch", "see", "you", "at", "noon", "the", "a", "win", "off"])
    said = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(400)]
    y = np.array([1.0 if "prize" in text else -1.0 for text in said])
    made = Texts(lasec.TextHasher().rows(said), y)
    monkeypatch.setattr(command, "texts", lambda name, size: made)
    return made


@pytest.mark.parametrize("learner", [OURS, OURS_FEW])
def test_the_tracker_learns_and_keeps_the_budget(stream, learner):
    found = command.one("sms", learner, 0.3, 1, 1.0)
    share = max(np.mean(stream.y > 0), np.mean(stream.y < 0))
    assert found["accuracy"] > share + 0.2
    assert abs(found["labels"] - 0.3 * 400) < 60
    assert found["words"] == round(stream.X.nnz / 400, 1)


def test_memory_follows_the_words(stream):
    rows = command.memory("sms", 0.1, 1.0)
    assert [row["rows"] for row in rows] == np.linspace(0, 400, 7).astype(int)[1:].tolist()
    assert rows[-1]["words"] == np.unique(stream.X.indices).size == 10
    assert rows[0]["labeled_words"] <= rows[-1]["labeled_words"] <= 13  # three of every row


def test_a_table_has_means_and_errors():
    rows = [
        {"stream": s, "learner": n, "rate": r, "accuracy": 0.8 + 0.1 * seed, "labels": 5,
         "microseconds": 10.0 + seed, "words": 3.0}
        for n in (OURS, OURS_FEW) for s in STREAMS for r in command.RATES for seed in (0, 1)
    ]  # fmt: skip
    lines = command.table(rows, command.RATES).splitlines()
    assert len(lines) == 2 + 2 * len(STREAMS)
    assert lines[2].startswith(f"| {STREAMS[0]} | {OURS} | 0.850 ± 0.050")
    assert sum("(unseen)" in line for line in lines) == 2 * len(UNSEEN)
    assert command.times(rows).splitlines()[3] == f"| {OURS} | 10 | 10 | 10 | 10 | 10 |"


def test_what_is_published_follows_from_its_rows():
    rows, grown = read_csv(PUBLISHED / "text.csv"), read_csv(PUBLISHED / "memory.csv")
    page = (PUBLISHED / "text.md").read_text()
    assert command.table(rows, command.RATES) in page
    assert command.times(rows) in page
    assert {row["learner"] for row in rows} == set(LEARNERS)
    assert [row["words"] for row in grown] == sorted(row["words"] for row in grown[:6]) * 2


@pytest.mark.parametrize("name", STREAMS)
def test_real_texts(name, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    X, y = texts(name, 0.02)
    assert X.shape == (len(y), 2**18)
    assert X.nnz > 5 * len(y)
