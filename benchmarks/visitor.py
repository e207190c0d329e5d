"""The README as a visitor would follow it, in a clean environment: seconds and sizes of each step.

The wheel is built and installed in an environment of its own, with an empty cache of compiled code.
Then come the Python blocks of the README, each of them timed to its first line on the screen, and
``lasec run`` with a report on a bundled stream, in a terminal: the longest time in which nothing
new is on the screen is given too.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """Each step; ``quick`` takes this environment for the clean one, and installs nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = Path(sys.executable)
        if not quick:
            yield from _install(folder)
            python = folder / "venv" / "bin" / "python"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
        for number, code in enumerate(BLOCK.findall((ROOT / "README.md").read_text()), 1):
            script = folder / "block.py"
            # A block builds on those before it.
            script.write_text((script.read_text() if number > 1 else "") + code, encoding="utf-8")
            yield _watched(
                f"README, Python block {number}", [str(python), "block.py"], folder, environment
            )
        lasec = [str(python), "-m", "lasec.cli"]
        subprocess.run(  # noqa: S603
            [*lasec, "datasets", "flights_small", "--out", "flights.csv"], cwd=folder,
            env=environment, check=True, capture_output=True,
        )  # fmt: skip
        run = [*lasec, "run", "flights.csv", "--label", "late", "--out", "flights"]
        for kind in ("first", "second"):
            yield _watched(
                f"lasec run with a report, {kind} time", [*run, "--force"], folder, environment
            )
        yield {
            "step": "the report",
            "mb": (folder / "flights" / "report.html").stat().st_size / 1e6,
        }


def _install(folder: Path) -> Iterator[dict[str, Any]]:
    """Build the wheel, make an environment, install."""
    build = [
        sys.executable,
        "-m",
        "build",
        "--quiet",
        "--wheel",
        "--outdir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True)  # noqa: S603
    wheel = next(folder.glob("*.whl"))
    yield {"step": "the wheel", "mb": wheel.stat().st_size / 1e6}
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)  # noqa: S603
    started = time.perf_counter()
    install = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", f"{wheel}[all]"]
    subprocess.run(install, check=True)  # noqa: S603
    files = (path.stat().st_size for path in (folder / "venv").rglob("*") if path.is_file())
    yield {
        "step": "pip install", "seconds": time.perf_counter() - started, "mb": sum(files) / 1e6,
    }  # fmt: skip


def _watched(
    step: str, command: list[str], folder: Path, environment: dict[str, str]
) -> dict[str, Any]:
    """Run a command in a terminal: when something first appeared, and the longest pause."""
    here, there = pty.openpty()
    started = time.perf_counter()
    seen = [started]
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder, env=environment, stdin=there, stdout=there, stderr=there
    ) as process:
        os.close(there)
        with suppress(OSError):  # the other end is closed when the process has ended
            while os.read(here, 4_096):
                seen.append(time.perf_counter())
    os.close(here)
    if process.returncode:
        raise RuntimeError(f"{step}: exit code {process.returncode}")
    seen.append(time.perf_counter())
    pauses = [after - before for before, after in pairwise(seen)]
    return {
        "step": step, "seconds": seen[-1] - started, "first_s": seen[1] - started,
        "pause_s": max(pauses),
    }  # fmt: skip
