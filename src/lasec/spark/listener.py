"""What a running job does, one flat record for each batch, through Spark's own listener."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

NAME = "lasec"
OUTCOMES = ("learned", "again", "late", "unasked", "offered", "unknown", "refused", "expired")
READS = ("page_hits", "page_misses")
_ROCKSDB = {
    "rocksdbTotalBytesWritten": "rocksdb_written",
    "rocksdbTotalBytesRead": "rocksdb_read",
    "rocksdbSstFileSize": "rocksdb_files",
    "rocksdbPinnedBlocksMemoryUsage": "rocksdb_pinned",
    "rocksdbCommitFileSyncLatencyMs": "rocksdb_sync_ms",
    "rocksdbTotalCompactionLatencyMs": "rocksdb_compaction_ms",
}

Record = dict[str, Any]


def observed() -> list[Column]:
    """What is counted in the output of every batch, for ``DataFrame.observe``."""
    kind, outcome = sql.col("kind"), sql.col("outcome")
    counts = {
        "predictions": kind.isin("prediction", "question"),
        "questions": kind == "question",
        "dead": kind == "dead",
    }
    counts |= {name: (kind == "receipt") & (outcome == name) for name in OUTCOMES}
    detail = sql.when(kind == "metrics", sql.col("detail"))
    return [sql.count_if(which).alias(name) for name, which in counts.items()] + [
        sql.sum(sql.get_json_object(detail, f"$.{name}").cast("bigint")).alias(name)
        for name in READS
    ]


class Listener(StreamingQueryListener):
    """Keeps one record a batch, hands it to ``on_record``, and appends it to a file of JSON lines.

    It is added to a session before the job is started::

        listener = lasec.spark.Listener(path="progress.jsonl")
        spark.streams.addListener(listener)

    ``records`` holds the last ``keep`` of them. A record has the query's name, the batch and when
    it began; rows that came and rows a second; milliseconds of the batch and of its parts; memory
    of the state and what RocksDB did; and the job's own counts: predictions, questions, dead
    letters, labels by what became of them, and pages that the cache had or had not. Records come a
    moment after their batch, in the order of batches; a job that was killed may lack its last one.
    """

    def __init__(
        self,
        on_record: Callable[[Record], None] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        keep: int = 1_000,
    ) -> None:
        self.records: deque[Record] = deque(maxlen=keep)
        self._on_record, self._path = on_record, Path(path) if path else None

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """One batch is done."""
        one = record(json.loads(event.progress.json))
        self.records.append(one)
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
        if self._on_record:
            self._on_record(one)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to keep."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to keep."""


def record(progress: dict[str, Any]) -> Record:
    """One flat record out of Spark's report on a batch.

    >>> one = record({"name": "lasec", "batchId": 7, "timestamp": "2026-01-01T00:00:00.000Z",
    ...     "numInputRows": 500, "durationMs": {"triggerExecution": 250, "addBatch": 200},
    ...     "observedMetrics": {"lasec": {"predictions": 400, "learned": 90}}})
    >>> one["batch"], one["rows_per_second"], one["batch_ms"], one["learned"]
    (7, 2000.0, 250, 90)
    """
    times = progress.get("durationMs", {})
    rows, whole = progress.get("numInputRows", 0), times.get("triggerExecution", 0)
    operators = progress.get("stateOperators", [])
    custom = [operator.get("customMetrics", {}) for operator in operators]
    one: Record = {
        "query": progress.get("name"),
        "batch": progress["batchId"],
        "time": progress["timestamp"],
        "rows": rows,
        "rows_per_second": 1_000.0 * rows / whole if whole else 0.0,
        "batch_ms": whole,
        "add_ms": times.get("addBatch", 0),
        "plan_ms": times.get("queryPlanning", 0),
        "log_ms": times.get("walCommit", 0) + times.get("commitOffsets", 0),
        "state_memory": sum(operator["memoryUsedBytes"] for operator in operators),
        "state_commit_ms": sum(operator["commitTimeMs"] for operator in operators),
    }
    for theirs, ours in _ROCKSDB.items():
        one[ours] = sum(metrics.get(theirs, 0) for metrics in custom)
    counts = progress.get("observedMetrics", {}).get(NAME, {})
    return one | {
        name: counts.get(name) or 0
        for name in ("predictions", "questions", "dead", *OUTCOMES, *READS)
    }
