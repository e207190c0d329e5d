"""Who meets whom: tuning and runs as tasks of the journal, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.benchmark.learners import LEARNERS
from experiments.benchmark.streams import STREAMS, prepared
from experiments.contestants import Parameters
from experiments.datasets import TUNING
from experiments.journal import Journal, Task
from experiments.tuning import SHORT, mean_square, search, winner

TRIES = 5
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
STANDARDISE = "standardise"

Row = dict[str, Any]
Cell = tuple[str, str, float, int]  # stream, learner, rate, draw


class Contest(NamedTuple):
    """Every learner on every stream at every rate, on the draws 1 to ``seeds``."""

    streams: Sequence[str]
    learners: Sequence[str]
    rates: Sequence[float]
    seeds: int
    size: float


def benchmark_run(
    stream: str, learner: str, rate: float, parameters: Parameters, seed: int, size: float
) -> tuple[float, float]:
    """One run: accuracy over all rows, and the share of labels that were used."""
    given = {key: value for key, value in parameters.items() if key != STANDARDISE}
    rows = prepared(stream, seed, size, parameters.get(STANDARDISE, False))
    accuracy, share = LEARNERS[learner].run(rows, rate, given, seed)
    return float(accuracy), float(share)


def benchmark_tune(stream: str, learner: str, rate: float, size: float) -> dict[str, Any]:
    """The best point of a learner's grid on the tuning draw."""
    points = grid(stream, learner, size)

    def measure(parameters: Parameters) -> tuple[float, float]:
        return benchmark_run(stream, learner, rate, parameters, TUNING, size)

    trials = search(points, measure, rate, LEARNERS[learner].knob, TRIES)
    return winner(trials, rate)._asdict() | {"points": len(points)}


def grid(stream: str, learner: str, size: float) -> list[Parameters]:
    """The points that are tried: on a real stream, as it is and standardised."""
    about = LEARNERS[learner]
    if about.grid is None:
        return [{}]
    points: list[Parameters] = []
    for standardise in (False, True) if STREAMS[stream].real else (False,):
        scale = mean_square(prepared(stream, TUNING, size, standardise))
        chosen = list(about.grid(scale))[:: about.thin]
        points += [{**point, STANDARDISE: standardise} for point in chosen]
    return points if size >= SHORT else points[::9]


def tuned(journal: Journal, contest: Contest) -> dict[str, Any]:
    """What tuning chose, by ``stream/learner@rate``; nothing for learners without a grid."""
    cells = [
        (stream, learner, rate)
        for stream in contest.streams
        for learner in contest.learners
        for rate in contest.rates
        if LEARNERS[learner].grid is not None
    ]
    tasks: list[Task] = [(benchmark_tune, (*cell, contest.size)) for cell in cells]
    results = journal.run("tuning", tasks)
    return {tuned_name(*cell): result for cell, result in zip(cells, results, strict=True)}


def rows(journal: Journal, contest: Contest, tuning: dict[str, Any]) -> list[Row]:
    """A row for each stream, learner, rate and draw, of those learners that were tuned there."""
    cells = [
        (stream, learner, rate, seed)
        for stream in contest.streams
        for seed in range(1, contest.seeds + 1)
        for learner in contest.learners
        for rate in contest.rates
        if LEARNERS[learner].grid is None or tuned_name(stream, learner, rate) in tuning
    ]
    made = tuned_runs(journal, "running", cells, tuning, contest.size)
    order = {name: place for place, name in enumerate(contest.streams)}
    who = {name: place for place, name in enumerate(contest.learners)}
    return sorted(made, key=lambda r: (order[r["stream"]], who[r["learner"]], r["rate"], r["seed"]))


def tuned_runs(
    journal: Journal, title: str, cells: Sequence[Cell], tuning: dict[str, Any], size: float
) -> list[Row]:
    """A row for each cell: a run with the parameters that were tuned for it."""
    tasks: list[Task] = []
    for stream, learner, rate, seed in cells:
        parameters = tuning.get(tuned_name(stream, learner, rate), {}).get("parameters", {})
        tasks.append((benchmark_run, (stream, learner, rate, parameters, seed, size)))
    return [
        {
            "stream": stream,
            "learner": learner,
            "rate": rate,
            "achieved_rate": round(share, 6),
            "seed": seed,
            "accuracy": round(accuracy, 6),
        }
        for (stream, learner, rate, seed), (accuracy, share) in zip(
            cells, journal.run(title, tasks), strict=True
        )
    ]


def tuned_name(stream: str, learner: str, rate: float) -> str:
    """Under what name the tuned parameters of a cell are kept."""
    return f"{stream}/{learner}@{rate}"
