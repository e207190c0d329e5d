"""What a new process pays, in CPU time: import, first ask and first run, with each kind of code."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

CODE = """
import sys, time
started = time.process_time()
import lasec
imported = time.process_time()
import numpy as np
X, y = lasec.streams.switching(1_000, seed=1)
if "Sparse" in sys.argv[1]:
    from scipy.sparse import csr_array
    X = csr_array(X)
learner = eval(sys.argv[1])
began = time.process_time()
learner.ask(X[[0]] if "Sparse" in sys.argv[1] else X[0])
asked = time.process_time()
learner.run(X, y)
print(imported - started, asked - began, time.process_time() - asked)
"""
MODELS = {
    "LASEC-SS": "lasec.LASEC_SS(50, seed=0)",
    "Tracker": "lasec.Tracker(50, seed=0)",
    "Tracker, sparse rows": "lasec.Tracker(50, rule=lasec.rules.SparseTracking(), seed=0)",
    "Tracker, lenses": "lasec.Tracker(50, lenses=True, seed=0)",
}


def process(model: str, code: str, cache: str) -> list[float]:
    """CPU seconds for import, first ask and first run in a process of its own."""
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CODE, MODELS[model]],
        env=os.environ | {"NUMBA_CACHE_DIR": cache, "LASEC_CODE": code},
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(number) for number in answer.stdout.split()]


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """The library; numba in a first process, and in later ones. With --quick: of one model."""
    for model in list(MODELS)[:1] if quick else MODELS:
        with tempfile.TemporaryDirectory() as cache:
            times_of = range(3 if quick else 7)
            runs = {
                "library": [process(model, "library", cache) for _ in times_of],
                "numba, first process": [process(model, "jit", cache)],
                "numba, later processes": [process(model, "jit", cache) for _ in times_of],
            }
        for mode, times in runs.items():
            imported, asked, ran = np.median(times, axis=0)
            yield {
                "model": model,
                "mode": mode,
                "import_s": round(imported, 3),
                "first_ask_s": round(asked, 3),
                "first_run_s": round(ran, 3),
            }
