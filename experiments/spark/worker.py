"""One run of the job in a process of its own: ``python -m experiments.spark.worker FOLDER``.

The folder holds ``settings.json``; what the job tells goes to ``out``, its state to ``checkpoint``,
and when all input is used up ``done.json`` says what was counted. The input comes in phases, and
between two of them the checkpoint is moved to another number of partitions.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lasec
import lasec.spark
from experiments.spark import feed

LOST = "org.apache.spark.scheduler.TaskSetManager"
KAFKA = "mock-kafka"
LOOPBACK: dict[str, Any] = {
    "spark__driver__host": "127.0.0.1",
    "spark__driver__bindAddress": "127.0.0.1",
    "spark__ui__enabled": "false",
    "spark__driver__memory": "1g",
    "spark__executor__memory": "700m",
}


def job(dimension: int) -> lasec.spark.Job:
    """The job that all runs have."""
    model = lasec.Tracker(dimension, rate=0.3)
    return lasec.spark.Job(model, shards=16, max_age=feed.MAX_AGE, patience=feed.PATIENCE, seed=0)


def run(folder: Path) -> dict[str, Any]:
    """Serve all input, from where the checkpoint is, and count what was told."""
    settings = json.loads((folder / "settings.json").read_text())
    spark = lasec.spark.session(settings["master"], **LOOPBACK)
    _quieten(spark)
    out, checkpoint, mark = str(folder / "out"), str(folder / "checkpoint"), folder / "phase"
    servers, mine = settings.get("servers"), settings.get("prefix", "")
    if servers:
        from experiments.spark.broker import Kafka  # noqa: PLC0415 - needs a package of its own

        spark.dataSource.register(Kafka)
    begin = int(mark.read_text()) if mark.exists() else 0
    for number, (files, partitions) in enumerate(settings["phases"][begin:], begin + 1):
        if not servers:
            _show(Path(settings["input"]), folder / "live", files)
        served = lasec.spark.start(
            job(settings["dimension"]), *_sources(spark, folder, settings), checkpoint=checkpoint,
            out=lasec.spark.topics(servers, mine + folder.name, kind=KAFKA) if servers else out,
        )  # fmt: skip
        served.awaitTermination()
        if partitions:
            lasec.spark.rescale(spark, checkpoint, partitions)
        (folder / "phase.draft").write_text(str(number))
        (folder / "phase.draft").rename(mark)
    counts = {
        what: lasec.spark.read(spark, out, what).count()
        for what in ("predictions", "questions", "receipts", "dead")
    }
    done = {"digest": lasec.spark.digest(spark, checkpoint), "counts": counts}
    spark.stop()
    return done


def _sources(spark: SparkSession, folder: Path, settings: dict[str, Any]) -> list[DataFrame]:
    """Events and labels: files, or topics of a broker."""
    schemas = {"events": lasec.spark.EVENTS, "labels": lasec.spark.LABELS}
    if "servers" not in settings:
        return [
            lasec.spark.directory(
                spark, str(folder / "live" / name), schema, per_batch=settings["files"]
            )
            for name, schema in schemas.items()
        ]
    return [
        lasec.spark.topic(
            spark, settings["servers"], settings["prefix"] + name, schema, kind=KAFKA,
            maxOffsetsPerTrigger=str(settings["messages"][name]),
        )
        for name, schema in schemas.items()
    ]  # fmt: skip


def _show(given: Path, live: Path, files: int) -> None:
    """Let the job see the first files of each source."""
    for name in ("events", "labels"):
        (live / name).mkdir(parents=True, exist_ok=True)
        for file in sorted((given / name).glob("*.parquet")):
            if int(file.stem) < files and not (live / name / file.name).exists():
                os.link(file, live / name / file.name)


def _quieten(spark: SparkSession) -> None:
    """Errors alone into the log, but also each task that was lost: they are counted."""
    context: Any = spark.sparkContext
    context.setLogLevel("ERROR")
    log4j = context._jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(LOST, log4j.Level.WARN)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    (where / "done.json").write_text(json.dumps(run(where)))
