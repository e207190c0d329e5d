"""A job set going: Spark's settings, sources by name, and the query that serves them."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StreamingQuery

from lasec import StateError
from lasec.spark.operator import CORRUPT, Job
from lasec.spark.sinks import Writer, files, reach

# Without these the job is slow, or does not stop when its input is used up.
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",  # a read a write
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",  # at WARN there is a line for every question that is new
}
EVENTS = "key string, id string, time double, features array<double>"
LABELS = "key string, id string, ticket string, time double, y int"  # of -1 and +1; or y string
SEED_FILE = "_lasec_seed"
_PRIVATE = 0o600


def session(
    master: str | None = None, *, partitions: int = 2, name: str = "lasec", **settings: str
) -> SparkSession:
    """A Spark session with the settings that the job needs.

    Without ``master`` Spark runs in this process with two threads, or where ``spark-submit`` said.
    ``partitions`` is the number of tasks that share the shards, and with them the state; it is
    fixed for the life of a checkpoint, unless the checkpoint is repartitioned
    (:func:`lasec.spark.rescale`). More ``settings`` are Spark's own, with ``__`` for a dot.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master or "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit leaves that behind
        builder = builder.master(master or "local[2]")
    given = {key.replace("__", "."): value for key, value in settings.items()}
    wanted = SETTINGS | {"spark.sql.shuffle.partitions": str(partitions)} | given
    for key, value in wanted.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def directory(
    spark: SparkSession, path: str, schema: str, *, kind: str = "parquet", per_batch: int = 8
) -> DataFrame:
    """A stream of the files that come into a directory: Parquet, or lines of JSON.

    Lines of JSON that cannot be read go to the dead letters.
    """
    reader = spark.readStream.option("maxFilesPerTrigger", per_batch)
    if kind == "json":
        schema = f"{schema}, {CORRUPT} string"
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    return reader.schema(schema).format(kind).load(path)


def topic(
    spark: SparkSession, servers: str, name: str, schema: str, *, kind: str = "kafka",
    **options: str,
) -> DataFrame:  # fmt: skip
    """A stream of the messages of a Kafka topic, each a JSON object.

    Needs Spark's Kafka connector, which ``spark-submit --packages`` brings, or as ``kind`` the name
    of another source with its options and columns.
    """
    reader = spark.readStream.format(kind).option("kafka.bootstrap.servers", servers)
    messages = reader.option("subscribe", name).options(**options).load()
    return parsed(messages, schema)


def parsed(messages: DataFrame, schema: str) -> DataFrame:
    """Messages with a binary ``value`` that holds JSON, as columns; bad ones keep their text.

    Spark would read bytes that are not UTF-8 as U+FFFD, and two ids could become one: a message
    with such bytes is bad.
    """
    text = sql.col("value").cast("string")
    odd = sql.concat(sql.lit("not UTF-8: "), sql.make_valid_utf8(text))  # no JSON
    settings = {"columnNameOfCorruptRecord": CORRUPT}
    cells = sql.from_json(
        sql.when(sql.is_valid_utf8(text), text).otherwise(odd),
        f"{schema}, {CORRUPT} string",
        settings,
    )
    return messages.select(cells.alias("cells")).select("cells.*")


def start(
    job: Job,
    events: DataFrame,
    labels: DataFrame | None = None,
    *,
    out: str | Writer,
    checkpoint: str,
    warm: DataFrame | None = None,
    every: str | None = None,
    name: str = "lasec",
) -> StreamingQuery:
    """Start the job, and write what it tells to the directory ``out``, or by the writer ``out``.

    Writers are :func:`lasec.spark.files`, which is what a directory stands for, and
    :func:`lasec.spark.topics`; one of your own must run the table that it gets once, not more.
    With ``every`` ("10 seconds") it goes on until it is stopped; without, it serves what is there
    and stops. Started again with the same checkpoint, it goes on where it was.

    The job's seed is kept in the checkpoint, in the file ``_lasec_seed`` that only its owner can
    read; a job without one gets a random seed of 64 bits at the first start.
    """
    job = replace(job, seed=kept_seed(events.sparkSession, checkpoint, job.seed))
    told = job.stream(events, labels, warm=warm)
    write = files(out) if isinstance(out, str) else out
    writer = told.writeStream.queryName(name).outputMode("append")
    writer = writer.option("checkpointLocation", checkpoint).foreachBatch(write)
    when: dict[str, Any] = {"processingTime": every} if every else {"availableNow": True}
    return writer.trigger(**when).start()


def kept_seed(spark: SparkSession, checkpoint: str, given: int | None = None) -> int:
    """The seed of a checkpoint: the one that it keeps, or else ``given``, or else a random one.

    Anyone who knows the seed knows the draw of every id, and can choose ids that are never asked
    about. So it is in a file that only its owner can read, on whatever file system there is.
    """
    path = f"{checkpoint.rstrip('/')}/{SEED_FILE}"
    kept = _read_seed(spark, path)
    if kept is None:
        _write_seed(spark, path, secrets.randbits(64) if given is None else given)
        kept = _read_seed(spark, path)
    if kept is None or (given is not None and kept != given):
        raise ValueError(
            f"seed: {checkpoint} was started with another one; leave the seed out to continue, or "
            "begin a new checkpoint with the models of this one"
        )
    return kept


def _read_seed(spark: SparkSession, path: str) -> int | None:
    """The number in a file, if there is the file."""
    system, place = reach(spark, path)
    if not system.exists(place):
        return None
    stream = system.open(place)
    try:
        text = str(stream.readLine())
    finally:
        stream.close()
    if not text.isdecimal() or int(text) >= 2**64:
        raise StateError(f"corrupted: {path} holds no seed; restore it from a copy")
    return int(text)


def _write_seed(spark: SparkSession, path: str, seed: int) -> None:
    """A file with a number, whole or not at all."""
    system, place = reach(spark, path)
    draft = place.suffix(f".{secrets.token_hex(8)}")
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    private = hadoop.permission.FsPermission(_PRIVATE)
    stream = system.create(draft, private, False, 4_096, system.getDefaultReplication(draft),
                           system.getDefaultBlockSize(draft), None)  # fmt: skip
    try:
        stream.writeBytes(f"{seed}\n")
    finally:
        stream.close()
    system.rename(draft, place)
