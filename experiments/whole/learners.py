"""Who runs on the whole streams, each held at a share of the labels.

The Tracker has one setting. LASEC-SS, SOP-SS and Perceptron-SS query with their papers'
probability, whose odds a budget moves so that the share is held; their aggressiveness would only
move the same odds. Their other parameters, and the step of ``river-tuned``, are the best of a grid
in hindsight: on the very stream that is measured on, with the draws of seed 1. That favors them.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import lasec
from experiments.benchmark import baselines
from experiments.contestants import Parameters
from experiments.steady import Steady
from experiments.tuning import mean_square
from experiments.whole.sources import LONG, SOURCES, scaled, whole
from lasec.queries import Uniform
from lasec.rules import Perceptron, SecondOrder, Tracking
from lasec.streams import Stream

RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
STABILITIES = (1.0, 1e1, 1e2, 1e4, 1e6)  # 1 / drift; without end it is SOP
WARM = 64

Shares = tuple[float, float]
Run = Callable[[Stream, float, Parameters, int], Shares]


def _nothing(stream: str) -> Sequence[Parameters]:
    return [{}]


class Learner(NamedTuple):
    """Its name in tables, how it runs, its grid, and whether it needs rows that are scaled.

    ``once`` says that coins of other seeds change nothing.
    """

    title: str
    run: Run
    grid: Callable[[str], Sequence[Parameters]] = _nothing
    scaled: bool = False
    once: bool = False
    module: str = "lasec"


def seeds_of(learner: str, rounds: int, rate: float, seeds: int) -> list[int]:
    """The coins that are tried: one draw is enough where nothing is left to chance."""
    heavy = LEARNERS[learner].module == "river" and rounds >= LONG
    return [1] if rate >= 1.0 or heavy or LEARNERS[learner].once else list(range(1, seeds + 1))


def missing(learner: str) -> str | None:
    """Why this learner cannot run here, or None."""
    module = LEARNERS[learner].module
    if importlib.util.find_spec(module) is None:
        return f"learner {learner} needs {module}, which is not installed (group peers)"
    return None


def whole_run(
    stream: str, learner: str, rate: float, parameters: Parameters, seed: int, size: float
) -> dict[str, float]:
    """One run: accuracy over all rows, share of labels asked, seconds without compiling."""
    about = LEARNERS[learner]
    rows = (scaled if about.scaled else whole)(stream, size)
    if about.module == "lasec":
        about.run(Stream(rows.X[:WARM], rows.y[:WARM], rows.concept[:WARM]), rate, parameters, seed)
    started = time.perf_counter()
    accuracy, asked = about.run(rows, rate, parameters, seed)
    seconds = time.perf_counter() - started
    return {
        "accuracy": round(float(accuracy), 6),
        "asked": round(float(asked), 6),
        "seconds": round(seconds, 2),
    }


def _shares(learner: lasec.Learner, stream: Stream) -> Shares:
    records = learner.run(*stream)
    return records.accuracy, records.rate


def _tracker(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    return _shares(lasec.Tracker(rate=rate, horizon=len(stream.y), seed=seed), stream)


def _uniform(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    made = lasec.Learner(
        Tracking(), Uniform(rate), dimension=stream.X.shape[1], learn_from="labels", seed=seed
    )
    return _shares(made, stream)


def _held(stream: Stream, rate: float, rule: Any, seed: int) -> Shares:
    query = Steady(rate, float(len(stream.y)))
    return _shares(lasec.Learner(rule, query, dimension=stream.X.shape[1], seed=seed), stream)


def _second_order(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """b and c are in units of the mean squared norm of a row; without c there is no drift."""
    scale = mean_square(stream)
    drift = 1.0 / (parameters["c"] * scale) if "c" in parameters else 0.0
    return _held(stream, rate, SecondOrder(drift=drift, ridge=parameters["b"] * scale), seed)


def _perceptron(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    return _held(stream, rate, Perceptron(), seed)


def _river(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """Logistic regression on rows that River scales, or not; labels are asked uniformly."""
    from river import linear_model, optim, preprocessing  # noqa: PLC0415

    model: Any = linear_model.LogisticRegression(optim.SGD(parameters.get("step", 0.01)))
    if parameters.get("scaler", True):
        model = preprocessing.StandardScaler() | model
    asked = baselines.uniformly_asked(stream, rate, seed)
    right = 0
    for row, label, ask in zip(stream.X, stream.y > 0, asked.tolist(), strict=True):
        x = dict(enumerate(row.tolist()))
        right += bool(model.predict_one(x)) == bool(label)
        if ask:
            model.learn_one(x, bool(label))
    return right / len(asked), float(asked.mean())


def _previous(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """The label before, asked or not."""
    predicted = np.append(1, stream.y[:-1])
    return float((predicted == stream.y).mean()), 1.0


def _constant(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """The label that is more frequent in the whole stream."""
    share = float((stream.y > 0).mean())
    return max(share, 1.0 - share), 1.0


def _grid_river(stream: str) -> Sequence[Parameters]:
    """The step; hashed words also as they are, since scaling does them no good."""
    steps = [{"step": step, "scaler": True} for step in (0.01, 0.1, 1.0, 10.0)]
    text = [{"step": step, "scaler": False} for step in (0.1, 1.0, 10.0, 100.0)]
    return steps + (text if SOURCES[stream].text else [])


def _grid_lasec(stream: str) -> Sequence[Parameters]:
    return [{"b": b, "c": c} for b, c in product(RIDGES, STABILITIES) if b < c]


def _grid_sop(stream: str) -> Sequence[Parameters]:
    return [{"b": b} for b in RIDGES]


LEARNERS = {
    "tracker": Learner("Tracker", _tracker),
    "uniform": Learner("Tracker's rule, uniform asking", _uniform),
    "lasec-ss": Learner("LASEC-SS", _second_order, _grid_lasec, scaled=True),
    "sop-ss": Learner("SOP-SS", _second_order, _grid_sop, scaled=True),
    "perceptron-ss": Learner("Perceptron-SS", _perceptron, scaled=True),
    "river": Learner("River, as it comes", _river, module="river"),
    "river-tuned": Learner("River, best step", _river, _grid_river, module="river"),
    "last-asked": Learner("last asked label", baselines.persistence),
    "previous": Learner("previous label", _previous, once=True),
    "constant": Learner("best constant", _constant, once=True),
}
OURS = "tracker"
PEERS = ("lasec-ss", "sop-ss", "perceptron-ss", "river", "river-tuned")
