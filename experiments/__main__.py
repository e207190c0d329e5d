"""The command line: ``python -m experiments panel all --jobs 2 --out DIR``, or ``benchmark``.

A study that is started again continues where it stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any, cast

import typer

from experiments import progress
from experiments.data import set_data
from experiments.journal import Journal
from experiments.studies import STUDIES, Study

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False
)


@app.callback()
def main() -> None:
    """The paper's experiments."""


def command(study: Study) -> Callable[..., None]:
    """What typer makes a command of."""

    def run(**given: Any) -> None:
        set_data(given.pop("data", None))
        module, _, name = study.place.partition(":")
        try:
            carry_out(getattr(import_module(f"experiments.{module}"), name), given)
        except ModuleNotFoundError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error

    made = [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.info, annotation=option.kind)
        for option in study.options
    ]
    cast(Any, run).__signature__ = Signature(made)
    run.__annotations__ = {option.name: option.kind for option in study.options}
    return run


def carry_out(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Call a study, with the journal of its folder if it keeps one; print what it says."""
    if "journal" in signature(function).parameters:
        with Journal(given["out"] / "journal.jsonl", given.pop("jobs")) as journal:
            say(function(journal=journal, **given))
    else:
        say(function(**given))


def say(found: Any) -> None:
    """Print a text, or several as they come."""
    for line in [found] if isinstance(found, str | dict) else found:
        typer.echo(line)


for each in STUDIES:
    app.command(each.name, help=each.about)(command(each))


if __name__ == "__main__":
    if sys.argv[1:] and "--help" not in sys.argv:
        progress.start(sys.argv[1])
    app()
