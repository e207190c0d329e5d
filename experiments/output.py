"""Files: tidy CSV, and JSON with all that is needed to repeat a run."""

from __future__ import annotations

import csv
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments import digests

PACKAGES = ("lasec", "numpy", "scipy", "numba")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """One row a line, the keys of the first row as columns."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[dict[str, Any]]:
    """What :func:`write_csv` wrote, numbers as numbers."""
    with open(path, newline="") as file:
        return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def write_json(path: Path, **contents: Any) -> None:
    """``contents``, the commit and the versions it was made with."""
    versions = {"python": platform.python_version()} | {p: version(p) for p in PACKAGES}
    made = {"commit": digests.commit(), "versions": versions}
    path.write_text(json.dumps(contents | made, indent=1) + "\n")


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
