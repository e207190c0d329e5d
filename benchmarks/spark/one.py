"""One configuration in a process and a Spark of its own: ``python -m benchmarks.spark.one``."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.spark.processes import home
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import lasec.spark as ls
from benchmarks.spark import feed, operators

WARM = 2  # batches before those that count


class Bench:
    """A folder with input, and one checkpoint for each form of the job."""

    def __init__(self, folder: Path, given: dict[str, Any]) -> None:
        self.folder, self.given = folder, given
        os.environ["SPARK_HOME"] = str(home(folder / "home"))  # executors leave things behind
        self.spark: SparkSession = ls.session(
            given["master"], partitions=given["partitions"], spark__driver__host="127.0.0.1",
            spark__ui__enabled="false", spark__driver__memory="3g",
            spark__local__dir=str(folder / "local"),
            spark__executor__memory="1g",
        )  # fmt: skip
        self.spark.sparkContext.setLogLevel("ERROR")
        self.batches = WARM + int(given["repeats"])

    def prepare(self, name: str = "input", hot: float = 0.0) -> None:
        """Events, the questions that they lead to, and the labels that these get."""
        given = self.given
        events = self.folder / name / "events"
        sizes = given["keys"], given["rows"], self.batches, given["dimension"]
        feed.write_events(events, *sizes, hot)
        blank = feed.job(given["model"], given["dimension"], given["shards"])
        table = self.spark.read.schema(feed.EVENTS).parquet(str(events))
        told = blank.stream(table).where("kind = 'question'").select("key", "id").toPandas()
        feed.write_labels(self.folder / name / "labels", events, told)

    def form(
        self, name: str, kind: type[operators.Begun], source: str = "input", **settings: Any
    ) -> Form:
        """One form of the job, set going; it waits for files."""
        operator = type(kind.__name__, (kind,), settings)

        class Job(ls.Job):
            def processor(self) -> Any:
                return operator(self.config)

        given, here = self.given, self.folder / name
        for what in ("events", "labels"):
            (here / what).mkdir(parents=True)
        cache = given.get("cache", 1_024.0)
        job = feed.job(given["model"], given["dimension"], given["shards"], Job, cache=cache)
        names = sql.concat(sql.lit("tenant-"), sql.col("id")).alias("key")
        keys = self.spark.range(given["keys"]).select(names, sql.lit(b"").alias("model"))
        query = ls.start(
            job,
            ls.directory(self.spark, str(here / "events"), feed.EVENTS),
            ls.directory(self.spark, str(here / "labels"), ls.LABELS),
            out=str(here / "out"), checkpoint=str(here / "checkpoint"), warm=keys,
            every="200 milliseconds", name=name,
        )  # fmt: skip
        return Form(self.folder / source, here, query)

    def speeds(self, forms: dict[str, Form]) -> dict[str, list[float]]:
        """Rows a second of each form, taken in turn, batch by batch."""
        speeds: dict[str, list[float]] = {name: [] for name in forms}
        names = list(forms)
        for batch in range(self.batches):
            first = batch % len(names)  # each form follows each other one
            for name in names[first:] + names[:first]:
                speed = forms[name].serve(batch)
                if batch >= WARM:
                    speeds[name].append(speed)
        return speeds


class Form:
    """A query that is under way; it is handed one batch at a time."""

    def __init__(self, source: Path, here: Path, query: Any) -> None:
        self.source, self.here, self.query, self.seen = source, here, query, -1
        self.last: Any = None

    def serve(self, batch: int) -> float:
        """Rows a second of one batch."""
        rows, file = 0, f"{batch:04d}.parquet"
        for what in ("labels", "events"):
            os.link(self.source / what / file, self.here / what / file)
        wanted = sum(
            parquet.read_metadata(self.source / what / file).num_rows
            for what in ("labels", "events")
        )
        milliseconds = 0.0
        while rows < wanted:
            time.sleep(0.05)
            if not self.query.isActive:
                self.query.awaitTermination()  # raises what went wrong
            for progress in self.query.recentProgress:
                if progress["batchId"] > self.seen and progress["numInputRows"]:
                    self.seen, self.last = progress["batchId"], progress
                    rows += progress["numInputRows"]
                    milliseconds += progress["durationMs"]["triggerExecution"]
        return 1_000.0 * rows / milliseconds


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """The figures of one configuration."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given)
        bench.prepare()
        logs = str(Path(folder) / "logs")
        Path(logs).mkdir()
        bare = given.get("bare", True)
        if bare:
            watched = bench.form("watched", operators.Watched, folder=logs)
            for batch in range(bench.batches):
                watched.serve(batch)
            watched.query.stop()
            for pages in (Path(folder) / "local").rglob("lasec-pages"):
                shutil.rmtree(pages)  # what the first form has read is not at hand for the others
        forms = {"lasec": bench.form("lasec", operators.Begun)}
        if given.get("hot"):
            bench.prepare("hot input", given["hot"])
            forms["hot"] = bench.form("hot", operators.Begun, "hot input")
        if bare:
            forms["bare"] = bench.form("bare", operators.Bare, folder=logs)
            forms["unread"] = bench.form("unread", operators.Bare, folder=logs, reads=False)
        speeds = bench.speeds(forms)
        found = summary(given, speeds, forms["lasec"].last)
        if bare:
            found |= shares(Path(logs), given, speeds["lasec"])
        for form in forms.values():
            form.query.stop()
        bench.spark.stop()
        return found


def summary(given: dict[str, Any], speeds: dict[str, list[float]], last: Any) -> dict[str, Any]:
    """Medians, and ratios of batches that ran one after the other."""
    names = ("what", "model", "master", "keys", "dimension", "rows", "shards")
    found = {name: given[name] for name in names} | {"cache": given.get("cache", 1_024.0)}
    found["rows_per_second"] = round(statistics.median(speeds["lasec"]))
    for name in ("bare", "unread", "hot"):
        if name in speeds:
            ratios = [a / b for a, b in zip(speeds["lasec"], speeds[name], strict=True)]
            ratios = [1 / ratio for ratio in ratios] if name == "hot" else ratios
            found[f"{name}_rows_per_second"] = round(statistics.median(speeds[name]))
            found[f"ratio_to_{name}"] = round(statistics.median(ratios), 3)
            found[f"lowest_to_{name}"], found[f"highest_to_{name}"] = (
                round(min(ratios), 3), round(max(ratios), 3),
            )  # fmt: skip
    operator = last["stateOperators"][0]
    custom = operator["customMetrics"]
    found["state_bytes"] = custom.get("rocksdbTotalSstFilesSize", custom.get("rocksdbSstFileSize"))
    counts = ls.record(json.loads(last.json))
    found |= {name: counts[name] for name in ("page_hits", "page_misses")}
    found["batch_ms"] = last["durationMs"]["triggerExecution"]
    found["commit_ms"] = operator["commitTimeMs"]
    return found


def shares(logs: Path, given: dict[str, Any], speeds: list[float]) -> dict[str, Any]:
    """Where the time of a batch goes: all cores together, in microseconds a row."""
    spent: dict[str, float] = {}
    calls, moved, rows = Counter[str](), Counter[str](), 0
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
