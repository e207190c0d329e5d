"""``python -m experiments labels``: the two studies, and their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.labels import doors, spark_job, unlabeled, words
from experiments.output import write_csv, write_json
from experiments.tables import Table
from experiments.whole import own_classes

Row = dict[str, Any]


def measure(out: Path, seeds: int, rows: int) -> str:
    """Both studies; gives what is worth a look."""
    out.mkdir(parents=True, exist_ok=True)
    spark = spark_job.session()
    through = [doors.compared(name, rows, spark) for name in own_classes.STREAMS]
    spark.stop()
    sparse = [words.compared(name, rows) for name in words.STREAMS]
    without = unlabeled.measure(seeds)
    short = unlabeled.summary(without)
    write_csv(out / "doors.csv", through)
    write_csv(out / "words.csv", sparse)
    write_csv(out / "unlabeled.csv", without)
    write_json(out / "labels.json", rows=rows, seeds=seeds, rate=doors.RATE)
    (out / "doors.md").write_text(table(through))
    (out / "words.md").write_text(table(sparse))
    (out / "unlabeled.md").write_text(table(short))
    both = [*through, *sparse]
    far = max(value for row in both for name, value in row.items() if name not in _PLAIN)
    covers = sum(row["covers"] for row in without) / len(without)
    return (
        f"{len(both)} streams: query probabilities differ by at most {far:.1e}; "
        f"with a tenth of the labels, {covers:.1%} of the intervals cover the truth"
    )


_PLAIN = ("stream", "classes", "queried", "words a row")


def table(rows: list[Row]) -> str:
    """Rows as a Markdown table."""
    head = list(rows[0])
    return Table(head, [[_cell(row[name]) for name in head] for row in rows]).markdown()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if 0.0 < abs(value) < 1e-6 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
