"""lasec's library and its handles under attack: words and another way, no crash."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import lasec
from lasec.kernel import codes, library, loops
from lasec.kernel.engine import Bound
from lasec.kernel.handle import Handle
from lasec.kernel.sources import ABI, symbol

there = pytest.mark.skipif(bool(library.shipped().flaw), reason="there is no library: `make build`")
RUN = """
import sys, numpy as np, lasec
from pathlib import Path
from lasec.kernel import library
library.FOLDER = Path({folder!r})
X, y = lasec.streams.switching(200, dimension=3, every=100, seed=1)
print(lasec.LASEC(3, seed=0).run(X, y).mistake.sum(), "numba" in sys.modules)
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the library for this processor: its manifest."""
    level = next(level for level in library.LEVELS if library.runs_here(level))
    for path in library.FOLDER.glob(f"*{level}.*"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / f"{level}.json"


def said(manifest, **changes):
    """Write a manifest with other entries."""
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))


@there
def test_a_whole_library_is_opened_and_has_all_that_it_says(copy):
    found = library.opened(copy)
    assert not found.flaw
    assert found.is_current
    assert len(found.names) > 100
    assert all(found.address(name) for name in found.names)
    assert found.address("lasec_of_another_time") is None


@there
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"abi": ABI + 1}, "for another version"),
        ({"abi": None}, "for another version"),
        ({"sha256": "00"}, "damaged"),
        ({"file": "../elsewhere.so"}, "cannot be loaded"),
        ({"names": ["lasec_that_is_not_there"]}, "cannot be loaded"),
        ({"names": 7}, "cannot be loaded"),
        ({"file": 7}, "cannot be loaded"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copy, changes, words):
    said(copy, **changes)
    assert words in library.opened(copy).flaw


@there
def test_damaged_libraries_are_refused_before_they_are_loaded(copy):
    """A byte here and there, the end missing, nothing at all, and another file."""
    path = copy.parent / json.loads(copy.read_text())["file"]
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    broken = [b"", whole[: len(whole) // 2], whole[:-1], b"\x7fELF" * 1_000]
    broken += [flipped(whole, int(rng.integers(len(whole))), rng) for _ in range(200)]
    for data in broken:
        path.write_bytes(data)
        assert "damaged" in library.opened(copy).flaw
    path.unlink()
    assert "cannot be loaded" in library.opened(copy).flaw


def flipped(whole, at, rng):
    """The same bytes, but for one bit."""
    data = bytearray(whole)
    data[at] ^= 1 << int(rng.integers(8))
    return bytes(data)


@there
def test_mutated_manifests_are_refused_or_say_the_same(copy):
    text, rng = bytearray(copy.read_bytes()), np.random.default_rng(1)
    names = library.opened(copy).names
    for _ in range(300):
        data = text.copy()
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
        copy.write_bytes(data)
        found = library.opened(copy)
        assert found.flaw or found.names == names


@there
def test_a_library_that_this_process_cannot_link_is_refused(copy):
    """Another kind of file with a manifest that fits it, as of another platform."""
    path = copy.parent / json.loads(copy.read_text())["file"]
    path.write_bytes(b"MZ" + bytes(10_000))
    import hashlib

    said(copy, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert "cannot be loaded" in library.opened(copy).flaw


def test_a_level_that_the_processor_lacks_is_not_taken(monkeypatch):
    monkeypatch.setattr(library, "features", dict)
    assert not library.runs_here("x86-64-v3")
    assert not library.runs_here("x86-64-v2")
    assert library.runs_here("generic")


@there
def test_sources_that_are_newer_find_nothing_and_are_compiled(tmp_path, copy):
    """A library of other sources has none of today's names: numba takes its place, with a line."""
    today = process(tmp_path)
    manifest = json.loads(copy.read_text())
    said(copy, sources="00" * 32, names={})
    assert manifest["names"]
    done = process(tmp_path)
    assert done.stdout.split()[0] == today.stdout.split()[0]
    assert (today.stdout.split()[1], done.stdout.split()[1]) == ("False", "True")
    assert "run `make build`" in done.stderr
    assert "compiling" in done.stderr


def process(folder):
    """A run in a process whose library is in a folder."""
    return subprocess.run(
        [sys.executable, "-c", RUN.format(folder=str(folder))],
        check=True, capture_output=True, text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": os.devnull},
    )  # fmt: skip


def test_a_handle_of_other_kinds_is_refused():
    rule = lasec.rules.SecondOrder()
    handle = Handle(rule, rule.init(2))
    handle.table[0] += 1
    with pytest.raises(ValueError, match="other kinds"):
        codes.code_of(handle, np.dtype(float))


@pytest.mark.parametrize("array", [np.zeros((4, 4))[:, ::2], np.zeros(3, ">f8").view("i1")[1:9]])
def test_arrays_that_compiled_code_cannot_take_are_refused_or_taken_right(array):
    handle = None
    try:
        handle = Handle(array)
    except ValueError as error:
        assert "C-contiguous" in str(error)
    assert handle is None or handle.table[1] == array.ctypes.data


@there
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_code_is_for_the_numbers_of_a_state(kind):
    """A model in single precision is never read as one in double."""
    rule = lasec.rules.Perceptron()
    handle = Handle(rule, type(rule.init(2))(np.zeros(2, kind)))
    name = symbol("look float64", handle.kinds.text, handle.kinds.types)
    assert (library.shipped().address(name) is None) == (kind is np.float32)


def test_a_state_that_is_replaced_is_the_one_that_is_read():
    learner = lasec.LASEC(3, seed=0)
    X, y = lasec.streams.switching(500, dimension=3, every=500, seed=1)
    for x, label in zip(X, y, strict=True):
        learner.tell(learner.ask(x).ticket, label)
    before = learner.margins(X[:5])
    learner.state = learner.rule.init(3)
    assert learner.margins(X[:5]).tolist() == [0.0] * 5
    assert np.abs(before).max() > 0.1


def test_a_handle_keeps_its_arrays_alive():
    """The state is dropped by everybody else; its memory is not given to others."""
    rule = lasec.rules.SecondOrder()
    bound = [Bound.of_rule(rule, rule.init(200), np.dtype(float)) for _ in range(20)]
    other = [np.full((200, 200), np.nan) for _ in range(20)]
    for one in bound:
        cov = one.handle.parts[1].cov
        there = ctypes.c_double.from_address(int(one.handle.table[-3]))
        assert there.value == cov[0, 0] == 1.0
    assert len(other) == 20


def test_a_state_that_grows_is_followed():
    """Each row brings new columns: the table of the model is replaced time and again."""
    hasher = lasec.TextHasher()
    learner = lasec.Learner(lasec.rules.SparseTracking(), dimension=hasher.columns, seed=0)
    for i in range(300):
        words = " ".join(f"word{i}x{j}" for j in range(40))
        row = hasher.rows([words])
        learner.tell(learner.ask(row).ticket, 1 if i % 2 else -1)
    assert learner.state.columns.used[1] > 5_000


def test_threads_that_share_a_learner_read_it_or_are_told():
    learner = lasec.Tracker(4, seed=0)
    X, y = lasec.streams.switching(2_000, dimension=4, every=500, seed=1)
    learner.run(X[:1_000], y[:1_000])
    expected, flaws = learner.margins(X).tolist(), []

    def read():
        found = (learner.margins(X).tolist() for _ in range(20))
        flaws.extend(margins for margins in found if margins != expected)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not flaws


def test_a_row_that_fails_in_compiled_code_has_its_own_error():
    """The error is that of the source, with its message, and the model is as it was."""
    from ownrule import Failing

    learner = lasec.Learner(Failing(), dimension=2, learn_from="labels")
    assert learner.ask([1.0, 2.0]).label == 1
    with pytest.raises(ZeroDivisionError):
        learner.ask([0.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        learner.run(np.array([[1.0, 2.0]] * 9 + [[0.0, 2.0]]), np.ones(10))
    assert learner.rows == 1


@pytest.mark.skipif(not codes.compiles(), reason="interpreted loops give nothing but errors")
def test_the_row_that_failed_is_named():
    from ownrule import Failing

    rule = Failing()
    model = Bound.of_rule(rule, rule.init(2), np.dtype(float))
    assert model.code.addresses
    assert loops.ROOM == loops.AT + 1
