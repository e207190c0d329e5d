"""The commands."""

from __future__ import annotations

import typer

from lasec.cli.compare import compare
from lasec.cli.inspect import cite, info
from lasec.cli.questions import ask, forget, predict, questions, tell
from lasec.cli.run import run
from lasec.cli.spark import group as spark
from lasec.cli.streams import datasets

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Classify a stream whose concept drifts, when labels cost money.",
)
for command in (run, compare, ask, tell, predict, questions, forget, info, cite, datasets):
    app.command()(command)
app.add_typer(spark, name="spark")
