"""The last word: draws that nobody looked at while anything was built or chosen.

In each cell of the published table the Tracker meets the peer that was the best there under one
rule, with the parameters that it was tuned to there. A stream that has the same rows in every draw
is left out, and so is ``elec2``, whose segments overlap.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmark.contest import tuned_runs
from experiments.benchmark.streams import STREAMS
from experiments.benchmark.tables import FAR, OURS, Comparison, Row, cells, comparisons
from experiments.figures import interval
from experiments.forms.tables import markdown
from experiments.journal import Journal
from experiments.output import read_csv, write_csv

DRAWS = tuple(range(26, 31))
FEW = 0.2
LEFT_OUT = ("elec2", "noaa", "usenet1", "usenet2", "phishing")


def measure(journal: Journal, out: Path) -> str:
    """Run what is missing, write ``unseen.csv`` and ``unseen.md``, give the outcome in a line."""
    tuning = json.loads((out / "benchmark.json").read_text())["tuning"]
    met = [
        c
        for c in comparisons(cells(read_csv(out / "benchmark.csv")), one_rule=True)
        if c.stream not in LEFT_OUT and c.rate < 1.0
    ]
    plan = [
        (c.stream, name, c.rate, seed) for c in met for seed in DRAWS for name in (OURS, c.peer)
    ]
    rows = tuned_runs(journal, "unseen", plan, tuning, 1.0)
    write_csv(out / "unseen.csv", rows)
    compared = [_compared(rows, c) for c in met]
    (out / "unseen.md").write_text(document(met, compared))
    return summary(compared)


def _compared(rows: Sequence[Row], before: Comparison) -> Comparison:
    """The same cell in the unseen draws."""

    def of(name: str) -> Any:
        cell = (before.stream, name, before.rate)
        made = [r for r in rows if (r["stream"], r["learner"], r["rate"]) == cell]
        return np.array([row["accuracy"] for row in made])

    difference, half = interval(of(OURS) - of(before.peer))
    return before._replace(difference=difference, half=half)


def summary(compared: Sequence[Comparison]) -> str:
    """How many cells went which way."""
    ahead = sum(c.difference > 0.0 for c in compared)
    far = sum(c.difference < -FAR for c in compared)
    few = [c for c in compared if c.rate < FEW]
    return (
        f"Of {len(compared)} cells in draws that nobody looked at, {OURS} is ahead in {ahead}, "
        f"and behind by more than {FAR} in {far}; on average "
        f"{np.mean([c.difference for c in compared]):+.4f}. Below {FEW:.0%}: ahead in "
        f"{sum(c.difference > 0.0 for c in few)} of {len(few)}."
    )


def document(met: Sequence[Comparison], compared: Sequence[Comparison]) -> str:
    """The differences by stream and rate, with those of the draws that were looked at."""
    rates = sorted({c.rate for c in met})
    streams = [name for name in STREAMS if any(c.stream == name for c in met)]
    lines = []
    for stream in streams:
        line = [stream]
        for rate in rates:
            pairs = [
                f"{now.difference:+.3f} ({before.difference:+.3f})"
                for before, now in zip(met, compared, strict=True)
                if (now.stream, now.rate) == (stream, rate)
            ]
            line += pairs or [""]
        lines.append(line)
    table = markdown(["stream", *(f"{rate:g}" for rate in rates)], lines).rstrip("\n")
    return f"**{summary(compared)}** In brackets, the draws that were looked at.\n\n{table}\n"
