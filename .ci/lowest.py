"""Write constraints that hold the lowest versions which pyproject.toml allows.

``python .ci/lowest.py all`` is for ``lasec[all]``: its direct dependencies at their lower bounds,
and everything else as in constraints.txt.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLLOWS = {"anyio", "llvmlite"}  # which must fit the lowest versions of others


def requirements(project: dict[str, list[str]], extra: str) -> Iterator[Requirement]:
    """What an extra needs, and the extras of ours that it names."""
    for text in project["optional-dependencies"][extra]:
        needed = Requirement(text)
        if needed.name == "lasec":
            for inner in sorted(needed.extras):
                yield from requirements(project, inner)
        else:
            yield needed


def lowest(project: dict[str, list[str]], extra: str) -> dict[str, Version]:
    """The lower bound of each direct dependency; the highest where there are several."""
    found: dict[str, Version] = {}
    for needed in [*map(Requirement, project["dependencies"]), *requirements(project, extra)]:
        name = canonicalize_name(needed.name)
        (bound,) = (Version(s.version) for s in needed.specifier if s.operator == ">=")
        found[name] = max(bound, found.get(name, bound))
    return found


def main(extra: str) -> None:
    """Print the constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = lowest(project, extra)
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if re.match(r"\w", line)]
    names = {pin: canonicalize_name(pin.split("==")[0]) for pin in pins}
    others = [pin for pin in pins if names[pin] not in direct and names[pin] not in FOLLOWS]
    pinned = [f"{name}=={version}" for name, version in direct.items()]
    sys.stdout.write("\n".join([*pinned, *others]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
