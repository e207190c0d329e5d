"""The job on Spark against the engine run bare, and its growth with keys and executors."""

from benchmarks.spark.table import table

__all__ = ["table"]
