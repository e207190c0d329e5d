"""The paper's bounds (its section 4) on runs of the synthetic stream, and how they grow.

Numbers are those of the paper: Theorem 2, Lemma 7 and Corollary 8 for LASEC, Theorem 4, its
explicit form and Corollary 9 for LASEC-SS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lasec
from experiments.bounds_table import summary
from experiments.contestants import Parameters
from experiments.datasets import draw
from experiments.journal import Journal, Task
from experiments.tuning import calibrate, tune
from lasec import bounds
from lasec.streams import Stream, switching

__all__ = ["everything", "summary"]

PERIODS = (5000, 2500, 1000, 500, 250, 125)
RATES = (0.1, 0.4)
CAUTIONS = (0.001, 0.004, 0.016, 0.064, 0.25, 1.0, 4.0, 16.0)
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


def supervised_run(parameters: Parameters, number: int, size: float) -> dict[str, Any]:
    """Mistakes and bounds of LASEC with every label, on one run of the synthetic stream."""
    return _supervised(draw("synthetic", number, size), parameters)


def growing_drift(every: int, number: int, size: float) -> dict[str, Any]:
    """The same where the concept is replaced every ``every`` rows, b and c set from V."""
    rounds = round(10_000 * size)
    stream = switching(rounds, dimension=50, every=max(1, round(every * size)), seed=number)
    return {"V": _variation(stream)} | _supervised(stream, _advised(stream))


def at_tuned(parameters: Parameters, runs: int, size: float) -> list[dict[str, Any]]:
    """Theorem 4 and its explicit form for given parameters, at the gamma that is best for each."""
    a = parameters["aggressiveness"]
    fixed = {name: parameters[name] for name in ("drift", "ridge")}
    sample = _sample(lambda _: fixed, a, runs, size)
    return [_row(form, sample, FORMS[form](sample.terms, a)) for form in ("Theorem 4", "explicit")]


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


def everything(journal: Journal, runs: int, size: float) -> dict[str, Any]:
    """All experiments, as rows by name."""
    lasec_, selective = _tuned(journal, size)
    numbers = range(1, runs + 1)
    tasks: list[Task] = [(supervised_run, (lasec_, n, size)) for n in numbers]
    first = journal.run("Theorem 2", tasks)
    gamma = round(float(np.mean([row["gamma"] for row in first])), 3)
    cells = [(every, n) for every in PERIODS for n in numbers]
    growth = journal.run(
        "bounds as drift grows", [(growing_drift, (every, n, size)) for every, n in cells]
    )
    pairs = [(a, n) for a in CAUTIONS for n in numbers]
    asked = journal.run(
        "queries against a", [(aggressiveness, (lasec_, a, n, size)) for a, n in pairs]
    )
    return {
        "theorem_2": [{"run": n} | row for n, row in zip(numbers, first, strict=True)],
        "theorem_4": _selective_rows(journal, lasec_, selective, gamma, runs, size),
        "drift": [
            {"every": every, "run": n} | row for (every, n), row in zip(cells, growth, strict=True)
        ],
        "a": [{"a": a, "run": n} | row for (a, n), row in zip(pairs, asked, strict=True)],
        "parameters": {"LASEC": lasec_, "LASEC-SS": selective, "gamma": gamma, "fixed": GAMMA},
        "rounds": draw("synthetic", 1, size).y.size,
    }


def _tuned(journal: Journal, size: float) -> tuple[Parameters, list[Parameters]]:
    """b and c of LASEC with every label, and for LASEC-SS with the a of each query rate."""
    (tuned,) = journal.run("tuning for the bounds", [(tune, ("synthetic", "LASEC", 1.0, size))])
    fixed = tuned["parameters"]
    wanted: list[Task] = [
        (calibrate, ("synthetic", "LASEC-SS", rate, fixed, size)) for rate in RATES
    ]
    found = journal.run("query rates for the bounds", wanted)
    return fixed, [result["parameters"] for result in found]


def _selective_rows(
    journal: Journal,
    lasec_: Parameters,
    selective: list[Parameters],
    gamma: float,
    runs: int,
    size: float,
) -> list[dict[str, Any]]:
    """The bounds of LASEC-SS, one row for each form and setting."""
    tuned = journal.run("Theorem 4", [(at_tuned, (p, runs, size)) for p in selective])
    rows = [
        {"setting": f"a for a query rate of {rate:g}"} | row
        for rate, both in zip(RATES, tuned, strict=True)
        for row in both
    ]
    given = {"Theorem 4": lasec_, "explicit": lasec_, "Corollary 9": None}
    tasks: list[Task] = [(at_optimal, (f, p, gamma, runs, size)) for f, p in given.items()]
    best = journal.run("bounds at their optimal a", tasks)
    return rows + [{"setting": "optimal a"} | row for row in best]


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
