"""Tables as users have them: tickets of all sorts, times of all types, columns of other names."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as sql

import lasec
from lasec.spark import EVENTS, Job, directory, read, start
from spark import desk

TICKETS: list[tuple[Any, Any, Any, Any]] = [  # ticket, key, id; and whose label it is
    ("a/1", None, None, ("a", "1")),
    ("x+y%2Fz/%E2%98%83", None, None, ("x y/z", "\N{SNOWMAN}")),
    ("B/7", "A", "1", ("A", "1")),
    ("B/7", "A", None, ("A", None)),
    ("B/7", None, "9", (None, "9")),
    ("no slash", None, None, (None, None)),
    ("a/b/c", None, None, (None, None)),
    ("%zz/1", None, None, (None, "1")),
    ("", None, None, (None, None)),
    (None, None, None, (None, None)),
]


def job() -> Job:
    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6)
    return Job(model, shards=1, max_age=64.0, seed=0)


def test_tickets(spark: Any) -> None:
    rows = [row[:3] for row in TICKETS]
    table = spark.createDataFrame(rows, "ticket string, key string, id string")
    table = table.select("*", sql.lit(1.0).alias("time"), sql.lit(1).alias("y"))
    kind = spark.createDataFrame([], EVENTS).schema["features"].dataType
    read_as = [(row.key, row.id) for row in job()._labels(table, kind).collect()]
    assert read_as == [row[3] for row in TICKETS]
    alone = job()._labels(table.drop("key", "id"), kind).first()
    assert (alone.key, alone.id) == ("a", "1")


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date", "double", "bigint"])
def test_times_of_any_type(spark: Any, kind: str) -> None:
    given = "1767225600" if kind in ("double", "bigint") else "'2026-01-01 00:00:00'"
    columns = ["'k' as key", "'1' as id", f"cast({given} as {kind}) as time",
               "array(1.0d, 2.0d) as features", "'a text' as raw"]  # fmt: skip
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        row = job()._events(spark.range(1).selectExpr(*columns)).first()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert row.time == 1_767_225_600.0
    assert row.raw is None  # a column of that name is the user's own


@pytest.mark.parametrize(
    "time",
    [
        "date_from_unix_date(2147483647)",
        "date_from_unix_date(-2147483647)",
        "cast(timestamp_micros(9223372036854775807) as timestamp_ntz)",
        "'tomorrow'",
        "1e308d",
    ],
)
def test_a_time_that_cannot_be_had_is_missing_or_beyond_all_use(spark: Any, time: str) -> None:
    columns = ["'k' as key", "'1' as id", f"{time} as time", "array(1.0d, 2.0d) as features"]
    seconds = job()._events(spark.range(1).selectExpr(*columns)).first().time
    assert seconds is None or seconds == 1e308


def test_a_shard_with_rows_is_not_woken_as_well(spark: Any, tmp_path: Path) -> None:
    out, begin = str(tmp_path / "out [1]"), time.time()
    (tmp_path / "events").mkdir()
    for batch in range(2):
        time.sleep(2.1 * batch)  # the alarm of the first batch is due
        row = {"key": "k", "id": str(batch), "time": begin + batch, "features": [1.0, 2.0]}
        pd.DataFrame([row]).to_parquet(tmp_path / f"events/{batch}.parquet", index=False)
        events = directory(spark, str(tmp_path / "events"), EVENTS)
        start(job(), events, out=out, checkpoint=str(tmp_path / "state")).awaitTermination()
    assert read(spark, out).count() == 2
    assert [row.batch for row in read(spark, out, "metrics").orderBy("batch").collect()] == [0, 1]


def test_input_of_another_schema(spark: Any, tmp_path: Path) -> None:
    """Between runs: numbers for texts, packed for lists, timestamps for seconds, more columns."""
    job = desk.job(shards=1)
    places = {"out": str(tmp_path / "out"), "checkpoint": str(tmp_path / "checkpoint")}
    X = np.arange(6.0).reshape(2, 3)
    tables = {
        "key bigint, id int, time double, features array<double>": pd.DataFrame(
            {"key": [7, 8], "id": np.array([1, 2], "i4"), "time": [1.0, 2.0], "features": list(X)}
        ),
        "more string, features binary, time timestamp, id string, key string": pd.DataFrame(
            {"key": ["7", "8"], "id": ["3", "4"], "more": ["x", None],
             "time": pd.to_datetime([3, 4], unit="s", utc=True).as_unit("us"),
             "features": [row.tobytes() for row in X]}
        ),
    }  # fmt: skip
    (tmp_path / "events").mkdir()
    for number, (schema, table) in enumerate(tables.items()):
        for old in (tmp_path / "events").iterdir():
            old.unlink()
        table.to_parquet(tmp_path / f"events/{number}.parquet", index=False)
        events = directory(spark, str(tmp_path / "events"), schema)
        start(job, events, **places).awaitTermination()
    made = read(spark, places["out"]).orderBy("id").collect()
    assert [(row.key, row.id, row.time, row.round) for row in made] == [
        ("7", "1", 1.0, 0), ("8", "2", 2.0, 0), ("7", "3", 3.0, 1), ("8", "4", 4.0, 1),
    ]  # fmt: skip
    short = directory(spark, str(tmp_path / "events"), "key string, id string, time double")
    with pytest.raises(ValueError, match=r"events: missing columns \['features'\], got \['key', "):
        start(job, short, **places)
    pd.DataFrame({"key": [9], "id": ["5"], "time": [5.0]}).to_parquet(tmp_path / "events/2.parquet")
    with pytest.raises(Exception, match=r"2\.parquet") as refused:  # a file, not a message
        start(
            job, directory(spark, str(tmp_path / "events"), desk.EVENTS), **places
        ).awaitTermination()
    assert "key" in str(refused.value)
    (tmp_path / "events/2.parquet").unlink()
