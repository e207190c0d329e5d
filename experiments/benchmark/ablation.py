"""Why the Tracker is behind where it is: its parts changed one at a time, the same labels for all.

Labels are asked uniformly, so that the asking explains nothing. *Standardized* rows have no offset
that the intercept could take over (:mod:`lasec.rules.tracker.seen`). River's logistic regression
has the parameters that it was tuned to in the published benchmark.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import lasec
from experiments.benchmark.contest import benchmark_run, tuned_name
from experiments.benchmark.streams import prepared
from experiments.forms.tables import markdown
from experiments.journal import Journal, Task
from experiments.output import write_csv
from lasec.queries import Uniform
from lasec.rules import Tracking

STREAMS = ("phishing", "usenet1", "usenet2", "stationary", "elec2")
RATES = (0.01, 0.05, 0.1)
PEER = "river-lr"
USUAL = Tracking()
CHANGES: dict[str, dict[str, Any]] = {
    "Tracker": {},
    "prior 100": {"prior": 100.0},
    "prior 1": {"prior": 1.0},
    "no drift": {"drift": USUAL.drift / 1e4},
    "no change points": {"hazard": USUAL.hazard / 1e4},
    "less label noise": {"lapse": USUAL.lapse / 100.0},
}
STANDARDIZED = {"standardized": "Tracker", "standardized, prior 1": "prior 1"}


def ablation_run(stream: str, change: str, rate: float, seed: int) -> float:
    """The accuracy of a changed Tracker with labels asked uniformly."""
    rows = prepared(stream, seed, 1.0, change in STANDARDIZED)
    rule = Tracking(**CHANGES[STANDARDIZED.get(change, change)])
    options: Any = {"dimension": rows.X.shape[1], "learn_from": "labels", "seed": seed}
    learner = lasec.Learner(rule, Uniform(rate), **options)
    return float(learner.run(*rows).accuracy)


def measure(journal: Journal, out: Path, seeds: int) -> str:
    """Run what is missing, and write ``ablation.csv`` and ``ablation.md``."""
    tuning = json.loads((out / "benchmark.json").read_text())["tuning"]
    cells = [
        (stream, change, rate, seed)
        for stream in STREAMS
        for change in (*CHANGES, *STANDARDIZED, PEER)
        for rate in RATES
        for seed in range(1, seeds + 1)
    ]
    tasks: list[Task] = []
    for stream, change, rate, seed in cells:
        if change == PEER:
            given = tuning[tuned_name(stream, PEER, rate)]["parameters"]
            tasks.append((benchmark_run, (stream, PEER, rate, given, seed, 1.0)))
        else:
            tasks.append((ablation_run, (stream, change, rate, seed)))
    rows = [
        {
            **dict(zip(("stream", "change", "rate", "seed"), cell, strict=True)),
            "accuracy": round(found if isinstance(found, float) else found[0], 6),
        }
        for cell, found in zip(cells, journal.run("ablation", tasks), strict=True)
    ]
    write_csv(out / "ablation.csv", rows)
    (out / "ablation.md").write_text(document(rows))
    return f"{len(rows)} runs"


def document(rows: list[dict[str, Any]]) -> str:
    """Accuracy by change, a column for each stream and rate."""
    cells = list(dict.fromkeys((row["stream"], row["rate"]) for row in rows))
    changes = list(dict.fromkeys(row["change"] for row in rows))
    lines = []
    for change in changes:
        values = [
            np.mean(
                [
                    x["accuracy"]
                    for x in rows
                    if (x["stream"], x["rate"], x["change"]) == (*c, change)
                ]
            )
            for c in cells
        ]
        lines.append([change, *(f"{value:.3f}" for value in values)])
    return markdown(["", *(f"{s} {r:g}" for s, r in cells)], lines)
