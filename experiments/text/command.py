"""Runs of all learners on all streams, and the tables of what they find."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

import lasec
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.text.learners import FEW, LEARNERS, OURS_FEW, PEERS, SETTINGS, tracker
from experiments.text.streams import SEEN, STREAMS, UNSEEN, texts
from lasec.nested import leaves

RATES, SETTING_RATES = (0.01, 0.05, 0.1, 0.3), (0.01, 0.05, 0.1)
DRAWS = {name: 3 if name.startswith("Vowpal") else 2 for name in PEERS}  # at most
FIRST = 101  # seeds from here on are for settings
MEMORY_STREAM, STEPS = "spamassassin", 6
Row = dict[str, Any]


def one(stream: str, learner: str, rate: float, seed: int, size: float) -> Row:
    """One run of a learner."""
    X, y = texts(stream, size)
    return _row(LEARNERS[learner](X, y, rate, seed), X)


def one_setting(stream: str, name: str, rate: float, seed: int, size: float) -> Row:
    """One run with other settings."""
    X, y = texts(stream, size)
    return _row(tracker(X, y, rate, seed, audit=FEW, **SETTINGS[name]), X)


def memory(stream: str, rate: float, size: float) -> list[Row]:
    """The state of a Tracker as the stream goes on: words, those with a label, megabytes."""
    X, y = texts(stream, size)
    made, found = lasec.Tracker(rate=rate, seed=1), list[Row]()
    cuts = np.linspace(0, len(y), STEPS + 1).astype(int)
    for begin, end in pairwise(cuts):
        made.run(X[begin:end], y[begin:end])
        words, places = made.state.columns.used[:2].tolist()
        megabytes = round(sum(array.nbytes for array in leaves(made.state)) / 1e6, 2)
        found.append({"rate": rate, "rows": int(end), "words": words, "labeled_words": places,
                      "megabytes": megabytes})  # fmt: skip
    return found


def measure(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """CSV, JSON and tables; gives the table of accuracies."""
    asked = [
        (stream, learner, rate, seed, size)
        for learner in LEARNERS
        for stream in STREAMS
        for rate in RATES
        for seed in range(1, min(seeds, DRAWS.get(learner, seeds)) + 1)
    ]
    rows = _run(journal, "text", one, asked)
    tasks: list[Task] = [(memory, (MEMORY_STREAM, rate, size)) for rate in (0.1, 1.0)]
    grown = [row for some in journal.run("memory", tasks) for row in some]
    write_csv(out / "text.csv", rows)
    write_csv(out / "memory.csv", grown)
    write_json(out / "text.json", seeds=seeds, size=size, means=means(rows))
    made = "\n".join([table(rows, RATES), "", times(rows), "", _memory_table(grown)])
    (out / "text.md").write_text(made + "\n")
    return made


def settings(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """The table that the settings were chosen by, with draws that nothing else is measured on."""
    asked = [
        (stream, name, rate, seed, size)
        for stream in SEEN
        for name in SETTINGS
        for rate in SETTING_RATES
        for seed in range(FIRST, FIRST + seeds)
    ]
    rows = _run(journal, "settings", one_setting, asked)
    write_csv(out / "settings.csv", rows)
    made = table(rows, SETTING_RATES)
    (out / "settings.md").write_text(made + "\n")
    return made


def means(rows: list[Row]) -> list[Row]:
    """Mean and half a 95 % interval over the seeds of each stream, learner and rate."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["stream"], row["learner"], row["rate"]), []).append(row)
    return [
        {
            "stream": stream,
            "learner": learner,
            "rate": rate,
            "accuracy": round(float(np.mean([row["accuracy"] for row in some])), 4),
            "half_width": round(_half_width([row["accuracy"] for row in some]), 4),
            "labels": round(float(np.mean([row["labels"] for row in some])), 1),
            "microseconds": round(min(row["microseconds"] for row in some), 1),
            "words": some[0]["words"],
        }
        for (stream, learner, rate), some in groups.items()
    ]


def table(rows: list[Row], rates: tuple[float, ...]) -> str:
    """Accuracy with its 95 % interval: a line for each stream and learner, a column a rate."""
    found = {(m["stream"], m["learner"], m["rate"]): m for m in means(rows)}
    lines = [
        ["stream", "learner", *(f"{100 * rate:g} %" for rate in rates)],
        ["---", "---", *["---:"] * len(rates)],
    ]
    pairs = dict.fromkeys((row["stream"], row["learner"]) for row in rows)
    for stream, learner in sorted(pairs, key=lambda pair: STREAMS.index(pair[0])):
        cells = [found[stream, learner, rate] for rate in rates]
        shown = [f"{cell['accuracy']:.3f} ± {cell['half_width']:.3f}" for cell in cells]
        mark = " (unseen)" if stream in UNSEEN else ""
        lines.append([stream + mark, learner, *shown])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times(rows: list[Row]) -> str:
    """CPU microseconds a row at 10 % of the labels, the least over the seeds."""
    found = {(m["stream"], m["learner"]): m for m in means(rows) if m["rate"] == 0.1}
    streams = list(dict.fromkeys(stream for stream, _ in found))
    lines = [
        ["microseconds a row", *streams],
        ["---", *["---:"] * len(streams)],
        ["words a row", *(f"{found[stream, OURS_FEW]['words']:.0f}" for stream in streams)],
    ]
    for learner in dict.fromkeys(learner for _, learner in found):
        cells = (found[stream, learner]["microseconds"] for stream in streams)
        lines.append([learner, *(f"{cell:.0f}" for cell in cells)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _memory_table(rows: list[Row]) -> str:
    names = ("rate", "rows", "words", "labeled_words", "megabytes")
    lines = [["label budget", "rows", "words", "words with a label", "MB"], ["---:"] * 5]
    lines += [[f"{row[name]:,}" for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _row(done: Any, X: Any) -> Row:
    return {
        "accuracy": round(float(done.right.mean()), 5),
        "labels": done.labels,
        "microseconds": round(done.microseconds, 1),
        "words": round(X.nnz / X.shape[0], 1),
    }


def _half_width(values: list[float]) -> float:
    """Half of Student's interval for the mean over all seeds."""
    if len(values) < 2:
        return 0.0
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return float(student.ppf(0.975, len(values) - 1) * error)


def _run(journal: Journal, title: str, function: Any, asked: list[tuple[Any, ...]]) -> list[Row]:
    tasks: list[Task] = [(function, cell) for cell in asked]
    keys = ("stream", "learner", "rate", "seed")
    found = journal.run(title, tasks)
    return [
        dict(zip(keys, cell, strict=False)) | result
        for cell, result in zip(asked, found, strict=True)
    ]
