"""The six panels of the paper's figure, each as tidy rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments import protocols
from experiments.contestants import SELECTIVE, SUPERVISED
from experiments.journal import Journal, Task
from experiments.measuring import measure
from experiments.own import Method, label
from experiments.protocols import ONCE, PER_RATE
from experiments.published import Published, Row

# The lowest and the highest rate are there so that accuracies can be interpolated between them.
RATES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


class Panel(NamedTuple):
    """What is drawn: accuracy against examples at one query rate, or against the query rate."""

    dataset: str
    methods: tuple[Method, ...]
    rates: tuple[float, ...]
    title: str
    protocols: tuple[str, ...] = (ONCE, PER_RATE)

    @property
    def over_time(self) -> bool:
        """Whether there is one rate, and so a curve over the examples."""
        return len(self.rates) == 1

    @property
    def axis(self) -> str:
        """The column that its points are placed by."""
        return "t" if self.over_time else "rate"


ASKED, FULL = tuple(SELECTIVE), tuple(SUPERVISED)
PANELS = {
    "a": Panel("synthetic", FULL, (1.0,), "Synthetic, every label", (ONCE,)),
    "b": Panel("synthetic", ASKED, (0.1,), "Synthetic, query rate 0.1"),
    "c": Panel("synthetic", ASKED, RATES, "Synthetic"),
    "d": Panel("usps", FULL, (1.0,), "USPS, every label", (ONCE,)),
    "e": Panel("synthetic", ASKED, (0.4,), "Synthetic, query rate 0.4"),
    "f": Panel("usps", ASKED, RATES, "USPS"),
    # Not in the paper's figure: what it says of the setting without drift, and cites.
    "stationary": Panel("stationary", ASKED, (0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "Stationary"),
}

Choices = dict[str, protocols.Choice]  # by protocol


class Run(NamedTuple):
    """One run of a panel: its place in the tables, and the task that makes it."""

    protocol: str
    method: Method
    rate: float
    number: int
    task: Task


def choices(journal: Journal, panel: Panel, size: float) -> Choices:
    """The parameters of each algorithm at each rate, by protocol."""
    given = panel.dataset, panel.methods, panel.rates, size
    return {p: protocols.choose(journal, p, *given) for p in panel.protocols}


def runs(panel: Panel, chosen: Choices, count: int, size: float) -> list[Run]:
    """Every protocol, algorithm, rate and run."""
    made = []
    for protocol in panel.protocols:
        for method in panel.methods:
            for rate in panel.rates:
                parameters = chosen[protocol][f"{label(method)}@{rate}"]["parameters"]
                for number in range(1, count + 1):
                    task = (measure, (panel.dataset, method, parameters, number, size))
                    made.append(Run(protocol, method, rate, number, task))
    return made


def published(file: Path, panel: Panel, done: Sequence[Run]) -> Published:
    """A CSV with a row for each checkpoint of each run, or for each run at each rate."""
    heads = []
    for run in done:
        head = {"protocol": run.protocol, "algorithm": label(run.method), "run": run.number}
        heads.append(head if panel.over_time else head | {"rate": run.rate})
    columns = _checkpoints if panel.over_time else _at_the_end
    return Published(file, heads, [run.task for run in done], columns)


def _checkpoints(result: dict[str, Any]) -> list[Row]:
    names = ("t", "accuracy", "queries", "updates")
    return [{name: result[name][k] for name in names} for k in range(len(result["t"]))]


def _at_the_end(result: dict[str, Any]) -> list[Row]:
    counts = {name: result[name][-1] for name in ("accuracy", "queries", "updates")}
    return [counts | {"achieved_rate": result["rate"]}]
