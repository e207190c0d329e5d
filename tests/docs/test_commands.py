"""Every command starts, with the lowest versions that are declared as well (`make lowest`)."""

import subprocess
import sys

import pytest
import typer
import typer.testing

from lasec.cli.app import app


def commands(group, before=()):
    """The words that lead to each command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name)


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_every_command_says_how_it_is_used(words):
    done = typer.testing.CliRunner(env={"COLUMNS": "100"}).invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output
    assert " ".join(words) in done.output


def test_a_command_that_no_page_runs():
    done = subprocess.run(
        [sys.executable, "-m", "lasec.cli", "cite", "tracker"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "MacKay" in done.stdout
