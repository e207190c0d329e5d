"""One run of one algorithm, measured: at checkpoints, or row by row into a file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments import digests
from experiments.contestants import Parameters
from experiments.datasets import behind, draw
from experiments.own import Method, find
from experiments.tuning import prepared, run
from lasec import Records

STEP = 250  # rows between two points of a curve; 500, where the first shift comes, is one
COLUMNS = ("label", "margin", "variance", "propensity", "asked", "mistake", "updated")


def _behind_run(
    dataset: str, method: Method, parameters: Parameters, number: int, size: float
) -> Any:
    return _behind(dataset, json.dumps(method), json.dumps(parameters))


@cache
def _behind(dataset: str, method: str, parameters: str) -> Any:
    """The learner, the data, and the code of a run."""
    contestant = find(json.loads(method))
    made = digests.learner(contestant.build(2, **json.loads(parameters), seed=0))
    code = digests.source(measure, _records, prepared, run)
    return made, contestant.unit_rows, behind(dataset), code


@digests.depends_on(_behind_run)
def measure(
    dataset: str, method: Method, parameters: Parameters, number: int, size: float
) -> dict[str, Any]:
    """The query rate of a run, and at the checkpoints: accuracy so far, queries, updates."""
    records = _records(dataset, method, parameters, number, size)
    n, step = len(records), max(1, round(STEP * size))
    t = np.append(np.arange(step, n, step), n)
    accuracy = np.cumsum(~records.mistake)[t - 1] / t
    return {
        "rate": round(records.rate, 6),
        "t": t.tolist(),
        "accuracy": [round(float(value), 6) for value in accuracy],
        "queries": np.cumsum(records.asked)[t - 1].tolist(),
        "updates": np.cumsum(records.updated)[t - 1].tolist(),
    }


def save_rows(
    path: Path, dataset: str, method: Method, parameters: Parameters, number: int, size: float
) -> None:
    """Every row of a run in a NumPy file: its true label, and the columns of ``lasec.Records``."""
    records = _records(dataset, method, parameters, number, size)
    columns = {name: getattr(records, name) for name in COLUMNS}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, y=draw(dataset, number, size).y, **columns)


def _records(
    dataset: str, method: Method, parameters: Parameters, number: int, size: float
) -> Records:
    contestant = find(method)
    stream = prepared(contestant, draw(dataset, number, size))
    return run(contestant, stream, parameters, seed=number)
