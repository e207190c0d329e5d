"""How wide the intervals of windows are, how often they cover, and what the model learned.

The Tracker, with more or fewer of its labels spread evenly over all rows, against the same rule
asked uniformly, on the same draws of the benchmark's streams. A window has 2,000 rows (a shorter
stream is one window); its interval is that of the accuracy at 95 %. Uniform asking has a random
number of labels: its width is scaled to the number that the Tracker asked.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import lasec
from experiments.benchmark.streams import draw, missing
from experiments.journal import Journal, Task
from lasec.metrics import means, sums
from lasec.queries import Budgeted, Uniform

ROWS = 2_000
UNIFORM = "uniform"
DEFAULT = Budgeted().audit

Row = dict[str, Any]


class Plan(NamedTuple):
    """Which streams, at which label rates and shares of audit, how many draws, how shortened."""

    streams: list[str]
    rates: list[float]
    audits: list[float]
    seeds: int
    size: float = 1.0


class Measured(NamedTuple):
    """One run: its accuracy, labels, the mean width of its windows, and how many covered."""

    accuracy: float
    labels: int
    width: float
    covered: int
    windows: int


QUICK = Plan(
    ["switch", "slow", "stationary", "elec2", "noaa", "covertype", "usenet1", "phishing"],
    [0.02, 0.05, 0.1], [DEFAULT], 2,
)  # fmt: skip


def window_widths(
    stream: str, asking: str, rate: float, seed: int, size: float
) -> list[float | int]:
    """One run, asked uniformly or with a share of audit."""
    X, y = draw(stream, seed, size)
    query: Any = Uniform(rate)
    if asking != UNIFORM:
        query = Budgeted(rate, audit=float(asking), horizon=len(y))
    options: Any = {"dimension": X.shape[1], "seed": seed, "learn_from": "labels"}
    return list(measured(lasec.Learner(lasec.rules.Tracking(), query, **options).run(X, y)))


def measured(records: lasec.Records) -> Measured:
    """The windows of a run, each with its estimate and the truth."""
    asked, q, wrong = records.asked, records.propensity, records.mistake
    guess = sums.doubt(records.label, records.margin)
    table = sums.of_rows(guess, q)
    table[asked] += sums.of_answers(guess[asked], q[asked], wrong[asked])
    rows = min(ROWS, len(wrong))
    table[records.sign == 0] = 0.0  # no prediction yet: in no estimate
    widths, covered = [], 0
    for first in range(0, len(wrong) - rows + 1, rows):
        window = slice(first, first + rows)
        estimate = means.accuracy(table[window].sum(axis=0))
        widths.append(estimate.width)
        covered += float(1.0 - wrong[window].mean()) in estimate
    labels = int(asked.sum())
    return Measured(float(records.accuracy), labels, float(np.mean(widths)), covered, len(widths))


def measure(journal: Journal, plan: Plan) -> list[Row]:
    """A row for each stream, rate and share of audit: the mean over the draws."""
    known = [name for name in plan.streams if missing(name) is None]
    asking = [UNIFORM, *map(str, plan.audits)]
    cells = [
        (stream, how, rate, seed, plan.size)
        for seed in range(1, plan.seeds + 1)
        for stream in known
        for rate in plan.rates
        for how in asking
    ]
    tasks: list[Task] = [(window_widths, cell) for cell in cells]
    runs: dict[tuple[str, str, float], list[Measured]] = {}
    for cell, found in zip(cells, journal.run("widths", tasks), strict=True):
        runs.setdefault(cell[:3], []).append(Measured(*found))
    return [
        _row(stream, rate, audit, runs[stream, str(audit), rate], runs[stream, UNIFORM, rate])
        for stream in known
        for rate in plan.rates
        for audit in plan.audits
    ]


def _row(
    stream: str, rate: float, audit: float, ours: list[Measured], uniform: list[Measured]
) -> Row:
    labels = float(np.mean([run.labels for run in ours]))
    even = [run.width * math.sqrt(run.labels / labels) for run in uniform]
    numbers: dict[str, Any] = {
        "width": np.mean([run.width for run in ours]),
        "uniform width": np.mean(even),
        "coverage": sum(run.covered for run in ours) / sum(run.windows for run in ours),
        "accuracy": np.mean([run.accuracy for run in ours]),
        "uniform accuracy": np.mean([run.accuracy for run in uniform]),
    }
    about = {"stream": stream, "rate": rate, "audit": audit, "labels": labels}
    return about | {name: round(float(value), 6) for name, value in numbers.items()}


def summary(rows: list[Row]) -> str:
    """The outcome in a few lines."""
    ratio = [row["width"] / row["uniform width"] for row in rows]
    gain = [row["accuracy"] - row["uniform accuracy"] for row in rows]
    worst = max(zip(ratio, rows, strict=True), key=lambda pair: pair[0])[1]
    where = f"{worst['stream']} at {worst['rate']}"
    return (
        f"{len(rows)} cells: width {np.mean(ratio):.3f} of uniform asking's on average, "
        f"at most {max(ratio):.2f} ({where}); coverage "
        f"{np.mean([row['coverage'] for row in rows]):.1%}; accuracy {np.mean(gain):+.4f}"
    )


def quick(file: Path | None, jobs: int) -> str:
    """A few streams, two draws each: the rows as JSON, and the outcome in a few lines."""
    with TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl", jobs) as journal:
        rows = measure(journal, QUICK)
    if file is not None:
        file.write_text(json.dumps(rows, indent=1) + "\n")
    return summary(rows)
