"""What a job has learned, out of its checkpoint: models as files, a digest, and rescaling."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b

import pandas as pd
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lasec import Learner
from lasec.spark.config import Config
from lasec.spark.index import ShardIndex
from lasec.spark.operator import Job
from lasec.spark.shard import Shard
from lasec.spark.store import MODELS, PAGES, PARTS, PlainStore, from_text

_COUNTS = ("rows", "asked", "told", "updates")
_MODELS = "key string, model binary, " + ", ".join(f"{name} bigint" for name in _COUNTS)
_SAME = "StateRepartitionShufflePartitionsAlreadyMatchError"


def state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The whole state of a job that is not running: shard, part, name and bytes.

    Parts are ``ledger`` (one for each shard), ``page`` and ``block`` (models),
    ``question`` and ``queue`` (open and closed questions), and ``early`` (labels without an event).
    """
    parts, pages = (_kept(spark, checkpoint, name) for name in (PARTS, PAGES))
    return parts.unionAll(pages.mapInPandas(_plain, parts.schema))


def digest(spark: SparkSession, checkpoint: str) -> str:
    """A fingerprint of the whole state, but for when the job happened to run.

    Two runs over the same input in the same batches have the same digest, whatever failed
    meanwhile. Models of ``warm`` come in the order of their keys, unless a shard has more of them
    than one Arrow batch (``spark.sql.execution.arrow.maxRecordsPerBatch``): then keys may stand in
    another order, and the digest may differ.
    """
    rows = state(spark, checkpoint).mapInPandas(_hashed, "mark string").collect()
    total = blake2b(digest_size=16)
    for mark in sorted(row["mark"] for row in rows):
        total.update(mark.encode())
    return total.hexdigest()


def models(spark: SparkSession, checkpoint: str, job: Job, *keys: str) -> DataFrame:
    """The model of every key of a job that is not running, or of some keys only.

    The table has the columns key and model, the bytes of a ``.lasec`` file, and what was counted:
    rows, asked, told and updates. It is what ``warm`` wants in :func:`start`: a new job then
    begins with these models. Open questions stay behind; :func:`rescale` takes them along. Each
    model has the seed of its key. The job needs no seed here. ::

        table = lasec.spark.models(spark, "checkpoint", job)
        table.orderBy("asked", ascending=False).select("key", "rows", "asked").show()
    """
    kept = state(spark, checkpoint).where(sql.col("part").isin("ledger", *MODELS))
    if keys:
        kept = kept.where(sql.col("shard").isin(*(job.shard(sql.lit(key)) for key in keys)))
    return kept.groupBy("shard").applyInPandas(_learners(job.config, keys), _MODELS)


def export(
    spark: SparkSession, checkpoint: str, job: Job, key: str, path: str | os.PathLike[str]
) -> Learner:
    """Write the model of one key to a ``.lasec`` file, and give it as a learner.

    The plain library loads it::

        lasec.spark.export(spark, "checkpoint", job, "north", "north.lasec")
        learner = lasec.Learner.load("north.lasec")
    """
    found = models(spark, checkpoint, job, key).select("model").collect()
    if not found:
        raise KeyError(f"key: the checkpoint has no model of {key!r}")
    learner = Learner.from_bytes(bytes(found[0]["model"]))
    learner.save(path)
    return learner


def warm(spark: SparkSession, models: Mapping[str, Learner | str | os.PathLike[str]]) -> DataFrame:
    """A table of models to begin with: learners, or ``.lasec`` files, by key.

    For the start of a new job::

        begun = lasec.spark.warm(spark, {"north": "north.lasec", "south": "south.lasec"})
        lasec.spark.start(job, events, labels, out="out", checkpoint="checkpoint", warm=begun)

    A key keeps the seed that the job gives it: draws depend on the job's seed, the key and the id.
    Where many keys begin with one model, make the table with Spark: keys, cross-joined with it.
    """
    rows = [(key, bytearray(_read(model).to_bytes())) for key, model in models.items()]
    return spark.createDataFrame(rows, "key string, model binary")


def rescale(spark: SparkSession, checkpoint: str, partitions: int) -> None:
    """Let a job that is not running go on with another number of partitions.

    Everything stays: models, open questions, held labels, alarms, and where the sources were read
    to. It is one more batch of the checkpoint, that reads and tells nothing. More partitions than
    shards are of no use. A job that died in the middle of a batch must have finished that batch
    first: start it once more as it was; rescaling before that is refused. ::

        query.stop()
        lasec.spark.rescale(spark, "checkpoint", 32)
        lasec.spark.start(job, events, labels, out="out", checkpoint="checkpoint")

    Needs Spark 4.2 or later, where this is still experimental, and not Spark Connect.
    """
    if partitions < 1:
        raise ValueError(f"partitions: expected at least 1, got {partitions}")
    if not hasattr(type(spark), "_streamingCheckpointManager"):
        raise NotImplementedError("rescale: needs Spark 4.2 or later")
    try:
        spark._streamingCheckpointManager.repartition(checkpoint, partitions)
    except Py4JJavaError as error:  # Spark has no Python class for it
        if error.java_exception.getClass().getSimpleName() != _SAME:
            raise


def _kept(spark: SparkSession, checkpoint: str, name: str) -> DataFrame:
    """A map state of all shards."""
    kept = spark.read.format("statestore").option("stateVarName", name).load(checkpoint)
    return kept.select(
        sql.col("key.shard").alias("shard"),
        sql.col("user_map_key.part").alias("part"),
        sql.col("user_map_key.name").alias("name"),
        sql.col("user_map_value.value").alias("value"),
    )


def _plain(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Pages as the bytes that their texts stand for."""
    for frame in frames:
        yield frame.assign(value=[from_text(text) for text in frame["value"]])


def _read(model: Learner | str | os.PathLike[str]) -> Learner:
    """A learner, or that of a file."""
    return model if isinstance(model, Learner) else Learner.load(model)


def _learners(config: Config, keys: tuple[str, ...]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """From the state of one shard, its models."""

    def models_of(kept: pd.DataFrame) -> pd.DataFrame:
        store = PlainStore()
        for part, name, value in kept[["part", "name", "value"]].itertuples(index=False):
            store.put(part, name, bytes(value))
        shard = Shard(config, store, int(kept["shard"].iloc[0]))
        names = [key for key in shard.state.index.keys if not keys or key in keys]
        rows = [
            (key, one.to_bytes(), *(getattr(one, name) for name in _COUNTS))
            for key, one in zip(names, shard.state.take(names) if names else (), strict=True)
        ]
        return pd.DataFrame(rows, columns=["key", "model", *_COUNTS], dtype=object)

    return models_of


def _hashed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """A fingerprint of each row of state."""
    for frame in frames:
        marks = []
        for shard, part, name, value in frame.itertuples(index=False):
            data = ShardIndex.from_bytes(value).lasting() if part == "ledger" else bytes(value)
            text = f"{shard}/{part}/{name}/".encode()
            marks.append(blake2b(text + data, digest_size=16).hexdigest())
        yield pd.DataFrame({"mark": marks})
