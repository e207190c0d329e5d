"""Every real stream, whole, with its own classes: the Tracker and others on the same label budget.

Rows are as their files have them; codes are expanded to columns of 0 and 1, words are hashed to 512
columns. River's models see rows that its scaler has standardized. All learners but the baselines
are queried on the budget of the Tracker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.data import data_folder
from experiments.forms.driven import driven
from experiments.forms.labeled import Labeled
from experiments.journal import Journal, Task
from experiments.output import write_csv
from experiments.real import KNOWN, open_dataset
from experiments.whole.sources import WIDTH

LEFT_OUT = ("luxembourg", "covertype_small", "flights_small")  # a leak, and parts of others
STREAMS = tuple(name for name in KNOWN if name not in LEFT_OUT)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
HUGE = 100_000  # rows from which on one draw is enough
TREES = 10
RUN_ON = {  # River takes milliseconds a row where rows are long; all others run on every stream
    "River softmax": tuple(name for name in STREAMS if name not in ("kdd", "flights")),
    "River forest": (
        "elec2", "noaa", "usenet1", "usenet2", "phishing", "phishing_river", "powersupply",
        "outdoor",
    ),
}  # fmt: skip

Row = dict[str, Any]
Numbers = NDArray[np.int64]


@lru_cache(maxsize=1)
def labeled(name: str, size: float) -> Labeled:
    """The first rows of a stream, as many as its share ``size``."""
    data = open_dataset(name, data_folder())
    _, y = np.unique(np.asarray(data.columns[data.label]), return_inverse=True)
    if any(isinstance(column, list) and _is_text(column) for column in data.features.values()):
        X = replace(data, positive=0).hashed(WIDTH).X
    else:
        X = replace(data.one_hot(), positive=0).stream().X
    rows = max(200, round(len(y) * size))
    return Labeled(np.ascontiguousarray(X[:rows]), y[:rows].astype(np.int64))


def _is_text(column: list[str]) -> bool:
    """Whether strings are texts, and not a few names that recur."""
    return len(set(column)) > 0.2 * len(column)


def own_run(stream: str, learner: str, rate: float, seed: int, size: float) -> dict[str, float]:
    """One run: accuracy over all rows, share of labels asked, CPU seconds."""
    X, y = labeled(stream, size)
    started = time.process_time()
    predicted, asked = LEARNERS[learner](X, y, rate, seed)
    return {
        "accuracy": round(float(np.mean(predicted == y)), 6),
        "asked": round(float(np.mean(asked)), 6),
        "seconds": round(time.process_time() - started, 2),
    }


def _tracker(X: Any, y: Numbers, rate: float, seed: int) -> tuple[Any, Any]:
    tracker = lasec.Tracker(rate=rate, horizon=len(y), seed=seed, classes=range(int(y.max()) + 1))
    records = tracker.run(X, y)
    return np.where(records.mistake, -1, y), records.asked


def _river(X: Any, y: Numbers, rate: float, seed: int) -> tuple[Any, Any]:
    from river import linear_model, preprocessing  # noqa: PLC0415

    model: Any = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    return driven(model, [dict(enumerate(x)) for x in X.tolist()], y, rate, seed)


def _forest(X: Any, y: Numbers, rate: float, seed: int) -> tuple[Any, Any]:
    from river import forest  # noqa: PLC0415

    model: Any = forest.ARFClassifier(n_models=TREES, seed=seed)
    return driven(model, [dict(enumerate(x)) for x in X.tolist()], y, rate, seed)


def _majority(X: Any, y: Numbers, rate: float, seed: int) -> tuple[Any, Any]:
    """The class that was seen most often among the labels asked uniformly."""
    asked = lasec.uniforms(seed, 0, len(y))[:, 0] < rate
    counts = np.cumsum(np.eye(int(y.max()) + 1)[y] * asked[:, None], axis=0)
    return np.append(0, counts[:-1].argmax(axis=1)), asked


def _no_change(X: Any, y: Numbers, rate: float, seed: int) -> tuple[Any, Any]:
    """The label before, asked or not."""
    return np.append(-1, y[:-1]), np.ones(len(y))


LEARNERS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "Tracker": _tracker,
    "River softmax": _river,
    "River forest": _forest,
    "majority": _majority,
    "no-change": _no_change,
}


PEERS, BASELINES = ("River softmax", "River forest"), ("majority", "no-change")


def measure(journal: Journal, size: float) -> list[Row]:
    """A row for each stream, learner, rate and draw."""
    cells = [
        (stream, learner, rate, seed, size)
        for stream in STREAMS
        for learner in LEARNERS
        for rate in RATES
        for seed in range(1, 2 if KNOWN[stream].rows > HUGE else 4)
        if stream in RUN_ON.get(learner, STREAMS)
    ]
    tasks: list[Task] = [(own_run, cell) for cell in cells]
    found = journal.run("own classes", tasks)
    return [
        dict(zip(("stream", "learner", "rate", "seed"), cell, strict=False)) | result
        for cell, result in zip(cells, found, strict=True)
    ]


def study(journal: Journal, out: Path, size: float) -> str:
    """CSV and table; gives in how many cells the Tracker is ahead."""
    rows = measure(journal, size)
    write_csv(out / "own_classes.csv", rows)
    (out / "own_classes.md").write_text(document(rows))
    return summary(rows)


def document(rows: list[Row]) -> str:
    """Accuracy by stream and learner, a column a rate; the baselines of a stream in its first."""
    rates = [f"{100 * rate:g} %" for rate in RATES]
    lines = [
        ["stream", "rows", "classes", "majority", "no-change", "learner", *rates],
        ["---", *["---:"] * 4, "---", *["---:"] * len(RATES)],
    ]
    for stream in dict.fromkeys(row["stream"] for row in rows):
        known, found = KNOWN[stream], _means(rows, stream)
        simple = [f"{found.pop(name)[-1]:.3f}" for name in BASELINES]
        about = [stream, f"{known.rows:,}", str(known.classes), *simple]
        for learner, means in found.items():
            lines.append([*about, learner, *(f"{mean:.3f}" for mean in means)])
            about = [""] * len(about)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _means(rows: list[Row], stream: str) -> dict[str, list[float]]:
    """The mean accuracy of each learner of a stream at each rate."""
    some = [row for row in rows if row["stream"] == stream]
    return {
        learner: [
            float(
                np.mean([r["accuracy"] for r in some if (r["learner"], r["rate"]) == (learner, x)])
            )
            for x in RATES
        ]
        for learner in LEARNERS
        if any(row["learner"] == learner for row in some)
    }


def summary(rows: list[Row]) -> str:
    """In how many cells the Tracker is ahead of the models of River."""
    won = cells = 0
    for stream in dict.fromkeys(row["stream"] for row in rows):
        found = _means(rows, stream)
        others = [found[name] for name in PEERS if name in found]
        for at, ours in enumerate(found["Tracker"] if others else []):
            cells += 1
            won += ours > max(means[at] for means in others)
    return f"The Tracker is ahead of River's models in {won} of {cells} cells."
