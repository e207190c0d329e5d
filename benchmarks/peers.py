"""Rounds per second of the learners that people know, on the same rows, in the same run.

A row is a prediction and, where the learner wants it, learning from the label. What a peer can be
handed beforehand (dicts, instances, a file in its own format) is made before the clock starts.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import (
    aggressiveness_for,
    compare,
    seconds,
    selective,
    spread,
    stream,
    supervised,
)

DIMENSION = 50
Peer = Callable[[Any, Any], Callable[[], Any]]


def river(name: str) -> Peer:
    """A linear model of River, label by label, on dicts."""

    def prepare(X: Any, y: Any) -> Callable[[], Any]:
        from river import linear_model  # noqa: PLC0415

        rows, labels = _dicts(X), [bool(label > 0) for label in y]

        def run() -> None:
            model = getattr(linear_model, name)()
            for x, label in zip(rows, labels, strict=True):
                model.predict_one(x)
                model.learn_one(x, label)

        return run

    return prepare


def river_sampler(X: Any, y: Any) -> Callable[[], Any]:
    """River's entropy sampler over logistic regression: learns only where it asks."""
    from river import active, linear_model  # noqa: PLC0415

    rows, labels = _dicts(X), [bool(label > 0) for label in y]

    def run() -> None:
        model = active.EntropySampler(linear_model.LogisticRegression(), discount_factor=30, seed=1)
        for x, label in zip(rows, labels, strict=True):
            _, ask = model.predict_one(x)
            if ask:
                model.learn_one(x, label)

    return run


def wabbit_in_memory(X: Any, y: Any) -> Callable[[], Any]:
    """Vowpal Wabbit through Python, a line of its format at a time."""
    from vowpalwabbit import Workspace  # noqa: PLC0415

    lines = _wabbit_lines(X, y)

    def run() -> None:
        model = Workspace("--quiet --loss_function logistic --invariant")
        for line in lines:
            example = model.parse(line)
            model.predict(example)
            model.learn(example)
            model.finish_example(example)

    return run


def wabbit_file(options: str) -> Peer:
    """Vowpal Wabbit over a file in its own format, in its own loop."""

    def prepare(X: Any, y: Any) -> Callable[[], Any]:
        from vowpalwabbit import Workspace  # noqa: PLC0415

        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name) / "rows.vw"
        path.write_text("\n".join(_wabbit_lines(X, y)) + "\n", encoding="ascii")

        def run() -> None:
            assert folder.name  # the folder lives as long as this function
            Workspace(f"--quiet --loss_function logistic {options} -d {path}").finish()

        return run

    return prepare


def activeml(name: str) -> Peer:
    """A stream strategy of scikit-activeml over logistic regression by stochastic gradient."""

    def prepare(X: Any, y: Any) -> Callable[[], Any]:
        from skactiveml import stream as strategies  # noqa: PLC0415
        from skactiveml.classifier import SklearnClassifier  # noqa: PLC0415
        from sklearn.linear_model import SGDClassifier  # noqa: PLC0415

        def run() -> None:
            model = SklearnClassifier(SGDClassifier(loss="log_loss"), classes=[-1, 1])
            model.partial_fit(X[:20], y[:20])
            strategy = getattr(strategies, name)(budget=0.1, random_state=0)
            for i in range(len(X)):
                row = X[i : i + 1]
                model.predict(row)
                asked, utilities = strategy.query(row, clf=model, return_utilities=True)
                strategy.update(row, asked, budget_manager_param_dict={"utilities": utilities})
                if len(asked):
                    model.partial_fit(row, y[i : i + 1])

        return run

    return prepare


def capymoa(name: str) -> Peer:
    """A classifier of CapyMOA, in its own prequential loop."""

    def prepare(X: Any, y: Any) -> Callable[[], Any]:
        from capymoa import classifier  # noqa: PLC0415
        from capymoa.evaluation import prequential_evaluation  # noqa: PLC0415
        from capymoa.stream import NumpyStream  # noqa: PLC0415

        rows = NumpyStream(X, (y > 0).astype(int), target_type="categorical")

        def run() -> None:
            rows.restart()
            prequential_evaluation(rows, getattr(classifier, name)(schema=rows.get_schema()))

        return run

    return prepare


# Name, module, rows to time it on, and how to prepare it.
PEERS: list[tuple[str, str, int, Peer]] = [
    ("River LogisticRegression", "river", 10_000, river("LogisticRegression")),
    ("River PAClassifier", "river", 10_000, river("PAClassifier")),
    ("River EntropySampler", "river", 10_000, river_sampler),
    ("Vowpal Wabbit, in memory", "vowpalwabbit", 10_000, wabbit_in_memory),
    ("Vowpal Wabbit, own file", "vowpalwabbit", 50_000, wabbit_file("--invariant")),
    ("Vowpal Wabbit --active, own file", "vowpalwabbit", 50_000,
     wabbit_file("--active --simulation --mellowness 0.01")),
    ("scikit-activeml VariableUncertainty", "skactiveml", 200, activeml("VariableUncertainty")),
    ("scikit-activeml Split", "skactiveml", 200, activeml("Split")),
    ("CapyMOA NaiveBayes", "capymoa", 20_000, capymoa("NaiveBayes")),
    ("CapyMOA HoeffdingTree", "capymoa", 5_000, capymoa("HoeffdingTree")),
]  # fmt: skip


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """Ours, then every peer that is installed and how many times faster ours are."""
    rows = 50_000
    X, y = stream(DIMENSION, rows)
    aggressiveness = aggressiveness_for(0.1, DIMENSION, X, y)
    ours: dict[str, Callable[[], Any]] = {
        "lasec LASEC, every label": lambda: supervised(DIMENSION).run(X, y),
        "lasec LASEC-SS, 10 % asked": lambda: selective(DIMENSION, aggressiveness).run(X, y),
    }
    for name, run in ours.items():
        run()
        times = [seconds(run) for _ in range(9)]
        yield {"learner": name, "rows_per_second": round(rows / float(np.median(times)))}
    for name, module, few, prepare in PEERS:
        if importlib.util.find_spec(module) is None:
            yield {"learner": name, "rows_per_second": None}
            continue
        count = max(100, few // 5) if quick else few
        theirs = prepare(X[:count], y[:count])
        _, taken, ratios = compare(ours["lasec LASEC, every label"], theirs, 3 if quick else 7)
        faster = [rows / count / ratio for ratio in ratios]
        yield {"learner": name, "rows_per_second": round(count / taken), **spread(faster)}


def _dicts(X: Any) -> list[dict[int, float]]:
    """Rows as River wants them."""
    return [dict(enumerate(map(float, x))) for x in X]


def _wabbit_lines(X: Any, y: Any) -> list[str]:
    """Rows as Vowpal Wabbit reads them."""
    return [
        f"{label} | " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(x))
        for x, label in zip(X, y, strict=True)
    ]
