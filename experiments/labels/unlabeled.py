"""Streams of which nine in ten labels were removed at random: how good the estimate still is.

The truth is the accuracy over all rows, by the labels that were removed, too. Every learner sees
the same rows, and other labels in each draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lasec
from experiments.whole.own_classes import labeled

STREAMS = ("elec2", "covertype", "phishing", "powersupply", "usps")
ROWS, RATE, KEPT = 10_000, 0.3, 0.1

Row = dict[str, Any]


def drawn(name: str, seed: int) -> Row:
    """One draw: what is estimated, and what is true."""
    X, y = labeled(name, 1.0)
    X, y = X[:ROWS], y[:ROWS].astype(str)
    known = np.random.default_rng(seed).random(len(y)) < KEPT
    labels = y.astype(object)
    labels[~known] = None
    tracker = lasec.Tracker(X.shape[1], rate=RATE, seed=seed, classes=sorted(set(y.tolist())))
    run = lasec.evaluate(tracker, X, labels)
    truth, found = float(np.mean(run.records.label == y)), run.estimate
    return {
        "stream": name, "seed": seed, "rows": run.rows, "predicted": len(run.records),
        "labels": found.labels, "truth": truth, "estimate": found.value,
        "width": found.width, "covers": truth in found,
    }  # fmt: skip


def measure(seeds: int) -> list[Row]:
    """A row for each stream and draw."""
    return [drawn(name, seed) for name in STREAMS for seed in range(1, seeds + 1)]


def summary(rows: list[Row]) -> list[Row]:
    """The means of each stream, and how often the interval covers the truth."""
    made = []
    for name in STREAMS:
        of = [row for row in rows if row["stream"] == name]
        mean = {key: float(np.mean([row[key] for row in of])) for key in of[0] if key != "stream"}
        bias = [row["estimate"] - row["truth"] for row in of]
        made.append({
            "stream": name, "rows": round(mean["rows"]), "labels": round(mean["labels"]),
            "accuracy of all rows": mean["truth"], "estimated": mean["estimate"],
            "bias": float(np.mean(bias)),
            "two standard errors": 2.0 * float(np.std(bias)) / len(bias) ** 0.5,
            "width": mean["width"], "coverage": mean["covers"], "draws": len(of),
        })  # fmt: skip
    return made
