"""What pyproject.toml declares is enough for what it is declared for."""

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())


def names(requirements):
    return {canonicalize_name(Requirement(text).name) for text in requirements} - {"lasec"}


def group(name):
    """The plain requirements of a dependency group, and of those that it includes."""
    for entry in DECLARED["dependency-groups"][name]:
        if isinstance(entry, dict):
            yield from group(entry["include-group"])
        else:
            yield entry


def test_the_docs_group_has_what_the_documented_modules_import():
    extras = DECLARED["project"]["optional-dependencies"].values()
    wanted = {name for extra in extras for name in names(extra)}
    command_line = {"filelock", "rich", "typer"}  # lasec.cli has no page of its objects
    mocked = {"protobuf", "pyspark"}  # by docs/conf.py
    serving = {"httptools", "psycopg", "uvicorn", "uvloop"}  # imported when a server starts
    wanted -= (
        command_line | mocked | serving | {"typing-extensions"}
    )  # the last is for an old River
    assert wanted <= names(group("docs"))


def test_every_bound_can_be_tested():
    """All have a lower bound, and one set of constraints holds all of them."""
    script = ROOT / ".ci" / "lowest.py"
    for extra in DECLARED["project"]["optional-dependencies"]:
        pins = subprocess.run(
            [sys.executable, script, extra], check=True, capture_output=True, text=True
        ).stdout
        direct = names(DECLARED["project"]["dependencies"])
        direct |= names(DECLARED["project"]["optional-dependencies"][extra])
        pinned = [Requirement(line) for line in pins.splitlines()]
        assert len({r.name for r in pinned}) == len(pinned)
        assert direct <= {canonicalize_name(r.name) for r in pinned}
