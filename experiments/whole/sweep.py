"""Every learner on every stream at every rate, as tasks of the journal; and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.contestants import Parameters
from experiments.journal import Journal, Task
from experiments.real import KNOWN
from experiments.whole.learners import LEARNERS, seeds_of, whole_run

Row = dict[str, Any]


class Sweep(NamedTuple):
    """What is run."""

    streams: Sequence[str]
    learners: Sequence[str]
    rates: Sequence[float]
    seeds: int
    size: float


def rows(journal: Journal, sweep: Sweep) -> tuple[list[Row], dict[str, Any]]:
    """A row a run; and what was chosen in hindsight, by ``stream/learner@rate``."""
    made: list[Row] = []
    chosen: dict[str, Any] = {}
    for stream in sweep.streams:  # one stream at a time is in memory
        for learner in sweep.learners:
            best = _chosen(journal, sweep, stream, learner)
            chosen |= {f"{stream}/{learner}@{rate:g}": p for rate, p in best.items() if p}
            made += _runs(journal, sweep, stream, learner, best)
    return made, chosen


def _chosen(journal: Journal, sweep: Sweep, stream: str, learner: str) -> dict[float, Parameters]:
    """The best point of the grid at each rate, with the coins of seed 1."""
    grid = LEARNERS[learner].grid(stream)
    if len(grid) == 1:
        return dict.fromkeys(sweep.rates, grid[0])
    best = {}
    for rate in sweep.rates:
        tasks: list[Task] = [
            (whole_run, (stream, learner, rate, point, 1, sweep.size)) for point in grid
        ]
        results = journal.run(f"{stream} {learner} {rate:g}", tasks)
        accuracies = [result["accuracy"] for result in results]
        best[rate] = grid[accuracies.index(max(accuracies))]
    return best


def _runs(
    journal: Journal, sweep: Sweep, stream: str, learner: str, best: dict[float, Parameters]
) -> list[Row]:
    """The measured runs of a learner on a stream."""
    rounds = KNOWN[stream].rows
    cells = [
        (stream, learner, rate, best[rate], seed, sweep.size)
        for rate in sweep.rates
        for seed in seeds_of(learner, rounds, rate, sweep.seeds)
    ]
    tasks: list[Task] = [(whole_run, cell) for cell in cells]
    results = journal.run(f"{stream} {learner}", tasks)
    return [
        {"stream": stream, "learner": learner, "rate": rate, "seed": seed} | result
        for (_, _, rate, _, seed, _), result in zip(cells, results, strict=True)
    ]
