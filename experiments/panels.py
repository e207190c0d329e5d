"""The six panels of the paper's figure, each as tidy rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from experiments.contestants import ALL, SELECTIVE, SUPERVISED, Parameters
from experiments.datasets import draw
from experiments.journal import Journal, Task
from experiments.tuning import run, tune

STEP = 250  # rounds between two points of a curve; 500, where the first shift comes, is one
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


class Panel(NamedTuple):
    """What is drawn: accuracy against examples at one rate, or against the share asked."""

    dataset: str
    algorithms: tuple[str, ...]
    rates: tuple[float, ...]
    title: str

    @property
    def over_time(self) -> bool:
        """Whether there is one rate, and so a curve over the examples."""
        return len(self.rates) == 1

    @property
    def axis(self) -> str:
        """The column that its points are placed by."""
        return "t" if self.over_time else "rate"


PANELS = {
    "a": Panel("synthetic", tuple(SUPERVISED), (1.0,), "Synthetic, every label"),
    "b": Panel("synthetic", tuple(SELECTIVE), (0.1,), "Synthetic, 10 % of the labels"),
    "c": Panel("synthetic", tuple(SELECTIVE), RATES, "Synthetic"),
    "d": Panel("usps", tuple(SUPERVISED), (1.0,), "USPS, every label"),
    "e": Panel("synthetic", tuple(SELECTIVE), (0.4,), "Synthetic, 40 % of the labels"),
    "f": Panel("usps", tuple(SELECTIVE), RATES, "USPS"),
    # Not in the paper's figure: its remark on BBQ without drift, which it cites and does not show.
    "stationary": Panel("stationary", tuple(SELECTIVE), (0.1,), "Stationary, 10 % of the labels"),
}

Row = dict[str, Any]


def measure(
    dataset: str, algorithm: str, parameters: Parameters, number: int, size: float
) -> dict[str, Any]:
    """One run: the share asked, and the running average accuracy at the checkpoints."""
    stream = draw(dataset, number, size)
    records = run(ALL[algorithm], stream, parameters, seed=number)
    right = np.cumsum(~records.mistake)
    n = len(records)
    step = max(1, round(STEP * size))
    t = np.append(np.arange(step, n, step), n)
    accuracy = right[t - 1] / t
    return {
        "rate": records.rate,
        "t": t.tolist(),
        "accuracy": [round(float(value), 6) for value in accuracy],
    }


def tuned(journal: Journal, panel: Panel, size: float) -> dict[str, Any]:
    """The tuning of each algorithm at each rate, by ``algorithm@rate``."""
    cells = [(a, rate) for a in panel.algorithms for rate in panel.rates]
    tasks: list[Task] = [(tune, (panel.dataset, a, rate, size)) for a, rate in cells]
    results = journal.run(f"tuning {panel.title}", tasks)
    return {f"{a}@{rate}": result for (a, rate), result in zip(cells, results, strict=True)}


def rows(
    journal: Journal, panel: Panel, tuning: dict[str, Any], runs: int, size: float
) -> list[Row]:
    """Every algorithm, rate and run: a row for each checkpoint, or for each rate."""
    cells = [
        (a, rate, number)
        for a in panel.algorithms
        for rate in panel.rates
        for number in range(1, runs + 1)
    ]
    tasks: list[Task] = [
        (measure, (panel.dataset, a, tuning[f"{a}@{rate}"]["parameters"], number, size))
        for a, rate, number in cells
    ]
    results = journal.run(f"running {panel.title}", tasks)
    made: list[Row] = []
    for (algorithm, rate, number), result in zip(cells, results, strict=True):
        row = {"algorithm": algorithm, "run": number}
        achieved = round(result["rate"], 6)
        if panel.over_time:
            for t, accuracy in zip(result["t"], result["accuracy"], strict=True):
                made.append(row | {"t": t, "accuracy": accuracy, "achieved_rate": achieved})
        else:
            accuracy = result["accuracy"][-1]
            made.append(row | {"rate": rate, "accuracy": accuracy, "achieved_rate": achieved})
    return made
