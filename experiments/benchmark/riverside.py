"""River's linear models, asked uniformly, by its entropy sampler, or by scikit-activeml's budgets.

The grids are in units in which they serve every stream: ``step`` is the learning rate times the
mean squared norm of a row, ``forget`` the share of the weights that the ridge penalty takes away
with each label that is learned (learning rate times l2), which is how these models follow drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from experiments.benchmark.baselines import uniformly_asked
from experiments.contestants import Parameters
from lasec.streams import Stream


@lru_cache(maxsize=2)
def dicts(stream: Stream) -> list[tuple[dict[int, float], bool]]:
    """Rows and labels as River wants them."""
    rows = [dict(enumerate(x)) for x in stream.X.tolist()]
    return list(zip(rows, (stream.y > 0).tolist(), strict=True))


def logistic_model(parameters: Parameters) -> Any:
    """Logistic regression by stochastic gradient, as the grids describe it."""
    from river import linear_model, optim  # noqa: PLC0415

    return linear_model.LogisticRegression(optim.SGD(parameters["lr"]), l2=parameters["l2"])


def _uniform(model: Any, stream: Stream, rate: float, seed: int) -> tuple[float, float]:
    """A classifier whose labels are asked uniformly."""
    asked = uniformly_asked(stream, rate, seed)
    right = 0
    for (x, label), ask in zip(dicts(stream), asked.tolist(), strict=True):
        right += bool(model.predict_one(x)) == label
        if ask:
            model.learn_one(x, label)
    return right / len(asked), float(asked.mean())


def logistic(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression by stochastic gradient."""
    return _uniform(logistic_model(parameters), stream, rate, seed)


def passive_aggressive(
    stream: Stream, rate: float, parameters: Parameters, seed: int
) -> tuple[float, float]:
    """The passive-aggressive classifier."""
    from river import linear_model  # noqa: PLC0415

    return _uniform(linear_model.PAClassifier(**parameters), stream, rate, seed)


def ddm(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression that DDM replaces by one trained since its warning."""
    from river import drift  # noqa: PLC0415

    detector = drift.binary.DDM(
        warning_threshold=parameters["warning"], drift_threshold=parameters["drift"]
    )
    model = drift.DriftRetrainingClassifier(logistic_model(parameters), detector)
    return _uniform(model, stream, rate, seed)


def adwin(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression that starts anew when ADWIN sees a change in its mistakes."""
    from river import drift  # noqa: PLC0415

    detector: Any = drift.ADWIN(delta=parameters["delta"])
    model = drift.DriftRetrainingClassifier(
        logistic_model(parameters), detector, train_in_background=False
    )
    return _uniform(model, stream, rate, seed)


def entropy(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression under River's entropy sampler; ``eagerness`` is 1 / discount factor."""
    from river import active  # noqa: PLC0415

    discount = 1.0 / parameters["eagerness"]
    sampler = active.EntropySampler(logistic_model(parameters), discount_factor=discount, seed=seed)
    right = labels = 0
    for x, label in dicts(stream):
        predicted, ask = sampler.predict_one(x)
        right += bool(predicted) == label
        if ask:
            labels += 1
            sampler.learn_one(x, label)
    return right / len(stream.y), labels / len(stream.y)


def variable(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression under scikit-activeml's variable uncertainty, which throws no coins."""
    from skactiveml.stream import budgetmanager  # noqa: PLC0415

    manager = budgetmanager.VariableUncertaintyBudgetManager(budget=rate)
    return _budgeted(manager, stream, rate, parameters)


def split(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression under scikit-activeml's split of random and uncertain rows."""
    from skactiveml.stream import budgetmanager  # noqa: PLC0415

    manager = budgetmanager.SplitBudgetManager(budget=rate, random_state=seed)
    return _budgeted(manager, stream, rate, parameters)


def _budgeted(
    manager: Any, stream: Stream, rate: float, parameters: Parameters
) -> tuple[float, float]:
    """What scikit-activeml's strategies do: a utility of 1 - the largest probability, a budget.

    Their budget managers never spend all of a budget of 1; at rate 1 every label is asked.
    """
    model = logistic_model(parameters)
    right = labels = 0
    for x, label in dicts(stream):
        probability = model.predict_proba_one(x)[True]
        right += (probability > 0.5) == label
        utility = np.array([min(probability, 1.0 - probability)])
        asked = manager.query_by_utility(utility) if rate < 1.0 else [0]
        if rate < 1.0:
            manager.update(utility[:, None], asked)
        if len(asked):
            labels += 1
            model.learn_one(x, label)
    return right / len(stream.y), labels / len(stream.y)


def _steps(scale: float, step: float, forget: float) -> Parameters:
    lr = step / scale
    return {"lr": lr, "l2": forget / lr}


def grid_logistic(scale: float) -> Iterator[Parameters]:
    """Step and forgetting."""
    for step, forget in product((0.5, 1.5, 5.0, 15.0), (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)):
        yield _steps(scale, step, forget)


def grid_asking(scale: float) -> Iterator[Parameters]:
    """The same, coarser: for what asks by the model, which takes more time."""
    for forget, step in product((0.0, 0.003, 0.01, 0.03, 0.1), (1.5, 5.0)):
        yield _steps(scale, step, forget)


def grid_split(scale: float) -> Iterator[Parameters]:
    """Coarser still: its budget manager takes 0.15 ms a row."""
    for forget, step in product((0.0, 0.01, 0.03), (1.5, 5.0)):
        yield _steps(scale, step, forget)


def grid_ddm(scale: float) -> Iterator[Parameters]:
    """Step, forgetting, and the thresholds of warning and drift."""
    thresholds = ((1.0, 1.5), (1.5, 2.0), (2.0, 3.0))
    for step, forget, (warning, drift) in product((2.5, 5.0, 10.0), (0.0, 0.003), thresholds):
        yield _steps(scale, step, forget) | {"warning": warning, "drift": drift}


def grid_adwin(scale: float) -> Iterator[Parameters]:
    """Step, forgetting, and the detector's confidence."""
    for step, forget, delta in product((1.5, 5.0, 15.0), (0.0, 0.003, 0.03), (0.002, 0.1)):
        yield _steps(scale, step, forget) | {"delta": delta}


def grid_passive_aggressive(scale: float) -> Iterator[Parameters]:
    """PA-I and PA-II, C in units of one over the mean squared norm of a row."""
    for mode, C in product((1, 2), (0.01, 0.1, 0.3, 1.0, 10.0)):
        yield {"mode": mode, "C": C / scale}
