"""Progress, a record for each batch."""

from __future__ import annotations

import json
from typing import Any

import lasec.spark
from spark import desk


def test_a_record_for_each_batch_counts_what_was_told(spark: Any, served: Any) -> None:
    records = served.records
    assert [record["batch"] for record in records] == [0, 1]
    assert all(record["rows"] == desk.ROWS + desk.ROWS // 2 for record in records)
    assert all(record["state_memory"] > 0 and record["rocksdb_written"] > 0 for record in records)
    assert all(record["batch_ms"] >= record["add_ms"] > 0 for record in records)
    for what in ("predictions", "questions", "dead"):
        counted = lasec.spark.read(spark, str(served.path / "out"), what).groupBy("batch").count()
        by_batch = {row["batch"]: row["count"] for row in counted.collect()}
        assert [record[what] for record in records] == [by_batch.get(b, 0) for b in (0, 1)]
    outcomes = desk.told(spark, served.path, "receipts")["outcome"].value_counts()
    assert outcomes["learned"] > 0
    assert outcomes["unasked"] > 0
    for name, count in outcomes.items():
        assert sum(record[str(name)] for record in records) == count


def test_records_are_written_as_lines(served: Any) -> None:
    text = (served.folder.parent / "progress.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == served.records
