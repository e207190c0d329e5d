"""``lasec spark``: one model for each of millions of keys, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lasec.cli import options as o
from lasec.cli.helptext import Command, Group
from lasec.cli.jobs import Endpoints, Settings, begin, need
from lasec.cli.output import STOPPED, honest
from lasec.cli.spark_runner import serve, take_out

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
Verbose = Annotated[bool, typer.Option("--verbose", help="Show Spark's log messages.")]

group = typer.Typer(
    cls=Group, no_args_is_help=True, help="Run one model per key, for millions, on Spark."
)


@group.command("run", cls=Command)
@honest
def run(
    events: Annotated[str, typer.Argument(help="Directory of events; with --kafka, a topic.")],
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
    dimension: Dimension = None,
    rate: o.Rate = 0.1,
    classes: Classes = None,
    class_weight: o.ClassWeight = None,
    settings: o.Settings = None,
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
    from an untrained --model, or from an --algorithm with a --dimension.
    """
    need()
    asking = o.Asking(rate, settings=tuple(settings or ()), class_weight=class_weight)
    endpoints = Endpoints(
        events, labels, out, checkpoint, kafka, kafka_out, format, features, per_batch
    )
    how = Settings(
        shards, partitions, master, max_age, patience, every, packages, tuple(conf or ()),
        conf_file, forget_after, max_keys, seed,
    )  # fmt: skip
    endpoints.check()
    job = how.job(begin(model, algorithm, dimension, asking, classes, features))
    if not serve(job, endpoints, how, verbose):
        raise typer.Exit(STOPPED)


@group.command("export", cls=Command)
@honest
def export(
    key: Annotated[str, typer.Argument(help="Key of the model.")],
    path: Annotated[Path, typer.Argument(help="File to write.")],
    checkpoint: Checkpoint,
    model: Model = None,
    algorithm: o.Algorithm = "tracker",
    dimension: Dimension = None,
    rate: o.Rate = 0.1,
    classes: Classes = None,
    class_weight: o.ClassWeight = None,
    settings: o.Settings = None,
    features: Features = "array",
    shards: Shards = 64,
    verbose: Verbose = False,
) -> None:
    """Write the model of one key to a file that lasec.Learner.load reads.

    The job must not be running. Give the --model, or the --algorithm and its options, of the job.
    """
    need()
    asking = o.Asking(rate, settings=tuple(settings or ()), class_weight=class_weight)
    learner = begin(model, algorithm, dimension, asking, classes, features)
    take_out(learner, shards, checkpoint, key, path, verbose)
