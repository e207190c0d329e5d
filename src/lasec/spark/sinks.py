"""What a job has told, in files or in Kafka.

In files there is one directory for each batch, written whole or not at all. A batch that is served
again after a failure overwrites its directory with the same rows, so that every row is there once.
A reader takes the batches that have a ``_SUCCESS`` mark: the mark is the last thing that is
written, and the first that goes when a batch is written again, because a directory is neither
filled nor emptied at once.

Kafka cannot take a message back: there a batch that is served again is written again, with the same
messages. Each has the number of its batch, and its event's key and id, so that a reader that has
seen them can drop the repeat.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from lasec.spark.output import schema

MARK = "_SUCCESS"
Writer = Callable[[DataFrame, int], None]
_WANTED = {
    "predictions": (
        ("prediction", "question"),
        "key id time label margin variance propensity round",
    ),
    "questions": (("question",), "ticket key id time label margin propensity"),
    "receipts": (("receipt",), "ticket key id time y outcome label propensity updated"),
    "metrics": (("metrics",), "detail"),
    "dead": (("dead",), "key id time outcome detail"),
}


def files(out: str) -> Writer:
    """A writer for ``foreachBatch``: batch n goes to ``out/batch=n``, by kind."""

    def write(table: DataFrame, batch: int) -> None:
        where = f"{out.rstrip('/')}/batch={batch:012d}"
        system, mark = reach(table.sparkSession, f"{where}/{MARK}")
        system.delete(mark, False)
        writer = table.write.mode("overwrite").option("partitionOverwriteMode", "static")
        writer.partitionBy("kind").parquet(where)

    return write


def topics(servers: str, prefix: str, *, kind: str = "kafka", **options: str) -> Writer:
    """A writer for ``foreachBatch``: what is told goes to Kafka, as JSON, at least once.

    The topics are ``prefix.predictions``, ``prefix.questions``, ``prefix.receipts``,
    ``prefix.metrics`` and ``prefix.dead``. ``options`` are those of Spark's Kafka sink, or of the
    sink named ``kind``.
    """

    def write(table: DataFrame, batch: int) -> None:
        writer = messages(table, batch, prefix).write.format(kind).options(**options)
        writer.option("kafka.bootstrap.servers", servers).mode("append").save()

    return write


def messages(table: DataFrame, batch: int, prefix: str) -> DataFrame:
    """A batch as Kafka takes it: key, value and topic; a question is a prediction, too."""
    each = [_message(table, batch, prefix, what) for what in _WANTED]
    some = sql.filter(sql.array(*each), lambda message: message.isNotNull())
    return table.select("key", sql.inline(some))


def _message(table: DataFrame, batch: int, prefix: str, what: str) -> Column:
    """The message about a row in one of the topics, or null; numbers that are none are left out."""
    kinds, names = _WANTED[what]
    doubles = {field.name for field in table.schema if field.dataType.typeName() == "double"}
    cells = [
        sql.nullif(sql.col(name), sql.lit(float("nan"))).alias(name) if name in doubles
        else sql.col(name)
        for name in names.split()
    ]  # fmt: skip
    value = sql.to_json(sql.struct(*cells, sql.lit(batch).cast("bigint").alias("batch")))
    topic = sql.lit(f"{prefix}.{what}").alias("topic")
    return sql.when(sql.col("kind").isin(*kinds), sql.struct(value.alias("value"), topic))


def read(spark: SparkSession, out: str, what: str = "predictions") -> DataFrame:
    """What was told so far: "predictions", "questions", "receipts", "metrics" or "dead".

    Questions are predictions too. The last column is the number of the batch. Batches that are
    being written, or were when the job was killed, are left out.
    """
    if what not in _WANTED:
        raise ValueError(f"what: expected one of {sorted(_WANTED)}, got {what!r}")
    kinds, names = _WANTED[what]
    whole = [_literal(path) for path in _whole(spark, out)]
    if whole:
        table = spark.read.option("basePath", out)
        labels = table.parquet(whole[0]).schema["label"].dataType.simpleString()
        told = table.schema(f"{schema(labels)}, batch bigint").parquet(*whole)
    else:
        told = spark.createDataFrame([], f"{schema()}, batch bigint")
    return told.where(sql.col("kind").isin(*kinds)).select(*names.split(), "batch")


def _whole(spark: SparkSession, out: str) -> list[str]:
    """The directories of the batches that have been written to their end."""
    system, pattern = reach(spark, f"{_literal(out.rstrip('/'))}/batch=*/{MARK}")
    found = system.globStatus(pattern) or ()
    return [entry.getPath().getParent().toString() for entry in found]


def _literal(path: str) -> str:
    """A path in which nothing is a wildcard."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def reach(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Hadoop's view of a path, with the file system that holds it."""
    context: Any = spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place
