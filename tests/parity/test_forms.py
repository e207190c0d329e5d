"""One seed, one run: every way of driving a learner makes the same decisions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Philox

import lasec
from lasec.kernel import codes
from lasec.nested import leaves, named

pytestmark = pytest.mark.xdist_group("forms")  # what they stand on is made once

ROUNDS, DIMENSION = 3_000, 12
RBF = lasec.mercer.RBF(bandwidth=4.0)

ALGORITHMS = {
    "LASEC": lambda: lasec.LASEC(DIMENSION, drift=0.02, seed=5),
    "LASEC-SS": lambda: lasec.LASEC_SS(DIMENSION, drift=0.02, aggressiveness=0.1, seed=5),
    "SOP": lambda: lasec.SOP(DIMENSION, seed=5),
    "SOP-SS": lambda: lasec.SOP_SS(DIMENSION, aggressiveness=0.1, seed=5),
    "Perceptron": lambda: lasec.Perceptron(DIMENSION, seed=5),
    "Perceptron-SS": lambda: lasec.Perceptron_SS(DIMENSION, aggressiveness=2.0, seed=5),
    "Shifting": lambda: lasec.Shifting(DIMENSION, decay=0.5, seed=5),
    "Modified": lambda: lasec.Modified(DIMENSION, seed=5),
    "RBP": lambda: lasec.RBP(DIMENSION, budget=40, seed=5),
    "KernelLASEC": lambda: lasec.KernelLASEC(DIMENSION, kernel=RBF, budget=15, seed=5),
    "KernelLASEC-SS": lambda: lasec.KernelLASEC_SS(DIMENSION, kernel=RBF, budget=500, seed=5),
    "BBQ": lambda: lasec.BBQ(DIMENSION, exponent=0.3, seed=5),
    "BBQ-I": lambda: lasec.BBQ_I(DIMENSION, exponent=0.2, seed=5),
}
EVERY = pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS.keys())


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.switching(ROUNDS, dimension=DIMENSION, every=300, seed=8)


def cut(rng):
    """Random cut points, some of them twice, so that empty chunks are among the pieces."""
    return np.sort(rng.integers(0, ROUNDS, size=40))


def same_run(one, other, records, expected):
    for column in ("label", "asked", "mistake", "updated"):
        np.testing.assert_array_equal(getattr(records, column), getattr(expected, column))
    np.testing.assert_allclose(records.margin, expected.margin, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(records.propensity, expected.propensity, rtol=1e-12)
    np.testing.assert_allclose(records.variance, expected.variance, rtol=1e-12, atol=1e-12)
    for ours, theirs in zip(leaves(one.state), leaves(other.state), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    for counter in ("rows", "asked", "told", "updates", "dropped", "pending"):
        assert getattr(one, counter) == getattr(other, counter)


def by_ask_and_tell(learner, X, y):
    rows = []
    for x, label in zip(X, y, strict=True):
        decision = learner.ask(x)
        updated = learner.tell(decision.ticket, label).updated if decision.asked else False
        rows.append((decision, decision.label != label, updated))
    decisions, mistake, updated = zip(*rows, strict=True)
    columns = [*zip(*decisions, strict=True)][:6]  # the last one is the source
    label, margin, variance, propensity, asked, ticket = map(np.array, columns)
    np.testing.assert_array_equal(ticket, np.arange(len(X)))
    return lasec.Records(
        label, margin, variance, propensity, asked, np.array(mistake), np.array(updated), first=0
    )


@EVERY
def test_ask_and_tell_equal_run(build, stream):
    whole, loop = build(), build()
    same_run(loop, whole, by_ask_and_tell(loop, *stream), whole.run(*stream))


@EVERY
def test_chunks_equal_one_run(build, stream):
    whole, pieces = build(), build()
    cuts = cut(np.random.default_rng(1))
    chunks = zip(np.split(stream.X, cuts), np.split(stream.y, cuts), strict=True)
    records = lasec.Records.join([pieces.run(X, y) for X, y in chunks])
    same_run(pieces, whole, records, whole.run(*stream))


@EVERY
def test_save_and_load_in_the_middle_are_invisible(build, stream, tmp_path):
    whole, moved = build(), build()
    parts = []
    cuts = cut(np.random.default_rng(2))[::8]
    for X, y in zip(np.split(stream.X, cuts), np.split(stream.y, cuts), strict=True):
        parts.append(moved.run(X, y))
        moved.save(tmp_path / "model")
        moved = lasec.Learner.load(tmp_path / "model")
    same_run(moved, whole, lasec.Records.join(parts), whole.run(*stream))


@EVERY
def test_passed_coins_replace_the_learners_own(build, stream):
    seeded, fed = build(), build()
    coins = lasec.uniforms(5, 0, ROUNDS)[:, 0]
    fed_records = fed.run(*stream, draws=coins)
    same_run(fed, seeded, fed_records, seeded.run(*stream))
    assert build().ask(stream.X[0], draw=coins[0]) == build().ask(stream.X[0])


def interpreted_runs(folder):
    """Every algorithm's run on 400 rows: to be called where nothing is compiled."""
    assert not codes.compiles()
    X, y = lasec.streams.switching(400, dimension=DIMENSION, every=300, seed=8)
    for name, build in ALGORITHMS.items():
        learner = build()
        records = learner.run(X, y)
        np.savez(
            f"{folder}/{name}.npz", asked=records.asked, updated=records.updated,
            margin=records.margin, **named(learner.state),
        )  # fmt: skip


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interpreted")
    code = f"import test_forms; test_forms.interpreted_runs({str(folder)!r})"
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=Path(__file__).parent,
        env=os.environ | {"LASEC_CODE": "interpreted"},
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_interpreted_source_does_what_the_compiled_code_does(name, interpreted):
    """A rule's methods are plain Python; that very source is compiled."""
    plain = np.load(interpreted / f"{name}.npz")
    compiled = ALGORITHMS[name]()
    expected = compiled.run(*lasec.streams.switching(400, dimension=DIMENSION, every=300, seed=8))
    np.testing.assert_array_equal(plain["asked"], expected.asked)
    np.testing.assert_array_equal(plain["updated"], expected.updated)
    np.testing.assert_allclose(plain["margin"], expected.margin, rtol=1e-12, atol=1e-12)
    for field, array in named(compiled.state).items():
        np.testing.assert_allclose(plain[field], array, rtol=1e-12, atol=1e-12)


def test_different_seeds_ask_for_different_labels(stream):
    one = lasec.LASEC_SS(DIMENSION, aggressiveness=0.1, seed=1).run(*stream)
    two = lasec.LASEC_SS(DIMENSION, aggressiveness=0.1, seed=2).run(*stream)
    assert not np.array_equal(one.asked, two.asked)


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**63, 2**64 - 1])
@pytest.mark.parametrize("ticket", [0, 1, 999, 2**32, 2**40 + 7])
def test_draws_are_philox_bit_for_bit(seed, ticket):
    """NumPy's Philox steps its counter before it generates, hence the counter one below."""
    before = [(ticket - 1) % 2**64] + ([0] * 3 if ticket else [2**64 - 1] * 3)
    key, counter = (np.array(words, dtype=np.uint64) for words in ([seed, 0], before))
    words = Philox(key=key, counter=counter).random_raw(2)
    expected = (words >> np.uint64(11)) * 2.0**-53
    np.testing.assert_array_equal(lasec.uniforms(seed, ticket, 1)[0], expected)


def test_coins_are_uniform_and_independent_of_the_rules_draw():
    coins, spares = lasec.uniforms(3, 0, 200_000).T
    for draws in (coins, spares):
        counts = np.histogram(draws, bins=50, range=(0, 1))[0]
        assert ((counts - 4000) ** 2 / 4000).sum() < 100  # chi-squared, 49 degrees of freedom
    assert abs(np.corrcoef(coins, spares)[0, 1]) < 0.01
    assert abs(np.corrcoef(coins[1:], coins[:-1])[0, 1]) < 0.01


def test_a_rule_of_ones_own_runs_compiled():
    """It needs three methods and the decorator; the rest is filled in."""
    from ownrule import Averaging

    X, y = lasec.streams.switching(1_000, dimension=3, every=1_000, seed=1)
    learner = lasec.Learner(Averaging(rate=0.1), dimension=3, learn_from="labels")
    assert learner.run(X, y).accuracy > 0.8
    assert learner.rule.margin(learner.state, X[0], 1).variance == 0.0
