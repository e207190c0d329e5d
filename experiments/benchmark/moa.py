"""MOA through CapyMOA: logistic regression by stochastic gradient under a drift detector."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from experiments.benchmark.baselines import uniformly_asked
from experiments.contestants import Parameters
from lasec.streams import Stream


@lru_cache(maxsize=2)
def instances(stream: Stream) -> tuple[Any, list[Any]]:
    """The schema, and the rows as CapyMOA wants them."""
    from capymoa.stream import NumpyStream  # noqa: PLC0415

    rows = NumpyStream(stream.X, (stream.y > 0).astype(int), target_type="categorical")
    made = []
    while rows.has_more_instances():
        made.append(rows.next_instance())
    return rows.get_schema(), made


def detector(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """MOA's drift detection method classifier over its SGD, asked uniformly."""
    schema, rows = instances(stream)
    from capymoa.base import MOAClassifier  # noqa: PLC0415
    from moa.classifiers.drift import (  # noqa: PLC0415  # of the Java machine that CapyMOA starts
        DriftDetectionMethodClassifier,
    )

    base = f"functions.SGD -o LOGLOSS -l {parameters['l2']} -r {parameters['lr']}"
    options = f"-l ({base}) -d {parameters['detector']}"
    model = MOAClassifier(schema=schema, moa_learner=DriftDetectionMethodClassifier(), CLI=options)
    asked = uniformly_asked(stream, rate, seed)
    right = 0
    given = zip(rows, (stream.y > 0).tolist(), asked.tolist(), strict=True)
    for instance, label, ask in given:
        right += (model.predict(instance) == 1) == label
        if ask:
            model.train(instance)
    return right / len(asked), float(asked.mean())


def grid(scale: float) -> Iterator[Parameters]:
    """Step, forgetting as in the models of River, and the detector."""
    for step, forget, name in product(
        (2.5, 5.0, 15.0), (0.0, 0.003, 0.03), ("DDM", "ADWINChangeDetector")
    ):
        yield {"lr": step / scale, "l2": forget * scale / step, "detector": name}
