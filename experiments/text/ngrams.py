"""Character n-grams beside words: what they are worth, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.journal import Journal, Task
from experiments.output import write_csv
from experiments.text import command
from experiments.text.command import table, times
from experiments.text.learners import FEW, OURS_FEW, tracker
from experiments.text.streams import texts

STREAMS = ("youtube", "sms", "enron1", "spamassassin")
RATES = (0.05, 0.1, 0.3)
FORMS = {OURS_FEW: None, "n-grams of 3-5": (3, 5), "n-grams of 4-5": (4, 5)}
Row = dict[str, Any]


def one(stream: str, form: str, size: float, seeds: int) -> list[Row]:
    """All runs on one form of a stream, with the settings of the other tables."""
    X, y = texts(stream, size, FORMS[form])
    found = []
    for rate in RATES:
        for seed in range(1, seeds + 1):
            done = tracker(X, y, rate, seed, audit=FEW)
            found.append({
                "stream": stream, "learner": form, "rate": rate, "seed": seed,
                "accuracy": round(float(done.right.mean()), 5), "labels": done.labels,
                "microseconds": round(done.microseconds, 1),
                "words": round(X.nnz / X.shape[0], 1),
            })  # fmt: skip
    return found


def study(
    journal: Journal, out: Path, seeds: int, size: float, settings: bool, ngrams: bool
) -> str:
    """The comparison, the one that the settings were chosen by, or that of n-grams."""
    if ngrams:
        return measure(journal, out, seeds, size)
    return (command.settings if settings else command.measure)(journal, out, seeds, size)


def measure(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """CSV and tables; gives the tables."""
    tasks: list[Task] = [(one, (name, form, size, seeds)) for name in STREAMS for form in FORMS]
    rows = [row for some in journal.run("ngrams", tasks) for row in some]
    write_csv(out / "ngrams.csv", rows)
    made = document(rows)
    (out / "ngrams.md").write_text(made)
    return made


def document(rows: list[Row]) -> str:
    """Accuracy, and the time of a row."""
    return "\n".join([table(rows, RATES), "", times(rows), ""])
