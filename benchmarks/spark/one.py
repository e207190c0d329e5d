"""One configuration in a process and a Spark of its own: ``python -m benchmarks.spark.one``."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import lasec.spark as ls
from benchmarks.spark import feed, operators

WARM = 2  # batches before those that count


class Bench:
    """A folder with input, and one checkpoint for each form of the job."""

    def __init__(self, folder: Path, given: dict[str, Any]) -> None:
        self.folder, self.given = folder, given
        memory = str(given.get("memory", "3g"))
        self.spark: SparkSession = ls.session(
            given["master"], partitions=given["partitions"], spark__driver__host="127.0.0.1",
            spark__ui__enabled="false", spark__driver__memory=memory,
            spark__executor__memory="1g",
        )  # fmt: skip
        self.spark.sparkContext.setLogLevel("ERROR")
        self.batches = WARM + int(given["repeats"])

    def prepare(self) -> None:
        """Events, the questions that they lead to, and the labels that these get."""
        given = self.given
        events = self.folder / "events"
        feed.write_events(events, given["keys"], given["rows"], self.batches, given["dimension"])
        blank = feed.job(given["dimension"], given["shards"])
        table = self.spark.read.schema(feed.EVENTS).parquet(str(events))
        told = blank.stream(table).where("kind = 'question'").select("key", "id").toPandas()
        feed.write_labels(self.folder / "labels", events, told)

    def run(self, name: str, kind: type[operators.Begun], batch: int, **settings: Any) -> Any:
        """Serve one batch by one form of the job; gives Spark's progress."""
        here = self.folder / name
        for what in ("events", "labels"):
            (here / what).mkdir(parents=True, exist_ok=True)
            file = f"{batch:04d}.parquet"
            shutil.copy(self.folder / what / file, here / what / file)
        operator = type(kind.__name__, (kind,), settings)

        class Form(ls.Job):
            def processor(self) -> Any:
                return operator(self.terms)

        cache = self.given.get("cache", 256.0)
        job = feed.job(self.given["dimension"], self.given["shards"], Form, cache=cache)
        keys = self.spark.range(self.given["keys"]).select(
            sql.concat(sql.lit("tenant-"), sql.col("id")).alias("key"), sql.lit(b"").alias("model")
        )
        query = ls.start(
            job,
            ls.directory(self.spark, str(here / "events"), feed.EVENTS),
            ls.directory(self.spark, str(here / "labels"), ls.LABELS),
            out=str(here / "out"), checkpoint=str(here / "checkpoint"), warm=keys,
        )  # fmt: skip
        query.awaitTermination()
        return [progress for progress in query.recentProgress if progress["numInputRows"]][-1]

    def speeds(self, forms: dict[str, Callable[[int], Any]]) -> dict[str, list[float]]:
        """Rows a second of each form, taken in turn, batch by batch."""
        speeds: dict[str, list[float]] = {name: [] for name in forms}
        for batch in range(self.batches):
            for name, run in forms.items():
                progress = run(batch)
                seconds = progress["durationMs"]["triggerExecution"] / 1_000.0
                if batch >= WARM:
                    speeds[name].append(progress["numInputRows"] / seconds)
                self.last = progress if name == "lasec" else getattr(self, "last", progress)
        return speeds


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """The figures of one configuration."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given)
        bench.prepare()
        logs = str(Path(folder) / "logs")
        Path(logs).mkdir()
        forms: dict[str, Callable[[int], Any]] = {
            "lasec": lambda batch: bench.run("lasec", operators.Begun, batch)
        }
        if given.get("bare", True):
            for batch in range(bench.batches):
                bench.run("watched", operators.Watched, batch, folder=logs)
            forms["bare"] = lambda batch: bench.run("bare", operators.Bare, batch, folder=logs)
            forms["unread"] = lambda batch: bench.run(
                "unread", operators.Bare, batch, folder=logs, reads=False
            )
        speeds = bench.speeds(forms)
        found = summary(given, speeds, bench.last)
        if given.get("bare", True):
            found |= shares(Path(logs), given, speeds["lasec"])
        bench.spark.stop()
        return found


def summary(given: dict[str, Any], speeds: dict[str, list[float]], last: Any) -> dict[str, Any]:
    """Medians, and ratios of batches that ran one after the other."""
    found = {
        name: given[name] for name in ("what", "master", "keys", "dimension", "rows", "shards")
    }
    found["rows_per_second"] = round(statistics.median(speeds["lasec"]))
    for name in ("bare", "unread"):
        if name in speeds:
            ratios = [a / b for a, b in zip(speeds["lasec"], speeds[name], strict=True)]
            found[f"{name}_rows_per_second"] = round(statistics.median(speeds[name]))
            found[f"ratio_to_{name}"] = round(statistics.median(ratios), 3)
            found[f"lowest_to_{name}"], found[f"highest_to_{name}"] = (
                round(min(ratios), 3), round(max(ratios), 3),
            )  # fmt: skip
    operator = last["stateOperators"][0]
    custom = operator["customMetrics"]
    found["state_bytes"] = custom.get("rocksdbTotalSstFilesSize", custom.get("rocksdbSstFileSize"))
    found["batch_ms"] = last["durationMs"]["triggerExecution"]
    found["commit_ms"] = operator["commitTimeMs"]
    return found


def shares(logs: Path, given: dict[str, Any], speeds: list[float]) -> dict[str, Any]:
    """Where the time of a batch goes: all cores together, in microseconds a row."""
    spent: dict[str, float] = {}
    calls, moved, rows = {"get": 0, "put": 0, "remove": 0}, {"get": 0, "put": 0, "remove": 0}, 0
    for file in logs.glob("*.json"):
        if int(file.stem.split("-")[1]) < WARM:
            continue
        log = json.loads(file.read_text())
        for name, seconds in log["spent"].items():
            spent[name] = spent.get(name, 0.0) + seconds
        for call, _, _, size in log["calls"]:
            calls[call] += 1
            moved[call] += size
    rows = given["rows"] * given["repeats"]
    each = {name: 1e6 * seconds / rows for name, seconds in spent.items()}
    cores = given["partitions"]
    whole = 1e6 * cores / statistics.median(speeds)
    return {
        "us_per_row": round(whole, 1),
        "us_kernel": round(each["kernel"], 2),
        "us_state_get": round(each["get"], 2),
        "us_state_put": round(each["put"], 2),
        "us_other_python": round(each["total"] - each["kernel"] - each["get"] - each["put"], 2),
        "gets_per_1000_rows": round(1e3 * calls["get"] / rows, 2),
        "puts_per_1000_rows": round(1e3 * calls["put"] / rows, 2),
        "bytes_read_per_row": round(moved["get"] / rows),
        "bytes_written_per_row": round(moved["put"] / rows),
        "us_per_get": round(1e6 * spent["get"] / max(1, calls["get"])),
        "us_per_put": round(1e6 * spent["put"] / max(1, calls["put"])),
    }


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))  # noqa: T201
