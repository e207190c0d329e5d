"""A stream through a Spark job, as one key: its decisions are those of a learner with its draws.

A job draws by the id of an event, not by its place, so that a repeated event is decided alike. The
learner beside it is given the same draws.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import lasec

LABELS = "key string, id string, time double, y string"


def session() -> Any:
    """One small Spark for all streams."""
    import lasec.spark  # noqa: PLC0415

    settings = {"spark__driver__host": "127.0.0.1", "spark__ui__enabled": "false"}
    return lasec.spark.session(partitions=1, **settings)


def decided(spark: Any, tracker: lasec.Tracker, X: Any, y: Any) -> tuple[Any, Any]:
    """What the job decides about each row and what a learner does: asked and propensity."""
    import pandas as pd  # noqa: PLC0415

    import lasec.spark as ls  # noqa: PLC0415

    names = [str(i) for i in range(len(X))]
    plain = {"key": "k", "id": names, "time": np.arange(len(X), dtype=float)}
    with TemporaryDirectory() as folder:
        job, home = ls.Job(tracker, shards=1, seed=1), Path(folder)
        sources = []
        for what, schema, cells in (
            ("events", ls.EVENTS, {"features": X.tolist()}),
            ("labels", LABELS, {"y": y.astype(object)}),
        ):
            (home / what).mkdir()
            pd.DataFrame(plain | cells).to_parquet(home / what / "0.parquet")
            sources.append(ls.directory(spark, str(home / what), schema))
        out, checkpoint = str(home / "out"), str(home / "checkpoint")
        ls.start(job, *sources, out=out, checkpoint=checkpoint).awaitTermination()
        told, questions = ls.read(spark, out), ls.read(spark, out, "questions")
        chances = {row["id"]: row["propensity"] for row in told.collect()}
        asked = {row["id"] for row in questions.collect()}
        learner = ls.export(spark, checkpoint, job, "k", home / "k.lasec")
    ids = spark.createDataFrame(pd.DataFrame({"id": names})).selectExpr("xxhash64(id) as number")
    numbers = np.array([row["number"] for row in ids.collect()]).view(np.uint64)
    seeds = np.array([learner.seed], np.uint64)
    draws = lasec.Fleet.of(tracker, models=1, seeds=seeds).draws(np.zeros(len(X), int), numbers)
    alone = tracker.run(X, y, draws=draws)
    theirs = np.array([n in asked for n in names]), np.array([chances[n] for n in names])
    return theirs, (alone.asked, alone.propensity)
