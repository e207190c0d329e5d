"""The models of other libraries and papers on the label budget of the Tracker.

A selector of lasec queries by their margins: the same long-run share, hard cap, warm-up and minimum
query probability for each, so that none can spend all of its labels on the first rows. A model with
probabilities is queried like the Tracker. PAA and SOAL keep the form of their papers' probability,
delta / (delta + the size of the margin); the budget moves its odds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.benchmark import moa, riverside, wabbit
from experiments.benchmark.papers import STEPS, step_paa, step_soal
from experiments.contestants import Parameters
from lasec.queries import Budgeted, MarginSampling
from lasec.rules import SecondOrder
from lasec.selector import Selector
from lasec.streams import Stream

Shares = tuple[float, float]
Array = NDArray[np.float64]
DELTAS = (0.1, 1.0)
TREES = 10


class Model(Protocol):
    """A classifier of rows in its own form."""

    def look(self, x: Any) -> tuple[float, float]:
        """The margin, and what the query is to see of it."""

    def learn(self, x: Any, label: bool) -> None:
        """Learn the label of the row that was looked at last."""


def _driven(model: Model, rows: Iterable[Any], stream: Stream, query: Any, seed: int) -> Shares:
    """Accuracy and share of labels of a model whose labels a selector asks."""
    selector = Selector(query, seed=seed)
    right = 0
    for x, label in zip(rows, (stream.y > 0).tolist(), strict=True):
        margin, seen = model.look(x)
        right += (margin >= 0.0) == label
        _, asked, _ = selector.decide(seen)
        if asked:
            model.learn(x, label)
    return right / len(stream.y), selector.asked / len(stream.y)


def _uncertainty(stream: Stream, rate: float) -> Budgeted:
    """The query of the Tracker."""
    query = lasec.Tracker(rate=rate, horizon=len(stream.y)).query
    assert isinstance(query, Budgeted)
    return query


def _margins(stream: Stream, rate: float, delta: float) -> Budgeted:
    """The same budget around delta / (delta + the size of the margin)."""
    return _uncertainty(stream, rate)._replace(inner=MarginSampling(delta))


class _River:
    """A classifier of River."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def look(self, x: dict[int, float]) -> tuple[float, float]:
        margin = 2.0 * self.model.predict_proba_one(x).get(True, 0.5) - 1.0
        return margin, margin

    def learn(self, x: dict[int, float], label: bool) -> None:
        self.model.learn_one(x, label)


def _river(model: Any, stream: Stream, rate: float, seed: int) -> Shares:
    rows = (x for x, _ in riverside.dicts(stream))
    return _driven(_River(model), rows, stream, _uncertainty(stream, rate), seed)


def logistic(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """River's logistic regression."""
    return _river(riverside.logistic_model(parameters), stream, rate, seed)


def river_forest(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """River's adaptive random forest, with its own settings."""
    from river import forest  # noqa: PLC0415

    return _river(forest.ARFClassifier(n_models=TREES, seed=seed), stream, rate, seed)


class _Moa:
    """A classifier of MOA, whose rows know their labels."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def look(self, x: Any) -> tuple[float, float]:
        shares = self.model.predict_proba(x)
        margin = 0.0 if shares is None or len(shares) < 2 else float(shares[1] - shares[0])
        return margin, margin

    def learn(self, x: Any, label: bool) -> None:
        self.model.train(x)


def _moa(kind: str, stream: Stream, rate: float, seed: int) -> Shares:
    schema, rows = moa.instances(stream)
    from capymoa import classifier  # noqa: PLC0415

    model = getattr(classifier, kind)(schema, ensemble_size=TREES, random_seed=seed)
    return _driven(_Moa(model), rows, stream, _uncertainty(stream, rate), seed)


def forest(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """MOA's adaptive random forest, with its own settings."""
    return _moa("AdaptiveRandomForestClassifier", stream, rate, seed)


def bagging(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """MOA's leveraging bagging, with its own settings."""
    return _moa("LeveragingBagging", stream, rate, seed)


def patches(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """MOA's streaming random patches, with its own settings."""
    return _moa("StreamingRandomPatches", stream, rate, seed)


class _Wabbit:
    """Vowpal Wabbit, a row at a time."""

    def __init__(self, options: str) -> None:
        from vowpalwabbit import Workspace  # noqa: PLC0415

        self.model: Any = Workspace(f"{options} --link=glf1 --quiet")

    def look(self, x: str) -> tuple[float, float]:
        margin = float(self.model.predict(x))
        return margin, margin

    def learn(self, x: str, label: bool) -> None:
        self.model.learn(f"{1 if label else -1}{x}")


def vowpal(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """Vowpal Wabbit's logistic regression."""
    model = _Wabbit(wabbit.options(parameters))
    query = _uncertainty(stream, rate)
    found = _driven(model, wabbit.features(stream), stream, query, seed)
    model.model.finish()
    return found


class _Paa:
    """Passive-aggressive steps."""

    def __init__(self, dimension: int, variant: str, C: float) -> None:
        self.w, self.step, self.C = np.zeros(dimension), STEPS[variant], C
        self.margin = 0.0

    def look(self, x: Array) -> tuple[float, float]:
        self.margin = float(self.w @ x)
        return self.margin, self.margin

    def learn(self, x: Array, label: bool) -> None:
        step_paa(self.w, x, 1.0 if label else -1.0, self.margin, self.step, self.C)


def paa(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """The steps of passive-aggressive active learning."""
    given: Parameters = {"C": np.inf} | parameters
    model = _Paa(stream.X.shape[1], given["variant"], given["C"])
    return _driven(model, stream.X, stream, _margins(stream, rate, given["delta"]), seed)


class _Soal:
    """Second-order steps; the query sees the margin less half of what a step would add."""

    def __init__(self, dimension: int, eta: float, gamma: float) -> None:
        self.w, self.S = np.zeros(dimension), np.eye(dimension)
        self.eta, self.gamma = eta, gamma
        self.margin = 0.0

    def look(self, x: Array) -> tuple[float, float]:
        self.margin = float(self.w @ x)
        v = float(x @ (self.S @ x))
        added = 0.5 * self.eta * v * self.gamma / (v + self.gamma)
        return self.margin, max(0.0, abs(self.margin) - added)

    def learn(self, x: Array, label: bool) -> None:
        sign = 1.0 if label else -1.0
        step_soal(self.w, self.S, x, sign, self.margin, self.eta, self.gamma)


def soal(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """The steps of second-order online active learning."""
    model = _Soal(stream.X.shape[1], parameters["eta"], parameters["gamma"])
    return _driven(model, stream.X, stream, _margins(stream, rate, parameters["delta"]), seed)


def second_order(stream: Stream, rate: float, parameters: Parameters, seed: int) -> Shares:
    """The rule of LASEC-SS, or, without drift, of SOP-SS."""
    rule = SecondOrder(drift=parameters.get("drift", 0.0), ridge=parameters["ridge"])
    query = _margins(stream, rate, parameters["delta"])
    records = lasec.Learner(rule, query, dimension=stream.X.shape[1], seed=seed).run(*stream)
    return records.accuracy, records.rate


def grid_paa(scale: float) -> Iterator[Parameters]:
    """PA, PA-I and PA-II, C in units of one over the mean squared norm of a row."""
    for delta in DELTAS:
        yield {"variant": "PA", "delta": delta}
        for variant, C in product(("PA-I", "PA-II"), (0.03, 0.3)):
            yield {"variant": variant, "C": C / scale, "delta": delta}


def grid_soal(scale: float) -> Iterator[Parameters]:
    """gamma in units of the mean squared norm of a row, eta in units of one over it."""
    for delta, gamma, eta in product(DELTAS, (0.01, 1.0, 100.0), (0.1, 1.0, 10.0)):
        yield {"gamma": gamma * scale, "eta": eta / scale, "delta": delta}


def grid_second_order(scale: float) -> Iterator[Parameters]:
    """b and c in units of the mean squared norm of a row; without c there is no drift."""
    for delta, ridge in product((0.01, 0.1), (0.01, 0.1, 1.0, 10.0)):
        yield {"ridge": ridge * scale, "delta": delta}
        for c in (4.0, 16.0, 1e3):
            if ridge < c:
                yield {"ridge": ridge * scale, "drift": 1.0 / (c * scale), "delta": delta}
