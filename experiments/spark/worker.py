"""One run of the job in a process of its own: ``python -m experiments.spark.worker FOLDER``.

The folder holds ``settings.json``; what the job tells goes to ``out``, its state to ``checkpoint``,
and when all input is used up ``done.json`` says what was counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import lasec
import lasec.spark
from experiments.spark import feed

LOST = "org.apache.spark.scheduler.TaskSetManager"
LOOPBACK: dict[str, Any] = {
    "spark__driver__host": "127.0.0.1",
    "spark__driver__bindAddress": "127.0.0.1",
    "spark__ui__enabled": "false",
    "spark__driver__memory": "1g",
    "spark__executor__memory": "700m",
}


def job(dimension: int) -> lasec.spark.Job:
    """The job that all runs have."""
    model = lasec.LASEC_SS(dimension=dimension, drift=0.01, aggressiveness=0.1)
    return lasec.spark.Job(model, shards=16, max_age=feed.MAX_AGE, patience=feed.PATIENCE, seed=0)


def run(folder: Path) -> dict[str, Any]:
    """Serve all input, from where the checkpoint is, and count what was told."""
    settings = json.loads((folder / "settings.json").read_text())
    spark = lasec.spark.session(settings["master"], **LOOPBACK)
    _quieten(spark)
    sources = [
        lasec.spark.directory(
            spark, f"{settings['input']}/{name}", schema, per_batch=settings["files"]
        )
        for name, schema in (("events", lasec.spark.EVENTS), ("labels", lasec.spark.LABELS))
    ]
    out, checkpoint = str(folder / "out"), str(folder / "checkpoint")
    query = lasec.spark.start(job(settings["dimension"]), *sources, out=out, checkpoint=checkpoint)
    query.awaitTermination()
    counts = {
        what: lasec.spark.read(spark, out, what).count()
        for what in ("predictions", "questions", "receipts", "dead")
    }
    done = {"digest": lasec.spark.digest(spark, checkpoint), "counts": counts}
    spark.stop()
    return done


def _quieten(spark: SparkSession) -> None:
    """Errors alone into the log, but also each task that was lost: they are counted."""
    context: Any = spark.sparkContext
    context.setLogLevel("ERROR")
    log4j = context._jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(LOST, log4j.Level.WARN)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    (where / "done.json").write_text(json.dumps(run(where)))
