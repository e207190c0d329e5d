"""Another number of partitions for a checkpoint: nothing is lost, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lasec.spark
from spark import desk


def alarms(spark: Any, checkpoint: str) -> list[str]:
    """When each shard wants to be woken."""
    reader = spark.read.format("statestore").option("readRegisteredTimers", True)
    return sorted(map(str, reader.load(checkpoint).drop("partition_id").collect()))


def test_a_job_goes_on_with_three_partitions_as_with_two(
    spark: Any, served: Any, continued: Any, tmp_path: Path
) -> None:
    home = served.copy(tmp_path / "home")
    lasec.spark.rescale(spark, home.checkpoint, 3)
    lasec.spark.rescale(spark, home.checkpoint, 3)  # it is so already
    kept = {row["part"] for row in lasec.spark.state(spark, home.checkpoint).collect()}
    assert kept == {"ledger", "page", "question", "queue", "early"}
    assert alarms(spark, home.checkpoint) == alarms(spark, served.checkpoint) != []
    digest = lasec.spark.digest(spark, home.checkpoint)
    assert digest == lasec.spark.digest(spark, served.checkpoint)
    query = desk.run(spark, desk.job(), home.folder, home.path)
    assert query.lastProgress["stateOperators"][0]["numShufflePartitions"] == 3
    after = lasec.spark.digest(spark, home.checkpoint)
    assert digest != after == lasec.spark.digest(spark, continued.checkpoint)
    for what in ("predictions", "questions", "receipts"):
        pd.testing.assert_frame_equal(
            desk.told(spark, home.path, what),
            desk.told(spark, continued.path, what),
            check_exact=True,
        )


def test_a_batch_that_was_not_finished_is_finished_before(
    spark: Any, served: Any, tmp_path: Path
) -> None:
    home = served.copy(tmp_path / "home")
    for name in ("1", ".1.crc"):
        (home.path / "checkpoint" / "commits" / name).unlink()
    with pytest.raises(Exception, match="STATE_REPARTITION_INVALID_CHECKPOINT"):
        lasec.spark.rescale(spark, home.checkpoint, 3)
    with pytest.raises(ValueError, match="partitions: expected at least 1, got 0"):
        lasec.spark.rescale(spark, home.checkpoint, 0)
