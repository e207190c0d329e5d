"""Two revisions side by side: CPU time of the same workloads, in processes that take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
Times = dict[str, float | None]


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """The sources of a revision in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "src.tar"
        with open(archive, "wb") as file:
            subprocess.run(  # noqa: S603
                ["git", "archive", revision, "src"], cwd=ROOT, stdout=file, check=True  # noqa: S607
            )  # fmt: skip
        subprocess.run(["tar", "-xf", archive], cwd=name, check=True)  # noqa: S603, S607
        yield Path(name)


def times(tree: Path, names: list[str]) -> Times:
    """Seconds of each workload with the lasec of this tree, in a process of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", ROOT / "benchmarks" / "workloads.py", *names],
        env=os.environ | {"PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"},
        cwd=tree,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Times = json.loads(done.stdout)
    return found


def compare(old: str, new: str, runs: int, names: list[str]) -> Iterator[dict[str, Any]]:
    """One row a workload: the least CPU time of both, and the ratios of the runs."""
    with checkout(old) as before, checkout(new) if new else _here() as after:
        pairs: list[tuple[Times, Times]] = []
        for number in range(runs):  # each goes first in every second run
            if number % 2:
                later = times(after, names)
                pairs.append((times(before, names), later))
            else:
                earlier = times(before, names)
                pairs.append((earlier, times(after, names)))
    for name in names:
        yield _row(name, [(one[name], two[name]) for one, two in pairs])


def _row(name: str, found: list[tuple[float | None, float | None]]) -> dict[str, Any]:
    both = [(one, two) for one, two in found if one is not None and two is not None]
    if not both:
        return {"workload": name, "old_ms": None, "new_ms": None, "ratio": None}
    low, middle, high = np.quantile([two / one for one, two in both], [0.0, 0.5, 1.0])
    return {
        "workload": name,
        "old_ms": 1e3 * min(one for one, _ in both),
        "new_ms": 1e3 * min(two for _, two in both),
        "ratio": round(float(middle), 3),
        "from": round(float(low), 3),
        "to": round(float(high), 3),
    }


@contextmanager
def _here() -> Iterator[Path]:
    """This checkout, as it is, with what is not committed."""
    yield ROOT


def chosen(part: str) -> list[str]:
    """The workloads whose name contains a word; all of them by default.

    >>> chosen("fleet")
    ['fleet run, d = 16', 'fleet serve, d = 16']
    """
    return [name for name in WORKLOADS if part in name]
