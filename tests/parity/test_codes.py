"""The library, code of this machine and the sources agree: in every decision, and in margins."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lasec
from lasec.kernel import library
from lasec.queries import Budgeted, MarginSampling
from lasec.rules import KernelSecondOrder, Lenses, SecondOrder, SparseTracking, Tracking

pytestmark = pytest.mark.xdist_group("codes")  # what they stand on is made once

there = pytest.mark.skipif(bool(library.shipped().flaw), reason="there is no library: `make build`")
# How far margins may be apart: covariances of the Tracker are in single precision.
RUNS = {
    "LASEC": (SecondOrder(0.02), MarginSampling(0.1), 2, 12, 1e-9),
    "LASEC, three classes": (SecondOrder(0.02), Budgeted(0.2), 3, 12, 1e-9),
    "Tracker": (Tracking(), Budgeted(0.2), 2, 12, 1e-5),
    "Tracker, three classes": (Tracking(), Budgeted(0.2), 3, 12, 1e-5),
    "Tracker, wide": (Tracking(), Budgeted(0.2), 2, 300, 1e-5),
    "Tracker of words": (SparseTracking(), Budgeted(0.2), 2, 0, 1e-9),
    "Lenses": (Lenses(warm_up=40), Budgeted(0.5), 2, 5, 1e-5),
    "kernel LASEC": (KernelSecondOrder(budget=10), Budgeted(0.2), 2, 6, 1e-9),
}
JITTED = ("LASEC", "Tracker")


def rows_of(dimension):
    """A stream of so many features; of none, texts."""
    if dimension:
        return lasec.streams.switching(400, dimension=dimension, every=150, seed=8)
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.4, 12) % 500) for _ in range(400)]
    y = np.array([1 if "w1 " in text else -1 for text in texts])
    return lasec.TextHasher().rows(texts), y


def run(name):
    """What a learner says of a stream row by row, and of its rest in one piece."""
    rule, query, classes, dimension, _ = RUNS[name]
    X, y = rows_of(dimension)
    y = np.where(np.arange(len(y)) % 3 == 0, 0, y) + 2 if classes > 2 else y
    size = dimension or lasec.TextHasher().columns
    learner = lasec.Learner(rule, query, dimension=size, learn_from="labels", seed=5)
    parts = [learner.run(X[i : i + 1], y[i : i + 1]) for i in range(50)]
    return lasec.Records.join([*parts, learner.run(X[50:], y[50:])])


def written(folder, names):
    """Runs in files of a folder: to be called in a process of its own."""
    for name in names:
        records = run(name)
        np.savez(
            f"{folder}/{name}.npz", label=records.label, asked=records.asked,
            updated=records.updated, margin=records.margin, propensity=records.propensity,
        )  # fmt: skip
    sys.stdout.write(f"{'numba' in sys.modules}")


def form(folder, code, names):
    """Runs with one kind of code."""
    call = f"import test_codes; test_codes.written({str(folder)!r}, {tuple(names)!r})"
    done = subprocess.run(
        [sys.executable, "-c", call], check=True, cwd=Path(__file__).parent, capture_output=True,
        text=True, env=os.environ | {"LASEC_CODE": code},
    )  # fmt: skip
    assert done.stdout == str(code == "jit")
    return folder


def same(one, other, name):
    """Whether two runs agree."""
    ours, theirs = np.load(one / f"{name}.npz"), np.load(other / f"{name}.npz")
    for column in ("label", "asked", "updated"):
        np.testing.assert_array_equal(ours[column], theirs[column])
    for column in ("margin", "propensity"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=0.0, atol=RUNS[name][-1])


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    return form(tmp_path_factory.mktemp("library"), "library", RUNS)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    return form(tmp_path_factory.mktemp("interpreted"), "interpreted", RUNS)


@there
@pytest.mark.parametrize("name", RUNS)
def test_the_library_does_what_the_sources_say(name, shipped, interpreted):
    same(shipped, interpreted, name)


@pytest.fixture(scope="module")
def jitted(tmp_path_factory):
    return form(tmp_path_factory.mktemp("jit"), "jit", JITTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", JITTED)
def test_code_of_this_machine_does_what_the_sources_say(name, jitted, interpreted):
    same(jitted, interpreted, name)


@there
def test_the_library_has_every_form_that_a_learner_of_lasec_takes():
    """Each algorithm, two and three classes, with the budget and without, needs no compiler."""
    code = """
import sys, numpy as np, lasec
from catalogue import QUERIES, RULES
X, y = lasec.streams.switching(60, dimension=4, every=30, seed=1)
rows = lasec.TextHasher().rows(["a prize for you", "lunch at one?"] * 30)
for rule in RULES:
    sparse = rule.facts.sparse
    for query in QUERIES:
        for labels in (y, np.arange(60) % 3):
            size = lasec.TextHasher().columns if sparse else 4
            learner = lasec.Learner(rule, query, dimension=size, seed=0)
            learner.run(rows if sparse else X, labels)
            learner.ask(rows[:1] if sparse else X[0])
            learner.predict(rows[:5] if sparse else X[:5])
print("numba" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1],
        capture_output=True, text=True, env=os.environ | {"LASEC_CODE": ""},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False\n", "")
