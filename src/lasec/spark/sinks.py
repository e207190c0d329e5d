"""What a job has told, in files: one directory for each batch, written whole or not at all.

A batch that is served again after a failure overwrites its directory with the same rows, so that
every row is there once. A reader takes the batches that have a ``_SUCCESS`` mark.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lasec.spark.output import SCHEMA

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


def files(out: str) -> Callable[[DataFrame, int], None]:
    """A writer for ``foreachBatch``: batch n goes to ``out/batch=n``, by kind."""

    def write(table: DataFrame, batch: int) -> None:
        where = f"{out.rstrip('/')}/batch={batch:012d}"
        table.write.mode("overwrite").partitionBy("kind").parquet(where)

    return write


def read(spark: SparkSession, out: str, what: str = "predictions") -> DataFrame:
    """What was told so far: "predictions", "questions", "receipts", "metrics" or "dead".

    Questions are predictions too. The last column is the number of the batch.
    """
    if what not in _WANTED:
        raise ValueError(f"what: expected one of {sorted(_WANTED)}, got {what!r}")
    kinds, names = _WANTED[what]
    told = spark.read.schema(f"{SCHEMA}, batch bigint").option("basePath", out).parquet(out)
    return told.where(sql.col("kind").isin(*kinds)).select(*names.split(), "batch")
