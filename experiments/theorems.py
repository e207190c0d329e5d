"""The paper's bounds (its section 4) on runs of the synthetic stream, and how they grow.

Numbers are those of the paper: Theorem 2, Lemma 7 and Corollary 8 for LASEC, Theorem 4, its
explicit form and Corollary 9 for LASEC-SS.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lasec
from experiments import bounds_figure, digests
from experiments.bounds_table import summary
from experiments.contestants import Parameters
from experiments.datasets import behind, draw
from experiments.journal import Journal, Task
from experiments.output import read_csv, write_json
from experiments.published import Published, Row
from experiments.tuning import calibrate, tune
from lasec import bounds
from lasec.streams import Stream, switching

PERIODS = (5000, 2500, 1000, 500, 250, 125)
RATES = (0.1, 0.4)
AGGRESSIVENESS = (0.001, 0.004, 0.016, 0.064, 0.25, 1.0, 4.0, 16.0)
# Lemma 7 at its best gamma is never above the number of rows, where it has no slope. Its growth
# with the drift is read at one gamma for all: 1, the usual margin of the hinge loss.
GAMMA = 1.0
TRIES = 20  # steps towards the a that suits the runs made with it
FORMS = {
    "Theorem 4": bounds.selective,
    "explicit": bounds.explicit,
    "Corollary 9": bounds.corollary_9,
}
Settings = Callable[[Stream], Parameters]


class Sample(NamedTuple):
    """Runs of LASEC-SS on several streams: terms of the bounds, and means over the runs."""

    terms: list[bounds.Terms]
    mistakes: float
    queries: float
    expected_queries: float


def _behind(*arguments: Any) -> Any:
    """LASEC and LASEC-SS, the bounds, the stream, and the code of this module."""
    learners = [lasec.LASEC(2), lasec.LASEC_SS(2, seed=0)]
    made = [digests.learner(learner) for learner in learners]
    modules = (bounds.supervised.__module__, bounds.selective.__module__)
    bounding = [digests.code(module, digests.CHECKS) for module in modules]
    return made, bounding, behind("synthetic"), digests.code(__name__, digests.OURS), arguments


@digests.depends_on(_behind)
def supervised_run(parameters: Parameters, number: int, size: float) -> dict[str, Any]:
    """Mistakes and bounds of LASEC with every label, on one run of the synthetic stream."""
    return _supervised(draw("synthetic", number, size), parameters)


@digests.depends_on(_behind)
def growing_drift(every: int, number: int, size: float) -> dict[str, Any]:
    """The same where the concept is replaced every ``every`` rows, b and c set from V."""
    rounds = round(10_000 * size)
    stream = switching(rounds, dimension=50, every=max(1, round(every * size)), seed=number)
    return {"V": _variation(stream)} | _supervised(stream, _advised(stream))


@digests.depends_on(_behind)
def at_tuned(form: str, parameters: Parameters, runs: int, size: float) -> dict[str, Any]:
    """A bound on LASEC-SS for given parameters, at the gamma that is best for it."""
    a = parameters["aggressiveness"]
    fixed = {name: parameters[name] for name in ("drift", "ridge")}
    sample = _sample(lambda _: fixed, a, runs, size)
    return _row(form, sample, FORMS[form](sample.terms, a))


@digests.depends_on(_behind)
def at_optimal(
    form: str, parameters: Parameters | None, gamma: float, runs: int, size: float
) -> dict[str, Any]:
    """A bound at one gamma and at the a that is optimal for the runs made with that very a.

    The optimal a is gamma sqrt(B/A), where A and B depend on the runs and so on a: each step runs
    the algorithm with the last one's. Without ``parameters``, b and c are set from each stream's V.
    """
    settings: Settings = _advised if parameters is None else lambda _: dict(parameters)
    bound, a = FORMS[form], gamma
    tries: list[tuple[float, Sample, float]] = []
    while len(tries) < TRIES:
        sample = _sample(settings, a, runs, size)
        best = bound(sample.terms, gamma=gamma).aggressiveness
        tries.append((abs(math.log(best / a)), sample, a))
        if tries[-1][0] < 0.01:
            break
        a = best
    _, sample, a = min(tries, key=lambda made: made[0])  # on short streams a may go to and fro
    return _row(form, sample, bound(sample.terms, a, gamma))


@digests.depends_on(_behind)
def aggressiveness(
    parameters: Parameters, aggressiveness: float, number: int, size: float
) -> dict[str, Any]:
    """Queries and mistakes of one run of LASEC-SS at one a."""
    stream = draw("synthetic", number, size)
    learner = lasec.LASEC_SS(
        stream.X.shape[1], **parameters, aggressiveness=aggressiveness, seed=number
    )
    records = learner.run(*stream)
    return {"queries": records.labels, "mistakes": int(records.mistake.sum())}


def everything(journal: Journal, out: Path, runs: int, size: float) -> dict[str, Any]:
    """All experiments, written to CSV files, and as rows by name."""
    lasec_, selective = _tuned(journal, size)
    numbers = range(1, runs + 1)
    tasks: list[Task] = [(supervised_run, (lasec_, n, size)) for n in numbers]
    first = journal.run("Theorem 2", tasks)
    gamma = round(float(np.mean([row["gamma"] for row in first])), 3)
    parameters = {"LASEC": lasec_, "LASEC-SS": selective, "gamma": gamma, "fixed": GAMMA}
    about = {"parameters": parameters, "runs": runs, "size": size}
    made: dict[str, Any] = {}
    for one in published(out, about):
        name = one.file.stem.removeprefix("bounds_")
        made[name] = one.write(journal.run(f"bounds, {name}", one.tasks))
    return made | {"parameters": parameters, "rounds": draw("synthetic", 1, size).y.size}


def study(journal: Journal, out: Path, runs: int, size: float) -> str:
    """CSV, JSON, Markdown and the figures."""
    made = everything(journal, out, runs, size)
    said, slopes = _draw(out, made)
    about = {name: made[name] for name in ("rounds", "parameters")}
    write_json(out / "bounds.json", runs=runs, size=size, slopes=slopes, **about)
    return said


def redraw(out: Path) -> str:
    """Draw the figures in a folder again, from the CSV files and the JSON."""
    about = json.loads((out / "bounds.json").read_text())
    rows = {f.stem.removeprefix("bounds_"): read_csv(f) for f in out.glob("bounds_*.csv")}
    return _draw(out, about | rows)[0]


def _draw(out: Path, made: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """The figures and the table: its text, and the slopes of the lines."""
    slopes = bounds_figure.drift_figure(out, made["drift"], made["rounds"])
    bounds_figure.tradeoff_figure(out, made["a"], made["rounds"])
    said = summary(made, slopes)
    (out / "bounds.md").write_text(said + "\n")
    return said, slopes


def published(out: Path, about: dict[str, Any]) -> list[Published]:
    """The CSV files of the bounds in a folder, as their JSON says that they were made."""
    given, runs, size = about["parameters"], about["runs"], about["size"]
    tuned, numbers = given["LASEC"], range(1, runs + 1)
    cells = [(every, n) for every in PERIODS for n in numbers]
    pairs = [(a, n) for a in AGGRESSIVENESS for n in numbers]
    return [
        Published(
            out / "bounds_theorem_2.csv", [{"run": n} for n in numbers],
            [(supervised_run, (tuned, n, size)) for n in numbers], _one_row,
        ),
        _selective_bounds(out, given, runs, size),
        Published(
            out / "bounds_drift.csv", [{"every": every, "run": n} for every, n in cells],
            [(growing_drift, (every, n, size)) for every, n in cells], _one_row,
        ),
        Published(
            out / "bounds_a.csv", [{"a": a, "run": n} for a, n in pairs],
            [(aggressiveness, (tuned, a, n, size)) for a, n in pairs], _one_row,
        ),
    ]  # fmt: skip


def _one_row(result: dict[str, Any]) -> list[Row]:
    return [result]


def _tuned(journal: Journal, size: float) -> tuple[Parameters, list[Parameters]]:
    """b and c of LASEC with every label, and for LASEC-SS with the a of each query rate."""
    (tuned,) = journal.run("tuning for the bounds", [(tune, ("synthetic", "LASEC", 1.0, size))])
    fixed = tuned["parameters"]
    wanted: list[Task] = [
        (calibrate, ("synthetic", "LASEC-SS", rate, fixed, size)) for rate in RATES
    ]
    found = journal.run("query rates for the bounds", wanted)
    return fixed, [result["parameters"] for result in found]


def _selective_bounds(out: Path, given: dict[str, Any], runs: int, size: float) -> Published:
    """The bounds of LASEC-SS: two forms at each query rate, and each at its optimal a."""
    heads, tasks = list[Row](), list[Task]()
    for rate, parameters in zip(RATES, given["LASEC-SS"], strict=True):
        for form in ("Theorem 4", "explicit"):
            heads.append({"setting": f"a for a query rate of {rate:g}", "bound": form})
            tasks.append((at_tuned, (form, parameters, runs, size)))
    tuned = given["LASEC"]
    for form, fixed in {"Theorem 4": tuned, "explicit": tuned, "Corollary 9": None}.items():
        heads.append({"setting": "optimal a", "bound": form})
        tasks.append((at_optimal, (form, fixed, given["gamma"], runs, size)))
    return Published(out / "bounds_theorem_4.csv", heads, tasks, _one_row)


def _supervised(stream: Stream, parameters: Parameters) -> dict[str, Any]:
    """Mistakes of LASEC and every bound on them."""
    learner = lasec.LASEC(stream.X.shape[1], **parameters)
    records = learner.run(*stream)
    run = bounds.terms(learner, stream, records)
    first, corollary = bounds.supervised(run), bounds.corollary_8(run)
    return {
        "mistakes": int(records.mistake.sum()),
        "V_m": run.variation,
        "theorem_2": first.value,
        "gamma": first.gamma,
        "root": math.sqrt(run.A * run.B),
        "lemma_7": bounds.solved(run).value,
        "lemma_7_fixed": bounds.solved(run, GAMMA).value,
        "corollary_8": corollary.value,
        "corollary_8_fixed": bounds.corollary_8(run, GAMMA).value,
        "covered": int(corollary.covered),
    }


def _sample(settings: Settings, aggressiveness: float, runs: int, size: float) -> Sample:
    """LASEC-SS on the runs of the synthetic stream, with parameters that may depend on each."""
    terms, counts = [], []
    for number in range(1, runs + 1):
        stream = draw("synthetic", number, size)
        learner = lasec.LASEC_SS(
            stream.X.shape[1], **settings(stream), aggressiveness=aggressiveness, seed=number
        )
        records = learner.run(*stream)
        terms.append(bounds.terms(learner, stream, records))
        counts.append((records.mistake.sum(), records.asked.sum(), records.propensity.sum()))
    return Sample(terms, *np.mean(counts, axis=0).tolist())


def _row(form: str, sample: Sample, bound: bounds.Bound) -> dict[str, Any]:
    """One bound on one sample, ``covered`` as the number of runs."""
    return {
        "bound": form,
        "a": bound.aggressiveness,
        "gamma": bound.gamma,
        "queries": sample.queries,
        "expected_queries": sample.expected_queries,
        "mistakes": sample.mistakes,
        "value": bound.value,
        "root": math.sqrt(_mean(sample, "A") * _mean(sample, "B")),
        "runs": len(sample.terms),
        "covered": sum(
            FORMS[form]([run], bound.aggressiveness, 1.0).covered for run in sample.terms
        ),
    }


def _mean(sample: Sample, name: str) -> float:
    return float(np.mean([getattr(run, name) for run in sample.terms]))


def _advised(stream: Stream) -> Parameters:
    """b and c as Corollaries 8 and 9 set them, from V over all rows."""
    rounds, dimension = stream.X.shape
    radius = float(np.linalg.norm(stream.X, axis=1).max())
    advice = bounds.advise(rounds, dimension, radius, _variation(stream))
    return {"drift": advice.drift, "ridge": advice.ridge}


def _variation(stream: Stream) -> float:
    return float((np.diff(stream.target, axis=0) ** 2).sum())
