"""How a run has cut its input into batches, and the same input in files that force those cuts.

Spark's file source notes which files come next before the batch itself is noted. A kill between the
two makes the next batch take twice as many files. Nothing is lost by that, but questions and labels
that were to meet in different batches now meet in one, and an undisturbed run does the same only if
it gets the same batches.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from experiments.spark.feed import write

SOURCES = ("events", "labels")
Cuts = list[tuple[tuple[str, ...], ...]]


def cuts(checkpoint: Path) -> Cuts:
    """The names of the files of each batch, source by source."""
    logs = [_log(checkpoint / "sources" / str(number)) for number in range(len(SOURCES))]
    made: Cuts = []
    last = [-1] * len(SOURCES)
    for batch in range(len(list((checkpoint / "offsets").glob("[0-9]*")))):
        lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()[2:]
        ends = [last[i] if line == "-" else json.loads(line)["logOffset"]
                for i, line in enumerate(lines)]  # fmt: skip
        made.append(tuple(
            tuple(sorted(name for name, at in log.items() if begin < at <= end))
            for log, begin, end in zip(logs, last, ends, strict=True)
        ))  # fmt: skip
        last = ends
    return made


def _log(where: Path) -> dict[str, int]:
    """The files that a source has taken, and in which of its own steps."""
    found = {}
    for file in where.glob("[0-9]*"):
        for line in file.read_text().splitlines()[1:]:
            entry = json.loads(line)
            found[entry["path"].rpartition("/")[2]] = int(entry["batchId"])
    return found


def recut(where: Path, made: Cuts, to: Path) -> None:
    """The input again, with one file for each source and batch."""
    for place, source in enumerate(SOURCES):
        (to / source).mkdir(parents=True)
        blank = pd.read_parquet(min((where / source).glob("*.parquet")))[:0]
        for batch, files in enumerate(made):
            frames = [pd.read_parquet(where / source / name) for name in files[place]]
            write(pd.concat([blank, *frames]) if frames else blank, to / source, batch)
