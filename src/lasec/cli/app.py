"""The command line: all commands, and ``--version``."""

from __future__ import annotations

from typing import Annotated

import typer

import lasec
from lasec.cli.compare import compare
from lasec.cli.explain import explain
from lasec.cli.export import group as labels
from lasec.cli.handover import group as handover
from lasec.cli.helptext import Command, Group
from lasec.cli.inspect import cite, info
from lasec.cli.output import put_lines
from lasec.cli.questions import ask, forget, predict, questions, tell
from lasec.cli.run import run
from lasec.cli.serve import serve
from lasec.cli.spark import group as spark
from lasec.cli.streams import datasets

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # reflows paragraphs
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        put_lines([f"lasec {lasec.__version__}\n"])
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Online classification for drifting data streams on a label budget.

    Try a label budget on a file with labels: `lasec run mails.csv --label spam --rate 0.1`

    In production, rows arrive without labels: `lasec ask` predicts and chooses the rows to label,
    and `lasec tell` learns their labels.
    """


commands = (
    run, compare, ask, tell, predict, questions, forget, info, explain, cite, datasets, serve
)  # fmt: skip
for command in commands:
    app.command(cls=Command)(command)
app.add_typer(labels, name="labels")
app.add_typer(handover, name="handover")
app.add_typer(spark, name="spark")
