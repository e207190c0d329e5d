"""Small factorizations stay on one thread, whatever the BLAS would do on a busy machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lasec.linalg import TILE, definite
from lasec.rules.gaussian import Gaussian

BOUND = 1.5  # processor time with all threads of the BLAS, over that with one
LOADS = 7
THREADS = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"

BUSY = "while True: pass"
LOAD = """
import json, sys, time
import lasec
data = lasec.Tracker(dimension=256).to_bytes()
spent = []
for _ in range(int(sys.argv[1])):
    began = time.process_time()  # of all threads
    lasec.Tracker.from_bytes(data)
    spent.append(time.process_time() - began)
print(json.dumps(spent))
"""


def seconds(**setting):
    """The least processor time of some loads of a Tracker with 256 features."""
    source = Path(__file__).parents[2] / "src"
    found = {"PYTHONPATH": str(source)} if source.is_dir() else {}
    plain = {name: value for name, value in os.environ.items() if name not in THREADS}
    said = subprocess.run(
        [sys.executable, "-c", LOAD, str(LOADS)], env=plain | found | setting, check=True,
        timeout=300, stdout=subprocess.PIPE,
    )  # fmt: skip
    return min(json.loads(said.stdout))


@pytest.fixture
def busy():
    """Another process on every core but one."""
    count = max(1, (os.cpu_count() or 2) - 1)
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    yield
    for other in others:
        other.kill()
        other.wait()


def test_loading_takes_no_more_processor_time_with_threads(busy):
    """With 256 features it was 7 times as much, because 24 small factorizations were threaded."""
    pairs = [(seconds(**dict.fromkeys(THREADS, "1")), seconds()) for _ in range(3)]
    one, all_threads = map(min, zip(*pairs, strict=True))  # in turns: other processes come and go
    assert all_threads < BOUND * one


@pytest.mark.parametrize("n", [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 2])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_definite_is_what_lapack_finds(n, kind):
    """Also where the smallest eigenvalue is lost among rounding errors, or just is not."""
    rng = np.random.default_rng(n)
    sides = set()
    for least in (1e-2, 1e-4, 1e-10, 1e-14, -1e-14, -1e-4, -1.0):
        basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
        values = np.geomspace(1e-2, 1.0, n)
        values[0] = least
        C = (basis * values) @ basis.T
        C = ((C + C.T) / 2.0).astype(kind)
        try:
            np.linalg.cholesky(C)
            expected = True
        except np.linalg.LinAlgError:
            expected = False
        if abs(least) > 8 * n * np.finfo(kind).eps:
            assert definite(C) is expected is (least > 0.0)
            sides.add(expected)
        assert bool(Gaussian(np.zeros(n, kind), C).validate()) is not definite(C)
    assert sides == {True, False}


def test_a_fault_anywhere_is_found():
    n = 2 * TILE + 2
    for at in (0, TILE - 1, TILE, 2 * TILE, n - 1):
        C = np.eye(n)
        C[at, at] = -1e-9
        assert not definite(C)
    C = np.eye(n)
    C[3, n - 1] = C[n - 1, 3] = 1.0 + 1e-9
    assert not definite(C)
    C[3, n - 1] = C[n - 1, 3] = 1.0 - 1e-9
    assert definite(C)
