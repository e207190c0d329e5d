"""The learners of the benchmark: one line each.

Everything with a grid is tuned for each stream and label rate on draw 0, which is not measured on.
On real streams each point of a grid is tried on the rows as they are and on rows standardised as
they come. Of the many points of LASEC's grid every third is tried, and a knob gets five tries.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import lasec
from experiments.benchmark import baselines, moa, paced, papers, riverside, wabbit
from experiments.contestants import SELECTIVE, Contestant, Knob, Parameters
from experiments.tuning import run
from lasec.streams import Stream

Run = Callable[[Stream, float, Parameters, int], tuple[float, float]]
Grid = Callable[[float], Iterable[Parameters]]


class Learner(NamedTuple):
    """How it runs: stream, rate, parameters and seed to accuracy and share of labels asked.

    ``family`` is ours, paper, peer or baseline; without a ``grid`` nothing is tuned; ``thin`` tries
    only every so many points of it; ``modules`` is what must be installed. ``steady`` learners
    spend their labels evenly: they ask uniformly, or on the label budget of the Tracker.
    """

    family: str
    run: Run
    grid: Grid | None = None
    knob: Knob | None = None
    thin: int = 1
    modules: tuple[str, ...] = ()
    steady: bool = False


def missing(name: str) -> str | None:
    """Why this learner cannot run here, or None."""
    modules = LEARNERS[name].modules
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"learner {name} needs {module}, which is not installed (group peers)"
    if "capymoa" in modules and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return f"learner {name} needs Java, which is not installed"
    return None


def _tracker(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    records = lasec.Tracker(rate=rate, horizon=len(stream.y), seed=seed).run(*stream)
    return records.accuracy, records.rate


def _published(
    stream: Stream, rate: float, parameters: Parameters, seed: int, contestant: Contestant
) -> tuple[float, float]:
    records = run(contestant, stream, parameters, seed)
    return records.accuracy, records.rate


def _contestant(name: str, thin: int = 1) -> Learner:
    """An algorithm of the paper's panels."""
    contestant = SELECTIVE[name]._replace(unit_rows=False)  # rows are scaled or not by the grid
    runs = partial(_published, contestant=contestant)
    return Learner("paper", runs, contestant.grid, contestant.knob, thin)


def _peer(runs: Run, grid: Grid, *modules: str, knob: Knob | None = None) -> Learner:
    return Learner("peer", runs, grid, knob, modules=modules)


def _steady(runs: Run, grid: Grid | None, *modules: str) -> Learner:
    """A peer that asks uniformly, or a peer or paper on the label budget of the Tracker."""
    return Learner("peer", runs, grid, modules=modules, steady=True)


_DELTA = Knob("delta")
_EAGERNESS = Knob("eagerness", low=1e-5, high=1e4)
_MELLOWNESS = Knob("mellowness", ask_always=1e3, low=1e-14, high=1e2)

LEARNERS = {
    "tracker": Learner("ours", _tracker),
    "lasec-ss": _contestant("LASEC-SS", thin=3),
    "sop-ss": _contestant("SOP-SS"),
    "bbq-i": _contestant("BBQ-I"),
    "soal": Learner("paper", papers.run_soal, papers.grid_soal, _DELTA),
    "paa": Learner("paper", papers.run_paa, papers.grid_paa, _DELTA),
    "river-lr": _steady(riverside.logistic, riverside.grid_logistic, "river"),
    "river-lr-entropy": _peer(riverside.entropy, riverside.grid_asking, "river", knob=_EAGERNESS),
    "river-pa": _steady(riverside.passive_aggressive, riverside.grid_passive_aggressive, "river"),
    "river-ddm": _steady(riverside.ddm, riverside.grid_ddm, "river"),
    "river-adwin": _steady(riverside.adwin, riverside.grid_adwin, "river"),
    "vw": _steady(wabbit.uniform, wabbit.grid, "vowpalwabbit"),
    "vw-active": _peer(wabbit.active, wabbit.grid_active, "vowpalwabbit", knob=_MELLOWNESS),
    "skactiveml-var": _peer(riverside.variable, riverside.grid_asking, "skactiveml", "river"),
    "skactiveml-split": _peer(riverside.split, riverside.grid_split, "skactiveml", "river"),
    "moa-drift": _steady(moa.detector, moa.grid, "capymoa"),
    "second-order-paced": _steady(paced.second_order, paced.grid_second_order),
    "soal-paced": _steady(paced.soal, paced.grid_soal),
    "paa-paced": _steady(paced.paa, paced.grid_paa),
    "river-lr-paced": _steady(paced.logistic, riverside.grid_asking, "river"),
    "vw-paced": _steady(paced.vowpal, wabbit.grid_active, "vowpalwabbit"),
    "river-forest": _steady(paced.river_forest, None, "river"),
    "moa-forest": _steady(paced.forest, None, "capymoa"),
    "moa-bagging": _steady(paced.bagging, None, "capymoa"),
    "moa-patches": _steady(paced.patches, None, "capymoa"),
    "persistence": Learner("baseline", baselines.persistence),
    "majority": Learner("baseline", baselines.majority),
}
