"""A job on Spark from the command line: what it needs, its model, its endpoints and settings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lasec.cli.options import Asking
from lasec.errors import TableError
from lasec.learner import Learner
from lasec.parameters import seconds
from lasec.persistence.container import kind_of, read
from lasec.registry import make
from lasec.session.saved import read_learner
from lasec.sparse import takes_pairs
from lasec.tables.kinds import nearest
from lasec.text import TextHasher

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lasec.spark import Job

JAVA = 17
LOG = "_spark.log"
FEATURES = {
    "array": "array<double>",
    "packed": "binary",
    "sparse": "struct<indices: array<int>, values: array<double>>",
    "text": "string",
}
SPARSE = ("sparse", "text")  # forms of features that the Tracker does not make dense
FORMATS = ("parquet", "json")
FILES, MESSAGES = 8, 100_000  # in a batch at most


def need() -> None:
    """Check that pyspark, pandas and Java are there."""
    missing = [name for name in ("pyspark", "pandas") if not find_spec(name)]
    if missing:
        raise TableError(
            f"Spark needs {' and '.join(missing)}: pip install '.[spark]' in a checkout of lasec"
        )
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    if java is None:
        raise TableError(f"Spark needs Java: install Java {JAVA} or newer and add it to the PATH")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    if found and int(found[1]) < JAVA:
        raise TableError(f"Spark needs Java {JAVA} or newer; {java} is Java {found[1]}")


def begin(
    model: Path | None, algorithm: str, dimension: int | None, asking: Asking, classes: str | None,
    features: str = "array",
) -> Learner:  # fmt: skip
    """The learner that every key starts from."""
    learner = _chosen(model, algorithm, dimension, asking, classes, features)
    if features == "text" and not takes_pairs(learner.rule):
        raise TableError("--features text needs a model of sparse rows: the tracker")
    return learner


def _chosen(
    model: Path | None, algorithm: str, dimension: int | None, asking: Asking, classes: str | None,
    features: str,
) -> Learner:  # fmt: skip
    """The learner of a file, or one by name."""
    if model is None:
        if features == "text" and dimension is None:
            dimension = TextHasher().columns
        if dimension is None:
            raise TableError("give --dimension (number of features of an event), or a --model")
        names = None if classes is None else [name.strip() for name in classes.split(",")]
        return make(
            algorithm, dimension, rate=asking.rate, settings=asking.parameters(), seed=asking.seed,
            class_weight=asking.weights(), classes=names, sparse=features in SPARSE,
        )  # fmt: skip
    if classes is not None or asking.class_weight is not None:
        raise TableError("--classes and --class-weight are those of the --model: give it alone")
    data = read(model)
    if kind_of(data) == "table":
        raise TableError(
            f"{model} was written by lasec run or ask; a job needs a model saved by Learner.save"
        )
    learner = read_learner(data)
    if learner.rows:
        raise TableError(
            f"{model} has seen {learner.rows:,} rows, and every key would start from it: give an "
            "untrained model here, and trained ones per key as a warm start (docs/spark.md)"
        )
    return learner


class Endpoints(NamedTuple):
    """Where events and labels come from, and where the output goes."""

    events: str
    labels: str | None
    out: str | None
    checkpoint: str
    kafka: str | None
    kafka_out: str | None
    format: str
    features: str
    per_batch: int | None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        for name, known in (("format", FORMATS), ("features", tuple(FEATURES))):
            if getattr(self, name) not in known:
                raise nearest(getattr(self, name), list(known), name)
        if (self.out is None) == (self.kafka_out is None):
            raise TableError("give either --out or --kafka-out for the output")
        if self.kafka_out is not None and self.kafka is None:
            raise TableError("--kafka-out needs --kafka: the Kafka servers")

    @property
    def log(self) -> Path | None:
        """The file of Spark's log, if the checkpoint is a local directory."""
        return None if "://" in self.checkpoint else Path(self.checkpoint) / LOG

    def open(self, spark: SparkSession, name: str, schema: str) -> DataFrame:
        """A stream of what is in a directory, or of the messages of a topic."""
        from lasec.spark import directory, topic  # noqa: PLC0415

        if self.kafka is None:
            files = self.per_batch or FILES
            return directory(spark, name, schema, kind=self.format, per_batch=files)
        most = str(self.per_batch or MESSAGES)
        options = {"maxOffsetsPerTrigger": most, "startingOffsets": "earliest"}
        return topic(spark, self.kafka, name, schema, **options)

    def lines(self) -> Iterator[tuple[str, str]]:
        """The endpoints, for people."""
        kind = f"topic at {self.kafka}" if self.kafka else f"{self.format}, {self.features}"
        yield "events", f"{self.events} ({kind})"
        yield "labels", self.labels or "none"
        yield "out", self.out or f"topics {self.kafka_out}.* at {self.kafka}"
        yield "state", self.checkpoint


class Room(NamedTuple):
    """The memory for models on each machine, and how many keys are expected; None if not said."""

    memory: str | None = None
    keys: int | None = None

    @property
    def bytes(self) -> int | None:
        """The memory in bytes."""
        return None if self.memory is None else size_of("--memory", self.memory)

    def form(self, algorithm: str, dimension: int | None, features: str) -> str:
        """The Tracker in the form of which so many keys fit: full, or else small."""
        if self.keys is None or self.bytes is None or algorithm != "tracker":
            return algorithm
        if dimension is None or features in SPARSE:
            return algorithm
        full = self.keys * _size(make(algorithm, dimension))
        return algorithm if full <= self.bytes else "tracker-small"

    def line(self, job: Job) -> str:
        """How many keys of a job fit, for people."""
        if self.bytes is None:
            return ""
        fits = self.bytes // job.bytes_per_model
        said = f"{self.memory} hold the models of {fits:,} keys"
        if self.keys is not None and self.keys > fits:
            said += f", fewer than {self.keys:,}: the others are read from the state when needed"
        return said


def size_of(name: str, size: str) -> int:
    """A size such as "8g", "512m" or "2t", in bytes; k, m, g and t are powers of 1,024.

    >>> size_of("memory", "8g")
    8589934592
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])b?\s*", size.lower())
    if match is None or float(match[1]) == 0.0:
        raise ValueError(f"{name} must be a size such as '8g' or '512m', got {size!r}")
    return int(float(match[1]) * 1_024 ** ("kmgt".index(match[2]) + 1))


def _size(model: Learner) -> int:
    """What a model takes in the state."""
    from lasec.spark import Job  # noqa: PLC0415

    return Job(model).bytes_per_model


class Settings(NamedTuple):
    """How a job is run."""

    shards: int
    partitions: int
    master: str
    max_age: str
    patience: str
    every: str | None
    packages: str | None
    conf: tuple[str, ...]
    conf_file: Path | None = None
    forget_after: str | None = None
    max_keys: int = 100_000
    seed: int | None = None
    room: Room = Room()

    def job(self, model: Learner) -> Job:
        """The job, with this model."""
        from lasec.spark import Job  # noqa: PLC0415

        waits = 0.0 if self.patience == "0" else seconds("--patience", self.patience)
        age, after = seconds("--max-age", self.max_age), self.forget_after
        forgets = None if after is None else seconds("--forget-after", after)
        more = {} if self.room.bytes is None else {"cache": self.room.bytes / 2**20}
        return Job(
            model, shards=self.shards, max_age=age, patience=waits, forget_after=forgets,
            max_keys=self.max_keys, seed=self.seed, **more,
        )  # fmt: skip

    @property
    def trigger(self) -> str | None:
        """The interval between batches, in Spark's format."""
        if self.every is None:
            return None
        return f"{round(1_000 * seconds('--every', self.every))} milliseconds"

    @property
    def spark_conf(self) -> dict[str, str]:
        """The settings of Spark."""
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

    def read_file(self) -> None:
        """Let Spark read its settings from a file, so that no list of processes shows them."""
        if self.conf_file is None:
            return
        if not self.conf_file.is_file():
            raise TableError(f"--conf-file {self.conf_file}: no such file")
        path = shlex.quote(str(self.conf_file.resolve()))
        before = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        os.environ["PYSPARK_SUBMIT_ARGS"] = (
            f"--load-spark-defaults --properties-file {path} {before}"
        )
