"""``lasec spark``: one model for each of millions of keys, on Spark."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lasec.cli import options as o
from lasec.cli.helptext import Command, Group
from lasec.cli.jobs import FEATURES, Endpoints, Room, Settings, begin, need
from lasec.cli.output import STOPPED, honest, put_lines, say
from lasec.cli.runner import Stop
from lasec.cli.spread import Only, spread
from lasec.errors import TableError
from lasec.learner import Learner
from lasec.sparse import takes_pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from lasec.spark import Job

LOOK = 1  # seconds between two looks at a job
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
HEAD = f"{'batch':>7} {'rows':>11} {'rows/s':>9} {'asked':>9} {'learned':>9} {'dead':>7}\n"

# What identifies a job: its checkpoint, and the initial model of its keys.
Checkpoint = Annotated[
    str, typer.Option("--checkpoint", "-c", help="Directory of the job's state.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Random seed. Default: a random one, stored in the checkpoint."
    ),
]
Model = Annotated[
    Path | None, typer.Option("--model", "-m", help="Model file that every key starts from.")
]
Dimension = Annotated[
    int | None, typer.Option("--dimension", "-d", min=1, help="Number of features of an event.")
]
Classes = Annotated[
    str | None,
    typer.Option("--classes", metavar="A,B,...", help="Classes of all models. Default: -1 and 1."),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        help="array, packed, sparse (indices and values) or text.",
    ),
]
Shards = Annotated[int, typer.Option("--shards", min=1, help="Number of groups of keys.")]
Asking = Annotated[o.Asking, Only("rate", "class_weight", "settings")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show Spark's log messages.")]

group = typer.Typer(
    cls=Group, no_args_is_help=True, help="Run one model per key, for millions, on Spark."
)


@group.command("run", cls=Command)
@honest
@spread
def run(
    events: Annotated[str, typer.Argument(help="Directory of events; with --kafka, a topic.")],
    *,
    checkpoint: Checkpoint,
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Directory of labels, or a topic.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Directory for predictions, questions and receipts."),
    ] = None,
    model: Model = None,
    algorithm: o.Algorithm = "tracker",
    asking: Asking,
    dimension: Dimension = None,
    classes: Classes = None,
    seed: Seed = None,
    shards: Shards = 64,
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, help="Number of tasks that share the groups.")
    ] = 2,
    master: Annotated[str, typer.Option("--master", help="Spark master.")] = "local[2]",
    max_age: Annotated[
        str, typer.Option("--max-age", help="Open questions expire after this time.")
    ] = "30d",
    patience: Annotated[
        str, typer.Option("--patience", help="How long an early label waits for its event; or 0.")
    ] = "1h",
    forget_after: Annotated[
        str | None,
        typer.Option("--forget-after", help="Delete a key without rows after this time, >= 90d."),
    ] = None,
    max_keys: Annotated[
        int, typer.Option("--max-keys", min=1, help="Maximum number of keys in a shard.")
    ] = 100_000,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Memory for models on each machine, such as 8g."),
    ] = None,
    keys: Annotated[
        int | None,
        typer.Option(
            "--keys", min=1, help="Expected number of keys: if too many, the Tracker is small."
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option("--every", help="Keep running, with a batch at this interval, such as 10s."),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="parquet or json.")] = "parquet",  # noqa: A002
    features: Features = "array",
    per_batch: Annotated[
        int | None,
        typer.Option(
            "--per-batch",
            min=1,
            help="Files or messages in a batch. Default: 8 files, or 100,000 messages.",
        ),
    ] = None,
    kafka: Annotated[str | None, typer.Option("--kafka", help="Kafka servers, host:9092.")] = None,
    kafka_out: Annotated[
        str | None,
        typer.Option(
            "--kafka-out", help="Write to the topics PREFIX.predictions, ... with --kafka."
        ),
    ] = None,
    packages: Annotated[
        str | None, typer.Option("--packages", help="Spark packages to load, such as connectors.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", help="Spark setting NAME=VALUE.")
    ] = None,
    conf_file: Annotated[
        Path | None,
        typer.Option("--conf-file", help="Spark properties file, for secret settings."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Predict, query and learn for every key, with the models in Spark's state.

    Processes all available events and stops; with --every, runs until Ctrl-C. The same command
    continues where the last one stopped, and processes each event exactly once. Each key starts
    from an untrained --model, or from an --algorithm with a --dimension. With --memory, the models
    of as many keys as fit are kept at hand; with --keys as well, the Tracker takes its small form
    where the full one would not fit.
    """
    need()
    endpoints = Endpoints(
        events, labels, out, checkpoint, kafka, kafka_out, format, features, per_batch
    )
    how = Settings(
        shards, partitions, master, max_age, patience, every, packages, tuple(conf or ()),
        conf_file, forget_after, max_keys, seed, Room(memory, keys),
    )  # fmt: skip
    endpoints.check()
    if model is None:
        algorithm = how.room.form(algorithm, dimension, features)
    job = how.job(begin(model, algorithm, dimension, asking, classes, features))
    if not serve(job, endpoints, how, verbose):
        raise typer.Exit(STOPPED)


@group.command("export", cls=Command)
@honest
@spread
def export(
    key: Annotated[str, typer.Argument(help="Key of the model.")],
    path: Annotated[Path, typer.Argument(help="File to write.")],
    *,
    checkpoint: Checkpoint,
    model: Model = None,
    algorithm: o.Algorithm = "tracker",
    asking: Asking,
    dimension: Dimension = None,
    classes: Classes = None,
    features: Features = "array",
    shards: Shards = 64,
    verbose: Verbose = False,
) -> None:
    """Write the model of one key to a file that lasec.Learner.load reads.

    The job must not be running. Give the --model, or the --algorithm and its options, of the job.
    """
    need()
    learner = begin(model, algorithm, dimension, asking, classes, features)
    take_out(learner, shards, checkpoint, key, path, verbose)


def serve(job: Job, endpoints: Endpoints, settings: Settings, verbose: bool) -> bool:
    """Run the job to its end, or until stopped; whether it came to its end."""
    from lasec.spark import session  # noqa: PLC0415

    trigger, conf = settings.trigger, settings.spark_conf
    settings.read_file()
    if verbose:
        conf.setdefault("spark.log.level", "WARN")
    _tell(job, endpoints, settings)
    stop = Stop()
    quiet = None if verbose else endpoints
    with _hushed(quiet), _understood(stop, quiet.log if quiet else None):
        spark = session(settings.master, partitions=settings.partitions, **conf)
        with _stopping(spark), stop.watching():
            query = _start(spark, job, endpoints, trigger)
            put_lines([HEAD])
            _watch(query, stop)
    if stop.wanted:
        say("lasec: stopped; run the same command to continue")
    return not stop.wanted


def take_out(
    model: Learner, shards: int, checkpoint: str, key: str, path: Path, verbose: bool
) -> None:
    """Write the model of one key to a file."""
    from lasec.spark import Job, export, session  # noqa: PLC0415

    job = Job(model, shards=shards)
    settings = Settings(shards, 1, "local[1]", "30d", "0", None, None, ())
    endpoints = Endpoints("", None, None, checkpoint, None, None, "parquet", "array", None)
    if endpoints.log and not endpoints.log.parent.is_dir():
        raise TableError(f"{checkpoint} has no checkpoint of a job")
    with _hushed(None if verbose else endpoints):
        spark = session(settings.master, partitions=1, **settings.spark_conf)
        with _stopping(spark), _understood(Stop(), endpoints.log):
            try:
                learner = export(spark, checkpoint, job, key, path)
            except KeyError:
                raise TableError(f"{checkpoint} has no key {key!r}") from None
    put_lines([f"wrote {path}: {learner.rows:,} rows, {learner.told:,} labels\n"])


@contextmanager
def _understood(stop: Stop, log: Path | None) -> Iterator[None]:
    """Errors of Spark in one line; none after a requested stop."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    where = f" (see {log})" if log else ""
    try:
        yield
    except PySparkException as error:
        if not stop.wanted:
            raise TableError(f"{_reason(str(error))}{where}") from None
    except (Py4JError, ConnectionRefusedError, ConnectionResetError):
        if not stop.wanted:
            raise TableError(f"Spark ended; run the same command to continue{where}") from None
    except KeyboardInterrupt:
        if not stop.wanted:
            raise


@contextmanager
def _stopping(spark: SparkSession) -> Iterator[None]:
    """Stop Spark at the end of the block."""
    from py4j.protocol import Py4JError  # noqa: PLC0415

    try:
        yield
    finally:
        with suppress(Py4JError, OSError):  # it may have gone away
            spark.stop()


def _start(
    spark: SparkSession, job: Job, endpoints: Endpoints, trigger: str | None
) -> StreamingQuery:
    """The job's query."""
    from lasec.spark import start, topics  # noqa: PLC0415

    kind = FEATURES[endpoints.features]
    events = endpoints.open(
        spark, endpoints.events, f"key string, id string, time double, features {kind}"
    )
    columns = "key string, id string, ticket string, time double"
    told = f"{columns}, y {job.config.labels.kind}, features {kind}"
    labels = endpoints.open(spark, endpoints.labels, told) if endpoints.labels else None
    out: Any = endpoints.out
    if out is None:
        out = topics(str(endpoints.kafka), str(endpoints.kafka_out))
    return start(job, events, labels, out=out, checkpoint=endpoints.checkpoint, every=trigger)


def _tell(job: Job, endpoints: Endpoints, settings: Settings) -> None:
    """Print what the job is about to do."""
    model, grows = job.model, " at first" if takes_pairs(job.model.rule) else ""
    size = f"{job.bytes_per_model:,} bytes per key{grows}"
    size += " (tracker-small)" if getattr(model.rule, "block", None) == 0 else ""
    lines = [("model", f"{model.name}, {model.dimension:,} features, {size}")]
    if fits := settings.room.line(job):
        lines.append(("memory", fits))
    lines += endpoints.lines()
    share = f"{job.shards} shards in {settings.partitions} partitions"
    put_lines([f"Spark {version('pyspark')} on {settings.master}, {share}\n"])
    put_lines(f"  {name:<8}{value}\n" for name, value in lines)


def _watch(query: StreamingQuery, stop: Stop) -> None:
    """Print a line for each batch, until the job ends or is stopped."""
    from lasec.spark import record  # noqa: PLC0415

    shown, rows, batches, over = -1, 0, 0, False
    while not over and not stop.wanted:
        over = bool(query.awaitTermination(LOOK))
        for progress in query.recentProgress:
            if progress["batchId"] > shown and "addBatch" in progress["durationMs"]:
                shown, batches = progress["batchId"], batches + 1
                rows += progress["numInputRows"]
                put_lines([_line(record(json.loads(progress.json)))])
    if not over:
        query.stop()  # a batch under way is given up, and served again by the next run
    word = "batch" if batches == 1 else "batches"
    put_lines([f"processed {rows:,} rows in {batches:,} {word}\n"])


def _line(one: dict[str, Any]) -> str:
    """One batch."""
    asked, learned, dead = (f"{one[name]:,}" for name in ("questions", "learned", "dead"))
    first = f"{one['batch']:>7} {one['rows']:>11,} {one['rows_per_second']:>9,.0f}"
    return f"{first} {asked:>9} {learned:>9} {dead:>7}\n"


def _reason(text: str) -> str:
    """The one useful line of a long error: that of Python's exception, or the first."""
    found = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): (.+)$", text, re.MULTILINE)
    if "data source: kafka" in text:
        return f"Spark needs its Kafka connector: --packages {CONNECTOR}:{version('pyspark')}"
    return str(found[-1] if found else text.strip().partition("\n")[0])


@contextmanager
def _hushed(endpoints: Endpoints | None) -> Iterator[None]:
    """Redirect Spark's messages to the log, or nowhere."""
    if endpoints is None:
        yield
        return
    log = endpoints.log
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    target = os.open(log or os.devnull, flags, 0o600)
    if log is not None:
        with suppress(PermissionError):  # it may be somebody else's
            os.fchmod(target, 0o600)  # it may have been there, open to all
    os.dup2(target, 2)
    os.close(target)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
