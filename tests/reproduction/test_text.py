"""The study of text streams, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.output import read_csv
from experiments.text import command, large, ngrams, reading
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


def test_a_table_has_means_and_intervals():
    rows = [
        {"stream": s, "learner": n, "rate": r, "accuracy": 0.8 + 0.1 * seed, "labels": 5,
         "microseconds": 10.0 + seed, "words": 3.0}
        for n in (OURS, OURS_FEW) for s in STREAMS for r in command.RATES for seed in (0, 1)
    ]  # fmt: skip
    lines = command.table(rows, command.RATES).splitlines()
    assert len(lines) == 2 + 2 * len(STREAMS)
    assert lines[2].startswith(f"| {STREAMS[0]} | {OURS} | 0.850 ± 0.635")
    assert sum("(unseen)" in line for line in lines) == 2 * len(UNSEEN)
    assert command.times(rows).splitlines()[3] == f"| {OURS} | 10 | 10 | 10 | 10 | 10 |"


def test_what_is_published_follows_from_its_rows():
    rows, grown = read_csv(PUBLISHED / "text.csv"), read_csv(PUBLISHED / "memory.csv")
    page = (PUBLISHED / "text.md").read_text()
    assert command.table(rows, command.RATES) in page
    assert command.times(rows) in page
    assert {row["learner"] for row in rows} == set(LEARNERS)
    assert [row["words"] for row in grown] == sorted(row["words"] for row in grown[:6]) * 2


def test_what_is_published_of_ngrams_follows_from_its_rows():
    rows = read_csv(PUBLISHED / "ngrams.csv")
    assert (PUBLISHED / "ngrams.md").read_text() == ngrams.document(rows)
    assert {(row["stream"], row["learner"]) for row in rows} == {
        (stream, form) for stream in ngrams.STREAMS for form in ngrams.FORMS
    }


@pytest.mark.parametrize("name", STREAMS)
def test_real_texts(name, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    X, y = texts(name, 0.02)
    assert X.shape == (len(y), 2**18)
    assert X.nnz > 5 * len(y)


def test_a_file_is_read_and_learned_beside_vowpal_wabbit(tmp_path, monkeypatch):
    pytest.importorskip("vowpalwabbit")
    name = "Tracker, 10 %"
    monkeypatch.setattr(reading, "OURS", {name: reading.OURS[name]})
    monkeypatch.setattr(reading, "STREAMS", ("100 words",))
    monkeypatch.setattr(reading, "VOCABULARY", 500)
    made = reading.measure(tmp_path, rounds=1, size=0.02)
    ours, peer = read_csv(tmp_path / "reading.csv")
    assert (ours["learner"], peer["learner"]) == (name, reading.PEER)
    assert ours["rows"] == 400
    assert ours["all"] == pytest.approx(ours["reading"] + ours["learning"])
    assert len(made.splitlines()) == 4
    assert not (tmp_path / "lines.vw").exists()


def test_a_file_of_lines_has_the_words_and_labels(tmp_path):
    said, y = reading.lines_of("100 words", size=0.15)
    reading.write_lines(tmp_path / "lines", [*said, "Don't: PANIC|é"], np.append(y, -1.0))
    found = list(reading.chunks(tmp_path / "lines"))
    assert [len(texts) for texts, _ in found] == [2_000, 1_001]
    assert found[1][0][-1].split() == ["don", "t", "panic", "é"]
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in found])[:-1], y)


def test_ratios_are_those_of_the_same_round():
    rows = [
        {"stream": "sms", "round": k, "learner": name, "rows": 5, "words": 9.0, "reading": 1.0,
         "learning": 2.0, "all": all_}
        for k, times in enumerate([(8.0, 4.0), (3.0, 1.0), (2.0, 2.0)])
        for name, all_ in zip(("Tracker", reading.PEER), times, strict=True)
    ]  # fmt: skip
    ours, _ = reading.summary(rows)
    assert (ours["ratio"], ours["least"], ours["most"], ours["all"]) == (2.0, 1.0, 3.0, 3.0)


def test_a_large_stream_has_rare_and_frequent_columns():
    rng = np.random.default_rng(0)
    X, y = large.draw(rng, rng.normal(size=large.OFTEN), 300)
    assert X.has_canonical_format
    assert 95 < X.nnz / 300 < 104
    seen = np.bincount(np.unique(X.indices, return_counts=True)[1])
    assert seen.size > 100  # one is in every second row, or more
    assert seen[1] > 0.5 * seen.sum()  # and most in one
    assert set(y) == {-1.0, 1.0}


def test_the_verdict_compares_the_last_tenth_with_the_others():
    part = {"microseconds": 50.0, "state_mb": 12.0, "seen": 100_000}
    slow = part | {"microseconds": 70.0}
    assert "0.71 times the median of those before, flat" in large.verdict([part, slow, part])
    assert "not flat (the limit is 1.25); at most 70 us" in large.verdict([part, part, slow])
    assert "120 bytes for each" in large.verdict([part, part, part])


def test_published_times_follow_from_their_rows():
    parts = read_csv(PUBLISHED / "large.csv")
    page = f"{large.table(parts)}\n\n{large.verdict(parts)}\n"
    assert (PUBLISHED / "large.md").read_text() == page
    rows = reading.summary(read_csv(PUBLISHED / "reading.csv"))
    assert (PUBLISHED / "reading.md").read_text() == reading.table(rows) + "\n"


def test_real_texts_with_ngrams(data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    found = [texts("sms", 0.02, lengths).X.nnz for lengths in ngrams.FORMS.values()]
    assert found[0] < found[2] < found[1]
