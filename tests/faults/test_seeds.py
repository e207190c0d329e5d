"""Without a seed nobody can tell which rows will be asked about."""

import json
import subprocess
import sys

import numpy as np
import pytest

import lasec
from lasec.queries import Budgeted
from lasec.random import uniforms
from lasec.selector import Selector

pytestmark = pytest.mark.random_seed
LASEC = [sys.executable, "-m", "lasec.cli"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: lasec.Tracker(2),
        lambda: lasec.LASEC_SS(dimension=2),
        lambda: lasec.Learner(lasec.rules.Perceptron(), dimension=2),
        lambda: lasec.Fleet(lasec.rules.Perceptron(), models=3, dimension=2),
        lambda: Selector(Budgeted()),
    ],
    ids=["Tracker", "LASEC_SS", "Learner", "Fleet", "Selector"],
)
def test_without_a_seed_one_is_drawn(make):
    seeds = {make().seed for _ in range(20)}
    assert len(seeds) == 20
    assert max(seeds) > 2**56  # 64 bits, not a counter


def test_the_seed_is_kept_with_the_model():
    tracker, gate = lasec.Tracker(2), Selector(Budgeted())
    assert lasec.Tracker.from_bytes(tracker.to_bytes()).seed == tracker.seed
    assert Selector.from_bytes(gate.to_bytes()).seed == gate.seed


def test_scikit_learn_and_river_draw_one_too():
    from lasec.river import TrackerClassifier as Rivers
    from lasec.sklearn import TrackerClassifier

    X, y = lasec.streams.stationary(20, dimension=2, seed=1)
    fitted = [TrackerClassifier().fit(X, y).selector_.seed for _ in range(5)]
    assert len(set(fitted)) == 5
    assert len({Rivers()._learner.seed for _ in range(5)}) == 5


def asked_of_the_attacker(seed, known):
    """An attacker sends the steps whose draws under ``known`` are above 0.8, 20 % of all rows."""
    rng = np.random.default_rng(5)
    rounds = 6_000
    attacks = uniforms(known, 0, rounds)[:, 0] > 0.8
    X = rng.standard_normal((rounds, 5))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[attacks] = 3.0 * np.abs(X[attacks])  # looks like +1 for sure, and is -1
    y[attacks] = -1.0
    records = lasec.Tracker(5, rate=0.1, seed=seed).run(X, y)
    return records.asked[attacks].mean(), records.asked[~attacks].mean()


def test_an_attacker_who_knows_the_seed_is_hardly_asked_and_else_is():
    evaded, usual = asked_of_the_attacker(seed=0, known=0)
    assert evaded < 0.2 * usual
    caught, usual = asked_of_the_attacker(seed=None, known=0)
    assert caught > 0.4 * usual


def test_the_command_line_draws_a_seed_and_keeps_it(tmp_path):
    rows = "".join(f'{{"x": {i % 7}, "z": {i % 3}}}\n' for i in range(30))
    seeds = []
    for name in ("a", "b"):
        model = tmp_path / f"{name}.lasec"
        for _ in range(2):
            subprocess.run(
                [*LASEC, "ask", "-m", model, "--classes", "n,y", "-a", "perceptron-ss"],
                input=rows, capture_output=True, text=True, check=True,
            )  # fmt: skip
            told = subprocess.run(
                [*LASEC, "info", model, "--json"], capture_output=True, text=True, check=True
            )
            seeds.append(json.loads(told.stdout)["seed"])
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
