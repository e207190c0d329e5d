"""What it costs when answers come late: accuracy against delay, and what is known meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import lasec
from experiments.figures import SETTINGS, interval, save
from experiments.intervals import budget
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.steady import Steady

DELAYS = (0, 10, 100, 1_000, 10_000)
RATE, ROUNDS, DIMENSION = 0.1, 20_000, 20
STREAMS = {
    "stationary": "one concept",
    "slow": "slow drift",
    "switch": "a new concept every 4,000 rounds",
    "elec2": "electricity prices (Elec2)",
}
LEARNERS = {"Tracker": "#D55E00", "LASEC": "#0072B2"}


def stream(name: str, seed: int) -> Any:
    """Rows and labels: synthetic ones, or the first of the file."""
    if name == "stationary":
        return lasec.streams.stationary(ROUNDS, dimension=DIMENSION, noise=0.05, seed=seed)
    if name == "slow":
        return lasec.streams.walking(ROUNDS, dimension=DIMENSION, speed=0.01, noise=0.05, seed=seed)
    if name == "switch":
        return lasec.streams.switching(
            ROUNDS, dimension=DIMENSION, every=4_000, noise=0.05, seed=seed
        )
    X, y = budget.draw(name, seed)
    return X[:ROUNDS], y[:ROUNDS]


def one(name: str, learner: str, delay: int, seed: int) -> dict[str, float]:
    """Accuracy and open questions of one learner on one draw, at 10 % of the labels."""
    X, y = stream(name, seed)
    made: lasec.Learner = (
        lasec.Tracker(rate=RATE, horizon=len(y), seed=seed, max_pending=10**6)
        if learner == "Tracker"
        else lasec.Learner(
            lasec.rules.SecondOrder(drift=0.001),
            Steady(RATE, float(len(y))),
            dimension=X.shape[1],
            seed=seed,
            max_pending=10**6,
        )
    )
    run = lasec.evaluate(made, X, y, delay=delay, every=len(y))
    return {
        "accuracy": run.records.accuracy,
        "labels": run.records.labels,
        "open": len(made.pending),
    }


def measure(journal: Journal, out: Path, seeds: int) -> str:
    """CSV, JSON and picture; gives the outcome in a sentence."""
    cells = [
        (name, learner, delay, seed)
        for name in STREAMS
        for learner in LEARNERS
        for delay in DELAYS
        for seed in range(1, (1 if name == "elec2" else seeds) + 1)
    ]
    tasks: list[Task] = [(one, cell) for cell in cells]
    keys = ("stream", "learner", "delay", "seed")
    rows = [
        dict(zip(keys, cell, strict=True)) | {k: round(v, 6) for k, v in result.items()}
        for cell, result in zip(cells, journal.run("delays", tasks), strict=True)
    ]
    write_csv(out / "delays.csv", rows)
    write_json(out / "delays.json", rate=RATE, rounds=ROUNDS, dimension=DIMENSION, seeds=seeds)
    picture(out, rows)
    return f"{len(rows)} runs are in {out / 'delays.csv'}"


def picture(out: Path, rows: list[dict[str, Any]]) -> None:
    """A panel for each stream, a line for each learner."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.0, 3.0), layout="constrained")
        grid = figure.subplots(1, len(STREAMS), sharey=True)
        for axes, (name, title) in zip(grid, STREAMS.items(), strict=True):
            for learner, colour in LEARNERS.items():
                found = [
                    interval(
                        [
                            row["accuracy"]
                            for row in rows
                            if (row["stream"], row["learner"], row["delay"])
                            == (name, learner, delay)
                        ]
                    )
                    for delay in DELAYS
                ]
                axes.errorbar(
                    range(len(DELAYS)), [mean for mean, _ in found], [half for _, half in found],
                    color=colour, marker="o", markersize=4, linewidth=1.4, label=learner,
                )  # fmt: skip
            axes.set_title(title, fontsize=9, loc="left")
            axes.set_xticks(range(len(DELAYS)), [f"{delay:,}" for delay in DELAYS], fontsize=8)
            axes.set_xlabel("delay of each answer, rounds")
        grid[0].set_ylabel("accuracy, 10 % of the labels")
        grid[-1].legend(loc="lower left", fontsize=8)
        save(figure, out / "delays")
