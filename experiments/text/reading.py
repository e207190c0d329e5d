"""Reading and learning a file of texts, against Vowpal Wabbit on the same file in the same run.

A file has a line for each text, as Vowpal Wabbit reads it: ``-1 |w see you at lunch``. Vowpal
Wabbit reads it by itself, with its own hash into 2^18 columns, and learns every label. lasec reads
lines in Python, hashes them with :class:`lasec.TextHasher` and runs 2,000 at a time. Times are CPU
times of the whole process, all threads included; the contestants take turns, and a ratio is one of
the same turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.data import data_folder
from experiments.output import write_csv, write_json
from experiments.real import open_dataset
from experiments.text.streams import PARTS

COLUMNS, CHUNK = 2**18, 2_000
STREAMS = ("spamassassin", "enron1", "sms", "100 words")
DRAWN, WORDS, VOCABULARY = 20_000, 100, 200_000
OURS = {
    "Tracker, 10 %": ("tracker", 0.1),
    "Tracker, 100 %": ("tracker", 1.0),
}
PEER = "Vowpal Wabbit"
Row = dict[str, Any]


def measure(out: Path, rounds: int, size: float) -> str:
    """CSV, JSON and a table of times and ratios; gives the table."""
    out.mkdir(parents=True, exist_ok=True)
    rows = list[Row]()
    for stream in STREAMS:
        path = out / "lines.vw"
        write_lines(path, *lines_of(stream, size))
        one_round(path)  # compiles, and fills the cache of the disk
        for number in range(rounds):
            rows += [{"stream": stream, "round": number, **row} for row in one_round(path)]
        path.unlink()
    write_csv(out / "reading.csv", rows)
    write_json(out / "reading.json", rounds=rounds, size=size, rows=summary(rows))
    made = table(summary(rows))
    (out / "reading.md").write_text(made + "\n")
    return made


def lines_of(stream: str, size: float) -> tuple[list[str], NDArray[np.float64]]:
    """The texts of a stream, or rows of 100 drawn words, and their labels."""
    if stream == "100 words":
        rng = np.random.default_rng(1)
        law = 1.0 / np.arange(10.0, VOCABULARY + 10.0)
        drawn = rng.choice(VOCABULARY, (round(DRAWN * size), WORDS), p=law / law.sum())
        concept = rng.normal(size=VOCABULARY)
        said = [" ".join(f"word{word}" for word in row) for row in drawn.tolist()]
        return said, np.where(concept[drawn].sum(axis=1) >= 0.0, 1.0, -1.0)
    data = open_dataset(stream, data_folder())
    parts = [data.features[part] for part in PARTS if part in data.features]
    rows = max(200, round(len(parts[0]) * size))
    joined = [" ".join(map(str, text)) for text in zip(*parts, strict=True)][:rows]
    return joined, np.where(np.asarray(data.columns[data.label])[:rows] == 1, 1.0, -1.0)


def write_lines(path: Path, texts: list[str], y: NDArray[np.float64]) -> None:
    """A file that both can read, of the words of each text."""
    hasher = lasec.TextHasher()
    with open(path, "w", encoding="utf-8") as file:
        for text, label in zip(texts, y, strict=True):
            file.write(f"{label:+.0f} |w {' '.join(hasher.words(text))}\n")


def one_round(path: Path) -> list[Row]:
    """Microseconds a row of each contestant, in turn."""
    found = [_ours(name, path) for name in OURS]
    spent, rows = _peer(path), found[0]["rows"]
    return [*found, {"learner": PEER, "rows": rows, "words": found[0]["words"],
                     "reading": "", "learning": "", "all": 1e6 * spent / rows}]  # fmt: skip


def chunks(path: Path) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
    """The texts and labels of a file, some at a time."""
    with open(path, encoding="utf-8") as file:
        while lines := list(islice(file, CHUNK)):
            parts = [line.partition(" |w ") for line in lines]
            yield [text for _, _, text in parts], np.array([float(label) for label, _, _ in parts])


def _ours(name: str, path: Path) -> Row:
    """A learner of ours: reading and hashing, learning, and both."""
    algorithm, rate = OURS[name]
    learner = lasec.make(algorithm, COLUMNS, rate=rate, seed=1, sparse=True)
    hasher, learning, pairs = lasec.TextHasher(COLUMNS), 0.0, 0
    begin = time.process_time()
    for texts, y in chunks(path):
        X = hasher.rows(texts)
        pairs += X.nnz
        before = time.process_time()
        learner.run(X, y)
        learning += time.process_time() - before
    spent, rows = time.process_time() - begin, learner.rows
    us = 1e6 / rows
    return {
        "learner": name, "rows": rows, "words": round(pairs / rows, 1),
        "reading": us * (spent - learning), "learning": us * learning, "all": us * spent,
    }  # fmt: skip


def _peer(path: Path) -> float:
    """CPU seconds of Vowpal Wabbit."""
    from vowpalwabbit import Workspace  # noqa: PLC0415, not everybody has it

    begin = time.process_time()
    Workspace(data=str(path), b=18, loss_function="logistic", quiet=True).finish()
    return time.process_time() - begin


def summary(rows: list[Row]) -> list[Row]:
    """Medians over the rounds, with the smallest and the largest ratio to Vowpal Wabbit."""
    peers = {(row["stream"], row["round"]): row["all"] for row in rows if row["learner"] == PEER}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["stream"], row["learner"]), []).append(row)
    found = []
    for (stream, learner), some in groups.items():
        ratios = [row["all"] / peers[stream, row["round"]] for row in some]
        times = {
            part: "" if learner == PEER and part != "all"
            else round(float(np.median([row[part] for row in some])), 1)
            for part in ("reading", "learning", "all")
        }  # fmt: skip
        found.append({
            "stream": stream, "learner": learner, "words": some[0]["words"], **times,
            "ratio": round(float(np.median(ratios)), 2), "least": round(min(ratios), 2),
            "most": round(max(ratios), 2),
        })  # fmt: skip
    return found


def table(rows: list[Row]) -> str:
    """A line for each stream and learner."""
    lines = [
        ["stream (words in a row)", "learner", "reading", "learning", "both", "ratio (range)"],
        ["---", "---", "---:", "---:", "---:", "---:"],
    ]
    for row in rows:
        ratio = f"{row['ratio']:.2f} ({row['least']:.2f} to {row['most']:.2f})"
        stream = f"{row['stream']} ({row['words']:.0f})"
        times = [str(row[part]) for part in ("reading", "learning", "all")]
        lines.append([stream, row["learner"], *times, "1" if row["learner"] == PEER else ratio])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
