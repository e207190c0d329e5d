"""What the Tracker says about drift, held against the truth of synthetic streams.

A switch counts as found when the present concept is believed to have begun after it. A false alarm
is a new believed beginning with no switch between it and the one before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import lasec
from experiments.benchmark.streams import draw
from experiments.figures import interval
from experiments.journal import Journal, Task
from lasec.streams import walking

STEP = 5  # rows between two looks
RATES = (0.1, 0.4, 1.0)
SPEEDS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07)


def watch(stream: Any, rate: float, seed: int) -> list[dict[str, float]]:
    """The estimates, every few rows."""
    X, y = stream
    tracker = lasec.Tracker(rate=rate, horizon=len(y), seed=seed)
    seen = []
    for begin in range(0, len(y), STEP):
        tracker.run(X[begin : begin + STEP], y[begin : begin + STEP])
        seen.append({"round": tracker.rows, **tracker.drift_estimate._asdict()})
    return seen


def switches(stream: str, rate: float, seed: int, size: float) -> dict[str, Any]:
    """Delay of each switch that was found before the next, those that were not, false alarms."""
    rows = draw(stream, seed, size)
    truth = [*(np.flatnonzero(np.diff(rows.concept)) + 1).tolist(), len(rows.y)]
    seen = watch(rows, rate, seed)
    delays, missed = [], 0
    for at, following in pairwise(truth):
        found = [b["round"] - at for b in seen if at < b["round"] <= following and b["since"] >= at]
        delays += found[:1]
        missed += not found
    alarms, last = 0, 0
    for belief in seen:
        if belief["since"] > last:
            alarms += not any(last <= at <= belief["since"] for at in truth[:-1])
            last = int(belief["since"])
    return {"delays": delays, "missed": missed, "alarms": alarms, "rounds": len(rows.y)}


def speed(walk: float, rate: float, seed: int, size: float) -> dict[str, float]:
    """The estimated drift per row over the second half, and the true one."""
    rows = walking(round(10_000 * size), dimension=50, speed=walk, seed=seed)
    seen = watch(rows, rate, seed)
    late = [b["drift"] for b in seen[len(seen) // 2 :]]
    return {"truth": walk**2 / (1.0 + walk**2), "drift": float(np.mean(late))}


def measure(journal: Journal, seeds: int, size: float) -> dict[str, list[dict[str, Any]]]:
    """Rows on switches, and rows on slow drift."""
    streams = ("switch", "switch-noise", "stationary", "stationary-noise")
    cells = [(s, r, n) for s in streams for r in RATES for n in range(1, seeds + 1)]
    tasks: list[Task] = [(switches, (*cell, size)) for cell in cells]
    names = ("stream", "rate", "seed")
    found = [
        dict(zip(names, cell, strict=True)) | result
        for cell, result in zip(cells, journal.run("switches", tasks), strict=True)
    ]
    walks = [(w, r, n) for w in SPEEDS for r in RATES for n in range(1, seeds + 1)]
    tasks = [(speed, (*cell, size)) for cell in walks]
    slow = [
        dict(zip(("speed", "rate", "seed"), cell, strict=True)) | result
        for cell, result in zip(walks, journal.run("slow drift", tasks), strict=True)
    ]
    return {"switches": found, "drift": slow}


def table(rows: list[dict[str, Any]]) -> str:
    """Switches found, delay, false alarms."""
    lines = [
        "| stream | rate | switches found | median delay (quartiles), rounds | in labels "
        "| false alarms in 10,000 rounds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cell in dict.fromkeys((row["stream"], row["rate"]) for row in rows):
        group = [row for row in rows if (row["stream"], row["rate"]) == cell]
        delays = [delay for row in group for delay in row["delays"]]
        total = len(delays) + sum(row["missed"] for row in group)
        low, middle, high = np.percentile(delays, [25, 50, 75]) if delays else (0, 0, 0)
        alarms, half = interval([1e4 * row["alarms"] / row["rounds"] for row in group])
        shown = f"{middle:.0f} ({low:.0f}, {high:.0f})" if delays else "-"
        labels = f"{middle * cell[1]:.0f}" if delays else "-"
        found = f"{len(delays)} of {total}" if total else "none to find"
        entries = (cell[0], f"{cell[1]:g}", found, shown, labels, f"{alarms:.1f} ± {half:.1f}")
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"
