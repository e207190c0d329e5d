"""Two ways to choose the parameters of an algorithm at a query rate.

``once``, the paper's: b and c are tuned on one draw of the data with every label queried, and the
one parameter that controls the query rate is set to reach each rate. What a paper publishes in
place of tuning (:data:`experiments.contestants.PUBLISHED`) is taken as it is.

``per-rate``, ours: b and c are tuned again at every query rate, for every algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.contestants import PUBLISHED, Parameters
from experiments.journal import Journal, Task
from experiments.own import Method, find, label
from experiments.tuning import calibrate, tune

ONCE, PER_RATE = "once", "per-rate"
TITLES = {ONCE: "tuned once", PER_RATE: "re-tuned at each rate"}

Choice = dict[str, Any]  # parameters, trials and edges, by "algorithm@rate"


def choose(
    journal: Journal,
    protocol: str,
    dataset: str,
    methods: Sequence[Method],
    rates: Sequence[float],
    size: float,
) -> Choice:
    """The parameters of each algorithm at each rate, under one protocol."""
    ways = {ONCE: _once, PER_RATE: _per_rate}
    return ways[protocol](journal, dataset, methods, rates, size)


def _per_rate(
    journal: Journal, dataset: str, methods: Sequence[Method], rates: Sequence[float], size: float
) -> Choice:
    cells = [(method, rate) for method in methods for rate in rates]
    tasks: list[Task] = [(tune, (dataset, method, rate, size)) for method, rate in cells]
    results = journal.run(f"tuning {dataset}, at each rate", tasks)
    return {_cell(*cell): result for cell, result in zip(cells, results, strict=True)}


def _once(
    journal: Journal, dataset: str, methods: Sequence[Method], rates: Sequence[float], size: float
) -> Choice:
    free = [method for method in methods if (dataset, label(method)) not in PUBLISHED]
    tasks: list[Task] = [(tune, (dataset, method, 1.0, size)) for method in free]
    tuned = journal.run(f"tuning {dataset}, once", tasks)
    made = {f"{label(m)}@tuning": result for m, result in zip(free, tuned, strict=True)}
    fixed = {label(method): PUBLISHED.get((dataset, label(method)), {}) for method in methods}
    for method, result in zip(free, tuned, strict=True):
        fixed[label(method)] = _without_knob(method, result["parameters"])
    cells = [(method, rate) for method in methods for rate in rates]
    tasks = [(calibrate, (dataset, m, rate, fixed[label(m)], size)) for m, rate in cells]
    found = journal.run(f"setting query rates, {dataset}", tasks)
    return made | {_cell(*cell): trial for cell, trial in zip(cells, found, strict=True)}


def _without_knob(method: Method, parameters: Parameters) -> Parameters:
    knob = find(method).knob
    return {k: v for k, v in parameters.items() if knob is None or k != knob.name}


def _cell(method: Method, rate: float) -> str:
    return f"{label(method)}@{rate}"
