"""What a job has learned, out of its checkpoint: models as files, a digest, and rescaling."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lasec.spark.ledger import Ledger


def state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The whole state of a job that is not running: shard, part, name and bytes.

    Parts are ``ledger`` (one for each shard), ``page`` (models), ``question`` and ``queue`` (open
    and closed questions), and ``early`` (labels without an event).
    """
    kept = spark.read.format("statestore").option("stateVarName", "parts").load(checkpoint)
    return kept.select(
        sql.col("key.shard").alias("shard"),
        sql.col("user_map_key.part").alias("part"),
        sql.col("user_map_key.name").alias("name"),
        sql.col("user_map_value.value").alias("value"),
    )


def digest(spark: SparkSession, checkpoint: str) -> str:
    """A fingerprint of the whole state, but for when the job happened to run.

    Two runs over the same input in the same batches have the same digest, whatever failed
    meanwhile.
    """
    rows = state(spark, checkpoint).mapInPandas(_hashed, "mark string").collect()
    total = blake2b(digest_size=16)
    for mark in sorted(row["mark"] for row in rows):
        total.update(mark.encode())
    return total.hexdigest()


def _hashed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """A fingerprint of each row of state."""
    for frame in frames:
        marks = []
        for shard, part, name, value in frame.itertuples(index=False):
            data = Ledger.from_bytes(value).lasting() if part == "ledger" else bytes(value)
            text = f"{shard}/{part}/{name}/".encode()
            marks.append(blake2b(text + data, digest_size=16).hexdigest())
        yield pd.DataFrame({"mark": marks})
