"""What a new process pays: import, and the first ask and run, with nothing kept and with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

CODE = """
import time
started = time.perf_counter()
import lasec
imported = time.perf_counter()
import numpy as np
learner = lasec.LASEC_SS(50, seed=0)
learner.ask(np.ones(50))
asked = time.perf_counter()
X, y = lasec.streams.switching(1_000, seed=1)
ran = time.perf_counter()
learner.run(X, y)
print(imported - started, asked - imported, time.perf_counter() - ran)
"""


def process(cache: str) -> list[float]:
    """Seconds for import, first ask and first run in a process of its own."""
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CODE],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(number) for number in answer.stdout.split()]


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """A first process, later ones, and one that cannot keep anything."""
    with tempfile.TemporaryDirectory() as cache:
        runs = {
            "first process": [process(cache)],
            "later processes": [process(cache) for _ in range(3 if quick else 7)],
            "nowhere to write": [process(os.devnull)],
        }
    for mode, times in runs.items():
        imported, asked, ran = np.median(times, axis=0)
        yield {
            "mode": mode,
            "import_s": round(imported, 3),
            "first_ask_s": round(asked, 3),
            "first_run_s": round(ran, 3),
        }
