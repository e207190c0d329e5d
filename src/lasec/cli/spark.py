"""``lasec spark``: millions of models, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lasec.cli import options as o
from lasec.cli.jobs import Endpoints, Settings, begin, need
from lasec.cli.output import STOPPED, honest
from lasec.cli.spark_runner import serve, take_out

# What names a job: its memory, and how its keys begin.
Checkpoint = Annotated[
    str, typer.Option("--checkpoint", "-c", help="Directory of the job's memory.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Random seed; else drawn, and kept in the checkpoint."),
]
Model = Annotated[
    Path | None, typer.Option("--model", "-m", help="A model's file that every key begins as.")
]
Dimension = Annotated[
    int | None, typer.Option("--dimension", "-d", min=1, help="Features of an event.")
]
Shards = Annotated[int, typer.Option("--shards", min=1, help="Groups that keys go to.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Let Spark talk, too.")]

group = typer.Typer(no_args_is_help=True, help="Millions of models, on Spark.")


@group.command("run")
@honest
def run(
    events: Annotated[str, typer.Argument(help="A directory of events; with --kafka, a topic.")],
    checkpoint: Checkpoint,
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="A directory of labels, or a topic.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Directory for what the job tells.")
    ] = None,
    model: Model = None,
    algorithm: o.Algorithm = "tracker",
    dimension: Dimension = None,
    rate: o.Rate = 0.1,
    settings: o.Settings = None,
    seed: Seed = None,
    shards: Shards = 64,
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, help="Tasks that share the groups.")
    ] = 2,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[2]",
    max_age: Annotated[str, typer.Option("--max-age", help="How long a question waits.")] = "30d",
    patience: Annotated[
        str, typer.Option("--patience", help="How long a label waits for its event; or 0.")
    ] = "1h",
    forget_after: Annotated[
        str | None,
        typer.Option("--forget-after", help="When a key without rows is forgotten; 90d or more."),
    ] = None,
    max_keys: Annotated[
        int, typer.Option("--max-keys", min=1, help="Keys in a shard at most.")
    ] = 100_000,
    every: Annotated[
        str | None, typer.Option("--every", help="Go on for ever, a batch every 10s or so.")
    ] = None,
    format: Annotated[str, typer.Option("--format", help="parquet or json.")] = "parquet",  # noqa: A002
    features: Annotated[str, typer.Option("--features", help="array, packed or sparse.")] = "array",
    per_batch: Annotated[
        int | None,
        typer.Option(
            "--per-batch", min=1, help="At most 8 files, or 100,000 messages, in a batch."
        ),
    ] = None,
    kafka: Annotated[str | None, typer.Option("--kafka", help="Servers, as in host:9092.")] = None,
    kafka_out: Annotated[
        str | None, typer.Option("--kafka-out", help="Tell it to the topics PREFIX.predictions ...")
    ] = None,
    packages: Annotated[
        str | None, typer.Option("--packages", help="What Spark is to fetch, such as connectors.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", help="A setting of Spark's, as in NAME=VALUE.")
    ] = None,
    conf_file: Annotated[
        Path | None,
        typer.Option("--conf-file", help="Spark's properties file, for settings that are secret."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Predict, ask and learn for every key, with Spark carrying the models.

    Serves what is there and stops, or with --every goes on until Ctrl-C. The same command goes on
    where the last one stopped: nothing is lost, nothing is done twice. Each key begins as the
    model in --model, which has seen nothing, or as an --algorithm with a --dimension.
    """
    need()
    asking = o.Asking(rate, settings=tuple(settings or ()))
    endpoints = Endpoints(
        events, labels, out, checkpoint, kafka, kafka_out, format, features, per_batch
    )
    how = Settings(
        shards, partitions, master, max_age, patience, every, packages, tuple(conf or ()),
        conf_file, forget_after, max_keys, seed,
    )  # fmt: skip
    endpoints.check()
    job = how.job(begin(model, algorithm, dimension, asking))
    if not serve(job, endpoints, how, verbose):
        raise typer.Exit(STOPPED)


@group.command("export")
@honest
def export(
    key: Annotated[str, typer.Argument(help="Whose model.")],
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    checkpoint: Checkpoint,
    model: Model = None,
    algorithm: o.Algorithm = "tracker",
    dimension: Dimension = None,
    rate: o.Rate = 0.1,
    settings: o.Settings = None,
    shards: Shards = 64,
    verbose: Verbose = False,
) -> None:
    """Write the model of one key to a file that the plain library loads.

    The job must stand, and must be named as it was run: its --model, or its --algorithm.
    """
    need()
    asking = o.Asking(rate, settings=tuple(settings or ()))
    take_out(begin(model, algorithm, dimension, asking), shards, checkpoint, key, path, verbose)
