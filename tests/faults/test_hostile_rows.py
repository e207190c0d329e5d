"""Sparse rows whose arrays point outside, hostile texts, and rows that no fleet can use.

What a wrong row does to compiled code is to end the process, so such calls are made in children:
``python test_hostile_rows.py`` makes each call in a fork of its own and prints what came of it.
"""

import json
import os
import subprocess
import sys
import tracemalloc
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import lasec
from fleets import simulate
from lasec.learner import class_margins, leads
from lasec.sparse import PAIR, one_by_one

WIDE = 1_000


def sound(form="csr"):
    """Three rows of a few columns."""
    dense = np.zeros((3, WIDE))
    dense[[0, 0, 1, 2], [1, 5, 7, 998]] = 1.0, 2.0, 3.0, 4.0
    return sparse.csr_array(dense).asformat(form)


def forged(form="csr", kind=np.int32, **arrays):
    """The same rows with other arrays than SciPy would have made."""
    made = sound(form)
    for name, values in arrays.items():
        setattr(made, name, np.array(values, dtype=None if name == "data" else kind))
    return made


FORGED = {
    "column -1": forged(indices=[1, 5, -1, 998]),
    "column -5": forged(indices=[-5, 5, 7, 998]),
    "column 1000 of 1000": forged(indices=[1, 5, 7, WIDE]),
    "column 2^31 - 1": forged(indices=[1, 5, 7, 2**31 - 1]),
    "column 2^40": forged(kind=np.int64, indices=[1, 5, 7, 2**40]),
    "column -2^63": forged(kind=np.int64, indices=[1, -(2**63), 7, 998]),
    "column 2^64 - 1": forged(kind=np.uint64, indices=[1, 2**64 - 1, 7, 998]),
    "columns that are no whole numbers": forged(kind=float, indices=[1.5, 5, 7, 998]),
    "indptr falls": forged(indptr=[0, 3, 2, 4]),
    "indptr beyond the data": forged(indptr=[0, 2, 3, 2**31 - 1]),
    "indptr beyond, in the middle": forged(indptr=[0, 2**30, 3, 4]),
    "indptr begins below": forged(indptr=[-(2**30), 2, 3, 4]),
    "indptr wraps": forged(kind=np.int64, indptr=[0, 2**63 - 1, -2, 4]),
    "indptr too short": forged(indptr=[0, 2, 4]),
    "indptr too long": forged(indptr=[0, 2, 3, 4, 4]),
    "indptr empty": forged(indptr=[]),
    "more columns than values": forged(data=[1.0]),
    "csc: row 2^30": forged("csc", indices=[0, 0, 1, 2**30]),
    "csc: row -1": forged("csc", indices=[-1, 0, 1, 2]),
    "coo: row 2^30": forged("coo", row=[0, 0, 1, 2**30]),
    "coo: row -2^30": forged("coo", row=[0, -(2**30), 1, 2]),
    "coo: column outside": forged("coo", col=[1, 5, 7, WIDE]),
    "bsr: column outside": forged("bsr", indices=[1, 5, 2**29, 998]),
}
ROWS = {
    "row, column -1": sparse.csr_array(([1.0], [-1], [0, 1]), shape=(1, WIDE)),
    "row, column 2^30": sparse.csr_array(([1.0], [2**30], [0, 1]), shape=(1, WIDE)),
    "row, no second axis": sparse.coo_array(([1.0], ([2],)), shape=(WIDE,)).tocsr(),
    "row of a coo, no second axis": sparse.coo_array(([1.0], ([2],)), shape=(WIDE,)),
    "row of pairs": np.array([(-5, 1.0)] * WIDE, dtype=PAIR),
}
ROWS["row, no second axis"].indptr = np.array([0, 2**30], dtype=np.int32)
ROWS["row of a coo, no second axis"].coords = (np.array([-(2**30)]),)
Y = np.array([1, -1, 1])


@cache
def learner(name):
    """A learner that has learned some rows, and its code is compiled."""
    made = {
        "tracker": lambda: lasec.Tracker(WIDE, rule=lasec.rules.SparseTracking(), rate=1.0, seed=0),
        "fleet": lambda: lasec.Fleet(
            lasec.rules.SparseTracking(), models=3, dimension=WIDE, seed=0
        ),
    }[name]()
    if name == "fleet":
        made.serve(np.arange(3), sound(), Y, tickets=[made.UNASKED] * 3)
    else:
        made.run(sound(), Y)
    return made


def one_row(name, x):
    """Each call with one row."""
    made = learner(name)
    yield lambda: made.ask(x)
    yield lambda: made.learn(x, 1)


def many_rows(name, X):
    """Each call with many rows."""
    if name == "fleet":
        keys, fleet = np.arange(len(Y)), learner(name)
        yield lambda: fleet.serve(keys, X, 0 * Y)
        yield lambda: fleet.serve(keys, X, Y, tickets=[fleet.UNASKED] * len(Y))
        return
    made = learner(name)
    doors = (
        made.ask_many, made.predict, made.predict_proba, made.margins, made.preview,
        partial(class_margins, made), partial(leads, made),
    )  # fmt: skip
    for call in doors:
        yield lambda call=call: call(X)
    yield lambda: made.run(X, Y)
    yield lambda: made.learn_many(X, Y)
    yield lambda: one_by_one(X)


def calls():
    """All of them, by name."""
    for name in ("tracker", "fleet"):
        for what, X in FORGED.items():
            for at, call in enumerate(many_rows(name, X)):
                yield f"{name}, {what}, call {at}", call
        for what, x in ROWS.items() if name != "fleet" else ():
            for at, call in enumerate(one_row(name, x)):
                yield f"{name}, {what}, call {at}", call


def outcome(call):
    """What a call raises, made in a child; or the signal that ended it."""
    read, write = os.pipe()
    if not (pid := os.fork()):
        said = "nothing was raised"
        try:
            call()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return said if status == 0 else f"ended with {status}"


def test_arrays_that_point_outside_are_refused_wherever_rows_come_in():
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 260
    wrong = {
        name: said
        for name, said in found.items()
        if not said.startswith(("ValueError: x: ", "ValueError: X: ", "TypeError: x: expected"))
    }
    assert wrong == {}


@pytest.mark.parametrize("flag", ["has_canonical_format", "has_sorted_indices"])
def test_columns_out_of_order_are_put_in_order_whatever_the_matrix_says(flag):
    given = sparse.csr_array(([1.0, 2.0, 4.0], [7, 3, 7], [0, 3]), shape=(1, WIDE))
    given.has_sorted_indices = True
    setattr(given, flag, True)
    before = given.indices.copy()
    (pairs,) = lasec.sparse.sparse_rows("X", given, WIDE)
    assert pairs.tolist() == [(3, 2.0), (7, 5.0)]
    assert (given.indices == before).all()


def test_room_behind_the_values_is_not_read():
    given = forged(indices=[1, 5, 7, 998, -1, 2**30], data=[1.0, 2.0, 3.0, 4.0, np.nan, 9.0])
    assert lasec.sparse.sparse_rows("X", given, WIDE).arrays.pairs.size == 4


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_form_of_a_sound_matrix_is_taken(form):
    rows = lasec.sparse.sparse_rows("X", sound(form), WIDE)
    assert [row.tolist() for row in rows] == [[(1, 1.0), (5, 2.0)], [(7, 3.0)], [(998, 4.0)]]


TEXTS = ["a \ud800b", "\udfff", "\0a\0b\0", "e\u0301" * 50, "\u0130stanbul \u01c5 \ufb01"]


@pytest.mark.parametrize("ngrams", [None, (2, 3)])
@pytest.mark.parametrize("text", [*TEXTS, "x" * 99_999], ids=lambda text: ascii(text[:9]))
def test_compiled_code_finds_the_words_that_python_finds(text, ngrams):
    hasher = lasec.TextHasher(ngrams=ngrams)
    row, counts = hasher.row(text), hasher.counts(text)
    assert dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) == {
        column: value for column, value in counts.items() if value != 0.0
    }
    lasec.sparse.sparse_rows("x", row, hasher.columns)


@pytest.mark.parametrize("given", [None, 3, b"text", ["a"], {"a": None}, {"a": "1"}, {"a": 1j}])
def test_what_is_no_text_is_refused(given):
    hasher = lasec.TextHasher()
    for call in (hasher.row, hasher.counts, hasher.words):
        if not (call == hasher.words and isinstance(given, dict)):
            with pytest.raises(TypeError, match="texts"):
                call(given)


def test_long_words_do_not_fill_the_memory():
    hasher = lasec.TextHasher(ngrams=(4, 5))
    caches = (lasec.text._known_bits, lasec.text._known_ngrams)
    before = [cache.cache_info().currsize for cache in caches]
    long = [f"{k}" * 5_000 for k in range(5)]
    tracemalloc.start()
    for word in long:
        assert hasher.column(word) == lasec.TextHasher().column(word)
        hasher.row({word: 1.0})
        hasher.row(word)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    after = [cache.cache_info().currsize for cache in caches]
    assert after[1] == before[1]
    assert after[0] - before[0] < 100  # their n-grams alone
    assert kept < 20_000


FLEETS = {
    "sparse": (lasec.rules.SparseTracking(), sparse.csr_array),
    "dense": (lasec.rules.SecondOrder(), np.asarray),
}


@pytest.mark.parametrize("kind", FLEETS)
def test_a_fleet_refuses_hostile_rows_and_keys_and_stays_as_it_was(kind):
    rule, form = FLEETS[kind]
    fleet = lasec.Fleet(rule, models=3, dimension=8, seed=0)
    rows, keys, y = np.eye(3, 8), np.arange(3), np.array([1, -1, 1])
    simulate(fleet, keys, form(rows), y)
    before = fleet.to_bytes()
    beyond, outside = (np.nan, np.inf, 1e308, -1e61), ([0, 1, 3], [-1, 0, 1], [2**63] * 3)
    wrong = [(keys, form(np.where(rows > 0.0, value, 0.0)), y) for value in beyond]
    wrong += [(bad, form(rows), y) for bad in (*outside, [0.5] * 3, [0, 1])]
    wrong += [
        (keys, form(rows[:, :-1]), y),
        (keys, form(rows * 1j), y),
        (keys, form(rows), [5] * 3),
    ]
    for arguments in wrong:
        with pytest.raises((ValueError, TypeError)):
            fleet.serve(*arguments, tickets=[fleet.UNASKED] * 3)
        assert fleet.to_bytes() == before
    assert len(simulate(fleet, keys, form(0.0 * rows), y)) == 3
    simulate(fleet, keys, form(1e59 * rows), y)
    assert lasec.Fleet.from_bytes(fleet.to_bytes()).to_bytes() == fleet.to_bytes()


if __name__ == "__main__":
    for kind in ("tracker", "fleet"):
        for form in many_rows(kind, sound()):
            form()
        if kind != "fleet":
            for form in one_row(kind, sound()[[0]]):
                form()
    json.dump({name: outcome(call) for name, call in calls()}, sys.stdout)
