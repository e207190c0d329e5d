"""A job on Spark, from the command line: what it needs, its settings, its lines, its end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lasec.cli.options import Asking
from lasec.cli.output import put_lines, say
from lasec.cli.running import Stop
from lasec.errors import StateError, TableError
from lasec.learner import Learner
from lasec.parameters import seconds
from lasec.tables import brew, read_learner
from lasec.tables.kinds import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from lasec.spark import Job

JAVA = 17
LOOK = 1  # seconds between two looks at a job
LOG = "_spark.log"
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
FEATURES = {
    "array": "array<double>",
    "packed": "binary",
    "sparse": "struct<indices: array<int>, values: array<double>>",
}
FORMATS = ("parquet", "json")
HEAD = f"{'batch':>7} {'rows':>11} {'rows/s':>9} {'asked':>9} {'learned':>9} {'dead':>7}\n"


def need() -> None:
    """Say what is missing, before anything is begun."""
    missing = [name for name in ("pyspark", "pandas") if not find_spec(name)]
    if missing:
        raise TableError(f"Spark needs {' and '.join(missing)}: pip install 'lasec[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    if java is None:
        raise TableError(f"Spark needs Java: install Java {JAVA} or newer, and put it on the PATH")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    if found and int(found[1]) < JAVA:
        raise TableError(f"Spark needs Java {JAVA} or newer; {java} is Java {found[1]}")


def begin(model: Path | None, algorithm: str, dimension: int | None, asking: Asking) -> Learner:
    """The learner that every key begins as."""
    if model is None:
        if dimension is None:
            raise TableError("how many features has an event? Say --dimension, or give a --model")
        return brew(
            algorithm, dimension, rate=asking.rate, settings=asking.parameters(), seed=asking.seed
        )
    try:
        learner = read_learner(model.read_bytes())
    except StateError as error:
        if "at a table" in str(error):
            raise TableError(
                f"{model} reads a table of its own; a job needs a model saved by Learner.save"
            ) from None
        raise
    if learner.rounds:
        raise TableError(
            f"{model} has seen {learner.rounds:,} rows, and every key would begin with them: "
            "give a fresh one here, and trained ones key by key as a warm start (docs/spark.md)"
        )
    return learner


class Place(NamedTuple):
    """Where things come from, and where they go."""

    events: str
    labels: str | None
    out: str | None
    checkpoint: str
    kafka: str | None
    kafka_out: str | None
    format: str
    features: str
    per_batch: int

    def check(self) -> None:
        """See what does not go together."""
        for name, known in (("format", FORMATS), ("features", tuple(FEATURES))):
            if getattr(self, name) not in known:
                raise nearest(getattr(self, name), list(known), name)
        if (self.out is None) == (self.kafka_out is None):
            raise TableError("where shall it be told? Say either --out or --kafka-out")
        if self.kafka_out is not None and self.kafka is None:
            raise TableError("--kafka-out needs --kafka: which servers?")

    @property
    def log(self) -> Path | None:
        """Where Spark's own words go, if the checkpoint is a local directory."""
        return None if "://" in self.checkpoint else Path(self.checkpoint) / LOG

    def open(self, spark: SparkSession, name: str, schema: str) -> DataFrame:
        """A stream of what is in a directory, or of the messages of a topic."""
        from lasec.spark import directory, topic  # noqa: PLC0415

        if self.kafka is None:
            return directory(spark, name, schema, kind=self.format, per_batch=self.per_batch)
        options = {"maxOffsetsPerTrigger": str(self.per_batch), "startingOffsets": "earliest"}
        return topic(spark, self.kafka, name, schema, **options)

    def lines(self) -> Iterator[tuple[str, str]]:
        """For people."""
        kind = f"topic at {self.kafka}" if self.kafka else f"{self.format}, {self.features}"
        yield "events", f"{self.events} ({kind})"
        yield "labels", self.labels or "none"
        yield "out", self.out or f"topics {self.kafka_out}.* at {self.kafka}"
        yield "memory", self.checkpoint


class Wish(NamedTuple):
    """How a job is to be run."""

    shards: int
    partitions: int
    master: str
    max_age: str
    patience: str
    every: str | None
    packages: str | None
    conf: tuple[str, ...]

    def job(self, model: Learner) -> Job:
        """The job, with this model."""
        from lasec.spark import Job  # noqa: PLC0415

        waits = 0.0 if self.patience == "0" else seconds("--patience", self.patience)
        age = seconds("--max-age", self.max_age)
        return Job(model, shards=self.shards, max_age=age, patience=waits)

    @property
    def trigger(self) -> str | None:
        """How often there is a batch, as Spark says it."""
        if self.every is None:
            return None
        return f"{round(1_000 * seconds('--every', self.every))} milliseconds"

    @property
    def settings(self) -> dict[str, str]:
        """Spark's settings."""
        given = dict[str, str]()
        if self.master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            given |= {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
        if self.packages is not None:
            given["spark.jars.packages"] = self.packages
        for text in self.conf:
            name, equals, value = text.partition("=")
            if not equals:
                raise TableError(f"--conf {text}: expected NAME=VALUE")
            given[name] = value
        return given


def serve(job: Job, place: Place, wish: Wish, verbose: bool) -> bool:
    """Run the job to its end, or until stopped; whether it came to its end."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from lasec.spark import session  # noqa: PLC0415

    trigger, settings = wish.trigger, wish.settings
    if verbose:
        settings.setdefault("spark.log.level", "WARN")
    _tell(job, place, wish)
    with _hushed(None if verbose else place):
        spark = session(wish.master, partitions=wish.partitions, **settings)
    try:
        query = _start(spark, job, place, trigger)
        put_lines([HEAD])
        return _watch(query)
    except PySparkException as error:
        where = f" (see {place.log})" if place.log and not verbose else ""
        raise TableError(f"{_reason(str(error))}{where}") from None
    finally:
        spark.stop()


def _start(spark: SparkSession, job: Job, place: Place, trigger: str | None) -> StreamingQuery:
    """The job's query."""
    from lasec.spark import LABELS, start, topics  # noqa: PLC0415

    kind = FEATURES[place.features]
    events = place.open(spark, place.events, f"key string, id string, time double, features {kind}")
    labels = place.open(spark, place.labels, LABELS) if place.labels else None
    out: Any = place.out
    if out is None:
        out = topics(str(place.kafka), str(place.kafka_out))
    return start(job, events, labels, out=out, checkpoint=place.checkpoint, every=trigger)


def _tell(job: Job, place: Place, wish: Wish) -> None:
    """What is about to be done."""
    model = job.model
    lines = [
        ("model", f"{model.name}, {model.dimension} features, {job.bytes_per_model:,} bytes a key"),
        *place.lines(),
    ]
    share = f"{job.shards} shards in {wish.partitions} partitions"
    put_lines([f"Spark {version('pyspark')} on {wish.master}, {share}\n"])
    put_lines(f"  {name:<8}{value}\n" for name, value in lines)


def _watch(query: StreamingQuery) -> bool:
    """A line for each batch, until the job ends or is told to."""
    stop, shown, rows, batches = Stop(), -1, 0, 0
    with stop.watching():
        over = False
        while not over and not stop.wanted:
            over = bool(query.awaitTermination(LOOK))
            for progress in query.recentProgress:
                if progress["batchId"] > shown and "addBatch" in progress["durationMs"]:
                    shown, batches = progress["batchId"], batches + 1
                    rows += progress["numInputRows"]
                    put_lines([_line(progress)])
        if stop.wanted:
            query.stop()
    put_lines([f"served {rows:,} rows in {batches:,} {'batch' if batches == 1 else 'batches'}\n"])
    if stop.wanted:
        say("lasec: stopped; the same command goes on from here")
    return not stop.wanted


def _line(progress: Any) -> str:
    """One batch."""
    told = progress["observedMetrics"].get("told")
    counts = [told[name] for name in ("questions", "learned", "dead")] if told else [0, 0, 0]
    rows = progress["numInputRows"]
    speed = 1_000.0 * rows / max(progress["durationMs"]["triggerExecution"], 1)
    asked, learned, dead = (f"{count:,}" for count in counts)
    first = f"{progress['batchId']:>7} {rows:>11,} {speed:>9,.0f}"
    return f"{first} {asked:>9} {learned:>9} {dead:>7}\n"


def _reason(text: str) -> str:
    """The line of a long error that says what is wrong: that of Python's own, or the first."""
    found = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): (.+)$", text, re.MULTILINE)
    if "data source: kafka" in text:
        return f"Spark has no Kafka: give it --packages {CONNECTOR}:{version('pyspark')}"
    return str(found[-1] if found else text.strip().partition("\n")[0])


@contextmanager
def _hushed(place: Place | None) -> Iterator[None]:
    """Let what is started meanwhile write its errors to the log of a place, or nowhere."""
    if place is None:
        yield
        return
    log = place.log
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    target = os.open(log or os.devnull, flags, 0o644)
    os.dup2(target, 2)
    os.close(target)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
