"""Every real stream with its own labels through every door: the same decisions in all of them.

The first rows of each stream go, as numbers, through ``Learner.run``, a session that asks and
tells, scikit-learn, River and a Spark job; and as a table through what ``lasec run`` does with a
batch, and what ``lasec ask`` and ``lasec tell`` do with a row. Doors agree where they query the
same rows and their query probabilities differ by rounding alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.data import data_folder
from experiments.labels import spark_job
from experiments.real import open_dataset
from experiments.whole import own_classes

ROWS, RATE, SEED = 600, 0.2, 1
WORDS = 2**18  # columns of a table of texts, as in the command line

Row = dict[str, Any]


class Decided(NamedTuple):
    """Which rows a door has queried, and with what probability."""

    asked: NDArray[np.bool_]
    propensity: NDArray[np.float64]


def _decided(pairs: list[tuple[bool, float]]) -> Decided:
    asked, propensity = zip(*pairs, strict=True)
    return Decided(np.array(asked), np.array(propensity))


def chunk(X: Any, y: Any, names: list[str]) -> Decided:
    """``Learner.run``."""
    tracker = lasec.Tracker(rate=RATE, seed=SEED, classes=names)
    records = tracker.run(X, y)
    return Decided(records.asked, records.propensity)


def session(X: Any, y: Any, names: list[str]) -> Decided:
    """A session, row by row."""
    door, made = lasec.Session(lasec.Tracker(rate=RATE, seed=SEED), classes=names), []
    for row, label in zip(X, y, strict=True):
        decision = door.ask(row)
        made.append((decision.asked, decision.propensity))
        if decision.asked:
            door.tell(decision.ticket, label)
    return _decided(made)


def scikit_learn(X: Any, y: Any, names: list[str]) -> Decided:
    """The scikit-learn face, row by row."""
    from lasec.sklearn import TrackerClassifier  # noqa: PLC0415

    model, made = TrackerClassifier(rate=RATE, seed=SEED), []
    for at in range(X.shape[0]):
        row = slice(at, at + 1)
        asked, propensity = model.should_ask(X[row])
        made.append((bool(asked[0]), float(propensity[0])))
        if asked[0]:
            model.partial_fit(X[row], y[row], classes=names)
    return _decided(made)


def river(X: Any, y: Any, names: list[str]) -> Decided:
    """The River face, row by row."""
    dicts = [dict(enumerate(x)) for x in X.tolist()]
    return river_of(dicts, y, names, dimension=X.shape[1])


def river_of(dicts: Any, y: Any, names: list[str], **options: Any) -> Decided:
    """The River face on dicts of features."""
    from lasec.river import TrackerClassifier  # noqa: PLC0415

    made: list[tuple[bool, float]] = []
    model = TrackerClassifier(rate=RATE, seed=SEED, labels=names, **options)
    for x, label in zip(dicts, y, strict=True):
        decision = model.ask_one(x)
        made.append((decision.asked, decision.propensity))
        if decision.asked:
            model.tell_one(decision.ticket, label)
    return _decided(made)


def _desk(batch: Any, label: str, names: list[str]) -> Any:
    from lasec.tables import Encoder, TableLearner  # noqa: PLC0415

    encoder = Encoder.fit(batch, left_out=frozenset([label]))
    rule = lasec.rules.SparseTracking(dense=encoder.dense) if encoder.words else None
    tracker = lasec.Tracker(encoder.dimension, rate=RATE, seed=SEED, classes=names, rule=rule)
    return TableLearner(tracker, encoder, label=label)


def table_run(batch: Any, label: str, names: list[str]) -> Decided:
    """What ``lasec run`` does."""
    desk = _desk(batch, label, names)
    rows = desk.rows(batch)
    records = lasec.evaluate(desk.learner, rows.X, rows.y).records
    return Decided(records.asked, records.propensity)


def table_asks(batch: Any, label: str, names: list[str]) -> Decided:
    """What ``lasec ask`` and ``lasec tell`` do."""
    desk, made = _desk(batch, label, names), []
    for row in batch.to_pylist():
        decision = desk.ask([row])[0]
        made.append((decision.asked, decision.propensity))
        if decision.asked:
            desk.tell(decision.ticket, row[label])
    return _decided(made)


NUMBERS: dict[str, Callable[..., Decided]] = {
    "ask and tell": session, "scikit-learn": scikit_learn, "River": river,
}  # fmt: skip


def compared(name: str, rows: int = ROWS, spark: Any = None) -> Row:
    """One stream through all doors: how far each is from the first of its kind."""
    X, numbers = own_classes.labeled(name, 1.0)
    names = sorted(map(str, set(numbers.tolist())))
    X, y = X[:rows], numbers[:rows].astype(str)
    first = chunk(X, y, names)
    made: Row = {"stream": name, "classes": len(names), "queried": int(first.asked.sum())}
    for door, decide in NUMBERS.items():
        made[door] = apart(first, decide(X, y, names))
    if spark is not None:
        tracker = lasec.Tracker(X.shape[1], rate=RATE, seed=SEED, classes=names)
        job, learner = spark_job.decided(spark, tracker, X, y)
        made["Spark"] = apart(Decided(*learner), Decided(*job))
    from lasec.tables import table_of  # noqa: PLC0415

    data = open_dataset(name, data_folder())
    cut = {column: cells[:rows] for column, cells in data.columns.items()}
    batch: Any = table_of(cut, frozenset([data.label])).head
    named = sorted(set(map(str, batch[data.label].to_pylist())))
    given = batch, data.label, named
    made["lasec ask/tell to lasec run"] = apart(table_run(*given), table_asks(*given))
    return made


def apart(one: Decided, other: Decided) -> float:
    """The largest difference of two doors' query probabilities; 1 where other rows are queried."""
    if not np.array_equal(one.asked, other.asked):
        return 1.0
    return float(np.abs(one.propensity - other.propensity).max())
