"""The processes of a run: found by a mark in their environment, which all descendants inherit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

MARK = "LASEC_RUN"
KINDS = (
    ("CoarseGrainedExecutorBackend", "executor"),
    ("org.apache.spark.deploy.SparkSubmit", "driver"),
    ("experiments.spark.worker", "driver"),
    ("pyspark.daemon", "python"),
    ("pyspark.worker", "python"),
)


def launch(folder: Path, home: Path) -> subprocess.Popen[bytes]:
    """Start a run in a session of its own; what it says goes to ``log.txt``."""
    environment = os.environ | {
        MARK: str(folder),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    with open(folder / "log.txt", "ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "experiments.spark.worker", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True,
        )  # fmt: skip


def home(where: Path) -> Path:
    """A home for Spark that points to the installed one, for what its executors leave behind."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - Spark is an extra

    where.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "python"):
        link = where / name
        if not link.exists():
            link.symlink_to(Path(_find_spark_home()) / name)
    return where


def members(folder: Path) -> list[tuple[int, str]]:
    """The living processes of a run: their ids, and what they are."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            if mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            kind = next((kind for text, kind in KINDS if text in command), "other")
            if command and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append((int(entry.name), kind))
    return sorted(found)


def busy(pids: list[int], watch: float = 0.05) -> list[int]:
    """Those that use a processor just now."""
    before = {pid: _ticks(pid) for pid in pids}
    time.sleep(watch)
    return [pid for pid in pids if _ticks(pid) > before[pid]]


def _ticks(pid: int) -> int:
    """What a process has used of the processors so far; 0 if it is no more."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def kill(pids: list[int]) -> list[int]:
    """Kill -9; those that were there to be killed."""
    hit = []
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            hit.append(pid)
    return hit


def clear(folder: Path, patience: float = 20.0) -> int:
    """Wait until nothing of a run is left; kill what does not go. How many had to be killed."""
    until = time.monotonic() + patience
    while (left := members(folder)) and time.monotonic() < until:
        time.sleep(0.2)
    return len(kill([pid for pid, _ in left]))
