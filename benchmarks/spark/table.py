"""All configurations, one process after the other.

- *ratio*: the job against the same job with the kernel replaced by identity, which makes the same
  calls to the state store with as many bytes (``bare``), and against one that only writes
  (``unread``); batches of the three are taken in turn.
- *keys*: small models, more and more of them.
- *hot*: half of all rows of one key, against even traffic.
- *executors*: one and two, each a process with one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMON = {
    "model": "LASEC", "master": "local[2]", "partitions": 2, "shards": 64, "dimension": 50,
    "rows": 100_000, "repeats": 5,
}  # fmt: skip
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1", "SPARK_LOCAL_IP": "127.0.0.1",
    "PYTHONPATH": str(Path(__file__).parents[2]),  # for the workers, which start elsewhere
}  # fmt: skip
# The cache is shared with the bare form, which reads files of its own from it.
RATIOS: tuple[dict[str, Any], ...] = (
    {"keys": 100}, {"keys": 10_000}, {"keys": 100_000, "cache": 4_096.0},
    {"keys": 100_000, "cache": 0.0, "repeats": 3},
    {"keys": 100_000, "cache": 8_192.0, "model": "small Tracker", "repeats": 3},
)  # fmt: skip
GROWTH = (100, 1_000, 10_000, 100_000, 1_000_000)


def configurations(quick: bool) -> Iterator[dict[str, Any]]:
    """What is measured."""
    if quick:
        yield COMMON | {"what": "ratio", "keys": 100, "rows": 5_000, "repeats": 1, "shards": 8}
        return
    for given in RATIOS:
        yield COMMON | {"what": "ratio"} | given
    small = COMMON | {"what": "keys", "dimension": 8, "bare": False, "repeats": 3}
    for keys in GROWTH:
        yield small | {"keys": keys, "shards": 64 if keys < 1_000_000 else 256}
    yield small | {"keys": 1_000_000, "shards": 256, "dimension": 16, "cache": 4_096.0}
    yield COMMON | {"what": "hot", "keys": 10_000, "hot": 0.5, "bare": False}
    for executors in (1, 2):
        yield COMMON | {
            "what": "executors", "master": f"local-cluster[{executors},1,1024]", "keys": 10_000,
            "partitions": 2, "bare": False, "repeats": 3,
        }  # fmt: skip


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """A line for each configuration."""
    for given in configurations(quick):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "benchmarks.spark.one", json.dumps(given)],
            check=True, capture_output=True, text=True,
            env=os.environ | ENVIRONMENT,
        )  # fmt: skip
        yield json.loads(done.stdout.splitlines()[-1])
